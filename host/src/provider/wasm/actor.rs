//! The task that owns a provider's instance; or one of the tasks, where there are several (see `pool`).
//!
//! One call runs at a time in each. It is polled where the task is, which is all that most calls need; one that is still under way then, because
//! it computes for longer than a tick or waits in a host function, moves with its instance to the threads for guests, so that it holds up
//! nobody else. A provider whose last call was slow starts there.
//!
//! Invariants:
//! - Events, control calls, reads and webhooks take turns: none of them starves another.
//! - Whoever asked is answered, whatever becomes of the instance; and when the answer is that the instance died, that has been announced.
//! - Whoever is retired hears of no event. Once nobody has the handle the task ends, and the instance with it.
//! - A call once begun is never interrupted but by its deadline.

use std::{convert::Infallible, future::pending, sync::Arc, time::Duration};

use tokio::{
    runtime::Handle,
    sync::watch,
    time::{Instant, sleep_until},
};
use tracing::Instrument;

use super::{
    WasmProvider,
    component::{LoadError, Maker},
    drive::{Panicked, drive},
    health::Health,
    instance::Instance,
    perform::{Work, perform},
    pool::{self, Place, Pool},
    queue::{MAX_WAIT, Queue},
};
use crate::{
    provider::{Announcer, Error, Occurrence, tally::Life},
    trace::Trail,
};

/// A provider whose last call computed for longer is not polled in place the next time. Requests of others may wait behind a poll, so this is
/// what they may lose to a provider again and again. A move costs 10 to 15 µs (measured: a read of 256 B takes 3 to 6 µs here, 13 to 19 µs
/// with a move, caller included).
const QUICK: Duration = Duration::from_micros(500);

/// Makes the first instance, and the task that owns it.
pub(super) async fn start(maker: Maker) -> Result<Arc<WasmProvider>, LoadError> {
    let guests = maker.runtime().handle.clone();
    let first = match drive(&guests, true, maker.make()).await {
        Ok((first, _)) => first?,
        Err(Panicked) => return Err(LoadError::Start("made the host fail".into())),
    };
    let queue = Arc::new(Queue::waking(maker.wake.clone(), maker.tally.clone()));
    let (running, ended) = watch::channel(());
    let provider = WasmProvider::new(&maker, queue.clone(), ended);
    // Whatever became of a generation before.
    maker.tally.lives(Life::Alive);
    let (pool, running) = (Pool::new(&maker), Arc::new(running));
    let actor = Actor { maker, guests, queue, pool, place: None, running, turn: 0, quick: true };
    tokio::spawn(actor.run(first));
    Ok(Arc::new(provider))
}

struct Actor {
    maker: Maker,
    guests: Handle,
    queue: Arc<Queue>,
    pool: Arc<Pool>,
    /// None for the first.
    place: Option<Place>,
    /// Goes with the last of them.
    running: Arc<watch::Sender<()>>,
    /// Whose turn was last: events, control calls, reads, webhooks.
    turn: u8,
    /// Whether the last call ended quickly.
    quick: bool,
}

impl Actor {
    async fn run(mut self, first: Box<Instance>) {
        let mut health = Health::new(Instant::now());
        let (mut home, mut renewed) = (Some(first), false);
        loop {
            let mut instance = match home.take() {
                Some(instance) => instance,
                None if let Some(place) = &self.place => {
                    if !renewed {
                        place.died();
                    }
                    // Others go on.
                    return self.announcer().announce(Occurrence::Up);
                }
                None => match self.revive(&mut health).await {
                    Some(fresh) => fresh,
                    None => return,
                },
            };
            let Some(mut work) = self.next(&mut instance).await else { return };
            renewed = matches!(work, Work::Renew);
            let trail = self.trail(&mut work);
            let span = trail.begins();
            let performing = perform(instance, work, self.maker.tally.clone(), trail).instrument(span);
            home = match self.tending(drive(&self.guests, self.quick, performing)).await {
                Ok((survivor, computed)) => {
                    self.quick = computed < QUICK;
                    survivor
                }
                Err(Panicked) => {
                    tracing::error!(provider = &*self.maker.spec.name, "host code panicked inside a call of this provider");
                    self.announcer().announce(Occurrence::Down);
                    None
                }
            };
            // Calls that end at once would otherwise never let go of the thread.
            tokio::task::consume_budget().await;
        }
    }

    /// Makes one more instance, and works with it.
    fn grow(&self) {
        let Some(place) = self.pool.grow() else { return };
        let Self { maker, guests, queue, pool, running, .. } = self;
        let (maker, guests, queue, pool, running) = (maker.clone(), guests.clone(), queue.clone(), pool.clone(), running.clone());
        let another = Self { maker, guests, queue, pool, running, place: Some(place), turn: 0, quick: false };
        tokio::spawn(async move {
            let made = drive(&another.guests, false, another.maker.make()).await;
            another.place.as_ref().inspect(|place| place.filled(matches!(made, Ok((Ok(_), _)))));
            match made {
                Ok((Ok(instance), _)) => another.run(instance).await,
                Ok((Err(error), _)) => tracing::warn!(provider = &*another.maker.spec.name, "no further instance: {error}"),
                Err(Panicked) => {
                    tracing::error!(provider = &*another.maker.spec.name, "host code panicked while making an instance");
                }
            }
        });
    }

    /// Waits for something to do. `None`: the provider is closed, or does without this instance.
    async fn next(&mut self, instance: &mut Instance) -> Option<Work> {
        loop {
            if self.queue.is_closed() {
                return None;
            }
            if instance.is_outdated() && !self.queue.is_retired() {
                return Some(Work::Renew);
            }
            for _ in 0..4 {
                self.turn = (self.turn + 1) % 4;
                let work = match self.turn {
                    0 if self.queue.is_retired() => None,
                    0 => instance.take_event(Instant::now()).map(Work::Event),
                    1 => self.queue.take_control().map(Work::Call),
                    2 => self.queue.take_read().map(Work::Call),
                    _ => self.queue.take_webhook().map(Work::Call),
                };
                if work.is_some() {
                    self.queue.engage();
                    if self.pool.has_others() && self.queue.has_work() {
                        // Of two calls that came before anybody waited for the wake, it knows one.
                        self.queue.wake.notify_one();
                    }
                    return work;
                }
            }
            self.queue.rest();
            let next = instance.next_event().filter(|_| !self.queue.is_retired());
            let idle = self.place.is_some().then(|| Instant::now() + pool::IDLE);
            tokio::select! {
                () = self.queue.wake.notified() => {}
                () = until(next) => {}
                () = until(idle) => return None,
            }
        }
    }

    /// Makes a fresh instance, as soon as the pauses allow. `None`: the provider was closed meanwhile.
    async fn revive(&mut self, health: &mut Health) -> Option<Box<Instance>> {
        loop {
            let pause = health.died(Instant::now());
            self.lives(if pause.is_zero() { Life::Restarting } else { Life::Parked });
            self.refuse_until(Instant::now() + pause).await;
            if self.queue.is_closed() {
                return None;
            }
            self.lives(Life::Restarting);
            match self.tending(drive(&self.guests, self.quick, self.maker.make())).await {
                Ok((Ok(fresh), _)) => {
                    health.started(Instant::now());
                    self.maker.tally.restarted();
                    self.announcer().announce(Occurrence::Up);
                    return Some(fresh);
                }
                Ok((Err(error), _)) => tracing::warn!(provider = &*self.maker.spec.name, "no fresh instance: {error}"),
                Err(Panicked) => tracing::error!(provider = &*self.maker.spec.name, "host code panicked while making an instance"),
            }
        }
    }

    /// Answers everything that there is no instance, until one may be made or the provider is closed; but nothing while there are others, which
    /// answer it.
    async fn refuse_until(&self, resume: Instant) {
        let mut changes = self.pool.changes();
        loop {
            let left = resume.saturating_duration_since(Instant::now());
            if left.is_zero() || self.queue.is_closed() {
                return;
            }
            if self.pool.has_others() {
                tokio::select! {
                    _ = changes.changed() => {}
                    () = self.queue.closed() => {}
                    () = sleep_until(resume) => {}
                }
                self.lives(Life::Parked);
                continue;
            }
            self.queue.refuse_all(&Error::Unavailable {
                message: "the provider keeps crashing, and is started anew after a pause; its log says why".into(),
                retry_after: Some(left),
            });
            tokio::select! {
                () = self.queue.wake.notified() => {}
                () = sleep_until(resume) => {}
            }
        }
    }

    /// Looks after those who wait, while a call runs.
    async fn tending<T>(&self, call: impl Future<Output = T>) -> T {
        let tend = async {
            let began = Instant::now();
            loop {
                let now = Instant::now();
                // What comes meanwhile waits as long.
                let next = self.queue.expire(now).unwrap_or(now + MAX_WAIT);
                tokio::select! {
                    () = sleep_until(next) => {}
                    () = self.crowded(began) => self.grow(),
                }
            }
        };
        tokio::select! {
            biased;
            ended = call => ended,
            never = endless(tend) => match never {},
        }
    }

    /// Returns if calls wait while this one runs for long, and there may be one more instance.
    async fn crowded(&self, began: Instant) {
        let mut changes = self.pool.changes();
        while !self.pool.may_grow() {
            // Its sender is the pool's, which this has.
            let _ = changes.changed().await;
        }
        sleep_until(began + pool::CROWDED).await;
        self.queue.crowded().await;
    }

    /// How what there is to do is traced. An event has no request that it is a part of.
    fn trail(&self, work: &mut Work) -> Trail {
        match work {
            Work::Call(call) => std::mem::take(call.trail()),
            Work::Event(event) => Trail::new(&self.maker.spec.name, self.maker.announcer.source().generation, event.handler(), None),
            Work::Renew => Trail::default(),
        }
    }

    /// One that was replaced does not speak for its provider any more, and while others go on it is alive.
    fn lives(&self, life: Life) {
        if !self.queue.is_retired() && !self.pool.has_others() {
            self.maker.tally.lives(life);
        }
    }

    fn announcer(&self) -> &Announcer {
        &self.maker.announcer
    }
}

impl Drop for Actor {
    /// However the task of the first ends, nobody is left waiting for it.
    fn drop(&mut self) {
        if self.place.is_none() {
            self.queue.close();
        }
        // What woke this one is another's.
        self.queue.wake.notify_one();
    }
}

async fn endless(never: impl Future<Output = Infallible>) -> Infallible {
    never.await
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => pending().await,
    }
}
