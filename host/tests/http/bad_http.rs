//! What can be wrong before a message is read.

use serde_json::json;
use std::time::Duration;
use wharf::{
    mcp::Caps,
    transport::http::{BODY_CAP, HttpSettings, Limits},
};

use crate::{
    capped,
    common::http::{Connection, Response, Served, request, soon},
    fill, served,
};

#[tokio::test]
async fn an_evil_origin_or_host_is_403_for_every_method() {
    let served = served().await;
    let session = served.session("2025-11-25").await;
    for method in ["POST", "GET", "DELETE", "OPTIONS", "PUT"] {
        for evil in [("origin", "http://evil.example.com"), ("host", "evil.example.com"), ("origin", "null")] {
            let answer = served.send(method, &[evil, ("mcp-session-id", &session.id)], b"").await;
            assert_eq!(answer.status, 403, "{method} {evil:?}");
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
    }
    assert_eq!(session.ask("ping", json!({})).await.status, 200);
}

#[tokio::test]
async fn a_page_of_an_allowed_origin_may_send_and_read() {
    let settings = HttpSettings { allowed_origins: vec!["https://app.example.com".into()], ..HttpSettings::default() };
    let served = Served::with(fill, Caps::default(), Limits::default(), settings).await;
    for origin in ["https://app.example.com", "http://localhost:6274"] {
        let preflight = [("origin", origin), ("access-control-request-method", "POST"), ("access-control-request-headers", "mcp-method")];
        let answer = served.send("OPTIONS", &preflight, b"").await;
        assert_eq!((answer.status, answer.header("access-control-allow-origin")), (204, Some(origin)));
        let headers = answer.header("access-control-allow-headers").unwrap().to_lowercase();
        for header in ["content-type", "accept", "mcp-protocol-version", "mcp-session-id", "mcp-method", "mcp-name", "last-event-id"] {
            assert!(headers.contains(header), "{header}");
        }
        assert_eq!(answer.header("access-control-allow-methods"), Some("GET, POST, DELETE, OPTIONS"));
        let initialize = request(1, "initialize", json!({ "protocolVersion": "2025-11-25" }));
        let answer = served.send("POST", &[("origin", origin)], &initialize).await;
        assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, Some(origin)));
        assert!(answer.header("access-control-expose-headers").unwrap().contains("Mcp-Session-Id"));
        assert_eq!(answer.header("vary"), Some("Origin"));
        let error = served.send("POST", &[("origin", origin)], b"{").await;
        assert_eq!((error.status, error.header("access-control-allow-origin")), (400, Some(origin)));
    }
    assert_eq!(served.send("OPTIONS", &[], b"").await.header("access-control-allow-origin"), None);
}

#[tokio::test]
async fn other_methods_types_and_paths_are_refused() {
    let served = served().await;
    for method in ["HEAD", "PUT", "PATCH", "NONSENSE"] {
        let mut connection = served.start(method, &[], b"").await;
        let answer = soon(connection.head()).await;
        assert_eq!((answer.status, answer.header("allow")), (405, Some("GET, POST, DELETE, OPTIONS")), "{method}");
    }
    let ping = request(1, "ping", json!({}));
    assert_eq!(served.send("POST", &[("content-type", "text/plain")], &ping).await.code(), (415, -32600));
    assert_eq!(served.send("POST", &[("accept", "text/html")], &ping).await.code(), (406, -32600));
    let session = served.session("2025-11-25").await;
    for accept in ["application/json", "text/event-stream", "*/*", "application/json, text/event-stream"] {
        assert_eq!(served.send("POST", &[("accept", accept), ("mcp-session-id", &session.id)], &ping).await.status, 200, "{accept}");
    }
    let get = [("accept", "application/json"), ("mcp-session-id", &*session.id)];
    assert_eq!(served.send("GET", &get, b"").await.code(), (406, -32600));
    let mut connection = Connection::open(served.address).await;
    connection.send(b"GET /other HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert_eq!(connection.answer().await.status, 404);
    let mut connection = Connection::open(served.address).await;
    connection.send(b"nonsense\r\n\r\n").await;
    assert_eq!(connection.answer().await.status, 400);
    assert!(connection.is_closed().await);
}

#[tokio::test]
async fn a_body_over_the_limit_is_413_whether_announced_or_not() {
    let served = served().await;
    let session = served.session("2025-11-25").await;
    let padded = |length: usize| {
        let mut body = request(1, "ping", json!({}));
        body.resize(length, b' ');
        body
    };
    assert_eq!(session.post(&padded(BODY_CAP)).await.status, 200);
    let announced = [("content-length", &*(BODY_CAP + 1).to_string()), ("mcp-session-id", &session.id)];
    let mut connection = served.start("POST", &announced, b"").await;
    assert_eq!(soon(connection.answer()).await.code(), (413, -32600));
    assert!(connection.is_closed().await);
    let mut connection = served.start("POST", &[("transfer-encoding", "chunked"), ("mcp-session-id", &session.id)], b"").await;
    let piece = padded(BODY_CAP / 4);
    for piece in [&piece[..], &piece, &piece, &piece, b" "] {
        connection.send(format!("{:x}\r\n", piece.len()).as_bytes()).await;
        connection.send(piece).await;
        connection.send(b"\r\n").await;
    }
    assert_eq!(soon(connection.answer()).await.code(), (413, -32600));
}

#[tokio::test]
async fn a_chunked_body_is_taken_and_a_cut_one_is_not() {
    let served = served().await;
    let session = served.session("2025-11-25").await;
    let headers = [("transfer-encoding", "chunked"), ("mcp-session-id", &*session.id)];
    let ping = request(1, "ping", json!({}));
    let mut connection = served.start("POST", &headers, b"").await;
    for byte in &ping {
        connection.send(&[b'1', b'\r', b'\n', *byte, b'\r', b'\n']).await;
    }
    connection.send(b"0\r\n\r\n").await;
    assert_eq!(soon(connection.answer()).await.status, 200);
    let mut connection = served.start("POST", &headers, b"zz\r\n").await;
    assert_eq!(soon(connection.answer()).await.status, 400);
    drop(served.start("POST", &headers, b"5\r\n{").await);
    assert_eq!(session.ask("ping", json!({})).await.status, 200);
}

#[tokio::test]
async fn one_connection_more_than_may_be_is_503_and_closed() {
    let served = capped(Caps::default(), Limits { connections: 2, ..Limits::default() }).await;
    let get = format!("GET /mcp HTTP/1.1\r\nhost: {}\r\n\r\n", served.address);
    let ask = async || -> (Connection, Response) {
        let mut connection = Connection::open(served.address).await;
        connection.send(get.as_bytes()).await;
        let answer = soon(connection.answer()).await;
        (connection, answer)
    };
    let (first, _second) = (ask().await, ask().await);
    assert_eq!((first.1.status, _second.1.status), (400, 400));
    let (mut third, answer) = ask().await;
    assert_eq!(answer.status, 503);
    assert!(third.is_closed().await);
    drop(first);
    soon(async { while ask().await.1.status == 503 {} }).await;
}

#[tokio::test]
async fn a_connection_that_does_not_finish_its_headers_is_closed() {
    let served = capped(Caps::default(), Limits { header_time: Duration::from_millis(20), ..Limits::default() }).await;
    for begun in ["", "POST /mcp HTTP/1.1\r\nhost: loc"] {
        let mut connection = Connection::open(served.address).await;
        connection.send(begun.as_bytes()).await;
        while !connection.is_closed().await {}
    }
}

#[tokio::test]
async fn headers_that_are_too_large_are_refused() {
    let served = served().await;
    for (length, status) in [(31_000, 400), (33_000, 431)] {
        let answer = served.send("POST", &[("x-large", &"a".repeat(length))], b"").await;
        assert_eq!(answer.status, status);
    }
}
