//! How long it takes from a webhook to the `updated` at a client: a signed request, the guest that publishes its body, the listen stream.
//!
//! The host is the one of the dev profile, whose dependencies are optimised, as in `cargo xtask demo`.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};

use crate::{guests, repo::Repo, run, toolchain::Choice};

const BUILD_LIMIT: Duration = Duration::from_secs(3600);
const ROUNDS: usize = 200;
/// One URI is told to a listener at most once in 50 ms, and a webhook is taken 50 times a second.
const PAUSE: Duration = Duration::from_millis(70);
/// For any one answer.
const LIMIT: Duration = Duration::from_secs(10);
const CONFIG: &str = "[[provider]]\nname = \"grants\"\n[provider.grants]\n\
    webhooks = [{ name = \"hook\", signature = \"gitlab\", secret = { file = \"secret\" } }]\n";
const LISTEN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["wharf://state/grants/build"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#;

/// Builds what is missing, measures, and prints the times.
pub fn measure(repo: &Repo) -> Result<()> {
    guests::build(repo, Choice::from_user(None)?)?;
    run::run(repo.cargo().args(["build", "--workspace", "--bin", "wharf"]), BUILD_LIMIT)?;
    let folder = tempfile::tempdir()?;
    let plugins = folder.path().join("plugins");
    fs::create_dir(&plugins)?;
    fs::copy(repo.root.join("tests/guests/grants.wasm"), plugins.join("grants.wasm")).context("the fixture grants is not built")?;
    fs::write(folder.path().join("wharf.toml"), CONFIG)?;
    fs::write(folder.path().join("secret"), "token")?;
    let host = repo.target()?.join("debug").join(format!("wharf{}", std::env::consts::EXE_SUFFIX));
    let mut command = Command::new(&host);
    command.args(["serve", "--http", "127.0.0.1:0", "--config", "wharf.toml"]).current_dir(folder.path());
    command.env("XDG_DATA_HOME", folder.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = Ended(command.spawn().with_context(|| format!("cannot run {}", host.display()))?);
    let mut lines = BufReader::new(child.0.stderr.take().context("the host has no stderr")?).lines();
    let mut address = None;
    loop {
        let line = lines.next().context("the host ended")??;
        if let Some(at) = line.find("http://127.0.0.1:") {
            address = line[at + "http://".len()..].split('/').next().map(str::to_owned);
        }
        if line.starts_with("refused") {
            bail!("{line}");
        }
        if line.starts_with("loaded") {
            break;
        }
    }
    // What it says from now on is of no interest, and must not make it wait.
    std::thread::spawn(move || lines.for_each(drop));
    let address = address.context("the host does not say where it listens")?;
    let mut times = times(&address)?;
    times.sort();
    let at = |share: usize| times[(times.len() - 1) * share / 100].as_secs_f64() * 1000.0;
    println!(
        "webhook to updated, {ROUNDS} times: p50 {:.2} ms, p90 {:.2} ms, p99 {:.2} ms, longest {:.2} ms",
        at(50),
        at(90),
        at(99),
        at(100)
    );
    Ok(())
}

fn times(address: &str) -> Result<Vec<Duration>> {
    let mut listener = connect(address)?;
    let head = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMcp-Protocol-Version: 2026-07-28\r\n\
                Mcp-Method: subscriptions/listen\r\n";
    request(&mut listener, address, "/mcp", head, LISTEN)?;
    wait_for(&mut listener, "acknowledged")?;
    let mut sender = connect(address)?;
    (0..ROUNDS)
        .map(|round| {
            std::thread::sleep(PAUSE);
            let began = Instant::now();
            request(&mut sender, address, "/hooks/grants/hook/publish/build", "X-Gitlab-Token: token\r\n", &format!("build {round}"))?;
            wait_for(&mut listener, "resources/updated")?;
            let took = began.elapsed();
            let answer = wait_for(&mut sender, "build")?;
            ensure!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            Ok(took)
        })
        .collect()
}

fn connect(address: &str) -> Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(LIMIT))?;
    Ok(stream)
}

fn request(stream: &mut TcpStream, address: &str, path: &str, head: &str, body: &str) -> Result<()> {
    let text = format!("POST {path} HTTP/1.1\r\nHost: {address}\r\n{head}Content-Length: {}\r\n\r\n{body}", body.len());
    Ok(stream.write_all(text.as_bytes())?)
}

/// Reads until this has come.
fn wait_for(stream: &mut TcpStream, text: &str) -> Result<String> {
    let (mut read, mut piece) = (String::new(), [0; 4096]);
    while !read.contains(text) {
        let length = stream.read(&mut piece).with_context(|| format!("waiting for {text:?} after {read:?}"))?;
        ensure!(length > 0, "the host hung up after {read:?}");
        read += &String::from_utf8_lossy(&piece[..length]);
    }
    Ok(read)
}

/// A process that does not outlive this.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
