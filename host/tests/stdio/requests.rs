use serde_json::json;

use super::client::{A, B, Client, code, text, updated};
use super::common::http::soon;

#[tokio::test(start_paused = true)]
async fn both_eras_share_one_pipe() {
    let mut client = Client::new().await;
    client.modern("d", "server/discover", json!({})).await;
    assert_eq!(client.answer("d").await["result"]["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(client.initialize("2025-11-25").await["protocolVersion"], "2025-11-25");
    client.legacy(1, "resources/read", json!({ "uri": A })).await;
    let legacy = client.answer(1).await;
    assert_eq!((text(&legacy), legacy["result"].get("resultType")), ("a", None));
    client.modern(1, "resources/read", json!({ "uri": A })).await;
    let modern = client.answer(1).await;
    assert_eq!((text(&modern), &modern["result"]["resultType"]), ("a", &json!("complete")));

    client.legacy(2, "resources/subscribe", json!({ "uri": A })).await;
    assert_eq!(client.answer(2).await["result"], json!({}));
    client.listen("l", &[A, B]).await;
    client.memory.update(B, "b2");
    assert_eq!(updated(&client.message().await), (B, Some("l")));
    client.memory.update(A, "a2");
    let two = [client.message().await, client.message().await];
    let mut told = [updated(&two[0]), updated(&two[1])];
    told.sort_unstable();
    assert_eq!(told, [(A, None), (A, Some("l"))]);
}

#[tokio::test(start_paused = true)]
async fn every_version_with_sessions_can_be_had_and_an_unknown_one_gets_the_newest() {
    let mut client = Client::new().await;
    for (asked, given) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
    ] {
        assert_eq!(client.initialize(asked).await["protocolVersion"], given);
        client.legacy(1, "resources/read", json!({ "uri": "x://no" })).await;
        assert_eq!(code(&client.answer(1).await), -32002);
    }
    assert_eq!(client.server.session_count(), 1, "each replaced the one before");
}

#[tokio::test(start_paused = true)]
async fn before_initialize_a_ping_is_answered_and_all_else_of_the_legacy_era_is_told_what_to_do() {
    let mut client = Client::new().await;
    client.legacy(1, "ping", json!({})).await;
    assert_eq!(client.answer(1).await["result"], json!({}));
    client.legacy(2, "resources/list", json!({})).await;
    let answer = client.answer(2).await;
    assert_eq!(code(&answer), -32600);
    assert!(answer["error"]["message"].as_str().unwrap().contains("initialize first"), "{answer}");
    assert_eq!(client.server.session_count(), 0);
}

#[tokio::test(start_paused = true)]
async fn nothing_unexpected_ends_the_pipe() {
    let mut client = Client::new().await;
    for (line, code_expected) in [
        ("no JSON", -32700),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,", -32700),
        ("\u{0}\u{1}", -32700),
        ("5", -32600),
        ("[]", -32600),
        ("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600),
        ("{\"id\":1,\"method\":\"ping\"}", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32600),
    ] {
        client.send(line).await;
        assert_eq!(code(&client.message().await), code_expected, "{line}");
    }
    client.send(b"\xff\xfe").await;
    assert_eq!(code(&client.message().await), -32700);
    // Answers, notifications and empty lines want nothing.
    client.send(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await;
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}"#).await;
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#).await;
    client.send("").await;
    client.modern(1, "server/discover", json!({})).await;
    assert!(client.answer(1).await["result"].is_object());
}

#[tokio::test(start_paused = true)]
async fn a_second_initialize_ends_the_first_session_and_starts_anew() {
    let mut client = Client::new().await;
    client.initialize("2025-11-25").await;
    client.legacy(1, "resources/subscribe", json!({ "uri": A })).await;
    client.answer(1).await;
    soon(client.memory.subscribed(&[A])).await;

    client.initialize("2025-06-18").await;
    soon(client.memory.subscribed(&[])).await;
    assert_eq!(client.server.session_count(), 1);
    client.memory.update(A, "a2");
    assert!(client.is_silent().await);
    client.legacy(2, "resources/subscribe", json!({ "uri": A })).await;
    client.answer(2).await;
    client.memory.update(A, "a3");
    assert_eq!(updated(&client.message().await), (A, None));
}

#[tokio::test(start_paused = true)]
async fn an_initialize_that_fails_leaves_the_session_as_it_was() {
    let mut client = Client::new().await;
    client.initialize("2025-11-25").await;
    client.legacy(1, "initialize", json!({ "protocolVersion": 5 })).await;
    assert_eq!(code(&client.answer(1).await), -32602);
    client.legacy(2, "resources/read", json!({ "uri": A })).await;
    assert_eq!(text(&client.answer(2).await), "a");
}

#[tokio::test(start_paused = true)]
async fn notifications_wait_until_the_client_is_initialized() {
    let mut client = Client::new().await;
    client.legacy(0, "initialize", json!({ "protocolVersion": "2025-11-25" })).await;
    client.answer(0).await;
    client.memory.put("x://new", "new");
    client.memory.announce_list();
    assert!(client.is_silent().await);
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    assert_eq!(client.message().await["method"], "notifications/resources/list_changed");
}

#[tokio::test(start_paused = true)]
async fn what_is_sent_at_once_is_done_in_its_order() {
    let mut client = Client::new().await;
    let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
    let about = |id: u64, method: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"resources/{method}","params":{{"uri":"{A}"}}}}"#);
    let all = [initialize, &about(1, "subscribe"), &about(2, "unsubscribe"), &about(3, "read")].join("\n");
    client.send(all).await;
    let mut ids = Vec::new();
    for _ in 0..4 {
        let answer = client.message().await;
        assert!(answer["result"].is_object(), "{answer}");
        ids.push(answer["id"].as_u64().unwrap());
    }
    assert_eq!(ids[0], 0);
    soon(client.memory.subscribed(&[])).await;
    client.memory.update(A, "a2");
    assert!(client.is_silent().await);
}

#[tokio::test(start_paused = true)]
async fn an_id_that_is_open_is_refused_and_free_once_it_is_answered() {
    let mut client = Client::new().await;
    client.initialize("2025-11-25").await;
    client.memory.hold(true);
    client.legacy(1, "resources/read", json!({ "uri": A })).await;
    client.modern(1, "server/discover", json!({})).await;
    assert_eq!(code(&client.answer(1).await), -32600);
    // Not the same as the number.
    client.modern("1", "server/discover", json!({})).await;
    client.answer("1").await;
    client.memory.hold(false);
    assert_eq!(text(&client.answer(1).await), "a");
    client.modern(1, "server/discover", json!({})).await;
    assert!(client.answer(1).await["result"].is_object());

    client.listen("é", &[A]).await;
    client.send(r#"{"jsonrpc":"2.0","id":"\u00e9","method":"ping"}"#).await;
    assert_eq!(code(&client.message().await), -32600, "the same id, written otherwise");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_request_is_not_answered_and_its_id_is_free() {
    let mut client = Client::new().await;
    client.initialize("2025-11-25").await;
    client.memory.hold(true);
    client.legacy(1, "resources/read", json!({ "uri": A })).await;
    client.modern("1", "resources/read", json!({ "uri": B })).await;
    soon(client.memory.reads_under_way(2)).await;
    client.cancel(1).await;
    client.cancel("1").await;
    client.legacy(1, "ping", json!({})).await;
    assert_eq!(client.answer(1).await["result"], json!({}));
    client.memory.hold(false);
    assert!(client.is_silent().await);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_listen_says_nothing_more_and_the_others_go_on() {
    let mut client = Client::new().await;
    client.listen("one", &[A]).await;
    client.listen("two", &[A]).await;
    client.cancel("one").await;
    client.modern(1, "server/discover", json!({})).await;
    client.answer(1).await;
    assert_eq!(client.server.listen_count(), 1);
    client.memory.update(A, "a2");
    assert_eq!(updated(&client.message().await), (A, Some("two")));
    assert!(client.is_silent().await);
    client.listen("one", &[B]).await;
}

#[tokio::test(start_paused = true)]
async fn a_listen_that_asks_for_nothing_ends_at_once_and_frees_its_id() {
    let mut client = Client::new().await;
    for _ in 0..2 {
        client.listen("idle", &[]).await;
        assert_eq!(client.answer("idle").await["result"]["resultType"], "complete");
    }
    assert_eq!(client.server.listen_count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_session_of_2025_03_26_has_batches_and_no_other_has() {
    let ping = |id: u64| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
    let mut client = Client::new().await;
    client.initialize("2025-03-26").await;
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    client.send(format!("[{},{initialized},{}]", ping(1), ping(2))).await;
    let answer = client.message().await;
    assert_eq!(answer, json!([{ "jsonrpc": "2.0", "id": 1, "result": {} }, { "jsonrpc": "2.0", "id": 2, "result": {} }]));
    client.send(format!("[{initialized}]")).await;
    client.send(format!("[{},{}]", ping(1), ping(1))).await;
    assert_eq!(code(&client.message().await), -32600, "one id twice");

    client.memory.hold(true);
    client.legacy(3, "resources/read", json!({ "uri": A })).await;
    client.send(format!("[{}]", ping(3))).await;
    assert_eq!(code(&client.message().await), -32600, "an id that is open");
    client.send(r#"[{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}]"#).await;
    client.send(format!("[{}]", ping(3))).await;
    assert_eq!(client.message().await[0]["id"], 3, "it was cancelled in a batch");
    client.memory.hold(false);

    for version in ["2024-11-05", "2025-06-18"] {
        client.initialize(version).await;
        client.send(format!("[{}]", ping(1))).await;
        assert_eq!(code(&client.message().await), -32600, "{version}");
    }
}
