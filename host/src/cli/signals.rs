//! What ends the process from outside.
//!
//! Invariant: the first signal lets everything end; the second one ends the process at once, with the exit code that a shell gives to what
//! it kills: 128 and the signal's number.

use std::io;

/// SIGINT and SIGTERM, by their numbers.
const INTERRUPT: u8 = 2;
#[cfg(unix)]
const TERMINATE: u8 = 15;

/// What ends the host: Ctrl-C, and where there is one, SIGTERM.
pub(super) struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

/// A signal that came while everything was ending already.
#[derive(Debug)]
pub(super) struct Again(u8);

impl Again {
    /// Of the process.
    pub(super) fn exit_code(&self) -> u8 {
        128 + self.0
    }
}

impl std::fmt::Display for Again {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ended before everything was done")
    }
}

impl std::error::Error for Again {}

impl Signals {
    #[cfg(unix)]
    pub(super) fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// The next one.
    pub(super) async fn next(&mut self) {
        self.number().await;
    }

    /// The next one, as an error: to be called once one came.
    pub(super) async fn again(&mut self) -> anyhow::Error {
        Again(self.number().await).into()
    }

    #[cfg(unix)]
    async fn number(&mut self) -> u8 {
        tokio::select! {
            _ = self.interrupt.recv() => INTERRUPT,
            _ = self.terminate.recv() => TERMINATE,
        }
    }

    #[cfg(not(unix))]
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {})
    }

    #[cfg(not(unix))]
    async fn number(&mut self) -> u8 {
        drop(tokio::signal::ctrl_c().await);
        INTERRUPT
    }
}
