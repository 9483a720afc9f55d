//! The provider in memory that the library's own tests have, and a host's catalog and subscriptions around it.

use std::sync::Arc;

use wharf::{
    catalog::{Catalog, Position, Rules},
    provider::*,
    subscriptions::Subscriptions,
};

#[path = "../../src/provider/memory.rs"]
mod provider;

pub use provider::{Memory, body, live};

/// A catalog with one provider, `memory`, and its subscriptions.
pub struct World {
    pub memory: Arc<Memory>,
    pub catalog: Arc<Catalog>,
    pub subscriptions: Subscriptions,
}

impl World {
    /// One whose provider has what `fill` puts there.
    pub async fn new(fill: impl FnOnce(&Memory)) -> Self {
        let queue = Arc::new(EventQueue::default());
        let memory = Memory::new(1, &queue, live());
        fill(&memory);
        let catalog = Catalog::new(std::time::Duration::from_secs(3), *b"a memory");
        catalog.arrange(false, vec![Position { slot: 1, name: "memory".into(), rules: Rules::default() }]);
        catalog.load(memory.clone(), &memory.announcer).await.expect("the memory lists");
        // What was there from the beginning is news to nobody.
        catalog.announce();
        let subscriptions = Subscriptions::new(catalog.clone());
        tokio::spawn({
            let (catalog, subscriptions) = (catalog.clone(), subscriptions.clone());
            async move {
                loop {
                    let mut event = queue.recv().await;
                    if event.take_list_changed() {
                        catalog.list_changed(event.source);
                    }
                    subscriptions.event(event).await;
                }
            }
        });
        Self { memory, catalog, subscriptions }
    }
}
