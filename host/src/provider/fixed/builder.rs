use std::{future::Future, sync::Arc};

use futures_util::FutureExt;
use parking_lot::Mutex;
use serde_json::{Map, Value};

use super::{Complete, Fixed, List, Read, RegisterError, Registration, ResourceHandle, TemplateHandle, Watching, What, family::Family};
use crate::{
    provider::{Annotations, Completion, CompletionRequest, Error, Icon, ReadRequest, Reading, ResourceInfo, TemplateInfo, TemplateMatch},
    uri::{self, template::Template},
};

/// What both kinds of registration can say of themselves.
macro_rules! described {
    () => {
        /// Name for people.
        pub fn title(mut self, title: impl Into<String>) -> Self {
            self.info.title = Some(title.into());
            self
        }

        /// What it is, for the model to decide whether to read it.
        pub fn description(mut self, description: impl Into<String>) -> Self {
            self.info.description = Some(description.into());
            self
        }

        /// Media type of what a read gives; of a template, only if all its family has it.
        pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
            self.info.mime_type = Some(mime_type.into());
            self
        }

        /// One more icon.
        pub fn icon(mut self, icon: Icon) -> Self {
            self.info.icons.get_or_insert_default().push(icon);
            self
        }

        /// Hints for the client.
        pub fn annotations(mut self, annotations: Annotations) -> Self {
            self.info.annotations = Some(annotations);
            self
        }

        /// MCP's `_meta`.
        pub fn meta(mut self, meta: Map<String, Value>) -> Self {
            self.info.meta = Some(meta);
            self
        }

        /// It never changes: a subscription to it stands, and is told nothing.
        pub fn not_subscribable(mut self) -> Self {
            self.watching.pointless = true;
            self
        }

        /// Called when the first client subscribes to a URI; answers when changes are heard of from then on.
        pub fn on_subscribe<F, A>(mut self, hook: F) -> Self
        where
            F: Fn(Arc<str>, Option<Arc<TemplateMatch>>) -> A + Send + Sync + 'static,
            A: Future<Output = Result<(), Error>> + Send + 'static,
        {
            self.watching.subscribe = Some(Arc::new(move |uri, matched| hook(uri, matched).boxed()));
            self
        }

        /// Called when the last client has left a URI whose `on_subscribe` succeeded.
        pub fn on_unsubscribe<F, A>(mut self, hook: F) -> Self
        where
            F: Fn(Arc<str>) -> A + Send + Sync + 'static,
            A: Future<Output = ()> + Send + 'static,
        {
            self.watching.unsubscribe = Some(Arc::new(move |uri, _| hook(uri).map(Ok).boxed()));
            self
        }
    };
}

/// The registration of a resource, before it takes place.
#[must_use]
pub struct ResourceBuilder {
    fixed: Arc<Fixed>,
    info: ResourceInfo,
    watching: Watching,
}

impl ResourceBuilder {
    pub(super) fn new(fixed: Arc<Fixed>, name: String) -> Self {
        let info = ResourceInfo::new(format!("wharf://resource/{}", uri::encode(&name)), name);
        Self { fixed, info, watching: Watching::default() }
    }

    /// Its URI; `wharf://resource/<name, percent-encoded>` if it is not set.
    pub fn uri(mut self, uri: impl Into<Arc<str>>) -> Self {
        self.info.uri = uri.into();
        self
    }

    /// Bytes of its content, if known.
    pub fn size(mut self, size: u64) -> Self {
        self.info.size = Some(size);
        self
    }

    described!();

    /// Registers it; `read` gives its content: text, bytes, or a [`Reading`]. Takes the place at the end of the direct registrations.
    ///
    /// # Errors
    /// [`RegisterError::DuplicateName`], [`RegisterError::InvalidUri`].
    pub fn read<F, A, R>(self, read: F) -> Result<ResourceHandle, RegisterError>
    where
        F: Fn(ReadRequest) -> A + Send + Sync + 'static,
        A: Future<Output = Result<R, Error>> + Send + 'static,
        R: Into<Reading>,
    {
        let fixed = self.fixed.clone();
        let (registration, uri) = self.registration(read)?;
        let name = registration.name.clone();
        let id = fixed.add(registration)?;
        Ok(ResourceHandle { fixed: Arc::downgrade(&fixed), name, id, uri })
    }

    /// What [`ResourceBuilder::read`] would register, and its URI.
    pub(crate) fn registration<F, A, R>(self, read: F) -> Result<(Registration, Arc<str>), RegisterError>
    where
        F: Fn(ReadRequest) -> A + Send + Sync + 'static,
        A: Future<Output = Result<R, Error>> + Send + 'static,
        R: Into<Reading>,
    {
        let Self { info, watching, .. } = self;
        uri::check(&info.uri).map_err(|reason| RegisterError::InvalidUri { uri: info.uri.to_string(), reason })?;
        let (name, uri) = (info.name.clone(), info.uri.clone());
        Ok((Registration { name, what: What::Resource(Box::new(info)), read: reader(read), watching }, uri))
    }
}

/// The registration of a template, before it takes place.
#[must_use]
pub struct TemplateBuilder {
    fixed: Arc<Fixed>,
    info: TemplateInfo,
    watching: Watching,
    list: Option<List>,
    complete: Option<Complete>,
}

impl TemplateBuilder {
    pub(super) fn new(fixed: Arc<Fixed>, name: String, uri_template: Arc<str>) -> Self {
        Self { fixed, info: TemplateInfo::new(uri_template, name), watching: Watching::default(), list: None, complete: None }
    }

    described!();

    /// Lists those of its family that can be enumerated. Asked again as a provider's list is.
    pub fn list<F, A>(mut self, list: F) -> Self
    where
        F: Fn() -> A + Send + Sync + 'static,
        A: Future<Output = Result<Vec<ResourceInfo>, Error>> + Send + 'static,
    {
        self.list = Some(Arc::new(move || list().boxed()));
        self
    }

    /// Suggests values for its variables.
    pub fn complete<F, A>(mut self, complete: F) -> Self
    where
        F: Fn(CompletionRequest) -> A + Send + Sync + 'static,
        A: Future<Output = Result<Completion, Error>> + Send + 'static,
    {
        self.complete = Some(Arc::new(move |request| complete(request).boxed()));
        self
    }

    /// Registers it; `read` gets the URI and the variables found in it, and answers [`Error::NotFound`] for what does not exist.
    ///
    /// # Errors
    /// [`RegisterError::DuplicateName`], [`RegisterError::Template`].
    pub fn read<F, A, R>(self, read: F) -> Result<TemplateHandle, RegisterError>
    where
        F: Fn(ReadRequest) -> A + Send + Sync + 'static,
        A: Future<Output = Result<R, Error>> + Send + 'static,
        R: Into<Reading>,
    {
        let Self { fixed, info, watching, list, complete } = self;
        let template = Template::parse(&info.uri_template)
            .map_err(|error| RegisterError::Template { template: info.uri_template.to_string(), error })?;
        let name = info.name.clone();
        let what = What::Template(Box::new(Family { info, template: template.clone(), list, complete, listed: Mutex::default() }));
        let id = fixed.add(Registration { name: name.clone(), what, read: reader(read), watching })?;
        Ok(TemplateHandle { fixed: Arc::downgrade(&fixed), name, id, template })
    }
}

fn reader<F, A, R>(read: F) -> Read
where
    F: Fn(ReadRequest) -> A + Send + Sync + 'static,
    A: Future<Output = Result<R, Error>> + Send + 'static,
    R: Into<Reading>,
{
    Arc::new(move |request| {
        let reading = read(request);
        async move { reading.await.map(Into::into) }.boxed()
    })
}
