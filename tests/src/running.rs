//! A command that runs on until it is ended, and what it says meanwhile.

use std::{
    path::Path,
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
    sync::watch,
};

use crate::{LIMIT, host::binary, within, within_limit};

/// A running `wharf`. It is killed when this is dropped.
pub struct Running {
    child: Child,
    stdout: Lines<BufReader<ChildStdout>>,
    said: watch::Receiver<()>,
    log: Arc<Mutex<String>>,
    limit: Duration,
}

impl Running {
    /// Runs `wharf` with these arguments in this folder.
    ///
    /// # Errors
    /// It cannot be run.
    pub fn start(folder: &Path, arguments: &[&str]) -> Result<Self> {
        let mut command = Command::new(binary()?);
        command.args(arguments).current_dir(folder).env("XDG_DATA_HOME", folder.join("data"));
        Self::of(command)
    }

    /// Runs a command that becomes `wharf`.
    ///
    /// # Errors
    /// It cannot be run.
    pub fn of(mut command: Command) -> Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().with_context(|| format!("cannot run {}", command.as_std().get_program().display()))?;
        let stdout = BufReader::new(child.stdout.take().context("no stdout")?).lines();
        let stderr = child.stderr.take().context("no stderr")?;
        let log = Arc::new(Mutex::new(String::new()));
        let (says, said) = watch::channel(());
        tokio::spawn({
            let log = log.clone();
            async move {
                let mut lines = BufReader::new(stderr).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
                    *log += &line;
                    log.push('\n');
                    says.send_replace(());
                }
            }
        });
        Ok(Self { child, stdout, said, log, limit: LIMIT })
    }

    /// The same, awaited for longer than [`LIMIT`]: something is compiled.
    #[must_use]
    pub fn awaited_for(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// The next line on stdout.
    ///
    /// # Errors
    /// It ended, or said nothing in time; both with what it said on stderr.
    pub async fn line(&mut self) -> Result<String> {
        let line = within_limit("a line on stdout", self.limit, async { self.stdout.next_line().await?.context("it ended") }).await;
        line.with_context(|| self.log())
    }

    /// All it has written to stderr so far.
    pub fn log(&self) -> String {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until its stderr has this text so many times, and gives all of it.
    ///
    /// # Errors
    /// It ended without, or took too long; both with what it said.
    pub async fn says(&mut self, text: &str, times: usize) -> Result<String> {
        let (said, log) = (&mut self.said, &self.log);
        let found = within_limit("its stderr", self.limit, async {
            loop {
                let so_far = log.lock().unwrap_or_else(PoisonError::into_inner).clone();
                if so_far.matches(text).count() >= times {
                    return Ok(so_far);
                }
                if said.changed().await.is_err() {
                    bail!("it ended");
                }
            }
        });
        let found = found.await;
        found.with_context(|| format!("waiting for {text:?}; it said:\n{}", self.log()))
    }

    /// Waits for its end; gives how it ended, and what it said on stderr.
    ///
    /// # Errors
    /// It does not end.
    pub async fn ended(mut self) -> Result<(ExitStatus, String)> {
        let status = within("its end", async { Ok(self.child.wait().await?) }).await.with_context(|| self.log())?;
        // Till the end of its stderr.
        while within("the end of its stderr", async { Ok(self.said.changed().await.is_ok()) }).await? {}
        Ok((status, self.log()))
    }

    /// Its process id.
    ///
    /// # Errors
    /// It has ended already.
    pub fn id(&self) -> Result<u32> {
        self.child.id().context("it has ended already")
    }

    /// Sends a signal, as `kill` names it.
    ///
    /// # Errors
    /// It has ended already.
    pub async fn signal(&self, signal: &str) -> Result<()> {
        let sent = Command::new("kill").args(["-s", signal, &self.id()?.to_string()]).status().await?;
        if !sent.success() {
            bail!("cannot send {signal}");
        }
        Ok(())
    }

    /// Sends a signal, as `kill` names it, and waits for the end.
    ///
    /// # Errors
    /// It does not end.
    pub async fn end(self, signal: &str) -> Result<(ExitStatus, String)> {
        self.signal(signal).await?;
        self.ended().await
    }
}
