//! What the probe found: a step at a time for people, or all of it as JSON.

use std::time::Duration;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;

use crate::cli::output;

/// Characters of a message that are shown.
const SHOWN: usize = 2_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Outcome {
    Ok,
    Failed,
    /// The server does not claim to be able to, or a step before it failed.
    Skipped,
}

#[derive(Debug, Serialize)]
pub(super) struct Step {
    pub step: &'static str,
    pub outcome: Outcome,
    pub detail: String,
    pub ms: u64,
    /// Of a step that failed: what was sent last, and what came back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
}

/// As `--json` has it.
#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    pub target: String,
    pub era: &'static str,
    pub protocol: String,
    pub server: Value,
    pub steps: Vec<Step>,
    pub passed: bool,
    #[serde(skip)]
    pub json: bool,
}

impl Report {
    /// Adds a step, and shows it to people.
    pub(super) fn add(
        &mut self,
        step: &'static str,
        outcome: Outcome,
        detail: String,
        took: Duration,
        last: Option<(Value, Value)>,
    ) -> Result<()> {
        let (request, answer) = last.filter(|_| outcome == Outcome::Failed).unzip();
        let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        if !self.json {
            let word = match outcome {
                Outcome::Ok => "ok",
                Outcome::Failed => "FAILED",
                Outcome::Skipped => "skipped",
            };
            let mut lines = vec![format!("{word:<8} {step:<12} {ms:>6} ms  {detail}")];
            let message = |what: &str, message: &Value| format!("         {what}: {}", short(&message.to_string()));
            lines.extend(request.iter().map(|request| message("sent", request)));
            lines.extend(answer.iter().filter(|answer| !answer.is_null()).map(|answer| message("came", answer)));
            output::lines(lines)?;
        }
        self.steps.push(Step { step, outcome, detail, ms, request, answer });
        Ok(())
    }

    /// The end; whether it passed.
    pub(super) fn end(mut self) -> Result<bool> {
        let failed: Vec<&str> = self.steps.iter().filter(|step| step.outcome == Outcome::Failed).map(|step| step.step).collect();
        let passed = failed.is_empty();
        let skipped = self.steps.iter().filter(|step| step.outcome == Outcome::Skipped).count();
        if self.json {
            self.passed = passed;
            let json = serde_json::to_string(&self).context("cannot write JSON")?;
            output::write(format!("{json}\n").as_bytes())?;
        } else if passed {
            output::lines([format!("passed, {} {}; {skipped} skipped", self.era, self.protocol)])?;
        } else {
            output::lines([format!("failed: {}", failed.join(", "))])?;
        }
        Ok(passed)
    }
}

fn short(text: &str) -> String {
    let mut short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
