//! The whole host at one moment.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::SystemTime,
};

use serde::{Deserialize, Serialize};

use super::{Admin, denials};
use crate::{
    catalog::{Place, Snapshot, State as PlaceState},
    plugins::Standing,
    provider::{
        grants::Rights,
        tally::{Life, Outcome, Tally},
    },
    subscriptions::Subscribed,
};

/// Digits of a content's hash that are shown.
const HASH_DIGITS: usize = 12;

/// What `/status` says; see [`super`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Of the program.
    pub version: String,
    /// When it was started.
    pub started: String,
    /// How long ago that was.
    pub uptime_seconds: u64,
    /// What `/readyz` says.
    pub ready: bool,
    /// The required providers that do not serve.
    pub not_ready: Vec<String>,
    /// In the order of precedence.
    pub providers: Vec<ProviderStatus>,
    /// Legacy sessions.
    pub sessions: usize,
    /// Sessions, listens, and what tools watch.
    pub listeners: usize,
    /// By URI.
    pub subscriptions: Vec<SubscriptionStatus>,
}

/// How far a provider is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It is loaded for the first time.
    Loading,
    /// It serves.
    Serving,
    /// Its instance died, and a fresh one is being made.
    Restarting,
    /// It keeps dying, and there is a pause before the next try.
    Parked,
    /// It does not load.
    Refused,
    /// Its file is not there.
    Gone,
}

impl State {
    /// All there are.
    pub const ALL: [Self; 6] = [Self::Loading, Self::Serving, Self::Restarting, Self::Parked, Self::Refused, Self::Gone];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Loading => "loading",
            Self::Serving => "serving",
            Self::Restarting => "restarting",
            Self::Parked => "parked",
            Self::Refused => "refused",
            Self::Gone => "gone",
        }
    }
}

/// One provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderStatus {
    /// Its name.
    pub name: String,
    /// Whether it is a direct registration: of those little else is known.
    pub direct: bool,
    /// Whether the host is not ready without it.
    pub required: bool,
    /// How far it is.
    pub state: State,
    /// What is wrong, if something is.
    pub reason: Option<String>,
    /// Since when it is in this state.
    pub since: Option<String>,
    /// The component.
    pub file: Option<String>,
    /// The beginning of the blake3 of what serves.
    pub hash: Option<String>,
    /// Counts the tries to load it.
    pub generation: u64,
    /// How often one version took the place of another.
    pub reloads: u64,
    /// How often a fresh instance took the place of one that died.
    pub restarts: u64,
    /// How many it lists.
    pub resources: usize,
    /// How many it has.
    pub templates: usize,
    /// URIs of it that somebody listens to.
    pub subscriptions: usize,
    /// Calls by how they ended.
    pub calls: BTreeMap<String, u64>,
    /// Those that were its fault.
    pub errors: u64,
    /// The last of them.
    pub last_error: Option<LastErrorStatus>,
    /// Of all memories of its instances.
    pub memory_bytes: Option<u64>,
    /// What one instance may have.
    pub memory_limit_bytes: Option<u64>,
    /// What waits for it.
    pub queue: QueueStatus,
    /// What it was denied.
    pub denied: Vec<DeniedStatus>,
    /// How often it was denied other things than are remembered.
    pub denied_others: u64,
}

/// The last call that was a provider's fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastErrorStatus {
    /// How it ended.
    pub kind: String,
    /// Which call it was.
    pub call: String,
    /// What it said.
    pub message: String,
    /// When.
    pub at: String,
}

/// Calls that wait for a provider's instance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueStatus {
    /// Reads and completions.
    pub reads: usize,
    /// Lists, subscribes and unsubscribes.
    pub controls: usize,
    /// Webhooks.
    pub webhooks: usize,
}

/// Something that a provider was denied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeniedStatus {
    /// The line of `[provider.grants]` that would allow it.
    pub line: String,
    /// How often.
    pub times: u64,
}

/// A URI that somebody listens to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscriptionStatus {
    /// Which.
    pub uri: String,
    /// How many.
    pub listeners: usize,
    /// Who owns it, if somebody does.
    pub provider: Option<String>,
}

/// One provider that is a component, with what is counted of it.
pub(super) struct Known {
    pub standing: Standing,
    pub tally: Arc<Tally>,
}

impl Known {
    pub fn state(&self) -> State {
        let Standing { serving, tried, progress, .. } = &self.standing;
        match (serving, self.tally.life().0) {
            (Some(_), Life::Alive) => State::Serving,
            (Some(_), Life::Restarting) => State::Restarting,
            (Some(_), Life::Parked) => State::Parked,
            (None, _) if !tried => State::Loading,
            (None, _) if progress.gone => State::Gone,
            (None, _) => State::Refused,
        }
    }

    fn since(&self) -> SystemTime {
        let since = self.standing.progress.since;
        let (_, life) = self.tally.life();
        life.filter(|_| self.standing.serving.is_some()).map_or(since, |life| life.max(since))
    }

    pub fn queue(&self) -> QueueStatus {
        let depths = self.standing.serving.as_ref().map(|serving| serving.depths()).unwrap_or_default();
        QueueStatus { reads: depths.reads, controls: depths.controls, webhooks: depths.webhooks }
    }

    fn status(&self, rights: Option<&Rights>, lists: (usize, usize), subscriptions: usize) -> ProviderStatus {
        let (progress, planned, tally) = (&self.standing.progress, &self.standing.planned, &self.tally);
        let (denied, denied_others) = rights.map(denials::of).unwrap_or_default();
        let last_error = tally.last_error().map(|error| LastErrorStatus {
            kind: error.outcome.name().into(),
            call: error.call.into(),
            message: error.message,
            at: moment(error.at),
        });
        ProviderStatus {
            name: planned.spec.name.to_string(),
            direct: false,
            required: planned.required,
            state: self.state(),
            reason: progress.reason.clone(),
            since: Some(moment(self.since())),
            file: Some(planned.path.display().to_string()),
            hash: progress.content.map(|hash| hash.to_hex()[..HASH_DIGITS].to_owned()),
            generation: progress.generation,
            reloads: progress.reloads,
            restarts: tally.restarts(),
            resources: lists.0,
            templates: lists.1,
            subscriptions,
            calls: Outcome::ALL.into_iter().map(|outcome| (outcome.name().to_owned(), tally.calls(outcome))).collect(),
            errors: tally.errors(),
            last_error,
            memory_bytes: Some(tally.memory()),
            memory_limit_bytes: Some(planned.spec.limits.memory),
            queue: self.queue(),
            denied,
            denied_others,
        }
    }
}

impl Admin {
    /// All components there are to be, in order; none once the host has ended.
    pub(super) fn known(&self) -> Vec<Known> {
        let (Some(loader), Some(runtime)) = (self.loader.upgrade(), self.runtime.upgrade()) else { return Vec::new() };
        let standings = loader.standings().unwrap_or_default();
        standings.into_iter().map(|standing| Known { tally: runtime.tally(&standing.planned.spec.name), standing }).collect()
    }

    /// The names of the required providers that do not serve. None where nobody has looked yet what there is.
    pub(super) fn not_ready(&self) -> Option<Vec<String>> {
        self.loader.upgrade()?.standings()?;
        let known = self.known();
        let lacking = known.iter().filter(|known| known.standing.planned.required && known.state() != State::Serving);
        Some(lacking.map(|known| known.standing.planned.spec.name.to_string()).collect())
    }

    /// The whole host, now.
    pub async fn status(&self) -> Status {
        let subscribed = self.subscriptions.table().await;
        let snapshot = self.catalog.snapshot();
        let rights = self.runtime.upgrade().map(|runtime| runtime.all_rights()).unwrap_or_default();
        let rights: HashMap<&str, &Rights> = rights.iter().map(|rights| (&**rights.provider(), rights)).collect();
        let mut owned: HashMap<&str, usize> = HashMap::new();
        for provider in subscribed.iter().filter_map(|one| one.provider.as_deref()) {
            *owned.entry(provider).or_default() += 1;
        }
        let owned = |name: &str| owned.get(name).copied().unwrap_or_default();
        let direct = snapshot.places.iter().filter(|place| place.direct).map(|place| of_direct(place, owned(&place.name)));
        let known = self.known();
        let others = known.iter().map(|known| {
            let name = &*known.standing.planned.spec.name;
            known.status(rights.get(name).copied(), lists(&snapshot, known.standing.slot), owned(name))
        });
        let not_ready = self.not_ready();
        Status {
            version: env!("CARGO_PKG_VERSION").into(),
            started: moment(self.started),
            uptime_seconds: self.began.elapsed().as_secs(),
            ready: not_ready.as_ref().is_some_and(Vec::is_empty),
            not_ready: not_ready.unwrap_or_default(),
            providers: direct.chain(others).collect(),
            sessions: self.server.upgrade().map_or(0, |server| server.session_count()),
            listeners: self.subscriptions.traffic().listeners(),
            subscriptions: subscribed.iter().map(of_subscribed).collect(),
        }
    }
}

fn of_subscribed(Subscribed { uri, listeners, provider }: &Subscribed) -> SubscriptionStatus {
    SubscriptionStatus { uri: uri.to_string(), listeners: *listeners, provider: provider.as_ref().map(ToString::to_string) }
}

/// How many resources and templates the provider in this slot lists.
pub(super) fn lists(snapshot: &Snapshot, slot: u32) -> (usize, usize) {
    snapshot.places.iter().find(|place| place.slot == slot).map_or((0, 0), counts)
}

fn counts(place: &Place) -> (usize, usize) {
    match &place.state {
        PlaceState::Serving(serving) => (serving.lists.resources.len(), serving.lists.templates.len()),
        PlaceState::Loading(_) | PlaceState::Refused => (0, 0),
    }
}

fn of_direct(place: &Place, subscriptions: usize) -> ProviderStatus {
    let (resources, templates) = counts(place);
    ProviderStatus {
        name: place.name.to_string(),
        direct: true,
        required: false,
        state: match place.state {
            PlaceState::Loading(_) => State::Loading,
            PlaceState::Refused => State::Refused,
            PlaceState::Serving(_) => State::Serving,
        },
        reason: None,
        since: None,
        file: None,
        hash: None,
        generation: 0,
        reloads: 0,
        restarts: 0,
        resources,
        templates,
        subscriptions,
        calls: Outcome::ALL.into_iter().map(|outcome| (outcome.name().to_owned(), 0)).collect(),
        errors: 0,
        last_error: None,
        memory_bytes: None,
        memory_limit_bytes: None,
        queue: QueueStatus::default(),
        denied: Vec::new(),
        denied_others: 0,
    }
}

/// RFC 3339 in UTC, with milliseconds.
pub(super) fn moment(at: SystemTime) -> String {
    humantime::format_rfc3339_millis(at).to_string()
}
