//! Legacy sessions (up to 2025-11-25): the table of them, and the one stream that each may have open.
//!
//! Invariants:
//! - A session's requests never wait for its stream: the stream takes from the listener only when its transport asks for more.
//! - At most one stream takes from a listener. A newer one replaces the older at once, also one whose transport is stalled: what waits
//!   for the next notice belongs to the session, not to the stream.
//! - A session is for the caller whose listener it was opened with; to any other it is as if there were none.
//! - A session ends by itself only while it has no stream. When it ends, its subscriptions end at once, whatever still holds the session.

use std::{
    collections::HashMap,
    fmt,
    pin::Pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use futures_util::{Stream, future::BoxFuture};
use parking_lot::Mutex;
use tokio::{sync::watch, time::Instant};

use super::{
    Event, Stopping,
    cancelling::Waiting,
    encode::notice,
    observe::{Connection, Observer, Tap},
};
use crate::{
    catalog::Caller,
    subscriptions::{Listener, Notice},
};

/// How long a session without a stream lives after its last request. Long enough for a person to come back to a chat.
pub const IDLE: Duration = Duration::from_secs(30 * 60);
/// How often sessions are looked through for those that ended.
pub const REAPED_EVERY: Duration = Duration::from_secs(60);
/// Digits of a session id: 128 random bits in hexadecimal.
const ID_DIGITS: usize = 32;

/// The sessions of one host.
pub struct Sessions {
    table: Mutex<HashMap<u128, Arc<Session>>>,
    cap: usize,
    began: Instant,
    observer: OnceLock<Arc<dyn Observer>>,
}

/// Why there is no new session.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// As many as may be, and all of them have a stream.
    #[error("there are {0} sessions with a stream, and no more may be")]
    Full(usize),
    /// The operating system gave no random numbers.
    #[error("no random numbers: {0}")]
    Random(getrandom::Error),
}

impl Sessions {
    /// An empty table for at most so many.
    pub fn new(cap: usize) -> Self {
        Self { table: Mutex::default(), cap, began: Instant::now(), observer: OnceLock::new() }
    }

    /// Tells this one from now on which sessions have ended. There is only one: a second is not told.
    pub fn observed(&self, observer: Arc<dyn Observer>) {
        let _ = self.observer.set(observer);
    }

    fn end(&self, session: &Session) {
        session.end();
        if let Some(observer) = self.observer.get() {
            observer.ended(&Connection::Session(session.id().into()));
        }
    }

    /// A new session. At the cap, the one without a stream that idled longest makes room.
    pub fn open(&self, version: &'static str, listener: Listener) -> Result<Arc<Session>, OpenError> {
        let mut random = [0; 20];
        getrandom::fill(&mut random).map_err(OpenError::Random)?;
        let (id, tag) = random.split_at(16);
        let id = id.iter().fold(0, |id, byte| id << 8 | u128::from(*byte));
        let tag = tag.iter().fold(0, |tag, byte| tag << 8 | u32::from(*byte));
        let session = Arc::new(Session {
            id,
            caller: listener.caller().clone(),
            tag,
            version,
            began: self.began,
            used: AtomicU64::new(0),
            streaming: AtomicBool::new(false),
            state: Mutex::new(State { listener: Some(Arc::new(listener)), ..State::default() }),
            waiting: Waiting::default(),
            over: watch::Sender::new(false),
        });
        session.touch();
        let mut table = self.table.lock();
        let evicted = if table.len() < self.cap {
            None
        } else {
            let idle = table.values().filter(|session| !session.streaming.load(Relaxed));
            let longest = idle.min_by_key(|session| session.used.load(Relaxed)).map(|session| session.id);
            Some(longest.and_then(|id| table.remove(&id)).ok_or(OpenError::Full(self.cap))?)
        };
        table.insert(id, session.clone());
        drop(table);
        if let Some(evicted) = evicted {
            self.end(&evicted);
        }
        Ok(session)
    }

    /// The session of this id, if this caller opened it. It counts as used now.
    pub fn find(&self, id: &str, caller: &Caller) -> Option<Arc<Session>> {
        let session = self.table.lock().get(&parse_id(id)?).filter(|session| session.caller == *caller)?.clone();
        session.touch();
        Some(session)
    }

    /// Ends a session. False if there is none of this id.
    pub fn close(&self, id: &str) -> bool {
        let Some(session) = parse_id(id).and_then(|id| self.table.lock().remove(&id)) else { return false };
        self.end(&session);
        true
    }

    /// Ends all that have no stream and idled for [`IDLE`].
    pub fn reap(&self) {
        let now = self.began.elapsed();
        let over = |session: &Session| {
            !session.streaming.load(Relaxed) && now.saturating_sub(Duration::from_millis(session.used.load(Relaxed))) >= IDLE
        };
        let ended: Vec<_> = self.table.lock().extract_if(|_, session| over(session)).map(|(_, session)| session).collect();
        ended.iter().for_each(|session| self.end(session));
    }

    /// Ends all of callers that are valid no more.
    pub fn end_callers(&self, valid: &dyn Fn(&Caller) -> bool) {
        // What it asks is not ours, so it is not asked under the lock.
        let all: Vec<_> = self.table.lock().values().cloned().collect();
        for session in all.into_iter().filter(|session| !valid(&session.caller)) {
            if self.table.lock().remove(&session.id).is_some() {
                self.end(&session);
            }
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.table.lock().len()
    }
}

fn parse_id(id: &str) -> Option<u128> {
    let canonical = id.len() == ID_DIGITS && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    canonical.then(|| u128::from_str_radix(id, 16).ok()).flatten()
}

/// One client's session.
pub struct Session {
    id: u128,
    caller: Caller,
    /// Marks the event ids of this session's streams.
    tag: u32,
    version: &'static str,
    began: Instant,
    /// When it was last used, in milliseconds since `began`.
    used: AtomicU64,
    streaming: AtomicBool,
    state: Mutex<State>,
    waiting: Waiting,
    /// Whether it has ended.
    over: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    /// Gone once the session has ended.
    listener: Option<Arc<Listener>>,
    /// The newest stream; they count from 1.
    stream: u64,
    /// What the newest stream waits for.
    next: Option<BoxFuture<'static, (u64, Notice)>>,
    waker: Option<Waker>,
}

impl Session {
    /// What the client sends with each request: 32 hexadecimal digits.
    pub fn id(&self) -> String {
        format!("{:032x}", self.id)
    }

    /// Whose it is.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The version that was agreed on.
    pub fn version(&self) -> &'static str {
        self.version
    }

    /// Who listens. `None` once the session has ended.
    pub fn listener(&self) -> Option<Arc<Listener>> {
        self.state.lock().listener.clone()
    }

    /// Its requests that wait for their answers.
    pub fn waiting(&self) -> &Waiting {
        &self.waiting
    }

    /// Turns true when it ends.
    pub fn over(&self) -> watch::Receiver<bool> {
        self.over.subscribe()
    }

    /// Opens its stream, in place of the one it may have. `last_event_id` is what the client saw last, if it says so: what was told
    /// since is told again, each resource once. An id that is not of this session's streams says nothing. `None` once the session has ended.
    pub fn stream(self: &Arc<Self>, last_event_id: Option<&str>, stopping: Stopping) -> Option<SessionStream> {
        let mut state = self.state.lock();
        let listener = state.listener.clone()?;
        let seen = last_event_id.and_then(|id| self.parse_event_id(id, state.stream));
        state.stream += 1;
        let number = state.stream;
        let (older, waiting) = (state.waker.take(), state.next.take());
        self.streaming.store(true, Relaxed);
        drop(state);
        drop(waiting);
        if let Some(seen) = seen {
            listener.resume_after(seen);
        }
        if let Some(older) = older {
            older.wake();
        }
        Some(SessionStream { session: self.clone(), number, stopping, tap: None })
    }

    /// It counts as used now.
    pub fn touch(&self) {
        self.used.store(u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX), Relaxed);
    }

    fn end(&self) {
        let State { listener, next, waker, .. } = std::mem::take(&mut *self.state.lock());
        drop((next, listener));
        self.over.send_replace(true);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The number in an event id, if it is of one of this session's streams so far.
    fn parse_event_id(&self, id: &str, streams: u64) -> Option<u64> {
        let (stream, sequence) = id.split_once('-')?;
        let (tag, stream) = stream.split_once('.')?;
        let stream: u64 = stream.parse().ok()?;
        let ours = tag.len() == 8 && u32::from_str_radix(tag, 16).ok()? == self.tag && (1..=streams).contains(&stream);
        ours.then(|| sequence.parse().ok()).flatten()
    }
}

/// Where in which stream an event was: `<stream>-<number>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventId {
    tag: u32,
    stream: u64,
    number: u64,
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}.{}-{}", self.tag, self.stream, self.number)
    }
}

/// A session's stream of notifications. It ends when a newer one takes its place, the session ends, or the host stops. Dropping it
/// closes it; the session stays.
pub struct SessionStream {
    session: Arc<Session>,
    number: u64,
    stopping: Stopping,
    tap: Option<Tap>,
}

impl SessionStream {
    pub(super) fn tapped(mut self, tap: Tap) -> Self {
        self.tap = Some(tap);
        self
    }
}

impl Stream for SessionStream {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let this = &mut *self;
        let mut guard = this.session.state.lock();
        let state = &mut *guard;
        let Some(listener) = state.listener.as_ref().filter(|_| state.stream == this.number) else { return Poll::Ready(None) };
        if this.stopping.poll_stopped(context).is_ready() {
            return Poll::Ready(None);
        }
        let next = state.next.get_or_insert_with(|| {
            let listener = listener.clone();
            Box::pin(async move { listener.next().await })
        });
        match next.as_mut().poll(context) {
            Poll::Ready((number, told)) => {
                state.next = None;
                let id = EventId { tag: this.session.tag, stream: this.number, number };
                drop(guard);
                let event = Event { id: Some(id), message: notice(&told, None) };
                if let Some(tap) = &this.tap {
                    tap.sent(&event.message);
                }
                Poll::Ready(Some(event))
            }
            Poll::Pending => {
                match &mut state.waker {
                    Some(waker) => waker.clone_from(context.waker()),
                    none => *none = Some(context.waker().clone()),
                }
                Poll::Pending
            }
        }
    }
}

impl Drop for SessionStream {
    fn drop(&mut self) {
        let mut state = self.session.state.lock();
        if state.stream == self.number {
            let waiting = (state.next.take(), state.waker.take());
            self.session.streaming.store(false, Relaxed);
            drop(state);
            drop(waiting);
        }
        self.session.touch();
    }
}

#[cfg(test)]
mod tests;
