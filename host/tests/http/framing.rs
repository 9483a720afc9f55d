//! HTTP/1 as proxies, scripts and old clients speak it (RFC 9110, RFC 9112). What is asked is always the same; what differs is how.

use serde_json::json;
use wharf::transport::http::BODY_CAP;

use crate::{
    B,
    common::http::{Connection, MODERN, Response, Served, modern_request, soon},
    served,
};

/// The head of a modern read of [`B`], without what tells the body's length, and without the empty line.
fn head(version: &str, extra: &[&str]) -> String {
    let mut head = format!("POST /mcp {version}\r\n");
    for line in [&["Content-Type: application/json", "Mcp-Method: resources/read", "Mcp-Name: x://b"][..], extra].concat() {
        head += &format!("{line}\r\n");
    }
    head + &format!("MCP-Protocol-Version: {MODERN}\r\n")
}

fn body(id: u64) -> Vec<u8> {
    modern_request(id.into(), "resources/read", json!({ "uri": B }))
}

/// A whole request in HTTP/1.1.
fn read(id: u64, extra: &[&str]) -> Vec<u8> {
    let body = body(id);
    let head = head("HTTP/1.1", &[&["Host: localhost"], extra].concat());
    [format!("{head}Content-Length: {}\r\n\r\n", body.len()).as_bytes(), &body].concat()
}

async fn connect(served: &Served, bytes: &[u8]) -> Connection {
    let mut connection = Connection::open(served.address).await;
    connection.send(bytes).await;
    connection
}

fn is_read(answer: &Response, id: u64) {
    assert_eq!(answer.result()["contents"], json!([{ "uri": B, "text": "b" }]));
    assert_eq!(answer.json()["id"], id);
}

#[tokio::test]
async fn a_chunked_body_is_taken_however_it_is_cut() {
    let served = served().await;
    let body = body(1);
    let chunk = |piece: &[u8]| [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat();
    let halves = [chunk(&body[..20]), chunk(&body[20..])].concat();
    let upper_case_and_zeros = [format!("000{:X}\r\n", body.len()).as_bytes(), &body, b"\r\n"].concat();
    let extended = [format!("{:x};name=\"va;lue\";x\r\n", body.len()).as_bytes(), &body, b"\r\n"].concat();
    let ends = ["0\r\n\r\n", "000\r\n\r\n", "0;x=1\r\n\r\n", "0\r\nX-Sum: 7\r\nMcp-Session-Id: nonsense\r\nMcp-Name: other\r\n\r\n"];
    for chunks in [chunk(&body), halves, body.chunks(1).flat_map(chunk).collect(), upper_case_and_zeros, extended] {
        for end in ends {
            let head = head("HTTP/1.1", &["Host: localhost", "Transfer-Encoding: Chunked", "Trailer: X-Sum"]) + "\r\n";
            let request = [head.as_bytes(), &chunks, end.as_bytes()].concat();
            // What follows is another request, so not a byte too many was taken.
            let mut connection = connect(&served, &[&request[..], &read(2, &[])].concat()).await;
            is_read(&soon(connection.answer()).await, 1);
            is_read(&soon(connection.answer()).await, 2);
        }
    }
}

#[tokio::test]
async fn a_request_may_come_in_any_pieces() {
    let served = served().await;
    let request = read(1, &[]);
    for at in [1, 4, 17, request.len() - body(1).len() - 2, request.len() - body(1).len(), request.len() - 1] {
        let mut connection = connect(&served, &request[..at]).await;
        tokio::task::yield_now().await;
        connection.send(&request[at..]).await;
        is_read(&soon(connection.answer()).await, 1);
    }
}

#[tokio::test]
async fn a_length_that_is_no_length_is_400_and_the_end() {
    let served = served().await;
    let length = body(1).len();
    let same = format!("Content-Length: {length}");
    for lines in [
        vec!["Content-Length: -1"],
        vec!["Content-Length: +5"],
        vec!["Content-Length: 0x10"],
        vec!["Content-Length: 18446744073709551616"],
        vec![&same, "Content-Length: 5"],
        vec!["Transfer-Encoding: gzip"],
        vec!["Transfer-Encoding: chunked, gzip"],
    ] {
        let request = head("HTTP/1.1", &[&["Host: localhost"], &lines[..]].concat()) + "\r\n";
        let mut connection = connect(&served, request.as_bytes()).await;
        assert_eq!(soon(connection.answer()).await.status, 400, "{lines:?}");
        assert!(connection.is_closed().await, "{lines:?}");
    }
    // The same length twice is one.
    let mut connection = connect(&served, &read(1, &[&same])).await;
    is_read(&soon(connection.answer()).await, 1);
}

#[tokio::test]
async fn a_body_with_two_lengths_is_read_by_its_chunks_and_ends_the_connection() {
    let served = served().await;
    let body = body(1);
    let head = head("HTTP/1.1", &["Host: localhost", "Content-Length: 5", "Transfer-Encoding: chunked"]) + "\r\n";
    let chunks = [format!("{:x}\r\n", body.len()).as_bytes(), &body, b"\r\n0\r\n\r\n"].concat();
    // RFC 9112 §6.1: the server closes it, since what comes next may have been smuggled in.
    let mut connection = connect(&served, &[head.as_bytes(), &chunks, &read(2, &[])].concat()).await;
    is_read(&soon(connection.answer()).await, 1);
    assert!(connection.is_closed().await);
}

#[tokio::test]
async fn http_1_0_is_served_with_and_without_keep_alive_and_without_host() {
    let served = served().await;
    let request = |id: u64, extra: &[&str]| {
        let body = body(id);
        [format!("{}Content-Length: {}\r\n\r\n", head("HTTP/1.0", extra), body.len()).as_bytes(), &body].concat()
    };
    for extra in [&[][..], &["Host: localhost"], &["Connection: close"]] {
        let mut connection = connect(&served, &request(1, extra)).await;
        is_read(&soon(connection.answer()).await, 1);
        assert!(connection.is_closed().await, "{extra:?}");
    }
    let mut connection = connect(&served, &request(1, &["Connection: Keep-Alive"])).await;
    for id in 1..4 {
        let answer = soon(connection.answer()).await;
        is_read(&answer, id);
        assert!(answer.header("connection").is_some_and(|connection| connection.eq_ignore_ascii_case("keep-alive")));
        connection.send(&request(id + 1, &["Connection: keep-alive"])).await;
    }
    // HTTP/1.0 has no chunks.
    let mut connection = connect(&served, (head("HTTP/1.0", &["Transfer-Encoding: chunked"]) + "\r\n").as_bytes()).await;
    assert_eq!(soon(connection.answer()).await.status, 400);
    let evil = request(1, &["Host: evil.example.com"]);
    assert_eq!(soon(connect(&served, &evil).await.answer()).await.status, 403);
}

#[tokio::test]
async fn a_stream_over_http_1_0_ends_with_its_connection() {
    let served = served().await;
    let session = served.session("2025-11-25").await;
    session.subscribe(B).await;
    let get = format!("GET /mcp HTTP/1.0\r\nAccept: text/event-stream\r\nMcp-Session-Id: {}\r\n\r\n", session.id);
    let mut stream = connect(&served, get.as_bytes()).await;
    let head = stream.head().await;
    assert_eq!((head.status, head.header("transfer-encoding"), head.header("content-length")), (200, None, None));
    served.memory.update(B, "new");
    assert_eq!(stream.event().await.unwrap().told(), ("notifications/resources/updated", Some(B)));
    let delete = format!("DELETE /mcp HTTP/1.0\r\nMcp-Session-Id: {}\r\n\r\n", session.id);
    assert_eq!(soon(connect(&served, delete.as_bytes()).await.answer()).await.status, 204);
    assert_eq!(stream.event().await, None);
}

#[tokio::test]
async fn connection_close_is_heeded_and_said() {
    let served = served().await;
    for close in ["Connection: close", "CONNECTION: Close", "Connection: foo, close"] {
        let mut connection = connect(&served, &[read(1, &[close]), read(2, &[])].concat()).await;
        let answer = soon(connection.answer()).await;
        is_read(&answer, 1);
        assert_eq!(answer.header("connection"), Some("close"), "{close}");
        assert!(connection.is_closed().await);
    }
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order_though_the_first_is_the_slowest() {
    let served = served().await;
    let session = served.session("2025-11-25").await;
    served.memory.hold(true);
    let ping = |id: u64| {
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }).to_string();
        let headers = format!("Host: localhost\r\nContent-Type: application/json\r\nMcp-Session-Id: {}", session.id);
        format!("POST /mcp HTTP/1.1\r\n{headers}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
    };
    let mut all = read(0, &[]);
    (1..50).for_each(|id| all.extend(ping(id)));
    all.extend(read(50, &["Connection: close"]));
    let mut connection = connect(&served, &all).await;
    soon(served.memory.reads_under_way(1)).await;
    // Another connection does not wait for this one.
    assert_eq!(session.ask("ping", json!({})).await.status, 200);
    served.memory.hold(false);
    is_read(&soon(connection.answer()).await, 0);
    for id in 1..50 {
        assert_eq!(soon(connection.answer()).await.json(), json!({ "jsonrpc": "2.0", "id": id, "result": {} }));
    }
    is_read(&soon(connection.answer()).await, 50);
    assert!(connection.is_closed().await);
}

#[tokio::test]
async fn a_refused_request_takes_nothing_of_the_next_one() {
    let served = served().await;
    let refused = [
        (String::from_utf8(read(1, &[])).unwrap().replace("application/json", "text/plain"), 415),
        (String::from_utf8(read(1, &["Content-Encoding: gzip"])).unwrap(), 415),
        (String::from_utf8(read(1, &["Accept: text/html"])).unwrap(), 406),
        (String::from_utf8(read(1, &[])).unwrap().replace("POST", "PUT"), 405),
        (String::from_utf8(read(1, &["Origin: http://evil.example.com"])).unwrap(), 403),
        (String::from_utf8(read(1, &["Host: localhost"])).unwrap(), 400),
        (String::from_utf8(read(1, &[])).unwrap().replace("Host: localhost\r\n", ""), 400),
        (String::from_utf8(read(1, &[])).unwrap().replace("/mcp", "/other"), 404),
    ];
    for (request, status) in refused {
        let mut connection = connect(&served, &[request.as_bytes(), &read(2, &[])].concat()).await;
        assert_eq!(soon(connection.answer()).await.status, status, "{request}");
        is_read(&soon(connection.answer()).await, 2);
    }
    let compressed = served.send("POST", &[("content-encoding", "gzip")], b"\x1f\x8b").await;
    assert_eq!((compressed.code(), compressed.header("accept-encoding")), ((415, -32600), Some("identity")));
}

#[tokio::test]
async fn a_client_that_expects_to_continue_is_told_to_or_refused_before_it_sends() {
    let served = served().await;
    let body = body(1);
    let expecting = |version: &str, length: usize, kind: &str| {
        let head = head(version, &["Host: localhost", "Expect: 100-Continue"]).replace("application/json", kind);
        format!("{head}Content-Length: {length}\r\n\r\n")
    };
    let mut connection = connect(&served, expecting("HTTP/1.1", body.len(), "application/json").as_bytes()).await;
    assert_eq!(connection.head().await.status, 100);
    connection.send(&body).await;
    is_read(&soon(connection.answer()).await, 1);
    // Who does not wait is served as well; whether it is told to go on is a race.
    let whole = [expecting("HTTP/1.1", body.len(), "application/json").as_bytes(), &body].concat();
    let mut connection = connect(&served, &whole).await;
    let mut answer = soon(connection.answer()).await;
    if answer.status == 100 {
        answer = soon(connection.answer()).await;
    }
    is_read(&answer, 1);
    for (length, kind, status) in [(BODY_CAP + 1, "application/json", 413), (body.len(), "text/plain", 415)] {
        let mut connection = connect(&served, expecting("HTTP/1.1", length, kind).as_bytes()).await;
        assert_eq!(soon(connection.answer()).await.code(), (status, -32600));
        assert!(connection.is_closed().await, "the body that may come is not the next request");
    }
    // RFC 9110 §10.1.1: HTTP/1.0 has no such thing, and its client does not wait.
    let mut connection = connect(&served, &[expecting("HTTP/1.0", body.len(), "application/json").as_bytes(), &body].concat()).await;
    is_read(&soon(connection.answer()).await, 1);
}

#[tokio::test]
async fn header_names_are_taken_in_any_case_and_with_any_space_around_their_values() {
    let served = served().await;
    let usual = String::from_utf8(read(1, &["Accept: application/json, text/event-stream"])).unwrap();
    let (head, body) = usual.split_once("\r\n\r\n").unwrap();
    let (line, headers) = head.split_once("\r\n").unwrap();
    let odd = |name: &str| -> String {
        name.chars().enumerate().map(|(at, c)| if at % 2 == 0 { c.to_ascii_lowercase() } else { c.to_ascii_uppercase() }).collect()
    };
    for change in [str::to_ascii_uppercase, str::to_ascii_lowercase, odd] {
        for (before, after) in [("", ""), (" ", ""), ("\t ", " \t")] {
            let headers = headers.lines().map(|line| {
                let (name, value) = line.split_once(": ").unwrap();
                format!("{}:{before}{value}{after}\r\n", change(name))
            });
            let request = format!("{line}\r\n{}\r\n{body}", headers.collect::<String>());
            is_read(&soon(connect(&served, request.as_bytes()).await.answer()).await, 1);
        }
    }
    let session = served.session("2025-11-25").await;
    let mut stream = served.start("GET", &[("MCP-SESSION-ID", &session.id), ("ACCEPT", "TEXT/Event-Stream;q=1")], b"").await;
    assert_eq!(stream.head().await.status, 200);
}

#[tokio::test]
async fn a_header_said_twice_is_taken_if_it_does_not_contradict_itself() {
    let served = served().await;
    let session = served.session("2025-11-25").await;
    let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let own = [("mcp-session-id", &*session.id), ("mcp-protocol-version", "2025-11-25"), ("content-type", "application/json")];
    assert_eq!(served.send("POST", &[own, own].concat(), ping).await.result(), json!({}));
    let other = served.session("2025-11-25").await;
    for (contradicting, status) in
        [(("mcp-session-id", &*other.id), 404), (("mcp-protocol-version", "2025-06-18"), 400), (("content-type", "text/plain"), 415)]
    {
        assert_eq!(served.send("POST", &[&own[..], &[contradicting]].concat(), ping).await.status, status, "{contradicting:?}");
    }
    let twice = read(1, &["Mcp-Name: x://b", "Mcp-Method: resources/read", "MCP-Protocol-Version: 2026-07-28"]);
    is_read(&soon(connect(&served, &twice).await.answer()).await, 1);
    for contradicting in ["Mcp-Name: x://c", "Mcp-Method: resources/list", "MCP-Protocol-Version: 2026-07-29"] {
        let answer = soon(connect(&served, &read(1, &[contradicting])).await.answer()).await;
        assert_eq!(answer.code(), (400, -32020), "{contradicting}");
    }
    // Those of a list may come apart (RFC 9110 §5.3).
    is_read(&soon(connect(&served, &read(1, &["Accept: text/html", "Accept: application/json"])).await.answer()).await, 1);
}

#[tokio::test]
async fn a_client_that_has_closed_its_direction_gets_its_answers() {
    let served = served().await;
    let mut connection = connect(&served, &[read(1, &[]), read(2, &[])].concat()).await;
    connection.half_close().await;
    is_read(&soon(connection.answer()).await, 1);
    is_read(&soon(connection.answer()).await, 2);
    assert!(connection.is_closed().await);
    // And a large one whole.
    served.memory.update(B, &"b".repeat(8 << 20));
    let mut connection = connect(&served, &read(3, &[])).await;
    connection.half_close().await;
    let answer = soon(connection.answer()).await.result();
    assert_eq!(answer["contents"][0]["text"].as_str().map(str::len), Some(8 << 20));
}

#[tokio::test]
async fn a_listener_that_has_closed_its_direction_is_taken_for_gone() {
    let served = served().await;
    let mut stream = served.listen(json!({ "resourceSubscriptions": [B] })).await;
    stream.event().await.unwrap();
    stream.half_close().await;
    soon(served.memory.subscribed(&[])).await;
    assert_eq!(stream.event().await, None);
}

#[tokio::test]
async fn other_protocols_on_the_same_port_break_nothing() {
    let served = served().await;
    for bytes in
        [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\0\0\0\0", b"GET /mcp\r\n\r\n"]
    {
        let mut connection = connect(&served, bytes).await;
        while !connection.is_closed().await {}
    }
    let upgrade = ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"];
    is_read(&soon(connect(&served, &read(1, &upgrade)).await.answer()).await, 1);
    let absolute = String::from_utf8(read(1, &[])).unwrap().replace("/mcp", "http://localhost/mcp");
    is_read(&soon(connect(&served, absolute.as_bytes()).await.answer()).await, 1);
    is_read(&soon(connect(&served, &[b"\r\n\r\n", &read(1, &[])[..]].concat()).await.answer()).await, 1);
    let asterisk = soon(connect(&served, b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n").await.answer()).await;
    assert_eq!(asterisk.status, 404);
}
