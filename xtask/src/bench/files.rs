//! How soon a client hears of a changed file among many, and what hosts cost whose providers have nothing to do.
//!
//! The host is the one of the dev profile, as for `load`: what it needs itself is at its slowest.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use crate::{guests, repo::Repo, run, toolchain::Choice};

const BUILD_LIMIT: Duration = Duration::from_secs(3600);
/// Nothing here takes as long.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);
/// Files under watch, and folders they are in.
const FILES: usize = 10_000;
const FOLDERS: usize = 100;
/// Changes that are timed, each once the host has come to rest after the one before.
const CHANGES: usize = 50;
const REST: Duration = Duration::from_millis(200);
/// The host waits for so much quiet before it tells (`file-handler.changed` in the WIT).
const QUIET_MS: f64 = 100.0;
/// Providers that have nothing to do, and files that each of them watches.
const IDLE: usize = 50;
const IDLE_FILES: usize = 100;
/// They are given so long to come to rest, and then watched for so long.
const SETTLE: Duration = Duration::from_secs(5);
const WATCHED: Duration = Duration::from_secs(30);
/// Of a second, in /proc (`getconf CLK_TCK`; the same on all Linux systems of today).
const TICKS: f64 = 100.0;

/// Builds what is missing, measures, and prints.
pub fn measure_all(repo: &Repo) -> Result<()> {
    guests::build(repo, Choice::from_user(None)?)?;
    run::run(repo.cargo().args(["build", "--workspace", "--bin", "wharf"]), BUILD_LIMIT)?;
    let host = repo.target()?.join("debug").join(format!("wharf{}", std::env::consts::EXE_SUFFIX));
    let component = repo.root.join("plugins/files.wasm");
    delay(&host, &component)?;
    idle(&host, &component)
}

fn delay(host: &Path, component: &Path) -> Result<()> {
    let world = tempfile::tempdir()?;
    let data = world.path().join("data");
    for n in 0..FILES {
        let folder = data.join((n % FOLDERS).to_string());
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(format!("{n}.txt")), "before")?;
    }
    fs::write(world.path().join("wharf.toml"), provider("files", component, &data))?;
    let host = Running::start(host, world.path(), 1)?;
    let before = host.memory()?;
    let uri = format!("file:///data/0/{}.txt", FOLDERS * 3);
    let mut stream = host.listen(&uri)?;
    let mut took = Vec::with_capacity(CHANGES);
    for n in 0..CHANGES {
        std::thread::sleep(REST);
        let began = Instant::now();
        fs::write(data.join("0").join(format!("{}.txt", FOLDERS * 3)), n.to_string())?;
        stream.wait_for("notifications/resources/updated")?;
        took.push(began.elapsed().as_secs_f64() * 1000.0 - QUIET_MS);
    }
    took.sort_by(f64::total_cmp);
    println!("{FILES} files under watch in {FOLDERS} folders, the host with {} MiB", before >> 20);
    println!(
        "one changed, the client told, past the {QUIET_MS} ms of quiet: median {:.1} ms, worst {:.1} ms",
        took[CHANGES / 2],
        took[CHANGES - 1]
    );
    Ok(())
}

fn idle(host: &Path, component: &Path) -> Result<()> {
    let world = tempfile::tempdir()?;
    let mut config = String::new();
    for provider in 0..IDLE {
        let data = world.path().join(format!("data{provider}"));
        fs::create_dir(&data)?;
        for n in 0..IDLE_FILES {
            fs::write(data.join(n.to_string()), "")?;
        }
        config += &self::provider(&format!("p{provider}"), component, &data);
    }
    fs::write(world.path().join("wharf.toml"), config)?;
    let host = Running::start(host, world.path(), IDLE)?;
    std::thread::sleep(SETTLE);
    let before = host.computed()?;
    std::thread::sleep(WATCHED);
    let share = (host.computed()? - before) / WATCHED.as_secs_f64();
    println!("{IDLE} live providers that watch {IDLE_FILES} files each, nothing happens: {:.2} % of a core", share * 100.0);
    Ok(())
}

fn provider(name: &str, component: &Path, data: &Path) -> String {
    format!(
        "[[provider]]\nname = {name:?}\npath = {:?}\n[provider.grants]\nfolders = [{{ host = {:?}, guest = \"/data\" }}]\n\
         [provider.settings]\nmax-files = 20000\n",
        component.display().to_string(),
        data.display().to_string()
    )
}

/// A host. It does not outlive this.
struct Running {
    child: Child,
    address: String,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    /// Starts it, and waits till so many providers are loaded.
    fn start(host: &Path, folder: &Path, providers: usize) -> Result<Self> {
        let mut command = Command::new(host);
        command.args(["serve", "--http", "127.0.0.1:0", "--config", "wharf.toml"]).current_dir(folder);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot run {}", host.display()))?;
        let stderr = child.stderr.take();
        let mut this = Self { child, address: String::new() };
        let mut lines = BufReader::new(stderr.context("the host has no stderr")?).lines();
        let mut loaded = 0;
        while loaded < providers {
            let line = lines.next().context("the host ended")??;
            if line.starts_with("refused") {
                bail!("{line}");
            }
            if let Some((_, rest)) = line.split_once("http://") {
                this.address = rest.split('/').next().unwrap_or_default().to_owned();
            }
            loaded += usize::from(line.starts_with("loaded"));
        }
        // Read on, so that it never stands still.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(this)
    }

    /// Seconds that it has computed.
    fn computed(&self) -> Result<f64> {
        let stat = self.proc("stat")?;
        // After the name, which may have anything in it: user and system time are the 12th and 13th.
        let fields: Vec<&str> = stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace().collect()).unwrap_or_default();
        let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).context("no times in /proc");
        Ok((ticks(11)? + ticks(12)?) / TICKS)
    }

    /// Bytes of memory that are its own.
    fn memory(&self) -> Result<u64> {
        let status = self.proc("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no memory in /proc")?;
        Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? << 10)
    }

    fn proc(&self, file: &str) -> Result<String> {
        fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).context("this needs Linux")
    }

    /// A `subscriptions/listen` of one URI, acknowledged.
    fn listen(&self, uri: &str) -> Result<Stream> {
        let message = serde_json::json!({ "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {
            "notifications": { "resourceSubscriptions": [uri] },
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "wharf-bench", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        } })
        .to_string();
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(ANSWER_LIMIT))?;
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\nContent-Length: {}\r\n\r\n{message}",
            self.address,
            message.len()
        )?;
        let mut stream = Stream { stream, unread: Vec::new() };
        stream.wait_for("notifications/subscriptions/acknowledged")?;
        Ok(stream)
    }
}

struct Stream {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl Stream {
    /// Waits for a text, and passes over it.
    fn wait_for(&mut self, text: &str) -> Result<()> {
        loop {
            if let Some(at) = self.unread.windows(text.len()).position(|window| window == text.as_bytes()) {
                self.unread.drain(..at + text.len());
                return Ok(());
            }
            let mut more = [0; 4096];
            let length = self.stream.read(&mut more).with_context(|| format!("no {text}: {}", String::from_utf8_lossy(&self.unread)))?;
            if length == 0 {
                bail!("the stream ended without {text}: {}", String::from_utf8_lossy(&self.unread));
            }
            self.unread.extend_from_slice(&more[..length]);
        }
    }
}
