//! Request ids of all kinds (JSON-RPC 2.0 §4; MCP, "Requests").

use serde_json::json;

use crate::{
    B,
    common::http::{MODERN, soon},
    served,
};

/// Ids that are taken, and go back byte for byte: strings and numbers. Among them are numbers that a double does not hold, and fractions,
/// which MCP does not want and nothing here minds.
const TAKEN: [&str; 19] = [
    "0",
    "-1",
    "-0",
    "1.0",
    "1.5",
    "-1.50e2",
    "9007199254740993",
    "18446744073709551616",
    "123456789012345678901234567890",
    "0.1000000000000000055511151231257827",
    "\"\"",
    "\"1\"",
    "\" \"",
    "\"null\"",
    "\"\\u0000\"",
    "\"\\ud83e\\udd80 \\/\"",
    "\"🦀\"",
    "\"listen:0\"",
    "\"0f8fad5b-d9cb-469f-a165-70867728950e\"",
];

/// Those that are not, and are answered with id null.
const REFUSED: [&str; 10] = ["null", "true", "false", "[]", "[1]", "{}", "{\"a\":1}", "01", "+1", ".5"];

fn modern(id: &str, method: &str, params: &str) -> Vec<u8> {
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"_meta":{meta}{params}}}}}"#).into_bytes()
}

fn legacy(id: &str, method: &str, params: &str) -> Vec<u8> {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#).into_bytes()
}

#[tokio::test]
async fn every_string_and_number_goes_back_byte_for_byte_in_both_eras_and_from_errors() {
    let served = served().await;
    let session = served.session("2025-11-25").await;
    let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "resources/read"), ("mcp-name", B)];
    for id in TAKEN {
        let begins = format!(r#"{{"jsonrpc":"2.0","id":{id},"#);
        for (answer, kind) in [
            (served.send("POST", &headers, &modern(id, "resources/read", r#","uri":"x://b""#)).await, "\"result\":"),
            (served.send("POST", &headers, &modern(id, "resources/read", "")).await, "\"error\":"),
            (session.post(&legacy(id, "resources/read", r#"{"uri":"x://b"}"#)).await, "\"result\":"),
            (session.post(&legacy(id, "resources/read", "{}")).await, "\"error\":"),
            (session.post(&legacy(id, "nonsense", "{}")).await, "\"error\":"),
            (served.send("POST", &[], &legacy(id, "initialize", r#"{"protocolVersion":"2025-11-25"}"#)).await, "\"result\":"),
        ] {
            let text = String::from_utf8(answer.body).unwrap();
            assert!(text.starts_with(&format!("{begins}{kind}")), "{id}: {text}");
        }
    }
}

#[tokio::test]
async fn a_listens_id_tags_its_notices_byte_for_byte() {
    let mut served = served().await;
    let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "subscriptions/listen")];
    let mut streams = Vec::new();
    for id in TAKEN {
        let listen = modern(id, "subscriptions/listen", r#","notifications":{"resourcesListChanged":true}"#);
        let mut stream = served.start("POST", &headers, &listen).await;
        assert_eq!(stream.head().await.status, 200);
        let tag = format!(r#""io.modelcontextprotocol/subscriptionId":{id}"#);
        assert!(stream.text().await.unwrap().contains(&tag), "{id}");
        streams.push((id, tag, stream));
    }
    served.stop();
    for (id, tag, mut stream) in streams {
        let result = stream.text().await.unwrap();
        assert!(result.contains(&format!(r#""id":{id},"#)) && result.contains(&tag), "{id}: {result}");
    }
    served.stopped().await;
}

#[tokio::test]
async fn no_other_id_is_taken_and_nothing_is_done_for_it() {
    let served = served().await;
    let session = served.session("2025-11-25").await;
    for id in REFUSED {
        let code = if id.starts_with(['0', '+', '.']) { -32700 } else { -32600 };
        let read = modern(id, "resources/read", r#","uri":"x://b""#);
        let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "resources/read"), ("mcp-name", B)];
        let subscribe = legacy(id, "resources/subscribe", r#"{"uri":"x://b"}"#);
        // A notification has no id at all: null is one, and it is not allowed.
        let initialized = legacy(id, "notifications/initialized", "{}");
        let initialize = legacy(id, "initialize", r#"{"protocolVersion":"2025-11-25"}"#);
        for answer in [
            served.send("POST", &headers, &read).await,
            session.post(&subscribe).await,
            session.post(&initialized).await,
            served.send("POST", &[], &initialize).await,
        ] {
            assert_eq!((answer.code(), &answer.json()["id"]), ((400, code), &json!(null)), "{id}");
            assert_eq!(answer.header("mcp-session-id"), None);
        }
    }
    served.memory.subscribed(&[]).await;
    assert_eq!(served.server.session_count(), 1);
}

#[tokio::test]
async fn the_same_id_twice_in_flight_is_two_requests_over_http() {
    let served = served().await;
    let session = served.session("2025-11-25").await;
    let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "resources/read"), ("mcp-name", B)];
    let own = [("mcp-session-id", &*session.id)];
    served.memory.hold(true);
    let read = modern("1", "resources/read", r#","uri":"x://b""#);
    let legacy_read = legacy("1", "resources/read", r#"{"uri":"x://b"}"#);
    let mut pending = vec![served.start("POST", &headers, &read).await];
    soon(served.memory.reads_under_way(1)).await;
    pending.push(served.start("POST", &headers, &read).await);
    pending.push(served.start("POST", &own, &legacy_read).await);
    pending.push(served.start("POST", &own, &legacy_read).await);
    // The answer of each goes to the connection it came on, so that none can be taken for another's.
    let ping = session.post(&legacy("1", "ping", "{}")).await;
    assert_eq!(ping.json(), json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
    served.memory.hold(false);
    for mut connection in pending {
        let answer = soon(connection.answer()).await;
        assert_eq!((&answer.json()["id"], &answer.result()["contents"][0]["text"]), (&json!(1), &json!("b")));
    }
}

#[tokio::test]
async fn the_same_id_twice_names_two_listens_of_different_connections() {
    let served = served().await;
    let (mut one, mut two) =
        (served.listen(json!({ "resourceSubscriptions": [B] })).await, served.listen(json!({ "resourceSubscriptions": [B] })).await);
    for stream in [&mut one, &mut two] {
        stream.event().await.unwrap();
    }
    drop(one);
    served.memory.update(B, "new");
    assert_eq!(two.event().await.unwrap().told(), ("notifications/resources/updated", Some(B)));
}
