//! A small HTTP client that sends exactly what it is told, and a served [`World`].

use std::{net::SocketAddr, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
};
use wharf::{
    mcp::{Caps, Info, Server},
    transport::http::{HttpSettings, Limits, Plain, router, serve},
};

use super::memory::{Memory, World};

/// A hang is a failure; nothing else depends on this.
const HANG: Duration = Duration::from_secs(20);

/// What is awaited, unless it hangs.
pub async fn soon<T>(awaited: impl Future<Output = T>) -> T {
    tokio::time::timeout(HANG, awaited).await.expect("it hangs")
}

/// An answer.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| &**value)
    }

    pub fn json(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"));
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The error's code, with the status.
    pub fn code(&self) -> (u16, i64) {
        (self.status, self.json()["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {self:?}")))
    }

    pub fn result(&self) -> Value {
        assert_eq!(self.status, 200);
        let json = self.json();
        json.get("result").unwrap_or_else(|| panic!("no result: {json}")).clone()
    }
}

/// One event of a stream.
#[derive(Debug, PartialEq)]
pub struct SseEvent {
    pub id: Option<String>,
    pub data: Value,
}

impl SseEvent {
    /// The method and the URI of a notification.
    pub fn told(&self) -> (&str, Option<&str>) {
        (self.data["method"].as_str().unwrap_or_default(), self.data["params"]["uri"].as_str())
    }
}

/// A connection, or an answer that streams.
pub struct Connection {
    io: BufReader<TcpStream>,
    pending: Vec<u8>,
    /// The answer ends with the connection, as in HTTP/1.0.
    until_closed: bool,
}

impl Connection {
    pub async fn open(address: SocketAddr) -> Self {
        Self { io: BufReader::new(TcpStream::connect(address).await.unwrap()), pending: Vec::new(), until_closed: false }
    }

    pub async fn send(&mut self, bytes: &[u8]) {
        self.io.write_all(bytes).await.unwrap();
    }

    /// Says that nothing more will be sent, and still reads.
    pub async fn half_close(&mut self) {
        self.io.get_mut().shutdown().await.unwrap();
    }

    /// The status line and the headers.
    pub async fn head(&mut self) -> Response {
        let status = self.line().await;
        let status = status.split(' ').nth(1).unwrap_or_else(|| panic!("no status line: {status}")).parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let line = self.line().await;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        self.until_closed = !headers.iter().any(|(name, _)| matches!(&**name, "transfer-encoding" | "content-length"));
        Response { status, headers, body: Vec::new() }
    }

    /// A whole answer.
    pub async fn answer(&mut self) -> Response {
        let mut response = self.head().await;
        if response.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk().await {
                response.body.extend(chunk);
            }
        } else if let Some(length) = response.header("content-length") {
            response.body = vec![0; length.parse().unwrap()];
            self.io.read_exact(&mut response.body).await.unwrap();
        }
        response
    }

    /// Whether the other side closed it.
    pub async fn is_closed(&mut self) -> bool {
        soon(async { matches!(self.io.read(&mut [0]).await, Ok(0) | Err(_)) }).await
    }

    /// The next event; none at the end of the stream. Comments are passed over.
    pub async fn event(&mut self) -> Option<SseEvent> {
        self.text().await.and_then(|text| parse_event(&text))
    }

    /// The next event as it is sent.
    pub async fn text(&mut self) -> Option<String> {
        soon(async {
            loop {
                if let Some(end) = self.pending.windows(2).position(|two| two == b"\n\n") {
                    let text: Vec<u8> = self.pending.drain(..end + 2).collect();
                    let text = String::from_utf8(text).unwrap();
                    if parse_event(&text).is_some() {
                        return Some(text);
                    }
                    continue;
                }
                let chunk = self.chunk().await?;
                self.pending.extend(chunk);
            }
        })
        .await
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        soon(self.io.read_line(&mut line)).await.unwrap();
        line.trim_end().to_owned()
    }

    async fn chunk(&mut self) -> Option<Vec<u8>> {
        if self.until_closed {
            let mut piece = vec![0; 1024];
            let length = self.io.read(&mut piece).await.unwrap();
            piece.truncate(length);
            return (length > 0).then_some(piece);
        }
        let mut line = String::new();
        if self.io.read_line(&mut line).await.unwrap() == 0 {
            return None;
        }
        let length = usize::from_str_radix(line.trim_end(), 16).unwrap();
        let mut chunk = vec![0; length + 2];
        self.io.read_exact(&mut chunk).await.unwrap();
        chunk.truncate(length);
        (length > 0).then_some(chunk)
    }
}

fn parse_event(text: &str) -> Option<SseEvent> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let data = serde_json::from_str(field("data: ")?).unwrap();
    Some(SseEvent { id: field("id: ").map(Into::into), data })
}

/// A world served over HTTP on a loopback address.
pub struct Served {
    pub memory: Arc<Memory>,
    pub world: World,
    pub server: Arc<Server>,
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<()>,
}

impl Served {
    pub async fn new(fill: impl FnOnce(&Memory)) -> Self {
        Self::with(fill, Caps::default(), Limits::default(), HttpSettings::default()).await
    }

    pub async fn with(fill: impl FnOnce(&Memory), caps: Caps, limits: Limits, settings: HttpSettings) -> Self {
        Self::made(fill, caps, limits, settings, |server, _| server).await
    }

    /// One whose server is finished by `finish`.
    pub async fn made(
        fill: impl FnOnce(&Memory),
        caps: Caps,
        limits: Limits,
        settings: HttpSettings,
        finish: impl FnOnce(Server, &World) -> Server,
    ) -> Self {
        let world = World::new(fill).await;
        let info = Info {
            name: "wharf".into(),
            title: Some("Wharf".into()),
            version: "0.1.0".into(),
            instructions: Some("Read \"x://a\".".into()),
        };
        let server = Server::with_caps(world.catalog.clone(), world.subscriptions.clone(), info, caps);
        let server = Arc::new(finish(server, &world));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let settings = HttpSettings { bind: settings.bind.or(Some(address)), ..settings };
        let (stop, stopped) = oneshot::channel();
        let shutdown = {
            let server = server.clone();
            async move {
                let _ = stopped.await;
                server.end_streams();
            }
        };
        let serving = tokio::spawn(serve(listener, router(server.clone(), settings), Plain, limits, shutdown));
        Self { memory: world.memory.clone(), world, server, address, stop: Some(stop), serving }
    }

    /// Tells it to stop.
    pub fn stop(&mut self) {
        let _ = self.stop.take().unwrap().send(());
    }

    /// Waits until it has stopped.
    pub async fn stopped(self) {
        soon(self.serving).await.unwrap();
    }

    /// Sends a request on a connection of its own, and gives the connection.
    pub async fn start(&self, method: &str, headers: &[(&str, &str)], body: &[u8]) -> Connection {
        let mut text = format!("{method} /mcp HTTP/1.1\r\n");
        let default = |name: &str| !headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        if default("host") {
            text += &format!("host: {}\r\n", self.address);
        }
        if default("content-type") && method == "POST" {
            text += "content-type: application/json\r\n";
        }
        if default("content-length") && default("transfer-encoding") {
            text += &format!("content-length: {}\r\n", body.len());
        }
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        let mut connection = Connection::open(self.address).await;
        connection.send(&[format!("{text}\r\n").as_bytes(), body].concat()).await;
        connection
    }

    /// Sends a request, and gives the whole answer.
    pub async fn send(&self, method: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        let mut connection = self.start(method, headers, body).await;
        soon(connection.answer()).await
    }

    /// Opens a legacy session of this version.
    pub async fn session(&self, version: &str) -> Session<'_> {
        let body = request(0, "initialize", json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": {} }));
        let response = self.send("POST", &[], &body).await;
        assert_eq!(response.status, 200);
        Session { served: self, id: response.header("mcp-session-id").expect("a session id").to_owned(), initialized: response.result() }
    }

    /// Sends a modern request with all it must say.
    pub async fn modern(&self, method: &str, params: Value) -> Response {
        let mut connection = self.start_modern(method, params).await;
        soon(connection.answer()).await
    }

    pub async fn start_modern(&self, method: &str, params: Value) -> Connection {
        let name = params.get("uri").or(params.get("name")).and_then(Value::as_str).unwrap_or_default().to_owned();
        let headers = [("mcp-protocol-version", MODERN), ("mcp-method", method), ("mcp-name", &name)];
        self.start("POST", &headers, &modern_request(json!(1), method, params)).await
    }

    /// Begins a listen; gives its stream, whose first event is the acknowledgement.
    pub async fn listen(&self, notifications: Value) -> Connection {
        let mut stream = self.start_modern("subscriptions/listen", json!({ "notifications": notifications })).await;
        let head = stream.head().await;
        assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
        stream
    }
}

pub const MODERN: &str = "2026-07-28";

/// A request as JSON.
pub fn request(id: u64, method: &str, params: Value) -> Vec<u8> {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string().into_bytes()
}

/// A modern request as JSON, with the `_meta` it needs.
pub fn modern_request(id: Value, method: &str, mut params: Value) -> Vec<u8> {
    if params.get("_meta").is_none() {
        params["_meta"] =
            json!({ "io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}, "other": 1 });
    }
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string().into_bytes()
}

/// A legacy session.
pub struct Session<'a> {
    pub served: &'a Served,
    pub id: String,
    pub initialized: Value,
}

impl Session<'_> {
    pub async fn ask(&self, method: &str, params: Value) -> Response {
        self.post(&request(7, method, params)).await
    }

    pub async fn post(&self, body: &[u8]) -> Response {
        self.served.send("POST", &[("mcp-session-id", &self.id)], body).await
    }

    pub async fn subscribe(&self, uri: &str) {
        assert_eq!(self.ask("resources/subscribe", json!({ "uri": uri })).await.result(), json!({}));
    }

    /// Opens its stream.
    pub async fn stream(&self, headers: &[(&str, &str)]) -> Connection {
        let headers = [&[("mcp-session-id", &*self.id), ("accept", "text/event-stream")], headers].concat();
        let mut stream = self.served.start("GET", &headers, b"").await;
        let head = stream.head().await;
        assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")), "{head:?}");
        assert_eq!((head.header("cache-control"), head.header("x-accel-buffering")), (Some("no-cache, no-transform"), Some("no")));
        stream
    }
}
