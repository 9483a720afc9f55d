//! The stateful era: what goes right.

use serde_json::json;

use crate::{
    A, B, a_listed,
    common::http::{MODERN, Served, request, soon},
    list_changed, others_listed, served, told, updated,
};

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
    served.memory.put("x://new", "new");
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
async fn answers_to_a_batch_that_grow_too_large_are_refused_one_by_one() {
    let served = Served::new(|memory| memory.put(B, &"b".repeat(13 << 20))).await;
    let session = served.session("2025-03-26").await;
    let read = |id| json!({ "jsonrpc": "2.0", "id": id, "method": "resources/read", "params": { "uri": B } });
    let batch = json!([read(1), read(2), read(3), read(4), { "jsonrpc": "2.0", "id": 5, "method": "ping" }]);
    let answers = session.post(batch.to_string().as_bytes()).await.json();
    let refused: Vec<_> = answers.as_array().unwrap().iter().filter(|answer| answer.get("error").is_some()).collect();
    assert_eq!(answers.as_array().unwrap().len(), 5);
    assert_eq!((refused.len(), &refused[0]["id"], &refused[0]["error"]["data"]["kind"]), (1, &json!(4), &json!("limit")));
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

#[tokio::test]
async fn a_cancelled_request_waits_no_longer_and_nobody_elses_does() {
    let served = served().await;
    let (session, other) = (served.session("2025-11-25").await, served.session("2025-11-25").await);
    served.memory.hold(true);
    let read = |uri| request(1, "resources/read", json!({ "uri": uri }));
    let mut cancelled = served.start("POST", &[("mcp-session-id", &session.id)], &read(A)).await;
    let mut of_other = served.start("POST", &[("mcp-session-id", &other.id)], &read(B)).await;
    soon(served.memory.reads_under_way(2)).await;
    let cancel = async |id| {
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id, "reason": "enough" } });
        assert_eq!(session.post(cancel.to_string().as_bytes()).await.status, 202);
    };
    cancel(json!("1")).await;
    cancel(json!(1)).await;
    let nothing = soon(cancelled.answer()).await;
    assert_eq!((nothing.status, nothing.body.len()), (202, 0));
    soon(served.memory.reads_under_way(2)).await;
    served.memory.hold(false);
    assert_eq!(soon(of_other.answer()).await.result()["contents"][0]["text"], "b");
    cancel(json!(1)).await;
    assert_eq!(session.ask("resources/read", json!({ "uri": A })).await.status, 200);
}

#[tokio::test]
async fn a_batch_has_no_answer_to_what_was_cancelled_in_it() {
    let served = served().await;
    let session = served.session("2025-03-26").await;
    served.memory.hold(true);
    let batch = json!([
        { "jsonrpc": "2.0", "id": "r", "method": "resources/read", "params": { "uri": B } },
        { "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "r" } },
        { "jsonrpc": "2.0", "id": "p", "method": "ping" },
    ]);
    let answers = session.post(batch.to_string().as_bytes()).await.json();
    assert_eq!(answers, json!([{ "jsonrpc": "2.0", "id": "p", "result": {} }]));
    served.memory.hold(false);
}
