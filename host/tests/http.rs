//! Both eras over a real loopback socket: what goes right.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use bytes::Bytes;
use common::{
    http::{Connection, MODERN, Served, modern_request, request, soon},
    memory::Memory,
};
use serde_json::{Value, json};
use wharf::{
    mcp::Caps,
    provider::{Annotations, Body, Error, ResourceInfo, Role, TemplateInfo},
    transport::http::{HttpSettings, Limits},
};

const A: &str = "x://A/../a?q=%2F";
const B: &str = "x://b";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

fn fill(memory: &Memory) {
    let mut info = ResourceInfo::new(A, "a");
    info.title = Some("The A".into());
    info.mime_type = Some("text/plain".into());
    info.size = Some(2);
    info.annotations = Some(Annotations { audience: Some(vec![Role::User]), priority: Some(1.0), last_modified: Some(0) });
    memory.put(info, Ok(Body::Text("ä\"\n".into())));
    memory.set(B, "b");
    memory.put(ResourceInfo::new("x://logo", "logo"), Ok(Body::Blob(Bytes::from_static(PNG))));
    memory.template(TemplateInfo::new("x://t/{name}", "t"));
}

async fn served() -> Served {
    Served::new(fill).await
}

fn a_listed() -> Value {
    json!({
        "uri": A, "name": "a", "title": "The A", "mimeType": "text/plain", "size": 2,
        "annotations": { "audience": ["user"], "priority": 1.0, "lastModified": "1970-01-01T00:00:00Z" },
    })
}

fn others_listed() -> [Value; 2] {
    [json!({ "uri": B, "name": "b" }), json!({ "uri": "x://logo", "name": "logo" })]
}

async fn told(stream: &mut Connection) -> (String, Option<String>) {
    let event = stream.event().await.expect("the stream ended");
    let (method, uri) = event.told();
    (method.to_owned(), uri.map(Into::into))
}

fn updated(uri: &str) -> (String, Option<String>) {
    ("notifications/resources/updated".into(), Some(uri.into()))
}

fn list_changed() -> (String, Option<String>) {
    ("notifications/resources/list_changed".into(), None)
}

// The stateful era.

#[tokio::test]
async fn a_session_is_opened_in_every_version_and_in_the_newest_for_any_other() {
    let served = served().await;
    for (asked, given) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        (MODERN, "2025-11-25"),
        ("", "2025-11-25"),
        ("nonsense", "2025-11-25"),
    ] {
        let session = served.session(asked).await;
        assert!(session.id.bytes().all(|byte| (0x21..=0x7e).contains(&byte)));
        assert_eq!(
            session.initialized,
            json!({
                "protocolVersion": given,
                "capabilities": { "resources": { "subscribe": true, "listChanged": true }, "completions": {}, "tools": {}, "prompts": {} },
                "serverInfo": { "name": "wharf", "title": "Wharf", "version": "0.1.0" },
                "instructions": "Read \"x://a\".",
            })
        );
    }
    assert_eq!(served.server.session_count(), 7);
}

#[tokio::test]
async fn a_session_lists_and_reads() {
    let served = served().await;
    let session = served.session("2025-11-25").await;
    assert_eq!(session.ask("ping", json!({})).await.result(), json!({}));
    let [b, logo] = others_listed();
    assert_eq!(session.ask("resources/list", json!({})).await.result(), json!({ "resources": [a_listed(), b, logo] }));
    assert_eq!(
        session.ask("resources/templates/list", json!({ "cursor": null })).await.result(),
        json!({ "resourceTemplates": [{ "uriTemplate": "x://t/{name}", "name": "t" }] })
    );
    let read = async |uri: &str| session.ask("resources/read", json!({ "uri": uri, "_meta": { "progressToken": 1 } })).await.result();
    assert_eq!(read(A).await, json!({ "contents": [{ "uri": A, "mimeType": "text/plain", "text": "ä\"\n" }] }));
    assert_eq!(read("x://logo").await, json!({ "contents": [{ "uri": "x://logo", "blob": "iVBORw0KGgo=" }] }));
    assert_eq!(read("x://t/n").await, json!({ "contents": [{ "uri": "x://t/n", "text": "name=n\n" }] }));
    assert_eq!(session.ask("tools/list", json!({})).await.result(), json!({ "tools": [] }));
    assert_eq!(session.ask("prompts/list", json!({})).await.result(), json!({ "prompts": [] }));
    assert_eq!(session.ask("logging/setLevel", json!({ "level": "debug" })).await.result(), json!({}));
}

#[tokio::test]
async fn requests_are_served_before_initialized_and_notifications_are_taken() {
    let served = served().await;
    let session = served.session("2025-06-18").await;
    assert_eq!(session.ask("resources/read", json!({ "uri": B })).await.status, 200);
    for message in [
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/unheard-of", "params": [] }),
        json!({ "jsonrpc": "2.0", "id": 1, "result": {} }),
        json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": 1, "message": "" } }),
    ] {
        let response = session.post(message.to_string().as_bytes()).await;
        assert_eq!((response.status, response.body.len()), (202, 0), "{message}");
    }
}

#[tokio::test]
async fn ids_come_back_byte_for_byte() {
    let served = served().await;
    let session = served.session("2025-11-25").await;
    for id in ["1", "-1.50e2", "\"\\u0041\"", "12345678901234567890123"] {
        let response = session.post(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#).as_bytes()).await;
        assert_eq!(String::from_utf8(response.body).unwrap(), format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    }
}

#[tokio::test]
async fn a_session_is_told_of_its_own_subscriptions_only() {
    let served = served().await;
    let (one, two) = (served.session("2025-11-25").await, served.session("2025-11-25").await);
    one.subscribe(A).await;
    one.subscribe(A).await;
    two.subscribe(B).await;
    served.memory.subscribed(&[A, B]).await;
    let (mut of_one, mut of_two) = (one.stream(&[]).await, two.stream(&[]).await);
    served.memory.update(A, "new a");
    served.memory.update(B, "new b");
    assert_eq!(told(&mut of_one).await, updated(A));
    assert_eq!(told(&mut of_two).await, updated(B));
    assert_eq!(one.ask("resources/read", json!({ "uri": A })).await.result()["contents"][0]["text"], "new a");
    assert_eq!(one.ask("resources/unsubscribe", json!({ "uri": A })).await.result(), json!({}));
    assert_eq!(one.ask("resources/unsubscribe", json!({ "uri": A })).await.result(), json!({}));
    served.memory.subscribed(&[B]).await;
    served.memory.update(A, "newer a");
    one.subscribe(B).await;
    served.memory.update(B, "newer b");
    assert_eq!(told(&mut of_one).await, updated(B), "nothing of A after the unsubscribe");
}

#[tokio::test]
async fn updates_wait_for_the_stream_and_each_resource_is_told_once() {
    let served = served().await;
    let session = served.session("2025-11-25").await;
    session.subscribe(A).await;
    session.subscribe(B).await;
    for n in 0..100 {
        served.memory.update(A, &n.to_string());
    }
    served.memory.update(B, "last");
    // The driver has seen them all once it answers this.
    served.world.subscriptions.counts().await;
    let mut stream = session.stream(&[]).await;
    let first = told(&mut stream).await;
    assert_eq!(first, updated(A));
    let mut seen = vec![told(&mut stream).await];
    while !seen.contains(&updated(B)) {
        seen.push(told(&mut stream).await);
    }
    assert!(seen.len() <= 2, "{seen:?}");
}

#[tokio::test]
async fn a_stream_picks_up_after_the_last_event_the_client_saw() {
    let served = served().await;
    let session = served.session("2025-11-25").await;
    session.subscribe(A).await;
    session.subscribe(B).await;
    let mut stream = session.stream(&[]).await;
    served.memory.update(A, "1");
    let seen = stream.event().await.unwrap();
    assert_eq!(seen.told().1, Some(A));
    served.memory.update(B, "1");
    assert_eq!(told(&mut stream).await, updated(B));
    drop(stream);
    let mut stream = session.stream(&[("last-event-id", &seen.id.unwrap())]).await;
    assert_eq!(told(&mut stream).await, updated(B));
    let mut newer = session.stream(&[("last-event-id", "nonsense")]).await;
    assert_eq!(stream.event().await, None, "the newer takes its place");
    served.memory.update(A, "2");
    assert_eq!(told(&mut newer).await, updated(A));
}

#[tokio::test]
async fn a_session_is_told_that_the_lists_changed() {
    let served = served().await;
    let session = served.session("2025-11-25").await;
    let mut stream = session.stream(&[]).await;
    let before = session.ask("resources/list", json!({})).await.result();
    served.memory.set("x://new", "new");
    served.memory.announce_list();
    assert_eq!(told(&mut stream).await, list_changed());
    let after = session.ask("resources/list", json!({})).await.result();
    assert_eq!(after["resources"].as_array().unwrap().len(), before["resources"].as_array().unwrap().len() + 1);
}

#[tokio::test]
async fn a_deleted_session_is_gone_and_its_stream_ends() {
    let served = served().await;
    let (session, other) = (served.session("2025-11-25").await, served.session("2025-11-25").await);
    session.subscribe(A).await;
    let mut stream = session.stream(&[]).await;
    let delete = async || served.send("DELETE", &[("mcp-session-id", &session.id)], b"").await;
    assert_eq!(delete().await.status, 204);
    assert_eq!(stream.event().await, None);
    served.memory.subscribed(&[]).await;
    assert_eq!(delete().await.status, 404);
    assert_eq!(session.ask("ping", json!({})).await.code(), (404, -32001));
    assert_eq!(other.ask("ping", json!({})).await.status, 200);
}

#[tokio::test]
async fn a_second_initialize_is_a_session_of_its_own() {
    let served = served().await;
    let first = served.session("2025-11-25").await;
    let body = request(1, "initialize", json!({ "protocolVersion": "2025-11-25" }));
    let again = first.post(&body).await;
    assert_ne!(again.header("mcp-session-id"), Some(&*first.id));
    assert_ne!(served.session("2025-11-25").await.id, first.id);
    assert_eq!(first.ask("ping", json!({})).await.status, 200);
}

#[tokio::test]
async fn a_batch_is_answered_in_its_order_in_a_session_of_2025_03_26() {
    let served = served().await;
    let session = served.session("2025-03-26").await;
    let batch = json!([
        { "jsonrpc": "2.0", "id": 1, "method": "ping" },
        { "jsonrpc": "2.0", "method": "notifications/initialized" },
        { "jsonrpc": "2.0", "id": "b", "method": "resources/read", "params": { "uri": B } },
        7,
        { "jsonrpc": "2.0", "id": 3, "method": "initialize", "params": { "protocolVersion": "2025-03-26" } },
        { "jsonrpc": "2.0", "id": 4, "method": "nonsense" },
    ]);
    let answers = session.post(batch.to_string().as_bytes()).await.json();
    let ids: Vec<_> = answers.as_array().unwrap().iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(ids, [json!(1), json!("b"), json!(null), json!(3), json!(4)]);
    assert_eq!(answers[1]["result"]["contents"][0]["text"], "b");
    let codes: Vec<_> = answers.as_array().unwrap().iter().filter_map(|answer| answer["error"]["code"].as_i64()).collect();
    assert_eq!(codes, [-32600, -32600, -32601]);
    let silent = json!([{ "jsonrpc": "2.0", "method": "notifications/initialized" }]);
    assert_eq!(session.post(silent.to_string().as_bytes()).await.status, 202);
}

#[tokio::test]
async fn a_slow_read_holds_up_no_other_request_of_its_session() {
    let served = served().await;
    let session = served.session("2025-11-25").await;
    let mut stream = session.stream(&[]).await;
    served.memory.hold(true);
    let slow = session.ask("resources/read", json!({ "uri": B }));
    let meanwhile = async {
        served.memory.reads_under_way(1).await;
        assert_eq!(session.ask("ping", json!({})).await.status, 200);
        session.subscribe(A).await;
        served.memory.update(A, "new");
        assert_eq!(told(&mut stream).await, updated(A));
        served.memory.hold(false);
    };
    let (slow, ()) = tokio::join!(slow, meanwhile);
    assert_eq!(slow.result()["contents"][0]["text"], "b");
}

#[tokio::test]
async fn a_client_that_hangs_up_leaves_its_read_and_nothing_else() {
    let served = served().await;
    let session = served.session("2025-11-25").await;
    served.memory.hold(true);
    let read = request(1, "resources/read", json!({ "uri": B }));
    let connection = served.start("POST", &[("mcp-session-id", &session.id)], &read).await;
    soon(served.memory.reads_under_way(1)).await;
    drop(connection);
    served.memory.hold(false);
    assert_eq!(session.ask("resources/read", json!({ "uri": B })).await.status, 200);
}

// The stateless era.

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
    served.memory.set("x://new", "new");
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

// The shutdown.

#[tokio::test]
async fn the_shutdown_ends_streams_and_lets_a_request_finish() {
    let mut served = served().await;
    let address = served.address;
    let session = served.session("2025-11-25").await;
    let mut of_session = session.stream(&[]).await;
    let id = session.id;
    let mut listen = served.listen(json!({ "resourcesListChanged": true })).await;
    assert!(listen.event().await.is_some());
    served.memory.hold(true);
    let mut read = served.start("POST", &[("mcp-session-id", &id)], &request(1, "resources/read", json!({ "uri": B }))).await;
    soon(served.memory.reads_under_way(1)).await;
    served.stop();
    let result = listen.event().await.unwrap().data;
    assert_eq!(result["id"], 1);
    assert_eq!(result["result"]["resultType"], "complete");
    assert_eq!(result["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    assert_eq!(result["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "wharf");
    assert_eq!(listen.event().await, None);
    assert_eq!(of_session.event().await, None);
    served.memory.hold(false);
    assert_eq!(soon(read.answer()).await.result()["contents"][0]["text"], "b");
    served.stopped().await;
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn the_shutdown_cuts_off_what_does_not_finish() {
    let limits = Limits { shutdown_time: std::time::Duration::from_millis(50), ..Limits::default() };
    let mut served = Served::with(fill, Caps::default(), limits, HttpSettings::default()).await;
    let id = served.session("2025-11-25").await.id;
    served.memory.hold(true);
    let read = request(1, "resources/read", json!({ "uri": B }));
    let mut stuck = served.start("POST", &[("mcp-session-id", &id)], &read).await;
    soon(served.memory.reads_under_way(1)).await;
    served.stop();
    served.stopped().await;
    assert!(stuck.is_closed().await);
}

// What providers say no to.

#[tokio::test]
async fn errors_of_providers_come_in_each_eras_own_form() {
    let served = Served::new(|memory| {
        memory.put(ResourceInfo::new("x://denied", "denied"), Err(Error::Denied("not yours".into())));
        memory.put(ResourceInfo::new("x://invalid", "invalid"), Err(Error::Invalid("no such day".into())));
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
