//! The search for an owner, one call after the other: whom to ask next, what an answer means, and who is let go.

use std::sync::Arc;

use super::{Effect, Reducer, pause};
use crate::{
    catalog::Candidate,
    provider::{Error, Source},
    subscriptions::{
        binding::{Call, Held, Owner, Watch},
        reducer::Ticket,
    },
};

impl Reducer {
    /// A `subscribe` or a probe has been answered, the `subscribe` by this instance; `same`: and it answers as the owner before it did.
    pub(in crate::subscriptions) fn subscribed(&mut self, uri: &Arc<str>, result: Result<(), Error>, same: bool, instance: u64) {
        let Some(binding) = self.bindings.get_mut(uri) else { return };
        let (candidate, probe, before) = match binding.call.take() {
            Some(Call::Subscribe { candidate, before }) => (candidate, false, before),
            Some(Call::Probe(candidate)) => (candidate, true, None),
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
                candidate.ledger.watch(uri.clone(), instance);
                binding.held.push(Held { candidate: candidate.clone(), instance });
                Some(Watch::Watched)
            }
            Err(Error::NotFound) => None,
            Err(error) if error.is_passing() => {
                let attempt = binding.attempt(candidate.source);
                self.timers += 1;
                Some(Watch::Paused { attempt: attempt + 1, timer: self.timers })
            }
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
                let answers_as = before.filter(|_| same && watch == Watch::Watched);
                self.settle(uri, Some(Owner { candidate, watch }), answers_as);
            }
        }
        self.advance(uri);
    }

    /// An `unsubscribe` has been answered, well or not.
    pub(in crate::subscriptions) fn unsubscribed(&mut self, uri: &Arc<str>) {
        if let Some(binding) = self.bindings.get_mut(uri)
            && matches!(binding.call, Some(Call::Unsubscribe))
        {
            binding.call = None;
            self.advance(uri);
        }
    }

    /// Does the next thing for one URI, if no call is in flight for it.
    pub(super) fn advance(&mut self, uri: &Arc<str>) {
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
                    self.settle(uri, None, None);
                    continue;
                };
                binding.path.push(candidate.step());
                if binding.held.iter().any(|held| held.candidate.source == candidate.source) {
                    self.settle(uri, Some(Owner { candidate, watch: Watch::Watched }), None);
                } else if candidate.matched.is_none() && !candidate.provider.offers().subscriptions {
                    self.settle(uri, Some(Owner { candidate, watch: Watch::Unwatchable }), None);
                } else {
                    self.ask(uri, candidate);
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
        let Some(binding) = self.bindings.get_mut(uri) else { return };
        if candidate.provider.offers().subscriptions {
            // Where another owned it for a moment in between, it is not known what was answered last.
            let known = binding.walked && !binding.passed;
            let before = binding.owner.as_ref().map(|owner| owner.candidate.source).filter(|before| known && *before != candidate.source);
            binding.call = Some(Call::Subscribe { candidate: candidate.clone(), before });
            self.effects.push(Effect::Subscribe(uri.clone(), candidate, before));
        } else {
            binding.call = Some(Call::Probe(candidate.clone()));
            self.effects.push(Effect::Probe(uri.clone(), candidate));
        }
    }

    fn let_go(&mut self, uri: &Arc<str>, held: Held) {
        if let Some(binding) = self.bindings.get_mut(uri) {
            held.candidate.ledger.unwatch(uri);
            binding.call = Some(Call::Unsubscribe);
            self.effects.push(Effect::Unsubscribe(uri.clone(), held.candidate));
        }
    }

    /// A walk, or another try at the owner, has come to an end. The new owner may answer as an owner before did.
    fn settle(&mut self, uri: &Arc<str>, owner: Option<Owner>, answers_as: Option<Source>) {
        let Some(binding) = self.bindings.get_mut(uri) else { return };
        let before = binding.owner.as_ref().map(|owner| owner.candidate.source);
        let after = owner.as_ref().map(|owner| owner.candidate.source);
        let passed = std::mem::take(&mut binding.passed);
        let changed = passed || (binding.walked && before != after);
        let news = passed || (changed && (before.is_none() || before != answers_as));
        let settled = owner.as_ref().is_none_or(Owner::is_settled);
        let watching = owner.as_ref().is_some_and(Owner::is_settled);
        if changed {
            binding.searches = 0;
        }
        (binding.walk, binding.walked, binding.owner) = (None, true, owner);
        let mut answered = Vec::new();
        for (listener, standing) in &mut binding.listeners {
            if standing.answered && (news || (watching && standing.owed)) {
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

    pub(super) fn settle_ticket(&mut self, ticket: Ticket) {
        if let Some(pending) = self.tickets.get_mut(&ticket) {
            pending.open -= 1;
            if pending.open == 0 {
                self.tickets.remove(&ticket);
                self.effects.push(Effect::Answer(ticket));
            }
        }
    }
}
