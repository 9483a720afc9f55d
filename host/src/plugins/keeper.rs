//! One provider, kept as it is wanted: a task that loads each new version of its file, and puts it in place of the one before.
//!
//! Invariants (design law 5):
//! - What serves is replaced only by a generation that is loaded, started and listed; until then, and if any of that fails, it goes on.
//! - Only another content of the file, or other settings or limits, is a reason to load; what did not load is tried again for no other.
//! - However often the file changes meanwhile, one version is loaded at a time, and the last one is never missed.
//! - The one before ends when nobody uses it any more, or when its time is up.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};

use super::{
    Fate, Loaded, Planned, Progress, Report, Timings,
    factory::{Factory, Made},
    watch::Resting,
};
use crate::{
    catalog::Catalog,
    provider::{
        Announcer, Error, EventQueue, Provider, Source,
        wasm::{Fingerprint, LoadError, Spec},
    },
};

/// What a call at a provider that was replaced may take besides twice its deadline: the time for which a read may wait for its turn, twice.
const DRAIN_SLACK: Duration = Duration::from_secs(10);
/// The pause before a version is tried again that could not list for now; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// How a provider is wanted.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wanted {
    pub planned: Planned,
    /// How its file rests.
    pub rests: Resting,
}

/// What all keepers share.
pub(super) struct Common {
    pub factory: Box<dyn Factory>,
    pub catalog: Arc<Catalog>,
    pub queue: Arc<EventQueue>,
    pub report: Box<dyn Fn(Report) + Send + Sync>,
}

/// The provider that serves, if one does; shared with whoever takes it away.
pub(super) type Serving = Arc<Mutex<Option<Arc<dyn Provider>>>>;

/// What was loaded, or did not load: what was in the file, if that is known for sure, and the settings.
type Version = (Option<Result<blake3::Hash, LoadError>>, Spec);

/// See the module's page.
pub(super) struct Keeper {
    pub common: Arc<Common>,
    pub slot: u32,
    pub serving: Serving,
    pub progress: Arc<Mutex<Progress>>,
    generation: u64,
    served: Option<Version>,
    refused: Option<Version>,
    /// Tries in a row that failed only for now.
    failures: u32,
    /// The last refusal that was told.
    told: Option<String>,
}

/// Why a version is not taken.
enum Refusal {
    /// It never will be.
    Bad(LoadError),
    /// It may be, later.
    NotListed(Error),
}

impl Keeper {
    pub fn new(common: Arc<Common>, slot: u32, serving: Serving, progress: Arc<Mutex<Progress>>) -> Self {
        Self { common, slot, serving, progress, generation: 0, served: None, refused: None, failures: 0, told: None }
    }

    /// Keeps it until nobody wants it any more. `first` becomes true once it was tried.
    pub async fn run(mut self, mut wanted: watch::Receiver<Wanted>, first: watch::Sender<bool>) {
        loop {
            let now = wanted.borrow_and_update().clone();
            let again = self.keep(&now).await;
            first.send_replace(true);
            let pause = async {
                match again {
                    Some(pause) => sleep(pause).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                changed = wanted.changed() => if changed.is_err() { return },
                () = pause => {}
            }
        }
    }

    /// Brings about what is wanted. Returns after which pause to try again, if it is worth while.
    async fn keep(&mut self, Wanted { planned, rests }: &Wanted) -> Option<Duration> {
        let began = Instant::now();
        if !rests.there && self.served.is_some() {
            self.unload(planned);
            return None;
        }
        let factory = &self.common.factory;
        // At the start there is nothing to compare with, and reading a large file twice would only take time.
        let found = if self.generation == 0 { factory.glance(&planned.path).await } else { factory.fingerprint(&planned.path).await };
        if is_same(&self.served, &found, &planned.spec) {
            if self.refused.take().is_some() {
                self.told = None;
                self.report(planned, Fate::Restored);
            }
            return None;
        }
        if is_same(&self.refused, &found, &planned.spec) {
            return None;
        }
        self.generation += 1;
        let read = began.elapsed();
        match self.load(planned, began, read).await {
            Ok(Some(loaded)) => {
                self.served = Some(self.made_sure(found, planned).await);
                (self.refused, self.failures, self.told) = (None, 0, None);
                self.report(planned, Fate::Loaded(Box::new(loaded)));
                None
            }
            // Its place is gone: so will this be, soon.
            Ok(None) => None,
            Err(refusal) => self.refuse(planned, found, refusal).await,
        }
    }

    /// Loads a new generation, and publishes it.
    async fn load(&self, planned: &Planned, began: Instant, read: Duration) -> Result<Option<Loaded>, Refusal> {
        let Common { factory, catalog, queue, .. } = &*self.common;
        let source = Source { slot: self.slot, generation: self.generation };
        let announcer = Announcer::new(source, queue.clone());
        let Made { provider, load, compile, start } = factory.make(planned.clone(), announcer.clone()).await.map_err(Refusal::Bad)?;
        let listing = Instant::now();
        let before = self.serving.lock().clone();
        let replaced = before.is_some();
        // What it lists has what the one before has published: clients see no gap.
        if let Some(before) = &before {
            provider.inherit(&**before);
        }
        let (prepared, lists) = match catalog.prepare(provider.clone(), &announcer).await {
            Ok(prepared) => (prepared, Ok(())),
            Err(error) if replaced => {
                catalog.abandon(source);
                return Err(Refusal::NotListed(error));
            }
            // Better than nothing: it can be read, and is asked again.
            Err(error) => (Catalog::unlisted(provider.clone(), &announcer), Err(error)),
        };
        let (resources, templates) = (prepared.lists().resources.len(), prepared.lists().templates.len());
        let subscriptions = provider.offers().subscriptions;
        let timings = Timings { read, load, compile, start, lists: listing.elapsed(), total: began.elapsed() };
        // Once more: it went on publishing meanwhile.
        if let Some(before) = &before {
            provider.inherit(&**before);
        }
        drop(before);
        // Before it is published: whoever sees it in the lists can reach it by its name too.
        let before = self.serving.lock().replace(provider.clone());
        let change = catalog.publish_generation(prepared);
        if change.is_none() {
            drop(self.serving.lock().take());
        }
        if let Some(before) = before {
            // Their senders have their answers, and nobody waits for this.
            before.take_queued().into_iter().for_each(|request| drop(provider.receive(request, true)));
            drain(&planned.spec, before);
        }
        let Some(change) = change else { return Ok(None) };
        tracing::debug!(provider = %planned.spec.name, ?timings, generation = self.generation, "serves");
        Ok(Some(Loaded { generation: self.generation, replaced, resources, templates, subscriptions, lists, change, timings }))
    }

    async fn refuse(&mut self, planned: &Planned, found: Fingerprint, refusal: Refusal) -> Option<Duration> {
        self.common.catalog.refuse(self.slot);
        let (reason, again) = match refusal {
            // Not a fault of the file, as a trap is.
            Refusal::NotListed(error @ Error::Unavailable { .. }) => {
                let pause = FIRST_PAUSE.saturating_mul(1 << self.failures.min(16)).min(LONGEST_PAUSE);
                self.failures += 1;
                (format!("it did not list: {error}"), Some(pause))
            }
            Refusal::NotListed(error) => (format!("it did not list: {error}"), None),
            Refusal::Bad(error) => (error.to_string(), None),
        };
        // What is tried again is not known to be bad.
        self.refused = match again {
            None => Some(self.made_sure(found, planned).await),
            Some(_) => None,
        };
        if self.told.as_ref() != Some(&reason) || again.is_none() {
            let serving = self.serving.lock().is_some();
            self.report(planned, Fate::Refused { reason: reason.clone(), serving });
        }
        self.told = Some(reason);
        again
    }

    /// What was loaded, or did not load: with its content, if that was in the file all the time.
    async fn made_sure(&self, found: Fingerprint, planned: &Planned) -> Version {
        let factory = &self.common.factory;
        let now = if self.generation == 1 { factory.fingerprint(&planned.path).await } else { factory.glance(&planned.path).await };
        let holds = found.still_holds(&now);
        let content = if self.generation == 1 { now.content } else { found.content };
        (holds.then_some(content), planned.spec.clone())
    }

    fn unload(&mut self, planned: &Planned) {
        self.common.catalog.unload(self.slot);
        let before = self.serving.lock().take();
        if let Some(before) = before {
            drain(&planned.spec, before);
        }
        (self.served, self.refused, self.told) = (None, None, None);
        self.report(planned, Fate::Removed);
    }

    fn report(&self, planned: &Planned, fate: Fate) {
        let content = self.served.as_ref().and_then(|(content, _)| content.as_ref()?.as_ref().ok().copied());
        self.progress.lock().went(&fate, content);
        (self.common.report)(Report { name: planned.spec.name.clone(), path: planned.path.clone(), fate });
    }
}

fn is_same(before: &Option<Version>, found: &Fingerprint, spec: &Spec) -> bool {
    before.as_ref().is_some_and(|(content, with)| content.as_ref() == Some(&found.content) && with == spec)
}

/// Lets a provider end that is not published any more: when its last call is answered and nobody listens to it, or when its time is up.
pub(super) fn drain(spec: &Spec, provider: Arc<dyn Provider>) {
    let (name, limit) = (spec.name.clone(), spec.limits.deadline.saturating_mul(2).saturating_add(DRAIN_SLACK));
    let ended = provider.retire();
    // Whoever still calls it has it; once nobody has, it ends.
    let left = Arc::downgrade(&provider);
    drop(provider);
    tokio::spawn(async move {
        if timeout(limit, ended).await.is_err()
            && let Some(provider) = left.upgrade()
        {
            tracing::warn!(provider = %name, "a version that was replaced is still at work after {limit:?}: it is ended");
            provider.close().await;
        }
    });
}

#[cfg(test)]
mod tests;
