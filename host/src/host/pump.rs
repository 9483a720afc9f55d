//! Takes what providers announce to where it belongs.
//!
//! Invariant: an event is dealt with before the next is taken; till then they are joined in the queue, which is bounded.

use std::sync::Arc;

use crate::{
    admin::Feed,
    catalog::Catalog,
    provider::{EventQueue, ProviderEvent},
    subscriptions::Subscriptions,
};

/// Runs for as long as the host.
pub(super) async fn run(queue: Arc<EventQueue>, catalog: Arc<Catalog>, subscriptions: Subscriptions, feed: Arc<Feed>) {
    loop {
        let event = queue.recv().await;
        feed.announced(&event, &catalog);
        pass_on(event, &catalog, &subscriptions).await;
    }
}

async fn pass_on(mut event: ProviderEvent, catalog: &Catalog, subscriptions: &Subscriptions) {
    // A fresh instance may list something else.
    if event.take_list_changed() || event.up {
        catalog.list_changed(event.source);
    }
    subscriptions.event(event).await;
}

/// Likewise, where nobody listens to what happens.
#[cfg(test)]
pub(crate) async fn pump(queue: Arc<EventQueue>, catalog: Arc<Catalog>, subscriptions: Subscriptions) {
    run(queue, catalog, subscriptions, Arc::default()).await;
}
