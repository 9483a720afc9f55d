//! How streams, sessions and the server end, and listeners that do not read.

use serde_json::{Value, json};
use wharf::{
    mcp::Caps,
    transport::http::{HttpSettings, Limits},
};

use crate::{
    B,
    common::http::{Served, request, soon},
    fill, served,
};

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stalled_reader_slows_nobody_and_loses_nothing() {
    const COUNT: usize = 1_500;
    let uris: Vec<String> = (0..COUNT).map(|n| format!("x://r/{n}/{}", "a".repeat(8_000))).collect();
    let served = Served::new(|memory| uris.iter().for_each(|uri| memory.put(uri, ""))).await;
    let stalled = served.session("2025-03-26").await;
    for uris in uris.chunks(50) {
        let entry = |uri| json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": { "uri": uri } });
        let batch: Vec<Value> = uris.iter().map(entry).collect();
        assert_eq!(stalled.post(json!(batch).to_string().as_bytes()).await.status, 200);
    }
    let mut stream = stalled.stream(&[]).await;
    let mut other = served.listen(json!({ "resourceSubscriptions": uris[..COUNT / 4] })).await;
    assert!(other.event().await.is_some());
    // 12 MB for the one that does not read, of which its socket takes some.
    for _ in 0..2 {
        uris.iter().for_each(|uri| served.memory.update(uri, "new"));
        for _ in 0..COUNT / 4 {
            assert!(other.event().await.is_some());
        }
        assert_eq!(stalled.ask("ping", json!({})).await.status, 200);
        assert_eq!(stalled.ask("resources/read", json!({ "uri": uris[0] })).await.result()["contents"][0]["text"], "new");
    }
    let mut told = std::collections::HashSet::new();
    while told.len() < COUNT {
        let event = stream.event().await.expect("the stream ended");
        told.insert(event.told().1.unwrap().to_owned());
    }
}
