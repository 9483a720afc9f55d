//! The catalog at one moment: which provider stands where, what its lists say, and so who may own a URI. Never changes.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use tokio::time::Instant;

use super::{View, lists::Lists};
use crate::provider::{Ledger, Provider, ResourceInfo, Source, TemplateInfo, TemplateMatch, shared_state};

/// The lists of all providers at one moment, merged in order.
#[derive(Debug, Default)]
pub struct Merged {
    /// Raised at each change of what is below. No two lists of one catalog have the same.
    pub number: u64,
    /// Whose callers see it.
    pub view: View,
    /// Each URI once.
    pub resources: Vec<Arc<ResourceInfo>>,
    /// Each template once.
    pub templates: Vec<Arc<TemplateInfo>>,
}

impl Merged {
    /// Whether a client sees no difference.
    pub(super) fn says_the_same(&self, other: &Self) -> bool {
        self.number == other.number || (self.resources == other.resources && self.templates == other.templates)
    }
}

/// A provider that serves.
#[derive(Clone)]
pub struct Serving {
    /// Which generation.
    pub source: Source,
    /// Who answers.
    pub provider: Arc<dyn Provider>,
    /// The freshness of its answers.
    pub ledger: Arc<Ledger>,
    /// Its last good lists.
    pub lists: Arc<Lists>,
}

/// How far a provider is.
#[derive(Clone)]
pub enum State {
    /// It has never been loaded yet, and is about to be, since then: whoever may need it waits for it.
    Loading(Instant),
    /// It could not be loaded. It owns nothing.
    Refused,
    /// It serves, or did when it was last asked.
    Serving(Serving),
}

/// What the user decided about a provider's resources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// Beginnings of URIs that no other provider may have. Direct registrations are the user's own, and may.
    pub claims: Vec<String>,
    /// Whether what it says is the same for everyone, so that caches may share it.
    pub public: bool,
}

/// A place in the order.
#[derive(Clone)]
pub struct Place {
    /// The provider's number for life.
    pub slot: u32,
    /// Its name.
    pub name: Arc<str>,
    /// Whether it is a direct registration, whose URIs go before all others of their kind.
    pub direct: bool,
    /// What the user decided about it.
    pub rules: Rules,
    /// Whether there is something to ask.
    pub state: State,
}

impl Place {
    /// Whether it is the same place in the same state.
    pub(super) fn is_as(&self, other: &Self) -> bool {
        let same = match (&self.state, &other.state) {
            (State::Loading(since), State::Loading(other)) => since == other,
            (State::Refused, State::Refused) => true,
            (State::Serving(one), State::Serving(other)) => one.source == other.source && Arc::ptr_eq(&one.lists, &other.lists),
            _ => false,
        };
        same && self.slot == other.slot && self.name == other.name && self.direct == other.direct && self.rules == other.rules
    }
}

/// Someone who may own a URI.
#[derive(Clone)]
pub struct Candidate {
    /// The provider's name.
    pub name: Arc<str>,
    /// Which generation of it.
    pub source: Source,
    /// Who answers.
    pub provider: Arc<dyn Provider>,
    /// The freshness of its answers.
    pub ledger: Arc<Ledger>,
    /// The template that the URI matches; absent if the URI is listed.
    pub matched: Option<Arc<TemplateMatch>>,
    /// The media type that the list, or the template, says.
    pub mime_type: Option<String>,
    /// Whether caches may share its answers.
    pub public: bool,
}

impl Candidate {
    /// Who it is, and whether it lists the URI: what makes one search for an owner go as another did.
    pub(crate) fn step(&self) -> (Source, bool) {
        (self.source, self.matched.is_none())
    }
}

impl std::fmt::Debug for Candidate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Candidate").field("name", &self.name).field("source", &self.source).field("matched", &self.matched).finish()
    }
}

/// See the module's page.
#[derive(Default)]
pub struct Snapshot {
    /// Raised at each change of anything.
    pub number: u64,
    /// In order: direct ones first.
    pub places: Vec<Place>,
    /// What clients see of it.
    pub merged: Arc<Merged>,
    /// The places that list a URI, in order.
    exact: HashMap<Arc<str>, Places>,
}

/// Nearly every URI is listed by one provider only.
enum Places {
    One(u32),
    Many(Vec<u32>),
}

impl Places {
    fn as_slice(&self) -> &[u32] {
        match self {
            Self::One(place) => std::slice::from_ref(place),
            Self::Many(places) => places,
        }
    }

    fn push(&mut self, place: u32) {
        match self {
            Self::One(first) => *self = Self::Many(vec![*first, place]),
            Self::Many(places) => places.push(place),
        }
    }
}

impl Snapshot {
    /// Merges the lists of these places, which are in order and all that the view of `before` takes in. What a client sees keeps its number if
    /// it is what `before` says.
    pub(crate) fn new(number: u64, places: Vec<Place>, before: &Arc<Merged>) -> Self {
        let mut exact: HashMap<Arc<str>, Places> = HashMap::new();
        let mut templates: HashMap<Arc<str>, ()> = HashMap::new();
        let mut merged = Merged { number: before.number + 1, view: before.view.clone(), ..Merged::default() };
        for (at, serving) in serving(&places) {
            let place = &places[at as usize];
            for resource in &serving.lists.resources {
                if is_claimed(&places, place, &resource.uri) {
                    continue;
                }
                match exact.entry(resource.uri.clone()) {
                    Entry::Vacant(vacant) => {
                        vacant.insert(Places::One(at));
                        merged.resources.push(resource.clone());
                    }
                    Entry::Occupied(mut occupied) => occupied.get_mut().push(at),
                }
            }
            for (template, _) in &serving.lists.templates {
                if !is_claimed(&places, place, &template.uri_template) && templates.insert(template.uri_template.clone(), ()).is_none() {
                    merged.templates.push(template.clone());
                }
            }
        }
        let merged = if merged.says_the_same(before) { before.clone() } else { Arc::new(merged) };
        Self { number, places, merged, exact }
    }

    /// Who may own this URI, in the order in which they are asked: exact among the direct ones, exact among the providers, templates of the
    /// direct ones, templates of the providers.
    pub fn candidates(&self, uri: &str) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        for at in self.listed_by(uri) {
            let place = &self.places[*at as usize];
            if let State::Serving(serving) = &place.state {
                candidates.push(candidate(place, serving, None, serving.lists.mime_type(uri)));
            }
        }
        // What was published a moment ago may not be in the list yet.
        if uri.starts_with(shared_state::PREFIX) {
            let publishes = |serving: &Serving| serving.provider.shared_state().is_some_and(|shared| shared.owns(uri));
            for (place, serving) in self.serving().filter(|(place, serving)| publishes(serving) && !self.is_claimed(place, uri)) {
                if candidates.iter().all(|known| known.source != serving.source) {
                    candidates.push(candidate(place, serving, None, None));
                }
            }
        }
        for place in &self.places {
            let State::Serving(serving) = &place.state else { continue };
            if self.is_claimed(place, uri) {
                continue;
            }
            for (info, template) in &serving.lists.templates {
                if let Some(variables) = template.matches(uri) {
                    let matched = TemplateMatch { uri_template: info.uri_template.clone(), variables };
                    candidates.push(candidate(place, serving, Some(matched), info.mime_type.as_ref()));
                }
            }
        }
        candidates
    }

    /// Whether a provider that still loads could go before this candidate, or own the URI if there is none.
    pub(super) fn waits_for(&self, first: Option<&Candidate>) -> bool {
        // Whatever is loading may list the URI, and a listed URI goes before any template.
        let up_to = match first {
            Some(Candidate { source, matched: None, .. }) => self.places.iter().position(|place| place.slot == source.slot),
            _ => None,
        };
        self.places.iter().take(up_to.unwrap_or(usize::MAX)).any(|place| matches!(place.state, State::Loading(_)))
    }

    /// The name of the first that still loads.
    pub(super) fn loading(&self) -> Option<&Arc<str>> {
        self.places.iter().find(|place| matches!(place.state, State::Loading(_))).map(|place| &place.name)
    }

    /// When the last of those that still load began to.
    pub(super) fn loading_since(&self) -> Option<Instant> {
        let since = |place: &Place| match place.state {
            State::Loading(since) => Some(since),
            State::Refused | State::Serving(_) => None,
        };
        self.places.iter().filter_map(since).max()
    }

    /// The generation that is published in this slot.
    pub fn generation(&self, slot: u32) -> Option<u64> {
        self.serving().find(|(place, _)| place.slot == slot).map(|(_, serving)| serving.source.generation)
    }

    /// The places that serve, in order.
    pub fn serving(&self) -> impl Iterator<Item = (&Place, &Serving)> {
        serving(&self.places).map(|(at, serving)| (&self.places[at as usize], serving))
    }

    /// The name of the provider that lists this URI; of several, the first.
    pub fn lister(&self, uri: &str) -> Option<&Arc<str>> {
        self.listed_by(uri).first().map(|at| &self.places[*at as usize].name)
    }

    /// The names of those that list this URI, in order.
    pub fn listers(&self, uri: &str) -> impl Iterator<Item = &Arc<str>> {
        self.listed_by(uri).iter().map(|at| &self.places[*at as usize].name)
    }

    /// The names of those that have this template, in order.
    pub fn template_listers<'a>(&'a self, uri_template: &'a str) -> impl Iterator<Item = &'a Arc<str>> {
        let has = move |(place, serving): &(&Place, &Serving)| {
            !self.is_claimed(place, uri_template) && serving.lists.templates.iter().any(|(info, _)| *info.uri_template == *uri_template)
        };
        self.serving().filter(has).map(|(place, _)| &place.name)
    }

    /// What the list says of this URI.
    pub fn info(&self, uri: &str) -> Option<&Arc<ResourceInfo>> {
        let at = self.listed_by(uri).first()?;
        match &self.places[*at as usize].state {
            State::Serving(serving) => serving.lists.info(uri),
            State::Loading(_) | State::Refused => None,
        }
    }

    /// The name of the provider that has this template; of several, the first.
    pub fn template_lister<'a>(&'a self, uri_template: &'a str) -> Option<&'a Arc<str>> {
        self.template_listers(uri_template).next()
    }

    /// The URIs that more than one provider lists: the URI, the name of the first, and that of one it goes before.
    pub(super) fn shadowed(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>, &Arc<str>)> {
        let name = |at: &u32| &self.places[*at as usize].name;
        self.exact.iter().flat_map(move |(uri, places)| {
            let (first, others) = places.as_slice().split_at(1);
            others.iter().map(move |other| (uri, name(&first[0]), name(other)))
        })
    }

    /// Whether someone else has reserved the beginning of this URI, or of this template.
    pub(super) fn is_claimed(&self, by: &Place, uri: &str) -> bool {
        is_claimed(&self.places, by, uri)
    }

    pub(super) fn listed_by(&self, uri: &str) -> &[u32] {
        self.exact.get(uri).map_or(&[], Places::as_slice)
    }
}

fn serving(places: &[Place]) -> impl Iterator<Item = (u32, &Serving)> {
    (0..).zip(places).filter_map(|(at, place)| match &place.state {
        State::Serving(serving) => Some((at, serving)),
        State::Loading(_) | State::Refused => None,
    })
}

fn is_claimed(places: &[Place], by: &Place, uri: &str) -> bool {
    !by.direct && holder(places, uri).is_some_and(|(place, _)| place.slot != by.slot)
}

/// Who has reserved the beginning of this URI, or of this template, and which. The longest claim holds; of equal ones, the first.
pub(super) fn holder<'a>(places: &'a [Place], uri: &str) -> Option<(&'a Place, &'a str)> {
    let claims = places.iter().flat_map(|place| place.rules.claims.iter().map(move |claim| (place, claim.as_str())));
    let holding = claims.filter(|(_, claim)| uri.starts_with(claim));
    // Of several longest, the last that `max_by_key` sees wins: so the first in order has to come last.
    holding.collect::<Vec<_>>().into_iter().rev().max_by_key(|(_, claim)| claim.len())
}

fn candidate(place: &Place, serving: &Serving, matched: Option<TemplateMatch>, mime_type: Option<&String>) -> Candidate {
    Candidate {
        name: place.name.clone(),
        source: serving.source,
        provider: serving.provider.clone(),
        ledger: serving.ledger.clone(),
        matched: matched.map(Arc::new),
        mime_type: mime_type.cloned(),
        public: place.rules.public,
    }
}
