//! The checks that are known to fail, each with its reason; and what the suite found, judged by it.
//!
//! The file has the form that the suite's own `--expected-failures` takes, in the plainest kind of YAML: below `server:` a line for each,
//! `- scenario:check` or `- scenario`, and behind it the reason as a comment.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail};

use super::results::{Scenario, Status};

#[derive(Debug, Default)]
pub struct Baseline(Vec<Entry>);

#[derive(Debug)]
struct Entry {
    scenario: String,
    /// Absent: any of the scenario's.
    check: Option<String>,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Judged {
    /// One for each run.
    pub lines: Vec<String>,
    /// Whatever is not as the baseline says; empty if all is well.
    pub complaints: Vec<String>,
}

impl Baseline {
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("{} is wrong", path.display()))
    }

    fn parse(text: &str) -> Result<Self> {
        let mut entries: Vec<Entry> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') || line == "server:" {
                continue;
            }
            let entry = line.strip_prefix("- ").with_context(|| format!("line {number} is no `- scenario:check  # reason`"))?;
            let Some((name, _)) = entry.split_once(" #").filter(|(_, reason)| !reason.trim().is_empty()) else {
                bail!("line {number} gives no reason: say it in a comment behind `{entry}`");
            };
            let name = name.trim();
            let (scenario, check) = name.split_once(':').map_or((name, None), |(scenario, check)| (scenario, Some(check)));
            let entry = Entry { scenario: scenario.into(), check: check.map(Into::into) };
            if entries.iter().any(|other| other.scenario == entry.scenario && (other.check == entry.check || other.check.is_none())) {
                bail!("line {number} says again what an earlier line says: {name}");
            }
            entries.push(entry);
        }
        Ok(Self(entries))
    }

    /// Judges what was found, by run.
    pub fn judge(&self, runs: &[(&str, Vec<Scenario>)]) -> Judged {
        let mut judged = Judged::default();
        for (label, scenarios) in runs {
            let (mut passed, mut expected, mut unexpected) = (0, 0, 0);
            for scenario in scenarios {
                for check in &scenario.checks {
                    if check.status == Status::Passed {
                        passed += 1;
                    } else if check.status.is_failing() && self.0.iter().any(|entry| entry.covers(scenario, &check.id)) {
                        expected += 1;
                    } else if check.status.is_failing() {
                        unexpected += 1;
                        let (id, message) = (&check.id, check.message.trim());
                        judged.complaints.push(format!("  {label} {}:{id} fails, and is not expected to:\n    {message}", scenario.name));
                    }
                }
            }
            let unexpected = if unexpected == 0 { String::new() } else { format!(", {unexpected} FAILED") };
            let count = scenarios.len();
            judged.lines.push(format!("{label}: {count} scenarios, {passed} checks passed, {expected} failed as expected{unexpected}"));
        }
        for entry in &self.0 {
            if let Some(why) = entry.stale(runs) {
                judged.complaints.push(format!("  {} is stale: {why}; remove it from the baseline", entry.name()));
            }
        }
        judged
    }
}

impl Entry {
    fn name(&self) -> String {
        self.check.as_ref().map_or_else(|| self.scenario.clone(), |check| format!("{}:{check}", self.scenario))
    }

    fn covers(&self, scenario: &Scenario, id: &str) -> bool {
        self.scenario == scenario.name && self.check.as_ref().is_none_or(|check| check == id)
    }

    /// Why it should go, if it should: it passes in some run, or fails in none.
    fn stale(&self, runs: &[(&str, Vec<Scenario>)]) -> Option<String> {
        let mut fails = false;
        for (label, scenarios) in runs {
            for scenario in scenarios.iter().filter(|scenario| scenario.name == self.scenario) {
                let (failing, passing) = match &self.check {
                    None => (scenario.is_failing(), !scenario.is_failing()),
                    Some(id) => {
                        let status = scenario.checks.iter().find(|check| check.id == *id).map(|check| check.status);
                        (status.is_some_and(Status::is_failing), status == Some(Status::Passed))
                    }
                };
                if passing {
                    return Some(format!("it passes in {label}"));
                }
                fails |= failing;
            }
        }
        (!fails).then(|| "the suite has no such check, or skips it".into())
    }
}

#[cfg(test)]
mod tests {
    use super::{super::results::Check, *};

    fn baseline(lines: &[&str]) -> Baseline {
        let lines: Vec<String> = lines.iter().map(|line| format!("  - {line}  # because\n")).collect();
        Baseline::parse(&format!("# Known\nserver:\n{}", lines.concat())).unwrap()
    }

    fn scenario(name: &str, checks: &[(&str, Status)]) -> Scenario {
        let checks = checks.iter().map(|(id, status)| Check { id: (*id).into(), status: *status, message: format!("of {id}") });
        Scenario { name: name.into(), checks: checks.collect() }
    }

    fn complaints(baseline: &Baseline, runs: Vec<Scenario>) -> Vec<String> {
        let runs: Vec<(&str, Vec<Scenario>)> = runs.into_iter().map(|one| ("v", vec![one])).collect();
        baseline.judge(&runs).complaints
    }

    #[test]
    fn expected_failures_and_warnings_are_counted_and_well() {
        let found = scenario("s", &[("a", Status::Passed), ("b", Status::Failed), ("c", Status::Warning), ("d", Status::Skipped)]);
        let judged = baseline(&["s:b", "s:c"]).judge(&[("v", vec![found])]);
        assert_eq!(judged.lines, ["v: 1 scenarios, 1 checks passed, 2 failed as expected"]);
        assert!(judged.complaints.is_empty(), "{judged:?}");
    }

    #[test]
    fn a_new_failure_is_told_with_its_message() {
        for status in [Status::Failed, Status::Warning] {
            let told = complaints(&baseline(&["s:b"]), vec![scenario("s", &[("a", status), ("b", Status::Failed)])]);
            assert_eq!(told, ["  v s:a fails, and is not expected to:\n    of a"]);
        }
    }

    #[test]
    fn an_entry_that_passes_in_one_run_or_fails_in_none_is_stale() {
        let fails = || scenario("s", &[("a", Status::Failed)]);
        for (entry, other) in [
            ("s:a", scenario("s", &[("a", Status::Passed)])),
            ("s", scenario("s", &[("a", Status::Passed)])),
            ("s", scenario("s", &[("a", Status::Skipped)])),
        ] {
            let told = complaints(&baseline(&[entry]), vec![fails(), other]);
            assert!(told.len() == 1 && told[0].contains("is stale: it passes in v"), "{told:?}");
        }
        let told = complaints(&baseline(&["s:a", "s:b", "t"]), vec![fails(), scenario("u", &[("b", Status::Passed)])]);
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told.iter().all(|told| told.contains("the suite has no such check")), "{told:?}");
    }

    #[test]
    fn a_whole_scenario_covers_each_of_its_checks() {
        let found = scenario("s", &[("a", Status::Failed), ("b", Status::Warning), ("c", Status::Passed)]);
        assert!(complaints(&baseline(&["s"]), vec![found]).is_empty());
    }

    #[test]
    fn an_entry_without_a_reason_or_said_twice_is_refused_by_its_line() {
        for text in ["- s:a", "- s:a #", "- s # x\n- s:a # x", "- s:a # x\n- s:a # x", "s:a # x"] {
            let error = Baseline::parse(&format!("server:\n{text}\n")).unwrap_err().to_string();
            assert!(error.contains("line "), "{text}: {error}");
        }
    }
}
