//! `wharf dev` with a build that is quick: it puts a word into a component that is there already.

use std::fs;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use wharf_tests::{Running, root};

const STATUS: &str = "test://review/status";
/// What the component says, and a word of the same length for it, since it is patched in place.
const WORD: &str = "Waiting";
const OTHER: &str = "Looking";

/// A provider's folder, and a wharf.toml beside it.
fn project() -> Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("wharf-dev-test").tempdir()?;
    let project = folder.path().join("review");
    fs::create_dir(&project)?;
    let component = root().join("plugins/review-status.wasm");
    fs::copy(&component, project.join("base.wasm")).context("run `cargo xtask guests`")?;
    fs::write(project.join("word.txt"), WORD)?;
    fs::write(
        project.join("build.sh"),
        "word=$(cat word.txt)\n[ \"$word\" != bad ] || { echo 'word.txt:1: not a word' >&2; exit 1; }\nLC_ALL=C sed \"s/Waiting for a/$word for a/\" base.wasm > out.partial\nmv out.partial out.wasm\n",
    )?;
    fs::write(project.join(".gitignore"), "*.partial\n")?;
    fs::write(project.join("provider.toml"), "[dev]\nbuild = \"sh build.sh\"\noutput = \"out.wasm\"\n")?;
    fs::write(folder.path().join("wharf.toml"), "[[provider]]\nname = \"review\"\n[provider.settings]\ndelay-seconds = 3600\n")?;
    Ok(folder)
}

fn start(folder: &TempDir) -> Result<Running> {
    Running::start(folder.path(), &["dev", "review", "--http", "127.0.0.1:0"])
}

fn url(log: &str) -> Result<String> {
    let begin = log.find("http://").context("no URL")?;
    let end = log[begin..].find("/mcp").context("no URL")?;
    Ok(format!("{}/mcp", &log[begin..begin + end]))
}

#[tokio::test]
async fn a_saved_source_reaches_a_subscribed_client_and_calls_are_shown() -> Result<()> {
    let folder = project()?;
    let mut dev = start(&folder)?;
    let url = url(&dev.says("/mcp", 1).await?)?;
    dev.says("loaded    review: 1 resource", 1).await?;
    let mut watch = Running::start(folder.path(), &["watch", "--read", "--count", "1", "--url", &url, STATUS])?;
    watch.says("watching 1 resource", 1).await?;
    dev.says(&format!("call      subscribe {STATUS}"), 1).await?;
    fs::write(folder.path().join("review/word.txt"), OTHER)?;
    ensure!(watch.line().await?.ends_with(&format!("updated {STATUS}")));
    let (_status, _version) = (watch.line().await?, watch.line().await?);
    ensure!(watch.line().await? == "message: Looking for a reviewer.");
    ensure!(watch.ended().await?.0.code() == Some(0));
    let log = dev.says("reloaded  review", 1).await?;
    ensure!(log.contains("changed   word.txt"), "{log}");
    let (status, log) = dev.end("INT").await?;
    ensure!(status.code() == Some(0), "{status}: {log}");
    Ok(())
}

#[tokio::test]
async fn a_build_that_fails_leaves_the_last_good_version_serving() -> Result<()> {
    let folder = project()?;
    let mut dev = start(&folder)?;
    let url = url(&dev.says("/mcp", 1).await?)?;
    dev.says("loaded    review", 1).await?;
    fs::write(folder.path().join("review/word.txt"), "bad")?;
    let log = dev.says("failed    the build failed", 1).await?;
    ensure!(log.contains("word.txt:1: not a word"), "as the compiler printed it: {log}");
    let mut watch = Running::start(folder.path(), &["watch", "--read", "--count", "1", "--url", &url, STATUS])?;
    watch.says("watching 1 resource", 1).await?;
    fs::write(folder.path().join("review/word.txt"), OTHER)?;
    ensure!(watch.line().await?.ends_with(&format!("updated {STATUS}")));
    Ok(())
}

#[tokio::test]
async fn a_build_that_makes_no_component_leaves_the_last_good_version_serving() -> Result<()> {
    let folder = project()?;
    let mut dev = start(&folder)?;
    let url = url(&dev.says("/mcp", 1).await?)?;
    dev.says("loaded    review", 1).await?;
    fs::write(folder.path().join("review/build.sh"), "echo nothing good > out.wasm\n")?;
    dev.says("refused   review", 1).await?;
    let mut watch = Running::start(folder.path(), &["watch", "--url", &url, STATUS])?;
    watch.says("watching 1 resource", 1).await?;
    Ok(())
}

#[tokio::test]
async fn a_build_under_way_ends_with_the_command() -> Result<()> {
    let folder = project()?;
    // It holds its end of a pipe open for as long as it lives.
    fs::write(folder.path().join("review/build.sh"), "echo under way >&2\nexec sleep 1000\n")?;
    let mut dev = start(&folder)?;
    dev.says("under way", 1).await?;
    // `ended` waits for the end of stderr, which the build has inherited.
    let (status, log) = dev.end("INT").await?;
    ensure!(status.code() == Some(0), "{status}: {log}");
    Ok(())
}

#[tokio::test]
async fn a_folder_that_does_not_tell_how_it_is_built_is_refused_with_what_to_write() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let output = wharf_tests::wharf(folder.path(), &["dev", "."]).await?;
    ensure!(output.code == 1 && output.stderr.contains("provider.toml") && output.stderr.contains("[dev]"), "{output:?}");
    Ok(())
}
