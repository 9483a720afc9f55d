//! What the suite found, from the folder it wrote: one folder for each scenario, `server-<scenario>-<time>`, with a `checks.json`.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// `-2026-11-30T12-00-00-000Z`, which the suite puts behind the name.
const TIME_LENGTH: usize = 25;

/// What became of a check, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// It did not apply.
    Skipped,
    Passed,
    /// Something that should be is not.
    Warning,
    Failed,
}

impl Status {
    pub fn is_failing(self) -> bool {
        self >= Self::Warning
    }
}

#[derive(Debug)]
pub struct Check {
    pub id: String,
    pub status: Status,
    /// What is wrong, if anything is.
    pub message: String,
}

#[derive(Debug)]
pub struct Scenario {
    pub name: String,
    /// Each id once. The suite may make one check several times; the worst counts.
    pub checks: Vec<Check>,
}

impl Scenario {
    pub fn is_failing(&self) -> bool {
        self.checks.iter().any(|check| check.status.is_failing())
    }
}

/// Reads the results. `said` is what the suite printed: only there it says why it could not run a scenario at all.
pub fn read(folder: &Path, said: &str) -> Result<Vec<Scenario>> {
    let mut scenarios = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("the suite left no {}", folder.display()))? {
        let entry = entry?;
        let (folder, file) = (entry.file_name(), entry.path().join("checks.json"));
        let name = folder.to_str().and_then(scenario_of).with_context(|| format!("{} has no scenario's name", entry.path().display()))?;
        let checks = if file.exists() {
            let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
            checks(&text).with_context(|| format!("{} is not as expected", file.display()))?
        } else {
            vec![Check { id: name.to_owned(), status: Status::Failed, message: reason(name, said) }]
        };
        scenarios.push(Scenario { name: name.to_owned(), checks });
    }
    if scenarios.is_empty() {
        bail!("the suite ran nothing; it said:\n{said}");
    }
    scenarios.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(scenarios)
}

fn scenario_of(folder: &str) -> Option<&str> {
    let name = folder.strip_prefix("server-")?;
    name.get(..name.len().checked_sub(TIME_LENGTH)?)
}

fn reason(scenario: &str, said: &str) -> String {
    let begin = format!("Failed to run scenario {scenario}:");
    let line = said.lines().find_map(|line| line.strip_prefix(&begin));
    line.map_or_else(|| "the suite left no result".into(), |why| format!("the suite could not run it:{why}"))
}

fn checks(text: &str) -> Result<Vec<Check>> {
    let all: Vec<Value> = serde_json::from_str(text)?;
    let mut checks: Vec<Check> = Vec::new();
    for one in &all {
        let id = one["id"].as_str().context("a check has no id")?;
        let status = match one["status"].as_str() {
            // What was sent and answered, for the reader.
            Some("INFO") => continue,
            Some("SKIPPED") => Status::Skipped,
            Some("SUCCESS") => Status::Passed,
            Some("WARNING") => Status::Warning,
            Some("FAILURE") => Status::Failed,
            other => bail!("the check {id} has the unknown status {other:?}"),
        };
        let message = one["errorMessage"].as_str().or(one["description"].as_str()).unwrap_or_default().to_owned();
        match checks.iter_mut().find(|check| check.id == id) {
            None => checks.push(Check { id: id.to_owned(), status, message }),
            Some(check) if check.status < status => (check.status, check.message) = (status, message),
            Some(_) => {}
        }
    }
    Ok(checks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_of_a_check_counts_and_information_does_not() {
        let found = checks(
            r#"[{"id":"a","status":"SUCCESS"},{"id":"a","status":"FAILURE","errorMessage":"why"},{"id":"a","status":"WARNING"},
                {"id":"b","status":"SKIPPED"},{"id":"c","status":"INFO"}]"#,
        )
        .unwrap();
        let found: Vec<_> = found.iter().map(|check| (&*check.id, check.status, &*check.message)).collect();
        assert_eq!(found, [("a", Status::Failed, "why"), ("b", Status::Skipped, "")]);
        assert!(checks(r#"[{"id":"a","status":"PERHAPS"}]"#).is_err());
    }

    #[test]
    fn a_scenario_without_a_result_failed_for_the_reason_the_suite_gave() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("server-server-ping-2026-11-30T12-00-00-000Z")).unwrap();
        let found = read(folder.path(), "…\nFailed to run scenario server-ping: Error: timed out\n").unwrap();
        assert_eq!((&*found[0].name, found.len()), ("server-ping", 1));
        assert!(found[0].is_failing() && found[0].checks[0].message.ends_with("Error: timed out"), "{found:?}");
    }

    #[test]
    fn a_suite_that_ran_nothing_is_an_error() {
        assert!(read(tempfile::tempdir().unwrap().path(), "nothing to do").unwrap_err().to_string().contains("nothing to do"));
    }
}
