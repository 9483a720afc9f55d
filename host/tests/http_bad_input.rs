//! Everything a client can send wrong over HTTP, and every limit it can hit. Never a panic, a hang, or a lost session of someone else.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::time::Duration;

use common::{
    http::{Connection, MODERN, Response, Served, modern_request, request, soon},
    memory::Memory,
};
use serde_json::{Value, json};
use wharf::{
    mcp::Caps,
    transport::http::{BODY_CAP, HttpSettings, Limits},
};

const A: &str = "x://a";

fn fill(memory: &Memory) {
    memory.set(A, "a");
}

async fn served() -> Served {
    Served::new(fill).await
}

async fn capped(caps: Caps, limits: Limits) -> Served {
    Served::with(fill, caps, limits, HttpSettings::default()).await
}

// The message.

#[tokio::test]
async fn a_body_that_is_no_message_is_400() {
    let served = served().await;
    for (body, code) in [
        ("", -32700),
        ("{", -32700),
        ("nonsense", -32700),
        ("{}{}", -32700),
        ("\u{feff}{}", -32700),
        ("1", -32600),
        ("\"a\"", -32600),
        ("null", -32600),
        ("{}", -32600),
        ("[]", -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":[],"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":{}}"#, -32600),
    ] {
        for headers in [&[][..], &[("mcp-protocol-version", MODERN)], &[("mcp-session-id", "nonsense")]] {
            assert_eq!(served.send("POST", headers, body.as_bytes()).await.code(), (400, code), "{body}");
        }
    }
    assert_eq!(served.send("POST", &[], b"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\"}").await.code(), (400, -32700));
    let answer = served.send("POST", &[], br#"{"jsonrpc":"1.0","id":"x","method":"ping"}"#).await.json();
    assert_eq!(answer["id"], "x", "an id that can be read goes back");
}

#[tokio::test]
async fn batches_are_for_sessions_of_2025_03_26() {
    let served = served().await;
    let batch = br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#;
    assert_eq!(served.send("POST", &[], batch).await.code(), (400, -32600));
    assert_eq!(served.send("POST", &[("mcp-protocol-version", MODERN)], batch).await.code(), (400, -32600));
    for version in ["2025-06-18", "2025-11-25"] {
        assert_eq!(served.session(version).await.post(batch).await.code(), (400, -32600));
    }
    let session = served.session("2025-03-26").await;
    assert_eq!(session.post(b"[]").await.code(), (400, -32600));
    assert_eq!(session.post(b"[1,").await.code(), (400, -32700));
    let many = vec![json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }); 65];
    assert_eq!(session.post(json!(many).to_string().as_bytes()).await.code(), (400, -32600));
    assert_eq!(session.post(json!(many[1..]).to_string().as_bytes()).await.json().as_array().unwrap().len(), 64);
}

#[tokio::test]
async fn an_unknown_method_is_404_in_the_modern_era_and_never_in_a_session() {
    let served = served().await;
    let session = served.session("2025-11-25").await;
    for method in ["nonsense", "", "resources/readd", "notifications/initialized"] {
        assert_eq!(session.ask(method, json!({})).await.code(), (200, -32601), "{method}");
    }
    for removed in ["initialize", "ping", "resources/subscribe", "resources/unsubscribe", "logging/setLevel", "roots/list", "nonsense"] {
        assert_eq!(served.modern(removed, json!({ "uri": A })).await.code(), (404, -32601), "{removed}");
    }
    assert_eq!(session.ask("ping", json!({})).await.status, 200);
}

#[tokio::test]
async fn wrong_parameters_are_named() {
    let served = served().await;
    let session = served.session("2025-11-25").await;
    let argument = json!({ "name": "a", "value": "b" });
    let reference = json!({ "type": "ref/resource", "uri": A });
    for (method, params, named) in [
        ("resources/read", json!({}), "`uri`"),
        ("resources/read", json!({ "uri": 5 }), "`uri`"),
        ("resources/read", json!({ "uri": null }), "`uri`"),
        ("resources/list", json!({ "cursor": 5 }), "`cursor`"),
        ("resources/templates/list", json!({ "cursor": {} }), "`cursor`"),
        ("tools/list", json!({ "cursor": "nonsense" }), "`cursor`"),
        ("tools/call", json!({ "name": "rm" }), "`name`"),
        ("tools/call", json!({}), "`name`"),
        ("prompts/get", json!({ "name": "p" }), "`name`"),
        ("completion/complete", json!({}), "`ref`"),
        ("completion/complete", json!({ "ref": [], "argument": argument }), "`ref`"),
        ("completion/complete", json!({ "ref": reference }), "`argument`"),
        ("completion/complete", json!({ "ref": reference, "argument": { "name": "a" } }), "`argument.value`"),
        ("completion/complete", json!({ "ref": { "type": "ref/tool" }, "argument": argument }), "`ref.type`"),
        ("completion/complete", json!({ "ref": { "type": "ref/resource" }, "argument": argument }), "`ref.uri`"),
    ] {
        for answer in [session.ask(method, params.clone()).await, served.modern(method, params.clone()).await] {
            assert_eq!(answer.code(), (200, -32602), "{method} {params}");
            let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
            assert!(message.contains(named), "{method} {params}: {message}");
        }
    }
    for (method, params) in [
        ("resources/subscribe", json!({})),
        ("resources/unsubscribe", json!({ "uri": [] })),
        ("logging/setLevel", json!({})),
        ("initialize", json!({})),
        ("initialize", json!({ "protocolVersion": 5 })),
    ] {
        assert_eq!(session.ask(method, params.clone()).await.code(), (200, -32602), "{method} {params}");
    }
    let array = br#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":["x://a"]}"#;
    assert_eq!(session.post(array).await.code(), (200, -32602));
}

#[tokio::test]
async fn invalid_uris_are_refused_wherever_they_come() {
    let served = served().await;
    let session = served.session("2025-11-25").await;
    for uri in ["", "a", "/etc/passwd", "x:// ", "x://\u{e9}", "x://%zz", &format!("x://{}", "a".repeat(8 * 1024))] {
        let params = json!({ "uri": uri });
        assert_eq!(session.ask("resources/read", params.clone()).await.code(), (200, -32602), "{uri}");
        assert_eq!(session.ask("resources/subscribe", params.clone()).await.code(), (200, -32602), "{uri}");
        let listen = json!({ "notifications": { "resourceSubscriptions": [A, uri] } });
        let answer = served.modern("subscriptions/listen", listen).await;
        assert_eq!(answer.code(), (200, -32602), "{uri}");
        assert!(answer.json()["error"]["data"]["reason"].is_string());
    }
    served.memory.subscribed(&[]).await;
}

#[tokio::test]
async fn foreign_cursors_are_refused() {
    let served = served().await;
    let session = served.session("2025-11-25").await;
    for method in ["resources/list", "resources/templates/list"] {
        for cursor in ["", "1", "nonsense", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "\u{0}", &"A".repeat(100_000)] {
            assert_eq!(session.ask(method, json!({ "cursor": cursor })).await.code(), (200, -32602), "{cursor}");
            assert_eq!(served.modern(method, json!({ "cursor": cursor })).await.code(), (200, -32602), "{cursor}");
        }
    }
}

#[tokio::test]
async fn pages_join_to_the_whole_list() {
    let served = Served::new(|memory| (0..2500).for_each(|n| memory.set(&format!("x://r/{n:04}"), ""))).await;
    let session = served.session("2025-11-25").await;
    let mut uris = Vec::new();
    let mut cursor = None;
    loop {
        let page = session.ask("resources/list", json!({ "cursor": cursor })).await.result();
        uris.extend(page["resources"].as_array().unwrap().iter().map(|entry| entry["uri"].as_str().unwrap().to_owned()));
        cursor = page.get("nextCursor").cloned();
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(uris, (0..2500).map(|n| format!("x://r/{n:04}")).collect::<Vec<_>>());
}

// The session.

#[tokio::test]
async fn a_request_without_a_session_is_400_and_with_a_foreign_one_404() {
    let served = served().await;
    let session = served.session("2025-11-25").await;
    let ping = request(1, "ping", json!({}));
    let other = if session.id.starts_with('0') { "1" } else { "0" };
    let foreign = format!("{other}{}", &session.id[1..]);
    for (headers, expected) in [
        (&[][..], (400, -32600)),
        (&[("mcp-session-id", "nonsense")], (404, -32001)),
        (&[("mcp-session-id", "")], (404, -32001)),
        (&[("mcp-session-id", "\u{e9}")], (404, -32001)),
        (&[("mcp-session-id", &foreign)], (404, -32001)),
        (&[("mcp-session-id", &session.id), ("mcp-session-id", &session.id)], (404, -32001)),
        (&[("mcp-session-id", &session.id), ("mcp-protocol-version", "nonsense")], (400, -32600)),
        (&[("mcp-session-id", &session.id), ("mcp-protocol-version", "2025-01-01")], (400, -32600)),
        (&[("mcp-session-id", &session.id), ("mcp-protocol-version", "")], (400, -32600)),
    ] {
        assert_eq!(served.send("POST", headers, &ping).await.code(), expected, "{headers:?}");
        let notification = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(served.send("POST", headers, notification).await.code(), expected, "{headers:?}");
        for method in ["GET", "DELETE"] {
            assert_eq!(served.send(method, headers, b"").await.code(), expected, "{method} {headers:?}");
        }
    }
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let headers = [("mcp-session-id", &*session.id), ("mcp-protocol-version", version)];
        assert_eq!(served.send("POST", &headers, &ping).await.status, 200);
    }
}

#[tokio::test]
async fn the_modern_era_has_no_get_and_no_delete() {
    let served = served().await;
    let session = served.session("2025-11-25").await;
    for method in ["GET", "DELETE"] {
        for headers in [&[("mcp-protocol-version", MODERN)][..], &[("mcp-protocol-version", MODERN), ("mcp-session-id", &session.id)]] {
            let answer = served.send(method, headers, b"").await;
            assert_eq!((answer.status, answer.header("allow")), (405, Some("GET, POST, DELETE, OPTIONS")));
        }
    }
    assert_eq!(session.ask("ping", json!({})).await.status, 200);
}

#[tokio::test]
async fn at_the_session_cap_the_idle_one_goes_and_with_none_it_is_503() {
    let served = capped(Caps { sessions: 1, ..Caps::default() }, Limits::default()).await;
    let idle = served.session("2025-11-25").await;
    let session = served.session("2025-11-25").await;
    assert_eq!(idle.ask("ping", json!({})).await.code(), (404, -32001));
    let _stream = session.stream(&[]).await;
    let initialize = request(1, "initialize", json!({ "protocolVersion": "2025-11-25" }));
    let refused = served.send("POST", &[], &initialize).await;
    assert_eq!(refused.code(), (503, -32603));
    assert_eq!(refused.header("mcp-session-id"), None);
    assert_eq!(session.ask("ping", json!({})).await.status, 200);
}

#[tokio::test]
async fn twenty_thousand_subscriptions_in_one_session_are_refused_past_the_cap() {
    let served = served().await;
    let session = served.session("2025-03-26").await;
    let (mut taken, mut refused) = (0, 0);
    for batch in 0..20_000 / 50 {
        let entry =
            |n| json!({ "jsonrpc": "2.0", "id": n, "method": "resources/subscribe", "params": { "uri": format!("x://n/{batch}/{n}") } });
        let batch: Vec<Value> = (0..50).map(entry).collect();
        for answer in session.post(json!(batch).to_string().as_bytes()).await.json().as_array().unwrap() {
            if answer.get("result").is_some() {
                taken += 1;
            } else {
                assert_eq!(answer["error"]["code"], -32603);
                assert_eq!(answer["error"]["data"], json!({ "kind": "limit", "cap": 10_000 }));
                refused += 1;
            }
        }
    }
    assert_eq!((taken, refused), (10_000, 10_000));
    let uris: Vec<_> = (0..20_000).map(|n| format!("x://n/{n}")).collect();
    let answer = served.modern("subscriptions/listen", json!({ "notifications": { "resourceSubscriptions": uris } })).await;
    assert_eq!(answer.code(), (200, -32603));
    assert_eq!(served.server.listen_count(), 0);
    assert_eq!(session.ask("ping", json!({})).await.status, 200);
}

// The modern request.

#[tokio::test]
async fn a_modern_request_without_its_meta_is_400() {
    let served = served().await;
    for meta in [
        json!(null),
        json!(5),
        json!([]),
        json!({}),
        json!({ "io.modelcontextprotocol/protocolVersion": MODERN }),
        json!({ "io.modelcontextprotocol/clientCapabilities": {} }),
        json!({ "io.modelcontextprotocol/protocolVersion": 5, "io.modelcontextprotocol/clientCapabilities": {} }),
        json!({ "io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": [] }),
        json!({ "io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": "" }),
    ] {
        for method in ["server/discover", "resources/list", "subscriptions/listen", "nonsense"] {
            let headers = [("mcp-protocol-version", MODERN), ("mcp-method", method)];
            let answer = served.send("POST", &headers, &request(3, method, json!({ "_meta": meta, "notifications": {} }))).await;
            assert_eq!((answer.code(), &answer.json()["id"]), ((400, -32602), &json!(3)), "{method} {meta}");
        }
    }
    let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "resources/list")];
    let array = br#"{"jsonrpc":"2.0","id":1,"method":"resources/list","params":[]}"#;
    assert_eq!(served.send("POST", &headers, array).await.code(), (400, -32602));
    assert_eq!(served.send("POST", &headers, br#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await.code(), (400, -32600));
}

#[tokio::test]
async fn headers_that_are_missing_or_say_other_than_the_body_are_400() {
    let served = served().await;
    let read = modern_request(json!(1), "resources/read", json!({ "uri": A }));
    let with = |version, method, name| {
        let all = [("mcp-protocol-version", version), ("mcp-method", method), ("mcp-name", name)];
        all.into_iter().filter_map(|(header, value): (_, Option<&'static str>)| Some((header, value?))).collect::<Vec<_>>()
    };
    let (version, method, name) = (Some(MODERN), Some("resources/read"), Some(A));
    for headers in [
        with(None, method, name),
        with(version, None, name),
        with(version, method, None),
        with(Some("2025-11-25"), method, name),
        with(Some("v999"), method, name),
        with(version, Some("resources/list"), name),
        with(version, Some("Resources/Read"), name),
        with(version, method, Some("x://A")),
        with(version, method, Some("x://b")),
        with(version, method, Some("=?base64?!?=")),
        with(version, method, Some("=?base64?/w==?=")),
        with(version, method, Some("x://\u{e9}")),
        [with(version, method, name), vec![("mcp-name", A)]].concat(),
    ] {
        assert_eq!(served.send("POST", &headers, &read).await.code(), (400, -32020), "{headers:?}");
    }
    assert_eq!(served.send("POST", &with(version, method, name), &read).await.status, 200);
}

#[tokio::test]
async fn a_version_that_is_not_spoken_is_named_after_the_mismatch_test() {
    let served = served().await;
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "v999", "io.modelcontextprotocol/clientCapabilities": {} });
    let body = request(1, "server/discover", json!({ "_meta": meta }));
    let send = async |version| served.send("POST", &[("mcp-protocol-version", version), ("mcp-method", "server/discover")], &body).await;
    assert_eq!(send(MODERN).await.code(), (400, -32020));
    let answer = send("v999").await;
    assert_eq!(answer.code(), (400, -32022));
    assert_eq!(answer.json()["error"]["data"], json!({ "supported": [MODERN], "requested": "v999" }));
}

#[tokio::test]
async fn a_listen_with_a_wrong_filter_is_refused_before_it_begins() {
    let served = served().await;
    for (params, named) in [
        (json!({}), "`notifications`"),
        (json!({ "notifications": [] }), "`notifications`"),
        (json!({ "notifications": { "resourcesListChanged": "yes" } }), "resourcesListChanged"),
        (json!({ "notifications": { "resourceSubscriptions": A } }), "resourceSubscriptions"),
        (json!({ "notifications": { "resourceSubscriptions": [5] } }), "resourceSubscriptions"),
    ] {
        let answer = served.modern("subscriptions/listen", params.clone()).await;
        assert_eq!(answer.code(), (200, -32602), "{params}");
        assert!(answer.json()["error"]["message"].as_str().unwrap().contains(named), "{params}");
    }
    assert_eq!(served.server.listen_count(), 0);
}

#[tokio::test]
async fn past_the_listen_cap_a_listen_is_refused_before_its_acknowledgement() {
    let served = capped(Caps { listens: 1, ..Caps::default() }, Limits::default()).await;
    let listen = json!({ "notifications": { "resourceSubscriptions": [A] } });
    let mut first = served.listen(listen["notifications"].clone()).await;
    assert!(first.event().await.is_some());
    let refused = served.modern("subscriptions/listen", listen.clone()).await;
    assert_eq!(refused.code(), (200, -32603));
    assert_eq!(refused.json()["error"]["data"], json!({ "kind": "limit", "cap": 1 }));
    drop(first);
    soon(served.memory.subscribed(&[])).await;
    served.listen(listen["notifications"].clone()).await;
}

// HTTP.

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

// A listener that does not read.

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stalled_reader_slows_nobody_and_loses_nothing() {
    const COUNT: usize = 1_500;
    let uris: Vec<String> = (0..COUNT).map(|n| format!("x://r/{n}/{}", "a".repeat(8_000))).collect();
    let served = Served::new(|memory| uris.iter().for_each(|uri| memory.set(uri, ""))).await;
    let stalled = served.session("2025-03-26").await;
    for uris in uris.chunks(50) {
        let entry = |uri| json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": { "uri": uri } });
        let batch: Vec<Value> = uris.iter().map(entry).collect();
        assert_eq!(stalled.post(json!(batch).to_string().as_bytes()).await.status, 200);
    }
    let mut stream = stalled.stream(&[]).await;
    let mut other = served.listen(json!({ "resourceSubscriptions": uris[..COUNT / 4] })).await;
    assert!(other.event().await.is_some());
    // 12 MB for the one that does not read, of which its socket takes some.
    for _ in 0..2 {
        uris.iter().for_each(|uri| served.memory.update(uri, "new"));
        for _ in 0..COUNT / 4 {
            assert!(other.event().await.is_some());
        }
        assert_eq!(stalled.ask("ping", json!({})).await.status, 200);
        assert_eq!(stalled.ask("resources/read", json!({ "uri": uris[0] })).await.result()["contents"][0]["text"], "new");
    }
    let mut told = std::collections::HashSet::new();
    while told.len() < COUNT {
        let event = stream.event().await.expect("the stream ended");
        told.insert(event.told().1.unwrap().to_owned());
    }
}
