//! How long a new version takes to reach a client that stays connected: from a file in place, and from a save in `wharf dev`.
//!
//! The client has a listen stream, as agents have. It reads what changed, so each update is known to be of the new version. Both versions
//! were compiled before, so no compiler is at work in the first part; in the second, the author's own compiler is.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::{
    Options,
    http::{Connection, find},
    mcp::{self, Era},
    report::{Reloaded, Table},
    servers::Talking,
};

/// Compiling a JavaScript component takes 4 to 15 s on two cores; more on a busy machine.
pub const COMPILING: Duration = Duration::from_secs(300);
/// The first build of a new project compiles the bindings' generator.
const BUILDING: Duration = Duration::from_secs(600);
/// An update that takes so long never comes.
const LOST: Duration = Duration::from_secs(60);
/// Between two swaps: longer than the pauses in which updates of one resource (50 ms) and of the list (100 ms) are told together.
const PAUSE: Duration = Duration::from_millis(250);
/// What the fixture `versioned` has where its version stands.
const MARK: &[u8] = b"@@version-0000@@";
const UPDATED: &[u8] = b"notifications/resources/updated";
const LIST_CHANGED: &[u8] = b"notifications/resources/list_changed";

/// A component of which two versions take turns.
struct Subject {
    case: String,
    versions: [Vec<u8>; 2],
    uri: &'static str,
    swaps: usize,
}

/// All of it.
pub async fn reload(options: &Options) -> Result<Table> {
    let mut table = Table::default();
    for subject in subjects(options)? {
        if wanted(options, &subject.case) {
            table.reloaded(swap(options, &subject).await.with_context(|| subject.case.clone())?);
        }
    }
    const DEV: &str = "save in `wharf dev`, Rust";
    if wanted(options, DEV) {
        table.reloaded(dev(options, DEV).await.context(DEV)?);
    }
    Ok(table)
}

pub fn wanted(options: &Options, case: &str) -> bool {
    options.only.as_ref().is_none_or(|only| case.contains(only))
}

/// The two components in JavaScript.
pub fn javascript(options: &Options) -> Result<[Vec<u8>; 2]> {
    let [one, two] = &options.javascript[..] else { bail!("`reload` wants --javascript twice") };
    Ok([read(one)?, read(two)?])
}

fn subjects(options: &Options) -> Result<[Subject; 2]> {
    let versioned = read(options.versioned.as_deref().context("`reload` wants --versioned")?)?;
    let versions = [b"one@@@@@@@@@@@@@", b"two@@@@@@@@@@@@@"].map(|text| {
        let mut bytes = versioned.clone();
        while let Some(at) = find(&bytes, MARK) {
            bytes[at..at + MARK.len()].copy_from_slice(text);
        }
        bytes
    });
    ensure!(versions[0] != versions[1], "the fixture `versioned` has no mark");
    let javascript = javascript(options)?;
    let (many, few) = if options.quick { (3, 2) } else { (100, 20) };
    let case = |language: &str, bytes: &[u8]| match bytes.len() {
        length @ 0..0x10_0000 => format!("swap, {language}, {} KiB", length >> 10),
        length => format!("swap, {language}, {} MiB", length >> 20),
    };
    Ok([
        Subject { case: case("Rust", &versions[0]), versions, uri: "version://now", swaps: many },
        Subject { case: case("JavaScript", &javascript[0]), versions: javascript, uri: "bench://js", swaps: few },
    ])
}

/// A client that is subscribed to one resource and to the list.
struct Client {
    stream: Connection,
    asking: Connection,
    read: Vec<u8>,
}

impl Client {
    async fn subscribed(host: &Talking, uri: &str) -> Result<Self> {
        let address = host.server.address;
        let mut stream = Connection::open(address).await?;
        let (status, _) = stream.begin(&mcp::listen(address, uri)).await?;
        ensure!(status == 200, "status {status} for a listen");
        within(LOST, stream.wait_for_next(&[b"acknowledged"])).await?;
        let read = mcp::request(address, "/mcp", &Era::Modern, "resources/read", json!({ "uri": uri }), Some(uri));
        Ok(Self { stream, asking: Connection::open(address).await?, read })
    }

    /// What the resource holds.
    async fn text(&mut self) -> Result<String> {
        let status = within(LOST, self.asking.exchange(&self.read)).await?;
        let message = mcp::message(self.asking.body())?;
        let text = message["result"]["contents"][0]["text"].as_str();
        Ok(text.with_context(|| format!("status {status}: {message}"))?.to_owned())
    }

    async fn updated(&mut self) -> Result<()> {
        within(LOST, self.stream.wait_for_next(&[UPDATED])).await.map(drop)
    }

    /// When the update and the change of the list came, in any order.
    async fn told(&mut self) -> Result<(Instant, Instant)> {
        let (mut updated, mut list) = (None, None);
        loop {
            let which = within(LOST, self.stream.wait_for_next(&[UPDATED, LIST_CHANGED])).await?;
            let at = if which == 0 { &mut updated } else { &mut list };
            at.get_or_insert(Instant::now());
            if let (Some(updated), Some(list)) = (updated, list) {
                return Ok((updated, list));
            }
        }
    }
}

async fn swap(options: &Options, subject: &Subject) -> Result<Reloaded> {
    let folder = tempfile::tempdir()?;
    let plugins = folder.path().join("plugins");
    fs::create_dir(&plugins)?;
    put(&plugins, "subject", &subject.versions[0])?;
    let mut host = Talking::start(&options.wharf, &["serve", "--plugins", "plugins"], folder.path()).await?;
    host.says(&["loaded"], COMPILING).await?;
    put(&plugins, "subject", &subject.versions[1])?;
    host.says(&["reloaded"], COMPILING).await?;
    let mut client = Client::subscribed(&host, subject.uri).await?;
    let mut text = client.text().await?;
    let (mut updates, mut lists) = (Vec::new(), Vec::new());
    for number in 0..subject.swaps {
        tokio::time::sleep(PAUSE).await;
        stage(&plugins, &subject.versions[number % 2])?;
        let placed = place(&plugins, "subject")?;
        let (updated, list) = client.told().await.with_context(|| format!("swap {number}"))?;
        updates.push(updated - placed);
        lists.push(list - placed);
        let now = client.text().await?;
        ensure!(now != text, "swap {number}: after the update it is still the old version");
        text = now;
        host.says(&["reloaded"], LOST).await?;
    }
    Ok(Reloaded::new(&subject.case, updates, Some(lists), None))
}

/// A new provider of `wharf new`, of which one sentence is changed again and again.
async fn dev(options: &Options, case: &str) -> Result<Reloaded> {
    let folder = tempfile::tempdir()?;
    let mut new = Command::new(&options.wharf);
    new.args(["new", "hello", "--lang", "rust"]).current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::null());
    ensure!(new.status()?.success(), "`wharf new` failed");
    let source = folder.path().join("hello/src/content.rs");
    let code = fs::read_to_string(&source)?;
    let sentence = "The tide is coming in.";
    ensure!(code.contains(sentence), "the template has another sentence");
    let target = options.target.as_deref().context("`reload` wants --target")?.display().to_string();
    let arguments = ["dev", "hello", "--config", "wharf.toml"];
    fs::write(folder.path().join("wharf.toml"), "")?;
    // `cargo`, and so the build that `wharf dev` runs, takes it from the environment.
    let mut host = Talking::start_with(&options.wharf, &arguments, folder.path(), &[("CARGO_TARGET_DIR", &target)]).await?;
    host.says(&["loaded"], BUILDING).await?;
    let mut client = Client::subscribed(&host, "hello://sentence").await?;
    let (mut times, mut builds) = (Vec::new(), Vec::new());
    for number in 0..if options.quick { 2 } else { 10 } {
        tokio::time::sleep(PAUSE).await;
        let new = format!("The tide is coming in for the {number}th time.");
        let partial = source.with_extension("rs.partial");
        fs::write(&partial, code.replace(sentence, &new))?;
        // As editors save.
        fs::rename(&partial, &source)?;
        let saved = Instant::now();
        client.updated().await?;
        ensure!(client.text().await? == new, "save {number}: after the update it is still the old sentence");
        times.push(saved.elapsed());
        let reloaded = host.says(&["reloaded"], LOST).await?;
        builds.push(Duration::from_millis(build_ms(&reloaded)?));
    }
    Ok(Reloaded::new(case, times, None, Some(builds)))
}

fn build_ms(reloaded: &Value) -> Result<u64> {
    let shown = reloaded["build_ms"].as_u64().or_else(|| reloaded["build_ms"].as_str()?.parse().ok());
    shown.with_context(|| format!("no build_ms in {reloaded}"))
}

/// Puts a new file of a provider in place as a whole.
fn put(plugins: &Path, name: &str, component: &[u8]) -> Result<Instant> {
    stage(plugins, component)?;
    place(plugins, name)
}

/// Writes a new file beside the folder, on the same file system.
pub fn stage(plugins: &Path, component: &[u8]) -> Result<()> {
    let staged = staged(plugins);
    fs::write(&staged, component).with_context(|| format!("cannot write {}", staged.display()))
}

/// Puts that file in place; when.
pub fn place(plugins: &Path, name: &str) -> Result<Instant> {
    fs::rename(staged(plugins), plugins.join(format!("{name}.wasm")))?;
    Ok(Instant::now())
}

fn staged(plugins: &Path) -> PathBuf {
    plugins.with_extension("staged")
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

pub async fn within<T>(limit: Duration, work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::time::timeout(limit, work).await.with_context(|| format!("nothing came within {} s", limit.as_secs()))?
}
