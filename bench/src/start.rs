//! How soon a host answers after its start, and what many providers take.
//!
//! Each case is started with an empty compile cache, and again with a full one. All its components are copies of one, which is compiled once:
//! what is measured of many is what loading them takes, not compiling them.

use std::{fs, path::Path, time::Duration, time::Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::json;
use tokio::time::sleep;

use crate::{
    Options,
    http::Connection,
    mcp::{self, Era},
    memory::steady,
    reload::wanted,
    report::{Started, Table},
    servers::Talking,
};

/// Compiling the large one takes up to half a minute on a busy machine.
const LOADING: Duration = Duration::from_secs(300);
/// A component's file is read again as long as it may still change unseen.
const SETTLED: Duration = Duration::from_secs(3);
/// So long the host is watched that has nothing to do.
const IDLE: Duration = Duration::from_secs(10);
const QUICK_IDLE: Duration = Duration::from_millis(500);

struct Case<'a> {
    component: &'a Path,
    uri: &'static str,
    counts: &'static [usize],
}

pub async fn start(options: &Options) -> Result<Table> {
    let mut table = Table::default();
    let mut cases = vec![Case { component: &options.component, uri: "texts://new/256", counts: &[1, 100, 1_000] }];
    if let Some(javascript) = options.javascript.first() {
        cases.push(Case { component: javascript, uri: "bench://js", counts: &[1, 100] });
    }
    for case in cases {
        for &count in case.counts.iter().take(if options.quick { 1 } else { usize::MAX }) {
            let kib = fs::metadata(case.component)?.len() >> 10;
            let name = format!("{count} × {kib} KiB");
            if wanted(options, &format!("start {name}")) {
                measure(&mut table, options, &case, count, &name).await.with_context(|| name.clone())?;
            }
        }
    }
    Ok(table)
}

async fn measure(table: &mut Table, options: &Options, case: &Case<'_>, count: usize, name: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let plugins = folder.path().join("plugins");
    fs::create_dir(&plugins)?;
    fs::write(folder.path().join("wharf.toml"), "")?;
    let first = plugins.join("p0000.wasm");
    fs::copy(case.component, &first)?;
    for number in 1..count {
        // A name more for the same file: a hundred large ones fit on any disk.
        fs::hard_link(&first, plugins.join(format!("p{number:04}.wasm")))?;
    }
    for cache in ["cold", "warm"] {
        if cache == "warm" && !options.quick {
            sleep(SETTLED).await;
            // What was compiled a moment ago is looked at once more.
            drop(run(options, case, count, folder.path()).await?);
        }
        let (mut started, host) = run(options, case, count, folder.path()).await?;
        (started.case, started.cache) = (name.to_owned(), cache);
        if cache == "warm" {
            rest(&mut started, &host, options, count).await?;
        }
        table.started(started);
    }
    Ok(())
}

/// Starts the host, and asks at once.
async fn run(options: &Options, case: &Case<'_>, count: usize, folder: &Path) -> Result<(Started, Talking)> {
    let began = Instant::now();
    let mut host = Talking::start(&options.wharf, &["serve", "--config", "wharf.toml", "--plugins", "plugins"], folder).await?;
    let address = host.server.address;
    let mut asking = Connection::open(address).await?;
    let status = asking.exchange(&mcp::request(address, "/mcp", &Era::Modern, "server/discover", json!({}), None)).await?;
    ensure!(status == 200, "status {status} for the first request");
    let answered = began.elapsed();
    let read = mcp::request(address, "/mcp", &Era::Modern, "resources/read", json!({ "uri": case.uri }), Some(case.uri));
    loop {
        asking.exchange(&read).await?;
        let message = mcp::message(asking.body())?;
        if message.get("result").is_some() {
            break;
        }
        // It waits for what loads, but not for a compiler that takes long.
        ensure!(message["error"]["data"]["kind"] == "unavailable" && began.elapsed() < LOADING, "{message}");
    }
    let read = began.elapsed();
    for _ in 0..count {
        let said = host.says(&["loaded", "refused"], LOADING).await?;
        if said["message"] == "refused" {
            bail!("{said}");
        }
    }
    Ok((Started::new(answered, read, began.elapsed()), host))
}

/// What it takes when it has nothing to do.
async fn rest(started: &mut Started, host: &Talking, options: &Options, count: usize) -> Result<()> {
    started.bytes_each = Some(steady(&host.server).await? as f64 / count as f64);
    started.maps = host.server.maps();
    let time = if options.quick { QUICK_IDLE } else { IDLE };
    let before = host.server.computed();
    sleep(time).await;
    let computed = host.server.computed().zip(before).map(|(after, before)| after.saturating_sub(before));
    started.idle_percent = computed.map(|computed| computed.as_secs_f64() * 100.0 / time.as_secs_f64());
    Ok(())
}
