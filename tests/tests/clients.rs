//! Whole rounds with the official clients, in both eras, against the real binary and real components.

use anyhow::{Context, Result, bail};
use tokio::process::Command;
use wharf_tests::{Host, Session, Setup, root, within};

const TICKING: &str = "ticker://count/shared";

/// The message of the review is set in wharf.toml, so the settings are seen to arrive, too.
async fn host() -> Result<Host> {
    let config = r#"
        [[provider]]
        name = "review-status"
        path = "plugins/review-status.wasm"
        [provider.settings]
        delay-seconds = 1
        updated-message = "Approved by the test."
    "#;
    Setup::new().guest("handbook").guest("review-status").guest("ticker").config(config).start().await
}

async fn whole_round(program: &str, script: &str, era: &str) -> Result<()> {
    let host = host().await?;
    // Somebody else listens, so that the ticking goes on when the client has left.
    let other = Session::open(&host).await?;
    other.subscribe(&[TICKING.into()]).await?;

    let mut client = Command::new(program);
    client.arg(root().join("tests/clients").join(script)).args(["--url", &host.url(), "--era", era]);
    client.args(["--text", "handbook://wharf/welcome", "--blob", "handbook://wharf/logo", "--watch", "test://review/status"]);
    client.args(["--before", "status: pending\nversion: 1\nmessage: ", "--ticking", TICKING]);
    client.args(["--after", "status: reviewed\nversion: 2\nmessage: Approved by the test."]);
    let run = client.kill_on_drop(true).output();
    let output = within(script, async { run.await.with_context(|| format!("cannot run {program}: run `cargo xtask clients`")) }).await?;
    if !output.status.success() {
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        bail!("{script} in the {era} era: {}\n{out}{err}\nthe host said:\n{}", output.status, host.log());
    }
    Ok(())
}

async fn typescript(era: &str) -> Result<()> {
    whole_round("node", "typescript/round.mjs", era).await
}

async fn python(era: &str) -> Result<()> {
    let python = root().join("tests/clients/python/.venv/bin/python");
    whole_round(&python.to_string_lossy(), "python/round.py", era).await
}

#[tokio::test]
async fn the_typescript_client_gets_a_whole_round_in_the_legacy_era() -> Result<()> {
    typescript("legacy").await
}

#[tokio::test]
async fn the_typescript_client_gets_a_whole_round_in_the_modern_era() -> Result<()> {
    typescript("modern").await
}

#[tokio::test]
async fn the_python_client_gets_a_whole_round_in_the_legacy_era() -> Result<()> {
    python("legacy").await
}

#[tokio::test]
async fn the_python_client_gets_a_whole_round_in_the_modern_era() -> Result<()> {
    python("modern").await
}
