//! Resources as tools, over a pipe. The clock is paused, so what takes a minute takes none.

use serde_json::{Value, json};

use super::client::{A, B, Client};

fn wait(arguments: Value, progress: Value) -> Value {
    json!({ "name": "wait_for_update", "arguments": arguments, "_meta": { "progressToken": progress } })
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_tells_of_its_progress_and_then_answers() {
    let mut client = Client::with_tools().await;
    client.initialize("2025-11-25").await;
    client.legacy(5, "tools/call", wait(json!({ "uris": [A, B], "timeout": 12 }), json!("p"))).await;
    for seconds in [5, 10] {
        let told = client.message().await;
        assert_eq!(told["method"], "notifications/progress");
        let message = "waiting for one of 2 resources to change";
        assert_eq!(told["params"], json!({ "progressToken": "p", "progress": seconds, "total": 12.0, "message": message }));
    }
    let answer = client.answer(5).await;
    assert_eq!(answer["result"]["structuredContent"]["status"], "timeout");
}

#[tokio::test(start_paused = true)]
async fn without_a_token_there_is_no_progress_and_other_requests_are_answered_meanwhile() {
    let mut client = Client::with_tools().await;
    client.initialize("2025-11-25").await;
    // More than may be unanswered otherwise: a client that waits a lot must still get its cancellations in.
    for id in 100..200 {
        client.legacy(id, "tools/call", json!({ "name": "wait_for_update", "arguments": { "uris": [A], "timeout": 3600 } })).await;
    }
    client.legacy(5, "resources/read", json!({ "uri": B })).await;
    client.answer(5).await;
    for id in 101..200 {
        client.cancel(id).await;
    }
    assert!(client.is_silent().await);
    client.memory.update(A, "1");
    assert_eq!(client.answer(100).await["result"]["structuredContent"]["changed"], json!([A]));
    assert!(client.is_silent().await, "those that were cancelled say nothing");
    client.legacy(101, "ping", json!({})).await;
    client.answer(101).await;
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_input_ends_a_wait_of_either_era_with_a_result() {
    let mut client = Client::with_tools().await;
    client.initialize("2025-11-25").await;
    client.legacy(5, "tools/call", json!({ "name": "wait_for_update", "arguments": { "uris": [A] } })).await;
    client.modern("m", "tools/call", json!({ "name": "wait_for_update", "arguments": { "uris": [B] } })).await;
    client.memory.subscribed(&[A, B]).await;
    client.hang_up();
    let mut ended = client.ended().await;
    ended.sort_by_key(|answer| answer["id"].is_string());
    let status = |answer: &Value| answer["result"]["structuredContent"]["status"].clone();
    assert_eq!(ended.iter().map(status).collect::<Vec<_>>(), ["stopping", "stopping"]);
    assert_eq!(ended[1]["result"]["resultType"], "complete");
}

#[tokio::test(start_paused = true)]
async fn waiting_calls_and_listens_of_one_client_have_a_cap() {
    let mut client = Client::with_tools().await;
    client.initialize("2025-11-25").await;
    for id in 1..=1025 {
        client.legacy(id, "tools/call", json!({ "name": "wait_for_update", "arguments": { "uris": [A] } })).await;
    }
    let refused = client.answer(1025).await;
    assert_eq!(refused["error"]["data"], json!({ "kind": "limit", "cap": 1024 }));
}
