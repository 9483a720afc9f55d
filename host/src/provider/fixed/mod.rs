//! Direct registrations: resources and templates that the embedding program, or wharf.toml, gives the host itself.
//!
//! All of them together are one [`Provider`], which stands before all others. Invariants: a name is registered once at a time; a handle acts
//! on the registration it was given for, and does nothing once that is gone, even if its name was registered anew.

mod builder;
mod family;
mod handle;
mod leading;
mod watches;

use std::{
    collections::{HashMap, hash_map},
    sync::{Arc, Weak},
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, join_all},
};
use indexmap::IndexMap;
use parking_lot::RwLock;
use tokio::runtime::Handle;

pub use builder::{ResourceBuilder, TemplateBuilder};
pub use handle::{NotOwned, ResourceHandle, TemplateHandle};
pub(crate) use leading::Leading;

use self::{family::Family, watches::Watches};
use super::{
    Announcer, Answer, Completion, CompletionRequest, Error, Occurrence, Offers, Provider, ReadRequest, Reading, ResourceInfo,
    ResourcePage, Reuse, TemplateInfo, TemplateMatch,
};
use crate::uri::template::TemplateError;

type Read = Arc<dyn Fn(ReadRequest) -> BoxFuture<'static, Result<Reading, Error>> + Send + Sync>;
type Hook = Arc<dyn Fn(Arc<str>, Option<Arc<TemplateMatch>>) -> BoxFuture<'static, Result<(), Error>> + Send + Sync>;
type List = Arc<dyn Fn() -> BoxFuture<'static, Result<Vec<ResourceInfo>, Error>> + Send + Sync>;
type Complete = Arc<dyn Fn(CompletionRequest) -> BoxFuture<'static, Result<Completion, Error>> + Send + Sync>;

/// Why something cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// The name is taken: unregister that one first.
    #[error("there is a registration named {0:?} already")]
    DuplicateName(String),
    /// It is no absolute URI of at most 8 KiB; says why.
    #[error("{uri} is not a valid resource URI: {reason}")]
    InvalidUri {
        /// What was given.
        uri: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The template cannot be matched.
    #[error("{template}: {error}")]
    Template {
        /// What was given.
        template: String,
        /// What is wrong with it.
        error: TemplateError,
    },
}

/// What can be subscribed, and who wants to hear of it.
#[derive(Clone, Default)]
struct Watching {
    /// It never changes: a subscription stands, and is told nothing.
    pointless: bool,
    subscribe: Option<Hook>,
    unsubscribe: Option<Hook>,
}

enum What {
    Resource(Box<ResourceInfo>),
    Template(Box<Family>),
}

/// A registration before it takes place.
pub(crate) struct Registration {
    name: String,
    what: What,
    read: Read,
    watching: Watching,
}

struct Entry {
    id: u64,
    what: What,
    read: Read,
    watching: Watching,
}

#[derive(Default)]
struct Entries {
    /// In the order of registration, which is precedence.
    by_name: IndexMap<String, Arc<Entry>>,
    /// Those that have each URI, in the same order.
    by_uri: HashMap<Arc<str>, Vec<Arc<Entry>>>,
    ids: u64,
}

/// See the module's page.
pub struct Fixed {
    this: Weak<Self>,
    entries: RwLock<Entries>,
    announcer: Announcer,
    watches: Watches,
    /// Where hooks are called that a change of registrations asks for: registering needs no runtime.
    runtime: Option<Handle>,
    /// Called after each change of what is registered.
    changed: Box<dyn Fn() + Send + Sync>,
}

impl Fixed {
    /// An empty one, to be made in a tokio runtime. `changed` is called whenever its lists have changed, besides what is announced.
    pub fn new(announcer: Announcer, changed: impl Fn() + Send + Sync + 'static) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            entries: RwLock::default(),
            announcer,
            watches: Watches::default(),
            runtime: Handle::try_current().ok(),
            changed: Box::new(changed),
        })
    }

    /// Begins the registration of a resource of this name.
    pub fn resource(self: &Arc<Self>, name: impl Into<String>) -> ResourceBuilder {
        ResourceBuilder::new(self.clone(), name.into())
    }

    /// Begins the registration of a template of this name.
    pub fn template(self: &Arc<Self>, name: impl Into<String>, uri_template: impl Into<Arc<str>>) -> TemplateBuilder {
        TemplateBuilder::new(self.clone(), name.into(), uri_template.into())
    }

    fn add(&self, registration: Registration) -> Result<u64, RegisterError> {
        let mut entries = self.entries.write();
        if entries.by_name.contains_key(&registration.name) {
            return Err(RegisterError::DuplicateName(registration.name));
        }
        let (name, entry) = entries.entry(registration);
        if let What::Resource(info) = &entry.what {
            entries.by_uri.entry(info.uri.clone()).or_default().push(entry.clone());
        }
        entries.by_name.insert(name, entry.clone());
        drop(entries);
        self.changes_hands(&entry.what);
        self.tell_change();
        Ok(entry.id)
    }

    fn remove(&self, name: &str, id: u64) {
        let mut entries = self.entries.write();
        if entries.by_name.get(name).is_none_or(|entry| entry.id != id) {
            return;
        }
        let Some(entry) = entries.by_name.shift_remove(name) else { return };
        if let What::Resource(info) = &entry.what
            && let hash_map::Entry::Occupied(mut having) = entries.by_uri.entry(info.uri.clone())
        {
            having.get_mut().retain(|other| other.id != id);
            if having.get().is_empty() {
                having.remove();
            }
        }
        drop(entries);
        self.changes_hands(&entry.what);
        self.tell_change();
    }

    fn get(&self, name: &str, id: u64) -> Option<Arc<Entry>> {
        self.entries.read().by_name.get(name).filter(|entry| entry.id == id).cloned()
    }

    fn tell_change(&self) {
        self.announcer.announce(Occurrence::ListChanged);
        (self.changed)();
    }

    /// Whose a URI is: the resource's that has it, or the template's that it matched or would match.
    fn find(&self, uri: &str, matched: Option<&TemplateMatch>) -> Option<(Arc<Entry>, Option<Arc<TemplateMatch>>)> {
        let entries = self.entries.read();
        if matched.is_none()
            && let Some(entry) = entries.by_uri.get(uri).and_then(|having| having.first())
        {
            return Some((entry.clone(), None));
        }
        // One that a template's `list` gave is listed, so it comes without a match.
        entries.by_name.values().find_map(|entry| {
            let What::Template(family) = &entry.what else { return None };
            let Family { info, template, .. } = &**family;
            if matched.is_some_and(|matched| matched.uri_template != info.uri_template) {
                return None;
            }
            let variables = template.matches(uri)?;
            Some((entry.clone(), Some(Arc::new(TemplateMatch { uri_template: info.uri_template.clone(), variables }))))
        })
    }
}

impl Provider for Fixed {
    fn offers(&self) -> Offers {
        Offers { subscriptions: true, completions: true, webhooks: false, live: true }
    }

    fn list(&self, _cursor: Option<String>) -> Answer<'_, ResourcePage> {
        let entries: Vec<_> = self.entries.read().by_name.iter().map(|(name, entry)| (name.clone(), entry.clone())).collect();
        async move {
            // A family that lists itself may grow unannounced, like any provider's list.
            let lists = |entry: &Entry| matches!(&entry.what, What::Template(family) if family.list.is_some());
            let reuse = if entries.iter().any(|(_, entry)| lists(entry)) { None } else { Some(Reuse::UntilAnnounced) };
            let listed = entries.iter().map(|(name, entry)| async move {
                match &entry.what {
                    What::Resource(info) => vec![(**info).clone()],
                    What::Template(family) => family.resources(self.this.clone(), name, entry.id).await,
                }
            });
            Ok(ResourcePage { resources: join_all(listed).await.concat(), next_cursor: None, reuse })
        }
        .boxed()
    }

    fn templates(&self) -> Answer<'_, Vec<TemplateInfo>> {
        let entries = self.entries.read();
        let templates = entries.by_name.values().filter_map(|entry| match &entry.what {
            What::Template(family) => Some(family.info.clone()),
            What::Resource(_) => None,
        });
        let templates = Ok(templates.collect());
        async { templates }.boxed()
    }

    fn read(&self, request: ReadRequest) -> Answer<'_, Option<Reading>> {
        let Some((entry, matched)) = self.find(&request.uri, request.matched.as_deref()) else {
            return async { Err(Error::NotFound) }.boxed();
        };
        let same_as = request.if_none_match.clone();
        let reading = (entry.read)(ReadRequest { matched, ..request });
        async move {
            let reading = reading.await?;
            Ok((same_as.is_none() || same_as != reading.version).then_some(reading))
        }
        .boxed()
    }

    fn subscribe(&self, uri: Arc<str>, matched: Option<Arc<TemplateMatch>>) -> Answer<'_, ()> {
        self.watch(uri, matched).boxed()
    }

    fn unsubscribe(&self, uri: Arc<str>) -> Answer<'_, ()> {
        self.unwatch(uri).boxed()
    }

    fn complete(&self, request: CompletionRequest) -> Answer<'_, Completion> {
        let complete = self.entries.read().by_name.values().find_map(|entry| match &entry.what {
            What::Template(family) if family.info.uri_template == request.uri_template => family.complete.clone(),
            _ => None,
        });
        match complete {
            Some(complete) => complete(request),
            None => async { Ok(Completion::default()) }.boxed(),
        }
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }
}
