//! What has no business in the folder, and what breaks: the rest goes on.

use anyhow::Context;

use super::*;

#[tokio::test]
async fn a_bad_version_keeps_the_last_good_one_serving_and_is_named() -> Result<()> {
    for mode in MODES {
        let mut host = serving("one", mode).await?;
        let path = plugin(&host, "versioned.wasm");
        let good = version("two")?;
        for (bad, reason) in [
            (b"junk".to_vec(), "not a WebAssembly file"),
            (good[..good.len() / 2].to_vec(), "still being written"),
            (version("trap")?, "it did not list: the provider crashed"),
        ] {
            replace(&path, &bad)?;
            let log = host.wait_for_log(reason).await?;
            ensure!(log.lines().last().is_some_and(|line| line.ends_with("goes on serving")), "{log}");
            ensure!(now(&host).await? == "one", "{mode}: {reason}");
        }
        replace(&path, &good)?;
        host.wait_for_log("reloaded versioned").await?;
        ensure!(now(&host).await? == "two");
    }
    Ok(())
}

#[tokio::test]
async fn a_folder_full_of_other_things_disturbs_nothing_and_each_is_named() -> Result<()> {
    let mut host = serving("one", "auto").await?;
    for n in 0..3000 {
        fs::write(plugin(&host, &format!("{n}.txt")), "nothing")?;
    }
    fs::create_dir(plugin(&host, "folder.wasm"))?;
    fs::File::create(plugin(&host, "huge.wasm"))?.set_len(1 << 30)?;
    host.wait_for_log("refused  huge: the file has 1073741824 bytes").await?;
    fs::write(plugin(&host, "no name.wasm"), "")?;
    host.wait_for_log("rename the file").await?;
    fs::write(plugin(&host, "empty.wasm"), "")?;
    host.wait_for_log("refused  empty").await?;
    std::os::unix::fs::symlink("nowhere", plugin(&host, "dangling.wasm"))?;
    // Another file of the name of one that wharf.toml names.
    fs::create_dir(host.folder().join("elsewhere"))?;
    fs::write(host.folder().join("elsewhere/other.wasm"), version("other")?)?;
    let config = "[server]\nwatch = \"auto\"\n[[provider]]\nname = \"versioned\"\npath = \"elsewhere/other.wasm\"\n";
    replace(&host.folder().join("wharf.toml"), config.as_bytes())?;
    let log = host.wait_for_log("reloaded versioned").await?;
    ensure!(log.contains("elsewhere/other.wasm for the provider versioned"), "{log}");
    ensure!(now(&host).await? == "other");
    Ok(())
}

#[tokio::test]
async fn a_thousand_changes_in_a_moment_end_in_the_last_one() -> Result<()> {
    let mut host = serving("one", "auto").await?;
    let path = plugin(&host, "versioned.wasm");
    let versions = [version("two")?, version("three")?];
    {
        let (_session, mut listener) = subscribed(&host, &[NOW]).await?;
        for n in 0..1000 {
            fs::write(&path, &versions[n % 2][..])?;
        }
        replace(&path, &version("last")?)?;
        within("the last one", async {
            while now(&host).await? != "last" {
                told(&mut listener, NOW).await?;
            }
            Ok(())
        })
        .await?;
    }
    host.wait_for_log("reloaded versioned").await?;
    Ok(())
}

#[tokio::test]
async fn a_new_file_revives_a_provider_that_keeps_dying_at_once() -> Result<()> {
    let config = "[[provider]]\nname = \"hostile\"\nsettings = { list = \"traps\" }\n";
    let mut host = Setup::new().guest("hostile").config(config).start().await?;
    host.wait_for_log("loaded   hostile").await?;
    within("the pause that begins with the second death in a row", async {
        loop {
            let error = format!("{:#}", read(&host, "hostile://trap").await.err().context("it traps")?);
            if error.contains("keeps crashing") {
                return Ok(());
            }
        }
    })
    .await?;
    replace(&plugin(&host, "hostile.wasm"), &version("alive")?)?;
    host.wait_for_log("reloaded hostile").await?;
    ensure!(now(&host).await? == "alive");
    Ok(())
}
