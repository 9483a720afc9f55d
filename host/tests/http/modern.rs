//! The stateless era: what goes right, and what a request must say.

use serde_json::json;
use wharf::{mcp::Caps, transport::http::Limits};

use crate::{
    A, B, a_listed, capped,
    common::http::{MODERN, modern_request, request, soon},
    others_listed, served, told, updated,
};

#[tokio::test]
async fn discover_says_what_there_is() {
    let served = served().await;
    assert_eq!(
        served.modern("server/discover", json!({})).await.result(),
        json!({
            "resultType": "complete",
            "supportedVersions": [MODERN],
            "capabilities": { "resources": { "subscribe": true, "listChanged": true }, "completions": {}, "tools": {}, "prompts": {} },
            "instructions": "Read \"x://a\".",
            "ttlMs": 3_600_000, "cacheScope": "public",
            "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "wharf", "title": "Wharf", "version": "0.1.0" } },
        })
    );
}

#[tokio::test]
async fn modern_answers_say_that_they_are_complete_and_how_long_they_last() {
    let served = served().await;
    let [b, logo] = others_listed();
    let meta = json!({ "io.modelcontextprotocol/serverInfo": { "name": "wharf", "title": "Wharf", "version": "0.1.0" } });
    for (method, params, field, value) in [
        ("resources/list", json!({}), "resources", json!([a_listed(), b, logo])),
        ("resources/templates/list", json!({}), "resourceTemplates", json!([{ "uriTemplate": "x://t/{name}", "name": "t" }])),
        ("resources/read", json!({ "uri": A }), "contents", json!([{ "uri": A, "mimeType": "text/plain", "text": "ä\"\n" }])),
        ("tools/list", json!({}), "tools", json!([])),
        ("prompts/list", json!({}), "prompts", json!([])),
    ] {
        let response = served.modern(method, params).await;
        assert_eq!(response.header("mcp-session-id"), None);
        let expected = json!({ "resultType": "complete", field: value, "ttlMs": 0, "cacheScope": "private", "_meta": meta });
        assert_eq!(response.result(), expected, "{method}");
    }
}

#[tokio::test]
async fn a_session_id_beside_a_modern_request_is_passed_over() {
    let served = served().await;
    let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "resources/read"), ("mcp-name", B), ("mcp-session-id", "nonsense")];
    let answer = served.send("POST", &headers, &modern_request(json!(1), "resources/read", json!({ "uri": B }))).await;
    assert_eq!((answer.status, answer.header("mcp-session-id")), (200, None));
}

#[tokio::test]
async fn a_name_may_come_in_base64() {
    let served = served().await;
    let body = modern_request(json!(1), "resources/read", json!({ "uri": B }));
    for (name, code) in
        [("=?base64?eDovL2I=?=", None), ("=?base64?eDovL2E=?=", Some(-32020)), ("=?base64?###?=", Some(-32020)), ("x://b ", None)]
    {
        let headers = [("MCP-Protocol-Version", MODERN), ("Mcp-Method", "resources/read"), ("MCP-NAME", name)];
        assert_eq!(served.send("POST", &headers, &body).await.json()["error"]["code"].as_i64(), code, "{name}");
    }
}

#[tokio::test]
async fn completions_are_empty_for_what_there_is() {
    let served = served().await;
    let session = served.session("2025-11-25").await;
    let params = |uri: &str| json!({ "ref": { "type": "ref/resource", "uri": uri }, "argument": { "name": "name", "value": "a" } });
    for uri in ["x://t/{name}", B] {
        let expected = json!({ "values": [], "total": 0, "hasMore": false });
        assert_eq!(session.ask("completion/complete", params(uri)).await.result(), json!({ "completion": expected }));
        let modern = served.modern("completion/complete", params(uri)).await.result();
        assert_eq!((&modern["completion"], &modern["resultType"], modern.get("ttlMs")), (&expected, &json!("complete"), None));
    }
    assert_eq!(session.ask("completion/complete", params("x://nothing")).await.code(), (200, -32602));
}

#[tokio::test]
async fn a_listen_is_acknowledged_first_and_told_of_what_it_asked_for_only() {
    let served = served().await;
    let params = json!({ "notifications": { "resourcesListChanged": true, "resourceSubscriptions": [A, A], "toolsListChanged": true } });
    let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "subscriptions/listen"), ("accept", "application/json")];
    let mut stream = served.start("POST", &headers, &modern_request(json!("L\"1"), "subscriptions/listen", params)).await;
    assert_eq!(stream.head().await.status, 200);
    let tag = json!({ "io.modelcontextprotocol/subscriptionId": "L\"1" });
    let ack = stream.event().await.unwrap();
    assert_eq!(ack.id, None);
    assert_eq!(
        ack.data,
        json!({ "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {
            "_meta": tag, "notifications": { "resourcesListChanged": true, "resourceSubscriptions": [A] },
        } })
    );
    served.memory.subscribed(&[A]).await;
    let mut other = served.listen(json!({ "resourceSubscriptions": [B] })).await;
    assert!(other.event().await.is_some());
    served.memory.update(B, "new b");
    served.memory.update(A, "new a");
    let expected = json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": { "_meta": tag, "uri": A } });
    assert_eq!(stream.event().await.unwrap().data, expected);
    assert_eq!(told(&mut other).await, updated(B));
    served.memory.put("x://new", "new");
    served.memory.announce_list();
    let expected = json!({ "jsonrpc": "2.0", "method": "notifications/resources/list_changed", "params": { "_meta": tag } });
    assert_eq!(stream.event().await.unwrap().data, expected);
    served.memory.update(B, "newer b");
    assert_eq!(told(&mut other).await, updated(B), "it did not ask for the lists");
}

#[tokio::test]
async fn a_client_that_hangs_up_ends_its_listen_at_once() {
    let served = served().await;
    let mut stream = served.listen(json!({ "resourceSubscriptions": [A] })).await;
    assert!(stream.event().await.is_some());
    served.memory.subscribed(&[A]).await;
    let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }).to_string();
    let response = served.send("POST", &[("mcp-protocol-version", MODERN)], cancelled.as_bytes()).await;
    assert_eq!((response.status, response.body.len()), (202, 0));
    served.memory.update(A, "new");
    assert_eq!(told(&mut stream).await, updated(A), "another client may have meant another listen");
    drop(stream);
    soon(served.memory.subscribed(&[])).await;
}

#[tokio::test]
async fn a_listen_for_nothing_is_acknowledged_and_ends() {
    let served = served().await;
    let mut stream = served.listen(json!({ "resourceSubscriptions": [], "resourcesListChanged": false, "promptsListChanged": true })).await;
    assert_eq!(stream.event().await.unwrap().data["params"]["notifications"], json!({}));
    assert_eq!(stream.event().await.unwrap().data["id"], 1);
    assert_eq!(stream.event().await, None);
}

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
        [with(version, method, name), vec![("mcp-name", "x://b")]].concat(),
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
