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

/// The same folder without a provider.toml and its build: what is there tells how it is built.
fn project_with(files: &[(&str, &str)]) -> Result<TempDir> {
    let folder = project()?;
    let project = folder.path().join("review");
    fs::remove_file(project.join("provider.toml"))?;
    fs::remove_file(project.join("build.sh"))?;
    // No component by its name: it is not what a build has made.
    fs::rename(project.join("base.wasm"), project.join("base.bin"))?;
    for (name, content) in files {
        fs::write(project.join(name), content)?;
    }
    Ok(folder)
}

/// Saves another word, and waits until a subscribed client has it.
async fn a_save_arrives(folder: &TempDir, building: &str) -> Result<()> {
    let mut dev = start(folder)?;
    let url = url(&dev.says("/mcp", 1).await?)?;
    dev.says(&format!("building  {building}"), 1).await?;
    dev.says("loaded    review: 1 resource", 1).await?;
    let mut watch = Running::start(folder.path(), &["watch", "--read", "--count", "1", "--url", &url, STATUS])?;
    watch.says("watching 1 resource", 1).await?;
    fs::write(folder.path().join("review/word.txt"), OTHER)?;
    ensure!(watch.line().await?.ends_with(&format!("updated {STATUS}")));
    let (_status, _version) = (watch.line().await?, watch.line().await?);
    ensure!(watch.line().await? == "message: Looking for a reviewer.");
    let log = dev.says("reloaded  review", 1).await?;
    // What the build writes is no change that is built again.
    ensure!(log.matches("changed   ").count() == 1 && log.contains("changed   word.txt"), "{log}");
    let (status, log) = dev.end("INT").await?;
    ensure!(status.code() == Some(0), "{status}: {log}");
    Ok(())
}

#[tokio::test]
async fn a_makefile_is_made_and_its_newest_component_is_served() -> Result<()> {
    let makefile = "\
out/review.wasm: base.bin word.txt
\tmkdir -p out
\tLC_ALL=C sed \"s/Waiting for a/$$(cat word.txt) for a/\" base.bin > out/review.partial
\tmv out/review.partial out/review.wasm
";
    a_save_arrives(&project_with(&[("Makefile", makefile)])?, "make  (Makefile)").await
}

#[tokio::test]
async fn a_package_json_is_built_by_npm_and_names_the_provider() -> Result<()> {
    let package = r#"{ "name": "@me/review", "private": true, "scripts": { "build": "node build.mjs" } }"#;
    let script = "\
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
const component = readFileSync('base.bin', 'latin1');
mkdirSync('dist', { recursive: true });
writeFileSync('dist/review.wasm', component.replaceAll('Waiting for a', `${readFileSync('word.txt')} for a`), 'latin1');
";
    let folder = project_with(&[("package.json", package), ("build.mjs", script)])?;
    // The name is the package's, and not the folder's.
    fs::rename(folder.path().join("review"), folder.path().join("elsewhere"))?;
    std::os::unix::fs::symlink("elsewhere", folder.path().join("review"))?;
    a_save_arrives(&folder, "npm run build  (package.json)").await
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
