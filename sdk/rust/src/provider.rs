//! A provider while it is put together: what it offers, and the functions that answer.

use crate::{
    bindings::types::ResourceInfo,
    builder::{Fields, ResourceBuilder, TemplateBuilder},
    error::Result,
    reading::{Reading, Reuse, Suggestions},
    request::{Request, Variables},
};

/// What a type has to have to be a provider: [`export!`](crate::export) makes a component of it. The value is the provider's memory, and every handler
/// is handed it.
pub trait Provide: Sized + 'static {
    /// Called once, before anything else, in each instance. Settings can be asked for here, and timers started. An error is the answer to
    /// every call, so that it is seen.
    fn provider() -> Result<Provider<Self>>;
}

pub(crate) type Read<S> = Box<dyn Fn(&mut S, &Request) -> Result<Reading>>;
pub(crate) type Subscribe<S> = Box<dyn Fn(&mut S, &Request) -> Result<()>>;
pub(crate) type Unsubscribe<S> = Box<dyn Fn(&mut S, &Request)>;
pub(crate) type Complete<S> = Box<dyn Fn(&mut S, &str, &Variables) -> Result<Suggestions>>;

/// Those of a template's resources that can be enumerated. A trait, so that a provider without them does not carry what it takes.
pub(crate) trait List<S> {
    /// All of them, given what is said of the template.
    fn list(&self, state: &mut S, template: &Fields) -> Result<Vec<ResourceInfo>>;

    /// The variables of one that the last list had.
    fn find(&self, uri: &str) -> Option<Variables>;
}

/// Resources in one page of a list (the contract's advice).
const PAGE: usize = 1000;

/// What is offered under one URI or template.
pub(crate) struct Offer<S> {
    pub fields: Fields,
    pub is_template: bool,
    pub read: Read<S>,
    pub subscribable: bool,
    pub on_subscribe: Option<Subscribe<S>>,
    pub on_unsubscribe: Option<Unsubscribe<S>>,
    pub list: Option<Box<dyn List<S>>>,
    /// By the variable.
    pub complete: Vec<(String, Complete<S>)>,
}

/// A provider: what it offers, and `S`, what it remembers.
///
/// A live provider has one instance, and calls come one at a time, so what one call leaves in `S` is there in the next. One that only answers
/// may have several instances: there `S` is a cache at the most.
pub struct Provider<S> {
    pub(crate) state: S,
    pub(crate) offers: Vec<Offer<S>>,
    pub(crate) page: usize,
    pub(crate) list_reuse: Option<Reuse>,
    /// What is left of a list that is given out in pages, and how much was given.
    pub(crate) rest: (usize, Vec<ResourceInfo>),
    /// What is subscribed and has a function for the end of it.
    pub(crate) subscribed: Vec<(usize, Request)>,
    pub(crate) webhooks: Vec<crate::webhooks::Webhook<S>>,
}

impl<S> Provider<S> {
    /// One that offers nothing yet.
    pub fn new(state: S) -> Self {
        Self {
            state,
            offers: Vec::new(),
            page: PAGE,
            list_reuse: None,
            rest: (0, Vec::new()),
            subscribed: Vec::new(),
            webhooks: Vec::new(),
        }
    }

    /// Begins a resource; [`read`](ResourceBuilder::read) ends it.
    pub fn resource(&mut self, uri: impl Into<String>) -> ResourceBuilder<'_, S> {
        ResourceBuilder::new(self, Fields::new(uri.into()))
    }

    /// Begins a family of resources, by its URI template (RFC 6570): `{v}`, `{+v}`, `{/v*}`, `{?a,b}`. [`read`](TemplateBuilder::read) ends it.
    /// Templates are tried in this order.
    pub fn template(&mut self, uri_template: impl Into<String>) -> TemplateBuilder<'_, S> {
        TemplateBuilder::new(self, Fields::new(uri_template.into()))
    }

    /// Resources in one page of the list: 1000 unless said, which suits all but very long descriptions.
    pub fn page_size(&mut self, resources: usize) -> &mut Self {
        self.page = resources.max(1);
        self
    }

    /// How long the list may be reused. Unless said: if it is fixed until [`announce::list_changed`](crate::announce::list_changed); if a function gives some of it
    /// the host asks again after two seconds.
    pub fn list_reuse(&mut self, reuse: Reuse) -> &mut Self {
        self.list_reuse = Some(reuse);
        self
    }

    /// What the provider remembers; for tests.
    pub fn state(&mut self) -> &mut S {
        &mut self.state
    }

    /// What is listed now.
    pub(crate) fn enumerate(&mut self) -> Result<Vec<ResourceInfo>> {
        let mut resources = Vec::with_capacity(self.offers.len());
        for offer in &self.offers {
            if let Some(list) = &offer.list {
                resources.append(&mut list.list(&mut self.state, &offer.fields)?);
            } else if !offer.is_template {
                resources.push(offer.fields.resource());
            }
        }
        Ok(resources)
    }
}
