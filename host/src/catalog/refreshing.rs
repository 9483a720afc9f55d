//! Asking providers for their lists again, as [`super::upkeep`] says.

use std::sync::Arc;

use futures_util::future::join_all;
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep_until, timeout_at},
};

use super::{Catalog, Lists, State, View, upkeep::Turn};
use crate::provider::Source;

impl Catalog {
    /// Asks all in this view whose lists are old, and waits for them until the deadline; those that take longer are not disturbed.
    pub(super) async fn refresh(&self, view: &View, deadline: Instant) {
        let seen = match view {
            View::Everything => None,
            View::Only(_) => Some(self.seen_in(view)),
        };
        let shows = |source: Source| seen.as_ref().is_none_or(|seen| seen.places.iter().any(|place| place.slot == source.slot));
        let asking: Vec<_> = self.upkeep.stale(shows).into_iter().filter_map(|turn| self.ask_again(turn)).collect();
        let settled = async {
            join_all(asking).await;
            self.upkeep.settled(shows).await;
        };
        let _ = timeout_at(deadline, settled).await;
    }

    pub(super) fn ask_again(&self, turn: Turn) -> Option<JoinHandle<()>> {
        let this = self.this.upgrade()?;
        Some(tokio::spawn(async move {
            let mut turn = Some(turn);
            while let Some(Turn { source, at }) = turn {
                sleep_until(at).await;
                turn = this.ask(source).await;
            }
        }))
    }

    async fn ask(&self, source: Source) -> Option<Turn> {
        let snapshot = self.snapshot();
        let found = snapshot.serving().find(|(_, serving)| serving.source == source);
        let Some((place, serving)) = found else { return self.upkeep.asked(source, None) };
        self.upkeep.begins(source);
        let reuse = match Lists::fetch(&*serving.provider, place.direct).await {
            Ok((lists, reuse)) => {
                if !lists.says_the_same(&serving.lists) {
                    lists.warn(&place.name);
                    self.replace(source, lists);
                }
                Some(reuse)
            }
            Err(error) => {
                tracing::warn!(provider = %place.name, kind = error.kind(), "its list is kept as it was, since it failed to list: {error}");
                None
            }
        };
        self.upkeep.asked(source, reuse)
    }

    fn replace(&self, source: Source, lists: Lists) {
        self.publish(|places| {
            let serving = places.iter_mut().find_map(|place| match &mut place.state {
                State::Serving(serving) if serving.source == source => Some(serving),
                _ => None,
            });
            if let Some(serving) = serving {
                serving.lists = Arc::new(lists);
            }
        });
    }
}
