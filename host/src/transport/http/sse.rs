//! Server-sent events (HTML Living Standard §9.2) as the body of an answer.
//!
//! Invariant: an event is taken from its source only when the connection asks for more, so a reader that stalls holds one event and a
//! socket's buffer, and everything else waits as a set in its listener.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::body::HttpBody;
use bytes::Bytes;
use futures_util::Stream;
use hyper::body::Frame;
use tokio::time::{Instant, Sleep};

use crate::mcp::Event;

/// A stream that is silent for so long says so. Proxies and clients give up on silent ones, the first of them after some 30 s.
const BEAT: Duration = Duration::from_secs(15);
/// A comment, which clients skip.
const COMMENT: &[u8] = b":\n\n";

/// The body.
pub struct Sse<S> {
    events: S,
    beat: Pin<Box<Sleep>>,
    /// Whether anything was sent.
    begun: bool,
}

impl<S> Sse<S> {
    /// A body of these events. It ends when they do.
    pub fn new(events: S) -> Self {
        Self { events, beat: Box::pin(tokio::time::sleep(BEAT)), begun: false }
    }
}

impl<S: Stream<Item = Event> + Unpin> HttpBody for Sse<S> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = &mut *self;
        let data = match Pin::new(&mut this.events).poll_next(context) {
            Poll::Ready(Some(event)) => frame(&event).into(),
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Pending => {
                // A stream that has nothing to say yet says so at once: there are proxies and clients for which an answer has not begun
                // before the first byte of its body.
                if this.begun && this.beat.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                Bytes::from_static(COMMENT)
            }
        };
        this.begun = true;
        this.beat.as_mut().reset(Instant::now() + BEAT);
        Poll::Ready(Some(Ok(Frame::data(data))))
    }
}

/// The event as text. A message is one line of JSON, so it is one `data` line.
fn frame(event: &Event) -> Vec<u8> {
    let mut out = Vec::with_capacity(event.message.len() + 64);
    if let Some(id) = event.id {
        out.extend_from_slice(format!("id: {id}\n").as_bytes());
    }
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(&event.message);
    out.extend_from_slice(b"\n\n");
    out
}

#[cfg(test)]
mod tests {
    use futures_util::{StreamExt, stream};
    use http_body_util::BodyExt;

    use super::*;

    fn event(message: &str) -> Event {
        Event { id: None, message: message.into() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_stream_begins_at_once_and_beats_and_one_that_speaks_does_not() {
        let begun = Instant::now();
        let spoken = Box::pin(stream::once(async {
            tokio::time::sleep(BEAT - Duration::from_secs(1)).await;
            event("{}")
        }));
        let mut body = Sse::new(spoken.chain(stream::pending()));
        let mut next = async || {
            let data = body.frame().await.unwrap().unwrap().into_data().unwrap();
            (data, begun.elapsed().as_secs())
        };
        assert_eq!(next().await, (Bytes::from_static(COMMENT), 0));
        assert_eq!(next().await, (Bytes::from_static(b"data: {}\n\n"), 14));
        assert_eq!(next().await, (Bytes::from_static(COMMENT), 29));
        assert_eq!(next().await, (Bytes::from_static(COMMENT), 44));
    }

    #[tokio::test]
    async fn the_body_ends_with_its_events() {
        let body = Sse::new(stream::iter([event("{\"a\":1}"), event("{}")]));
        assert_eq!(body.collect().await.unwrap().to_bytes(), "data: {\"a\":1}\n\ndata: {}\n\n");
    }
}
