//! The serial reducer of one view: who listens to what, and who owns what is listened to. It does nothing itself and knows no time: its methods are
//! the inputs, what is to be done comes out as [`Effect`]s.
//!
//! Invariants (design laws 1 to 5, 10 and 11):
//! - One call per URI is in flight, so calls about a URI reach providers in the order in which they were decided.
//! - A provider is told `subscribe` only while someone listens and it does not watch already, `unsubscribe` only if it watches.
//! - When an owner changes, the new one watches before the listeners are told, and they are told before the old one is let go. They are not
//!   told if the new one then answered, byte for byte, what the one before did last.
//! - A listener that was answered while nobody watched for it is owed one `updated` as soon as somebody does.

mod search;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use super::{
    LimitError, Subscribed,
    binding::{Binding, Owner, Standing, Watch},
};
use crate::{
    catalog::{Candidate, Snapshot},
    provider::{Source, Updated},
};

/// URIs one listener may subscribe to.
pub const SUBSCRIPTIONS_PER_LISTENER: usize = 10_000;
/// What all subscriptions of the host may take, in bytes.
pub const SUBSCRIPTION_BYTES: usize = 64 << 20;
/// What a subscription takes besides its URI: its entries in the listener's set, the binding and the outbox.
const SUBSCRIPTION_OVERHEAD: usize = 200;
/// The pause before a `subscribe` that failed for now is tried again; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The longest pause before a search that an announcement asked for.
const SEARCH_PAUSE: Duration = Duration::from_secs(1);

pub(super) type ListenerId = u64;
pub(super) type Ticket = u64;
pub(super) type Timer = u64;

/// What the reducer wants done.
#[derive(Debug)]
pub(super) enum Effect {
    /// Call the candidate's `subscribe`; if that succeeds and there was an owner before it, see whether it answers as that one did; then
    /// [`Reducer::subscribed`].
    Subscribe(Arc<str>, Candidate, Option<Source>),
    /// Read the URI at a candidate without subscriptions, to see whether it owns it; then [`Reducer::subscribed`].
    Probe(Arc<str>, Candidate),
    /// Call the candidate's `unsubscribe`, then [`Reducer::unsubscribed`].
    Unsubscribe(Arc<str>, Candidate),
    /// Call [`Reducer::retry`] after this pause.
    Retry(Arc<str>, Timer, Duration),
    /// An `updated` for this listener.
    Tell(ListenerId, Arc<str>),
    /// Everything this ticket waited for is settled.
    Answer(Ticket),
}

struct Pending {
    listener: ListenerId,
    uris: Vec<Arc<str>>,
    open: usize,
}

/// See the module's page.
pub(super) struct Reducer {
    snapshot: Arc<Snapshot>,
    listeners: HashMap<ListenerId, HashSet<Arc<str>>>,
    bindings: HashMap<Arc<str>, Binding>,
    tickets: HashMap<Ticket, Pending>,
    /// Announcements of generations that are not published yet: of each slot, the newest.
    early: HashMap<u32, (u64, Updated)>,
    timers: Timer,
    bytes: usize,
    /// What the subscriptions of all other views take.
    pub(super) bytes_elsewhere: usize,
    /// Announcements that were not taken (law 4).
    pub(super) dropped: u64,
    effects: Vec<Effect>,
}

impl Reducer {
    pub(super) fn new(snapshot: Arc<Snapshot>) -> Self {
        Self {
            snapshot,
            listeners: HashMap::new(),
            bindings: HashMap::new(),
            tickets: HashMap::new(),
            early: HashMap::new(),
            timers: 0,
            bytes: 0,
            bytes_elsewhere: 0,
            dropped: 0,
            effects: Vec::new(),
        }
    }

    /// What is to be done now, in order.
    pub(super) fn effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// The number of the catalog that was seen last.
    pub(super) fn catalog_number(&self) -> u64 {
        self.snapshot.number
    }

    /// What its subscriptions take.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether nothing is subscribed, and nothing that was is still to be ended.
    pub(super) fn is_idle(&self) -> bool {
        self.bindings.is_empty() && self.tickets.is_empty()
    }

    /// How many listeners each URI has.
    pub(super) fn counts(&self) -> impl Iterator<Item = (&Arc<str>, usize)> {
        self.bindings.iter().map(|(uri, binding)| (uri, binding.listeners.len())).filter(|(_, count)| *count > 0)
    }

    /// Likewise, with their owners.
    pub(super) fn table(&self) -> impl Iterator<Item = Subscribed> {
        let owner = |binding: &Binding| binding.owner.as_ref().map(|owner| owner.candidate.name.clone());
        let row = move |(uri, binding): (&Arc<str>, &Binding)| Subscribed {
            uri: uri.clone(),
            listeners: binding.listeners.len(),
            provider: owner(binding),
        };
        self.bindings.iter().filter(|(_, binding)| !binding.listeners.is_empty()).map(row)
    }

    /// A listener joins, with no subscriptions.
    pub(super) fn join(&mut self, listener: ListenerId) {
        self.listeners.entry(listener).or_default();
    }

    /// Enters subscriptions, all or none; nothing is looked up before [`Reducer::proceed`].
    pub(super) fn subscribe(&mut self, listener: ListenerId, uris: &[Arc<str>]) -> Result<(), LimitError> {
        let Some(set) = self.listeners.get_mut(&listener) else { return Ok(()) };
        let fresh: HashSet<_> = uris.iter().filter(|uri| !set.contains(*uri)).cloned().collect();
        if set.len() + fresh.len() > SUBSCRIPTIONS_PER_LISTENER {
            return Err(LimitError { cap: SUBSCRIPTIONS_PER_LISTENER, of: "for one listener" });
        }
        let bytes: usize = fresh.iter().map(|uri| cost(uri)).sum();
        if self.bytes + self.bytes_elsewhere + bytes > SUBSCRIPTION_BYTES {
            return Err(LimitError { cap: SUBSCRIPTION_BYTES, of: "bytes of subscriptions in the whole host" });
        }
        self.bytes += bytes;
        for uri in fresh {
            // One copy of a URI for all who listen to it.
            let uri = self.bindings.get_key_value(&uri).map_or(uri, |(shared, _)| shared.clone());
            set.insert(uri.clone());
            self.bindings.entry(uri).or_default().listeners.insert(listener, Standing::default());
        }
        Ok(())
    }

    /// Looks for the owners of what was entered. The ticket is answered when all of it is settled.
    pub(super) fn proceed(&mut self, listener: ListenerId, uris: &[Arc<str>], ticket: Ticket) {
        let mut pending = Pending { listener, uris: Vec::new(), open: 0 };
        for uri in uris {
            let Some((uri, binding)) = find(&mut self.bindings, uri) else { continue };
            let Some(standing) = binding.listeners.get_mut(&listener) else { continue };
            if binding.owner.as_ref().is_some_and(Owner::is_settled) {
                standing.answered = true;
                continue;
            }
            standing.tickets.push(ticket);
            pending.open += 1;
            pending.uris.push(uri);
            binding.dirty |= binding.owner.is_none() && binding.walk.is_none();
        }
        if pending.open == 0 {
            self.effects.push(Effect::Answer(ticket));
            return;
        }
        let uris = pending.uris.clone();
        self.tickets.insert(ticket, pending);
        for uri in uris {
            self.advance(&uri);
        }
    }

    /// A ticket has waited long enough: whatever is not settled yet is told once it is (law 11).
    pub(super) fn expire(&mut self, ticket: Ticket) {
        let Some(pending) = self.tickets.remove(&ticket) else { return };
        for uri in pending.uris {
            let standing = self.bindings.get_mut(&uri).and_then(|binding| binding.listeners.get_mut(&pending.listener));
            if let Some(standing) = standing
                && let Some(at) = standing.tickets.iter().position(|open| *open == ticket)
            {
                standing.tickets.swap_remove(at);
                (standing.answered, standing.owed) = (true, true);
            }
        }
        self.effects.push(Effect::Answer(ticket));
    }

    /// Takes a subscription away. Fine if there is none.
    pub(super) fn unsubscribe(&mut self, listener: ListenerId, uri: &str) {
        let Some(uri) = self.listeners.get_mut(&listener).and_then(|set| set.take(uri)) else { return };
        self.bytes -= cost(&uri);
        self.remove(listener, &uri);
    }

    /// A listener is gone.
    pub(super) fn leave(&mut self, listener: ListenerId) {
        for uri in self.listeners.remove(&listener).unwrap_or_default() {
            self.bytes -= cost(&uri);
            self.remove(listener, &uri);
        }
    }

    fn remove(&mut self, listener: ListenerId, uri: &Arc<str>) {
        let standing = self.bindings.get_mut(uri).and_then(|binding| binding.listeners.remove(&listener));
        for ticket in standing.map(|standing| standing.tickets).unwrap_or_default() {
            self.settle_ticket(ticket);
        }
        self.advance(uri);
    }

    /// A provider announced that resources changed (law 4).
    pub(super) fn announce(&mut self, source: Source, updated: Updated) {
        match self.snapshot.generation(source.slot) {
            Some(generation) if generation == source.generation => {}
            Some(generation) if generation > source.generation => {
                self.dropped += count(&updated);
                return;
            }
            _ => {
                let (generation, waiting) = self.early.entry(source.slot).or_insert((source.generation, Updated::default()));
                if source.generation > *generation {
                    (*generation, *waiting) = (source.generation, updated);
                } else if source.generation == *generation {
                    waiting.join(updated);
                }
                return;
            }
        }
        match updated {
            Updated::These(uris) => uris.iter().for_each(|uri| self.announce_one(source, uri)),
            Updated::All => {
                let uris: Vec<_> = self.bindings.keys().cloned().collect();
                uris.iter().for_each(|uri| self.announce_one(source, uri));
            }
        }
    }

    fn announce_one(&mut self, source: Source, uri: &str) {
        let Some((uri, binding)) = find(&mut self.bindings, uri) else { return };
        let owner = binding.owner.as_ref().map(|owner| owner.candidate.source);
        if owner == Some(source) {
            tell_all(&mut self.effects, &uri, binding);
            return;
        }
        if binding.asks(source) {
            // Whoever it is news to is told as soon as that call is answered.
            binding.owe();
            return;
        }
        let candidates = self.snapshot.candidates(&uri);
        let rank = |source: Source| candidates.iter().position(|candidate| candidate.source == source);
        match (rank(source), owner.and_then(rank)) {
            (Some(_), None) => tell_all(&mut self.effects, &uri, binding),
            (Some(its), Some(owners)) if its < owners => {}
            _ => {
                self.dropped += 1;
                return;
            }
        }
        // A candidate that announces what it then does not take must not keep the host asking.
        match binding.searches {
            0 => (binding.searches, binding.dirty) = (1, true),
            _ if binding.search.is_some() => {}
            searches => {
                self.timers += 1;
                binding.search = Some(self.timers);
                self.effects.push(Effect::Retry(uri.clone(), self.timers, pause(searches).min(SEARCH_PAUSE)));
            }
        }
        self.advance(&uri);
    }

    /// There is a newer catalog: each binding is checked against it.
    pub(super) fn catalog(&mut self, snapshot: Arc<Snapshot>) {
        self.snapshot = snapshot;
        let uris: Vec<_> = self.bindings.keys().cloned().collect();
        for uri in uris {
            let Some(binding) = self.bindings.get_mut(&uri) else { continue };
            if !binding.is_deferred() && !binding.is_found_again(&self.snapshot.candidates(&uri)) {
                // Whoever owned it for a moment may have been read meanwhile.
                binding.passed |= binding.dirty || binding.walk.is_some();
                binding.dirty = true;
                self.advance(&uri);
            }
        }
        let places = &self.snapshot.places;
        self.early.retain(|slot, _| places.iter().any(|place| place.slot == *slot));
        let published: Vec<_> = self
            .early
            .iter()
            .filter(|(slot, (generation, _))| self.snapshot.generation(**slot).is_some_and(|published| published >= *generation))
            .map(|(slot, _)| *slot)
            .collect();
        for slot in published {
            if let Some((generation, updated)) = self.early.remove(&slot) {
                self.announce(Source { slot, generation }, updated);
            }
        }
    }

    /// An instance died, or there is a fresh one, or both.
    pub(super) fn instance(&mut self, source: Source, up: bool) {
        let owned: Vec<_> = self.bindings.iter().filter(|(_, binding)| binding.is_owned_by(source)).map(|(uri, _)| uri.clone()).collect();
        for uri in owned {
            let Some(binding) = self.bindings.get_mut(&uri) else { continue };
            binding.bury();
            match &mut binding.owner {
                Some(Owner { candidate, watch: watch @ Watch::Down }) if up && candidate.source == source => {
                    *watch = Watch::Due { attempt: 0 }
                }
                // Nobody can say what changed meanwhile.
                Some(Owner { candidate, watch: Watch::Unwatchable })
                    if up && candidate.source == source && candidate.provider.offers().live =>
                {
                    tell_all(&mut self.effects, &uri, binding);
                }
                _ => {}
            }
            self.advance(&uri);
        }
    }

    /// The pause of a retry is over.
    pub(super) fn retry(&mut self, uri: &str, timer: Timer) {
        let Some((uri, binding)) = find(&mut self.bindings, uri) else { return };
        if binding.search == Some(timer) {
            (binding.search, binding.dirty) = (None, true);
            binding.searches = binding.searches.saturating_add(1);
        } else if let Some(owner) = &mut binding.owner
            && let Watch::Paused { attempt, timer: waits } = owner.watch
            && waits == timer
        {
            owner.watch = Watch::Due { attempt };
        }
        self.advance(&uri);
    }
}

fn find<'a>(bindings: &'a mut HashMap<Arc<str>, Binding>, uri: &str) -> Option<(Arc<str>, &'a mut Binding)> {
    let uri = bindings.get_key_value(uri)?.0.clone();
    let binding = bindings.get_mut(&uri)?;
    Some((uri, binding))
}

/// Before the try after this many that came to nothing.
fn pause(failures: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(LONGEST_PAUSE)
}

fn tell_all(effects: &mut Vec<Effect>, uri: &Arc<str>, binding: &Binding) {
    effects.extend(binding.listeners.keys().map(|listener| Effect::Tell(*listener, uri.clone())));
}

fn cost(uri: &str) -> usize {
    uri.len() + SUBSCRIPTION_OVERHEAD
}

fn count(updated: &Updated) -> u64 {
    match updated {
        Updated::These(uris) => uris.len() as u64,
        Updated::All => 1,
    }
}
