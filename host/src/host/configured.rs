//! The resources of wharf.toml among the direct registrations: they go before those of the embedding program, and change with the file.

use std::{
    collections::{BTreeSet, HashMap},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;

use crate::{
    config::{self, Audience, Content, Theme},
    provider::{
        Annotations, Announcer, Body, Contents, Error, Icon, IconTheme, Reading, Role,
        fixed::{Fixed, Leading, RegisterError, Registration},
        grants::files::Guarded,
    },
};

/// Bytes of a file that a `[[resource]]` serves: as much as a component may answer.
const FILE_BYTES: u64 = crate::provider::wasm::limits::MAX_ANSWER_BYTES as u64;

struct One {
    resource: config::Resource,
    uri: Arc<str>,
    id: u64,
}

/// See the module's page.
pub(super) struct Configured {
    fixed: Arc<Fixed>,
    announcer: Announcer,
    all: Mutex<Vec<One>>,
    guarded: SharedGuarded,
}

/// What holds at the time of a read: it changes with wharf.toml, and the resource need not.
type SharedGuarded = Arc<Mutex<Arc<Guarded>>>;

impl Configured {
    pub(super) fn new(fixed: Arc<Fixed>, announcer: Announcer) -> Self {
        Self { fixed, announcer, all: Mutex::default(), guarded: Arc::default() }
    }

    /// These are the resources from now on. Those that are as they were are left alone; an error changes nothing.
    pub(super) fn set(&self, resources: &[config::Resource], guarded: Guarded) -> Result<(), RegisterError> {
        let mut all = self.all.lock();
        let before: Vec<u64> = all.iter().map(|one| one.id).collect();
        let known: HashMap<&str, &One> = all.iter().map(|one| (one.resource.name.as_str(), one)).collect();
        let (mut leading, mut uris) = (Vec::with_capacity(resources.len()), Vec::with_capacity(resources.len()));
        for resource in resources {
            match known.get(resource.name.as_str()).filter(|one| one.resource == *resource) {
                Some(one) => {
                    leading.push(Leading::Stays(one.id));
                    uris.push(one.uri.clone());
                }
                None => {
                    let (registration, uri) = registration(&self.fixed, resource, &self.guarded)?;
                    leading.push(Leading::New(registration));
                    uris.push(uri);
                }
            }
        }
        let ids = self.fixed.lead(&before, leading)?;
        *self.guarded.lock() = Arc::new(guarded);
        let ones = resources.iter().zip(uris).zip(ids);
        *all = ones.map(|((resource, uri), id)| One { resource: resource.clone(), uri, id }).collect();
        Ok(())
    }

    /// The files that they serve.
    pub(super) fn files(&self) -> BTreeSet<PathBuf> {
        let file = |one: &One| match &one.resource.content {
            Content::File(path) => Some(path.clone()),
            Content::Text(_) => None,
        };
        self.all.lock().iter().filter_map(file).collect()
    }

    /// One of these files has changed: whoever subscribed to what serves it is told.
    pub(super) fn file_changed(&self, path: &Path) {
        for one in self.all.lock().iter().filter(|one| matches!(&one.resource.content, Content::File(file) if file == path)) {
            self.announcer.updated(one.uri.clone());
        }
    }
}

/// A `[[resource]]` of wharf.toml, and its URI.
fn registration(
    fixed: &Arc<Fixed>,
    resource: &config::Resource,
    guarded: &SharedGuarded,
) -> Result<(Registration, Arc<str>), RegisterError> {
    let guarded = guarded.clone();
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
        Content::Text(text) => {
            builder.not_subscribable().registration(move |_| std::future::ready(Ok(reading(Body::Text(text.clone()), said))))
        }
        Content::File(path) => builder.registration(move |_| {
            let (path, guarded): (Arc<Path>, _) = (path.as_path().into(), guarded.lock().clone());
            async move {
                let read = tokio::task::spawn_blocking(move || (read_file(&path, &guarded), path)).await;
                let (body, path) = read.map_err(|_| Error::Failed("reading its file failed".into()))?;
                body.map(|body| reading(body, said)).map_err(|error| Error::unavailable(format!("cannot read {}: {error}", path.display())))
            }
        }),
    }
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

/// Text if it is UTF-8. What a provider may have put a link in the place of is not read.
fn read_file(path: &Path, guarded: &Guarded) -> io::Result<Body> {
    let bytes = if guarded.any() {
        config::files::read_regular_at(&guarded.real(path)?, FILE_BYTES)?
    } else {
        config::files::read_regular(path, FILE_BYTES)?
    };
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
