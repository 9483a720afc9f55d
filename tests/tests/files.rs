//! The example provider `files`, as its users see it, and what `wharf` says of grants.

// Its tests run here: a guest's workspace has none that run.
#[path = "../../plugins/files/src/uri.rs"]
mod uri;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use wharf_tests::{Host, Session, Setup, call, wharf};

/// A folder that is granted as `/docs`.
struct World {
    _guard: tempfile::TempDir,
    root: PathBuf,
}

impl World {
    fn new() -> Result<Self> {
        let guard = tempfile::tempdir()?;
        let root = guard.path().canonicalize()?.join("docs");
        fs::create_dir_all(root.join("sub/deep"))?;
        fs::write(root.join("a.md"), "# A")?;
        fs::write(root.join("logo.png"), [0x89, b'P', 0])?;
        fs::write(root.join("sub/ü b#1.txt"), "odd")?;
        fs::write(root.join("sub/deep/x.rs"), "fn x() {}")?;
        fs::write(root.join(".env"), "SECRET=1")?;
        fs::write(root.join(".gitignore"), "*.log\n/target/\n!keep.log\n")?;
        fs::write(root.join("debug.log"), "ignored")?;
        fs::write(root.join("keep.log"), "kept")?;
        fs::create_dir_all(root.join("target"))?;
        fs::write(root.join("target/out.txt"), "ignored")?;
        fs::create_dir_all(root.join(".git"))?;
        fs::write(root.join(".git/config"), "git's own")?;
        fs::write(root.parent().context("no parent")?.join("secret"), "secret")?;
        Ok(Self { _guard: guard, root })
    }

    async fn serve(&self, settings: &str) -> Result<Host> {
        Setup::new().guest("files").config(&granting("files", &self.root, settings)).start().await
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }
}

fn granting(name: &str, folder: &Path, settings: &str) -> String {
    format!(
        "[[provider]]\nname = {name:?}\n[provider.grants]\nfolders = [{{ host = {:?}, guest = \"/docs\" }}]\n[provider.settings]\n{settings}\n",
        folder.display().to_string()
    )
}

async fn listed(host: &Host) -> Result<Vec<Value>> {
    let list = call(host, "resources/list", json!({})).await?;
    Ok(list["resources"].as_array().cloned().unwrap_or_default())
}

async fn uris(host: &Host) -> Result<Vec<String>> {
    Ok(listed(host).await?.iter().filter_map(|info| info["uri"].as_str().map(str::to_owned)).collect())
}

async fn read(host: &Host, uri: &str) -> Result<Value> {
    Ok(call(host, "resources/read", json!({ "uri": uri })).await?["contents"][0].take())
}

/// The code of the error that a read gives.
async fn refused(host: &Host, uri: &str) -> Result<String> {
    match read(host, uri).await {
        Ok(content) => bail!("{uri} can be read: {content}"),
        Err(error) => Ok(format!("{error:#}")),
    }
}

#[tokio::test]
async fn the_files_of_a_granted_folder_are_listed_and_read_by_what_they_are() -> Result<()> {
    let world = World::new()?;
    let host = world.serve("").await?;
    let all = listed(&host).await?;
    let expected = [
        "file:///docs/a.md",
        "file:///docs/keep.log",
        "file:///docs/logo.png",
        "file:///docs/sub/deep/x.rs",
        "file:///docs/sub/%C3%BC%20b%231.txt",
    ];
    let mut found: Vec<_> = all.iter().filter_map(|info| info["uri"].as_str()).collect();
    found.sort_unstable();
    let mut sorted = expected;
    sorted.sort_unstable();
    ensure!(found == sorted, "{found:?}");
    let markdown = all.iter().find(|info| info["uri"] == "file:///docs/a.md").context("a.md")?;
    ensure!(markdown["mimeType"] == "text/markdown" && markdown["size"] == 3 && markdown["name"] == "docs/a.md", "{markdown}");
    ensure!(markdown["annotations"]["lastModified"].as_str().is_some_and(|date| date.starts_with("20")), "{markdown}");

    ensure!(read(&host, "file:///docs/a.md").await? == json!({ "uri": "file:///docs/a.md", "mimeType": "text/markdown", "text": "# A" }));
    let logo = read(&host, "file:///docs/logo.png").await?;
    ensure!(logo["mimeType"] == "image/png" && logo["blob"] == "iVAA", "{logo}");
    for uri in ["file:///docs/sub/%C3%BC%20b%231.txt", "file:///docs/sub/%c3%bc%20b%231.txt"] {
        ensure!(read(&host, uri).await?["text"] == "odd", "{uri}");
    }
    ensure!(read(&host, "file:///docs/sub").await?["text"] == "deep/\nü b#1.txt\n", "a folder is read as its names");
    ensure!(read(&host, "file:///docs/").await?["text"] == "a.md\nkeep.log\nlogo.png\nsub/\n");
    Ok(())
}

#[tokio::test]
async fn what_is_hidden_ignored_linked_or_elsewhere_is_not_to_be_had() -> Result<()> {
    let world = World::new()?;
    std::os::unix::fs::symlink("../secret", world.at("out"))?;
    std::os::unix::fs::symlink(".env", world.at("in"))?;
    let host = world.serve("").await?;
    for path in [".env", ".git/config", "debug.log", "target/out.txt", "out", "in", "none", "sub/none/x"] {
        let error = refused(&host, &format!("file:///docs/{path}")).await?;
        ensure!(error.contains("-32602") && !error.contains("secret"), "{path}: {error}");
    }
    for uri in ["file:///docs/../secret", "file:///docs/%2e%2e/secret", "file:///docs/sub/%2E%2E%2F..%2fsecret", "file:///etc/passwd"] {
        refused(&host, uri).await?;
    }
    let all = world.serve("hidden = true\ngitignore = false").await?;
    ensure!(read(&all, "file:///docs/.env").await?["text"] == "SECRET=1");
    ensure!(read(&all, "file:///docs/debug.log").await?["text"] == "ignored");
    refused(&all, "file:///docs/.git/config").await?;
    refused(&all, "file:///docs/out").await?;
    Ok(())
}

#[tokio::test]
async fn no_more_files_are_listed_than_the_setting_says_and_the_others_can_be_read() -> Result<()> {
    let world = World::new()?;
    let mut host = world.serve("max-files = 2").await?;
    let listed = uris(&host).await?;
    ensure!(listed == ["file:///docs/a.md", "file:///docs/keep.log"], "those least deep: {listed:?}");
    host.wait_for_log("max-files").await?;
    ensure!(read(&host, "file:///docs/sub/deep/x.rs").await?["text"] == "fn x() {}");
    Ok(())
}

#[tokio::test]
async fn who_subscribed_is_told_of_a_change_and_everybody_of_files_that_come_and_go() -> Result<()> {
    let world = World::new()?;
    let mut host = world.serve("").await?;
    host.wait_for_log("loaded   files").await?;
    let session = Session::open(&host).await?;
    let mut listener = session.listen().await?;
    let (a, later) = ("file:///docs/a.md".to_owned(), "file:///docs/later.md".to_owned());
    session.subscribe(&[a.clone(), later.clone()]).await?;
    fs::write(world.at("a.md"), "# Another A")?;
    ensure!(listener.update().await? == a);
    ensure!(read(&host, &a).await?["text"] == "# Another A");
    fs::write(world.at("sub/unwatched.txt"), "")?;
    lists(&host, &mut listener, "file:///docs/sub/unwatched.txt", true).await?;
    fs::write(world.at("later.md"), "at last")?;
    heard(&mut listener, "notifications/resources/updated").await?;
    lists(&host, &mut listener, &later, true).await?;
    fs::remove_file(world.at("later.md"))?;
    lists(&host, &mut listener, &later, false).await?;
    // What is ignored is what .gitignore says now.
    fs::write(world.at(".gitignore"), "")?;
    lists(&host, &mut listener, "file:///docs/debug.log", true).await
}

/// Waits until a file is listed, or is no more, and it is told that the list has changed.
async fn lists(host: &Host, listener: &mut wharf_tests::Listener, uri: &str, expected: bool) -> Result<()> {
    loop {
        heard(listener, "notifications/resources/list_changed").await?;
        if uris(host).await?.iter().any(|listed| listed == uri) == expected {
            return Ok(());
        }
    }
}

/// Passes over messages until one of this method.
async fn heard(listener: &mut wharf_tests::Listener, method: &str) -> Result<()> {
    while listener.message().await?["method"] != method {}
    Ok(())
}

#[tokio::test]
async fn paths_are_suggested_as_they_are_typed() -> Result<()> {
    let world = World::new()?;
    let host = world.serve("").await?;
    for (typed, expected) in [
        ("", json!(["docs/"])),
        ("docs/", json!(["docs/a.md", "docs/keep.log", "docs/logo.png", "docs/sub/"])),
        ("docs/sub/de", json!(["docs/sub/deep/"])),
    ] {
        let params = json!({ "ref": { "type": "ref/resource", "uri": "file:///{+path}" }, "argument": { "name": "path", "value": typed } });
        let completion = call(&host, "completion/complete", params).await?;
        ensure!(completion["completion"]["values"] == expected, "{typed:?}: {completion}");
    }
    Ok(())
}

#[tokio::test]
async fn a_folder_deleted_and_made_again_is_served_as_it_is() -> Result<()> {
    let world = World::new()?;
    let host = world.serve("").await?;
    let session = Session::open(&host).await?;
    let mut listener = session.listen().await?;
    let uri = "file:///docs/a.md".to_owned();
    session.subscribe(std::slice::from_ref(&uri)).await?;
    fs::remove_dir_all(&world.root)?;
    fs::create_dir(&world.root)?;
    fs::write(world.at("a.md"), "new")?;
    wharf_tests::within("the new file", async {
        while read(&host, &uri).await.ok().is_none_or(|content| content["text"] != "new") {
            heard(&mut listener, "notifications/resources/updated").await?;
        }
        Ok(())
    })
    .await?;
    fs::write(world.at("a.md"), "newer")?;
    wharf_tests::within("the newer file", async {
        while read(&host, &uri).await?["text"] != "newer" {
            heard(&mut listener, "notifications/resources/updated").await?;
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn grants_for_nobody_and_of_everything_are_said_at_the_start() -> Result<()> {
    let everything = "[[provider]]\nname = \"files\"\n[provider.grants]\nfolders = [{ host = \"/\", guest = \"/all\" }]\n";
    let nobody = "[[provider]]\nname = \"no-such\"\n[provider.grants]\nhosts = [\"*\"]\n";
    let mut host = Setup::new().guest("files").config(everything).config(nobody).start().await?;
    let log = host.wait_for_log("wharf.toml grants no-such something").await?;
    ensure!(log.contains("is not there"), "{log}");
    let log = host.wait_for_log("all files of this machine").await?;
    ensure!(log.contains("files"), "{log}");
    Ok(())
}

#[tokio::test]
async fn a_provider_that_watches_and_has_no_folder_is_named_at_load_and_by_check() -> Result<()> {
    let mut host = Setup::new().guest("files").start().await?;
    let line = "it watches files, and is granted no folder: [provider.grants] folders = [{ host = \"…\", guest = \"/…\" }]";
    host.wait_for_log(line).await?;
    let checked = wharf(host.folder(), &["check", "plugins/files.wasm"]).await?;
    let text = checked.text()?;
    ensure!(text.contains(&format!("hint: {line}")) && text.contains("fine"), "{text}");
    Ok(())
}

#[tokio::test]
async fn a_name_that_is_not_utf_8_hides_none_of_the_others() -> Result<()> {
    use std::os::unix::ffi::OsStrExt;

    let world = World::new()?;
    for n in 0..20u8 {
        // Wherever they come in the folder.
        std::fs::write(world.at("sub").join(std::ffi::OsStr::from_bytes(&[b'a' + n, 0xff])), "")?;
        std::fs::write(world.at("sub").join(format!("{n:02}.md")), "")?;
    }
    let host = world.serve("").await?;
    let names = read(&host, "file:///docs/sub").await?;
    let names = names["text"].as_str().unwrap_or_default();
    ensure!(names.lines().count() == 22 && names.contains("19.md"), "{names}");
    ensure!(uris(&host).await?.iter().filter(|uri| uri.ends_with(".md")).count() == 21);
    Ok(())
}
