//! All providers of the plugins folder and of the configuration, each kept by a task of its own.
//!
//! Invariants: a provider keeps its place for as long as the plan has its name, whatever becomes of its file; one that only changes its place,
//! claims or publicity is not loaded again; while the host serves, nobody waits for one that is loaded for the first time.

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{error::Elapsed, timeout},
};

use super::{
    Fate, Planned, Progress, Report, Standing,
    factory::Factory,
    keeper::{Common, Keeper, Serving, Wanted, drain},
    watch::Resting,
};
use crate::{
    catalog::{Catalog, Position},
    provider::{EventQueue, Provider, wasm::Runtime},
};

/// One provider's keeper.
struct Kept {
    slot: u32,
    wanted: watch::Sender<Wanted>,
    serving: Serving,
    progress: Arc<Mutex<Progress>>,
    /// Whether it has been tried.
    first: watch::Receiver<bool>,
    task: Option<JoinHandle<()>>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

#[derive(Default)]
struct State {
    kept: HashMap<Arc<str>, Kept>,
    /// As the catalog has it.
    order: Vec<Position>,
    begun: bool,
    closed: bool,
}

/// Loads providers into a catalog, follows their files, and ends them.
pub struct Loader {
    common: Arc<Common>,
    state: Mutex<State>,
}

impl Loader {
    /// A loader whose providers are heard through this queue. `report` is called with what becomes of each of them; it must not take long.
    pub fn new(
        runtime: Arc<Runtime>,
        catalog: Arc<Catalog>,
        queue: Arc<EventQueue>,
        report: impl Fn(Report) + Send + Sync + 'static,
    ) -> Self {
        Self::with(runtime, catalog, queue, report)
    }

    pub(super) fn with(
        factory: impl Factory,
        catalog: Arc<Catalog>,
        queue: Arc<EventQueue>,
        report: impl Fn(Report) + Send + Sync + 'static,
    ) -> Self {
        let common = Common { factory: Box::new(factory), catalog, queue, report: Box::new(report) };
        Self { common: Arc::new(common), state: Mutex::default() }
    }

    /// These are the providers from now on, in this order, with how their files rest. What is new is loaded, the smallest file first, what
    /// changed is replaced, what is not named any more is taken away; returns at once. The first time, requests wait for what is loaded.
    /// To be called within a tokio runtime.
    pub fn follow(&self, plan: &[Planned], rests: impl Fn(&Planned) -> Resting) {
        let mut state = self.state.lock();
        if state.closed {
            return;
        }
        let begun = std::mem::replace(&mut state.begun, true);
        let mut gone = std::mem::take(&mut state.kept);
        let (mut order, mut starting) = (Vec::with_capacity(plan.len()), Vec::new());
        for planned in plan {
            let name = &planned.spec.name;
            let wanted = Wanted { planned: planned.clone(), rests: rests(planned) };
            let kept = match gone.remove(name) {
                Some(kept) => {
                    kept.wanted.send_if_modified(|before| {
                        let news = before.is_news(&wanted);
                        *before = wanted;
                        news
                    });
                    kept
                }
                None => {
                    let (kept, start) = self.kept(wanted);
                    starting.push((planned, kept.slot, start));
                    kept
                }
            };
            order.push(Position { slot: kept.slot, name: name.clone(), rules: planned.rules.clone() });
            state.kept.insert(name.clone(), kept);
        }
        if order != state.order {
            self.common.catalog.arrange(false, order.clone());
            state.order = order;
        }
        starting.sort_by_key(|(planned, ..)| std::fs::metadata(&planned.path).map_or(0, |file| file.len()));
        for (planned, slot, start) in starting {
            if begun {
                self.common.catalog.refuse(slot);
            }
            if let Some(kept) = state.kept.get_mut(&planned.spec.name) {
                kept.task = Some(tokio::spawn(start));
            }
        }
        drop(state);
        for (name, kept) in gone {
            self.take_away(name, &kept);
        }
    }

    fn kept(&self, wanted: Wanted) -> (Kept, impl Future<Output = ()> + Send + use<>) {
        let slot = self.common.catalog.new_slot();
        let (serving, progress) = (Serving::default(), Arc::<Mutex<Progress>>::default());
        let keeper = Keeper::new(self.common.clone(), slot, serving.clone(), progress.clone());
        let (wanted, wants) = watch::channel(wanted);
        let (tried, first) = watch::channel(false);
        (Kept { slot, wanted, serving, progress, first, task: None }, keeper.run(wants, tried))
    }

    /// Its place is gone already.
    fn take_away(&self, name: Arc<str>, kept: &Kept) {
        let provider = kept.serving.lock().take();
        let Some(provider) = provider else { return };
        let Planned { spec, path, .. } = kept.wanted.borrow().planned.clone();
        drain(&spec, provider);
        (self.common.report)(Report { name, path, fate: Fate::Removed });
    }

    /// The provider of this name, if it serves.
    pub fn serving(&self, name: &str) -> Option<Arc<dyn Provider>> {
        self.state.lock().kept.get(name)?.serving.lock().clone()
    }

    /// As [`Loader::serving`], but waits at most so long for one that is being loaded for the first time.
    ///
    /// # Errors
    /// It takes longer.
    pub async fn serving_within(&self, name: &str, time: Duration) -> Result<Option<Arc<dyn Provider>>, Elapsed> {
        let first = self.state.lock().kept.get(name).map(|kept| kept.first.clone());
        if let Some(mut first) = first {
            // It ends without a word only if it was taken away.
            timeout(time, first.wait_for(|tried| *tried)).await.map(drop)?;
        }
        Ok(self.serving(name))
    }

    /// How each provider stands, in order. None before the first look at what there is, and after the end.
    pub fn standings(&self) -> Option<Vec<Standing>> {
        let state = self.state.lock();
        let standing = |position: &Position| {
            let kept = state.kept.get(&position.name)?;
            let planned = kept.wanted.borrow().planned.clone();
            Some(Standing {
                slot: kept.slot,
                planned,
                tried: *kept.first.borrow(),
                progress: kept.progress.lock().clone(),
                serving: kept.serving.lock().clone(),
            })
        };
        (state.begun && !state.closed).then(|| state.order.iter().filter_map(standing).collect())
    }

    /// Whether a provider of this name is being loaded for the first time, and is granted this webhook.
    pub fn will_take(&self, name: &str, webhook: &str) -> bool {
        let state = self.state.lock();
        let Some(kept) = state.kept.get(name).filter(|kept| !*kept.first.borrow()) else { return false };
        kept.wanted.borrow().planned.spec.grants.webhooks.iter().any(|granted| granted.name == webhook)
    }

    /// Returns when each provider there is has been tried.
    pub async fn tried(&self) {
        let waiting: Vec<_> = self.state.lock().kept.values().map(|kept| kept.first.clone()).collect();
        for mut first in waiting {
            // It ends without a word only if it was taken away.
            let _ = first.wait_for(|tried| *tried).await;
        }
    }

    /// Ends all providers, each within its deadline.
    pub async fn close(&self) {
        let kept = {
            let mut state = self.state.lock();
            state.closed = true;
            std::mem::take(&mut state.kept)
        };
        let serving: Vec<_> = kept.values().filter_map(|kept| kept.serving.lock().take()).collect();
        drop(kept);
        join_all(serving.iter().map(|provider| provider.close())).await;
    }
}

impl Wanted {
    /// Whether another one is a reason to look at the file.
    fn is_news(&self, other: &Self) -> bool {
        self.rests != other.rests || self.planned.spec != other.planned.spec || self.planned.path != other.planned.path
    }
}
