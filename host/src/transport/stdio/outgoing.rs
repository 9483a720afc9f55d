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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_message_in_pieces_is_one_line_and_counts_as_one() {
        let mut written = Vec::new();
        let mut outgoing = Outgoing::new(&mut written);
        let long = Bytes::from(vec![b'e'; ROOM]);
        for head in [&b"first "[..], b"second "] {
            outgoing.push(Encoded::new(head.to_vec(), long.clone()));
        }
        outgoing.push(b"third".to_vec().into());
        assert_eq!((outgoing.len(), outgoing.has_room()), (3, false));
        while outgoing.is_busy() {
            outgoing.write().await.unwrap();
        }
        assert_eq!((outgoing.len(), outgoing.bytes), (0, 0));
        assert_eq!(written, [b"first ", &long[..], b"\nsecond ", &long, b"\nthird\n"].concat());
    }
}
