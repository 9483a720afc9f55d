//! Resources as tools, in both eras.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use wharf::{
    mcp::{
        Caps,
        observe::{Connection as Whose, Observer},
    },
    tools::Tools,
    transport::http::HttpSettings,
};

use super::{
    A, B, Connection, Limits, Served,
    common::http::{Session, modern_request, request, soon},
    fill, served, told, updated,
};

async fn with_tools() -> Served {
    let settings = HttpSettings::default();
    Served::made(fill, Caps::default(), Limits::default(), settings, |server, world| {
        server.with_tools(Tools::new(world.catalog.clone(), &world.subscriptions, 7))
    })
    .await
}

fn wait(arguments: Value) -> Value {
    json!({ "name": "wait_for_update", "arguments": arguments })
}

/// A progress token, so that there is something to tell.
fn legacy_wait(arguments: Value, id: &str) -> Vec<u8> {
    let mut params = wait(arguments);
    params["_meta"] = json!({ "progressToken": "p" });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string().into_bytes()
}

async fn start(session: &Session<'_>, body: &[u8]) -> Connection {
    let mut stream = session.served.start("POST", &[("mcp-session-id", &session.id)], body).await;
    let head = stream.head().await;
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
    stream
}

async fn answer(stream: &mut Connection) -> Value {
    loop {
        let event = stream.event().await.expect("the stream ended");
        if event.data.get("method") != Some(&json!("notifications/progress")) {
            return event.data;
        }
    }
}

#[tokio::test]
async fn without_tools_there_are_none() {
    let served = served().await;
    assert_eq!(served.modern("tools/list", json!({})).await.result()["tools"], json!([]));
    assert_eq!(served.modern("tools/call", json!({ "name": "list_resources" })).await.code(), (200, -32602));
    let session = served.session("2025-11-25").await;
    assert_eq!(session.ask("tools/list", json!({})).await.result(), json!({ "tools": [] }));
}

#[tokio::test]
async fn both_eras_list_and_call_the_same_tools_each_in_its_own_frame() {
    let served = with_tools().await;
    let session = served.session("2025-06-18").await;
    let (modern, legacy) = (served.modern("tools/list", json!({})).await.result(), session.ask("tools/list", json!({})).await.result());
    assert_eq!((&modern["tools"], legacy["tools"].as_array().unwrap().len()), (&legacy["tools"], 5));
    assert_eq!((&modern["resultType"], &modern["ttlMs"], legacy.get("ttlMs")), (&json!("complete"), &json!(0), None));
    assert_eq!(session.ask("tools/list", json!({ "cursor": "x" })).await.code(), (200, -32602));

    let call = json!({ "name": "list_resources", "arguments": { "text": "logo" } });
    let (modern, legacy) = (served.modern("tools/call", call.clone()).await.result(), session.ask("tools/call", call).await.result());
    assert_eq!((&modern["resultType"], &modern["content"]), (&json!("complete"), &legacy["content"]));
    assert!(modern["_meta"]["io.modelcontextprotocol/serverInfo"].is_object() && legacy.get("_meta").is_none());
    assert_eq!(legacy["structuredContent"], json!({ "resources": [{ "uri": "x://logo", "name": "logo", "provider": "memory" }] }));
    assert_eq!(
        legacy["content"],
        json!([
            { "type": "text", "text": "- x://logo: logo\n" },
            { "type": "resource_link", "uri": "x://logo", "name": "logo" },
        ])
    );
}

#[tokio::test]
async fn a_blob_is_embedded_and_an_error_of_a_tool_is_a_result() {
    let served = with_tools().await;
    let read = served.modern("tools/call", json!({ "name": "read_resource", "arguments": { "uri": "x://logo" } })).await.result();
    assert_eq!(read["content"][0], json!({ "type": "resource", "resource": { "uri": "x://logo", "blob": "iVBORw0KGgo=" } }));
    assert_eq!((read.get("structuredContent"), read.get("isError")), (None, None));
    let read = served.modern("tools/call", json!({ "name": "read_resource", "arguments": {} })).await.result();
    assert_eq!((&read["isError"], read["content"][0]["text"].as_str().unwrap().contains("`uri` is missing")), (&json!(true), true));
    for (params, code) in [(json!({ "name": "write_resource" }), -32602), (json!({}), -32602), (json!({ "name": 5 }), -32602)] {
        assert_eq!(served.session("2025-11-25").await.ask("tools/call", params).await.code(), (200, code));
    }
}

#[tokio::test]
async fn a_call_that_waits_is_a_stream_that_ends_with_its_answer_in_either_era() {
    let served = with_tools().await;
    let mut stream = served.start_modern("tools/call", wait(json!({ "uris": [A, B] }))).await;
    let head = stream.head().await;
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
    let session = served.session("2025-11-25").await;
    let mut other = start(&session, &legacy_wait(json!({ "uris": [A] }), "w")).await;
    served.memory.update(A, "1");
    let modern = answer(&mut stream).await;
    assert_eq!((&modern["id"], &modern["result"]["resultType"]), (&json!(1), &json!("complete")));
    assert_eq!(modern["result"]["structuredContent"]["changed"], json!([A]));
    let legacy = answer(&mut other).await;
    assert_eq!((&legacy["id"], &legacy["result"]["structuredContent"]["changed"]), (&json!("w"), &json!([A])));
    assert!(stream.event().await.is_none() && other.event().await.is_none(), "the answer is the last message");
}

#[tokio::test]
async fn what_is_known_at_once_is_answered_as_json() {
    let served = with_tools().await;
    let begun = served.modern("tools/call", wait(json!({ "uris": [A], "timeout": 0 }))).await.result();
    assert_eq!(begun["structuredContent"]["status"], "timeout");
    let foreign = served.modern("tools/call", wait(json!({ "uris": [A], "token": "0badf00d-1-00000000" }))).await.result();
    assert_eq!(foreign["structuredContent"]["unsure"], json!([A]));
}

#[tokio::test]
async fn a_client_that_takes_no_stream_gets_the_answer_alone() {
    let served = with_tools().await;
    let headers = [
        ("accept", "application/json"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "wait_for_update"),
    ];
    let mut connection = served.start("POST", &headers, &modern_request(json!("w"), "tools/call", wait(json!({ "uris": [B] })))).await;
    served.memory.subscribed(&[B]).await;
    served.memory.update(B, "1");
    let response = soon(connection.answer()).await;
    assert_eq!(response.result()["structuredContent"]["changed"], json!([B]));
}

#[tokio::test]
async fn a_cancelled_call_ends_without_an_answer_and_another_of_its_session_goes_on() {
    let served = with_tools().await;
    let session = served.session("2025-11-25").await;
    let mut cancelled = start(&session, &legacy_wait(json!({ "uris": [A] }), "c")).await;
    let mut goes_on = start(&session, &legacy_wait(json!({ "uris": [A] }), "w")).await;
    let message = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "c" } });
    assert_eq!(session.post(message.to_string().as_bytes()).await.status, 202);
    assert!(cancelled.event().await.is_none(), "it ends without a word");
    served.memory.update(A, "1");
    assert_eq!(answer(&mut goes_on).await["id"], "w");
}

#[tokio::test]
async fn shutdown_and_the_end_of_the_session_end_a_wait_with_a_token() {
    let mut served = with_tools().await;
    let (ended, stays) = (served.session("2025-11-25").await.id, served.session("2025-11-25").await.id);
    let body = legacy_wait(json!({ "uris": [A] }), "w");
    let mut streams = Vec::new();
    for id in [&ended, &stays] {
        let mut stream = served.start("POST", &[("mcp-session-id", id)], &body).await;
        assert_eq!(stream.head().await.status, 200);
        streams.push(stream);
    }
    assert_eq!(served.send("DELETE", &[("mcp-session-id", &ended)], b"").await.status, 204);
    let over = answer(&mut streams[0]).await;
    let result = &over["result"]["structuredContent"];
    assert_eq!((&result["status"], result["token"].is_string()), (&json!("stopping"), true), "{over}");
    served.stop();
    assert_eq!(answer(&mut streams[1]).await["result"]["structuredContent"]["status"], "stopping");
    drop(streams);
    served.stopped().await;
}

#[tokio::test]
async fn in_a_batch_a_call_waits_and_is_answered_in_its_place() {
    let served = with_tools().await;
    let session = served.session("2025-03-26").await;
    let calls = [request(1, "tools/call", wait(json!({ "uris": [A], "timeout": 0.01 }))), request(2, "ping", json!({}))];
    let batch = [b"[", &calls[0][..], b",", &calls[1], b"]"].concat();
    let answers = session.post(&batch).await.json();
    assert_eq!((&answers[0]["result"]["structuredContent"]["status"], &answers[1]["id"]), (&json!("timeout"), &json!(2)));
}

#[tokio::test]
async fn subscriptions_work_beside_it() {
    let served = with_tools().await;
    let session = served.session("2025-11-25").await;
    session.subscribe(A).await;
    let mut notices = session.stream(&[]).await;
    let mut listen = served.listen(json!({ "resourceSubscriptions": [A] })).await;
    listen.event().await;
    let mut waiting = start(&session, &legacy_wait(json!({ "uris": [A] }), "w")).await;
    served.memory.update(A, "1");
    assert_eq!(told(&mut notices).await, updated(A));
    assert_eq!(listen.event().await.unwrap().told(), ("notifications/resources/updated", Some(A)));
    assert_eq!(answer(&mut waiting).await["result"]["structuredContent"]["changed"], json!([A]));
}

/// What was sent, a message each.
#[derive(Default)]
struct Sent(Mutex<Vec<Value>>);

impl Sent {
    fn take(&self) -> Vec<Value> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Observer for Sent {
    fn received(&self, _: &Whose, _: &[u8]) {}
    fn sent(&self, _: &Whose, message: &[u8]) {
        self.0.lock().unwrap().push(serde_json::from_slice(message).unwrap());
    }
    fn opened(&self, _: &Whose, _: Option<&str>) {}
    fn closed(&self, _: &Whose, _: Option<&str>) {}
    fn ended(&self, _: &Whose) {}
}

#[tokio::test]
async fn an_observer_sees_what_a_call_that_waits_sends_and_nothing_else() {
    let sent = Arc::<Sent>::default();
    let observer = sent.clone();
    let served = Served::made(fill, Caps::default(), Limits::default(), HttpSettings::default(), |server, world| {
        server.with_tools(Tools::new(world.catalog.clone(), &world.subscriptions, 7)).observed(observer)
    })
    .await;
    let session = served.session("2025-11-25").await;
    sent.take();
    let mut stream = start(&session, &legacy_wait(json!({ "uris": [A] }), "streamed")).await;
    served.memory.update(A, "1");
    let mut said = Vec::new();
    while let Some(event) = stream.event().await {
        said.push(event.data);
    }
    assert_eq!((said.last().map(|last| &last["id"]), &said), (Some(&json!("streamed")), &sent.take()));

    // No stream: the answer alone is sent, and no progress, which it asks for.
    let headers = [("accept", "application/json"), ("mcp-session-id", &*session.id)];
    let mut alone = served.start("POST", &headers, &legacy_wait(json!({ "uris": [B] }), "alone")).await;
    served.memory.subscribed(&[A, B]).await;
    served.memory.update(B, "1");
    let response = soon(alone.answer()).await;
    assert_eq!((&response.json()["id"], vec![response.json()]), (&json!("alone"), sent.take()));
}
