//! Each way in which a file comes into the folder, changes there, and goes.

use std::{io::Write, os::unix::fs::symlink};

use wharf_tests::listen;

use super::*;

type Save = fn(&Path, &[u8]) -> Result<()>;

const WAYS: [(&str, Save); 7] = [
    ("renamed into place", |path, content| replace(path, content)),
    ("truncated and written", |path, content| Ok(fs::write(path, content)?)),
    ("copied over", |path, content| {
        let staged = path.with_extension("staged");
        fs::write(&staged, content)?;
        fs::copy(staged, path)?;
        Ok(())
    }),
    ("linked", |path, content| {
        let staged = path.with_extension("staged");
        // A file of its own: the one before is the staged one of the last way.
        fs::remove_file(&staged)?;
        fs::write(&staged, content)?;
        fs::remove_file(path)?;
        Ok(fs::hard_link(staged, path)?)
    }),
    ("deleted and made again", |path, content| {
        fs::remove_file(path)?;
        Ok(fs::write(path, content)?)
    }),
    ("written in pieces", |path, content| {
        fs::remove_file(path)?;
        let mut file = fs::File::create(path)?;
        for piece in content.chunks(1000) {
            file.write_all(piece)?;
            file.flush()?;
        }
        Ok(())
    }),
    ("saved as an editor saves", |path, content| {
        let backup = path.with_extension("wasm~");
        fs::rename(path, &backup)?;
        fs::write(path, content)?;
        Ok(fs::remove_file(backup)?)
    }),
];

#[tokio::test]
async fn each_way_of_saving_reaches_clients_that_stay_connected() -> Result<()> {
    for mode in MODES {
        let host = serving("zero", mode).await?;
        let (session, mut legacy) = subscribed(&host, &[NOW]).await?;
        let mut modern = listen(&host, &[NOW.into()]).await?;
        for (way, save) in WAYS {
            let text: String = way.chars().filter(char::is_ascii_alphabetic).take(16).collect();
            save(&plugin(&host, "versioned.wasm"), &version(&text)?)?;
            told(&mut legacy, NOW).await?;
            told(&mut modern, NOW).await?;
            let answer = session.call("resources/read", json!({ "uri": NOW })).await?;
            ensure!(whole(&answer)? == text && now(&host).await? == text, "{mode}, {way}: {answer}");
            ensure!(listed(&host).await?[1] == format!("version://only/{text}"), "{mode}, {way}");
        }
        ensure!(!host.log().contains("refused"), "no half of a file was ever tried:\n{}", host.log());
    }
    Ok(())
}

#[tokio::test]
async fn links_may_be_swapped_and_their_targets_may_change() -> Result<()> {
    for mode in MODES {
        let host = serving("zero", mode).await?;
        let (_session, mut listener) = subscribed(&host, &[NOW]).await?;
        let path = plugin(&host, "versioned.wasm");
        // As Kubernetes mounts a ConfigMap, and swaps it.
        for (folder, text) in [("..one", "one"), ("..two", "two")] {
            fs::create_dir(plugin(&host, folder))?;
            fs::write(plugin(&host, folder).join("v.wasm"), version(text)?)?;
        }
        symlink("..one", plugin(&host, "..data"))?;
        symlink("..data/v.wasm", plugin(&host, "fresh"))?;
        fs::rename(plugin(&host, "fresh"), &path)?;
        told(&mut listener, NOW).await?;
        ensure!(now(&host).await? == "one", "{mode}");
        symlink("..two", plugin(&host, "..fresh"))?;
        fs::rename(plugin(&host, "..fresh"), plugin(&host, "..data"))?;
        told(&mut listener, NOW).await?;
        ensure!(now(&host).await? == "two", "{mode}");
        // Out of the folder, to where a compiler leaves its work.
        let built = host.folder().join("target/release/v.wasm");
        fs::create_dir_all(built.parent().unwrap_or(&built))?;
        fs::write(&built, version("three")?)?;
        symlink(&built, plugin(&host, "fresh"))?;
        fs::rename(plugin(&host, "fresh"), &path)?;
        told(&mut listener, NOW).await?;
        ensure!(now(&host).await? == "three", "{mode}");
        fs::write(&built, version("four")?)?;
        told(&mut listener, NOW).await?;
        ensure!(now(&host).await? == "four", "{mode}");
    }
    Ok(())
}

#[tokio::test]
async fn what_comes_and_what_goes_is_told_and_a_subscription_outlives_its_provider() -> Result<()> {
    for mode in MODES {
        let mut host = Setup::new().config(&format!("[server]\nwatch = \"{mode}\"\n")).start().await?;
        let url = host.url();
        let path = plugin(&host, "versioned.wasm");
        {
            let (_session, mut listener) = subscribed(&host, &[NOW]).await?;
            replace(&path, &version("one")?)?;
            all_told(&mut listener, &[NOW, "list"]).await?;
            ensure!(now(&host).await? == "one", "{mode}");
            fs::remove_file(&path)?;
            all_told(&mut listener, &[NOW, "list"]).await?;
            ensure!(read(&host, NOW).await.is_err(), "{mode}: it is gone");
            ensure!(listed(&host).await?.is_empty());
            replace(&path, &version("two")?)?;
            told(&mut listener, NOW).await?;
            ensure!(now(&host).await? == "two", "{mode}");
        }
        host.wait_for_log("removed  versioned").await?;
        ensure!(host.url() == url);
    }
    Ok(())
}

#[tokio::test]
async fn the_folder_may_come_late_go_and_come_back() -> Result<()> {
    for mode in MODES {
        let mut host = Setup::new().config(&format!("[server]\nwatch = \"{mode}\"\nplugins = \"late/plugins\"\n")).start().await?;
        let folder = host.folder().join("late/plugins");
        let file = folder.join("versioned.wasm");
        for text in ["one", "two"] {
            {
                let (_session, mut listener) = subscribed(&host, &[NOW]).await?;
                fs::create_dir_all(&folder)?;
                fs::write(&file, version(text)?)?;
                told(&mut listener, NOW).await?;
                ensure!(now(&host).await? == text, "{mode}");
                fs::remove_dir_all(folder.parent().unwrap_or(&folder))?;
                told(&mut listener, NOW).await?;
                ensure!(read(&host, NOW).await.is_err(), "{mode}: it is gone with its folder");
            }
            host.wait_for_log("there is no plugins folder").await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_reload_that_changes_nothing_a_client_can_see_tells_nothing() -> Result<()> {
    let mut host = serving("one", "auto").await?;
    let path = plugin(&host, "versioned.wasm");
    let same = "version://same/x";
    {
        let (_session, mut listener) = subscribed(&host, &[NOW, same]).await?;
        fs::write(&path, version("one")?)?;
        replace(&path, &with_section(version("one")?, "another"))?;
        within("the reload", async {
            while !host.log().contains("reloaded versioned: the same lists") {
                tokio::task::yield_now().await;
            }
            Ok(())
        })
        .await?;
        let mut others = Vec::new();
        for text in ["two", "three"] {
            replace(&path, &version(text)?)?;
            others.extend(all_told(&mut listener, &[NOW, "list"]).await?);
        }
        ensure!(others.is_empty(), "{others:?}");
    }
    let log = host.wait_for_log("1 added, 1 removed, 1 changed").await?;
    ensure!(log.matches("reloaded versioned").count() == 3, "the same content is no reload:\n{log}");
    Ok(())
}
