//! The example provider `tail`, as its users see it.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    path::PathBuf,
};

use anyhow::{Result, ensure};
use serde_json::json;
use wharf_tests::{Host, Listener, Session, Setup, call};

struct World {
    guard: tempfile::TempDir,
    host: Host,
}

impl World {
    /// With `app.log` as `log://app`, and two lines in it.
    async fn new() -> Result<Self> {
        Self::with("").await
    }

    /// Likewise, with these lines of wharf.toml before.
    async fn with(lines: &str) -> Result<Self> {
        let guard = tempfile::tempdir()?;
        let world = format!(
            "{lines}[[provider]]\nname = \"tail\"\n[provider.grants]\nfolders = [{{ host = {:?}, guest = \"/logs\" }}]\n\
             [provider.settings]\napp = \"/logs/app.log\"\nother = \"/logs/other.log\"\nlines = 3\n",
            guard.path().canonicalize()?.display().to_string()
        );
        fs::write(guard.path().join("app.log"), "one\ntwo error\n")?;
        let host = Setup::new().guest("tail").config(&world).start().await?;
        Ok(Self { guard, host })
    }

    fn log(&self) -> PathBuf {
        self.guard.path().join("app.log")
    }

    fn append(&self, text: &str) -> Result<()> {
        Ok(OpenOptions::new().append(true).create(true).open(self.log())?.write_all(text.as_bytes())?)
    }

    /// Waits until the log is told to have grown to this. What is told may be of a change before: then there is another one to come.
    async fn sees(&self, listener: &mut Listener, uri: &str, text: &str) -> Result<()> {
        while self.read(uri).await? != text {
            let told = listener.update().await?;
            ensure!(told == uri, "{told}");
        }
        ensure!(listener.update().await? == uri);
        Ok(())
    }

    async fn read(&self, uri: &str) -> Result<String> {
        let read = call(&self.host, "resources/read", json!({ "uri": uri })).await?;
        Ok(read["contents"][0]["text"].as_str().unwrap_or_default().to_owned())
    }
}

#[tokio::test]
async fn where_wharf_toml_has_changes_looked_for_they_are_told_as_well() -> Result<()> {
    let world = World::with("[server]\nwatch = \"poll\"\n").await?;
    let mut listener = wharf_tests::listen(&world.host, &["log://app".into()]).await?;
    world.append("three\n")?;
    world.sees(&mut listener, "log://app", "one\ntwo error\nthree\n").await
}

#[tokio::test]
async fn the_last_lines_are_read_and_those_with_a_text() -> Result<()> {
    let world = World::new().await?;
    let list = call(&world.host, "resources/list", json!({})).await?;
    ensure!(list["resources"][0]["uri"] == "log://app" && list["resources"][1]["uri"] == "log://other", "{list}");
    ensure!(world.read("log://app").await? == "one\ntwo error\n");
    world.append("three\nfour error\nfi")?;
    ensure!(world.read("log://app").await? == "three\nfour error\nfi\n", "as many as the setting says");
    ensure!(world.read("log://app?lines=1").await? == "fi\n");
    ensure!(world.read("log://app?grep=error").await? == "two error\nfour error\n");
    ensure!(world.read("log://app?grep=error&lines=1").await? == "four error\n");
    ensure!(world.read("log://app?grep=no%20such").await?.is_empty());
    for (uri, code) in
        [("log://app?lines=0", "-32602"), ("log://app?lines=x", "-32602"), ("log://none", "-32602"), ("log://other", "-32603")]
    {
        let error = format!("{:#}", world.read(uri).await.unwrap_err());
        ensure!(error.contains(code), "{uri}: {error}");
    }
    Ok(())
}

#[tokio::test]
async fn of_a_large_log_the_end_is_read_and_a_line_without_end_is_cut() -> Result<()> {
    let world = World::new().await?;
    let lines: String = (0..400_000).map(|n| format!("line {n} of many that nobody reads\n")).collect();
    fs::write(world.log(), &lines)?;
    ensure!(world.read("log://app?lines=1").await? == "line 399999 of many that nobody reads\n");
    ensure!(world.read("log://app?lines=10000").await?.lines().count() == 10_000);
    ensure!(world.read("log://app?grep=line%20399").await?.lines().count() == 3);
    fs::write(world.log(), "x".repeat(20 << 20))?;
    ensure!(world.read("log://app").await?.len() == (1 << 20) + 1);
    Ok(())
}

#[tokio::test]
async fn a_log_is_announced_as_it_grows_and_through_each_kind_of_rotation() -> Result<()> {
    let world = World::new().await?;
    let session = Session::open(&world.host).await?;
    let mut listener = session.listen().await?;
    let uri = "log://app?lines=1".to_owned();
    session.subscribe(std::slice::from_ref(&uri)).await?;
    world.append("three\n")?;
    world.sees(&mut listener, &uri, "three\n").await?;
    fs::rename(world.log(), world.guard.path().join("app.log.1"))?;
    world.append("after a rename\n")?;
    world.sees(&mut listener, &uri, "after a rename\n").await?;
    // As logrotate's copytruncate does.
    fs::copy(world.log(), world.guard.path().join("app.log.2"))?;
    OpenOptions::new().write(true).truncate(true).open(world.log())?;
    world.append("after truncation\n")?;
    world.sees(&mut listener, &uri, "after truncation\n").await?;
    fs::remove_file(world.log())?;
    ensure!(listener.update().await? == uri);
    world.append("made again\n")?;
    world.sees(&mut listener, &uri, "made again\n").await
}
