//! Behind a proxy that buffers, as nginx does unless it is told otherwise.

use std::net::SocketAddr;

use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

use crate::{
    B,
    common::http::{Connection, MODERN, modern_request, request, soon},
    served, told, updated,
};

/// A proxy that asks the host in HTTP/1.0, a connection each, and hands an answer on when it has all of it. Where the answer forbids that
/// (`X-Accel-Buffering: no`) it hands on what comes, but begins only with the first byte of the body.
async fn proxy(to: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(hand_on(client, to));
        }
    });
    address
}

async fn hand_on(client: TcpStream, to: SocketAddr) {
    let mut client = BufReader::new(client);
    let (mut head, body) = message(&mut client).await;
    head = head.replacen("HTTP/1.1", "HTTP/1.0", 1).replacen("\r\n", "\r\nConnection: close\r\n", 1);
    let mut host = BufReader::new(TcpStream::connect(to).await.unwrap());
    host.get_mut().write_all(&[head.as_bytes(), &body].concat()).await.unwrap();
    let (head, _) = message(&mut host).await;
    let mut answer = head.clone().into_bytes();
    let buffers = !head.to_ascii_lowercase().contains("x-accel-buffering: no");
    let mut piece = [0; 1024];
    loop {
        let length = host.read(&mut piece).await.unwrap_or(0);
        answer.extend(&piece[..length]);
        if length == 0 || !buffers {
            if client.get_mut().write_all(&answer).await.is_err() {
                return;
            }
            answer.clear();
        }
        if length == 0 {
            return;
        }
    }
}

/// A head, and of a request the body.
async fn message(from: &mut BufReader<TcpStream>) -> (String, Vec<u8>) {
    let (mut head, mut length) = (String::new(), 0);
    while !head.ends_with("\r\n\r\n") {
        let at = head.len();
        if from.read_line(&mut head).await.unwrap() == 0 {
            break;
        }
        if let Some(value) = head[at..].to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; if head.starts_with("HTTP") { 0 } else { length }];
    from.read_exact(&mut body).await.unwrap();
    (head, body)
}

async fn ask(proxy: SocketAddr, method: &str, headers: &str, body: &[u8]) -> Connection {
    let mut connection = Connection::open(proxy).await;
    let head = format!("{method} /mcp HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    connection.send(&[head.as_bytes(), body].concat()).await;
    connection
}

#[tokio::test]
async fn a_session_works_through_it_and_its_stream_begins_though_there_is_nothing_to_tell() {
    let served = served().await;
    let proxy = proxy(served.address).await;
    let json = "Content-Type: application/json\r\n";
    let initialize = request(0, "initialize", json!({ "protocolVersion": "2025-11-25" }));
    let answer = soon(ask(proxy, "POST", json, &initialize).await.answer()).await;
    let session = format!("Mcp-Session-Id: {}\r\n", answer.header("mcp-session-id").unwrap());
    let mut stream = ask(proxy, "GET", &format!("Accept: text/event-stream\r\n{session}"), b"").await;
    let head = soon(stream.head()).await;
    assert_eq!((head.status, head.header("cache-control")), (200, Some("no-cache, no-transform")));
    let subscribe = request(1, "resources/subscribe", json!({ "uri": B }));
    let answer = soon(ask(proxy, "POST", &format!("{json}{session}"), &subscribe).await.answer()).await;
    assert_eq!(answer.result(), json!({}));
    for text in ["one", "two"] {
        served.memory.update(B, text);
        assert_eq!(told(&mut stream).await, updated(B));
        let read = request(2, "resources/read", json!({ "uri": B }));
        let answer = soon(ask(proxy, "POST", &format!("{json}{session}"), &read).await.answer()).await;
        assert_eq!(answer.result()["contents"][0]["text"], text);
    }
    assert_eq!(soon(ask(proxy, "DELETE", &session, b"").await.head()).await.status, 204);
    assert_eq!(stream.event().await, None);
}

#[tokio::test]
async fn a_listen_works_through_it() {
    let served = served().await;
    let proxy = proxy(served.address).await;
    let listen = modern_request(json!("l"), "subscriptions/listen", json!({ "notifications": { "resourceSubscriptions": [B] } }));
    let headers = format!("Content-Type: application/json\r\nMCP-Protocol-Version: {MODERN}\r\nMcp-Method: subscriptions/listen\r\n");
    let mut stream = ask(proxy, "POST", &headers, &listen).await;
    assert_eq!(soon(stream.head()).await.status, 200);
    assert_eq!(told(&mut stream).await.0, "notifications/subscriptions/acknowledged");
    served.memory.update(B, "new");
    assert_eq!(told(&mut stream).await, updated(B));
    drop(stream);
    // The proxy notices with what it is sent next.
    served.memory.update(B, "newer");
    soon(async {
        while served.server.listen_count() > 0 {
            served.memory.update(B, "newest");
            tokio::task::yield_now().await;
        }
    })
    .await;
}
