//! Loads providers: file, compiler, first instance, lists, catalog.

use std::{path::PathBuf, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{task::JoinSet, time::Instant};

use super::Planned;
use crate::{
    catalog::{Catalog, Position},
    provider::{
        Announcer, Error, EventQueue, Provider, Source,
        wasm::{LoadError, Runtime},
    },
};

/// What became of one provider.
#[derive(Debug)]
pub struct Report {
    /// Its name.
    pub name: Arc<str>,
    /// Its file.
    pub path: PathBuf,
    /// How it went.
    pub fate: Fate,
}

/// How loading went.
#[derive(Debug)]
pub enum Fate {
    /// It serves.
    Loaded {
        /// How many resources it lists.
        resources: usize,
        /// How many templates it has.
        templates: usize,
        /// Whether it can be told who is wanted.
        subscriptions: bool,
        /// Why its lists did not come, if they did not; it is asked again.
        lists: Result<(), Error>,
        /// From the file to the lists.
        took: Duration,
    },
    /// It does not; says why.
    Refused(String),
}

/// Loads providers into a catalog, and ends them.
pub struct Loader {
    runtime: Arc<Runtime>,
    catalog: Arc<Catalog>,
    queue: Arc<EventQueue>,
    serving: Mutex<Vec<Arc<dyn Provider>>>,
}

impl Loader {
    /// A loader whose providers are heard through this queue.
    pub fn new(runtime: Arc<Runtime>, catalog: Arc<Catalog>, queue: Arc<EventQueue>) -> Self {
        Self { runtime, catalog, queue, serving: Mutex::default() }
    }

    /// Gives these their places in the catalog, in order, where they count as loading from now on.
    pub fn arrange(&self, providers: &[Planned]) -> Vec<(u32, Planned)> {
        let placed: Vec<_> = providers.iter().map(|planned| (self.catalog.new_slot(), planned.clone())).collect();
        let position =
            |(slot, planned): &(u32, Planned)| Position { slot: *slot, name: planned.spec.name.clone(), rules: planned.rules.clone() };
        self.catalog.arrange(false, placed.iter().map(position).collect());
        placed
    }

    /// Loads them, the smallest file first, since that is up soonest; tells of each when it is done.
    pub async fn load(self: &Arc<Self>, mut providers: Vec<(u32, Planned)>, report: impl Fn(Report) + Clone + Send + Sync + 'static) {
        providers.sort_by_key(|(_, planned)| std::fs::metadata(&planned.path).map_or(0, |file| file.len()));
        let mut loading = JoinSet::new();
        for (slot, planned) in providers {
            let (this, report) = (self.clone(), report.clone());
            loading.spawn(async move {
                let (name, path) = (planned.spec.name.clone(), planned.path.clone());
                let fate = match this.load_one(slot, planned).await {
                    Ok(fate) => fate,
                    Err(refusal) => {
                        this.catalog.refuse(slot);
                        Fate::Refused(refusal.to_string())
                    }
                };
                report(Report { name, path, fate });
            });
        }
        while loading.join_next().await.is_some() {}
    }

    async fn load_one(&self, slot: u32, Planned { spec, path, .. }: Planned) -> Result<Fate, LoadError> {
        let began = Instant::now();
        let compiled = self.runtime.load(&spec.name, &path).await?;
        let announcer = Announcer::new(Source { slot, generation: 1 }, self.queue.clone());
        let provider = compiled.start(spec, announcer.clone()).await?;
        self.serving.lock().push(provider.clone());
        let lists = self.catalog.load(provider.clone(), &announcer).await;
        let snapshot = self.catalog.snapshot();
        let (resources, templates) = snapshot
            .serving()
            .find(|(place, _)| place.slot == slot)
            .map_or((0, 0), |(_, serving)| (serving.lists.resources.len(), serving.lists.templates.len()));
        let subscriptions = provider.offers().subscriptions;
        Ok(Fate::Loaded { resources, templates, subscriptions, lists, took: began.elapsed() })
    }

    /// Ends all providers, each within its deadline.
    pub async fn close(&self) {
        let serving = std::mem::take(&mut *self.serving.lock());
        futures_util::future::join_all(serving.iter().map(|provider| provider.close())).await;
    }
}
