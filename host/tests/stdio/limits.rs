use serde_json::json;
use wharf::{
    mcp::pipe::LISTENS,
    transport::stdio::{LINE_CAP, UNANSWERED},
};

use super::{
    client::{A, B, Client, code, text, updated},
    common::http::request,
};

#[tokio::test(start_paused = true)]
async fn past_64_unanswered_requests_nothing_more_is_read() {
    // A pipe that holds less than a line, so that what is taken has been read.
    let mut client = Client::with_pipes_of(16).await;
    client.initialize("2025-11-25").await;
    client.memory.hold(true);
    // One line more is read, and is not begun.
    for id in 1..=UNANSWERED as u64 + 1 {
        let line = [request(id, "resources/read", json!({ "uri": A })), b"\n".to_vec()].concat();
        assert!(client.try_write(&line).await, "{id}");
    }
    let ping = [request(100, "ping", json!({})), b"\n".to_vec()].concat();
    assert!(!client.try_write(&ping).await);
    client.memory.hold(false);
    for _ in 0..=UNANSWERED {
        assert_eq!(text(&client.message().await), "a");
    }
}

#[tokio::test(start_paused = true)]
async fn a_line_past_the_cap_is_refused_and_the_next_one_is_served() {
    let mut client = Client::new().await;
    client.write(&vec![b'{'; LINE_CAP + 1]).await;
    let refusal = client.message().await;
    assert_eq!((code(&refusal), &refusal["id"]), (-32600, &json!(null)));
    client.write(&vec![b'x'; LINE_CAP]).await;
    client.write(b"\n").await;
    client.modern(1, "server/discover", json!({})).await;
    client.answer(1).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_has_at_most_1024_listens_and_cancelling_one_makes_room() {
    let mut client = Client::new().await;
    for number in 0..LISTENS {
        client.listen(&format!("l{number}"), &[A]).await;
    }
    let filter = json!({ "notifications": { "resourceSubscriptions": [A] } });
    client.modern("more", "subscriptions/listen", filter.clone()).await;
    let refusal = client.answer("more").await;
    assert_eq!((code(&refusal), &refusal["error"]["data"]), (-32603, &json!({ "kind": "limit", "cap": LISTENS })));
    client.cancel("l7").await;
    client.listen("more", &[B]).await;
    assert_eq!(client.server.listen_count(), LISTENS);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_told_each_change_once_when_it_does() {
    let mut client = Client::with_pipes_of(256).await;
    client.listen("l", &[A, B]).await;
    for number in 0..10_000 {
        client.memory.update([A, B][number % 2], &number.to_string());
        if number % 100 == 0 {
            // Long enough that each could have been told again.
            tokio::time::sleep(std::time::Duration::from_millis(60)).await;
        }
    }
    let mut told = 0;
    while !client.is_silent().await {
        updated(&client.message().await);
        told += 1;
    }
    // What fits the pipe and the output's room, and then each once.
    assert!((2..1000).contains(&told), "{told}");
    client.modern(1, "resources/read", json!({ "uri": B })).await;
    assert_eq!(text(&client.answer(1).await), "9999");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_its_answers_is_read_no_more() {
    let mut client = Client::with_pipes_of(1024).await;
    client.memory.update(A, &"x".repeat(200 << 10));
    client.initialize("2025-11-25").await;
    let mut taken = 0;
    while client.try_write(&[request(taken + 1, "resources/read", json!({ "uri": A })), b"\n".to_vec()].concat()).await {
        taken += 1;
    }
    assert!(taken < 2 * UNANSWERED as u64, "{taken}");
    // The last was begun, and goes on where it stopped; an answer is whole whatever waited in it.
    for _ in 0..taken {
        assert_eq!(text(&client.message().await).len(), 200 << 10);
    }
}
