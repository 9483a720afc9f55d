//! `cargo xtask compatibility`: COMPATIBILITY.md, from what the client matrix of the test run left in `target/matrix/`, and the clients under
//! `wharf lab` in `target/lab/`.
//!
//! The page depends on nothing but which steps held, with which versions, and on the reasons: two runs that went the same give the same
//! page, whatever their times were. In check mode it is compared and not written.

mod lab;

use std::{
    collections::BTreeSet,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::repo::Repo;

const PAGE: &str = "COMPATIBILITY.md";
/// Of clients that no test can run.
const VERDICTS: &str = "tests/clients/verdicts";

const HEAD: &str = "\
# Compatibility

MCP clients, each taken through one whole round against the real binary by every way it has to it. Made by `cargo xtask compatibility` from
the results of `cargo xtask test`, which fails if this page says something else: do not edit it. How a round goes: `tests/clients/`.

| step | what has to happen |
|---|---|
| connect | at once, though the provider takes a second to load |
| list | waits for the provider, and has all 2,504 entries, each once |
| pages | the list changes between two pages: no error, no entry twice, none missing |
| templates, complete, text, blob | as the provider has them |
| not-found | an error that names the URI; the client goes on |
| subscribe, update, read-again | an update arrives, and a read has what changed |
| flood | 10,000 changes in one call: a handful of updates, and the last content |
| unsubscribe | no update arrives any more |
| list-changed | told of an entry more and of one less; the list has it, and has it no more |
| died | the provider crashes in a read: an error, then an update, and the fresh instance's content |
| restart | the host is killed and started anew: the client ends up with what is true, and hears of changes |
| killed | the host is killed in the middle of a read, which ends with an error; once it is started anew, as in restart |
| close | cleanly |

Ways: `http` is `wharf serve`; `stdio` is `wharf serve --stdio`, started by the client; `attached` is `wharf serve --stdio --attach URL`, started
by the client, where the host behind it is the one that is restarted.

Not in the table: supergateway 4.0.0 in the modern era, in which it starts a process of the host for each request, so that cursors,
subscriptions and whatever else lives longer than a request are lost in it.

✓ it does · – the client has no way to do it · ✗ it fails · the number is the reason, below.
";

#[derive(Deserialize)]
struct Round {
    place: usize,
    id: String,
    way: String,
    package: String,
    version: String,
    protocol: String,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    step: String,
    outcome: String,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    evidence: Option<String>,
}

/// Where the rounds leave their results, and those under the lab theirs.
pub fn results(repo: &Repo) -> Result<[PathBuf; 2]> {
    let target = repo.target()?;
    Ok(["matrix", "lab"].map(|folder| target.join(folder)))
}

/// All of it.
fn whole_page(repo: &Repo) -> Result<String> {
    let [matrix, lab] = results(repo)?;
    Ok(page(&matrix)? + &lab::section(&lab, &repo.root.join(VERDICTS))?)
}

/// Writes the page.
pub fn write(repo: &Repo) -> Result<()> {
    let path = repo.root.join(PAGE);
    fs::write(&path, whole_page(repo)?).with_context(|| format!("cannot write {}", path.display()))
}

/// Fails if the page says something else than the results.
pub fn check(repo: &Repo) -> Result<()> {
    let page = whole_page(repo)?;
    let written = fs::read_to_string(repo.root.join(PAGE)).unwrap_or_default();
    if written == page {
        return Ok(());
    }
    let old: BTreeSet<&str> = written.lines().collect();
    let new: Vec<&str> = page.lines().filter(|line| !old.contains(line)).take(5).collect();
    bail!("{PAGE} is out of date: run `cargo xtask compatibility`. What is new, or the first of it:\n{}", new.join("\n"))
}

fn page(results: &Path) -> Result<String> {
    let nothing = || format!("there are no results in {}: run `cargo xtask test --only test`", results.display());
    let mut rounds = Vec::new();
    for entry in fs::read_dir(results).with_context(nothing)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let text = fs::read_to_string(&path)?;
            rounds.push(serde_json::from_str::<Round>(&text).with_context(|| format!("{} is no result of a round", path.display()))?);
        }
    }
    if rounds.is_empty() {
        bail!(nothing());
    }
    let ways = ["http", "stdio", "attached"];
    rounds.sort_by_key(|round| (round.place, ways.iter().position(|way| *way == round.way)));
    render(&rounds)
}

fn render(rounds: &[Round]) -> Result<String> {
    let mut page = HEAD.to_owned();
    let steps: Vec<&str> = rounds[0].steps.iter().map(|step| step.step.as_str()).collect();
    write!(page, "\n| client | version | way | protocol | {} |\n|{}\n", steps.join(" | "), "---|".repeat(steps.len() + 4))?;
    let mut reasons: Vec<(&str, Option<&str>)> = Vec::new();
    for round in rounds {
        let Round { id, package, version, way, protocol, .. } = round;
        write!(page, "| {id} ({package}) | {version} | {way} | {protocol} |")?;
        for Step { outcome, reason, evidence, .. } in &round.steps {
            let mark = match outcome.as_str() {
                "ok" => "✓",
                "cannot" => "–",
                _ => "✗",
            };
            write!(page, " {mark}")?;
            if let Some(reason) = reason {
                let reason = (reason.as_str(), evidence.as_deref());
                let number = reasons.iter().position(|known| *known == reason).unwrap_or_else(|| {
                    reasons.push(reason);
                    reasons.len() - 1
                });
                write!(page, " {}", number + 1)?;
            }
            page.push_str(" |");
        }
        page.push('\n');
    }
    if !reasons.is_empty() {
        page.push_str("\nReasons:\n\n");
    }
    for (number, (reason, evidence)) in reasons.into_iter().enumerate() {
        writeln!(page, "{}. {reason}{}", number + 1, evidence.map(|evidence| format!(" Evidence: {evidence}")).unwrap_or_default())?;
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(rounds: &[serde_json::Value]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (number, round) in rounds.iter().enumerate() {
            fs::write(folder.path().join(format!("{number}.json")), round.to_string()).unwrap();
        }
        folder
    }

    fn round(place: usize, id: &str, way: &str, list: serde_json::Value) -> serde_json::Value {
        let connect = serde_json::json!({ "step": "connect", "outcome": "ok", "detail": "", "ms": 7 });
        serde_json::json!({ "place": place, "id": id, "way": way, "package": "p", "version": "1.0", "protocol": "2026-07-28",
            "steps": [connect, list] })
    }

    #[test]
    fn rows_come_in_the_order_of_the_clients_and_reasons_once() {
        let cannot = serde_json::json!({ "step": "list", "outcome": "cannot", "reason": "No list.", "evidence": "its help" });
        let ok = serde_json::json!({ "step": "list", "outcome": "ok" });
        let results = folder(&[round(1, "b", "stdio", cannot.clone()), round(1, "b", "http", cannot), round(0, "a", "attached", ok)]);
        let page = page(results.path()).unwrap();
        let table = &page[HEAD.len()..];
        let expected = "\n| client | version | way | protocol | connect | list |\n|---|---|---|---|---|---|\n\
                        | a (p) | 1.0 | attached | 2026-07-28 | ✓ | ✓ |\n\
                        | b (p) | 1.0 | http | 2026-07-28 | ✓ | – 1 |\n\
                        | b (p) | 1.0 | stdio | 2026-07-28 | ✓ | – 1 |\n\
                        \nReasons:\n\n1. No list. Evidence: its help\n";
        assert_eq!(table, expected);
    }

    #[test]
    fn without_results_the_command_that_makes_them_is_named() {
        let empty = folder(&[]);
        for results in [empty.path(), Path::new("/nowhere")] {
            let error = format!("{:#}", page(results).unwrap_err());
            assert!(error.contains("run `cargo xtask test --only test`"), "{error}");
        }
    }
}
