//! What became of a round, as it is written to `target/matrix/<client>-<way>.json`.

use std::{env, fs, path::PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::{Client, Known, STEPS, Way};

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Outcome {
    Ok,
    Failed,
    /// This client has no way to do it.
    Cannot,
}

/// One step, as it was reported.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Step {
    pub step: String,
    pub outcome: Outcome,
    pub detail: String,
    /// How long it took, in milliseconds.
    pub ms: u64,
    /// Why it does not hold, where that is known.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Where that can be seen.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
}

impl Step {
    pub fn new(step: &str, outcome: Outcome, detail: impl Into<String>, ms: u64) -> Self {
        Self { step: step.into(), outcome, detail: detail.into(), ms, reason: None, evidence: None }
    }
}

/// One round.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// The client's place in the table.
    pub place: usize,
    pub id: &'static str,
    pub way: Way,
    pub package: String,
    pub version: String,
    pub protocol: String,
    pub steps: Vec<Step>,
}

impl Report {
    /// Adds the reasons that are known. Returns what is wrong: steps that do not hold for no known reason, and reasons for steps that do.
    pub fn judge(&mut self, client: &Client, known: &Known) -> Vec<String> {
        let (id, way) = (self.id, self.way);
        let mut wrong = Vec::new();
        for step in &mut self.steps {
            let entry = known.explains(client, way, &step.step);
            match (step.outcome, entry) {
                (Outcome::Ok, None) => {}
                (Outcome::Ok, Some(_)) => {
                    wrong.push(format!("{id} by {way:?}: {} holds: take it out of tests/clients/known.toml", step.step));
                }
                (outcome, None) => wrong.push(format!("{id} by {way:?}: {}: {outcome:?}: {}", step.step, step.detail)),
                (_, Some(entry)) => {
                    (step.reason, step.evidence) = (Some(entry.reason.clone()), entry.evidence.clone());
                }
            }
        }
        let reported: Vec<&str> = self.steps.iter().map(|step| step.step.as_str()).collect();
        if reported != STEPS {
            wrong.push(format!("{id} by {way:?}: the steps reported are {reported:?}"));
        }
        if !self.protocol.is_empty() && self.protocol != client.protocol {
            wrong.push(format!("{id} by {way:?}: speaks {} instead of {}", self.protocol, client.protocol));
        }
        wrong
    }

    /// Writes it to its file.
    pub fn write(&self) -> Result<()> {
        // Tests run as TARGET/PROFILE/deps/NAME.
        let folder: PathBuf = env::current_exe()?.ancestors().nth(3).context("a test outside of cargo's target folder")?.join("matrix");
        fs::create_dir_all(&folder)?;
        let way = serde_json::to_value(self.way)?;
        let path = folder.join(format!("{}-{}.json", self.id, way.as_str().unwrap_or_default()));
        fs::write(&path, serde_json::to_string_pretty(self)?).with_context(|| format!("cannot write {}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::CLIENTS;

    fn judged(outcomes: &[(&str, Outcome)], known: &str) -> Vec<String> {
        let steps = STEPS.iter().map(|step| {
            let outcome = outcomes.iter().find(|(name, _)| name == step).map_or(Outcome::Ok, |(_, outcome)| *outcome);
            Step::new(step, outcome, "why", 0)
        });
        let mut report = Report {
            place: 0,
            id: CLIENTS[0].id,
            way: Way::Http,
            package: String::new(),
            version: String::new(),
            protocol: CLIENTS[0].protocol.into(),
            steps: steps.collect(),
        };
        report.judge(&CLIENTS[0], &toml::from_str(known).unwrap())
    }

    const LIST: &str = "[[known]]\nclient = 'ts-sdk'\nsteps = ['list']\nreason = 'r'";

    #[test]
    fn a_step_that_does_not_hold_is_wrong_unless_it_is_known() {
        assert_eq!(judged(&[("list", Outcome::Failed)], ""), ["ts-sdk by Http: list: Failed: why"]);
        assert_eq!(judged(&[("list", Outcome::Cannot)], ""), ["ts-sdk by Http: list: Cannot: why"]);
        assert!(judged(&[("list", Outcome::Failed)], LIST).is_empty());
    }

    #[test]
    fn what_is_known_and_did_not_happen_is_wrong() {
        assert_eq!(judged(&[], LIST), ["ts-sdk by Http: list holds: take it out of tests/clients/known.toml"]);
    }
}
