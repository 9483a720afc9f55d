//! `wharf lab` with real clients under it.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use wharf_tests::{LAB_DELAY, binary, full_round, lab, play_under_lab};

macro_rules! full_rounds {
    ($($name:ident: $id:literal,)*) => {
        $(
            #[tokio::test]
            async fn $name() -> Result<()> {
                full_round($id).await
            }
        )*
    };
}

full_rounds! {
    the_first_typescript_sdk_makes_a_full_round: "ts-sdk",
    the_typescript_client_makes_a_full_round_in_the_legacy_era: "ts-client-legacy",
    the_typescript_client_that_asks_first_makes_a_full_round: "ts-client-auto",
    the_typescript_client_pinned_to_the_modern_era_makes_a_full_round: "ts-client-pinned",
    the_first_python_sdk_makes_a_full_round: "py-mcp1",
    the_python_client_makes_a_full_round_in_the_legacy_era: "py-mcp2-legacy",
    the_python_client_that_asks_first_makes_a_full_round: "py-mcp2-auto",
    fastmcp_makes_a_full_round_in_the_legacy_era: "py-fastmcp-legacy",
    fastmcp_that_asks_first_makes_a_full_round: "py-fastmcp-auto",
    rmcp_makes_a_full_round_in_the_legacy_era: "rmcp-legacy",
    rmcp_makes_a_full_round_in_the_modern_era: "rmcp-modern",
}

fn steps(verdict: &Value) -> Vec<&str> {
    verdict["steps"].as_array().into_iter().flatten().filter_map(|step| step["step"].as_str()).collect()
}

#[tokio::test]
async fn a_client_that_only_lists_fails_with_what_is_missing() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (mut lab, url) = lab(folder.path(), &["--once"]).await?;
    play_under_lab("ts-sdk", ["--url", &url], "list").await?;
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
    let command = serde_json::to_string(&[binary, "lab", "--stdio", "--delay", LAB_DELAY])?;
    // The SDK hands the server's stderr through.
    let log = play_under_lab("ts-sdk", ["--command", &command], "round").await?.stderr;
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
