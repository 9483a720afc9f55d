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

#[tokio::test]
async fn a_provider_that_may_write_changes_nothing_that_its_rights_rest_on() -> Result<()> {
    let config = r#"
[[provider]]
name = "filer"
[provider.grants]
folders = [{ host = ".", guest = "/all", write = true }, { host = "own", guest = "/own", write = true }]
[[resource]]
name = "shown"
file = "own/shown.txt"
"#;
    let folder = Setup::new().guest("filer").config(config).prepare().await?;
    let own = folder.path().join("own");
    std::fs::create_dir_all(&own)?;
    std::fs::write(own.join("shown.txt"), "as it is")?;
    std::fs::write(folder.path().join("key"), "secret")?;
    let host = Setup::start_in(folder).await?;
    let read = async |uri: &str| -> Result<String> {
        let answer = call(&host, "resources/read", json!({ "uri": uri })).await?;
        Ok(answer["contents"][0]["text"].as_str().unwrap_or_default().to_owned())
    };
    ensure!(read("filer://write/own/x").await? == "written");
    for path in ["all/wharf.toml", "all/plugins/filer.wasm", "all/x"] {
        ensure!(read(&format!("filer://write/{path}")).await.is_err(), "{path} was written");
    }
    ensure!(std::fs::read_to_string(host.folder().join("wharf.toml"))? == config);
    let log = host.log();
    ensure!(log.contains("as /all with write = true, is given to be read only") && log.contains("wharf.toml is in it"), "{log}");
    ensure!(!log.contains("as /own with write = true, is given"), "{log}");
    // What the host itself reads there it does not read through a link, which the provider may have made.
    ensure!(read("wharf://resource/shown").await? == "as it is");
    let shown = host.folder().join("own/shown.txt");
    std::fs::remove_file(&shown)?;
    std::os::unix::fs::symlink("../key", &shown)?;
    let refused = read("wharf://resource/shown").await;
    ensure!(refused.as_ref().is_err_and(|error| format!("{error:#}").contains("a folder that a provider may write")), "{refused:?}");
    Ok(())
}

#[tokio::test]
async fn a_wharf_toml_that_came_with_a_folder_serves_no_file_of_elsewhere_and_lets_no_web_page_in() -> Result<()> {
    let config = r#"
[server]
allowed-origins = ["https://evil.example"]
[[resource]]
name = "own"
file = "own.txt"
[[resource]]
name = "linked"
file = "linked.txt"
[[resource]]
name = "elsewhere"
file = "/etc/passwd"
"#;
    let folder = Setup::new().config(config).prepare().await?;
    std::fs::write(folder.path().join("own.txt"), "own")?;
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("linked.txt"))?;
    let listed = wharf(folder.path(), &["list"]).await?;
    let said = listed.stderr.clone();
    ensure!(said.contains("what wharf.toml says in [server] allowed-origins, [[resource]] \"elsewhere\" does not hold"), "{said}");
    let listed = listed.text()?;
    ensure!(listed.contains("wharf://resource/own") && !listed.contains("elsewhere"), "{listed}");
    ensure!(wharf(folder.path(), &["read", "wharf://resource/own"]).await?.text()? == "own");
    let linked = wharf(folder.path(), &["read", "wharf://resource/linked"]).await?;
    ensure!(linked.stderr.contains("is a link") && linked.stdout.is_empty(), "{linked:?}");
    wharf(folder.path(), &["trust"]).await?.text()?;
    ensure!(wharf(folder.path(), &["read", "wharf://resource/linked"]).await?.text()?.contains("root:"), "it is the user's choice");
    Ok(())
}

#[tokio::test]
async fn a_component_that_cannot_be_told_of_changes_watches_nothing() -> Result<()> {
    let config = "[[provider]]\nname = \"caller\"\n[provider.grants]\nfolders = [{ host = \"plugins\", guest = \"/plugins\" }]\n";
    let host = Setup::new().guest("caller").config(config).start().await?;
    let refused = call(&host, "resources/read", json!({ "uri": "caller://watch/plugins" })).await;
    ensure!(refused.as_ref().is_err_and(|error| format!("{error:#}").contains("must export wharf:provider/file-handler")), "{refused:?}");
    Ok(())
}
