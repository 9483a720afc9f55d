//! Reading a resource: who is asked, in which order, and what may be answered from what is kept.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::time::{Instant, timeout};

use super::{
    Caller, Candidate, Catalog, Snapshot, View,
    readings::{Form, Found, Kept},
};
use crate::{
    provider::{Begun, Contents, Error, Moment, ReadRequest, Reading, Reuse, Source, guarded},
    uri,
};

/// Walks over the candidates of one read that find nobody; a second one only if the catalog changed.
const VAIN_WALKS: usize = 2;
/// Walks of one read in all: another one follows where a provider was replaced while it answered. Past that its answer is taken all the
/// same, so that a provider that is replaced all the time can be read.
const READ_WALKS: usize = 8;

/// When to ask again for what a provider that still loads may have. Most of them take no longer.
const LOADING_RETRY: Duration = Duration::from_secs(1);

/// So many new owners are compared with the ones before at a time: their reads must not crowd out those of clients.
pub(super) const COMPARED_AT_ONCE: usize = 16;
/// So long a listener waits for that; then it is told.
const COMPARE_TIME: Duration = Duration::from_millis(250);

/// A resource that was read.
#[derive(Debug, Clone)]
pub struct Answered {
    /// One or more, each with its URI and the media type that the list says where the provider says none.
    pub contents: Arc<Vec<Contents>>,
    /// What remains of the time for which it may be reused; zero if it may not, or until announced.
    pub reuse: Duration,
    /// Whether caches may share it: the user said that the provider says the same to everyone.
    pub public: bool,
    pub(super) form: Option<Arc<Form>>,
}

impl Answered {
    /// The same for several, who make its form once.
    pub(super) fn shared(mut self) -> Self {
        self.form.get_or_insert_with(Arc::default);
        self
    }

    /// Whether the same answer may be given again, so that [`Catalog::encoded`] keeps its form.
    pub fn may_come_again(&self) -> bool {
        self.form.is_some()
    }
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
    /// Reads a resource from the first candidate in the caller's view that does not answer `not-found`. Waits for providers that still load and may go before
    /// it, at most the loading time; while one loads for longer, what nobody else has is unavailable there. Dropping the future gives up
    /// waiting.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn read(&self, caller: &Caller, uri: &str) -> Result<Answered, ReadError> {
        let view = caller.view();
        uri::check(uri).map_err(ReadError::InvalidUri)?;
        let uri: Arc<str> = uri.into();
        let (mut seen, mut in_vain) = (None, 0);
        'walks: for walk in 1..=READ_WALKS {
            let Some((snapshot, candidates)) = self.find(view, &uri, seen).await else { break };
            for candidate in candidates {
                let answer = self.read_at(&candidate, &uri).await;
                if matches!(answer, Err(Error::NotFound)) {
                    continue;
                }
                // A generation that was replaced meanwhile answers for nobody: its error may be that it ended, and what it says may be what
                // nobody is told of any more (law 5).
                if walk < READ_WALKS && !self.still_serves(candidate.source, &snapshot) {
                    seen = Some(snapshot.number);
                    continue 'walks;
                }
                return answer.map_err(|error| ReadError::Provider { provider: candidate.name, error });
            }
            in_vain += 1;
            if in_vain == VAIN_WALKS {
                break;
            }
            // Nobody wants it. Perhaps the lists are old: once more, if there is a newer catalog.
            seen = Some(snapshot.number);
        }
        Err(self.nobody(view))
    }

    /// Nobody has it; or not yet, while a provider still loads that may list it. To say that it does not exist would have clients forget it.
    fn nobody(&self, view: &View) -> ReadError {
        match self.seen_in(view).loading() {
            None => ReadError::NotFound,
            Some(provider) => {
                let error =
                    Error::Unavailable { message: "it is still being loaded, and may have this".into(), retry_after: Some(LOADING_RETRY) };
                ReadError::Provider { provider: provider.clone(), error }
            }
        }
    }

    /// The candidates for this URI, at least one, in a catalog newer than one that was seen already; waits for loading and refreshes as is
    /// needed.
    async fn find(&self, view: &View, uri: &str, seen: Option<u64>) -> Option<(Arc<Snapshot>, Vec<Candidate>)> {
        match self.found(view, uri, seen) {
            Some((snapshot, candidates)) if !snapshot.waits_for(candidates.first()) => return Some((snapshot, candidates)),
            _ => {}
        }
        let deadline = Instant::now() + self.loading_time;
        self.loaded_for_one(view, uri, deadline).await;
        if let Some(found) = self.found(view, uri, seen) {
            return Some(found);
        }
        self.refresh(view, deadline).await;
        self.found(view, uri, seen)
    }

    fn found(&self, view: &View, uri: &str, seen: Option<u64>) -> Option<(Arc<Snapshot>, Vec<Candidate>)> {
        let snapshot = self.seen_in(view);
        if seen.is_some_and(|seen| snapshot.number <= seen) {
            return None;
        }
        let candidates = snapshot.candidates(uri);
        (!candidates.is_empty()).then_some((snapshot, candidates))
    }

    async fn read_at(&self, candidate: &Candidate, uri: &Arc<str>) -> Result<Answered, Error> {
        let Candidate { source, provider, ledger, public, .. } = candidate;
        let kept = match self.readings.find(*source, uri, ledger, provider.offers().live) {
            Found::Fresh { contents, form, left } => return Ok(Answered { contents, reuse: left, public: *public, form }),
            Found::Stale(kept) => Some(kept),
            Found::Nothing => None,
        };
        if provider.is_busy() {
            return self.read_together(candidate, uri, kept).await;
        }
        self.read_anew(candidate, uri, kept, None).await
    }

    /// What the provider says; `begun` is told when its call has begun.
    pub(super) async fn read_anew(
        &self,
        candidate: &Candidate,
        uri: &Arc<str>,
        mut kept: Option<Kept>,
        begun: Option<Begun>,
    ) -> Result<Answered, Error> {
        let Candidate { source, provider, ledger, .. } = candidate;
        let mut moment = ledger.now(uri);
        // Its instance may have died since it was found: what the next one says of a version is about its own.
        kept = kept.filter(|kept| !provider.offers().live || kept.moment.instance == moment.instance);
        let if_none_match = kept.as_ref().and_then(|kept| kept.version.clone());
        let request = ReadRequest { uri: uri.clone(), matched: candidate.matched.clone(), if_none_match };
        let read = |request| match begun {
            None => provider.read(request),
            Some(begun) => provider.read_in_turn(request, begun),
        };
        let mut answer = guarded(|| read(request.clone())).await;
        if matches!(answer, Ok(None)) && provider.offers().live && ledger.instance() != moment.instance {
            // The instance died while the read waited for its turn: the next one was asked about a version that only the dead one knew.
            moment = ledger.now(uri);
            kept = None;
            answer = guarded(|| provider.read(ReadRequest { if_none_match: None, ..request })).await;
        }
        let watched = moment.watch.is_some();
        match (answer, kept) {
            (Ok(Some(reading)), _) => {
                let kept = taken(reading, candidate, uri, moment);
                let answered = kept.answered(candidate.public);
                self.readings.keep(*source, uri, kept, watched);
                Ok(answered)
            }
            (Ok(None), Some(kept)) => {
                let kept = kept.renewed(moment);
                let answered = kept.answered(candidate.public);
                self.readings.keep(*source, uri, kept, watched);
                Ok(answered)
            }
            (Ok(None), None) => Err(Error::Failed("it answered that nothing changed to a read that named no version".into())),
            (Err(error), _) => {
                if watched {
                    self.readings.failed(*source, uri);
                }
                Err(error)
            }
        }
    }

    /// An answer in the form in which it goes out, which `encode` makes of its contents, and of nothing else: of an answer that may come again
    /// the form is kept beside it. So all who call this have to want the same form.
    ///
    /// # Errors
    /// Those of `encode`.
    pub fn encoded<E>(&self, answered: &Answered, encode: impl FnOnce(&[Contents]) -> Result<Bytes, E>) -> Result<Bytes, E> {
        let Some(form) = &answered.form else { return encode(&answered.contents) };
        if let Some(bytes) = form.get() {
            return Ok(bytes);
        }
        let bytes = encode(&answered.contents)?;
        self.readings.keep_form(form, bytes.clone());
        Ok(bytes)
    }

    /// Whether a new owner answers, byte for byte, what all listeners know from the one before, so that none need be told that it changed hands
    /// (law 5). To be called once the new one watches. False where what they know is not known, and where it takes too long to tell.
    pub(crate) async fn answers_as_before(&self, before: Source, candidate: &Candidate, uri: &Arc<str>) -> bool {
        let Some(known) = self.readings.known(before, uri) else { return false };
        let comparing = async {
            let _permit = self.comparing.acquire().await.ok()?;
            let moment = candidate.ledger.now(uri);
            let request = ReadRequest { uri: uri.clone(), matched: candidate.matched.clone(), if_none_match: None };
            let reading = guarded(|| candidate.provider.read(request)).await.ok().flatten()?;
            let kept = taken(reading, candidate, uri, moment);
            // It stands for the last answer from now on, since nobody will ask for another.
            (kept.contents == known).then(|| self.readings.keep(candidate.source, uri, kept, true))
        };
        timeout(COMPARE_TIME, comparing).await.ok().flatten().is_some()
    }
}

/// What a provider said, made whole by what the list says.
fn taken(mut reading: Reading, candidate: &Candidate, uri: &Arc<str>, moment: Moment) -> Kept {
    for part in &mut reading.contents {
        part.uri.get_or_insert_with(|| uri.clone());
        if part.mime_type.is_none() {
            part.mime_type.clone_from(&candidate.mime_type);
        }
    }
    Kept::new(candidate.source, uri, reading, moment)
}

impl Kept {
    fn answered(&self, public: bool) -> Answered {
        Answered { contents: self.contents.clone(), reuse: remaining(self.reuse), public, form: self.form.clone() }
    }
}

fn remaining(reuse: Option<Reuse>) -> Duration {
    match reuse {
        Some(Reuse::For(time)) => time,
        Some(Reuse::UntilAnnounced) | None => Duration::ZERO,
    }
}
