//! Bodies of answers, taken in with a bound on what is kept and on what it unpacks to.
//!
//! Invariant: what all bodies of one provider take together is bounded, whatever the servers send: small ones by the number of exchanges,
//! large ones by turns of their own.

use std::{io::Write, sync::Arc};

use flate2::write::MultiGzDecoder;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::MAX_BODY_BYTES;

/// Up to so many bytes a body needs no turn.
const SMALL_BYTES: usize = 256 << 10;
/// Large bodies of one provider at a time; with [`super::MAX_EXCHANGES`] small ones that is some 50 MiB.
const MAX_LARGE: usize = 3;
/// Bytes that are unpacked at once: gzip makes at most a thousand times as many of them.
const STEP: usize = 1 << 10;
/// Bytes that are unpacked before others have the thread.
const YIELD: usize = 256 << 10;

/// Room for the bodies of one provider.
#[derive(Clone)]
pub(super) struct Room {
    large: Arc<Semaphore>,
}

impl Default for Room {
    fn default() -> Self {
        Self { large: Arc::new(Semaphore::new(MAX_LARGE)) }
    }
}

/// Why there is no body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BodyError {
    TooLarge,
    Failed(String),
}

/// A body, and what has to be kept as long as it is.
#[derive(Debug)]
pub(super) struct Taken {
    pub bytes: Vec<u8>,
    pub large: Option<OwnedSemaphorePermit>,
}

/// Takes in all of it.
pub(super) async fn take(mut body: Incoming, gzip: bool, room: &Room) -> Result<Taken, BodyError> {
    if !gzip && hyper::body::Body::size_hint(&body).lower() > MAX_BODY_BYTES as u64 {
        return Err(BodyError::TooLarge);
    }
    let failed = |error: &dyn std::fmt::Display| BodyError::Failed(format!("the answer broke off: {error}"));
    let mut taking = Taking {
        sink: if gzip { Sink::Gzip(Box::new(MultiGzDecoder::new(Kept::default()))) } else { Sink::Plain(Kept::default()) },
        room,
        large: None,
    };
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| failed(&error))?;
        if let Some(data) = frame.data_ref() {
            taking.push(data).await?;
        }
    }
    taking.finish()
}

/// What was unpacked.
#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    full: bool,
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.bytes.len() + bytes.len() > MAX_BODY_BYTES {
            self.full = true;
            return Err(std::io::Error::other("too large"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

enum Sink {
    Plain(Kept),
    Gzip(Box<MultiGzDecoder<Kept>>),
}

struct Taking<'a> {
    sink: Sink,
    room: &'a Room,
    large: Option<OwnedSemaphorePermit>,
}

impl Taking<'_> {
    fn kept(&self) -> &Kept {
        match &self.sink {
            Sink::Plain(kept) => kept,
            Sink::Gzip(decoder) => decoder.get_ref(),
        }
    }

    async fn push(&mut self, data: &[u8]) -> Result<(), BodyError> {
        let mut unpacked = 0;
        for step in data.chunks(if matches!(self.sink, Sink::Gzip(_)) { STEP } else { SMALL_BYTES }) {
            let before = self.kept().bytes.len();
            if self.large.is_none() && before + step.len() > SMALL_BYTES {
                self.large = self.room.large.clone().acquire_owned().await.ok();
            }
            let written = match &mut self.sink {
                Sink::Plain(kept) => kept.write_all(step),
                Sink::Gzip(decoder) => decoder.write_all(step),
            };
            written.map_err(|error| self.wrong(&error))?;
            unpacked += self.kept().bytes.len() - before;
            if unpacked > YIELD {
                unpacked = 0;
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    fn wrong(&self, error: &dyn std::fmt::Display) -> BodyError {
        if self.kept().full { BodyError::TooLarge } else { BodyError::Failed(format!("the answer is no gzip: {error}")) }
    }

    fn finish(mut self) -> Result<Taken, BodyError> {
        if let Sink::Gzip(decoder) = &mut self.sink
            && let Err(error) = decoder.try_finish()
        {
            return Err(self.wrong(&error));
        }
        let large = self.large.take();
        let kept = match &mut self.sink {
            Sink::Plain(kept) => std::mem::take(kept),
            Sink::Gzip(decoder) => std::mem::take(decoder.get_mut()),
        };
        Ok(Taken { bytes: kept.bytes, large })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    async fn unpacked(packed: &[u8]) -> Result<Vec<u8>, BodyError> {
        let room = Room::default();
        let mut taking = Taking { sink: Sink::Gzip(Box::new(MultiGzDecoder::new(Kept::default()))), room: &room, large: None };
        for chunk in packed.chunks(1000) {
            taking.push(chunk).await?;
        }
        taking.finish().map(|taken| taken.bytes)
    }

    #[tokio::test]
    async fn what_is_packed_is_unpacked() {
        assert_eq!(unpacked(&gzip(b"hello")).await.unwrap(), b"hello");
        assert_eq!(unpacked(&[gzip(b"hel"), gzip(b"lo")].concat()).await.unwrap(), b"hello", "members follow each other");
        assert_eq!(unpacked(&gzip(&vec![7; MAX_BODY_BYTES])).await.unwrap().len(), MAX_BODY_BYTES);
    }

    #[tokio::test]
    async fn a_bomb_goes_off_at_the_limit_and_what_is_cut_off_is_no_answer() {
        assert_eq!(unpacked(&gzip(&vec![0; MAX_BODY_BYTES + 1])).await, Err(BodyError::TooLarge));
        let whole = gzip(b"a whole answer that somebody cuts off");
        for cut in [whole.len() / 2, whole.len() - 1] {
            assert!(matches!(unpacked(&whole[..cut]).await, Err(BodyError::Failed(_))), "{cut}");
        }
        assert!(matches!(unpacked(b"<html>no gzip").await, Err(BodyError::Failed(_))));
    }

    #[tokio::test]
    async fn large_bodies_wait_for_their_turn() {
        let room = Room::default();
        let _others = room.large.clone().acquire_many_owned(u32::try_from(MAX_LARGE).unwrap()).await.unwrap();
        let mut taking = Taking { sink: Sink::Plain(Kept::default()), room: &room, large: None };
        taking.push(&vec![0; SMALL_BYTES]).await.unwrap();
        let mut more = Box::pin(taking.push(&[0]));
        assert!(futures_util::poll!(&mut more).is_pending());
        drop(_others);
        more.await.unwrap();
        assert_eq!(room.large.available_permits(), MAX_LARGE - 1);
    }
}
