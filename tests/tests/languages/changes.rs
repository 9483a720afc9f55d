//! Subscriptions, timers and announcements.

use anyhow::{Result, ensure};
use serde_json::json;
use wharf_tests::{Listener, Session, Setup, call, listen};

use super::{COUNT, FULL, SETTING, count, serving, text};

/// A provider of another kind in the same host, whose updates show that time has passed: one each 100 ms, as the counter's are.
const CLOCK: &str = "ticker://count/clock";
/// More than the time for which a reading of `full` may be used again, which is a second.
const UPDATES_IN_A_SECOND: usize = 12;

/// Waits for so many updates of one resource, and gives what else was told.
async fn updates(listener: &mut Listener, uri: &str, times: usize) -> Result<Vec<String>> {
    let (mut seen, mut others) = (0, Vec::new());
    while seen < times {
        let told = listener.update().await?;
        if told == uri { seen += 1 } else { others.push(told) }
    }
    Ok(others)
}

pub async fn a_change_arrives_and_after_the_last_unsubscribe_no_other(language: &str) -> Result<()> {
    let mut host = Setup::new().guest(language).guest("ticker").start().await?;
    for name in [language, "ticker"] {
        host.wait_for_load(name).await?;
    }
    let session = Session::open(&host).await?;
    let mut listener = session.listen().await?;
    ensure!(count(&host).await? == 0, "nobody has subscribed");
    ensure!(text(&host, FULL).await? == "hello");
    session.subscribe(&[COUNT.into()]).await?;
    let mut last = 0;
    for _ in 0..3 {
        ensure!(updates(&mut listener, COUNT, 1).await?.is_empty());
        let now = count(&host).await?;
        ensure!(now > last, "an update, and still {now}");
        last = now;
    }
    updates(&mut listener, COUNT, UPDATES_IN_A_SECOND).await?;
    // Asked for again by its version: it is the same.
    ensure!(text(&host, FULL).await? == "hello");

    session.call("resources/unsubscribe", json!({ "uri": COUNT })).await?;
    session.subscribe(&[CLOCK.into()]).await?;
    // What was on its way may come; after that the timer is silent.
    updates(&mut listener, CLOCK, 2).await?;
    let stands = count(&host).await?;
    let others = updates(&mut listener, CLOCK, 5).await?;
    ensure!(others.is_empty(), "told of {others:?}, which nobody is subscribed to");
    ensure!(count(&host).await? == stands, "the timer goes on");

    // And begins again.
    session.subscribe(&[COUNT.into()]).await?;
    updates(&mut listener, COUNT, 2).await?;
    ensure!(count(&host).await? > stands);
    Ok(())
}

pub async fn a_listen_hears_what_is_announced(language: &str) -> Result<()> {
    let host = serving(language).await?;
    let mut listener = listen(&host, &[SETTING.into(), "contract://utf8".into()]).await?;
    for _ in 0..3 {
        let done = call(&host, "resources/read", json!({ "uri": "contract://do/announce" })).await?;
        ensure!(done["contents"][0]["text"] == "done", "{done}");
        ensure!(listener.update().await? == SETTING);
    }
    let mut counter = listen(&host, &[COUNT.into()]).await?;
    for _ in 0..3 {
        ensure!(counter.update().await? == COUNT);
    }
    Ok(())
}

pub async fn what_cannot_be_watched_is_subscribed_all_the_same(language: &str) -> Result<()> {
    let host = serving(language).await?;
    let session = Session::open(&host).await?;
    let mut listener = session.listen().await?;
    for uri in [
        "contract://error/not-found",
        "contract://error/invalid",
        "contract://error/denied",
        "contract://error/unavailable",
        "contract://error/failed",
        "contract://nowhere",
        "contract://echo/hello",
        "contract://path/a/b",
        "contract://do/stderr",
        FULL,
        "contract://blob",
        COUNT,
    ] {
        session.subscribe(&[uri.into()]).await?;
    }
    // Whatever it answered, it is alive, and the same instance.
    ensure!(updates(&mut listener, COUNT, 2).await?.is_empty());
    for uri in ["contract://echo/hello", "contract://error/denied", "contract://blob", COUNT] {
        session.call("resources/unsubscribe", json!({ "uri": uri })).await?;
    }
    ensure!(count(&host).await? >= 2);
    ensure!(!host.log().contains("crashed"), "{}", host.log());
    Ok(())
}
