//! One instance of a component: its store, and the exports it has.
//!
//! Invariant: after a call that gave a [`Fault`] the store is dead and nothing of it may be called again.

use std::{fmt, sync::Arc, time::Duration};

use tokio::time::{Instant, error::Elapsed, sleep, timeout};
use wasmtime::{Store, Trap, UpdateDeadline, WasmBacktrace};
use wasmtime_wasi::I32Exit;

pub(super) use super::state::HostState;
use super::{
    Spec,
    bindings::exports::wharf::provider::{
        completions,
        fetch_handler::{self, FetchOutcome},
        file_handler::{self, FileChange},
        resources, subscriptions, timer_handler, webhook_handler,
    },
    bindings::wharf::provider::types as guest,
    component::{LoadError, Maker},
    convert::{self, Taker},
    limits::HOSTCALL_FUEL,
    log::GuestLog,
};
use crate::provider::{
    Announcer, Completion, CompletionRequest, Error, ReadRequest, Reading, ResourcePage, TemplateInfo, TemplateMatch, WebhookRequest,
    WebhookResponse, tally,
};

/// Handles of the component model that a guest may hold.
const MAX_HANDLES: usize = 4096;
/// How wasmtime says that the fuel for handing over data is used up; it has no type for it that others can name.
const FUEL_EXHAUSTED: &str = "too much data is being copied";

/// What has happened, of which a handler is told.
pub(super) enum Event {
    Fired(Vec<String>),
    Changed(Vec<FileChange>),
    Fetched(Vec<FetchOutcome>),
}

impl Event {
    /// The export that is told of it.
    pub fn handler(&self) -> &'static str {
        match self {
            Self::Fired(_) => "timer-handler.fired",
            Self::Changed(_) => "file-handler.changed",
            Self::Fetched(_) => "fetch-handler.fetched",
        }
    }
}

/// What a component exports, found once for all of its instances.
#[derive(Clone)]
pub(super) struct Exports {
    pub resources: resources::GuestIndices,
    pub subscriptions: Option<subscriptions::GuestIndices>,
    pub completions: Option<completions::GuestIndices>,
    pub timer_handler: Option<timer_handler::GuestIndices>,
    pub file_handler: Option<file_handler::GuestIndices>,
    pub fetch_handler: Option<fetch_handler::GuestIndices>,
    pub webhook_handler: Option<webhook_handler::GuestIndices>,
}

/// How a call ended its instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    Trapped(String),
    /// Likewise, after it was refused memory over its limit.
    Starved(String),
    Overran(Duration),
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Trapped(how) | Fault::Starved(how) => Self::Trapped(how),
            Fault::Overran(deadline) => Self::DeadlineExceeded(deadline),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trapped(how) | Self::Starved(how) => write!(f, "crashed: {how}"),
            Self::Overran(deadline) => write!(f, "did not end within {}", humantime::format_duration(*deadline)),
        }
    }
}

impl Fault {
    /// As it is counted.
    pub fn counted(&self) -> tally::Outcome {
        match self {
            Self::Trapped(_) => tally::Outcome::Trap,
            Self::Starved(_) => tally::Outcome::Memory,
            Self::Overran(_) => tally::Outcome::Deadline,
        }
    }
}

/// The outer error costs the instance, the inner one is the guest's answer.
pub(super) type Outcome<T> = Result<Result<T, Error>, Fault>;

pub(super) struct Instance {
    store: Store<HostState>,
    deadline: Duration,
    resources: resources::Guest,
    subscriptions: Option<subscriptions::Guest>,
    completions: Option<completions::Guest>,
    timer_handler: Option<timer_handler::Guest>,
    file_handler: Option<file_handler::Guest>,
    fetch_handler: Option<fetch_handler::Guest>,
    webhook_handler: Option<webhook_handler::Guest>,
    /// Which kind of event had its turn last.
    turn: u8,
}

impl Instance {
    /// Makes one. Runs the guest's own start code, under the same limits as a call.
    pub async fn create(maker: Maker) -> Result<Box<Self>, LoadError> {
        let (pre, exports, limits) = (maker.pre().clone(), maker.exports().clone(), maker.spec.limits);
        let shared = maker.shared.clone();
        // What its start code sets is its own already.
        let life = shared.begin();
        let budget = limits.ticks();
        let state = HostState::new(maker).await;
        let mut store = Store::new(pre.engine(), state);
        store.limiter(HostState::meter);
        store.set_hostcall_fuel(HOSTCALL_FUEL);
        store.set_max_component_handles(MAX_HANDLES);
        store.epoch_deadline_callback(move |mut store| {
            Ok(if store.data_mut().tick() > budget { UpdateDeadline::Interrupt } else { UpdateDeadline::Yield(1) })
        });
        store.set_epoch_deadline(1);
        let outcome = timeout(limits.deadline, pre.instantiate_async(&mut store)).await;
        let instance = judge(&store, limits.deadline, outcome)
            .map_err(|fault| LoadError::Start(fault.to_string()))?
            .map_err(|error| LoadError::Start(error.to_string()))?;
        if shared.has_before(life) {
            let shared = Arc::downgrade(&shared);
            tokio::spawn(async move {
                sleep(limits.deadline).await;
                shared.upgrade().inspect(|shared| shared.expire(life));
            });
        }
        Ok(Box::new(Self {
            resources: named("resources", exports.resources.load(&mut store, &instance))?,
            subscriptions: loaded("subscriptions", exports.subscriptions, |found| found.load(&mut store, &instance))?,
            completions: loaded("completions", exports.completions, |found| found.load(&mut store, &instance))?,
            timer_handler: loaded("timer-handler", exports.timer_handler, |found| found.load(&mut store, &instance))?,
            file_handler: loaded("file-handler", exports.file_handler, |found| found.load(&mut store, &instance))?,
            fetch_handler: loaded("fetch-handler", exports.fetch_handler, |found| found.load(&mut store, &instance))?,
            webhook_handler: loaded("webhook-handler", exports.webhook_handler, |found| found.load(&mut store, &instance))?,
            turn: 0,
            deadline: limits.deadline,
            store,
        }))
    }

    pub fn announcer(&self) -> &Announcer {
        &self.store.data().announcer
    }

    pub fn spec(&self) -> &Spec {
        &self.store.data().spec
    }

    pub fn log(&self) -> &GuestLog {
        &self.store.data().log
    }

    /// What is to be told to a handler now, if anything is. The kinds of events take turns.
    pub fn take_event(&mut self, now: Instant) -> Option<Event> {
        let state = self.store.data_mut();
        for _ in 0..3 {
            self.turn = (self.turn + 1) % 3;
            let event = match self.turn {
                0 => some(state.timers.take_due(now)).map(Event::Fired),
                1 => some(state.inbox.take_changes()).map(Event::Changed),
                _ => some(state.inbox.take_outcomes()).map(Event::Fetched),
            };
            if event.is_some() {
                return event;
            }
        }
        None
    }

    /// Whether it has to be made anew, since what it was given is not what there is any more.
    pub fn is_outdated(&self) -> bool {
        self.store.data().folders.is_outdated()
    }

    /// When the next timer is due. What else happens wakes the task that owns this.
    pub fn next_event(&self) -> Option<Instant> {
        self.store.data().timers.next()
    }

    pub async fn list(&mut self, cursor: Option<&str>) -> Outcome<ResourcePage> {
        self.begin();
        let outcome = timeout(self.deadline, self.resources.call_list(&mut self.store, cursor)).await;
        let answer = self.judge(outcome)?;
        Ok(answer.and_then(|answer| answer.map_err(|error| self.error(error))).map(|page| self.taker().page(page)))
    }

    pub async fn templates(&mut self) -> Outcome<Vec<TemplateInfo>> {
        self.begin();
        let outcome = timeout(self.deadline, self.resources.call_templates(&mut self.store)).await;
        let answer = self.judge(outcome)?;
        let taker = self.taker();
        Ok(answer
            .and_then(|answer| answer.map_err(|error| self.error(error)))
            .map(|templates| templates.into_iter().map(|info| taker.template(info)).collect()))
    }

    pub async fn read(&mut self, request: &ReadRequest) -> Outcome<Option<Reading>> {
        self.begin();
        let asked = convert::read_request(request);
        let outcome = timeout(self.deadline, self.resources.call_read(&mut self.store, &asked)).await;
        let answer = self.judge(outcome)?;
        Ok(answer.and_then(|answer| answer.map_err(|error| self.error(error))).and_then(|reading| self.taker().reading(request, reading)))
    }

    pub async fn subscribe(&mut self, uri: &str, matched: Option<&TemplateMatch>) -> Outcome<()> {
        let Some(subscriptions) = &self.subscriptions else { return Ok(Err(lacks("subscriptions"))) };
        begin(&mut self.store);
        let matched = matched.map(convert::template_match);
        let outcome = timeout(self.deadline, subscriptions.call_subscribe(&mut self.store, uri, matched.as_ref())).await;
        let answer = self.judge(outcome)?;
        Ok(answer.and_then(|answer| answer.map_err(|error| self.error(error))))
    }

    pub async fn unsubscribe(&mut self, uri: &str) -> Outcome<()> {
        let Some(subscriptions) = &self.subscriptions else { return Ok(Err(lacks("subscriptions"))) };
        begin(&mut self.store);
        let outcome = timeout(self.deadline, subscriptions.call_unsubscribe(&mut self.store, uri)).await;
        self.judge(outcome)
    }

    pub async fn complete(&mut self, request: CompletionRequest) -> Outcome<Completion> {
        let Some(completions) = &self.completions else { return Ok(Err(lacks("completions"))) };
        begin(&mut self.store);
        let asked = convert::completion_request(request);
        let outcome = timeout(self.deadline, completions.call_complete(&mut self.store, &asked)).await;
        let answer = self.judge(outcome)?;
        Ok(answer.and_then(|answer| answer.map_err(|error| self.error(error))).map(convert::completion))
    }

    /// Tells a handler. Nothing is asked for, and so comes, where there is none.
    pub async fn tell(&mut self, event: &Event) -> Outcome<()> {
        begin(&mut self.store);
        let outcome = match event {
            Event::Fired(names) => {
                let Some(handler) = &self.timer_handler else { return Ok(Ok(())) };
                timeout(self.deadline, handler.call_fired(&mut self.store, names)).await
            }
            Event::Changed(changes) => {
                let Some(handler) = &self.file_handler else { return Ok(Ok(())) };
                timeout(self.deadline, handler.call_changed(&mut self.store, changes)).await
            }
            Event::Fetched(outcomes) => {
                let Some(handler) = &self.fetch_handler else { return Ok(Ok(())) };
                timeout(self.deadline, handler.call_fetched(&mut self.store, outcomes)).await
            }
        };
        self.judge(outcome)
    }

    pub async fn receive(&mut self, request: WebhookRequest) -> Outcome<WebhookResponse> {
        let Some(handler) = &self.webhook_handler else { return Ok(Err(lacks("webhook-handler"))) };
        begin(&mut self.store);
        let request = convert::webhook_request(request);
        let outcome = timeout(self.deadline, handler.call_receive(&mut self.store, &request)).await;
        let answer = self.judge(outcome)?;
        Ok(answer.and_then(convert::webhook_response))
    }

    fn begin(&mut self) {
        begin(&mut self.store);
    }

    fn error(&self, error: guest::Error) -> Error {
        convert::error(error, self.log().secrets())
    }

    fn taker(&self) -> Taker<'_> {
        Taker { log: self.log() }
    }

    fn judge<T>(&self, outcome: Result<wasmtime::Result<T>, Elapsed>) -> Outcome<T> {
        judge(&self.store, self.deadline, outcome)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.log().finish();
    }
}

fn begin(store: &mut Store<HostState>) {
    store.set_epoch_deadline(1);
    store.data_mut().begin();
}

/// A component may export an interface of the right name and the wrong type, which shows only when it is loaded, and without a name.
fn named<T>(interface: &'static str, loaded: wasmtime::Result<T>) -> Result<T, LoadError> {
    loaded.map_err(|error| LoadError::WrongType { interface, reason: format!("{error:#}") })
}

fn loaded<I, T>(interface: &'static str, found: Option<I>, load: impl FnOnce(I) -> wasmtime::Result<T>) -> Result<Option<T>, LoadError> {
    found.map(|found| named(interface, load(found))).transpose()
}

fn some<T>(items: Vec<T>) -> Option<Vec<T>> {
    (!items.is_empty()).then_some(items)
}

fn lacks(interface: &str) -> Error {
    Error::Failed(format!("the provider does not export wharf:provider/{interface}"))
}

fn judge<T>(store: &Store<HostState>, deadline: Duration, outcome: Result<wasmtime::Result<T>, Elapsed>) -> Outcome<T> {
    let error = match outcome {
        Ok(Ok(answer)) => return Ok(Ok(answer)),
        Ok(Err(error)) => error,
        Err(_) => return Err(Fault::Overran(deadline)),
    };
    let cause = error.root_cause().to_string();
    // Where the answer itself was too much the guest had ended already and its instance lives on; where it was what the guest handed to an
    // import, wasmtime has torn the guest down in the middle, and a backtrace shows it.
    if cause.starts_with(FUEL_EXHAUSTED) && error.downcast_ref::<WasmBacktrace>().is_none() {
        return Ok(Err(convert::too_large()));
    }
    let state = store.data();
    tracing::debug!(provider = &*state.spec.name, "{}", state.rights.secrets().hide(&format!("{error:?}")));
    if error.downcast_ref::<Trap>() == Some(&Trap::Interrupt) {
        return Err(Fault::Overran(deadline));
    }
    let mut how = match error.downcast_ref::<I32Exit>() {
        Some(I32Exit(status)) => format!("it ended itself with exit status {status}"),
        None => cause,
    };
    if state.was_refused_memory() {
        let limit = state.spec.limits.memory >> 20;
        how = format!("{how}; it had wanted more memory than its {limit} MiB (wharf.toml: [provider.limits] memory)");
    }
    state.rights.secrets().hide_in(&mut how);
    Err(if state.was_refused_memory() { Fault::Starved(how) } else { Fault::Trapped(how) })
}
