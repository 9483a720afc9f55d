//! The `subscribe`s and `unsubscribe`s of all views, of which a provider hears once.
//!
//! Each view has a reducer of its own, that knows of no other: so every law holds in a view as it does in a host that has its providers
//! only, and is tested as such. What views have in common is that a provider may own the same URI in several of them. Here their calls about
//! one URI at one provider meet: it is asked to watch when the first view wants it, and told that nobody listens any more when the last
//! view lets go. This does nothing itself: it says whom to call, and whom to answer.
//!
//! Invariants (law 2, for each provider and URI): one call is in flight at most; `subscribe` is called only while the instance does not
//! watch, and `unsubscribe` only while no view wants it watched. Nobody is answered by a call that began at an instance before the one that it
//! asked, and each is told which instance that was: what a view holds is held at the instance that is remembered here, and once. What a dead
//! instance watched is wanted by nobody.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use crate::{
    catalog::Candidate,
    provider::{Error, Source},
};

pub(super) type ViewId = u64;

/// A view that wants a URI watched.
#[derive(Clone)]
pub(super) struct Wanted {
    pub view: ViewId,
    pub uri: Arc<str>,
    pub candidate: Candidate,
    /// The owner in that view that the new one is compared with.
    pub before: Option<Source>,
}

/// What is to be done for one that wants to watch.
pub(super) enum Step {
    /// Call `subscribe`, then compare; then [`Sharing::subscribed`].
    Subscribe(Wanted),
    /// It is watched already, by this instance: compare alone, where there is an owner to compare with, and answer.
    Answer(Wanted, Result<(), Error>, u64),
}

enum Call {
    Subscribe { view: ViewId, instance: u64 },
    Unsubscribe { view: ViewId },
}

struct Shared {
    /// The views whose `subscribe` succeeded, at this instance.
    holders: Vec<ViewId>,
    instance: u64,
    call: Option<Call>,
    /// Those who asked while a call was in flight, and the instance that there was then.
    waiting: Vec<(u64, Wanted)>,
    candidate: Candidate,
}

impl Shared {
    fn is_over(&self) -> bool {
        self.holders.is_empty() && self.call.is_none() && self.waiting.is_empty()
    }

    fn begin(&mut self, wanted: Wanted) -> Step {
        let instance = wanted.candidate.ledger.instance();
        self.call = Some(Call::Subscribe { view: wanted.view, instance });
        Step::Subscribe(wanted)
    }

    /// Once, however often it asks: it lets go once.
    fn hold(&mut self, view: ViewId) {
        if !self.holders.contains(&view) {
            self.holders.push(view);
        }
    }
}

type Key = (Source, Arc<str>);

/// See the module's page.
#[derive(Default)]
pub(super) struct Sharing {
    entries: HashMap<Key, Shared>,
}

impl Sharing {
    /// A view wants a URI watched. Nothing to be done: it is answered with the call that is in flight, or after it.
    pub fn want(&mut self, wanted: Wanted) -> Option<Step> {
        let Candidate { source, ledger, .. } = &wanted.candidate;
        let instance = ledger.instance();
        let fresh = || Shared { holders: Vec::new(), instance, call: None, waiting: Vec::new(), candidate: wanted.candidate.clone() };
        let shared = self.entries.entry((*source, wanted.uri.clone())).or_insert_with(fresh);
        if shared.instance != instance {
            (shared.holders, shared.instance) = (Vec::new(), instance);
        }
        if shared.call.is_some() {
            shared.waiting.push((instance, wanted));
            None
        } else if shared.holders.is_empty() {
            Some(shared.begin(wanted))
        } else {
            shared.hold(wanted.view);
            Some(Step::Answer(wanted, Ok(()), instance))
        }
    }

    /// A view lets go. Returns whether the provider is to be told; then [`Sharing::unsubscribed`]. If it is not, the view is answered.
    pub fn release(&mut self, view: ViewId, uri: &Arc<str>, source: Source) -> bool {
        let Entry::Occupied(mut entry) = self.entries.entry((source, uri.clone())) else { return false };
        let shared = entry.get_mut();
        let Some(at) = shared.holders.iter().position(|holder| *holder == view) else { return false };
        shared.holders.swap_remove(at);
        if shared.holders.is_empty() {
            shared.call = Some(Call::Unsubscribe { view });
        }
        shared.holders.is_empty()
    }

    /// A `subscribe` has been answered. Returns the view whose it was and the instance that was asked, and what to do for those who waited.
    pub fn subscribed(&mut self, uri: &Arc<str>, source: Source, result: &Result<(), Error>) -> (Option<(ViewId, u64)>, Vec<Step>) {
        let Entry::Occupied(mut entry) = self.entries.entry((source, uri.clone())) else { return (None, Vec::new()) };
        let shared = entry.get_mut();
        let (view, instance) = match shared.call.take() {
            Some(Call::Subscribe { view, instance }) => (view, instance),
            other => {
                shared.call = other;
                return (None, Vec::new());
            }
        };
        let (joined, later): (Vec<_>, Vec<_>) = std::mem::take(&mut shared.waiting).into_iter().partition(|(its, _)| *its <= instance);
        shared.waiting = later;
        // Of one that died meanwhile the reducers find out for themselves.
        if result.is_ok() && shared.candidate.ledger.instance() == instance {
            (shared.holders, shared.instance) = (Vec::new(), instance);
            shared.hold(view);
            joined.iter().for_each(|(_, wanted)| shared.hold(wanted.view));
        }
        let mut steps: Vec<_> = joined.into_iter().map(|(_, wanted)| Step::Answer(wanted, result.clone(), instance)).collect();
        steps.extend(Self::go_on(entry));
        (Some((view, instance)), steps)
    }

    /// An `unsubscribe` has been answered, well or not. Returns the view whose it was, and what to do for one who waited.
    pub fn unsubscribed(&mut self, uri: &Arc<str>, source: Source) -> (Option<ViewId>, Option<Step>) {
        let Entry::Occupied(mut entry) = self.entries.entry((source, uri.clone())) else { return (None, None) };
        let shared = entry.get_mut();
        let view = match shared.call.take() {
            Some(Call::Unsubscribe { view }) => view,
            other => {
                shared.call = other;
                return (None, None);
            }
        };
        (Some(view), Self::go_on(entry))
    }

    fn go_on(mut entry: std::collections::hash_map::OccupiedEntry<'_, Key, Shared>) -> Option<Step> {
        let shared = entry.get_mut();
        if shared.call.is_none() && !shared.waiting.is_empty() {
            let (_, wanted) = shared.waiting.remove(0);
            return Some(shared.begin(wanted));
        }
        if shared.is_over() {
            entry.remove();
        }
        None
    }

    /// Forgets what dead instances watched.
    pub fn sweep(&mut self) {
        self.entries.retain(|_, shared| {
            if shared.candidate.ledger.instance() != shared.instance {
                shared.holders.clear();
            }
            !shared.is_over()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        catalog::{Lists, Merged, Place, Rules, Serving, Snapshot, State},
        provider::{
            EventQueue, ResourceInfo,
            memory::{Memory, live},
        },
    };

    fn wanted(memory: &Arc<Memory>, view: ViewId) -> Wanted {
        let lists = Arc::new(Lists::check(vec![ResourceInfo::new("x://a", "a")], Vec::new(), false));
        let (source, ledger) = (memory.announcer.source(), memory.announcer.ledger().clone());
        let state = State::Serving(Serving { source, provider: memory.clone(), ledger, lists });
        let place = Place { slot: 1, name: "p".into(), direct: false, rules: Rules::default(), state };
        let snapshot = Snapshot::new(1, vec![place], &Arc::<Merged>::default());
        let candidate = snapshot.candidates("x://a").pop().unwrap();
        Wanted { view, uri: "x://a".into(), candidate, before: None }
    }

    #[test]
    fn nobody_is_answered_by_a_call_to_an_instance_that_is_gone_nor_holds_what_it_watched() {
        let (uri, queue) = (Arc::<str>::from("x://a"), Arc::<EventQueue>::default());
        let memory = Memory::new(1, &queue, live());
        let source = memory.announcer.source();
        let mut sharing = Sharing::default();
        assert!(matches!(sharing.want(wanted(&memory, 1)), Some(Step::Subscribe(_))));
        memory.announcer.ledger().next_instance();
        assert!(sharing.want(wanted(&memory, 2)).is_none(), "one call at a time");
        let (asked, steps) = sharing.subscribed(&uri, source, &Ok(()));
        assert_eq!(asked, Some((1, 0)));
        assert!(matches!(&steps[..], [Step::Subscribe(Wanted { view: 2, .. })]), "it is asked anew");
        assert_eq!(sharing.subscribed(&uri, source, &Ok(())).0, Some((2, 1)));
        assert!(!sharing.release(1, &uri, source), "it held nothing");
        memory.announcer.ledger().next_instance();
        assert!(matches!(sharing.want(wanted(&memory, 1)), Some(Step::Subscribe(_))), "the new instance does not watch");
        assert!(!sharing.release(2, &uri, source), "the first must not lose its watch to one that held a dead instance's");
        assert_eq!(sharing.subscribed(&uri, source, &Ok(())).0, Some((1, 2)));
        assert!(sharing.release(1, &uri, source));
        assert_eq!(sharing.unsubscribed(&uri, source).0, Some(1));
        assert!(sharing.entries.is_empty());
    }

    #[test]
    fn a_view_that_waited_is_told_the_instance_that_was_asked_and_lets_go_once_however_often_it_wanted() {
        let (uri, queue) = (Arc::<str>::from("x://a"), Arc::<EventQueue>::default());
        let memory = Memory::new(1, &queue, live());
        let source = memory.announcer.source();
        let mut sharing = Sharing::default();
        sharing.want(wanted(&memory, 1));
        sharing.subscribed(&uri, source, &Ok(()));
        assert!(sharing.release(1, &uri, source));
        assert!(sharing.want(wanted(&memory, 2)).is_none(), "it waits for the unsubscribe");
        memory.announcer.ledger().next_instance();
        assert!(matches!(sharing.unsubscribed(&uri, source).1, Some(Step::Subscribe(_))));
        assert_eq!(sharing.subscribed(&uri, source, &Ok(())).0, Some((2, 1)), "not the instance that there was when it wanted");
        assert!(matches!(sharing.want(wanted(&memory, 2)), Some(Step::Answer(_, Ok(()), 1))));
        assert!(sharing.release(2, &uri, source), "the provider is to be told");
    }

    #[test]
    fn a_refusal_is_for_all_who_waited_and_leaves_nothing() {
        let (uri, queue) = (Arc::<str>::from("x://a"), Arc::<EventQueue>::default());
        let memory = Memory::new(1, &queue, live());
        let mut sharing = Sharing::default();
        sharing.want(wanted(&memory, 1));
        sharing.want(wanted(&memory, 2));
        let (asked, steps) = sharing.subscribed(&uri, memory.announcer.source(), &Err(Error::NotFound));
        assert_eq!(asked, Some((1, 0)));
        assert!(matches!(&steps[..], [Step::Answer(Wanted { view: 2, .. }, Err(Error::NotFound), 0)]));
        assert!(sharing.entries.is_empty());
    }

    #[test]
    fn what_dead_instances_watched_is_forgotten() {
        let (uri, queue) = (Arc::<str>::from("x://a"), Arc::<EventQueue>::default());
        let memory = Memory::new(1, &queue, live());
        let mut sharing = Sharing::default();
        sharing.want(wanted(&memory, 1));
        sharing.subscribed(&uri, memory.announcer.source(), &Ok(()));
        sharing.sweep();
        assert_eq!(sharing.entries.len(), 1);
        memory.announcer.ledger().next_instance();
        sharing.sweep();
        assert!(sharing.entries.is_empty());
    }
}
