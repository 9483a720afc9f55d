//! What the languages' runtimes bring along.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use serde_json::json;
use wharf_tests::{root, wharf};

use super::{serving, text};

const EXPORTED: [&str; 4] = ["resources", "subscriptions", "completions", "timer-handler"];
/// What a runtime exports besides, which is never called.
const ALSO_EXPORTED: [(&str, &str); 2] = [("js", "init"), ("python", "exports")];
/// What a runtime imports whether it is used or not, of which nothing is granted.
const ALSO_IMPORTED: [(&str, &str); 5] = [
    ("js", "wasi:filesystem/preopens@"),
    ("ts", "wasi:filesystem/preopens@"),
    ("python", "wasi:sockets/tcp@"),
    ("python", "wasi:filesystem/preopens@"),
    ("go", "wasi:filesystem/preopens@"),
];
/// How far the host's clock may be from this process's, which is the same: as long as a read may take.
const MINUTE_MS: u128 = 60_000;

pub async fn what_the_check_finds_is_fine(language: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let component = root().join(format!("tests/languages/{language}.wasm")).display().to_string();
    let checked = wharf(folder.path(), &["check", &component, "--json"]).await?;
    let found = checked.json()?;
    ensure!(checked.code == 0 && found["broken"] == json!([]) && found["needs"] == json!([]), "{found}");
    ensure!(found["offers"] == json!({ "subscriptions": true, "completions": true, "live": true }), "{found}");
    let names = |field: &str| -> Vec<&str> { found[field].as_array().into_iter().flatten().filter_map(|name| name.as_str()).collect() };
    let (exports, imports) = (names("exports"), names("imports"));
    for name in EXPORTED {
        ensure!(exports.contains(&&*format!("wharf:provider/{name}@0.1.0")), "{name} is not in {exports:?}");
    }
    let of = |all: &[(&str, &'static str)]| -> Vec<&'static str> {
        all.iter().filter(|(whose, _)| *whose == language).map(|(_, name)| *name).collect()
    };
    for name in of(&ALSO_EXPORTED) {
        ensure!(exports.contains(&name), "{name} is not in {exports:?}");
    }
    for begin in of(&ALSO_IMPORTED) {
        ensure!(imports.iter().any(|name| name.starts_with(begin)), "{begin} is not in {imports:?}");
    }
    Ok(())
}

pub async fn stderr_is_in_the_log_under_the_provider_s_name(language: &str) -> Result<()> {
    let mut host = serving(language).await?;
    ensure!(text(&host, "contract://do/stderr").await? == "done");
    let log = host.wait_for_log("a line from the guest").await?;
    let line = log.lines().find(|line| line.contains("a line from the guest")).context("no line")?;
    ensure!(line.contains(&format!("provider={language:?}")) && line.contains("stream=\"stderr\""), "{line}");
    Ok(())
}

pub async fn randomness_and_the_clock_are_those_of_the_run(language: &str) -> Result<()> {
    let host = serving(language).await?;
    let first = text(&host, "contract://do/random").await?;
    ensure!(text(&host, "contract://do/random").await? != first, "twice the same number, {first}");
    let mut host = host.restart().await?;
    host.wait_for_load(language).await?;
    let second = text(&host, "contract://do/random").await?;
    ensure!(first != second, "two instances began with the same number, {first}");
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
    let said = text(&host, "contract://do/now").await?;
    let said: u128 = said.parse().with_context(|| format!("{said:?} are no milliseconds"))?;
    ensure!(now.abs_diff(said) < MINUTE_MS, "it says {said} at {now}");
    Ok(())
}
