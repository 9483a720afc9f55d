//! `wharf lab` with the clients of the matrix under it, each told to make a full round: what the lab says of them is left in `target/lab/`,
//! for COMPATIBILITY.md.

use std::{env, fs, path::Path, process::Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::{
    Running,
    matrix::{CLIENTS, Client, Driver, lab_round},
    root, within,
};

/// Long enough to be seen as a delay, and no longer than needed.
pub const LAB_DELAY: &str = "0.3";
const STEPS: [&str; 6] = ["list", "read", "subscribe", "notified", "read again", "unsubscribe"];
/// What it logs of a full round in the legacy era.
const LOG: [&str; 8] = [
    "[initialize] client=",
    "[resources/list] requested",
    "[resources/read] uri=test://review/status version=1",
    "[resources/subscribe] uri=test://review/status",
    "[resource/update] uri=test://review/status status=reviewed version=2",
    "[notification/send] notifications/resources/updated uri=test://review/status",
    "[resources/read] uri=test://review/status version=2",
    "[resources/unsubscribe] uri=test://review/status",
];

/// A lab over HTTP, which gives its verdicts as JSON, and its URL.
///
/// # Errors
/// It does not start.
pub async fn lab(folder: &Path, arguments: &[&str]) -> Result<(Running, String)> {
    let mut lab = Running::start(folder, &[&["lab", "--port", "0", "--delay", LAB_DELAY, "--json"], arguments].concat())?;
    let log = lab.says("/mcp", 1).await?;
    let url = log.split_whitespace().find(|word| word.starts_with("http://")).context("no URL")?;
    let url = url.trim_end_matches(';').to_owned();
    Ok((lab, url))
}

/// What a client of a script said.
pub struct Played {
    /// The package's name.
    pub package: String,
    /// Its version, as installed.
    pub version: String,
    /// What it and its server wrote to stderr.
    pub stderr: String,
}

/// Plays a client with a script of `tests/clients`: a whole round, or a part of one. The target is `--url` or `--command`, with its value.
///
/// # Errors
/// It could not do that.
pub async fn play_under_lab(id: &str, target: [&str; 2], what: &str) -> Result<Played> {
    let client = CLIENTS.iter().find(|client| client.id == id).with_context(|| format!("there is no client {id}"))?;
    let Driver::Script(program, round) = client.driver else { anyhow::bail!("{id} is played by no script") };
    let script = Path::new(round).with_file_name("lab").with_extension(Path::new(round).extension().unwrap_or_default());
    let mut command = Command::new(program);
    command.arg(root().join("tests/clients").join(script)).args(["--client", id]).args(target).args(["--do", what]);
    command.stdin(Stdio::null()).kill_on_drop(true);
    let ended = within(&format!("{id}: {what}"), async { Ok(command.output().await?) }).await?;
    let stderr = String::from_utf8_lossy(&ended.stderr).into_owned();
    ensure!(ended.status.success(), "{id}: {stderr}");
    let said: Value = serde_json::from_slice(&ended.stdout)?;
    let text = |field: &str| said[field].as_str().map(str::to_owned).with_context(|| format!("no {field} in {said}"));
    Ok(Played { package: text("client")?, version: text("version")?, stderr })
}

/// Takes a client through a full round, and writes down what the lab says of it.
///
/// # Errors
/// It is no full round.
pub async fn full_round(id: &str) -> Result<()> {
    let place = CLIENTS.iter().position(|client| client.id == id).with_context(|| format!("there is no client {id}"))?;
    let client = &CLIENTS[place];
    let folder = tempfile::tempdir()?;
    // A client of the modern era has no session to end: there the lab is ended, once it has noticed the end of the stream.
    let legacy = client.is_legacy();
    let (mut lab, url) = lab(folder.path(), if legacy { &["--once"] } else { &[] }).await?;
    let (package, version) = match client.driver {
        Driver::Rmcp => within(id, lab_round(client.protocol, &url)).await?,
        Driver::Script(..) => {
            let played = play_under_lab(id, ["--url", &url], "round").await?;
            (played.package, played.version)
        }
    };
    if !legacy {
        lab.says("[subscriptions/listen] ended uri=test://review/status", 1).await?;
        lab.signal("INT").await?;
    }
    let verdict: Value = serde_json::from_str(&lab.line().await?)?;
    let steps: Vec<&str> = verdict["steps"].as_array().into_iter().flatten().filter_map(|step| step["step"].as_str()).collect();
    ensure!(verdict["full_round"] == true && steps == STEPS, "{verdict}");
    ensure!(verdict["era"] == if legacy { "legacy" } else { "modern" } && verdict["protocol"] == client.protocol, "{verdict}");
    ensure!(verdict["transport"] == "http" && verdict["ended"] == if legacy { "closed" } else { "open" }, "{verdict}");
    let (status, log) = lab.ended().await?;
    ensure!(status.code() == Some(0), "{status}: {log}");
    for line in LOG.iter().filter(|_| legacy) {
        ensure!(log.contains(line), "{line} is missing:\n{log}");
    }
    record(place, client, &package, &version, &verdict)
}

fn record(place: usize, client: &Client, package: &str, version: &str, verdict: &Value) -> Result<()> {
    // Tests run as TARGET/PROFILE/deps/NAME.
    let folder = env::current_exe()?.ancestors().nth(3).context("a test outside of cargo's target folder")?.join("lab");
    fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{}.json", client.id));
    let result = json!({ "place": place, "id": client.id, "package": package, "version": version, "verdict": verdict });
    fs::write(&path, serde_json::to_string_pretty(&result)?).with_context(|| format!("cannot write {}", path.display()))
}
