//! Attached to what is no good host.

use std::{future::poll_fn, sync::Arc, task::Poll, time::Duration};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpListener,
    time::Instant,
};
use wharf::{
    mcp::pipe::{Backend, Pipe},
    transport::{attach::Remote, stdio},
};

const DISCOVERED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
const INITIALIZE: &str =
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18"}}"#;

/// A host that answers what this says: a status line, a media type, and a body.
async fn host(answer: impl Fn(&str) -> (&'static str, &'static str, String) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let answer = Arc::new(answer);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let answer = answer.clone();
            tokio::spawn(async move {
                let mut stream = BufReader::new(stream);
                let (mut request, mut length) = (String::new(), 0);
                while !request.ends_with("\r\n\r\n") {
                    let at = request.len();
                    stream.read_line(&mut request).await.unwrap();
                    if let Some(value) = request[at..].to_ascii_lowercase().strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                }
                let mut body = vec![0; length];
                stream.read_exact(&mut body).await.unwrap();
                let (status, kind, text) = answer(&(request + &String::from_utf8_lossy(&body)));
                let head = format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nmcp-session-id: s\r\nconnection: close\r\n");
                let _ = stream.write_all(format!("{head}content-length: {}\r\n\r\n{text}", text.len()).as_bytes()).await;
            });
        }
    });
    url
}

async fn soon<T>(wanted: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), wanted).await.expect("nothing comes")
}

#[tokio::test]
async fn nothing_but_messages_gets_to_the_client_whatever_the_host_answers() {
    for garbage in ["<html>\nlog in</html>", "", "1", "{\"jsonrpc\":", "[", "null\n{}"] {
        let url = host(move |request| {
            if request.contains("server/discover") {
                ("200 OK", "application/json", DISCOVERED.into())
            } else if request.starts_with("GET") {
                ("200 OK", "text/event-stream", format!("data: {}\n\n", garbage.replace('\n', "\ndata: ")))
            } else if request.contains("\"initialize\"") {
                ("200 OK", "application/json", INITIALIZED.into())
            } else if request.contains("2026-07-28") {
                ("302 Found", "text/html", garbage.into())
            } else {
                ("200 OK", "text/html", garbage.into())
            }
        })
        .await;
        let remote = Remote::connect(&url).await.unwrap();
        let meta = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}"#;
        let lines = [
            INITIALIZE.to_owned(),
            r#"{"jsonrpc":"2.0","id":1,"method":"resources/list"}"#.into(),
            r#"[{"jsonrpc":"2.0","id":2,"method":"ping"}]"#.into(),
            format!(r#"{{"jsonrpc":"2.0","id":3,"method":"resources/list","params":{meta}}}"#),
        ]
        .join("\n");
        let mut output = Vec::new();
        soon(stdio::serve(remote, lines.as_bytes(), &mut output, std::future::pending())).await.unwrap();
        let text = String::from_utf8(output).unwrap();
        assert_eq!(text.lines().count(), 4, "{garbage:?}: {text}");
        for line in text.lines() {
            let message: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{garbage:?}: {error}: {line}"));
            assert_eq!(message["jsonrpc"], "2.0", "{garbage:?}: {line}");
            assert!(message["id"] == 0 || message["error"]["data"]["kind"] == "unavailable", "{garbage:?}: {line}");
        }
    }
}

#[test]
fn a_host_that_loses_every_session_is_asked_with_growing_pauses() {
    // On a thread of its own, since on a paused clock no limit can be set: it would be jumped to as soon as an answer is on its way.
    let (done, over) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        done.send(runtime.block_on(sessions_asked_for(5)))
    });
    let asked = over.recv_timeout(Duration::from_secs(60)).expect("it asks no more");
    let pauses: Vec<Duration> = asked.windows(2).map(|asked| asked[1] - asked[0]).collect();
    // The first is renewed at once. At least so much passes on that clock, whatever the machine does.
    let least = [0, 100, 200, 400].map(Duration::from_millis);
    assert!(pauses.iter().zip(least).all(|(pause, least)| *pause >= least), "{pauses:?}");
}

/// When so many sessions were asked for, on a clock that stands still but for the pauses between them.
async fn sessions_asked_for(count: usize) -> Vec<Instant> {
    let (asks, mut asked) = tokio::sync::mpsc::unbounded_channel();
    let url = host(move |request| {
        if request.contains("server/discover") {
            return ("200 OK", "application/json", DISCOVERED.into());
        }
        if request.starts_with("GET") {
            return ("404 Not Found", "application/json", String::new());
        }
        if request.contains("\"initialize\"") {
            // In the end nobody wants to know.
            let _ = asks.send(Instant::now());
            return ("200 OK", "application/json", INITIALIZED.into());
        }
        ("202 Accepted", "application/json", String::new())
    })
    .await;
    let mut remote = Remote::connect(&url).await.unwrap();
    tokio::time::pause();
    let _ = remote.initialize(INITIALIZE.into()).await;
    let mut times = Vec::new();
    poll_fn(|context| {
        while remote.poll_notice(context).is_ready() {}
        while let Poll::Ready(Some(time)) = asked.poll_recv(context) {
            times.push(time);
        }
        if times.len() >= count { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    drop(Pipe::new(remote));
    times
}

#[tokio::test(start_paused = true)]
async fn a_host_that_takes_the_connection_and_says_nothing_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let error = Remote::connect(&format!("http://{}/mcp", listener.local_addr().unwrap())).await.err().unwrap().to_string();
    assert!(error.contains("has not answered") || error.contains("does not answer"), "{error}");
}
