//! Request ids of all kinds (JSON-RPC 2.0 §4; MCP, "Requests"): over a pipe they are one space, whatever the era.

use serde_json::json;
use tokio::io::AsyncBufReadExt;

use super::{
    client::{A, Client, code},
    common::http::{request, soon},
};

impl Client {
    /// The next message as it is sent.
    async fn line(&mut self) -> String {
        let mut line = String::new();
        soon(self.from.read_line(&mut line)).await.unwrap();
        line
    }
}

#[tokio::test(start_paused = true)]
async fn every_string_and_number_goes_back_byte_for_byte() {
    let mut client = Client::new().await;
    client.initialize("2025-11-25").await;
    for id in
        ["0", "-1", "1.0", "1.5", "-1.50e2", "9007199254740993", "123456789012345678901234567890", "\"\"", "\"1\"", "\"\\u0000 \\/🦀\""]
    {
        for method in ["ping", "nonsense"] {
            client.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#)).await;
            let answer = client.line().await;
            assert!(answer.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"#)), "{id}: {answer}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_other_id_is_taken() {
    let mut client = Client::new().await;
    client.initialize("2025-11-25").await;
    for id in ["null", "true", "[]", "[1]", "{}"] {
        for method in ["ping", "resources/subscribe", "notifications/initialized"] {
            client.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"uri":"{A}"}}}}"#)).await;
            let answer = client.message().await;
            assert_eq!((code(&answer), &answer["id"]), (-32600, &json!(null)), "{id}");
        }
    }
    client.memory.subscribed(&[]).await;
}

#[tokio::test(start_paused = true)]
async fn an_open_id_is_refused_however_it_is_written_and_in_either_era() {
    let mut client = Client::new().await;
    client.initialize("2025-11-25").await;
    client.memory.hold(true);
    client.legacy(10, "resources/read", json!({ "uri": A })).await;
    client.modern("a", "resources/read", json!({ "uri": A })).await;
    let write = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
    for id in ["10", "10.0", "1e1", "\"a\"", "\"\\u0061\""] {
        client.send(write(id)).await;
        let answer = client.line().await;
        assert!(answer.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32600,"#)), "{id}: {answer}");
    }
    // The one is a string and the other a number, so neither is open.
    for id in ["\"10\"", "10.5", "\"A\""] {
        client.send(write(id)).await;
        assert!(client.line().await.contains("\"result\""), "{id}");
    }
    client.modern(10, "tools/list", json!({})).await;
    assert_eq!(code(&client.answer(10).await), -32600);
    // Cancelled as another writes it, it is free.
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1.0e1,"_meta":{"x":[[]]}}}"#).await;
    client.send(request(10, "ping", json!({}))).await;
    assert_eq!(client.answer(10).await["result"], json!({}));
    client.memory.hold(false);
    assert_eq!(client.answer("a").await["result"]["contents"][0]["text"], "a");
}
