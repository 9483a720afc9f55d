//! The serial reducer: who listens to what, and who owns what is listened to. It does nothing itself and knows no time: its methods are
//! the inputs, what is to be done comes out as [`Effect`]s.
//!
//! Invariants (design laws 1 to 5, 10 and 11):
//! - One call per URI is in flight, so calls about a URI reach providers in the order in which they were decided.
//! - A provider is told `subscribe` only while someone listens and it does not watch already, `unsubscribe` only if it watches.
//! - When an owner changes, the new one watches before the listeners are told, and they are told before the old one is let go.
//! - A listener that was answered while nobody watched for it is owed one `updated` as soon as somebody does.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use super::{
    LimitError,
    binding::{Binding, Call, Held, Owner, Standing, Watch},
};
use crate::{
    catalog::{Candidate, Snapshot},
    provider::{Error, Source, Updated},
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
    /// Call the candidate's `subscribe`, then [`Reducer::subscribed`].
    Subscribe(Arc<str>, Candidate),
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

    /// How many listeners each URI has.
    pub(super) fn counts(&self) -> impl Iterator<Item = (&Arc<str>, usize)> {
        self.bindings.iter().map(|(uri, binding)| (uri, binding.listeners.len())).filter(|(_, count)| *count > 0)
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
        if self.bytes + bytes > SUBSCRIPTION_BYTES {
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
            if standing.tickets.contains(&ticket) {
                continue;
            }
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

    /// A `subscribe` or a probe has been answered.
    pub(super) fn subscribed(&mut self, uri: &Arc<str>, result: Result<(), Error>) {
        let Some(binding) = self.bindings.get_mut(uri) else { return };
        let (candidate, instance, probe) = match binding.call.take() {
            Some(Call::Subscribe { candidate, instance }) => (candidate, instance, false),
            Some(Call::Probe(candidate)) => (candidate, 0, true),
            other => {
                binding.call = other;
                return;
            }
        };
        // What an instance answered that is gone by now holds no longer.
        let result = match result {
            Ok(()) if !probe && candidate.ledger.instance() != instance => Err(Error::unavailable("its instance is gone")),
            result => result,
        };
        let watch = match &result {
            Ok(()) if probe => Some(Watch::Unwatchable),
            Ok(()) => {
                candidate.ledger.watch(uri.clone());
                binding.held.push(Held { candidate: candidate.clone(), instance });
                Some(Watch::Watched)
            }
            Err(Error::NotFound) => None,
            Err(error) if error.is_passing() && !probe => {
                let attempt = binding.attempt(candidate.source);
                self.timers += 1;
                Some(Watch::Paused { attempt: attempt + 1, timer: self.timers })
            }
            // A template's only candidate that cannot be asked now may still own it: it is asked for the content anyway.
            Err(_) => Some(Watch::Unwatchable),
        };
        let retrying = binding.walk.is_none() && binding.owner.as_ref().is_some_and(|owner| owner.candidate.source == candidate.source);
        match watch {
            // Somebody else may own it now, or nobody.
            None if retrying => binding.dirty = true,
            None => {}
            // The walk was for a catalog that is gone, or nobody listens any more: `advance` makes use of what is held, or ends it.
            Some(_) if binding.dirty || binding.listeners.is_empty() => {}
            Some(watch) => {
                if let Watch::Paused { attempt, timer } = watch {
                    self.effects.push(Effect::Retry(uri.clone(), timer, pause(attempt)));
                }
                self.settle(uri, Some(Owner { candidate, watch }));
            }
        }
        self.advance(uri);
    }

    /// An `unsubscribe` has been answered, well or not.
    pub(super) fn unsubscribed(&mut self, uri: &Arc<str>) {
        if let Some(binding) = self.bindings.get_mut(uri)
            && matches!(binding.call, Some(Call::Unsubscribe))
        {
            binding.call = None;
            self.advance(uri);
        }
    }

    /// Does the next thing for one URI, if no call is in flight for it.
    fn advance(&mut self, uri: &Arc<str>) {
        loop {
            let Some(binding) = self.bindings.get_mut(uri) else { return };
            if binding.call.is_some() {
                return;
            }
            binding.bury();
            if binding.listeners.is_empty() {
                (binding.owner, binding.walk, binding.dirty) = (None, None, false);
                match binding.held.pop() {
                    Some(held) => self.let_go(uri, held),
                    None => drop(self.bindings.remove(uri)),
                }
                return;
            }
            if std::mem::take(&mut binding.dirty) {
                binding.begin_walk(self.snapshot.candidates(uri));
            }
            if let Some(walk) = &mut binding.walk {
                let Some(candidate) = walk.next() else {
                    self.settle(uri, None);
                    continue;
                };
                binding.path.push(candidate.step());
                if binding.held.iter().any(|held| held.candidate.source == candidate.source) {
                    self.settle(uri, Some(Owner { candidate, watch: Watch::Watched }));
                } else if candidate.provider.offers().subscriptions {
                    self.ask(uri, candidate);
                } else if candidate.matched.is_none() {
                    self.settle(uri, Some(Owner { candidate, watch: Watch::Unwatchable }));
                } else {
                    binding.call = Some(Call::Probe(candidate.clone()));
                    self.effects.push(Effect::Probe(uri.clone(), candidate));
                }
                continue;
            }
            if let Some(owner) = &binding.owner
                && matches!(owner.watch, Watch::Due { .. })
            {
                let candidate = owner.candidate.clone();
                self.ask(uri, candidate);
                return;
            }
            let owner = binding.owner.as_ref().map(|owner| owner.candidate.source);
            if let Some(at) = binding.held.iter().position(|held| Some(held.candidate.source) != owner) {
                let held = binding.held.swap_remove(at);
                self.let_go(uri, held);
            }
            return;
        }
    }

    fn ask(&mut self, uri: &Arc<str>, candidate: Candidate) {
        if let Some(binding) = self.bindings.get_mut(uri) {
            binding.call = Some(Call::Subscribe { candidate: candidate.clone(), instance: candidate.ledger.instance() });
            self.effects.push(Effect::Subscribe(uri.clone(), candidate));
        }
    }

    fn let_go(&mut self, uri: &Arc<str>, held: Held) {
        if let Some(binding) = self.bindings.get_mut(uri) {
            held.candidate.ledger.unwatch(uri);
            binding.call = Some(Call::Unsubscribe);
            self.effects.push(Effect::Unsubscribe(uri.clone(), held.candidate));
        }
    }

    /// A walk, or another try at the owner, has come to an end.
    fn settle(&mut self, uri: &Arc<str>, owner: Option<Owner>) {
        let Some(binding) = self.bindings.get_mut(uri) else { return };
        let before = binding.owner.as_ref().map(|owner| owner.candidate.source);
        let after = owner.as_ref().map(|owner| owner.candidate.source);
        let changed = std::mem::take(&mut binding.passed) || (binding.walked && before != after);
        let settled = owner.as_ref().is_none_or(Owner::is_settled);
        let watching = owner.as_ref().is_some_and(Owner::is_settled);
        if changed {
            binding.searches = 0;
        }
        (binding.walk, binding.walked, binding.owner) = (None, true, owner);
        let mut answered = Vec::new();
        for (listener, standing) in &mut binding.listeners {
            if standing.answered && (changed || (watching && standing.owed)) {
                self.effects.push(Effect::Tell(*listener, uri.clone()));
            }
            if settled {
                standing.answered |= !standing.tickets.is_empty();
                answered.append(&mut standing.tickets);
            }
            standing.owed = standing.answered && !watching;
        }
        for ticket in answered {
            self.settle_ticket(ticket);
        }
    }

    fn settle_ticket(&mut self, ticket: Ticket) {
        if let Some(pending) = self.tickets.get_mut(&ticket) {
            pending.open -= 1;
            if pending.open == 0 {
                self.tickets.remove(&ticket);
                self.effects.push(Effect::Answer(ticket));
            }
        }
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
