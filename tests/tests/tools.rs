//! Resources as tools, with an official client that uses nothing else, against the real binary and real components.

use anyhow::{Context, Result, bail};
use serde_json::json;
use tokio::process::Command;
use wharf_tests::{Setup, binary, root, within};

/// How the client reaches the host.
#[derive(Clone, Copy, Debug)]
enum Way {
    Http,
    /// The client starts it.
    Stdio,
    /// The client starts a proxy to it.
    Attached,
}

const CONFIG: &str = r#"
    [[resource]]
    name = "status"
    uri = "file://status"
    file = "status.txt"
"#;

async fn tools_alone(era: &str, way: Way) -> Result<()> {
    let wharf = binary()?;
    let setup = Setup::new().guest("handbook").config(CONFIG);
    let (host, prepared) = match way {
        Way::Http | Way::Attached => (Some(setup.config("[tools]\nenabled = true\n").start().await?), None),
        Way::Stdio => (None, Some(setup.prepare().await?)),
    };
    let url = host.as_ref().map(|host| host.url()).unwrap_or_default();
    let folder = host.as_ref().map(|host| host.folder()).or(prepared.as_ref().map(|folder| folder.path())).context("no folder")?;
    let (config, file) = (folder.join("wharf.toml"), folder.join("status.txt"));
    std::fs::write(&file, "0")?;
    let mut client = Command::new("node");
    client.arg(root().join("tests/clients/typescript/tools.mjs")).args(["--era", era, "--updates", "100", "--file"]).arg(&file);
    match way {
        Way::Http => client.args(["--url", &url]),
        Way::Stdio => client.args(["--command", &json!([wharf, "serve", "--stdio", "--tools", "--config", config]).to_string()]),
        Way::Attached => client.args(["--command", &json!([wharf, "serve", "--stdio", "--attach", url]).to_string()]),
    };
    let run = client.kill_on_drop(true).output();
    let output = within("tools.mjs", async { run.await.context("cannot run node: run `cargo xtask clients`") }).await?;
    if !output.status.success() {
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let log = host.map(|host| host.log()).unwrap_or_default();
        bail!("tools.mjs in the {era} era by {way:?}: {}\n{out}{err}\nthe host said:\n{log}", output.status);
    }
    Ok(())
}

#[tokio::test]
async fn a_client_with_tools_alone_loses_no_update_in_the_legacy_era() -> Result<()> {
    tools_alone("legacy", Way::Http).await
}

#[tokio::test]
async fn a_client_with_tools_alone_loses_no_update_in_the_modern_era() -> Result<()> {
    tools_alone("modern", Way::Http).await
}

#[tokio::test]
async fn a_client_with_tools_alone_loses_no_update_over_stdio() -> Result<()> {
    tools_alone("legacy", Way::Stdio).await?;
    tools_alone("pinned", Way::Stdio).await
}

#[tokio::test]
async fn a_client_with_tools_alone_loses_no_update_attached_to_a_running_host() -> Result<()> {
    tools_alone("legacy", Way::Attached).await?;
    tools_alone("pinned", Way::Attached).await
}
