//! Sessions that are not there, and their limits.

use serde_json::{Value, json};
use wharf::{mcp::Caps, transport::http::Limits};

use crate::{
    capped,
    common::http::{MODERN, request},
    served,
};

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
        (&[("mcp-session-id", &session.id), ("mcp-session-id", &foreign)], (404, -32001)),
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
