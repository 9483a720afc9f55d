//! The fetches and polls of one instance, by the names it gave them.
//!
//! Invariants:
//! - What a name was cancelled or replaced for never arrives: each has a number, which is checked under the lock that hands over.
//! - All end with this.
//! - Whoever does not take what has arrived gets no more: the turn of an exchange is kept until its answer is taken.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore},
    task::AbortHandle,
    time::sleep,
};
use tracing::{Instrument, Span};

use super::{Answer, Client, Failure, MAX_EXCHANGES, MAX_FETCHES, Outgoing, body::Room, gate, poll::Polling, spans};
use crate::provider::grants::Rights;

/// Bytes of a name.
const MAX_NAME_BYTES: usize = 2048;
/// Bytes of all requests of one provider that are kept, as they are until their answers are there.
const MAX_KEPT_BYTES: usize = 16 << 20;

/// What became of one.
#[derive(Debug)]
pub struct Arrived {
    /// The name it was started under.
    pub name: Arc<str>,
    /// The answer, or why there is none.
    pub answer: Result<Answer, Failure>,
}

/// To be kept as long as what has arrived is.
#[derive(Debug)]
pub struct Hold {
    _exchange: OwnedSemaphorePermit,
    _large: Option<OwnedSemaphorePermit>,
}

/// Takes what has arrived. Both must return at once: they are called under a lock, so that what is forgotten stays so.
pub trait Sink: Send + Sync {
    /// This has arrived; what came before under its name has no meaning any more.
    fn arrived(&self, arrived: Arrived, hold: Hold);
    /// What came under this name is not wanted any more.
    fn forget(&self, name: &str);
}

/// Why a fetch is not started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// The name is empty, or too long.
    Name,
    /// It is not granted; the text says which lines would allow it.
    Denied(String),
    /// There are [`MAX_FETCHES`] under way, or their requests are too large together.
    TooMany,
}

struct Running {
    number: u64,
    task: AbortHandle,
    size: usize,
}

#[derive(Default)]
struct Table {
    running: HashMap<Arc<str>, Running>,
    /// Bytes of their requests.
    kept: usize,
    number: u64,
}

impl Table {
    fn end(&mut self, name: &str) {
        if let Some(running) = self.running.remove(name) {
            self.kept -= running.size;
            running.task.abort();
        }
    }

    fn is_current(&self, name: &str, number: u64) -> bool {
        self.running.get(name).is_some_and(|running| running.number == number)
    }
}

/// See the module's page. Dropping it ends all.
pub struct Fetches {
    each: Each,
    runtime: Handle,
}

/// What every task needs.
#[derive(Clone)]
struct Each {
    client: Arc<Client>,
    rights: Rights,
    turns: Arc<Semaphore>,
    room: Room,
    table: Arc<Mutex<Table>>,
    sink: Arc<dyn Sink>,
}

impl Fetches {
    /// None yet. They will run on this runtime.
    pub fn new(client: Arc<Client>, rights: Rights, runtime: Handle, sink: Arc<dyn Sink>) -> Self {
        let turns = Arc::new(Semaphore::new(MAX_EXCHANGES));
        Self { each: Each { client, rights, turns, room: Room::default(), table: Arc::default(), sink }, runtime }
    }

    /// Sends a request once.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn start(&self, name: &str, request: Outgoing) -> Result<(), Refused> {
        // Here the span at hand is that of the call which asks for it.
        let span = spans::of_exchange(&self.each.rights, request.method.as_str(), &request.origin);
        self.begin(name, request, |each, name, number, request| async move { each.once(name, number, request, span).await })
    }

    /// Sends a request now, and again so long after each answer.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn poll(&self, name: &str, request: Outgoing, every: Duration) -> Result<(), Refused> {
        let polling = Polling::new(every, self.each.client.min_period);
        self.begin(name, request, |each, name, number, request| async move { each.again(name, number, request, polling).await })
    }

    /// Ends one; fine if there is none.
    pub fn cancel(&self, name: &str) {
        let mut table = self.each.table.lock();
        table.end(name);
        self.each.sink.forget(name);
    }

    fn begin<F>(&self, name: &str, request: Outgoing, run: impl FnOnce(Each, Arc<str>, u64, Outgoing) -> F) -> Result<(), Refused>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        if name.is_empty() || name.len() > MAX_NAME_BYTES {
            return Err(Refused::Name);
        }
        gate::admit(self.each.rights.grants(), &request.origin).map_err(|need| Refused::Denied(self.each.rights.deny(need)))?;
        let mut table = self.each.table.lock();
        let size = request.size();
        let replaced = table.running.get(name);
        let (count, kept) =
            (table.running.len() - usize::from(replaced.is_some()), table.kept - replaced.map_or(0, |running| running.size));
        if count >= MAX_FETCHES || kept + size > MAX_KEPT_BYTES {
            return Err(Refused::TooMany);
        }
        table.end(name);
        self.each.sink.forget(name);
        table.number += 1;
        let (number, name) = (table.number, Arc::<str>::from(name));
        let task = self.runtime.spawn(run(self.each.clone(), name.clone(), number, request)).abort_handle();
        table.kept += size;
        table.running.insert(name, Running { number, task, size });
        Ok(())
    }
}

impl Drop for Fetches {
    fn drop(&mut self) {
        let mut table = self.each.table.lock();
        table.running.drain().for_each(|(_, running)| running.task.abort());
    }
}

impl Each {
    async fn once(self, name: Arc<str>, number: u64, request: Outgoing, span: Span) {
        let Ok(turn) = self.turns.clone().acquire_owned().await else { return };
        let came = self.client.exchange(&self.rights, &request, &[], &self.room).instrument(span.clone()).await;
        spans::ended(&span, &came);
        drop(span);
        let mut table = self.table.lock();
        if table.is_current(&name, number) {
            self.hand_over(name.clone(), came, turn);
            // Not aborted: this is its task.
            if let Some(running) = table.running.remove(&name) {
                table.kept -= running.size;
            }
        }
    }

    async fn again(self, name: Arc<str>, number: u64, request: Outgoing, mut polling: Polling) {
        loop {
            let Ok(turn) = self.turns.clone().acquire_owned().await else { return };
            let conditions = polling.conditions(&request.headers);
            let span = spans::of_exchange(&self.rights, request.method.as_str(), &request.origin);
            let came = self.client.exchange(&self.rights, &request, &conditions, &self.room).instrument(span.clone()).await;
            spans::ended(&span, &came);
            drop(span);
            let news = polling.judge(!conditions.is_empty(), &came);
            let pause = polling.pause(&came, random());
            if news {
                let table = self.table.lock();
                if !table.is_current(&name, number) {
                    return;
                }
                self.hand_over(name.clone(), came, turn);
            } else {
                drop((came, turn));
            }
            sleep(pause).await;
        }
    }

    fn hand_over(&self, name: Arc<str>, mut came: Result<Answer, Failure>, turn: OwnedSemaphorePermit) {
        let large = came.as_mut().ok().and_then(|answer| answer.large.take());
        self.sink.arrived(Arrived { name, answer: came }, Hold { _exchange: turn, _large: large });
    }
}

/// From 0 to 1. Without randomness polls are in step, and nothing else is wrong.
fn random() -> f64 {
    getrandom::u32().map_or(0.5, |number| f64::from(number) / f64::from(u32::MAX))
}
