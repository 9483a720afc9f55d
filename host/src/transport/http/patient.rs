//! A connection's bytes, with patience for the other end.
//!
//! Invariants: a client may take its time, so long as it takes something; one that says it has nothing more to send (TCP lets it close one
//! direction alone, as `nc -N` and some proxies do) still gets the answer it waits for.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep},
};

/// How long a client that has closed its direction is taken for one that waits. Most that close it are gone altogether, which looks the
/// same, and what runs for them runs so much longer.
pub const HALF_CLOSED_TIME: Duration = Duration::from_secs(1);

/// What is owed to the other end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owed {
    Nothing,
    /// Something was read since.
    Answer,
    /// Some of it is written.
    Rest,
}

/// What is read from and written to.
pub struct Patient<I> {
    io: I,
    /// How long the other end may take nothing.
    time: Duration,
    /// Runs while a write waits.
    stalled: Option<Pin<Box<Sleep>>>,
    owed: Owed,
    /// Runs since the other end closed its direction, or took something after that.
    half_closed: Option<Pin<Box<Sleep>>>,
}

impl<I> Patient<I> {
    /// A connection that may take nothing for so long.
    pub fn new(io: I, time: Duration) -> Self {
        Self { io, time, stalled: None, owed: Owed::Nothing, half_closed: None }
    }

    fn bounded<T>(&mut self, context: &mut Context<'_>, write: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if write.is_ready() {
            self.stalled = None;
            return write;
        }
        let time = self.time;
        ready!(self.stalled.get_or_insert_with(|| Box::pin(sleep(time))).as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client takes nothing of what is written to it")))
    }

    fn written(&mut self, context: &mut Context<'_>, write: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if matches!(write, Poll::Ready(Ok(1..))) {
            self.owed = Owed::Rest;
            self.half_closed = None;
        }
        self.bounded(context, write)
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Patient<I> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(context, buffer))?;
        if buffer.filled().len() > before {
            self.owed = Owed::Answer;
        } else if self.owed != Owed::Nothing && buffer.remaining() > 0 {
            ready!(self.half_closed.get_or_insert_with(|| Box::pin(sleep(HALF_CLOSED_TIME))).as_mut().poll(context));
        }
        Poll::Ready(Ok(()))
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Patient<I> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let write = Pin::new(&mut self.io).poll_write(context, bytes);
        self.written(context, write)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, context: &mut Context<'_>, slices: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let write = Pin::new(&mut self.io).poll_write_vectored(context, slices);
        self.written(context, write)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flush = Pin::new(&mut self.io).poll_flush(context);
        // HTTP flushes once all it has is written.
        if flush.is_ready() && self.owed == Owed::Rest {
            self.owed = Owed::Nothing;
        }
        self.bounded(context, flush)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shutdown = Pin::new(&mut self.io).poll_shutdown(context);
        self.bounded(context, shutdown)
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        time::Instant,
    };

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_is_given_up_and_one_that_takes_little_is_not() {
        let time = Duration::from_secs(60);
        let (io, mut client) = tokio::io::duplex(16);
        let mut io = Patient::new(io, time);
        let reading = async {
            let mut byte = [0];
            for _ in 0..16 {
                sleep(time - Duration::from_secs(1)).await;
                client.read_exact(&mut byte).await.unwrap();
            }
        };
        let (written, ()) = tokio::join!(io.write_all(&[0; 32]), reading);
        assert!(written.is_ok());
        let began = Instant::now();
        assert_eq!(io.write_all(&[0; 32]).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(began.elapsed(), time);
    }

    #[tokio::test(start_paused = true)]
    async fn an_end_is_told_late_while_an_answer_is_owed_and_at_once_otherwise() {
        let began = Instant::now();
        let (io, client) = tokio::io::duplex(16);
        let (mut byte, mut io) = ([0], Patient::new(io, Duration::from_secs(60)));
        let (_rest, mut client) = tokio::io::split(client);
        client.write_all(b"q").await.unwrap();
        client.shutdown().await.unwrap();
        assert_eq!(io.read(&mut byte).await.unwrap(), 1);
        assert_eq!(io.read(&mut byte).await.unwrap(), 0);
        assert_eq!(began.elapsed(), HALF_CLOSED_TIME, "nothing was answered");
        // What is written in part is owed as well, and each part gives it new time.
        io.write_all(b"a").await.unwrap();
        assert_eq!(io.read(&mut byte).await.unwrap(), 0);
        assert_eq!(began.elapsed(), 2 * HALF_CLOSED_TIME);
        io.flush().await.unwrap();
        assert_eq!(io.read(&mut byte).await.unwrap(), 0);
        assert_eq!(began.elapsed(), 2 * HALF_CLOSED_TIME, "all was answered");
    }
}
