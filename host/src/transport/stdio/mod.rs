//! stdio (MCP 2024-11-05 … 2026-07-28, "Transports"): messages as lines, in on one stream of bytes, out on another.
//!
//! Invariants: only whole messages go out, one at a time; past [`UNANSWERED`] requests, and while a client does not read, one line more is
//! read from it and no other, and nothing more is worked out for it: what it holds is bounded, and its notifications wait as a set in their listener. The
//! end of the input ends everything, once what was asked is answered.

mod lines;
mod outgoing;

use std::{future::poll_fn, io, task::Poll, time::Duration};

use futures_util::StreamExt;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::Instant,
};

pub use self::lines::LINE_CAP;
use self::{
    lines::{Line, Lines},
    outgoing::Outgoing,
};
use crate::mcp::{
    encode::Encoded,
    pipe::{Backend, Pipe},
};

/// Requests that wait for their answers, those included that wait to be written. What clients send at once is a handful.
pub const UNANSWERED: usize = 64;
/// How long answers may take once the input has ended.
pub const ENDING_TIME: Duration = Duration::from_secs(5);

/// What comes of polling a pipe.
enum Next {
    Message(Encoded),
    /// There is room for another request: some that waited for their answers became streams.
    Room,
    Drained,
}

/// Serves one client until its input ends, its output breaks, or `shutdown` resolves; then what it asked is answered, listens get their
/// results, and after [`ENDING_TIME`] it is cut off.
///
/// # Errors
/// Those of reading. That the client is gone is none.
pub async fn serve<B: Backend + Unpin>(
    backend: B,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let (mut pipe, mut lines, mut outgoing) = (Pipe::new(backend), Lines::new(input), Outgoing::new(output));
    let mut input = Ok(());
    // One line is read ahead of there being room for it, since only so the end of the input is noticed meanwhile.
    let mut ahead = None;
    let mut deadline = None;
    let mut drained = false;
    tokio::pin!(shutdown);
    while !drained || outgoing.is_busy() {
        let room = outgoing.has_room();
        let ending = deadline.is_some();
        let mut end = false;
        if room && !ending && pipe.unanswered() + outgoing.len() < UNANSWERED {
            match ahead.take() {
                Some(Line::Message(line)) => pipe.receive(line),
                Some(Line::TooLong) => pipe.reject(&format!("a message has at most {LINE_CAP} bytes")),
                None => {}
            }
        }
        let (stuck, waiting) = (ahead.is_some() && !ending, outgoing.len());
        let next = poll_fn(|context| match pipe.poll_next_unpin(context) {
            Poll::Ready(message) => Poll::Ready(message.map_or(Next::Drained, Next::Message)),
            Poll::Pending if stuck && pipe.unanswered() + waiting < UNANSWERED => Poll::Ready(Next::Room),
            Poll::Pending => Poll::Pending,
        });
        tokio::select! {
            () = &mut shutdown, if !ending => end = true,
            () = tokio::time::sleep_until(deadline.unwrap_or_else(Instant::now)), if ending => {
                tracing::warn!(requests = pipe.unanswered(), "cut off at the end");
                break;
            }
            line = lines.next(), if !ending && ahead.is_none() => match line {
                Ok(Some(line)) => ahead = Some(line),
                Ok(None) => end = true,
                Err(error) => {
                    input = Err(error);
                    end = true;
                }
            },
            next = next, if room && !drained => match next {
                Next::Message(message) => outgoing.push(message),
                Next::Room => {}
                Next::Drained => drained = true,
            },
            written = outgoing.write(), if outgoing.is_busy() => if let Err(error) = written {
                tracing::debug!(%error, "the client reads no more");
                break;
            },
        }
        if end {
            pipe.end();
            deadline = Some(Instant::now() + ENDING_TIME);
        }
    }
    input
}
