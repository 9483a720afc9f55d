//! The section of what `wharf lab` says of clients: those of the test run, whose verdicts are in `target/lab/`, and those of whoever has a
//! client that no test can run, in `tests/clients/verdicts/`.

use std::{fmt::Write, fs, path::Path};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

const HEAD: &str = "
## What clients do with a resource that changes

`wharf lab` serves one resource, which changes some seconds after a client subscribes to it, and says which steps of a full round each client
took. The SDKs of the test run were told to make a full round, so their rows say what an application can do with them; what an agent does by
itself is seen only with the agent. To add one:

1. `wharf lab --json --once > tests/clients/verdicts/NAME.json`, in a checkout.
2. Connect the client to `http://127.0.0.1:8089/mcp`, and let it do what it does. Over stdio its command is `wharf lab --stdio --json`, and
   the verdict is on stderr.
3. `cargo xtask compatibility`, after a test run, and send what has changed.

✓ it took the step · – it did not
";
/// As the lab names them.
const STEPS: [&str; 6] = ["list", "read", "subscribe", "notified", "read again", "unsubscribe"];

/// What the test run leaves of one client.
#[derive(Deserialize)]
struct Played {
    place: usize,
    id: String,
    package: String,
    version: String,
    verdict: Verdict,
}

/// A line of `wharf lab --json`, as far as it goes into the page: neither times nor how the connection ended.
#[derive(Deserialize)]
struct Verdict {
    client: Client,
    era: String,
    protocol: String,
    transport: String,
    steps: Vec<Taken>,
    full_round: bool,
}

#[derive(Deserialize)]
struct Client {
    name: String,
    version: String,
}

#[derive(Deserialize)]
struct Taken {
    step: String,
}

/// The section, of the verdicts in these folders. That of the users' may be missing.
pub fn section(run: &Path, users: &Path) -> Result<String> {
    let mut played = Vec::new();
    for (path, text) in files(run)? {
        played.push(serde_json::from_str::<Played>(&text).with_context(|| format!("{path} is no result of the lab's tests"))?);
    }
    if played.is_empty() {
        bail!("there are no verdicts in {}: run `cargo xtask test --only test`", run.display());
    }
    played.sort_by_key(|played| played.place);
    let mut section = HEAD.to_owned();
    write!(section, "\n| client | version | over | era | protocol | {} | full round |\n|{}\n", STEPS.join(" | "), "---|".repeat(12))?;
    for Played { id, package, version, verdict, .. } in played {
        row(&mut section, &format!("{id} ({package})"), &version, &verdict)?;
    }
    for (path, text) in files(users)? {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        for line in lines {
            let what = || format!("{path} has a line that is no verdict: it is to hold what `wharf lab --json` writes to stdout");
            let verdict: Verdict = serde_json::from_str(line).with_context(what)?;
            row(&mut section, &verdict.client.name, &verdict.client.version, &verdict).with_context(what)?;
        }
    }
    Ok(section)
}

/// Path and content of the JSON files in a folder, by name; none if there is no such folder.
fn files(folder: &Path) -> Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    if !folder.exists() {
        return Ok(files);
    }
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            files.push((path.display().to_string(), fs::read_to_string(&path)?));
        }
    }
    files.sort();
    Ok(files)
}

fn row(section: &mut String, client: &str, version: &str, verdict: &Verdict) -> Result<()> {
    let Verdict { era, protocol, transport, steps, full_round, .. } = verdict;
    if let Some(unknown) = steps.iter().find(|taken| !STEPS.contains(&&*taken.step)) {
        bail!("there is no step {:?}", unknown.step);
    }
    let mark = |step: &&str| if steps.iter().any(|taken| taken.step == *step) { "✓" } else { "–" };
    let marks = STEPS.iter().map(mark).collect::<Vec<_>>().join(" | ");
    let full_round = if *full_round { "yes" } else { "no" };
    // What a client says of itself is a cell, whatever it says.
    let cell = |text: &str| text.replace('|', "\\|").replace(['\n', '\r'], " ");
    let (client, version, protocol) = (cell(client), cell(version), cell(protocol));
    Ok(writeln!(section, "| {client} | {version} | {transport} | {era} | {protocol} | {marks} | {full_round} |")?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn verdict(client: &str, steps: &[&str]) -> serde_json::Value {
        let steps: Vec<_> = steps.iter().map(|step| json!({ "step": step, "at_ms": 7 })).collect();
        json!({ "connection": 1, "client": { "name": client, "version": "2" }, "era": "legacy", "protocol": "2025-11-25", "transport": "http",
            "steps": steps, "missing": [], "full_round": steps.len() == 6, "ended": "closed" })
    }

    fn run() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (place, id) in [(1, "a"), (0, "b")] {
            let played = json!({ "place": place, "id": id, "package": "p", "version": "1.0", "verdict": verdict("its own name", &STEPS) });
            fs::write(folder.path().join(format!("{id}.json")), played.to_string()).unwrap();
        }
        folder
    }

    #[test]
    fn the_clients_of_the_test_run_come_first_and_then_the_users() {
        let (run, users) = (run(), tempfile::tempdir().unwrap());
        let lines = format!("{}\n\n{}\n", verdict("agent", &["list"]), verdict("a|gent", &[]));
        fs::write(users.path().join("agent.json"), lines).unwrap();
        let section = section(run.path(), users.path()).unwrap();
        let expected = "\n| client | version | over | era | protocol | list | read | subscribe | notified | read again | unsubscribe | full round |\n\
                        |---|---|---|---|---|---|---|---|---|---|---|---|\n\
                        | b (p) | 1.0 | http | legacy | 2025-11-25 | ✓ | ✓ | ✓ | ✓ | ✓ | ✓ | yes |\n\
                        | a (p) | 1.0 | http | legacy | 2025-11-25 | ✓ | ✓ | ✓ | ✓ | ✓ | ✓ | yes |\n\
                        | agent | 2 | http | legacy | 2025-11-25 | ✓ | – | – | – | – | – | no |\n\
                        | a\\|gent | 2 | http | legacy | 2025-11-25 | – | – | – | – | – | – | no |\n";
        assert_eq!(&section[HEAD.len()..], expected);
    }

    #[test]
    fn without_verdicts_of_users_there_are_those_of_the_test_run() {
        assert!(section(run().path(), Path::new("/nowhere")).unwrap().ends_with("| yes |\n"));
    }

    #[test]
    fn what_is_no_verdict_is_named_with_its_file() {
        let (run, users) = (run(), tempfile::tempdir().unwrap());
        for line in ["serving test://review/status", &verdict("x", &["lsit"]).to_string()] {
            fs::write(users.path().join("mine.json"), line).unwrap();
            let error = format!("{:#}", section(run.path(), users.path()).unwrap_err());
            assert!(error.contains("mine.json") && error.contains("wharf lab --json"), "{error}");
        }
    }
}
