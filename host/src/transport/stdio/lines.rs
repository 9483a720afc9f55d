//! Messages out of bytes: one a line (MCP, "Transports", stdio).
//!
//! Invariants: a line past [`LINE_CAP`] is never held, only passed over; a byte is looked at once; waiting for a line is cancel safe.

use std::io;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::transport::http::BODY_CAP;

/// Bytes of one message, as over HTTP.
pub const LINE_CAP: usize = BODY_CAP;
/// Bytes asked for at a time: what a pipe holds on Linux.
const CHUNK: usize = 64 << 10;

/// What came in.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line, without its end and the white space around it. Never empty.
    Message(Bytes),
    /// One that is too long. Said once, as soon as it is known; what is left of it is passed over.
    TooLong,
}

/// The lines of a stream of bytes.
pub struct Lines<R> {
    from: R,
    read: BytesMut,
    /// So much of it has no end of a line.
    scanned: usize,
    /// The line at the beginning of it is too long.
    skipping: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// The lines that come from here.
    pub fn new(from: R) -> Self {
        Self { from, read: BytesMut::new(), scanned: 0, skipping: false }
    }

    /// The next line; none at the end. The last one needs no end of its own. Cancel safe.
    ///
    /// # Errors
    /// Those of reading.
    pub async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            if let Some(line) = self.take() {
                return Ok(Some(line));
            }
            self.read.reserve(CHUNK);
            if self.from.read_buf(&mut self.read).await? == 0 {
                self.scanned = 0;
                let rest = std::mem::take(&mut self.read).freeze();
                let rest = if std::mem::take(&mut self.skipping) { Bytes::new() } else { trimmed(rest) };
                return Ok((!rest.is_empty()).then_some(Line::Message(rest)));
            }
        }
    }

    /// A line out of what has been read.
    fn take(&mut self) -> Option<Line> {
        while let Some(at) = self.read[self.scanned..].iter().position(|byte| *byte == b'\n') {
            let line = self.read.split_to(self.scanned + at + 1).freeze();
            self.scanned = 0;
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            let line = trimmed(line);
            if line.len() > LINE_CAP {
                return Some(Line::TooLong);
            }
            if !line.is_empty() {
                return Some(Line::Message(line));
            }
        }
        if self.skipping {
            self.read.clear();
        } else if self.read.len() > LINE_CAP {
            self.skipping = true;
            self.read = BytesMut::new();
            self.scanned = 0;
            return Some(Line::TooLong);
        }
        self.scanned = self.read.len();
        None
    }
}

fn trimmed(line: Bytes) -> Bytes {
    line.slice_ref(line.trim_ascii())
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    async fn lines(from: impl AsyncRead + Unpin) -> Vec<Line> {
        let mut lines = Lines::new(from);
        let mut all = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            assert!(lines.read.capacity() <= 4 * LINE_CAP, "{} bytes are held", lines.read.capacity());
            all.push(line);
        }
        assert_eq!(lines.next().await.unwrap(), None);
        all
    }

    fn message(text: &str) -> Line {
        Line::Message(Bytes::copy_from_slice(text.as_bytes()))
    }

    #[tokio::test]
    async fn a_message_is_a_line_however_it_ends_and_arrives() {
        let text: &[u8] = b"{}\n\r\n \t\n{\"a\":1}\r\n  [1]\n5";
        let expected = [message("{}"), message("{\"a\":1}"), message("[1]"), message("5")];
        assert_eq!(lines(text).await, expected);
        let trickle = bytewise(text);
        assert_eq!(lines(trickle).await, expected);
    }

    /// Gives one byte at a time.
    fn bytewise(text: &'static [u8]) -> impl AsyncRead + Unpin {
        struct Bytewise(&'static [u8]);
        impl AsyncRead for Bytewise {
            fn poll_read(
                mut self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
                into: &mut tokio::io::ReadBuf<'_>,
            ) -> std::task::Poll<io::Result<()>> {
                if let Some((first, rest)) = self.0.split_first() {
                    into.put_slice(&[*first]);
                    self.0 = rest;
                }
                std::task::Poll::Ready(Ok(()))
            }
        }
        Bytewise(text)
    }

    #[tokio::test]
    async fn a_line_of_100_mb_is_refused_once_and_the_next_one_is_served() {
        let long = tokio::io::repeat(b'x').take(100 << 20);
        let from = (&b"1\n"[..]).chain(long).chain(&b"\n2\n"[..]);
        assert_eq!(lines(from).await, [message("1"), Line::TooLong, message("2")]);
    }

    #[tokio::test]
    async fn a_line_may_be_as_long_as_the_cap_and_no_longer() {
        let line = |bytes: usize| tokio::io::repeat(b'7').take(bytes as u64).chain(&b"\n"[..]);
        assert_eq!(lines(line(LINE_CAP)).await, [Line::Message(vec![b'7'; LINE_CAP].into())]);
        assert_eq!(lines(line(LINE_CAP + 1)).await, [Line::TooLong]);
    }

    #[tokio::test]
    async fn a_long_line_that_is_cut_off_is_not_a_message() {
        assert_eq!(lines(tokio::io::repeat(b'x').take(LINE_CAP as u64 * 2)).await, [Line::TooLong]);
    }
}
