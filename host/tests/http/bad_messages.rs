//! Messages a client can send wrong, and what providers say no to.

use serde_json::json;
use wharf::provider::{Error, ResourceInfo};

use crate::{
    A,
    common::http::{MODERN, Served},
    served,
};

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
    let served = Served::new(|memory| (0..2500).for_each(|n| memory.put(&format!("x://r/{n:04}"), ""))).await;
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

#[tokio::test]
async fn errors_of_providers_come_in_each_eras_own_form() {
    let served = Served::new(|memory| {
        memory.insert(ResourceInfo::new("x://denied", "denied"), Err(Error::Denied("not yours".into())));
        memory.insert(ResourceInfo::new("x://invalid", "invalid"), Err(Error::Invalid("no such day".into())));
    })
    .await;
    let session = served.session("2025-11-25").await;
    for (uri, legacy, modern, data) in [
        ("x://nothing", -32002, -32602, json!({ "uri": "x://nothing" })),
        ("x://invalid", -32602, -32602, json!({ "uri": "x://invalid", "reason": "no such day" })),
        ("x://denied", -32603, -32603, json!({ "kind": "denied", "provider": "memory" })),
    ] {
        let answers =
            [session.ask("resources/read", json!({ "uri": uri })).await, served.modern("resources/read", json!({ "uri": uri })).await];
        for (answer, code) in answers.into_iter().zip([legacy, modern]) {
            assert_eq!((answer.code(), &answer.json()["error"]["data"]), ((200, code), &data), "{uri}");
        }
    }
}
