//! What there is to say of a resource, a template or an entry of a list, and the functions that answer for it.

use std::{cell::RefCell, collections::BTreeMap};

use crate::{
    bindings::types::{Annotations, ResourceInfo, TemplateInfo},
    error::Result,
    provider::{Complete, List, Offer, Provider, Subscribe, Unsubscribe},
    reading::{Icon, Reading, Role, Suggestions},
    request::{Request, Variables},
    template::{expand, last_segment},
};

/// What a list carries.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Fields {
    pub uri: String,
    pub name: Option<String>,
    pub title: Option<String>,
    pub description: Option<String>,
    pub mime_type: Option<String>,
    pub size: Option<f64>,
    pub icons: Option<Vec<Icon>>,
    pub audience: Option<Vec<Role>>,
    pub priority: Option<f64>,
    pub last_modified: Option<f64>,
    pub meta: Option<String>,
}

impl Fields {
    pub fn new(uri: String) -> Self {
        Self { uri, ..Self::default() }
    }

    fn name(&self) -> String {
        self.name.clone().unwrap_or_else(|| last_segment(&self.uri).to_owned())
    }

    fn annotations(&self) -> Option<Annotations> {
        let Self { audience, priority, last_modified, .. } = self;
        let any = audience.is_some() || priority.is_some() || last_modified.is_some();
        any.then(|| Annotations { audience: audience.clone(), priority: *priority, last_modified: *last_modified })
    }

    pub fn resource(&self) -> ResourceInfo {
        ResourceInfo {
            uri: self.uri.clone(),
            name: self.name(),
            title: self.title.clone(),
            description: self.description.clone(),
            mime_type: self.mime_type.clone(),
            size: self.size,
            icons: self.icons.clone(),
            annotations: self.annotations(),
            meta_json: self.meta.clone(),
        }
    }

    pub fn template(&self) -> TemplateInfo {
        let ResourceInfo { uri, name, title, description, mime_type, icons, annotations, meta_json, .. } = self.resource();
        TemplateInfo { uri_template: uri, name, title, description, mime_type, icons, annotations, meta_json }
    }
}

/// What can be said of resources, templates and entries alike.
macro_rules! described {
    () => {
        /// Short name for programs. Unless said: the last segment of the URI that is written out.
        pub fn name(mut self, name: impl Into<String>) -> Self {
            self.fields.name = Some(name.into());
            self
        }

        /// Name for people.
        pub fn title(mut self, title: impl Into<String>) -> Self {
            self.fields.title = Some(title.into());
            self
        }

        /// What it is, for the model to decide whether to read it.
        pub fn describe(mut self, description: impl Into<String>) -> Self {
            self.fields.description = Some(description.into());
            self
        }

        /// Media type of what is read.
        pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
            self.fields.mime_type = Some(mime_type.into());
            self
        }

        /// An icon that a client may show. Say it once for each.
        pub fn icon(mut self, icon: Icon) -> Self {
            self.fields.icons.get_or_insert_default().push(icon);
            self
        }

        /// For whom it is meant.
        pub fn audience(mut self, roles: impl Into<Vec<Role>>) -> Self {
            self.fields.audience = Some(roles.into());
            self
        }

        /// From 0.0, entirely optional, to 1.0, effectively required.
        pub fn priority(mut self, priority: f64) -> Self {
            self.fields.priority = Some(priority);
            self
        }

        /// When the content last changed, in milliseconds since 1970.
        pub fn last_modified(mut self, ms: f64) -> Self {
            self.fields.last_modified = Some(ms);
            self
        }

        /// A JSON object, as text, for MCP's `_meta`.
        pub fn meta(mut self, json: impl Into<String>) -> Self {
            self.fields.meta = Some(json.into());
            self
        }
    };
}

/// One of those resources of a template that can be enumerated: its variables, and what a list carries.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Entry {
    pub(crate) variables: Variables,
    pub(crate) fields: Fields,
}

impl Entry {
    /// The values of the template's variables, which make its URI; a value of an exploded one (`{/seg*}`) each.
    pub fn new(variables: impl Into<Variables>) -> Self {
        Self { variables: variables.into(), fields: Fields::default() }
    }

    /// As the list has it, and the variables.
    fn of(self, template: &Fields) -> (ResourceInfo, Variables) {
        let Self { variables, mut fields } = self;
        fields.uri = expand(&template.uri, &variables);
        let mut resource = fields.resource();
        resource.mime_type = resource.mime_type.or_else(|| template.mime_type.clone());
        (resource, variables)
    }

    /// Bytes of the content.
    pub fn size(mut self, bytes: usize) -> Self {
        self.fields.size = Some(bytes as f64);
        self
    }

    described!();
}

/// A function that lists, and the variables of what it listed last.
struct Listed<F> {
    list: F,
    known: RefCell<BTreeMap<String, Variables>>,
}

impl<S, F: Fn(&mut S) -> Result<Vec<Entry>>> List<S> for Listed<F> {
    fn list(&self, state: &mut S, template: &Fields) -> Result<Vec<ResourceInfo>> {
        let entries: Vec<_> = (self.list)(state)?.into_iter().map(|entry| entry.of(template)).collect();
        let of = |(resource, variables): &(ResourceInfo, Variables)| (resource.uri.clone(), variables.clone());
        self.known.replace(entries.iter().map(of).collect());
        Ok(entries.into_iter().map(|(resource, _)| resource).collect())
    }

    fn find(&self, uri: &str) -> Option<Variables> {
        self.known.borrow().get(uri).cloned()
    }
}

/// The functions of subscriptions, which resources and templates both have.
macro_rules! subscribable {
    () => {
        /// It can be subscribed to: it changes when [`announce::updated`](crate::announce::updated) says so, or at a reload.
        ///
        /// Needs `subscriptions` in [`export!`](crate::export). What is not subscribable answers that it does not tell of changes.
        pub fn subscribable(mut self) -> Self {
            self.subscribable = true;
            self
        }

        /// Called for the first subscriber to a URI: start looking, and call [`announce::updated`](crate::announce::updated) at each change. An error says that it
        /// cannot be watched.
        pub fn on_subscribe(mut self, subscribe: impl Fn(&mut S, &Request) -> Result<()> + 'static) -> Self {
            self.subscribable = true;
            self.on_subscribe = Some(Box::new(subscribe));
            self
        }

        /// Called when the last subscriber of a URI has left: stop looking.
        pub fn on_unsubscribe(mut self, unsubscribe: impl Fn(&mut S, &Request) + 'static) -> Self {
            self.subscribable = true;
            self.on_unsubscribe = Some(Box::new(unsubscribe));
            self
        }
    };
}

/// A resource while it is described.
#[must_use = "`read` ends it: without, there is no such resource"]
pub struct ResourceBuilder<'a, S> {
    provider: &'a mut Provider<S>,
    fields: Fields,
    subscribable: bool,
    on_subscribe: Option<Subscribe<S>>,
    on_unsubscribe: Option<Unsubscribe<S>>,
}

impl<'a, S> ResourceBuilder<'a, S> {
    pub(crate) fn new(provider: &'a mut Provider<S>, fields: Fields) -> Self {
        Self { provider, fields, subscribable: false, on_subscribe: None, on_unsubscribe: None }
    }

    described!();
    subscribable!();

    /// Bytes of the content.
    pub fn size(mut self, bytes: usize) -> Self {
        self.fields.size = Some(bytes as f64);
        self
    }

    /// What it holds, asked for at each read.
    pub fn read<R: Into<Reading>>(self, read: impl Fn(&mut S, &Request) -> Result<R> + 'static) {
        let Self { provider, fields, subscribable, on_subscribe, on_unsubscribe } = self;
        provider.offers.push(Offer {
            fields,
            is_template: false,
            read: Box::new(move |state, request| read(state, request).map(Into::into)),
            subscribable,
            on_subscribe,
            on_unsubscribe,
            list: None,
            complete: Vec::new(),
        });
    }
}

/// A family of resources while it is described.
#[must_use = "`read` ends it: without, there is no such template"]
pub struct TemplateBuilder<'a, S> {
    provider: &'a mut Provider<S>,
    fields: Fields,
    subscribable: bool,
    on_subscribe: Option<Subscribe<S>>,
    on_unsubscribe: Option<Unsubscribe<S>>,
    list: Option<Box<dyn List<S>>>,
    complete: Vec<(String, Complete<S>)>,
}

impl<'a, S> TemplateBuilder<'a, S> {
    pub(crate) fn new(provider: &'a mut Provider<S>, fields: Fields) -> Self {
        Self { provider, fields, subscribable: false, on_subscribe: None, on_unsubscribe: None, list: None, complete: Vec::new() }
    }

    described!();
    subscribable!();

    /// Those of the family that can be enumerated: they appear in the list of resources.
    pub fn list(mut self, list: impl Fn(&mut S) -> Result<Vec<Entry>> + 'static) -> Self {
        self.list = Some(Box::new(Listed { list, known: RefCell::default() }));
        self
    }

    /// Suggests values for a variable: the function is given what is typed of it, and the variables that are filled in already. The host
    /// passes on the first 100.
    ///
    /// Needs `completions` in [`export!`](crate::export).
    pub fn complete<R: Into<Suggestions>>(
        mut self,
        variable: impl Into<String>,
        complete: impl Fn(&mut S, &str, &Variables) -> Result<R> + 'static,
    ) -> Self {
        self.complete.push((variable.into(), Box::new(move |state, typed, known| complete(state, typed, known).map(Into::into))));
        self
    }

    /// What one of them holds, asked for at each read. The request has the variables.
    pub fn read<R: Into<Reading>>(self, read: impl Fn(&mut S, &Request) -> Result<R> + 'static) {
        let Self { provider, fields, subscribable, on_subscribe, on_unsubscribe, list, complete } = self;
        provider.offers.push(Offer {
            fields,
            is_template: true,
            read: Box::new(move |state, request| read(state, request).map(Into::into)),
            subscribable,
            on_subscribe,
            on_unsubscribe,
            list,
            complete,
        });
    }
}
