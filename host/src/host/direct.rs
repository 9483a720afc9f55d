//! The direct registrations: resources and templates, wharf.toml's among them, in one provider, and after it the program's own providers.

use std::{
    io,
    path::Path,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;

use crate::{
    catalog::{Catalog, Position, Rules},
    config::{self, Audience, Content, Theme},
    provider::{
        Annotations, Announcer, Body, Contents, Error, EventQueue, Icon, IconTheme, Occurrence, Provider, Reading, Role, Source,
        fixed::{Fixed, NotOwned, RegisterError},
    },
};

/// The name of the provider that has them, in logs and errors.
const NAME: &str = "wharf";
/// Bytes of a file that a `[[resource]]` serves: as much as a component may answer.
const FILE_BYTES: u64 = crate::provider::wasm::limits::MAX_ANSWER_BYTES as u64;

/// See the module's page.
pub(super) struct Direct {
    catalog: Arc<Catalog>,
    queue: Arc<EventQueue>,
    fixed: Arc<Fixed>,
    order: Arc<Mutex<Vec<Position>>>,
}

impl Direct {
    pub(super) async fn start(
        catalog: Arc<Catalog>,
        queue: Arc<EventQueue>,
        resources: &[config::Resource],
    ) -> Result<Self, RegisterError> {
        let source = Source { slot: catalog.new_slot(), generation: 1 };
        let announcer = Announcer::new(source, queue.clone());
        let weak = Arc::downgrade(&catalog);
        let fixed = Fixed::new(announcer.clone(), move || {
            if let Some(catalog) = weak.upgrade() {
                catalog.list_changed(source);
            }
        });
        for resource in resources {
            register(&fixed, resource)?;
        }
        let order = vec![Position { slot: source.slot, name: NAME.into(), rules: Rules::default() }];
        catalog.arrange(true, order.clone());
        // It cannot fail to list.
        let _ = catalog.load(fixed.clone(), &announcer).await;
        Ok(Self { catalog, queue, fixed, order: Arc::new(Mutex::new(order)) })
    }

    pub(super) fn fixed(&self) -> &Arc<Fixed> {
        &self.fixed
    }

    pub(super) async fn provider(
        &self,
        name: String,
        make: impl FnOnce(Announcer) -> Arc<dyn Provider>,
    ) -> Result<ProviderHandle, RegisterError> {
        let source = Source { slot: self.catalog.new_slot(), generation: 1 };
        let announcer = Announcer::new(source, self.queue.clone());
        {
            let mut order = self.order.lock();
            if order.iter().any(|position| *position.name == *name) {
                return Err(RegisterError::DuplicateName(name));
            }
            order.push(Position { slot: source.slot, name: name.into(), rules: Rules::default() });
            self.catalog.arrange(true, order.clone());
        }
        let provider = make(announcer.clone());
        if let Err(error) = self.catalog.load(provider.clone(), &announcer).await {
            tracing::warn!(slot = source.slot, kind = error.kind(), "did not list: {error}; it is asked again");
        }
        Ok(ProviderHandle { announcer, provider, catalog: Arc::downgrade(&self.catalog), order: self.order.clone() })
    }
}

/// A registered provider of the program's own. Dropping the handle changes nothing.
#[derive(Clone)]
pub struct ProviderHandle {
    announcer: Announcer,
    provider: Arc<dyn Provider>,
    catalog: Weak<Catalog>,
    order: Arc<Mutex<Vec<Position>>>,
}

impl ProviderHandle {
    /// The content of one of its resources has changed: whoever subscribed to it is told.
    ///
    /// # Errors
    /// [`NotOwned`] if the provider neither lists it nor has a template for it, or is not registered any more.
    pub fn notify_updated(&self, uri: impl Into<Arc<str>>) -> Result<(), NotOwned> {
        let uri = uri.into();
        let snapshot = self.catalog.upgrade().map(|catalog| catalog.snapshot());
        let candidates = snapshot.map(|snapshot| snapshot.candidates(&uri)).unwrap_or_default();
        if !candidates.iter().any(|candidate| candidate.source == self.announcer.source()) {
            return Err(NotOwned(uri.to_string()));
        }
        self.announcer.updated(uri);
        Ok(())
    }

    /// Its lists would be answered differently now.
    pub fn notify_changed(&self) {
        self.announcer.announce(Occurrence::ListChanged);
    }

    /// Takes it away, and ends it. Nothing if it was taken away already.
    pub async fn unregister(&self) {
        let Some(catalog) = self.catalog.upgrade() else { return };
        let slot = self.announcer.source().slot;
        {
            let mut order = self.order.lock();
            let before = order.len();
            order.retain(|position| position.slot != slot);
            if order.len() == before {
                return;
            }
            catalog.arrange(true, order.clone());
        }
        self.provider.close().await;
    }
}

/// A `[[resource]]` of wharf.toml.
fn register(fixed: &Arc<Fixed>, resource: &config::Resource) -> Result<(), RegisterError> {
    let mut builder = fixed.resource(&resource.name);
    if let Some(uri) = &resource.uri {
        builder = builder.uri(uri.as_str());
    }
    if let Some(title) = &resource.title {
        builder = builder.title(title);
    }
    if let Some(description) = &resource.description {
        builder = builder.description(description);
    }
    if let Some(mime_type) = &resource.mime_type {
        builder = builder.mime_type(mime_type);
    }
    if let Some(size) = resource.size {
        builder = builder.size(size);
    }
    let audience = resource.audience.as_ref().map(|audience| audience.iter().map(role).collect());
    let annotations = Annotations { audience, priority: resource.priority, last_modified: resource.last_modified };
    if annotations != Annotations::default() {
        builder = builder.annotations(annotations);
    }
    for icon in &resource.icons {
        builder = builder.icon(icon_of(icon));
    }
    let said = resource.mime_type.is_some();
    match resource.content.clone() {
        Content::Text(text) => builder.not_subscribable().read(move |_| std::future::ready(Ok(reading(Body::Text(text.clone()), said)))),
        Content::File(path) => builder.read(move |_| {
            let path: Arc<Path> = path.as_path().into();
            async move {
                let read = tokio::task::spawn_blocking(move || (read_file(&path), path)).await;
                let (body, path) = read.map_err(|_| Error::Failed("reading its file failed".into()))?;
                body.map(|body| reading(body, said)).map_err(|error| Error::unavailable(format!("cannot read {}: {error}", path.display())))
            }
        }),
    }
    .map(drop)
}

/// Where wharf.toml says no media type, the plainest that fits.
fn reading(body: Body, said: bool) -> Reading {
    let plain = match &body {
        Body::Text(_) => "text/plain",
        Body::Blob(_) => "application/octet-stream",
    };
    let mime_type = (!said).then(|| plain.to_owned());
    Reading { contents: vec![Contents { uri: None, mime_type, body, meta: None }], version: None, reuse: None }
}

/// Text if it is UTF-8.
fn read_file(path: &Path) -> io::Result<Body> {
    let bytes = config::files::read_regular(path, FILE_BYTES)?;
    Ok(String::from_utf8(bytes).map_or_else(|error| Body::Blob(error.into_bytes().into()), Body::Text))
}

fn role(audience: &Audience) -> Role {
    match audience {
        Audience::User => Role::User,
        Audience::Assistant => Role::Assistant,
    }
}

fn icon_of(icon: &config::Icon) -> Icon {
    let theme = icon.theme.map(|theme| match theme {
        Theme::Light => IconTheme::Light,
        Theme::Dark => IconTheme::Dark,
    });
    Icon { src: icon.src.clone(), mime_type: icon.mime_type.clone(), sizes: icon.sizes.clone(), theme }
}
