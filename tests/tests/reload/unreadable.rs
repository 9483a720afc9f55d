//! Files and folders that the host's user may not read.

use std::os::unix::fs::PermissionsExt;

use super::*;

fn mode(path: &Path, mode: u32) -> Result<()> {
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(mode))?)
}

/// Puts a file into place that nobody may read but root.
fn forbidden(path: &Path, content: &[u8]) -> Result<()> {
    let staged = path.with_extension("staged");
    fs::write(&staged, content)?;
    mode(&staged, 0)?;
    Ok(fs::rename(staged, path)?)
}

async fn serving_without_privileges(mode: &str) -> Result<Host> {
    let setup = Setup::new().file("versioned.wasm", &version("one")?).config(&format!("[server]\nwatch = \"{mode}\"\n"));
    let mut host = setup.without_privileges().start().await?;
    host.wait_for_log("loaded   versioned").await?;
    Ok(host)
}

#[tokio::test]
async fn a_file_that_may_not_be_read_is_named_and_loaded_once_it_may() -> Result<()> {
    for watched in MODES {
        let mut host = serving_without_privileges(watched).await?;
        let (new, old) = (plugin(&host, "review-status.wasm"), plugin(&host, "versioned.wasm"));
        forbidden(&new, &fs::read(wharf_tests::root().join("plugins/review-status.wasm"))?)?;
        forbidden(&old, &version("two")?)?;
        let refused = |log: &str, name: &str| log.lines().find(|line| line.starts_with(&format!("refused  {name}"))).map(str::to_owned);
        for name in ["review-status", "versioned"] {
            let log = host.wait_for_log(&format!("refused  {name}")).await?;
            let line = refused(&log, name).unwrap_or_default();
            ensure!(line.contains("Permission denied") && line.contains("let the user"), "{line}");
        }
        ensure!(refused(&host.log(), "versioned").is_some_and(|line| line.ends_with("goes on serving")), "{}", host.log());
        ensure!(now(&host).await? == "one" && listed(&host).await?.contains(&"version://only/one".to_owned()));
        {
            let (_session, mut listener) = subscribed(&host, &[NOW]).await?;
            mode(&old, 0o644)?;
            told(&mut listener, NOW).await?;
            ensure!(now(&host).await? == "two", "{watched}");
        }
        mode(&new, 0o644)?;
        host.wait_for_log("loaded   review-status").await?;
        ensure!(refused(&host.log(), "versioned").is_some() && host.log().matches("refused").count() == 2, "once each: {}", host.log());
    }
    Ok(())
}

#[tokio::test]
async fn a_folder_that_may_not_be_read_is_named_and_what_is_known_of_it_serves_on() -> Result<()> {
    for watched in MODES {
        let mut host = serving_without_privileges(watched).await?;
        let folder = host.folder().join("plugins");
        mode(&folder, 0)?;
        host.wait_for_log("cannot be read").await?;
        ensure!(now(&host).await? == "one");
        mode(&folder, 0o755)?;
        replace(&plugin(&host, "versioned.wasm"), &version("two")?)?;
        host.wait_for_log("reloaded versioned").await?;
        ensure!(now(&host).await? == "two", "{watched}");
    }
    Ok(())
}
