//! `wharf serve --stdio` as a client runs it: a process, and messages as lines.

use std::{
    path::Path,
    process::{ExitStatus, Stdio},
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

use crate::{host::binary, within};

/// The running process. It is killed when this is dropped.
pub struct Pipe {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Lines<BufReader<ChildStdout>>,
}

impl Pipe {
    /// Runs `wharf serve --stdio` with these arguments in this folder.
    ///
    /// # Errors
    /// It cannot be run.
    pub fn run(folder: &Path, arguments: &[&str]) -> Result<Self> {
        let binary = binary()?;
        let mut child = Command::new(&binary)
            .args(["serve", "--stdio"])
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot run {}", binary.display()))?;
        let stdout = child.stdout.take().context("no stdout")?;
        Ok(Self { stdin: child.stdin.take(), stdout: BufReader::new(stdout).lines(), child })
    }

    /// Sends a message, or any other line.
    ///
    /// # Errors
    /// The process is gone.
    pub async fn send(&mut self, line: impl std::fmt::Display) -> Result<()> {
        let stdin = self.stdin.as_mut().context("stdin is closed")?;
        stdin.write_all(format!("{line}\n").as_bytes()).await.context("the process reads no more")
    }

    /// The next line, which has to be a message.
    ///
    /// # Errors
    /// The end, or a line that is no message.
    pub async fn message(&mut self) -> Result<Value> {
        let line = within("a message", async { self.stdout.next_line().await?.context("the process ended") }).await?;
        let message: Value = serde_json::from_str(&line).with_context(|| format!("on stdout: {line}"))?;
        if message["jsonrpc"] != "2.0" {
            bail!("on stdout: {line}");
        }
        Ok(message)
    }

    /// Sends a request; gives its result, and passes over everything before it.
    ///
    /// # Errors
    /// An error of any kind, also one that is answered.
    pub async fn call(&mut self, id: &str, method: &str, params: Value) -> Result<Value> {
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await?;
        loop {
            let message = self.message().await?;
            if message["id"] == id {
                return message.get("result").cloned().with_context(|| message.to_string());
            }
        }
    }

    /// Closes stdin and waits for the end; gives its status and what it said on stderr.
    ///
    /// # Errors
    /// It does not end, or something other than messages is on stdout.
    pub async fn end(mut self) -> Result<(ExitStatus, String)> {
        drop(self.stdin.take());
        let mut log = String::new();
        let status = within("the end of the process", async {
            while self.stdout.next_line().await?.is_some() {}
            if let Some(mut stderr) = self.child.stderr.take() {
                stderr.read_to_string(&mut log).await?;
            }
            Ok(self.child.wait().await?)
        })
        .await?;
        Ok((status, log))
    }
}
