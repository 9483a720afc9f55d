//! wharf.toml, and the files it names, followed while the host serves.

use super::*;

const RULES: &str = "wharf://resource/rules";
const TODO: &str = "wharf://resource/todo";

fn toml(rules: &str, rest: &str) -> String {
    format!("[[resource]]\nname = \"rules\"\ntext = \"{rules}\"\n[[resource]]\nname = \"todo\"\nfile = \"todo.txt\"\n{rest}")
}

async fn text(host: &Host, uri: &str) -> Result<String> {
    Ok(read(host, uri).await?["contents"][0]["text"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn resources_order_and_settings_change_live() -> Result<()> {
    for mode in MODES {
        let server = format!("[server]\nwatch = \"{mode}\"\n");
        let setup = Setup::new().guest("basic").file("versioned.wasm", &version("one")?);
        let mut host = setup.config(&(server.clone() + &toml("one", ""))).start().await?;
        host.wait_for_log("loaded   basic").await?;
        host.wait_for_log("loaded   versioned").await?;
        let path = host.folder().join("wharf.toml");
        let todo = host.folder().join("todo.txt");
        {
            let (_session, mut listener) = subscribed(&host, &[RULES, TODO, NOW]).await?;
            fs::write(&path, server.clone() + &toml("two", ""))?;
            told(&mut listener, RULES).await?;
            ensure!(text(&host, RULES).await? == "two", "{mode}");

            fs::write(&todo, "buy milk")?;
            told(&mut listener, TODO).await?;
            ensure!(text(&host, TODO).await? == "buy milk", "{mode}");

            // Only the place changes: nothing is loaded again.
            ensure!(listed(&host).await?.last().is_some_and(|uri| uri.starts_with("version://")), "{mode}");
            fs::write(&path, server.clone() + &toml("two", "[[provider]]\nname = \"versioned\"\n"))?;
            told(&mut listener, "list").await?;
            ensure!(listed(&host).await?.last().is_some_and(|uri| uri.starts_with("basic://")), "{mode}");
        }
        let settings = "[[provider]]\nname = \"versioned\"\n[[provider]]\nname = \"basic\"\nsettings = { colour = \"red\" }\n";
        fs::write(&path, server.clone() + &toml("two", settings))?;
        let log = host.wait_for_log("reloaded basic").await?;
        ensure!(text(&host, "basic://settings/colour").await?.contains("red"), "{mode}");
        ensure!(!log.contains("reloaded versioned"), "{log}");
    }
    Ok(())
}

#[tokio::test]
async fn a_wharf_toml_that_is_wrong_changes_nothing_and_is_shown_with_its_line() -> Result<()> {
    let mut host = Setup::new().config(&toml("one", "")).start().await?;
    let path = host.folder().join("wharf.toml");
    fs::write(&path, toml("two", "[[provider]]\nname = \"a\"\nsetings = {}\n"))?;
    let log = host.wait_for_log("did you mean `settings`?").await?;
    ensure!(log.contains("9 | setings") && log.contains("the settings stay as they were"), "{log}");
    ensure!(text(&host, RULES).await? == "one");
    fs::write(&path, toml("three", "[server]\nhttp = \"127.0.0.1:1\"\n"))?;
    host.wait_for_log("[server] http takes effect when the host is started again").await?;
    ensure!(text(&host, RULES).await? == "three");
    // The host goes on where it is; and what was said once is not said again.
    fs::write(&path, toml("four", "[server]\nhttp = \"127.0.0.1:1\"\n"))?;
    within("the new text", async {
        while text(&host, RULES).await? != "four" {}
        Ok(())
    })
    .await?;
    ensure!(host.log().matches("started again").count() == 1, "{}", host.log());
    fs::remove_file(&path)?;
    host.wait_for_log("is gone: its settings hold until it is back").await?;
    ensure!(text(&host, RULES).await? == "four");
    Ok(())
}

#[tokio::test]
async fn what_wharf_toml_says_not_to_follow_is_not_followed() -> Result<()> {
    let host = serving("one", "off").await?;
    replace(&plugin(&host, "versioned.wasm"), &version("two")?)?;
    let (status, log) = host.end("INT").await?;
    ensure!(status.success() && !log.contains("reloaded"), "{log}");
    Ok(())
}
