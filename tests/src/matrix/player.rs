//! Whoever plays a client, and what it reports: a process that prints a line a step, or a task of this one.

use std::process::Stdio;

use anyhow::{Context, Result};
use serde::Deserialize;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::mpsc,
    task::JoinHandle,
};

use super::{
    clients::{Client, Driver},
    report::Step,
    rmcp,
};
use crate::root;

/// Where the client is to go.
#[derive(Clone, Debug)]
pub(super) enum Target {
    Url(String),
    /// A program and its arguments.
    Command(Vec<String>),
}

/// One line of a driver.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Line {
    /// Who is playing: the package's name, its version as installed, the version of the protocol that was agreed on.
    Hello {
        client: String,
        version: String,
        /// Absent: it came to none.
        protocol: Option<String>,
    },
    Step(Step),
    /// Something is to be done to the host now.
    Please {
        please: Please,
    },
}

/// What a driver asks for. It is told when it is done.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Please {
    /// The host is to be killed, and started anew where it was not the client that started it.
    Restart,
    /// The host is to be killed once the read of `matrix://do/hang` is under way in the guest.
    Kill,
    /// What was killed is to be started anew, as for `Restart`.
    Start,
}

/// A client being played. It ends when this is dropped.
pub(super) enum Player {
    Process { child: Box<Child>, lines: Lines<BufReader<ChildStdout>>, stdin: ChildStdin },
    Task { lines: mpsc::Receiver<Line>, done: mpsc::Sender<()>, task: JoinHandle<()> },
}

impl Player {
    /// Starts it.
    pub fn start(client: &Client, target: Target) -> Result<Self> {
        let scripts = root().join("tests/clients");
        let mut command = match client.driver {
            Driver::Rmcp => {
                let (sender, lines) = mpsc::channel(1);
                let (done, hear) = mpsc::channel(1);
                let task = tokio::spawn(rmcp::play(client.protocol, target, sender, hear));
                return Ok(Self::Task { lines, done, task });
            }
            Driver::Script(program, script) => {
                let mut command = Command::new(program);
                command.arg(scripts.join(script));
                command
            }
        };
        command.args(["--client", client.id]);
        match target {
            Target::Url(url) => command.args(["--url", &url]),
            Target::Command(words) => command.args(["--command", &serde_json::to_string(&words)?]),
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot run {}: run `cargo xtask clients`", command.as_std().get_program().display()))?;
        let stdin = child.stdin.take().context("no stdin")?;
        let stdout = child.stdout.take().context("no stdout")?;
        Ok(Self::Process { child: Box::new(child), lines: BufReader::new(stdout).lines(), stdin })
    }

    /// What it reports next; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Line>> {
        match self {
            Self::Task { lines, .. } => Ok(lines.recv().await),
            Self::Process { lines, .. } => match lines.next_line().await? {
                None => Ok(None),
                Some(line) => serde_json::from_str(&line).map(Some).with_context(|| format!("the driver printed {line:?}")),
            },
        }
    }

    /// Says that what it asked for is done.
    pub async fn done(&mut self) -> Result<()> {
        match self {
            Self::Process { stdin, .. } => stdin.write_all(b"done\n").await.context("the driver reads no more"),
            Self::Task { done, .. } => {
                // If it has gone, the missing steps tell.
                let _ = done.send(()).await;
                Ok(())
            }
        }
    }

    /// Waits for the end; an error if it broke, with what it said on stderr.
    pub async fn end(mut self) -> Result<()> {
        match &mut self {
            Self::Task { task, .. } => task.await.context("the driver panicked"),
            Self::Process { child, .. } => {
                let mut stderr = child.stderr.take().context("no stderr")?;
                let mut said = Vec::new();
                stderr.read_to_end(&mut said).await?;
                let status = child.wait().await?;
                anyhow::ensure!(status.success(), "the driver broke ({status}):\n{}", String::from_utf8_lossy(&said));
                Ok(())
            }
        }
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        if let Self::Task { task, .. } = self {
            task.abort();
        }
    }
}
