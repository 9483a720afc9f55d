//! A client that sends exactly what it is told, and a pipe to it.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream},
    sync::oneshot,
    task::JoinHandle,
};
use wharf::{
    mcp::{Info, Server, pipe::Local},
    tools::Tools,
    transport::stdio,
};

use super::common::{
    http::{modern_request, request, soon},
    memory::{Memory, World},
};

pub const A: &str = "x://a";
pub const B: &str = "x://b";
/// Nothing comes within so long: the clock is paused, so nothing would ever come.
const SILENCE: Duration = Duration::from_secs(1);

/// The host's side of the pipe and the client's.
pub struct Client {
    pub memory: Arc<Memory>,
    pub server: Arc<Server>,
    to: Option<DuplexStream>,
    pub from: BufReader<DuplexStream>,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Client {
    /// One whose pipes hold so many bytes.
    pub async fn with_pipes_of(bytes: usize) -> Self {
        Self::made(bytes, false).await
    }

    /// One of a host with tools.
    pub async fn with_tools() -> Self {
        Self::made(64 << 10, true).await
    }

    async fn made(bytes: usize, tools: bool) -> Self {
        let World { memory, catalog, subscriptions } = World::new(|memory: &Memory| {
            memory.put(A, "a");
            memory.put(B, "b");
        })
        .await;
        let info = Info { name: "wharf".into(), title: None, version: "0.1.0".into(), instructions: None };
        let made = tools.then(|| Tools::new(catalog.clone(), &subscriptions, 7));
        let server = Server::new(catalog, subscriptions, info);
        let server = Arc::new(match made {
            Some(tools) => server.with_tools(tools),
            None => server,
        });
        let ((to, input), (output, from)) = (tokio::io::duplex(bytes), tokio::io::duplex(bytes));
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(stdio::serve(Local::new(server.clone()), input, output, async {
            let _ = stopped.await;
        }));
        Self { memory, server, to: Some(to), from: BufReader::new(from), stop: Some(stop), serving }
    }

    pub async fn new() -> Self {
        Self::with_pipes_of(64 << 10).await
    }

    /// Sends bytes as they are.
    pub async fn write(&mut self, bytes: &[u8]) {
        soon(self.to.as_mut().unwrap().write_all(bytes)).await.unwrap();
    }

    /// Sends bytes as they are, unless the host does not take them.
    pub async fn try_write(&mut self, bytes: &[u8]) -> bool {
        tokio::time::timeout(SILENCE, self.to.as_mut().unwrap().write_all(bytes)).await.is_ok()
    }

    /// Sends a line.
    pub async fn send(&mut self, line: impl AsRef<[u8]>) {
        self.write(&[line.as_ref(), b"\n"].concat()).await;
    }

    /// The next message; none at the end.
    pub async fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        soon(self.from.read_line(&mut line)).await.unwrap();
        assert!(line.is_empty() || line.ends_with('\n'), "half a line: {line}");
        (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
    }

    pub async fn message(&mut self) -> Value {
        self.next().await.expect("the end")
    }

    /// Nothing comes.
    pub async fn is_silent(&mut self) -> bool {
        tokio::time::timeout(SILENCE, self.from.fill_buf()).await.is_err()
    }

    /// The answer to this id, which must come next.
    pub async fn answer(&mut self, id: impl Into<Value>) -> Value {
        let message = self.message().await;
        assert_eq!(message["id"], id.into(), "{message}");
        message
    }

    pub async fn legacy(&mut self, id: u64, method: &str, params: Value) {
        self.send(request(id, method, params)).await;
    }

    pub async fn modern(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        self.send(modern_request(id.into(), method, params)).await;
    }

    pub async fn listen(&mut self, id: &str, uris: &[&str]) {
        self.modern(id, "subscriptions/listen", json!({ "notifications": { "resourceSubscriptions": uris } })).await;
        let ack = self.message().await;
        assert_eq!(ack["method"], "notifications/subscriptions/acknowledged", "{ack}");
        assert_eq!(ack["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
    }

    /// A session of this version; gives the answer to `initialize`.
    pub async fn initialize(&mut self, version: &str) -> Value {
        self.legacy(0, "initialize", json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": {} })).await;
        let answer = self.answer(0).await;
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        answer["result"].clone()
    }

    pub async fn cancel(&mut self, id: impl Into<Value>) {
        let params = json!({ "requestId": id.into(), "reason": "enough" });
        self.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }).to_string()).await;
    }

    /// Ends the input.
    pub fn hang_up(&mut self) {
        drop(self.to.take());
    }

    /// The host is to stop.
    pub fn stop(&mut self) {
        let _ = self.stop.take().unwrap().send(());
    }

    /// Reads no more, and closes the host's output.
    pub fn read_no_more(&mut self) {
        self.from = BufReader::new(tokio::io::duplex(1).0);
    }

    /// Waits until the host has ended it, and reads nothing.
    pub async fn served(self) {
        soon(self.serving).await.unwrap().unwrap();
    }

    /// Waits until the host has ended it; gives what was still sent.
    pub async fn ended(mut self) -> Vec<Value> {
        let mut rest = Vec::new();
        while let Some(message) = self.next().await {
            rest.push(message);
        }
        soon(self.serving).await.unwrap().unwrap();
        rest
    }
}

pub fn code(message: &Value) -> i64 {
    message["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {message}"))
}

pub fn text(message: &Value) -> &str {
    message["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {message}"))
}

/// The URI of an `updated`, and the listen it belongs to.
pub fn updated(message: &Value) -> (&str, Option<&str>) {
    assert_eq!(message["method"], "notifications/resources/updated", "{message}");
    let params = &message["params"];
    (params["uri"].as_str().unwrap(), params["_meta"]["io.modelcontextprotocol/subscriptionId"].as_str())
}
