//! What hosts say on stderr that the harness has not started itself: they write to a named pipe, which it reads.
//!
//! Invariants: the pipe is read to the end of the round, so that no host stands still because it is full; whole lines only.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::{Context, Result, ensure};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    net::unix::pipe,
    process::Command,
    sync::watch,
    task::JoinHandle,
};

use crate::within;

/// All that was said so far.
pub(super) struct Told {
    log: Arc<Mutex<String>>,
    said: watch::Receiver<()>,
    reading: JoinHandle<()>,
}

impl Told {
    /// Makes the pipe, and reads it from now on.
    pub async fn at(path: &Path) -> Result<Self> {
        let made = Command::new("mkfifo").arg(path).status().await.context("cannot run mkfifo")?;
        ensure!(made.success(), "mkfifo: {made}");
        // For writing too: so it does not end with a host, and the next one finds it read.
        let pipe = pipe::OpenOptions::new().read_write(true).open_receiver(path)?;
        let log = Arc::new(Mutex::new(String::new()));
        let (says, said) = watch::channel(());
        let reading = tokio::spawn({
            let log = log.clone();
            async move {
                let mut lines = BufReader::new(pipe).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
                    *log += &line;
                    log.push('\n');
                    says.send_replace(());
                }
            }
        });
        Ok(Self { log, said, reading })
    }

    pub fn so_far(&self) -> String {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until this was said.
    pub async fn wait_for(&mut self, text: &str) -> Result<()> {
        let (log, said) = (&self.log, &mut self.said);
        let found = within("what a host says", async {
            while !log.lock().unwrap_or_else(PoisonError::into_inner).contains(text) {
                said.changed().await.context("the pipe is read no more")?;
            }
            Ok(())
        })
        .await;
        found.with_context(|| format!("waiting for {text:?}; the hosts said:\n{}", self.so_far()))
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        self.reading.abort();
    }
}
