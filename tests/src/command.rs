//! The binary as a command that answers and ends.

use std::{path::Path, process::Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use tokio::process::Command;

use crate::{host::binary, within};

/// What a command answered.
#[derive(Debug)]
pub struct Output {
    /// Its exit code.
    pub code: i32,
    /// Its answer.
    pub stdout: Vec<u8>,
    /// All else it said.
    pub stderr: String,
}

impl Output {
    /// The answer as text; an error if the command failed.
    ///
    /// # Errors
    /// Another exit code than 0, with what it said; bytes that are no text.
    pub fn text(self) -> Result<String> {
        if self.code != 0 {
            bail!("exit code {}: {}", self.code, self.stderr);
        }
        Ok(String::from_utf8(self.stdout)?)
    }

    /// The answer as JSON, whatever the exit code.
    ///
    /// # Errors
    /// It is no JSON; with what the command said.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_slice(&self.stdout).with_context(|| format!("{self:?}"))
    }
}

/// Runs `wharf` with these arguments in this folder, to its end. Files it trusts are recorded in that folder too.
///
/// # Errors
/// A missing binary; one that does not end, or is ended by a signal.
pub async fn wharf(folder: &Path, args: &[&str]) -> Result<Output> {
    let mut command = Command::new(binary()?);
    command.args(args).current_dir(folder).env("XDG_DATA_HOME", folder.join("data")).stdin(Stdio::null()).kill_on_drop(true);
    let ended = within(&format!("wharf {}", args.join(" ")), async { Ok(command.output().await?) }).await?;
    let code = ended.status.code().context("ended by a signal")?;
    Ok(Output { code, stdout: ended.stdout, stderr: String::from_utf8_lossy(&ended.stderr).into_owned() })
}
