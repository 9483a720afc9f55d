//! Who is told what, and that nobody is held up by somebody else.

use anyhow::{Result, ensure};
use serde_json::json;
use wharf_tests::{Host, Listener, Session, Setup, call, listen, stall};

/// So many updates have to arrive beside a client that does not read.
const UPDATES: usize = 1_000;
/// So many come with each tick of the ticker, ten times a second.
const PER_TICK: usize = 50;
/// Long enough that a stalled stream is full before the other client has its updates: 1,000 of them are 7 MB, and
/// Linux buffers 4 MB of a socket nobody reads.
const STALLED_URI_BYTES: usize = 7_000;

fn uris(prefix: &str) -> Vec<String> {
    (0..PER_TICK).map(|number| format!("ticker://count/{prefix}-{number}")).collect()
}

async fn ticker() -> Result<Host> {
    Setup::new().guest("ticker").start().await
}

#[tokio::test]
async fn each_client_is_told_of_its_own_resource_only() -> Result<()> {
    let host = ticker().await?;
    let uri = |name: &str| format!("ticker://count/{name}");
    let (a, b) = (Session::open(&host).await?, Session::open(&host).await?);
    a.subscribe(&[uri("a")]).await?;
    b.subscribe(&[uri("b")]).await?;
    let mut listeners = [
        ("a", a.listen().await?),
        ("b", b.listen().await?),
        ("c", listen(&host, &[uri("c")]).await?),
        ("d", listen(&host, &[uri("d")]).await?),
    ];
    // All four are announced at each tick, so a wrong one would be among these.
    for _ in 0..5 {
        for (name, listener) in &mut listeners {
            let told = listener.update().await?;
            ensure!(told == uri(name), "{name} was told of {told}");
        }
    }
    Ok(())
}

/// Reads updates to the end, and every hundred of them lets the stalled client ask something.
async fn beside_the_stalled(served: &mut Listener, mut ask: impl AsyncFnMut() -> Result<()>) -> Result<()> {
    for count in 1..=UPDATES {
        let uri = served.update().await?;
        ensure!(uri.starts_with("ticker://count/served-"), "told of {uri}");
        if count % 100 == 0 {
            ask().await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_session_that_stalls_its_stream_delays_nobody_and_is_still_answered() -> Result<()> {
    let host = ticker().await?;
    let stalled = Session::open(&host).await?;
    let _stream = stalled.stall().await?;
    let long = uris(&"x".repeat(STALLED_URI_BYTES));
    stalled.subscribe(&long).await?;

    let served = Session::open(&host).await?;
    served.subscribe(&uris("served")).await?;
    let mut listener = served.listen().await?;
    beside_the_stalled(&mut listener, async || {
        stalled.call("ping", json!({})).await?;
        let read = stalled.call("resources/read", json!({ "uri": long[0] })).await?;
        ensure!(read["contents"][0]["text"].is_string(), "{read}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_listen_that_stalls_delays_nobody_and_its_client_is_still_answered() -> Result<()> {
    let host = ticker().await?;
    let long = uris(&"x".repeat(STALLED_URI_BYTES));
    let _stream = stall(&host, &long).await?;

    let mut listener = listen(&host, &uris("served")).await?;
    beside_the_stalled(&mut listener, async || {
        let read = call(&host, "resources/read", json!({ "uri": long[0] })).await?;
        ensure!(read["contents"][0]["text"].is_string(), "{read}");
        Ok(())
    })
    .await
}
