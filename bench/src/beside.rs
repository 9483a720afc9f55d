//! What compiling one component does to the reads of another: a steady load, alone, while a component in JavaScript is compiled that is in no
//! cache, and while programs that have nothing to do with the host keep as many processors busy. The last says how much of it is the
//! machine's own: what a process that was woken waits where all processors are in use.
//!
//! The load is an open loop: a request is due when it is due, whatever became of the one before, so a server that stands still is not spared
//! those it kept waiting.

use std::{
    fs,
    hint::black_box,
    io,
    net::SocketAddr,
    num::NonZero,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    Options,
    http::Connection,
    mcp::{self, Era},
    reload::{COMPILING, javascript, place, stage, wanted, within},
    report::{Beside, Table},
    servers::Talking,
};

/// Requests a second, all connections together: what a few busy agents make of it.
const RATE: u32 = 200;
const CONNECTIONS: u32 = 4;
/// The loads take turns, so that whatever else the machine does meets both.
const ROUNDS: usize = 3;
const ALONE: Duration = Duration::from_secs(10);
/// What the host's compiler adds to its niceness.
const NICER: i32 = 5;
/// A server that answers nothing for so long is stuck.
const STUCK: Duration = Duration::from_secs(10);
/// Before a load without anything: a reload drops the old component, and the system writes its machine code to the disk.
const SETTLING: Duration = Duration::from_secs(2);

pub async fn beside(options: &Options) -> Result<Table> {
    const CASE: &str = "reads beside a compilation";
    let mut table = Table::default();
    if wanted(options, CASE) {
        table.beside(measure(options).await.context(CASE)?);
    }
    Ok(table)
}

async fn measure(options: &Options) -> Result<Beside> {
    let folder = tempfile::tempdir()?;
    let plugins = folder.path().join("plugins");
    fs::create_dir(&plugins)?;
    fs::copy(&options.component, plugins.join("texts.wasm"))?;
    let mut host = Talking::start(&options.wharf, &["serve", "--plugins", "plugins"], folder.path()).await?;
    host.says(&["loaded"], COMPILING).await?;
    let address = host.server.address;
    let [component, _] = javascript(options)?;
    let (mut alone, mut beside_others, mut beside, mut took) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (rounds, time) = if options.quick { (1, Duration::from_secs(1)) } else { (ROUNDS, ALONE) };
    for round in 0..rounds {
        tokio::time::sleep(SETTLING).await;
        let passing = async || {
            tokio::time::sleep(time).await;
            Ok(())
        };
        alone.extend(during(address, passing()).await?.0);
        let others = Busy::start()?;
        beside_others.extend(during(address, passing()).await?.0);
        drop(others);
        // Before the load, which comes from this thread too.
        stage(&plugins, &marked(&component, round))?;
        let (latencies, compiled) = during(address, async {
            let placed = place(&plugins, "javascript")?;
            host.says(&["loaded", "reloaded"], COMPILING).await?;
            Ok(placed.elapsed())
        })
        .await?;
        beside.extend(latencies);
        took.push(compiled);
    }
    let loads = [("alone", alone), ("while other programs compute", beside_others), ("while a component compiles", beside)];
    Ok(Beside::new(RATE, loads, &took))
}

/// Programs that compute, one for each processor, until this is dropped.
struct Busy(Vec<Child>);

impl Busy {
    fn start() -> Result<Self> {
        let program = std::env::current_exe().context("where is this program?")?;
        let mut busy = Self(Vec::new());
        for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
            busy.0.push(Command::new(&program).arg("busy").stdin(Stdio::piped()).spawn()?);
        }
        Ok(busy)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Computes for as long as stdin stays open, with the priority that the host's compiler has.
pub fn be_busy() -> Result<()> {
    rustix::process::setsid()?;
    rustix::process::nice(NICER)?;
    thread::spawn(|| {
        let mut number = 1_u64;
        loop {
            number = black_box(number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
    });
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}

/// The same component as another content: with a custom section at its end (Binary.md: id 0, size, name, content).
fn marked(component: &[u8], number: usize) -> Vec<u8> {
    let mark = format!("{number:08}");
    let section = [&[0, 14, 5][..], b"bench", mark.as_bytes()].concat();
    [component, &section].concat()
}

/// Loads the server for as long as the work takes. Gives the latencies, in nanoseconds, and what the work gave.
async fn during<T>(address: SocketAddr, work: impl Future<Output = Result<T>>) -> Result<(Vec<u32>, T)> {
    let over = Arc::<AtomicBool>::default();
    let (began, every) = (Instant::now(), Duration::from_secs(1) / RATE);
    let mut tasks = JoinSet::new();
    for number in 0..CONNECTIONS {
        let connection = Connection::open(address).await?;
        tasks.spawn(one(connection, address, began + every * number, every * CONNECTIONS, over.clone()));
    }
    let done = work.await;
    over.store(true, Relaxed);
    let mut latencies = Vec::new();
    while let Some(ended) = tasks.join_next().await {
        latencies.extend(ended??);
    }
    Ok((latencies, done?))
}

async fn one(mut connection: Connection, address: SocketAddr, first: Instant, every: Duration, over: Arc<AtomicBool>) -> Result<Vec<u32>> {
    let uri = "texts://256";
    let request = mcp::request(address, "/mcp", &Era::Modern, "resources/read", json!({ "uri": uri }), Some(uri));
    let (mut due, mut latencies) = (first, Vec::new());
    while !over.load(Relaxed) {
        // How late this program is woken is no fault of the server's; that the answer before came late is.
        let began = if Instant::now() < due {
            tokio::time::sleep_until(due.into()).await;
            Instant::now()
        } else {
            due
        };
        let status = within(STUCK, connection.exchange(&request)).await?;
        ensure!(status == 200, "status {status}");
        latencies.push(u32::try_from(began.elapsed().as_nanos()).unwrap_or(u32::MAX));
        due += every;
    }
    Ok(latencies)
}
