//! Whose hook watches a URI: the catalog knows all direct registrations as one provider, so what changes hands among them is seen to here.
//!
//! Invariants: of each URI one call is under way, in order; an `on_unsubscribe` is called on the registration whose `on_subscribe` succeeded,
//! also once that is gone; when another registration gets a URI that is watched, its hook is called, then listeners are told, and only then
//! the hook of the one before (design law 5).

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;

use super::{Entry, Fixed, What};
use crate::provider::{Error, TemplateMatch, guarded};

/// A registration that has been asked to watch.
struct Watch {
    entry: Arc<Entry>,
    /// Its hook succeeded.
    stands: bool,
}

type Slot = Arc<tokio::sync::Mutex<Option<Watch>>>;

#[derive(Default)]
pub(super) struct Watches(Mutex<HashMap<Arc<str>, Slot>>);

impl Watches {
    fn slot(&self, uri: &Arc<str>) -> Slot {
        self.0.lock().entry(uri.clone()).or_default().clone()
    }

    /// Drops what nobody uses any more. `slot` is the caller's own.
    fn forget(&self, uri: &str, slot: &Slot) {
        let mut slots = self.0.lock();
        // The table's and the caller's: nobody else can have it now.
        if Arc::strong_count(slot) == 2 && slot.try_lock().is_ok_and(|watch| watch.is_none()) {
            slots.remove(uri);
        }
    }

    /// Those that such a registration could have.
    fn about(&self, what: &What) -> Vec<Arc<str>> {
        let slots = self.0.lock();
        match what {
            What::Resource(info) => slots.get_key_value(&info.uri).map(|(uri, _)| uri.clone()).into_iter().collect(),
            What::Template(family) => slots.keys().filter(|uri| family.template.matches(uri).is_some()).cloned().collect(),
        }
    }
}

impl Entry {
    async fn watch(&self, uri: Arc<str>, matched: Option<Arc<TemplateMatch>>) -> Result<(), Error> {
        match &self.watching.subscribe {
            Some(hook) if !self.watching.pointless => guarded(|| hook(uri, matched)).await,
            _ => Ok(()),
        }
    }

    async fn unwatch(&self, uri: Arc<str>) -> Result<(), Error> {
        match &self.watching.unsubscribe {
            Some(hook) if !self.watching.pointless => guarded(|| hook(uri, None)).await,
            _ => Ok(()),
        }
    }
}

impl Fixed {
    pub(super) async fn watch(&self, uri: Arc<str>, matched: Option<Arc<TemplateMatch>>) -> Result<(), Error> {
        let slot = self.watches.slot(&uri);
        let mut watch = slot.lock().await;
        let result = match self.find(&uri, matched.as_deref()) {
            Some((entry, matched)) => {
                let result = entry.watch(uri.clone(), matched).await;
                *watch = result.is_ok().then_some(Watch { entry, stands: true });
                result
            }
            None => Err(Error::NotFound),
        };
        let still = match &*watch {
            Some(watch) => self.find(&uri, None).is_none_or(|(entry, _)| entry.id == watch.entry.id),
            None => true,
        };
        drop(watch);
        if !still {
            // It changed hands while its hook ran.
            self.rebind_later(uri.clone());
        }
        self.watches.forget(&uri, &slot);
        result
    }

    pub(super) async fn unwatch(&self, uri: Arc<str>) -> Result<(), Error> {
        let slot = self.watches.slot(&uri);
        let taken = {
            let mut watch = slot.lock().await;
            match watch.take() {
                Some(Watch { entry, stands: true }) => entry.unwatch(uri.clone()).await,
                _ => Ok(()),
            }
        };
        self.watches.forget(&uri, &slot);
        taken
    }

    /// A registration came or went.
    pub(super) fn changes_hands(&self, what: &What) {
        if let What::Resource(info) = what {
            // What another registration answers is no answer of this one's.
            self.announcer.ledger().raise(&info.uri);
        }
        for uri in self.watches.about(what) {
            self.rebind_later(uri);
        }
    }

    fn rebind_later(&self, uri: Arc<str>) {
        if let (Some(runtime), Some(this)) = (&self.runtime, self.this.upgrade()) {
            runtime.spawn(async move { this.rebind(uri).await });
        }
    }

    async fn rebind(&self, uri: Arc<str>) {
        let slot = self.watches.slot(&uri);
        let mut watch = slot.lock().await;
        if let Some(before) = &*watch
            // That nobody has it is what the catalog sees: then it is unsubscribed.
            && let Some((entry, matched)) = self.find(&uri, None)
            && entry.id != before.entry.id
        {
            let result = entry.watch(uri.clone(), matched).await;
            if let Err(error) = &result {
                tracing::warn!(%uri, kind = error.kind(), "changed hands, and cannot be watched any more: {error}");
            }
            let before = watch.replace(Watch { entry, stands: result.is_ok() });
            self.announcer.updated(uri.clone());
            if let Some(Watch { entry, stands: true }) = before
                && let Err(error) = entry.unwatch(uri.clone()).await
            {
                tracing::debug!(%uri, kind = error.kind(), "unsubscribe failed: {error}");
            }
        }
        drop(watch);
        self.watches.forget(&uri, &slot);
    }
}
