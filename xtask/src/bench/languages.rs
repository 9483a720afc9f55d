//! What the language of a provider makes of its size and speed: the fixtures of `tests/languages/`, which do the same, in the release build of
//! the host.
//!
//! - `cold load` and `warm load`: from the host's greeting to the loaded provider, with an empty compile cache and with a full one.
//! - `first read` and `read`: one client on one connection, over HTTP, and so with what HTTP and JSON take, which is the same for all; `read`
//!   is the median. The provider is asked each time.
//! - `8 KiB`: the same of a URI as long as it may be, which the provider gives back as text. The fastest language shows what of it is HTTP.
//! - `memory`: what the process has of its own for each instance more, after it has listed. Code is shared and does not count.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use super::{
    fetch::{Client, address},
    load::{self, Ended},
};
use crate::{
    guests,
    languages::{self, Choice, LANGUAGES, RUST, Tests},
    repo::Repo,
    toolchain,
};

const READS: usize = 5_000;
/// Asked at each read: it says neither how long it may be reused nor a version.
const ASKED: &str = "contract://count";
/// Makes the longest URI there is, 8192 bytes.
const LONG: usize = 8192 - "contract://path/".len();
/// So many instances more, to be weighed.
const INSTANCES: usize = 20;

/// Builds what is missing, measures, and prints a table.
pub fn measure_all(repo: &Repo) -> Result<()> {
    guests::build(repo, toolchain::Choice::from_user(None)?)?;
    languages::host(repo, Choice::All)?;
    languages::build(repo, Choice::All, Tests::Skip)?;
    let host = super::release_host(repo)?;
    println!(
        "{:16} {:>10} {:>11} {:>11} {:>11} {:>9} {:>9} {:>11}",
        "", "size", "cold load", "warm load", "first read", "read", "8 KiB", "memory"
    );
    for name in [RUST].into_iter().chain(LANGUAGES.iter().map(|language| language.name)) {
        let component = repo.root.join("tests/languages").join(format!("{name}.wasm"));
        measure(&host, name, &component).with_context(|| format!("cannot measure {name}"))?;
    }
    Ok(())
}

fn measure(host: &Path, name: &str, component: &Path) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (plugins, cache) = (folder.path().join("plugins"), folder.path().join("cache"));
    fs::create_dir(&plugins)?;
    let size = fs::copy(component, plugins.join("p0.wasm"))?;
    let cold = load::start(host, &plugins, &cache, 1)?.load;
    thread::sleep(load::SETTLED);
    load::start(host, &plugins, &cache, 1)?;
    let mut warm = f64::INFINITY;
    for _ in 0..load::WARM_STARTS {
        warm = warm.min(load::start(host, &plugins, &cache, 1)?.load);
    }

    let served = Served::start(host, &plugins, &cache, 1)?;
    let mut client = Client::connect(served.address)?;
    let first = timed(&mut client, ASKED)?;
    let read = median(&mut client, ASKED)?;
    let long = median(&mut client, &format!("contract://path/{}", "a".repeat(LONG)))?;
    drop(served);

    let alone = Served::start(host, &plugins, &cache, 1)?.memory()?;
    for number in 1..=INSTANCES {
        fs::copy(component, plugins.join(format!("p{number}.wasm")))?;
    }
    let together = Served::start(host, &plugins, &cache, 1 + INSTANCES)?.memory()?;
    let memory = together.saturating_sub(alone) / INSTANCES as u64;
    println!(
        "{name:16} {:>6} KiB {cold:>8.0} ms {warm:>8.1} ms {:>8.0} us {:>6.0} us {:>6.0} us {:>7} KiB",
        size >> 10,
        micros(first),
        micros(read),
        micros(long),
        memory >> 10
    );
    Ok(())
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn timed(client: &mut Client, uri: &str) -> Result<Duration> {
    let began = Instant::now();
    client.read(uri)?;
    Ok(began.elapsed())
}

/// The first tenth warms up and does not count.
fn median(client: &mut Client, uri: &str) -> Result<Duration> {
    for _ in 0..READS / 10 {
        client.read(uri)?;
    }
    let mut took = (0..READS).map(|_| timed(client, uri)).collect::<Result<Vec<_>>>()?;
    took.sort_unstable();
    Ok(took[READS / 2])
}

/// A running host that has loaded all.
struct Served {
    child: Ended,
    address: std::net::SocketAddr,
}

impl Served {
    fn start(host: &Path, plugins: &Path, cache: &Path, components: usize) -> Result<Self> {
        let mut command = Command::new(host);
        command.args(["serve", "--http", "127.0.0.1:0", "--plugins"]).arg(plugins).env("WHARF_CACHE_DIR", cache);
        command.current_dir(plugins).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = Ended(command.spawn().with_context(|| format!("cannot run {}", host.display()))?);
        let mut lines = BufReader::new(child.0.stderr.take().context("the host has no stderr")?).lines();
        let (mut found, mut loaded) = (None, 0);
        while loaded < components {
            let line = lines.next().context("the host ended")??;
            found = found.or_else(|| address(&line));
            loaded += usize::from(line.starts_with("loaded"));
        }
        // Read to the end: a host whose stderr is full would stand still.
        thread::spawn(move || lines.for_each(drop));
        Ok(Self { child, address: found.context("the host does not say where it listens")? })
    }

    /// What the process has of its own, in bytes (proc(5), `RssAnon`).
    fn memory(&self) -> Result<u64> {
        // What was needed for loading only is given back a little later.
        thread::sleep(load::SETTLED);
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.0.id())).context("it needs Linux")?;
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).context("no RssAnon")?;
        let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
        Ok(kilobytes << 10)
    }
}
