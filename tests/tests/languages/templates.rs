//! What `wharf new` makes in each language: it is built by `wharf dev`, answers, and a sentence that is saved reaches a client.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use serde_json::json;
use tokio::process::Command;
use wharf_tests::{Running, binary, call_at, wharf};

/// A compiler's first run compiles its standard library, and a machine may have other things to do.
const BUILD_LIMIT: Duration = Duration::from_secs(900);
/// Where the packages are that npm would install.
const NODE_MODULES: &str = "WHARF_NODE_MODULES";
/// Nothing is fetched: what a project needs is installed.
const OFFLINE: [(&str, &str); 4] =
    [("npm_config_offline", "true"), ("PIP_NO_INDEX", "1"), ("GOPROXY", "off"), ("CARGO_NET_OFFLINE", "true")];

const SENTENCE: &str = "The tide is coming in.";
const OTHER: &str = "The tide is going out.";

/// What the tools of a language need in the environment.
async fn tools(language: &str) -> Result<Vec<(String, String)>> {
    let xtask = binary()?.with_file_name(format!("xtask{}", std::env::consts::EXE_SUFFIX));
    ensure!(xtask.exists(), "there is no {}: run `cargo xtask test --only build`", xtask.display());
    let said = run(Command::new(xtask).args(["tools", language])).await?;
    said.lines()
        .map(|line| {
            let (name, value) = line.split_once('=').with_context(|| format!("{line:?} is no NAME=VALUE"))?;
            Ok((name.to_owned(), value.to_owned()))
        })
        .collect()
}

async fn run(command: &mut Command) -> Result<String> {
    command.stdin(Stdio::null()).kill_on_drop(true);
    let ended = tokio::time::timeout(BUILD_LIMIT, command.output()).await.with_context(|| format!("{command:?} takes too long"))??;
    let (stdout, stderr) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    ensure!(ended.status.success(), "{command:?}: {}\n{stdout}{stderr}", ended.status);
    Ok(stdout.into_owned())
}

/// How a project's own tests are run, by the habit of its language. (Cargo's are run by another test.)
fn own_tests(project: &Path) -> Option<&'static [&'static str]> {
    let says = |file: &str, text: &str| fs::read_to_string(project.join(file)).is_ok_and(|content| content.contains(text));
    let ways: [(&str, &str, &[&str]); 5] = [
        ("package.json", "\"test\":", &["npm", "test"]),
        ("build.zig", "\"test\"", &["zig", "build", "test"]),
        ("Makefile", "\ntest:", &["make", "test"]),
        ("go.mod", "module", &["go", "test", "./..."]),
        ("pyproject.toml", "[project]", &["python3", "-m", "unittest"]),
    ];
    ways.iter().find(|(file, text, _)| says(file, text)).map(|(_, _, command)| *command)
}

/// The file that has what the provider says: `content`, with the extension of its language.
fn content(folder: &Path) -> Result<Option<PathBuf>> {
    for entry in fs::read_dir(folder)? {
        let (entry, made) = (entry?, ["build", "gen", "node_modules", "target"]);
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_file() && path.file_stem().is_some_and(|stem| stem == "content") && fs::read_to_string(&path)?.contains(SENTENCE) {
            return Ok(Some(path));
        }
        if kind.is_dir()
            && !made.iter().any(|made| path.ends_with(made))
            && let Some(found) = content(&path)?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

pub async fn a_new_project_is_built_and_served_and_a_saved_change_reaches_a_client(language: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let tools = tools(language).await?;
    wharf(folder.path(), &["new", "my-notes", "--lang", language]).await?.text()?;
    let project = folder.path().join("my-notes");
    if let Some((_, packages)) = tools.iter().find(|(name, _)| name == NODE_MODULES) {
        symlink(packages, project.join("node_modules"))?;
    }
    let file = content(&project)?.context("no file called content says the sentence")?;

    let mut command = Command::new(binary()?);
    command.args(["dev", "my-notes", "--http", "127.0.0.1:0"]).current_dir(folder.path()).env("XDG_DATA_HOME", folder.path().join("data"));
    command.envs(tools.iter().cloned()).envs(OFFLINE);
    let mut dev = Running::of(command)?.awaited_for(BUILD_LIMIT);
    let log = dev.says("/mcp", 1).await?;
    let begin = log.find("127.0.0.1:").context("no address")?;
    let address = log[begin..].split('/').next().context("no address")?.to_owned();
    dev.says("loaded    my-notes: 2 resources, 1 template", 1).await?;
    let greeting = call_at(&address, "resources/read", json!({ "uri": "my-notes://greeting/Ada%20L" })).await?;
    ensure!(greeting["contents"][0]["text"] == "Hello, Ada L!", "{greeting}");

    let url = format!("http://{address}/mcp");
    let uris = ["my-notes://sentence", "my-notes://seconds"];
    let [sentence, seconds] = uris.map(|uri| {
        let watch = Running::start(folder.path(), &["watch", "--read", "--count", "1", "--url", &url, uri])?;
        anyhow::Ok(watch.awaited_for(BUILD_LIMIT))
    });
    let (mut sentence, mut seconds) = (sentence?, seconds?);
    sentence.says("watching 1 resource", 1).await?;
    // A timer runs while somebody is subscribed.
    ensure!(seconds.line().await?.ends_with("updated my-notes://seconds"));
    let said = seconds.line().await?;
    ensure!(said == "1 second" || said.ends_with(" seconds"), "{said}");

    fs::write(&file, fs::read_to_string(&file)?.replace(SENTENCE, OTHER))?;
    ensure!(sentence.line().await?.ends_with("updated my-notes://sentence"));
    let said = sentence.line().await?;
    ensure!(said == OTHER, "{said}; the log:\n{}", dev.log());
    let (status, log) = dev.end("INT").await?;
    ensure!(status.code() == Some(0), "{status}: {log}");
    ensure!(log.matches("reloaded  ").count() == 1, "what the build writes is no change: {log}");

    // Of what the source said at first.
    fs::write(&file, fs::read_to_string(&file)?.replace(OTHER, SENTENCE))?;
    if let Some([program, arguments @ ..]) = own_tests(&project) {
        run(Command::new(program).args(arguments).current_dir(&project).envs(tools).envs(OFFLINE)).await?;
    }
    Ok(())
}
