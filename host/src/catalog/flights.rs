//! Reads that wait for a busy provider: it is asked once for all who want the same.
//!
//! A thousand listeners that are told of one change read it within a moment. While their provider is busy, the reads that would wait become
//! one call, and its answer, with the form in which it goes out, is everyone's.
//!
//! Invariant (law 7): whoever is answered by a call came before it began.

use std::{collections::HashMap, sync::Arc};

use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared, WeakShared},
};
use parking_lot::Mutex;

use super::{Candidate, Catalog, reading::Answered, readings::Kept};
use crate::provider::{Begun, Error, Source, TemplateMatch};

type Asked = BoxFuture<'static, Result<Answered, Error>>;

/// A call that waits for its turn, or is under way.
struct Flight {
    begun: Begun,
    answer: WeakShared<Asked>,
    /// As whose answer it is taken: another catalog may see the same URI otherwise.
    matched: Option<Arc<TemplateMatch>>,
    mime_type: Option<String>,
}

impl Flight {
    /// The answer, if one may still wait for it who sees the URI so.
    fn join(&self, candidate: &Candidate) -> Option<Shared<Asked>> {
        let fits = self.matched == candidate.matched && self.mime_type == candidate.mime_type && !self.begun.has();
        // Gone if all who waited are.
        fits.then(|| self.answer.upgrade()).flatten()
    }
}

type Key = (Source, Arc<str>);

/// See the module's page. At most as many as there are reads.
#[derive(Default)]
pub(super) struct Flights(Mutex<HashMap<Key, Flight>>);

impl Catalog {
    /// Reads at a busy provider, together with others. It may say that what is `kept` still holds.
    pub(super) async fn read_together(&self, candidate: &Candidate, uri: &Arc<str>, kept: Option<Kept>) -> Result<Answered, Error> {
        let Some(catalog) = self.this.upgrade() else { return Err(Error::unavailable("the host ends")) };
        let flight = {
            let mut flights = self.flights.0.lock();
            let key = (candidate.source, uri.clone());
            match flights.get(&key).and_then(|flight| flight.join(candidate)) {
                Some(flight) => flight,
                None => {
                    let begun = Begun::default();
                    let flight = catalog.take_off(candidate.clone(), uri.clone(), kept, begun.clone()).shared();
                    if let Some(answer) = flight.downgrade() {
                        let Candidate { matched, mime_type, .. } = candidate;
                        flights.insert(key, Flight { begun, answer, matched: matched.clone(), mime_type: mime_type.clone() });
                    }
                    flight
                }
            }
        };
        let answered = flight.await?;
        Ok(Answered { public: candidate.public, ..answered })
    }

    fn take_off(self: Arc<Self>, candidate: Candidate, uri: Arc<str>, kept: Option<Kept>, begun: Begun) -> Asked {
        let landing = Landing { catalog: self, key: (candidate.source, uri), begun };
        async move {
            let Landing { catalog, key: (_, uri), begun } = &landing;
            catalog.read_anew(&candidate, uri, kept, Some(begun.clone())).await.map(Answered::shared)
        }
        .boxed()
    }

    /// How many there are.
    #[cfg(test)]
    pub(super) fn flights(&self) -> usize {
        self.flights.0.lock().len()
    }
}

/// Takes a flight away when it has ended, or when nobody waits for it any more.
struct Landing {
    catalog: Arc<Catalog>,
    key: Key,
    begun: Begun,
}

impl Drop for Landing {
    fn drop(&mut self) {
        let mut flights = self.catalog.flights.0.lock();
        // Another may have begun in its place.
        if flights.get(&self.key).is_some_and(|flight| flight.begun.is(&self.begun)) {
            flights.remove(&self.key);
        }
    }
}
