//! What polling costs those who read: reads of a provider, first while it has nothing else to do, and then while it polls a slow server whose
//! every answer is new. The host is the one of the dev profile, whose dependencies are optimised; the fixture is tests/guests/fetcher.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::load::Ended;
use crate::{guests, repo::Repo, run, toolchain::Choice};

const BUILD_LIMIT: Duration = Duration::from_secs(3600);
/// How long the server takes for each answer.
const SLOW: Duration = Duration::from_secs(2);
const POLLS: usize = 64;
/// As fast as a provider may, unless wharf.toml says otherwise.
const EVERY_MS: u32 = 1000;
const READS: usize = 20_000;
const PROTOCOL: &str = "2026-07-28";

/// Builds what is missing, measures, and prints a table.
pub fn measure(repo: &Repo) -> Result<()> {
    guests::build(repo, Choice::from_user(None)?)?;
    run::run(repo.cargo().args(["build", "--workspace", "--bin", "wharf"]), BUILD_LIMIT)?;
    let (server, answered) = serve()?;
    let folder = tempfile::tempdir()?;
    let plugins = folder.path().join("plugins");
    fs::create_dir(&plugins)?;
    fs::copy(repo.root.join("tests/guests/fetcher.wasm"), plugins.join("fetcher.wasm"))?;
    fs::write(folder.path().join("wharf.toml"), format!("[[provider]]\nname = \"fetcher\"\ngrants = {{ hosts = [\"{server}\"] }}\n"))?;
    let host = repo.target()?.join("debug").join(format!("wharf{}", std::env::consts::EXE_SUFFIX));
    let mut command = Command::new(host);
    command.args(["serve", "--http", "127.0.0.1:0", "--config", "wharf.toml"]).current_dir(folder.path());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = Ended(command.spawn().context("cannot run the host")?);
    let mut lines = BufReader::new(child.0.stderr.take().context("the host has no stderr")?).lines();
    let address = lines.by_ref().find_map(|line| address(&line.ok()?)).context("the host does not say where it listens")?;
    lines.by_ref().find(|line| line.as_ref().is_ok_and(|line| line.starts_with("loaded"))).context("the fixture is not loaded")??;
    // Read to the end: a host whose stderr is full would stand still.
    thread::spawn(move || lines.for_each(drop));

    let mut client = Client::connect(address)?;
    println!("{:34} {:>9} {:>9} {:>9}", "", "p50", "p99", "max");
    client.measure("idle (warm-up)")?;
    client.measure("idle")?;
    client.read(&format!("fetch://polls/{POLLS}/{EVERY_MS}/http://{server}/"))?;
    while answered.load(Ordering::Relaxed) == 0 {
        thread::sleep(Duration::from_millis(10));
    }
    let before = answered.load(Ordering::Relaxed);
    client.measure(&format!("{POLLS} polls, {} s an answer", SLOW.as_secs()))?;
    println!("{} answers came in meanwhile", answered.load(Ordering::Relaxed) - before);
    Ok(())
}

pub(super) fn address(line: &str) -> Option<SocketAddr> {
    let rest = &line[line.find("http://127.0.0.1:")? + "http://".len()..];
    rest.split_once("/mcp")?.0.parse().ok()
}

/// A server that takes its time, and never says the same twice. It lasts as long as this process.
fn serve() -> Result<(SocketAddr, Arc<AtomicUsize>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let answered = Arc::<AtomicUsize>::default();
    let count = answered.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let count = count.clone();
            thread::spawn(move || {
                let mut reader = BufReader::new(&stream);
                let mut line = String::new();
                while reader.read_line(&mut line).is_ok_and(|bytes| bytes > 2) {
                    line.clear();
                }
                thread::sleep(SLOW);
                let number = count.fetch_add(1, Ordering::Relaxed);
                let body = format!("{number:0>4096}");
                // Whoever asked may have gone.
                let _ = (&stream).write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
            });
        }
    });
    Ok((address, answered))
}

/// One connection to the host, and one request at a time.
pub(super) struct Client {
    stream: BufReader<TcpStream>,
    address: SocketAddr,
}

impl Client {
    pub(super) fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        Ok(Self { stream: BufReader::new(stream), address })
    }

    pub(super) fn read(&mut self, uri: &str) -> Result<Value> {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": PROTOCOL,
            "io.modelcontextprotocol/clientInfo": { "name": "wharf-bench", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": { "uri": uri, "_meta": meta } }).to_string();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             Mcp-Protocol-Version: {PROTOCOL}\r\nMcp-Method: resources/read\r\nMcp-Name: {uri}\r\nContent-Length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        self.stream.get_mut().write_all((head + &body).as_bytes())?;
        let (mut line, mut length) = (String::new(), 0);
        loop {
            line.clear();
            ensure!(self.stream.read_line(&mut line)? > 0, "the host closed the connection");
            if line == "\r\n" {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        let answer: Value = serde_json::from_slice(&body)?;
        if answer.get("result").is_none() {
            bail!("{uri}: {answer}");
        }
        Ok(answer)
    }

    fn measure(&mut self, name: &str) -> Result<()> {
        let mut took = Vec::with_capacity(READS);
        for _ in 0..READS {
            let began = Instant::now();
            self.read("fetch://slow")?;
            took.push(began.elapsed());
        }
        took.sort_unstable();
        let at = |share: f64| took[((READS - 1) as f64 * share) as usize].as_secs_f64() * 1e6;
        println!("{name:34} {:>6.0} us {:>6.0} us {:>6.0} us", at(0.5), at(0.99), at(1.0));
        Ok(())
    }
}
