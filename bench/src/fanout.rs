//! One change and all who listen to it: how soon the last of them is told, what each costs, and what happens when all of them then read.
//!
//! The clients are in this process and share its one thread, so what is measured is what the host takes and what reading so many sockets
//! takes, together.

use std::{
    fs,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use serde_json::json;
use tokio::{sync::mpsc, task::JoinSet, time::sleep};

use crate::{
    Options,
    http::Connection,
    listeners::Listeners,
    mcp::{self, Era},
    memory::{allowed, steady},
    reload::{wanted, within},
    report::{Announced, Stormed, Table},
    servers::Server,
};

const COUNTS: [usize; 4] = [1, 100, 1_000, 10_000];
const QUICK_COUNTS: [usize; 2] = [1, 100];
const ITEM: &str = "fanout://item/0";
/// Connections on which the listeners read, if there are more of them: all together have to stay under the host's limit.
const READING: usize = 4_000;
/// An update that takes so long never comes.
const LOST: Duration = Duration::from_secs(60);
/// Between two announcements of one URI: longer than the pause in which updates of one resource are told together (50 ms).
const PAUSE: Duration = Duration::from_millis(200);

/// Announcements a second, of so many URIs, and who listens to all of these.
const STORM_CALLS: u32 = 10;
const STORM_EACH: usize = 10_000;
const STORM_ITEMS: usize = 1_000;
const STORM_LISTENERS: usize = 100;
const STORM_TIME: Duration = Duration::from_secs(10);
const QUICK_STORM_TIME: Duration = Duration::from_millis(500);

fn started(options: &Options, folder: &tempfile::TempDir) -> Result<Server> {
    let component = options.fanout.as_deref().context("`fanout` wants --fanout")?;
    let own: PathBuf = folder.path().join("own");
    fs::create_dir(&own)?;
    Server::wharf(&options.wharf, component, 0, &own)
}

fn read(server: &Server, uri: &str) -> Vec<u8> {
    mcp::request(server.address, "/mcp", &Era::Modern, "resources/read", json!({ "uri": uri }), Some(uri))
}

/// Reads a resource's text.
async fn text(connection: &mut Connection, server: &Server, uri: &str) -> Result<String> {
    let status = within(LOST, connection.exchange(&read(server, uri))).await?;
    let message = mcp::message(connection.body())?;
    let text = message["result"]["contents"][0]["text"].as_str();
    Ok(text.with_context(|| format!("status {status}: {message}"))?.to_owned())
}

/// One announcement, for ever more listeners, of each era by itself.
pub async fn fanout(options: &Options) -> Result<Table> {
    let mut table = Table::default();
    let (counts, rounds) = if options.quick { (&QUICK_COUNTS[..], 3) } else { (&COUNTS[..], 20) };
    for era in ["modern", "legacy"] {
        for &count in counts {
            if wanted(options, &format!("fan-out {era} {count}")) {
                let count = allowed(count + count.min(READING))? - count.min(READING);
                table.announced(announce(options, era, count, rounds).await.with_context(|| format!("{era}, {count} listeners"))?);
            }
        }
    }
    Ok(table)
}

async fn announce(options: &Options, era: &'static str, count: usize, rounds: usize) -> Result<Announced> {
    let folder = tempfile::tempdir()?;
    let server = started(options, &folder)?;
    let mut asking = Connection::open(server.address).await?;
    // The first ones make what all share.
    let first = Listeners::open(server.address, era, &[ITEM], 1, None).await?;
    let before = steady(&server).await?;
    let (tell, mut told) = mpsc::unbounded_channel();
    let listeners = Listeners::open(server.address, era, &[ITEM], count, Some(tell)).await?;
    let bytes_each = (steady(&server).await? as f64 - before as f64) / count as f64;
    drop(first);

    let (mut times, mut last) = (Vec::with_capacity(rounds * count), Vec::with_capacity(rounds));
    let computed = server.computed();
    for _ in 0..rounds {
        let began = Instant::now();
        text(&mut asking, &server, "fanout://do/announce/0").await?;
        let mut round = Duration::ZERO;
        for _ in 0..count {
            let (_, at) = within(LOST, async { told.recv().await.context("the listeners are gone") }).await?;
            round = at - began;
            times.push(round);
        }
        last.push(round);
        sleep(PAUSE).await;
    }
    let computed = server.computed().zip(computed).map(|(after, before)| after - before);
    let cpu_us = computed.map(|computed| computed.as_secs_f64() * 1e6 / (rounds * count) as f64);
    let herd = stampede(&server, &mut asking, &mut told, count).await?;
    drop(listeners);
    Ok(Announced::new(era, count, times, last, cpu_us, bytes_each, herd))
}

/// All read as soon as they are told. Gives how long that took from the announcement on, and how often the provider was asked.
async fn stampede(
    server: &Server,
    asking: &mut Connection,
    told: &mut mpsc::UnboundedReceiver<(usize, Instant)>,
    count: usize,
) -> Result<(Duration, usize)> {
    let reads = async |asking: &mut Connection| anyhow::Ok(text(asking, server, "fanout://reads").await?.parse::<usize>()?);
    let before = reads(asking).await?;
    let request: Arc<[u8]> = read(server, ITEM).into();
    let mut readers = JoinSet::new();
    let mut go = Vec::new();
    for _ in 0..count.min(READING) {
        let mut connection = Connection::open(server.address).await?.slim();
        let (send, mut turns) = mpsc::unbounded_channel::<()>();
        let request = request.clone();
        readers.spawn(async move {
            while turns.recv().await.is_some() {
                let status = within(LOST, connection.exchange(&request)).await?;
                ensure!(status == 200, "status {status}");
            }
            anyhow::Ok(())
        });
        go.push(send);
    }
    let began = Instant::now();
    text(asking, server, "fanout://do/announce/0").await?;
    for _ in 0..count {
        let (listener, _) = within(LOST, async { told.recv().await.context("the listeners are gone") }).await?;
        let _ = go[listener % go.len()].send(());
    }
    drop(go);
    while let Some(done) = readers.join_next().await {
        done??;
    }
    let took = began.elapsed();
    Ok((took, reads(asking).await? - before))
}

/// Far more announcements than anybody can be told of: what is told, and what it costs.
pub async fn storm(options: &Options) -> Result<Table> {
    let mut table = Table::default();
    if !wanted(options, "storm") {
        return Ok(table);
    }
    let time = if options.quick { QUICK_STORM_TIME } else { STORM_TIME };
    let folder = tempfile::tempdir()?;
    let server = started(options, &folder)?;
    let items: Vec<String> = (0..STORM_ITEMS).map(|item| format!("fanout://item/{item}")).collect();
    let items: Vec<&str> = items.iter().map(String::as_str).collect();
    let (tell, mut told) = mpsc::unbounded_channel();
    let listeners = Listeners::open(server.address, "modern", &items, STORM_LISTENERS, Some(tell)).await?;
    let before = steady(&server).await?;

    let mut asking = Connection::open(server.address).await?;
    let (began, computed) = (Instant::now(), server.computed());
    let (mut announced, mut notices, mut peak) = (0, 0, before);
    let mut due = tokio::time::interval(Duration::from_secs(1) / STORM_CALLS);
    while began.elapsed() < time {
        due.tick().await;
        text(&mut asking, &server, &format!("fanout://do/storm/{STORM_EACH}/{STORM_ITEMS}")).await?;
        announced += STORM_EACH;
        while told.try_recv().is_ok() {
            notices += 1;
        }
        peak = peak.max(server.memory().unwrap_or_default());
    }
    let took = began.elapsed();
    let computed = server.computed().zip(computed).map(|(after, before)| after - before);
    drop(listeners);
    table.stormed(Stormed {
        listeners: STORM_LISTENERS,
        items: STORM_ITEMS,
        announced_per_second: announced as f64 / took.as_secs_f64(),
        told_per_second: f64::from(notices) / took.as_secs_f64(),
        processors: computed.map(|computed| computed.as_secs_f64() / took.as_secs_f64()),
        bytes_before: before,
        bytes_peak: peak,
    });
    Ok(table)
}
