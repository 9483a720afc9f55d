//! `wharf grants`, and what holds of a wharf.toml that the user did not choose.

use anyhow::{Result, ensure};
use serde_json::json;
use tokio::fs;
use wharf_tests::{Hooks, Setup, call, wharf, within};

const CONFIG: &str = r#"
[[provider]]
name = "grants"
[provider.grants]
webhooks = [{ name = "open" }, { name = "signed", signature = "github", secret = { env = "WHARF_NO_SUCH_VARIABLE" }, queue = true }]
folders = [{ host = "plugins", guest = "/plugins" }]
hosts = ["api.example.com", "10.0.0.0/8"]
"#;

#[tokio::test]
async fn what_is_granted_and_what_was_denied_is_said() -> Result<()> {
    let host = Setup::new().guest("grants").config(CONFIG).start().await?;
    for _ in 0..2 {
        let denied = call(&host, "resources/read", json!({ "uri": "grants://get/key" })).await;
        ensure!(
            denied.as_ref().is_err_and(|error| format!("{error:#}").contains("[provider.grants] state = ")),
            "it reads a store that it does not have"
        );
    }
    let arguments = ["grants", "--config", "wharf.toml", "--http", host.address()];
    let words = wharf(host.folder(), &arguments).await?.text()?;
    for line in [
        "grants  (plugins/grants.wasm)",
        "  folders   plugins as /plugins, to read",
        "  hosts     api.example.com, 10.0.0.0/8",
        "  webhooks  /hooks/grants/open, not signed: from anyone who reaches the host",
        "  webhooks  /hooks/grants/signed, signed as GitHub does with the variable WHARF_NO_SUCH_VARIABLE, queued",
        "  denied    state = \"1MiB\"  (2 times)",
    ] {
        ensure!(words.lines().any(|said| said == line), "no {line:?} in {words}");
    }
    let json = wharf(host.folder(), &[&arguments[..], &["--json"]].concat()).await?.json()?;
    ensure!(json["host"] == host.address(), "{json}");
    ensure!(json["providers"][0]["grants"]["hosts"] == json!(["api.example.com", "10.0.0.0/8"]), "{json}");
    ensure!(json["providers"][0]["denied"] == json!([{ "line": "state = \"1MiB\"", "times": 2 }]), "{json}");
    // Without a host it says what is granted all the same.
    let alone = wharf(host.folder(), &["grants", "--config", "wharf.toml", "--http", "127.0.0.1:1"]).await?.text()?;
    ensure!(alone.contains("  hosts     api.example.com") && alone.contains("No host at 127.0.0.1:1"), "{alone}");
    Ok(())
}

#[tokio::test]
async fn what_was_denied_is_told_to_no_web_page() -> Result<()> {
    let host = Setup::new().guest("grants").config(CONFIG).start().await?;
    let mut sender = Hooks::connect(&host).await?;
    let ok = sender.send("GET", "/grants", &[], "").await?;
    ensure!(ok.status == 200 && ok.headers["content-type"] == "application/json", "{ok:?}");
    for headers in [
        &[("origin", "https://evil.example.com")][..],
        &[("origin", "http://localhost:3000")],
        &[("sec-fetch-site", "cross-site")],
        &[("host", "evil.example.com")],
    ] {
        let answer = sender.send("GET", "/grants", headers, "").await?;
        ensure!(answer.status == 404 && answer.body.is_empty(), "{headers:?}: {answer:?}");
    }
    ensure!(sender.send("POST", "/grants", &[], "").await?.status == 405);
    Ok(())
}

#[tokio::test]
async fn a_wharf_toml_that_came_with_a_folder_or_changed_after_it_was_trusted_grants_nothing_and_says_what_to_do() -> Result<()> {
    within("the commands", async {
        let folder = Setup::new().guest("grants").config(CONFIG).prepare().await?;
        let granted = async || -> Result<(bool, String)> {
            let output = wharf(folder.path(), &["grants", "--http", "127.0.0.1:1"]).await?;
            let said = output.stderr.clone();
            Ok((output.text()?.contains("api.example.com"), said))
        };
        let (holds, said) = granted().await?;
        ensure!(!holds && said.contains("grants to grants does not hold") && said.contains("wharf trust"), "{said}");
        wharf(folder.path(), &["trust"]).await?.text()?;
        let (holds, said) = granted().await?;
        ensure!(holds && !said.contains("does not hold"), "{said}");
        fs::write(folder.path().join("wharf.toml"), format!("{CONFIG}state = \"1MiB\"\n")).await?;
        let (holds, said) = granted().await?;
        ensure!(!holds && said.contains("does not hold"), "{said}");
        Ok(())
    })
    .await
}
