//! One client at the other end of a pipe: the rules of stdio that are not about bytes (MCP 2024-11-05 … 2026-07-28, "Transports", stdio).
//!
//! A [`Pipe`] takes the client's messages one by one and gives what is to be sent. What answers them is a [`Backend`]: [`Local`], this
//! process's own server, or a host elsewhere.
//!
//! Invariants:
//! - Both eras share the pipe, message by message; a legacy session is there only after `initialize`, and a second one replaces the first.
//! - Request ids are one space: one that is still open is not begun again, whatever the era.
//! - Whatever comes is answered or passed over; nothing a client says ends the pipe.
//! - Work goes on only while somebody asks for the next message, so a client that does not read holds up nobody but itself. Requests begin
//!   in the order they came in. Cancelling one gives up waiting, and never ends what runs in a provider.

mod local;

use std::{
    collections::{HashMap, HashSet, VecDeque, hash_map::Entry},
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::{
    FutureExt, Stream, StreamExt,
    future::{AbortHandle, Abortable, BoxFuture},
    stream::{FuturesUnordered, SelectAll},
};
use serde_json::value::RawValue;
use tracing::{Instrument, Span};

pub use self::local::Local;
use super::{
    cancelling::{cancelled, comparable},
    encode::{self, Answer, Encoded},
    era::{self, Era, Said},
    error::RpcError,
    message::{self, Id, Incoming, Message, Rejected, Request},
    observe::Tap,
    spans,
};

/// Listens, and calls of tools, that one client may have open. What the official SDKs' servers allow; each holds a listener with its set.
pub const LISTENS: usize = 1024;

/// What became of a request.
pub enum Outcome<L> {
    /// Its answer.
    Message(Encoded),
    /// Its answer is a stream, the answer proper being the last message of it: a listen, or a call that waits.
    Listening(L),
    /// It wants none.
    Nothing,
}

/// The work on one message. Dropping it gives up waiting.
pub type Work<L> = BoxFuture<'static, Outcome<L>>;

/// The messages of one listen.
pub trait Listen: Stream<Item = Vec<u8>> + Send + Unpin {
    /// It is to end with its result, after the acknowledgement if that has not gone out.
    fn end(&mut self);
}

/// What answers the messages of one client. Each `line` is a message that has been read once and found right.
pub trait Backend: Send {
    /// Its listens.
    type Listen: Listen + 'static;

    /// Whether there is a legacy session.
    fn has_session(&self) -> bool;
    /// A legacy `initialize`. What comes after it belongs to the new session, if there is one.
    fn initialize(&mut self, line: Bytes) -> Work<Self::Listen>;
    /// A request of the legacy session.
    fn legacy(&mut self, line: Bytes) -> Work<Self::Listen>;
    /// A batch of the legacy session.
    fn batch(&mut self, line: Bytes) -> Work<Self::Listen>;
    /// A request of the modern era.
    fn modern(&mut self, line: Bytes) -> Work<Self::Listen>;
    /// The next notification of the legacy session; pending while there is none, or no session.
    fn poll_notice(&mut self, context: &mut Context<'_>) -> Poll<Vec<u8>>;
    /// What observes this pipe.
    #[doc(hidden)]
    fn tap(&self) -> Option<Tapped> {
        None
    }
    /// The span of a request, if spans are collected here.
    #[doc(hidden)]
    fn span(&self, request: &Request<'_>, era: Era) -> Option<Span> {
        let _ = (request, era);
        None
    }
    /// The client is gone, and everything is answered: ends the session. The work is waited for, and its outcome is not looked at.
    fn end(&mut self) -> Work<Self::Listen>;
}

/// What observes a pipe: only this host's own backend has it.
#[doc(hidden)]
pub struct Tapped(Tap);

/// An open request.
struct InFlight {
    /// Its answer is a stream, or may become one.
    streams: bool,
    /// None for what is not to be cancelled: `initialize`, batches, and listens that have begun, which end otherwise.
    abort: Option<AbortHandle>,
}

/// A listen that has begun.
struct Open<L> {
    id: Box<str>,
    listen: L,
    over: bool,
}

enum Told {
    Message(Vec<u8>),
    Over(Box<str>),
}

impl<L: Listen> Stream for Open<L> {
    type Item = Told;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Told>> {
        if self.over {
            return Poll::Ready(None);
        }
        self.listen.poll_next_unpin(context).map(|message| {
            Some(message.map_or_else(
                || {
                    self.over = true;
                    Told::Over(std::mem::take(&mut self.id))
                },
                Told::Message,
            ))
        })
    }
}

/// The ids that become free with it, and what is to be sent; nothing if it was cancelled.
type Done<L> = (Vec<Box<str>>, Option<Outcome<L>>);

/// The conversation with one client. As a stream it gives the messages to be sent, each one line of JSON without its end; it ends some time
/// after [`Pipe::end`]. It is to be polled again after each call of its methods.
pub struct Pipe<B: Backend> {
    backend: B,
    in_flight: HashMap<Box<str>, InFlight>,
    ready: VecDeque<Encoded>,
    requests: FuturesUnordered<BoxFuture<'static, Done<B::Listen>>>,
    listens: SelectAll<Open<B::Listen>>,
    /// Whether notifications may be sent: the client has said that it is initialized, or went on without saying so.
    initialized: bool,
    ended: bool,
    /// What the end of the session waits for.
    goodbye: Option<Work<B::Listen>>,
    /// Whose turn it is: neither answers nor notifications may starve the other.
    notices_first: bool,
    tap: Option<Tapped>,
}

impl<B: Backend> Pipe<B> {
    /// A conversation that has not begun.
    pub fn new(backend: B) -> Self {
        Self {
            tap: backend.tap(),
            backend,
            in_flight: HashMap::new(),
            ready: VecDeque::new(),
            requests: FuturesUnordered::new(),
            listens: SelectAll::new(),
            initialized: false,
            ended: false,
            goodbye: None,
            notices_first: false,
        }
    }

    /// How many requests wait for their answer. Listens that have begun do not count: they have [`LISTENS`].
    pub fn unanswered(&self) -> usize {
        self.requests.len() + self.ready.len()
    }

    /// Takes one message of the client's.
    pub fn receive(&mut self, line: Bytes) {
        if let Some(Tapped(tap)) = &self.tap {
            tap.received(&line);
        }
        match message::parse(&line) {
            Ok(Incoming::One(Message::Request(request))) => self.request(&request, &line),
            Ok(Incoming::One(Message::Notification(method))) => self.notification(&method, &line),
            // This host asks nothing.
            Ok(Incoming::One(Message::Response)) => {}
            Ok(Incoming::Batch(entries)) => self.batch(&entries, &line),
            Err(Rejected { id, error }) => self.refuse(id, &error),
        }
    }

    /// The client sent something that cannot be read as a message at all.
    pub fn reject(&mut self, reason: &str) {
        self.refuse(Id::NULL, &RpcError::invalid_request(reason));
    }

    /// Nothing more comes from the client: its listens end with their results, what it asked is answered, and then its session ends.
    pub fn end(&mut self) {
        self.ended = true;
        self.each_listen(|open| {
            open.listen.end();
            true
        });
    }

    fn refuse(&mut self, id: Id<'_>, error: &RpcError) {
        spans::failed(error.code);
        self.ready.push_back(encode::error(id, error).into());
    }

    fn request(&mut self, request: &Request<'_>, line: &Bytes) {
        let id = match self.free_id(request.id) {
            Ok(id) => id,
            Err(error) => return self.refuse(request.id, &error),
        };
        let era = era::of(request, Said::Nothing);
        let streams = request.method == "tools/call" || (era == Era::Modern && request.method == "subscriptions/listen");
        if streams && self.in_flight.values().filter(|open| open.streams).count() >= LISTENS {
            let error = RpcError::limit(format!("too many listens and calls: at most {LISTENS} for one client"), LISTENS);
            return self.refuse(request.id, &error);
        }
        let span = self.backend.span(request, era).unwrap_or_else(Span::none);
        let entered = span.enter();
        let (work, can_be_cancelled) = match era {
            Era::Modern => (self.backend.modern(line.clone()), true),
            Era::Legacy if request.method == "initialize" => {
                self.initialized = false;
                (self.backend.initialize(line.clone()), false)
            }
            Era::Legacy if self.backend.has_session() => {
                self.initialized |= request.method != "ping";
                (self.backend.legacy(line.clone()), true)
            }
            Era::Legacy if request.method == "ping" => return self.ready.push_back(Answer::begin(request.id, 0).finish().into()),
            Era::Legacy => {
                let error = RpcError::invalid_request("initialize first, or say the protocol version in `_meta`");
                return self.refuse(request.id, &error);
            }
        };
        drop(entered);
        let (abort, registration) = AbortHandle::new_pair();
        let abort = can_be_cancelled.then_some(abort);
        self.in_flight.insert(id.clone(), InFlight { streams, abort });
        self.requests.push(Abortable::new(work.instrument(span), registration).map(|outcome| (vec![id], outcome.ok())).boxed());
    }

    /// The id as it is compared, if no open request has it.
    fn free_id(&self, id: Id<'_>) -> Result<Box<str>, RpcError> {
        let id = comparable(id.as_json());
        if self.in_flight.contains_key(&id) {
            return Err(RpcError::invalid_request(format!("`id` {id} is that of a request that is still open")));
        }
        Ok(id)
    }

    fn batch(&mut self, entries: &[&RawValue], line: &Bytes) {
        if !self.backend.has_session() {
            return self.reject("only a session of 2025-03-26 has batches: send one message");
        }
        self.initialized = true;
        let mut ids = Vec::new();
        let mut seen = HashSet::new();
        for entry in entries {
            match message::parse_one(entry.get()) {
                Ok(Message::Request(request)) => match self.free_id(request.id) {
                    Ok(id) if seen.insert(id.clone()) => ids.push(id),
                    Ok(id) => return self.reject(&format!("`id` {id} is twice in the batch")),
                    Err(error) => return self.refuse(Id::NULL, &error),
                },
                Ok(Message::Notification(method)) => self.notification(&method, entry.get().as_bytes()),
                Ok(Message::Response) | Err(_) => {}
            }
        }
        self.in_flight.extend(ids.iter().map(|id| (id.clone(), InFlight { streams: false, abort: None })));
        self.requests.push(self.backend.batch(line.clone()).map(|outcome| (ids, Some(outcome))).boxed());
    }

    fn notification(&mut self, method: &str, message: &[u8]) {
        match method {
            "notifications/initialized" => self.initialized = true,
            "notifications/cancelled" => {
                if let Some(id) = cancelled(message) {
                    self.cancel(id);
                }
            }
            _ => {}
        }
    }

    fn cancel(&mut self, id: Box<str>) {
        let Entry::Occupied(open) = self.in_flight.entry(id) else { return };
        match &open.get().abort {
            Some(abort) => {
                abort.abort();
                open.remove();
            }
            None if open.get().streams => {
                let (id, _) = open.remove_entry();
                self.each_listen(|open| open.id != id);
            }
            None => {}
        }
    }

    /// Keeps the listens that this is true of. They are put in anew, since only so what was done to them is noticed.
    fn each_listen(&mut self, mut keep: impl FnMut(&mut Open<B::Listen>) -> bool) {
        for mut open in std::mem::take(&mut self.listens) {
            if keep(&mut open) {
                self.listens.push(open);
            }
        }
    }

    fn poll_answer(&mut self, context: &mut Context<'_>) -> Poll<Encoded> {
        if let Some(message) = self.ready.pop_front() {
            return Poll::Ready(message);
        }
        while let Poll::Ready(Some((mut ids, outcome))) = self.requests.poll_next_unpin(context) {
            match outcome {
                // Cancelled: its id is free already, and may be another's by now.
                None => {}
                Some(Outcome::Listening(mut listen)) => {
                    if self.ended {
                        listen.end();
                    }
                    let Some(id) = ids.pop() else { continue };
                    if let Some(open) = self.in_flight.get_mut(&id) {
                        open.abort = None;
                    }
                    self.listens.push(Open { id, listen, over: false });
                }
                Some(outcome) => {
                    for id in &ids {
                        self.in_flight.remove(id);
                    }
                    if let Outcome::Message(message) = outcome {
                        return Poll::Ready(message);
                    }
                }
            }
        }
        Poll::Pending
    }

    fn poll_notice(&mut self, context: &mut Context<'_>) -> Poll<Encoded> {
        if self.initialized
            && !self.ended
            && let Poll::Ready(notice) = self.backend.poll_notice(context)
        {
            return Poll::Ready(notice.into());
        }
        while let Poll::Ready(Some(told)) = self.listens.poll_next_unpin(context) {
            match told {
                Told::Message(message) => return Poll::Ready(message.into()),
                Told::Over(id) => drop(self.in_flight.remove(&id)),
            }
        }
        Poll::Pending
    }
}

impl<B: Backend + Unpin> Stream for Pipe<B> {
    type Item = Encoded;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Encoded>> {
        let polled = self.poll_message(context);
        if let (Poll::Ready(Some(message)), Some(Tapped(tap))) = (&polled, &self.tap) {
            tap.sent(&message.whole());
        }
        polled
    }
}

impl<B: Backend> Pipe<B> {
    fn poll_message(&mut self, context: &mut Context<'_>) -> Poll<Option<Encoded>> {
        let this = self;
        this.notices_first = !this.notices_first;
        if this.notices_first
            && let Poll::Ready(message) = this.poll_notice(context)
        {
            return Poll::Ready(Some(message));
        }
        if let Poll::Ready(message) = this.poll_answer(context) {
            return Poll::Ready(Some(message));
        }
        // After the answers in any case, since one of them may have begun a listen, which nothing would wake otherwise.
        if let Poll::Ready(message) = this.poll_notice(context) {
            return Poll::Ready(Some(message));
        }
        if !this.ended || this.unanswered() > 0 || !this.listens.is_empty() {
            return Poll::Pending;
        }
        let goodbye = this.goodbye.get_or_insert_with(|| this.backend.end());
        goodbye.as_mut().poll(context).map(|_| None)
    }
}
