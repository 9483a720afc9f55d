//! Reloads under load.

use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    time::Duration,
};

use super::*;

const RELOADS: usize = 100;
/// Together some 200 requests a second.
const READERS: usize = 4;
const PAUSE: Duration = Duration::from_millis(20);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_reloads_under_load_fail_no_request_and_lose_no_update() -> Result<()> {
    let host = serving("v0", "auto").await?;
    let versions = (0..10).map(|n| version(&format!("v{n}"))).collect::<Result<Vec<_>>>()?;
    let (done, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    let reader = async |n: usize| {
        let mut pace = tokio::time::interval(PAUSE);
        while !done.load(SeqCst) {
            pace.tick().await;
            // One in four takes its time, so that reads are always under way when a version is replaced.
            let text = match n {
                0 => read(&host, "version://slow").await?["contents"][0]["text"].as_str().unwrap_or_default().to_owned(),
                _ => now(&host).await?,
            };
            ensure!(text.starts_with('v'), "{text}");
            answered.fetch_add(1, SeqCst);
        }
        Ok(())
    };
    let writer = async {
        let (session, mut listener) = subscribed(&host, &[NOW]).await?;
        for n in 1..=RELOADS {
            replace(&plugin(&host, "versioned.wasm"), &versions[n % versions.len()])?;
            // No update is lost: each of these is waited for, and what is read then is what was told of.
            told(&mut listener, NOW).await?;
            let answer = session.call("resources/read", json!({ "uri": NOW })).await?;
            ensure!(whole(&answer)? == format!("v{}", n % versions.len()), "reload {n}: {answer}");
        }
        done.store(true, SeqCst);
        anyhow::Ok(())
    };
    let stopping = async {
        let result = writer.await;
        done.store(true, SeqCst);
        result
    };
    let (written, a, b, c, d) = tokio::join!(stopping, reader(0), reader(1), reader(2), reader(READERS - 1));
    for result in [written, a, b, c, d] {
        result?;
    }
    let log = host.log();
    ensure!(log.matches("reloaded versioned").count() >= RELOADS, "{log}");
    ensure!(answered.load(SeqCst) >= RELOADS, "only {answered:?} requests");
    Ok(())
}
