//! The protocol without a transport: messages, the two eras, dispatch, legacy sessions, listens, and the map of errors.
//!
//! MCP is spoken in two eras at once (specification 2026-07-28, Versioning, "Dual-era"): `legacy` has sessions, `modern` has none. Both
//! answer from the same `resources`. A transport hands in the bytes of a message and what it says beside it ([`Envelope`]), and gets a
//! [`Reply`]; it knows no method, and nothing here knows a socket or an HTTP status.
//!
//! Invariants: an answer is one line of JSON; dropping the future of a request gives up waiting, and never ends what runs in a provider;
//! nothing here is held across a wait; what is answered is for
//! the caller that the transport names, and a session is for the caller that opened it.

mod callers;
mod calls;
mod cancelling;
pub mod encode;
pub mod era;
pub mod error;
mod legacy;
mod listens;
pub mod message;
mod modern;
pub mod observe;
mod pages;
pub mod pipe;
mod resources;
mod sessions;
mod spans;
mod texts;

use std::{
    net::IpAddr,
    pin::Pin,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll},
};

use tokio::{
    sync::{Semaphore, watch},
    task::AbortHandle,
};
use tracing::Instrument;

use self::{
    callers::Callers,
    encode::{Answer, Encoded},
    era::Era,
    error::{RpcError, Status},
    message::{Id, Incoming, Message, Rejected},
    observe::{Connection, Observer, Tap},
    pages::Pages,
    sessions::Sessions,
    texts::{Cache, Texts},
};
pub use self::{
    calls::CallStream,
    era::Said,
    listens::ListenStream,
    sessions::{EventId, SessionStream},
};
use crate::{
    catalog::{Caller, Catalog},
    subscriptions::Subscriptions,
    tools::{Tools, definitions},
};

/// Who this server says it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    /// MCP's `serverInfo.name`.
    pub name: String,
    /// Name for people.
    pub title: Option<String>,
    /// MCP's `serverInfo.version`.
    pub version: String,
    /// What the model should know about this server.
    pub instructions: Option<String>,
}

/// How much there may be at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// Legacy sessions. At the cap the one without a stream that idled longest goes; if all have one, there is no new one.
    pub sessions: usize,
    /// Requests `subscriptions/listen`.
    pub listens: usize,
}

impl Default for Caps {
    /// 16,384 of each: more than a host has connections for half of, at some kilobytes each.
    fn default() -> Self {
        Self { sessions: 16_384, listens: 16_384 }
    }
}

/// What a transport says beside a message. Over HTTP these are headers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Envelope<'a> {
    /// `MCP-Protocol-Version`.
    pub version: Said<'a>,
    /// `Mcp-Session-Id`.
    pub session: Said<'a>,
    /// `Mcp-Method`.
    pub method: Said<'a>,
    /// `Mcp-Name`.
    pub name: Said<'a>,
    /// Where the client is, for an observer.
    pub peer: Option<IpAddr>,
    /// Who it is, as the transport has established. A session is found by the caller that opened it alone.
    pub caller: &'a Caller,
    /// `traceparent`, if spans are collected. What the message says itself goes before it.
    pub traceparent: Said<'a>,
    /// `tracestate`, likewise.
    pub tracestate: Said<'a>,
}

/// What goes back for one message, or one batch.
pub enum Reply {
    /// A message.
    Message(Status, Encoded),
    /// The answer to `initialize`, and the id of the session it began.
    Session(String, Vec<u8>),
    /// It was taken, and there is nothing to say.
    Accepted,
    /// A stream of messages, the answer being its last one.
    Listening(ListenStream),
    /// Likewise, of a call that waits: the answer alone would do, see [`CallStream::answer`].
    Calling(CallStream),
}

/// One message of a stream.
#[derive(Debug)]
pub struct Event {
    /// For a client that comes back to a legacy session's stream.
    pub id: Option<EventId>,
    /// The message, one line of JSON.
    pub message: Vec<u8>,
}

/// Resolves when the host stops.
pub struct Stopping(Option<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl Stopping {
    fn new(mut stop: watch::Receiver<bool>) -> Self {
        // A sender that is gone stops as well.
        Self(Some(Box::pin(async move { drop(stop.wait_for(|stop| *stop).await) })))
    }

    /// Resolves when either is true.
    fn either(mut stop: watch::Receiver<bool>, mut over: watch::Receiver<bool>) -> Self {
        Self(Some(Box::pin(async move {
            tokio::select! {
                stop = stop.wait_for(|stop| *stop) => drop(stop),
                over = over.wait_for(|over| *over) => drop(over),
            }
        })))
    }

    /// Ready when the host stops, and ever after.
    fn poll_stopped(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(stopped) = &mut self.0 else { return Poll::Ready(()) };
        let poll = stopped.as_mut().poll(context);
        if poll.is_ready() {
            self.0 = None;
        }
        poll
    }
}

/// The server. One serves any number of transports.
pub struct Server {
    catalog: Arc<Catalog>,
    subscriptions: Subscriptions,
    pages: Pages,
    /// With their definitions as JSON.
    tools: Option<(Tools, String)>,
    sessions: Arc<Sessions>,
    listens: Arc<Semaphore>,
    caps: Caps,
    callers: Callers,
    /// Whether what is answered depends on who asks.
    by_caller: bool,
    stop: watch::Sender<bool>,
    reaper: AbortHandle,
    texts: Texts,
    observer: Option<Arc<dyn Observer>>,
    /// How many pipes there were.
    pipes: AtomicU64,
}

impl Server {
    /// A server of this catalog with the usual caps. To be called inside a tokio runtime, which gets a task that ends idle sessions.
    pub fn new(catalog: Arc<Catalog>, subscriptions: Subscriptions, info: Info) -> Self {
        Self::with_caps(catalog, subscriptions, info, Caps::default())
    }

    /// Likewise, with these caps.
    pub fn with_caps(catalog: Arc<Catalog>, subscriptions: Subscriptions, info: Info, caps: Caps) -> Self {
        let sessions = Arc::new(Sessions::new(caps.sessions));
        let reaper = tokio::spawn(reap(Arc::downgrade(&sessions))).abort_handle();
        Self {
            catalog,
            subscriptions,
            pages: Pages::default(),
            tools: None,
            sessions,
            listens: Arc::new(Semaphore::new(caps.listens)),
            caps,
            callers: Callers::default(),
            by_caller: false,
            stop: watch::Sender::new(false),
            reaper,
            texts: Texts::new(info),
            observer: None,
            pipes: AtomicU64::new(0),
        }
    }

    /// The same server for a transport where callers prove who they are: what one of them is answered is no other's business, so no answer
    /// that depends on the caller says that caches may share it.
    #[must_use]
    pub fn for_callers(mut self) -> Self {
        self.by_caller = true;
        self
    }

    /// The same server, with its messages seen by this.
    #[must_use]
    pub fn observed(mut self, observer: Arc<dyn Observer>) -> Self {
        self.sessions.observed(observer.clone());
        self.observer = Some(observer);
        self
    }

    /// What observes one more pipe, if anything does.
    fn tap_pipe(&self) -> Option<Tap> {
        let observer = self.observer.clone()?;
        Some(Tap::pipe(observer, self.pipes.fetch_add(1, Relaxed) + 1))
    }

    /// The same with tools; without this there are none.
    #[must_use]
    pub fn with_tools(mut self, tools: Tools) -> Self {
        self.tools = Some((tools, definitions().to_string()));
        self
    }

    /// Answers what came in one HTTP request. `body` is one message, or a batch.
    pub async fn post(&self, body: &[u8], envelope: &Envelope<'_>) -> Reply {
        match self.observer.as_ref().filter(|observer| observer.is_watching()) {
            None => self.answer(body, envelope).await,
            Some(observer) => Box::pin(observe::post(self, observer, body, envelope)).await,
        }
    }

    async fn answer(&self, body: &[u8], envelope: &Envelope<'_>) -> Reply {
        match spans::of_post(body, envelope) {
            None => self.reply(body, envelope).await,
            Some(span) => Box::pin(self.reply(body, envelope).instrument(span)).await,
        }
    }

    async fn reply(&self, body: &[u8], envelope: &Envelope<'_>) -> Reply {
        match message::parse(body) {
            Ok(Incoming::One(Message::Request(request))) => match era::of(&request, envelope.version) {
                Era::Modern => modern::answer(self, &request, envelope.caller, Some(envelope)).await,
                Era::Legacy if request.method == "initialize" => legacy::initialize(self, &request, envelope.caller),
                Era::Legacy => match legacy::session(self, envelope) {
                    Ok(session) => legacy::reply(self, &session, &request).await,
                    Err(error) => Reply::error(request.id, &error),
                },
            },
            Ok(Incoming::One(message)) => self.take(&message, body, envelope),
            Ok(Incoming::Batch(entries)) => match legacy::session(self, envelope) {
                Ok(session) => legacy::batch(self, &session, &entries).await,
                Err(error) => Reply::error(Id::NULL, &error),
            },
            Err(Rejected { id, error }) => Reply::error(id, &error),
        }
    }

    /// Takes a message that wants no answer. A modern client's `notifications/cancelled` changes nothing over HTTP: it names an id that
    /// another client may use as well, and what it asked ends when it hangs up.
    fn take(&self, message: &Message<'_>, body: &[u8], envelope: &Envelope<'_>) -> Reply {
        let verdict = match message {
            Message::Notification(_) if envelope.version.is_modern_version() => Ok(()),
            _ if envelope.version.is_modern_version() => Err(RpcError::invalid_request("nothing was asked that this could answer")),
            Message::Notification(method) => legacy::session(self, envelope).map(|session| legacy::notified(&session, method, body)),
            _ => legacy::session(self, envelope).map(drop),
        };
        verdict.map_or_else(|error| Reply::error(Id::NULL, &error), |()| Reply::Accepted)
    }

    /// Opens the stream of a legacy session, in place of the one it may have; see [`SessionStream`]. `last_event_id` is the last the client
    /// has seen of an earlier one, as it says. The error is the message to be sent instead.
    pub fn stream(&self, envelope: &Envelope<'_>, last_event_id: Option<&str>) -> Result<SessionStream, (Status, Vec<u8>)> {
        legacy::session(self, envelope)
            .and_then(|session| {
                let stream = session.stream(last_event_id, self.stopping()).ok_or_else(RpcError::session_not_found)?;
                let Some(observer) = self.observer.clone() else { return Ok(stream) };
                Ok(stream.tapped(Tap::stream(observer, Connection::Session(session.id().into()), None)))
            })
            .map_err(|error| (error.status, encode::error(Id::NULL, &error)))
    }

    /// Ends a legacy session, its subscriptions and its stream.
    pub fn end_session(&self, envelope: &Envelope<'_>) -> Result<(), (Status, Vec<u8>)> {
        let ended = legacy::session(self, envelope).map(|session| self.sessions.close(&session.id()));
        match ended {
            Ok(true) => Ok(()),
            Ok(false) => Err(RpcError::session_not_found()),
            Err(error) => Err(error),
        }
        .map_err(|error| (error.status, encode::error(Id::NULL, &error)))
    }

    /// How many legacy sessions there are.
    pub fn session_count(&self) -> usize {
        self.sessions.count()
    }

    /// How many listens.
    pub fn listen_count(&self) -> usize {
        self.caps.listens - self.listens.available_permits()
    }

    /// Ends all streams, those that are still to come as well: listens and calls that wait with their result, those of sessions without a
    /// word.
    pub fn end_streams(&self) {
        self.stop.send_replace(true);
    }

    /// From now on these callers are valid, and no others: all that others have is ended at once. Their sessions are not found any more, their
    /// listens and calls that wait end with their result, and so does what they may still open. To be called at each change of who is valid;
    /// `valid` is asked again, at any time, until it is called once more. Clients at pipes, and all others of whom the transport wants no proof, are [`Caller::anyone`].
    pub fn end_callers(&self, valid: impl Fn(&Caller) -> bool + Send + Sync + 'static) {
        let valid: Arc<dyn Fn(&Caller) -> bool + Send + Sync> = Arc::new(valid);
        self.callers.end(&valid);
        self.sessions.end_callers(&*valid);
        if let Some((tools, _)) = &self.tools {
            tools.end_callers(&*valid);
        }
    }

    /// Becomes true when all streams are to end.
    pub(crate) fn stopped(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }

    fn stopping(&self) -> Stopping {
        Stopping::new(self.stopped())
    }

    /// Likewise, and earlier if this caller is not valid any more.
    fn stopping_for(&self, caller: &Caller) -> Stopping {
        Stopping::either(self.stopped(), self.callers.over(caller))
    }

    /// Begins a result in the form of the era.
    fn begin(&self, era: Era, id: Id<'_>, expected: usize) -> Answer {
        let mut answer = Answer::begin(id, expected);
        if era == Era::Modern {
            answer.fields("\"resultType\":\"complete\"");
        }
        answer
    }

    /// Ends it. What has no [`Cache`] is not for keeping.
    fn finish(&self, era: Era, mut answer: Answer, cache: Option<Cache>) -> Encoded {
        self.frame(era, &mut answer, cache);
        answer.finish().into()
    }

    /// Adds what all results of the era have.
    fn frame(&self, era: Era, answer: &mut Answer, cache: Option<Cache>) {
        if era == Era::Modern {
            if let Some(Cache { reuse, scope }) = cache {
                answer.fields(&format!("\"ttlMs\":{},\"cacheScope\":\"{scope}\"", reuse.as_millis()));
            }
            answer.object("_meta", &self.texts.server);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.reaper.abort();
    }
}

impl Reply {
    fn error(id: Id<'_>, error: &RpcError) -> Self {
        spans::failed(error.code);
        Self::Message(error.status, encode::error(id, error).into())
    }

    fn of(id: Id<'_>, answer: Result<Encoded, RpcError>) -> Self {
        answer.map_or_else(|error| Self::error(id, &error), |message| Self::Message(Status::Ok, message))
    }
}

async fn reap(sessions: Weak<Sessions>) {
    let mut tick = tokio::time::interval(sessions::REAPED_EVERY);
    loop {
        tick.tick().await;
        let Some(sessions) = sessions.upgrade() else { return };
        sessions.reap();
    }
}
