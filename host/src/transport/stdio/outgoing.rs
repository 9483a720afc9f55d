//! Messages into bytes: one a line, one after the other.
//!
//! Invariant: whatever is dropped while it is written, what has been written so far is a beginning of whole lines, and goes on where it
//! stopped.

use std::{collections::VecDeque, io};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::mcp::encode::Encoded;

/// Once so many bytes wait, nothing more is to be put here: what a pipe holds on Linux, so that a client that reads is never waited for.
/// The last message may go past it.
const ROOM: usize = 64 << 10;
const LINE_END: &[u8] = b"\n";

/// What waits to be written.
pub struct Outgoing<W> {
    to: W,
    /// Pieces of messages, each with whether its message ends with it.
    queue: VecDeque<(Bytes, bool)>,
    messages: usize,
    bytes: usize,
    unflushed: bool,
}

impl<W: AsyncWrite + Unpin> Outgoing<W> {
    /// Nothing yet.
    pub fn new(to: W) -> Self {
        Self { to, queue: VecDeque::new(), messages: 0, bytes: 0, unflushed: false }
    }

    /// Whether more may wait.
    pub fn has_room(&self) -> bool {
        self.bytes < ROOM
    }

    /// How many messages wait.
    pub fn len(&self) -> usize {
        self.messages
    }

    /// Whether there is anything to do for [`Outgoing::write`].
    pub fn is_busy(&self) -> bool {
        self.unflushed || !self.queue.is_empty()
    }

    /// A message, one line of JSON.
    pub fn push(&mut self, message: Encoded) {
        self.messages += 1;
        self.bytes += message.len() + LINE_END.len();
        let (mut head, end) = message.into_pieces();
        if end.is_empty() {
            head.extend_from_slice(LINE_END);
            self.queue.push_back((head.into(), true));
        } else {
            self.queue.extend([(head.into(), false), (end, false), (Bytes::from_static(LINE_END), true)]);
        }
    }

    /// Writes one piece of what waits, or flushes if nothing does. Cancel safe.
    ///
    /// # Errors
    /// Those of writing; the client is gone.
    pub async fn write(&mut self) -> io::Result<()> {
        let Some((first, is_last)) = self.queue.front_mut() else {
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
            self.messages -= usize::from(*is_last);
            self.queue.pop_front();
        }
        Ok(())
    }
}
