//! A client's call that the host answers with a stream: progress, and then the answer.
//!
//! Invariants: there is one answer, and it is the last message; a stream that is cut off before it is answered with -32603 and the kind
//! `unavailable`. Dropping it closes the stream, which ends the call at the host.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::{
    Stream, StreamExt,
    stream::{self, BoxStream},
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    listen::RemoteListen,
    request, unavailable,
    upstream::{Away, Events, message},
};
use crate::mcp::{message::Id, pipe::Listen};

/// What the host answers with a stream.
pub enum RemoteStream {
    /// A listen.
    Listen(RemoteListen),
    /// A call.
    Call(RemoteCall),
}

impl Stream for RemoteStream {
    type Item = Vec<u8>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        match &mut *self {
            Self::Listen(listen) => listen.poll_next_unpin(context),
            Self::Call(call) => call.messages.poll_next_unpin(context),
        }
    }
}

impl Listen for RemoteStream {
    fn end(&mut self) {
        match self {
            Self::Listen(listen) => listen.end(),
            Self::Call(call) => call.messages = stream::iter([call.given_up("the call was given up")]).boxed(),
        }
    }
}

/// The messages of one call.
pub struct RemoteCall {
    /// The client's message.
    line: Bytes,
    messages: BoxStream<'static, Vec<u8>>,
}

impl RemoteCall {
    pub(super) fn new(line: &[u8], events: Events) -> Self {
        // A copy, so that it does not keep what it was read with.
        let line = Bytes::copy_from_slice(line);
        let messages = stream::unfold(Some(events), {
            let line = line.clone();
            move |events| next(line.clone(), events)
        });
        Self { messages: messages.boxed(), line }
    }

    fn given_up(&self, why: &str) -> Vec<u8> {
        unavailable(id(&self.line), &Away(why.into()))
    }
}

fn id(line: &[u8]) -> Id<'_> {
    request(line).map_or(Id::NULL, |request| request.id)
}

/// The next message, and where those after it come from; nowhere after the answer.
async fn next(line: Bytes, events: Option<Events>) -> Option<(Vec<u8>, Option<Events>)> {
    /// As much of a message as tells whether it is the answer.
    #[derive(Deserialize)]
    struct Told<'a> {
        #[serde(borrow)]
        id: Option<&'a RawValue>,
    }
    let mut events = events?;
    while let Some(event) = events.next().await {
        let Some(message) = message(&event.data) else { continue };
        let Ok(Told { id: own }) = serde_json::from_slice::<Told<'_>>(&message) else { continue };
        let is_answer = own.is_some_and(|own| own.get() == id(&line).as_json());
        return Some((message, (!is_answer).then_some(events)));
    }
    Some((unavailable(id(&line), &Away("the host has ended the stream before its answer".into())), None))
}
