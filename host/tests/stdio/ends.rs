use serde_json::json;
use tokio::time::Instant;
use wharf::transport::stdio::ENDING_TIME;

use super::client::{A, Client, code, text};
use super::common::http::soon;

#[tokio::test(start_paused = true)]
async fn at_the_end_of_the_input_what_was_asked_is_answered() {
    let mut client = Client::new().await;
    client.initialize("2025-11-25").await;
    client.memory.hold(true);
    client.legacy(1, "resources/read", json!({ "uri": A })).await;
    client.legacy(2, "resources/subscribe", json!({ "uri": A })).await;
    client.hang_up();
    assert_eq!(client.answer(2).await["result"], json!({}));
    client.memory.hold(false);
    let (memory, server) = (client.memory.clone(), client.server.clone());
    let rest = client.ended().await;
    assert_eq!((rest.len(), text(&rest[0])), (1, "a"));
    soon(memory.subscribed(&[])).await;
    assert_eq!(server.session_count(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_answered_in_time_is_cut_off() {
    let mut client = Client::new().await;
    client.initialize("2025-11-25").await;
    client.memory.hold(true);
    client.legacy(1, "resources/read", json!({ "uri": A })).await;
    soon(client.memory.reads_under_way(1)).await;
    let begun = Instant::now();
    client.hang_up();
    assert!(client.ended().await.is_empty());
    assert_eq!(begun.elapsed().as_secs(), ENDING_TIME.as_secs());
}

#[tokio::test(start_paused = true)]
async fn an_input_that_ends_in_a_message_says_so_and_a_last_line_needs_no_end() {
    let mut client = Client::new().await;
    client.write(br#"{"jsonrpc":"2.0","id":1,"method":"pi"#).await;
    client.hang_up();
    let rest = client.ended().await;
    assert_eq!((rest.len(), code(&rest[0])), (1, -32700));

    let mut client = Client::new().await;
    client.write(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await;
    client.hang_up();
    assert_eq!(client.ended().await, [json!({ "jsonrpc": "2.0", "id": 1, "result": {} })]);
}

#[tokio::test(start_paused = true)]
async fn listens_get_their_result_at_the_end_of_the_input_and_at_the_shutdown() {
    for stops in [false, true] {
        let mut client = Client::new().await;
        client.listen("one", &[A]).await;
        client.modern("two", "subscriptions/listen", json!({ "notifications": { "resourcesListChanged": true } })).await;
        client.message().await;
        // As the host does: the streams first.
        if stops {
            client.server.end_streams();
            client.stop();
        } else {
            client.hang_up();
        }
        let server = client.server.clone();
        let mut ended: Vec<_> =
            client.ended().await.iter().map(|result| (result["id"].clone(), result["result"]["resultType"].clone())).collect();
        ended.sort_by_key(|(id, _)| id.to_string());
        assert_eq!(ended, [(json!("one"), json!("complete")), (json!("two"), json!("complete"))]);
        assert_eq!(server.listen_count(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_no_more_ends_it() {
    let mut client = Client::new().await;
    client.initialize("2025-11-25").await;
    client.read_no_more();
    client.legacy(1, "ping", json!({})).await;
    let server = client.server.clone();
    client.ended().await;
    assert_eq!(server.session_count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_stalls_at_the_end_is_cut_off() {
    let mut client = Client::with_pipes_of(1024).await;
    client.memory.update(A, &"x".repeat(200 << 10));
    client.modern(1, "resources/read", json!({ "uri": A })).await;
    client.hang_up();
    client.served().await;
}
