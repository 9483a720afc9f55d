//! Messages into bytes: one a line, one after the other.
//!
//! Invariant: whatever is dropped while it is written, what has been written so far is a beginning of whole lines, and goes on where it
//! stopped.

use std::{collections::VecDeque, io};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncWrite, AsyncWriteExt};

/// Once so many bytes wait, nothing more is to be put here: what a pipe holds on Linux, so that a client that reads is never waited for.
/// The last message may go past it.
const ROOM: usize = 64 << 10;

/// What waits to be written.
pub struct Outgoing<W> {
    to: W,
    queue: VecDeque<Bytes>,
    bytes: usize,
    unflushed: bool,
}

impl<W: AsyncWrite + Unpin> Outgoing<W> {
    /// Nothing yet.
    pub fn new(to: W) -> Self {
        Self { to, queue: VecDeque::new(), bytes: 0, unflushed: false }
    }

    /// Whether more may wait.
    pub fn has_room(&self) -> bool {
        self.bytes < ROOM
    }

    /// How many messages wait.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether there is anything to do for [`Outgoing::write`].
    pub fn is_busy(&self) -> bool {
        self.unflushed || !self.queue.is_empty()
    }

    /// A message, one line of JSON.
    pub fn push(&mut self, mut message: Vec<u8>) {
        message.push(b'\n');
        self.bytes += message.len();
        self.queue.push_back(message.into());
    }

    /// Writes one piece of what waits, or flushes if nothing does. Cancel safe.
    ///
    /// # Errors
    /// Those of writing; the client is gone.
    pub async fn write(&mut self) -> io::Result<()> {
        let Some(first) = self.queue.front_mut() else {
            self.to.flush().await?;
            self.unflushed = false;
            return Ok(());
        };
        let written = self.to.write(first).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.unflushed = true;
        self.bytes -= written;
        first.advance(written);
        if first.is_empty() {
            self.queue.pop_front();
        }
        Ok(())
    }
}
