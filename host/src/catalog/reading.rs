//! Reading a resource: who is asked, in which order, and what may be answered from what is kept.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{Caller, Candidate, Catalog, Snapshot, readings::Found};
use crate::{
    provider::{Contents, Error, ReadRequest, Reading, Reuse, guarded},
    uri,
};

/// Walks over the candidates of one read; a second one only if the catalog changed.
const READ_WALKS: usize = 2;

/// A resource that was read.
#[derive(Debug, Clone)]
pub struct Answered {
    /// One or more, each with its URI and the media type that the list says where the provider says none.
    pub contents: Arc<Vec<Contents>>,
    /// What remains of the time for which it may be reused; zero if it may not, or until announced.
    pub reuse: Duration,
    /// Whether caches may share it: the user said that the provider says the same to everyone.
    pub public: bool,
}

/// Why a read gave nothing.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReadError {
    /// Nobody owns it.
    #[error("Resource not found")]
    NotFound,
    /// It is no absolute URI of at most 8 KiB; says why.
    #[error("not a valid resource URI: {0}")]
    InvalidUri(&'static str),
    /// Its owner said no.
    #[error("{provider}: {error}")]
    Provider {
        /// The owner's name.
        provider: Arc<str>,
        /// What it said; never [`Error::NotFound`].
        error: Error,
    },
}

impl Catalog {
    /// Reads a resource from the first candidate that does not answer `not-found`. Waits for providers that still load and may go before
    /// it, at most the loading time. Dropping the future gives up waiting.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn read(&self, _caller: &Caller, uri: &str) -> Result<Answered, ReadError> {
        uri::check(uri).map_err(ReadError::InvalidUri)?;
        let uri: Arc<str> = uri.into();
        let mut seen = None;
        for _ in 0..READ_WALKS {
            let (snapshot, candidates) = self.find(&uri, seen).await.ok_or(ReadError::NotFound)?;
            for candidate in candidates {
                match self.read_at(&candidate, &uri).await {
                    Err(Error::NotFound) => {}
                    Err(error) => return Err(ReadError::Provider { provider: candidate.name, error }),
                    Ok(answered) => return Ok(answered),
                }
            }
            // Nobody wants it. Perhaps the lists are old: once more, if there is a newer catalog.
            seen = Some(snapshot.number);
        }
        Err(ReadError::NotFound)
    }

    /// The candidates for this URI, at least one, in a catalog newer than one that was seen already; waits for loading and refreshes as is
    /// needed.
    async fn find(&self, uri: &str, seen: Option<u64>) -> Option<(Arc<Snapshot>, Vec<Candidate>)> {
        match self.found(uri, seen) {
            Some((snapshot, candidates)) if !snapshot.waits_for(candidates.first()) => return Some((snapshot, candidates)),
            _ => {}
        }
        let deadline = Instant::now() + self.loading_time;
        self.loaded_for_one(uri, deadline).await;
        if let Some(found) = self.found(uri, seen) {
            return Some(found);
        }
        self.refresh(deadline).await;
        self.found(uri, seen)
    }

    fn found(&self, uri: &str, seen: Option<u64>) -> Option<(Arc<Snapshot>, Vec<Candidate>)> {
        let snapshot = self.snapshot();
        if seen.is_some_and(|seen| snapshot.number <= seen) {
            return None;
        }
        let candidates = snapshot.candidates(uri);
        (!candidates.is_empty()).then_some((snapshot, candidates))
    }

    async fn read_at(&self, candidate: &Candidate, uri: &Arc<str>) -> Result<Answered, Error> {
        let Candidate { source, provider, ledger, .. } = candidate;
        let mut kept = match self.readings.find(*source, uri, ledger, provider.offers().live) {
            Found::Fresh(contents, reuse) => return Ok(Answered { contents, reuse, public: candidate.public }),
            Found::Stale(kept) => Some(kept),
            Found::Nothing => None,
        };
        let mut moment = ledger.now(uri);
        let if_none_match = kept.as_ref().and_then(|kept| kept.version.clone());
        let request = ReadRequest { uri: uri.clone(), matched: candidate.matched.clone(), if_none_match };
        let mut answer = guarded(|| provider.read(request.clone())).await?;
        if answer.is_none() && provider.offers().live && ledger.instance() != moment.instance {
            // The instance died while the read waited for its turn: the next one was asked about a version that only the dead one knew.
            moment = ledger.now(uri);
            kept = None;
            answer = guarded(|| provider.read(ReadRequest { if_none_match: None, ..request })).await?;
        }
        match (answer, kept) {
            (Some(Reading { mut contents, version, reuse }), _) => {
                for part in &mut contents {
                    part.uri.get_or_insert_with(|| uri.clone());
                    if part.mime_type.is_none() {
                        part.mime_type.clone_from(&candidate.mime_type);
                    }
                }
                let contents = Arc::new(contents);
                self.readings.keep(*source, uri, &contents, version, reuse, moment);
                Ok(Answered { contents, reuse: remaining(reuse), public: candidate.public })
            }
            (None, Some(kept)) => {
                let answered = Answered { contents: kept.contents.clone(), reuse: remaining(kept.reuse), public: candidate.public };
                self.readings.renew(*source, uri, kept, moment);
                Ok(answered)
            }
            (None, None) => Err(Error::Failed("it answered that nothing changed to a read that named no version".into())),
        }
    }
}

fn remaining(reuse: Option<Reuse>) -> Duration {
    match reuse {
        Some(Reuse::For(time)) => time,
        Some(Reuse::UntilAnnounced) | None => Duration::ZERO,
    }
}
