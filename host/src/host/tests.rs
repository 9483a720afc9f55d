//! What is announced, and where it goes.

use super::*;
use crate::{
    catalog::{Position, Rules},
    provider::{
        EventQueue, Occurrence,
        memory::{Memory, live},
    },
};

#[tokio::test(start_paused = true)]
async fn a_fresh_instance_and_one_that_says_so_are_asked_for_their_lists() {
    let queue = Arc::<EventQueue>::default();
    let catalog = Catalog::new(LOADING_TIME, [0; 8]);
    let provider = Memory::new(1, &queue, live());
    catalog.arrange(false, vec![Position { slot: 1, name: "p".into(), rules: Rules::default() }]);
    catalog.load(provider.clone(), &provider.announcer).await.unwrap();
    let pump = tokio::spawn(pump(queue, catalog.clone(), Subscriptions::new(catalog.clone())));
    for (uri, what) in [("x://a", Occurrence::Up), ("x://b", Occurrence::ListChanged)] {
        let mut changes = catalog.changes();
        provider.put(uri, "");
        provider.announcer.announce(what);
        tokio::time::timeout(LOADING_TIME, changes.changed()).await.expect("it is not asked").unwrap();
        assert_eq!(catalog.snapshot().candidates(uri).len(), 1);
    }
    pump.abort();
}
