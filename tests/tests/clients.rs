//! Whole rounds with the official clients, in both eras, against the real binary and real components.

use anyhow::{Context, Result, bail};
use serde_json::json;
use tokio::process::Command;
use wharf_tests::{Session, Setup, binary, root, within};

const TICKING: &str = "ticker://count/shared";

/// How the client reaches the host.
#[derive(Clone, Copy, Debug)]
enum Way {
    Http,
    /// The client starts it.
    Stdio,
    /// The client starts a proxy to it.
    Attached,
}

/// The message of the review is set in wharf.toml, so the settings are seen to arrive, too.
fn setup() -> Setup {
    let config = r#"
        [[provider]]
        name = "review-status"
        path = "plugins/review-status.wasm"
        [provider.settings]
        delay-seconds = 1
        updated-message = "Approved by the test."
    "#;
    Setup::new().guest("handbook").guest("review-status").guest("ticker").config(config)
}

async fn whole_round(program: &str, script: &str, era: &str, way: Way) -> Result<()> {
    let wharf = binary()?;
    let (host, folder) = match way {
        Way::Http | Way::Attached => (Some(setup().start().await?), None),
        Way::Stdio => (None, Some(setup().prepare().await?)),
    };
    // Somebody else listens, so that the ticking goes on when the client has left.
    let mut other = None;
    if let Some(host) = &host {
        other = Some(Session::open(host).await?);
    }
    if let Some(other) = &other {
        other.subscribe(&[TICKING.into()]).await?;
    }
    let url = host.as_ref().map(|host| host.url()).unwrap_or_default();
    let config = folder.as_ref().map(|folder| folder.path().join("wharf.toml")).unwrap_or_default();

    let mut client = Command::new(program);
    client.arg(root().join("tests/clients").join(script)).args(["--era", era]);
    match way {
        Way::Http => client.args(["--url", &url]),
        Way::Stdio => client.args(["--command", &json!([wharf, "serve", "--stdio", "--config", config]).to_string()]),
        Way::Attached => client.args(["--command", &json!([wharf, "serve", "--stdio", "--attach", url]).to_string()]),
    };
    client.args(["--text", "handbook://wharf/welcome", "--blob", "handbook://wharf/logo", "--watch", "test://review/status"]);
    client.args(["--before", "status: pending\nversion: 1\nmessage: ", "--ticking", TICKING]);
    client.args(["--after", "status: reviewed\nversion: 2\nmessage: Approved by the test."]);
    let run = client.kill_on_drop(true).output();
    let output = within(script, async { run.await.with_context(|| format!("cannot run {program}: run `cargo xtask clients`")) }).await?;
    if !output.status.success() {
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let log = host.map(|host| host.log()).unwrap_or_default();
        bail!("{script} in the {era} era by {way:?}: {}\n{out}{err}\nthe host said:\n{log}", output.status);
    }
    Ok(())
}

async fn typescript(era: &str, way: Way) -> Result<()> {
    whole_round("node", "typescript/round.mjs", era, way).await
}

async fn python(era: &str, way: Way) -> Result<()> {
    let python = root().join("tests/clients/python/.venv/bin/python");
    whole_round(&python.to_string_lossy(), "python/round.py", era, way).await
}

#[tokio::test]
async fn the_typescript_client_gets_a_whole_round_in_the_legacy_era() -> Result<()> {
    typescript("legacy", Way::Http).await
}

#[tokio::test]
async fn the_typescript_client_gets_a_whole_round_in_the_modern_era() -> Result<()> {
    typescript("modern", Way::Http).await
}

#[tokio::test]
async fn the_python_client_gets_a_whole_round_in_the_legacy_era() -> Result<()> {
    python("legacy", Way::Http).await
}

#[tokio::test]
async fn the_python_client_gets_a_whole_round_in_the_modern_era() -> Result<()> {
    python("modern", Way::Http).await
}

#[tokio::test]
async fn the_typescript_client_gets_a_whole_round_over_stdio_in_either_era() -> Result<()> {
    typescript("legacy", Way::Stdio).await?;
    // It asks a second process of the same command before it talks to the first.
    typescript("modern", Way::Stdio).await?;
    typescript("pinned", Way::Stdio).await
}

#[tokio::test]
async fn the_python_client_gets_a_whole_round_over_stdio_in_either_era() -> Result<()> {
    python("legacy", Way::Stdio).await?;
    python("modern", Way::Stdio).await
}

#[tokio::test]
async fn the_typescript_client_gets_a_whole_round_attached_to_a_running_host() -> Result<()> {
    typescript("legacy", Way::Attached).await?;
    typescript("modern", Way::Attached).await?;
    typescript("pinned", Way::Attached).await
}

#[tokio::test]
async fn the_python_client_gets_a_whole_round_attached_to_a_running_host() -> Result<()> {
    python("legacy", Way::Attached).await?;
    python("modern", Way::Attached).await
}
