//! What waits for one provider's instance: reads, of which only so many may wait and only for so long, and control calls, which never
//! wait behind them; and webhooks, of which many may wait for long if their senders do not.
//!
//! Whoever waits for a read or a list and went away is skipped. A `subscribe` or `unsubscribe` is carried out all the same: it is a step
//! in a sequence, and the next one builds on it.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{
            AtomicBool,
            Ordering::{Relaxed, SeqCst},
        },
    },
};

use parking_lot::Mutex;
use tokio::{
    sync::{Notify, oneshot},
    time::{Duration, Instant},
};

use crate::{
    provider::{
        Begun, Completion, CompletionRequest, Depths, Error, ReadRequest, Reading, ResourcePage, TemplateInfo, TemplateMatch,
        WebhookRequest, WebhookResponse,
        tally::{Outcome, Tally},
    },
    trace::Trail,
};

/// Reads that may wait. At a guest's usual pace, some microseconds each, they wait for a moment; with one that is stuck, more would only
/// hold memory.
pub(super) const MAX_READS: usize = 256;
/// Webhooks that may wait: what a sender does not wait for comes in bursts, a push to a repository with many hooks for instance.
pub(super) const MAX_WEBHOOKS: usize = 1000;
/// Bytes of their bodies: 16 as large as they may be, and as many as may wait of those of usual size.
pub(super) const MAX_WEBHOOK_BYTES: usize = 64 << 20;
/// How long a read, or a webhook whose sender waits, may wait for its turn: as long as the default deadline of the call it may be waiting for.
pub(super) const MAX_WAIT: Duration = Duration::from_secs(5);

/// Where the answer to a call goes, and how the call is traced.
pub(super) struct Reply<T> {
    to: oneshot::Sender<Result<T, Error>>,
    trail: Trail,
}

impl<T> Reply<T> {
    /// Answers. Whoever asked may have gone.
    pub fn send(self, answer: Result<T, Error>) {
        let _ = self.to.send(answer);
    }

    fn is_closed(&self) -> bool {
        self.to.is_closed()
    }
}

impl<T> From<oneshot::Sender<Result<T, Error>>> for Reply<T> {
    fn from(to: oneshot::Sender<Result<T, Error>>) -> Self {
        Self { to, trail: Trail::default() }
    }
}

/// A call to the guest, and where its answer goes.
pub(super) enum Call {
    List(Option<String>, Reply<ResourcePage>),
    Templates(Reply<Vec<TemplateInfo>>),
    /// Told when it begins.
    Read(ReadRequest, Begun, Reply<Option<Reading>>),
    Complete(CompletionRequest, Reply<Completion>),
    Subscribe(Arc<str>, Option<Arc<TemplateMatch>>, Reply<()>),
    Unsubscribe(Arc<str>, Reply<()>),
    /// `queued`: nobody waits for the answer.
    Receive {
        request: WebhookRequest,
        queued: bool,
        reply: Reply<WebhookResponse>,
    },
}

impl Call {
    /// Its name, as in the log and in what is counted.
    pub fn name(&self) -> &'static str {
        match self {
            Self::List(..) => "resources.list",
            Self::Templates(_) => "resources.templates",
            Self::Read(..) => "read",
            Self::Complete(..) => "completions.complete",
            Self::Subscribe(..) => "subscribe",
            Self::Unsubscribe(..) => "unsubscribe",
            Self::Receive { .. } => "webhook-handler.receive",
        }
    }

    /// The URI it is about; none if it is about none.
    pub fn uri(&self) -> Option<&str> {
        match self {
            Self::Read(request, ..) => Some(&request.uri),
            Self::Subscribe(uri, ..) | Self::Unsubscribe(uri, _) => Some(uri),
            Self::List(..) | Self::Templates(_) | Self::Complete(..) | Self::Receive { .. } => None,
        }
    }

    /// How it is traced; to be set before it waits, and taken when it is made.
    pub fn trail(&mut self) -> &mut Trail {
        match self {
            Self::List(_, reply) => &mut reply.trail,
            Self::Templates(reply) => &mut reply.trail,
            Self::Read(_, _, reply) => &mut reply.trail,
            Self::Complete(_, reply) => &mut reply.trail,
            Self::Subscribe(_, _, reply) | Self::Unsubscribe(_, reply) => &mut reply.trail,
            Self::Receive { reply, .. } => &mut reply.trail,
        }
    }

    /// Answers it without asking the guest.
    pub fn refuse(self, error: Error) {
        match self {
            Self::List(_, reply) => reply.send(Err(error)),
            Self::Templates(reply) => reply.send(Err(error)),
            Self::Read(_, _, reply) => reply.send(Err(error)),
            Self::Complete(_, reply) => reply.send(Err(error)),
            Self::Subscribe(_, _, reply) | Self::Unsubscribe(_, reply) => reply.send(Err(error)),
            Self::Receive { reply, .. } => reply.send(Err(error)),
        }
    }

    /// Whether nobody waits for it any more, and it need not be made.
    fn is_void(&self) -> bool {
        match self {
            Self::List(_, reply) => reply.is_closed(),
            Self::Templates(reply) => reply.is_closed(),
            Self::Read(_, _, reply) => reply.is_closed(),
            Self::Complete(_, reply) => reply.is_closed(),
            Self::Receive { queued, reply, .. } => !queued && reply.is_closed(),
            Self::Subscribe(..) | Self::Unsubscribe(..) => false,
        }
    }

    /// Bytes of what was sent to a webhook.
    fn body_bytes(&self) -> usize {
        match self {
            Self::Receive { request, .. } => request.body.len(),
            _ => 0,
        }
    }

    /// Whether it has to be made some time, though nobody waits for it: its sender has had his answer.
    fn is_queued(&self) -> bool {
        matches!(self, Self::Receive { queued: true, .. })
    }

    fn is_read(&self) -> bool {
        matches!(self, Self::Read(..) | Self::Complete(..))
    }
}

#[derive(Default)]
struct Waiting {
    /// Each with the time at which it has waited long enough; in order, since all may wait equally long.
    reads: VecDeque<(Instant, Call)>,
    /// Bounded by who sends them: one call in flight for each URI, and one list.
    controls: VecDeque<Call>,
    /// Those whose sender waits have an end to that; the others have none.
    webhooks: VecDeque<(Option<Instant>, Call)>,
}

impl Waiting {
    /// Whether there is anything.
    fn is_some(&self) -> bool {
        !(self.reads.is_empty() && self.controls.is_empty() && self.webhooks.is_empty())
    }
}

/// Invariant: once closed, nothing enters.
#[derive(Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    closed: AtomicBool,
    /// Somebody would wait for its turn: the instance is at work, or something waits for it already.
    busy: AtomicBool,
    /// Timers do not reach it any more.
    retired: AtomicBool,
    pub wake: Arc<Notify>,
    /// A read came.
    pressed: Notify,
    /// It was closed.
    closing: Notify,
    tally: Arc<Tally>,
}

impl Queue {
    /// One that wakes this, as others do, and counts what it refuses.
    pub fn waking(wake: Arc<Notify>, tally: Arc<Tally>) -> Self {
        Self { wake, tally, ..Self::default() }
    }

    /// How many wait, of each kind.
    pub fn depths(&self) -> Depths {
        let waiting = self.waiting.lock();
        Depths { reads: waiting.reads.len(), controls: waiting.controls.len(), webhooks: waiting.webhooks.len() }
    }

    /// Refuses a call, and counts it.
    fn turn_away(&self, mut call: Call, outcome: Outcome, error: Error) {
        if !call.is_void() {
            self.tally.refused(call.name(), outcome, &error);
        }
        call.trail().ended(outcome.name(), true);
        call.refuse(error);
    }

    /// Lets a call wait, or refuses it at once.
    pub fn push(&self, call: Call) {
        let mut waiting = self.waiting.lock();
        self.busy.store(true, Relaxed);
        if self.closed.load(SeqCst) {
            drop(waiting);
            return self.turn_away(call, Outcome::Unavailable, stopped());
        }
        if call.is_read() {
            if waiting.reads.len() >= MAX_READS {
                waiting.reads.retain(|(_, call)| !call.is_void());
            }
            if waiting.reads.len() >= MAX_READS {
                drop(waiting);
                let busy = Error::unavailable(format!("the provider is busy: {MAX_READS} reads wait for it already"));
                return self.turn_away(call, Outcome::QueueFull, busy);
            }
            waiting.reads.push_back((Instant::now() + MAX_WAIT, call));
            self.pressed.notify_one();
        } else if let Call::Receive { queued, .. } = &call {
            let end = (!queued).then(|| Instant::now() + MAX_WAIT);
            if waiting.webhooks.len() >= MAX_WEBHOOKS {
                waiting.webhooks.retain(|(_, call)| !call.is_void());
            }
            let bytes: usize = waiting.webhooks.iter().map(|(_, call)| call.body_bytes()).sum();
            if waiting.webhooks.len() >= MAX_WEBHOOKS || bytes + call.body_bytes() > MAX_WEBHOOK_BYTES {
                drop(waiting);
                let busy = Error::unavailable("the provider is busy: too many webhooks wait for it already");
                return self.turn_away(call, Outcome::QueueFull, busy);
            }
            waiting.webhooks.push_back((end, call));
        } else {
            waiting.controls.push_back(call);
        }
        drop(waiting);
        self.wake.notify_one();
    }

    /// The instance is at work.
    pub fn engage(&self) {
        self.busy.store(true, Relaxed);
    }

    /// It is not, as far as nothing waits.
    pub fn rest(&self) {
        let waiting = self.waiting.lock();
        self.busy.store(waiting.is_some(), Relaxed);
    }

    /// Whether a read would wait now.
    pub fn is_busy(&self) -> bool {
        self.busy.load(Relaxed)
    }

    /// Returns once a read waits.
    pub async fn crowded(&self) {
        while self.waiting.lock().reads.is_empty() {
            self.pressed.notified().await;
        }
    }

    pub fn take_read(&self) -> Option<Call> {
        let mut waiting = self.waiting.lock();
        loop {
            let (_, call) = waiting.reads.pop_front()?;
            if !call.is_void() {
                if let Call::Read(_, begun, _) = &call {
                    begun.set();
                }
                return Some(call);
            }
        }
    }

    pub fn take_webhook(&self) -> Option<Call> {
        let mut waiting = self.waiting.lock();
        loop {
            let (_, call) = waiting.webhooks.pop_front()?;
            if !call.is_void() {
                return Some(call);
            }
        }
    }

    pub fn take_control(&self) -> Option<Call> {
        let mut waiting = self.waiting.lock();
        loop {
            let call = waiting.controls.pop_front()?;
            if !call.is_void() {
                return Some(call);
            }
        }
    }

    /// Refuses the reads and webhooks that have waited long enough, and says when the next one will have.
    pub fn expire(&self, now: Instant) -> Option<Instant> {
        let mut waiting = self.waiting.lock();
        let mut late = Vec::new();
        while waiting.reads.front().is_some_and(|(end, _)| *end <= now) {
            late.extend(waiting.reads.pop_front().map(|(_, call)| call));
        }
        while let Some(at) = waiting.webhooks.iter().position(|(end, _)| end.is_some_and(|end| end <= now)) {
            late.extend(waiting.webhooks.remove(at).map(|(_, call)| call));
        }
        let next = waiting.reads.front().map(|(end, _)| *end);
        let next = next.into_iter().chain(waiting.webhooks.iter().find_map(|(end, _)| *end)).min();
        drop(waiting);
        let waited = humantime::format_duration(MAX_WAIT);
        for call in late {
            let busy = Error::unavailable(format!("the provider is busy: this waited for it for {waited}"));
            self.turn_away(call, Outcome::Unavailable, busy);
        }
        next
    }

    /// Refuses all that waits, but for what has to be made some time.
    pub fn refuse_all(&self, error: &Error) {
        let mut waiting = self.waiting.lock();
        let Waiting { reads, controls, mut webhooks } = std::mem::take(&mut *waiting);
        let (queued, refused) = webhooks.drain(..).partition(|(_, call)| call.is_queued());
        waiting.webhooks = queued;
        drop(waiting);
        let webhooks: VecDeque<_> = refused;
        let waiting = controls.into_iter().chain(reads.into_iter().map(|(_, call)| call)).chain(webhooks.into_iter().map(|(_, call)| call));
        for call in waiting {
            self.turn_away(call, Outcome::Unavailable, error.clone());
        }
    }

    /// Refuses all that waits and all that comes.
    pub fn close(&self) {
        {
            let _no_push_between = self.waiting.lock();
            self.closed.store(true, SeqCst);
            self.closing.notify_waiters();
        }
        self.refuse_all(&stopped());
        drop(self.take_queued());
        self.wake.notify_one();
    }

    /// Takes away what nobody waits for, in order.
    pub fn take_queued(&self) -> Vec<WebhookRequest> {
        let mut waiting = self.waiting.lock();
        let (queued, others): (VecDeque<_>, VecDeque<_>) = waiting.webhooks.drain(..).partition(|(_, call)| call.is_queued());
        waiting.webhooks = others;
        drop(waiting);
        let request = |call| match call {
            Call::Receive { request, .. } => Some(request),
            _ => None,
        };
        queued.into_iter().filter_map(|(_, call)| request(call)).collect()
    }

    /// From now on there are only calls.
    pub fn retire(&self) {
        self.retired.store(true, SeqCst);
        self.wake.notify_one();
    }

    pub fn is_retired(&self) -> bool {
        self.retired.load(SeqCst)
    }

    /// Returns once it is closed.
    pub async fn closed(&self) {
        let mut closing = std::pin::pin!(self.closing.notified());
        // From here on it hears of it.
        closing.as_mut().enable();
        if !self.is_closed() {
            closing.await;
        }
    }

    /// Whether anything waits.
    pub fn has_work(&self) -> bool {
        self.waiting.lock().is_some()
    }

    pub fn is_closed(&self) -> bool {
        self.closed.load(SeqCst)
    }
}

fn stopped() -> Error {
    Error::unavailable("the provider was stopped or replaced")
}

#[cfg(test)]
mod tests;
