//! `wharf lab` with real clients under it.

use std::{
    path::Path,
    process::{Output as Ended, Stdio},
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tokio::process::Command;
use wharf_tests::{Running, binary, root, within};

/// Long enough to be seen as a delay, and no longer than needed.
const DELAY: &str = "0.3";

/// A lab over HTTP, and its URL.
async fn lab(folder: &Path, arguments: &[&str]) -> Result<(Running, String)> {
    let mut lab = Running::start(folder, &[&["lab", "--port", "0", "--delay", DELAY, "--json"], arguments].concat())?;
    let log = lab.says("/mcp", 1).await?;
    let url = log.split_whitespace().find(|word| word.starts_with("http://")).context("no URL")?;
    let url = url.trim_end_matches(';').to_owned();
    Ok((lab, url))
}

/// Plays a client of `tests/clients`; its end.
async fn client(id: &str, target: [&str; 2], what: &str) -> Result<Ended> {
    let (program, script) = if id.starts_with("py-") { ("python3", "python/lab.py") } else { ("node", "typescript/lab.mjs") };
    let mut command = Command::new(program);
    command.arg(root().join("tests/clients").join(script)).args(["--client", id]).args(target).args(["--do", what]);
    command.stdin(Stdio::null()).kill_on_drop(true);
    let ended = within(&format!("{id}: {what}"), async { Ok(command.output().await?) }).await?;
    ensure!(ended.status.success(), "{id}: {}", String::from_utf8_lossy(&ended.stderr));
    Ok(ended)
}

fn steps(verdict: &Value) -> Vec<&str> {
    verdict["steps"].as_array().into_iter().flatten().filter_map(|step| step["step"].as_str()).collect()
}

const ALL: [&str; 6] = ["list", "read", "subscribe", "notified", "read again", "unsubscribe"];

/// A client of the legacy era ends its session, which ends the lab.
async fn whole_legacy_round(id: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (mut lab, url) = lab(folder.path(), &["--once"]).await?;
    client(id, ["--url", &url], "round").await?;
    let verdict: Value = serde_json::from_str(&lab.line().await?)?;
    ensure!(verdict["full_round"] == true && steps(&verdict) == ALL && verdict["ended"] == "closed", "{verdict}");
    ensure!(verdict["era"] == "legacy" && verdict["protocol"] == "2025-11-25" && verdict["transport"] == "http", "{verdict}");
    let (status, log) = lab.ended().await?;
    ensure!(status.code() == Some(0), "{status}: {log}");
    for line in [
        "[initialize] client=",
        "[resources/list] requested",
        "[resources/read] uri=test://review/status version=1",
        "[resources/subscribe] uri=test://review/status",
        "[resource/update] uri=test://review/status status=reviewed version=2",
        "[notification/send] notifications/resources/updated uri=test://review/status",
        "[resources/read] uri=test://review/status version=2",
        "[resources/unsubscribe] uri=test://review/status",
    ] {
        ensure!(log.contains(line), "{line} is missing:\n{log}");
    }
    Ok(())
}

/// A client of the modern era has no session to end, so the lab is ended.
async fn whole_modern_round(id: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (mut lab, url) = lab(folder.path(), &[]).await?;
    client(id, ["--url", &url], "round").await?;
    // The end of the stream is noticed after the client's end.
    lab.says("[subscriptions/listen] ended uri=test://review/status", 1).await?;
    ended_with_verdict(lab, |verdict| verdict["era"] == "modern" && verdict["full_round"] == true, 0).await
}

/// Ends the lab as Ctrl-C does; it has one verdict then.
async fn ended_with_verdict(mut lab: Running, holds: impl Fn(&Value) -> bool, code: i32) -> Result<()> {
    lab.signal("INT").await?;
    let verdict: Value = serde_json::from_str(&lab.line().await?)?;
    ensure!(holds(&verdict) && verdict["ended"] == "open", "{verdict}");
    let (status, log) = lab.ended().await?;
    ensure!(status.code() == Some(code), "{status}: {log}");
    Ok(())
}

#[tokio::test]
async fn the_typescript_sdk_makes_a_full_round() -> Result<()> {
    whole_legacy_round("ts-sdk").await
}

#[tokio::test]
async fn the_python_sdk_makes_a_full_round() -> Result<()> {
    whole_legacy_round("py-mcp1").await
}

#[tokio::test]
async fn the_typescript_client_makes_a_full_round_in_the_modern_era() -> Result<()> {
    whole_modern_round("ts-client-auto").await
}

#[tokio::test]
async fn the_python_client_makes_a_full_round_in_the_modern_era() -> Result<()> {
    whole_modern_round("py-mcp2-auto").await
}

#[tokio::test]
async fn a_client_that_only_lists_fails_with_what_is_missing() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (mut lab, url) = lab(folder.path(), &["--once"]).await?;
    client("ts-sdk", ["--url", &url], "list").await?;
    let verdict: Value = serde_json::from_str(&lab.line().await?)?;
    ensure!(steps(&verdict) == ["list"] && verdict["full_round"] == false, "{verdict}");
    ensure!(verdict["missing"] == json!(["read", "subscribe", "notified", "read again", "unsubscribe"]), "{verdict}");
    ensure!(lab.ended().await?.0.code() == Some(1));
    Ok(())
}

#[tokio::test]
async fn over_stdio_the_verdict_is_on_stderr() -> Result<()> {
    let binary = binary()?;
    let binary = binary.to_str().context("a path that is no text")?;
    let command = serde_json::to_string(&[binary, "lab", "--stdio", "--delay", DELAY])?;
    // The SDK hands the server's stderr through.
    let ended = client("ts-sdk", ["--command", &command], "round").await?;
    let log = String::from_utf8_lossy(&ended.stderr);
    ensure!(log.contains("legacy 2025-11-25, stdio, closed") && log.contains("verdict: a full round"), "{log}");
    Ok(())
}

#[tokio::test]
async fn without_a_client_there_is_nothing_to_pass() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (lab, _) = lab(folder.path(), &[]).await?;
    let (status, log) = lab.end("INT").await?;
    ensure!(status.code() == Some(1) && log.contains("no client has connected"), "{status}: {log}");
    Ok(())
}
