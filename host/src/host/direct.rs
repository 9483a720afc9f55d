//! The direct registrations: resources and templates, wharf.toml's among them, in one provider, and after it the program's own providers.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::configured::Configured;
use crate::{
    catalog::{Catalog, Position, Rules},
    config,
    provider::{
        Announcer, EventQueue, Occurrence, Provider, Source,
        fixed::{Fixed, NotOwned, RegisterError},
        grants::files::Guarded,
    },
};

/// The name of the provider that has them, in logs and errors.
const NAME: &str = "wharf";

/// See the module's page.
pub(super) struct Direct {
    catalog: Arc<Catalog>,
    queue: Arc<EventQueue>,
    fixed: Arc<Fixed>,
    configured: Arc<Configured>,
    order: Arc<Mutex<Vec<Position>>>,
}

impl Direct {
    pub(super) async fn start(
        catalog: Arc<Catalog>,
        queue: Arc<EventQueue>,
        (resources, guarded): (&[config::Resource], Guarded),
    ) -> Result<Self, RegisterError> {
        let source = Source { slot: catalog.new_slot(), generation: 1 };
        let announcer = Announcer::new(source, queue.clone());
        let weak = Arc::downgrade(&catalog);
        let fixed = Fixed::new(announcer.clone(), move || {
            if let Some(catalog) = weak.upgrade() {
                catalog.list_changed(source);
            }
        });
        let configured = Configured::new(fixed.clone(), announcer.clone());
        configured.set(resources, guarded)?;
        let order = vec![Position { slot: source.slot, name: NAME.into(), rules: Rules::default() }];
        catalog.arrange(true, order.clone());
        // It cannot fail to list.
        let _ = catalog.load(fixed.clone(), &announcer).await;
        Ok(Self { catalog, queue, fixed, configured: Arc::new(configured), order: Arc::new(Mutex::new(order)) })
    }

    pub(super) fn fixed(&self) -> &Arc<Fixed> {
        &self.fixed
    }

    /// Those of wharf.toml.
    pub(super) fn configured(&self) -> &Arc<Configured> {
        &self.configured
    }

    pub(super) async fn provider(
        &self,
        name: String,
        make: impl FnOnce(Announcer) -> Arc<dyn Provider>,
    ) -> Result<ProviderHandle, RegisterError> {
        let source = Source { slot: self.catalog.new_slot(), generation: 1 };
        let announcer = Announcer::new(source, self.queue.clone());
        {
            let mut order = self.order.lock();
            if order.iter().any(|position| *position.name == *name) {
                return Err(RegisterError::DuplicateName(name));
            }
            order.push(Position { slot: source.slot, name: name.into(), rules: Rules::default() });
            self.catalog.arrange(true, order.clone());
        }
        let provider = make(announcer.clone());
        if let Err(error) = self.catalog.load(provider.clone(), &announcer).await {
            tracing::warn!(slot = source.slot, kind = error.kind(), "did not list: {error}; it is asked again");
        }
        Ok(ProviderHandle { announcer, provider, catalog: Arc::downgrade(&self.catalog), order: self.order.clone() })
    }
}

/// A registered provider of the program's own. Dropping the handle changes nothing.
#[derive(Clone)]
pub struct ProviderHandle {
    announcer: Announcer,
    provider: Arc<dyn Provider>,
    catalog: Weak<Catalog>,
    order: Arc<Mutex<Vec<Position>>>,
}

impl ProviderHandle {
    /// The content of one of its resources has changed: whoever subscribed to it is told.
    ///
    /// # Errors
    /// [`NotOwned`] if the provider neither lists it nor has a template for it, or is not registered any more.
    pub fn notify_updated(&self, uri: impl Into<Arc<str>>) -> Result<(), NotOwned> {
        let uri = uri.into();
        let snapshot = self.catalog.upgrade().map(|catalog| catalog.snapshot());
        let candidates = snapshot.map(|snapshot| snapshot.candidates(&uri)).unwrap_or_default();
        if !candidates.iter().any(|candidate| candidate.source == self.announcer.source()) {
            return Err(NotOwned(uri.to_string()));
        }
        self.announcer.updated(uri);
        Ok(())
    }

    /// Its lists would be answered differently now.
    pub fn notify_changed(&self) {
        self.announcer.announce(Occurrence::ListChanged);
    }

    /// Takes it away, and ends it. Nothing if it was taken away already.
    pub async fn unregister(&self) {
        let Some(catalog) = self.catalog.upgrade() else { return };
        let slot = self.announcer.source().slot;
        {
            let mut order = self.order.lock();
            let before = order.len();
            order.retain(|position| position.slot != slot);
            if order.len() == before {
                return;
            }
            catalog.arrange(true, order.clone());
        }
        self.provider.close().await;
    }
}
