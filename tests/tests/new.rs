//! `wharf new`: what it makes builds, is a provider, and passes its own tests.

use std::{fs, path::Path, process::Stdio, time::Duration};

use anyhow::{Context, Result, ensure};
use tokio::process::Command;
use wharf_tests::{binary, root, wharf};

/// The first run compiles the bindings' generator twice: for the component, and for the project's tests.
const BUILD_LIMIT: Duration = Duration::from_secs(1200);

async fn run(command: &mut Command) -> Result<String> {
    command.stdin(Stdio::null()).kill_on_drop(true);
    let ended = tokio::time::timeout(BUILD_LIMIT, command.output()).await.with_context(|| format!("{command:?} takes too long"))??;
    let (stdout, stderr) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    ensure!(ended.status.success(), "{command:?}: {}\n{stdout}{stderr}", ended.status);
    Ok(stdout.into_owned())
}

#[tokio::test]
async fn a_new_rust_provider_builds_passes_the_check_and_its_own_tests() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let said = wharf(folder.path(), &["new", "my-notes", "--lang", "rust"]).await?.text()?;
    ensure!(said.contains("wharf dev my-notes"), "{said}");
    let project = folder.path().join("my-notes");

    let xtask = binary()?.with_file_name(format!("xtask{}", std::env::consts::EXE_SUFFIX));
    ensure!(xtask.exists(), "there is no {}: run `cargo xtask test --only build`", xtask.display());
    let built = folder.path().join("built");
    fs::create_dir(&built)?;
    run(Command::new(xtask).args(["guests", "--dir"]).arg(&project).arg("--to").arg(&built)).await?;
    let component = built.join("my-notes.wasm");
    let checked = wharf(folder.path(), &["check", &component.display().to_string()]).await?.text()?;
    ensure!(checked.contains("lists 2 resources, 1 template") && checked.ends_with("fine\n"), "{checked}");
    let read = wharf(folder.path(), &["read", "--plugins", &built.display().to_string(), "my-notes://greeting/Ada"]).await?.text()?;
    ensure!(read == "Hello, Ada!", "{read}");

    // As far as it is in the registry's local copy, which the build above has filled.
    let mut tests = Command::new("cargo");
    tests.args(["test", "--offline"]).current_dir(&project).env("CARGO_TARGET_DIR", root().join("target/guests/new"));
    let tested = run(&mut tests).await?;
    ensure!(tested.contains("3 passed"), "{tested}");
    Ok(())
}

#[tokio::test]
async fn the_contract_goes_with_it_and_no_placeholder_is_left() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let output = wharf(folder.path(), &["new", "my-notes", "--lang", "rust", "--dir", "deep/down", "--json"]).await?.json()?;
    let files: Vec<&str> = output["files"].as_array().context("no files")?.iter().filter_map(|file| file.as_str()).collect();
    for expected in ["Cargo.toml", ".gitignore", "README.md", "src/lib.rs", "src/content.rs", "wit/deps/provider/provider.wit"] {
        ensure!(files.contains(&&*format!("deep/down/{expected}")), "{files:?}");
    }
    for file in files {
        let content = fs::read_to_string(folder.path().join(file))?;
        ensure!(!["{{name", "{{crate", "{{scheme"].iter().any(|placeholder| content.contains(placeholder)), "{file}");
    }
    ensure!(fs::read(folder.path().join("deep/down/wit/deps/provider/provider.wit"))? == fs::read(root().join("wit/provider.wit"))?);
    Ok(())
}

#[tokio::test]
async fn a_folder_with_something_in_it_is_left_alone() -> Result<()> {
    let folder = tempfile::tempdir()?;
    fs::create_dir(folder.path().join("hello"))?;
    ensure!(wharf(folder.path(), &["new", "hello", "--lang", "rust"]).await?.code == 0, "an empty folder is fine");
    let manifest = folder.path().join("hello/Cargo.toml");
    fs::write(&manifest, "mine")?;
    let output = wharf(folder.path(), &["new", "hello", "--lang", "rust"]).await?;
    ensure!(output.code == 1 && output.stderr.contains("not empty") && output.stderr.contains("--dir"), "{output:?}");
    ensure!(fs::read_to_string(&manifest)? == "mine");
    let output = wharf(folder.path(), &["new", "hello", "--lang", "rust", "--dir", "hello/Cargo.toml"]).await?;
    ensure!(output.code == 1 && output.stderr.contains("is a file"), "{output:?}");
    Ok(())
}

#[tokio::test]
async fn a_bad_name_is_refused_with_the_rule_and_an_unknown_language_with_the_known_ones() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let wrong = [("2hello", "rust", "begins with a letter"), ("wharf", "rust", "my-wharf"), ("hello", "cobol", "rust")];
    for (name, language, says) in wrong {
        let output = wharf(folder.path(), &["new", name, "--lang", language]).await?;
        ensure!(output.code == 2 && output.stderr.contains(says), "{output:?}");
    }
    ensure!(fs::read_dir(Path::new(folder.path()))?.next().is_none(), "nothing is made");
    Ok(())
}
