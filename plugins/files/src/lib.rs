//! `files`: the files in the folders that wharf.toml grants, as resources.
//!
//! Each file is listed as `file://` and its path, and read by that or by the template `file:///{+path}`; a folder is read as the names in it.
//! All folders are watched from the first list on, so that what changes is announced. README.md says what it does for its users.
//!
//! Invariants: what is not listed because it is hidden or ignored cannot be read either; no link is followed; a path that leads upwards is
//! refused, however it is encoded.

mod bindings {
    wit_bindgen::generate!({
        path: "../../wit",
        inline: "
            package wharf:files;
            world files {
                include wharf:provider/provider@0.1.0;
                import wharf:provider/file-watch@0.1.0;
                export wharf:provider/subscriptions@0.1.0;
                export wharf:provider/completions@0.1.0;
                export wharf:provider/file-handler@0.1.0;
            }
        ",
        generate_all,
    });
}

mod index;
mod media;
mod offer;
mod uri;

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fs,
};

use bindings::{
    exports::wharf::provider::{
        completions::{self, Completion, CompletionRequest},
        file_handler::{self, Change, FileChange},
        resources::{self, ReadRequest, Reading},
        subscriptions,
    },
    wharf::provider::{
        announce, file_watch, settings,
        types::{Annotations, Body, Contents, Error, ResourceInfo, ResourcePage, Reuse, TemplateInfo, TemplateMatch},
    },
};

use crate::{
    index::{Index, Meta},
    offer::{Found, Offer},
};

const TEMPLATE: &str = "file:///{+path}";
const VARIABLE: &str = "path";
/// Resources in one page of the list (the contract's advice).
const PAGE: usize = 1000;
/// Sizes and dates in the list may be so old, in milliseconds: that files come and go is announced at once.
const LIST_REUSE_MS: u32 = 10_000;
/// The host serves no larger reading than this, in bytes.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// Files that are listed unless `max-files` says otherwise, and at the most.
const LISTED: usize = 1000;
const MAX_LISTED: usize = 50_000;
/// Names in the listing of one folder.
const NAMES: usize = 1000;
/// The host passes on no more suggestions than this.
const SUGGESTIONS: usize = 100;

struct State {
    offer: Offer,
    /// What is listed, once somebody wanted to know.
    index: Option<Index>,
    max_files: usize,
    /// Whether all folders are watched; tried once.
    watched: Option<bool>,
    /// The URIs that are subscribed, by the path each names.
    subscribed: BTreeMap<String, BTreeSet<String>>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::new(State::new());
}

impl State {
    fn new() -> Self {
        let flag = |name: &str, default: bool| settings::get(name).map_or(default, |value| value == "true");
        let folders: Vec<String> = wasip2::filesystem::preopens::get_directories().into_iter().map(|(_, path)| path).collect();
        if folders.is_empty() {
            eprintln!("no folder is granted: [provider.grants] folders = [{{ host = \"…\", guest = \"…\" }}] in wharf.toml gives some");
        }
        let max_files = settings::get("max-files").and_then(|max| max.parse().ok()).unwrap_or(LISTED).min(MAX_LISTED);
        Self {
            offer: Offer::new(folders, flag("hidden", false), flag("gitignore", true)),
            index: None,
            max_files,
            watched: None,
            subscribed: BTreeMap::new(),
        }
    }

    /// Watches all folders, the first time.
    fn watch(&mut self) -> bool {
        *self.watched.get_or_insert_with(|| {
            let mut all = !self.offer.folders().is_empty();
            for folder in self.offer.folders() {
                if let Err(error) = file_watch::watch(folder, folder, true) {
                    eprintln!("changes in {folder} go unnoticed: {error:?}");
                    all = false;
                }
            }
            all
        })
    }

    fn index(&mut self) -> &mut Index {
        // First watched, then looked at: so nothing happens in between.
        self.watch();
        let Self { offer, index, max_files, .. } = self;
        index.get_or_insert_with(|| Index::new(offer, *max_files))
    }

    /// Takes in what changed; gives the URIs to be announced, and whether the list is another.
    fn take_in(&mut self, changes: Vec<FileChange>) -> (BTreeSet<String>, bool) {
        let (mut uris, mut list) = (BTreeSet::new(), false);
        for FileChange { path, change, .. } in changes {
            let comes_or_goes = matches!(change, Change::Created | Change::Removed);
            if change == Change::Rescan || self.offer.is_rule(&path) {
                self.offer.forget_rules();
                self.index = None;
                list = true;
                uris.extend(self.subscribed.iter().filter(|(other, _)| is_below(other, &path)).flat_map(|(_, uris)| uris.clone()));
                continue;
            }
            uris.extend(self.subscribed.get(&path).into_iter().flatten().cloned());
            if comes_or_goes {
                uris.extend(self.subscribed.get(parent(&path)).into_iter().flatten().cloned());
            }
            if let Some(index) = &mut self.index {
                list |= index.update(&mut self.offer, &path);
            }
        }
        (uris, list)
    }
}

fn parent(path: &str) -> &str {
    match path.rfind('/') {
        Some(0) | None => "/",
        Some(at) => &path[..at],
    }
}

/// Whether a change that concerns all below a path, a folder or a `.gitignore`, concerns another.
fn is_below(other: &str, path: &str) -> bool {
    let path = if path.ends_with("/.gitignore") { parent(path) } else { path };
    path == "/" || other.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The path that a URI names.
fn path_of(uri: &str) -> Result<String, Error> {
    uri::path(uri).map_err(|refused| match refused {
        uri::Refused::Foreign => Error::NotFound,
        uri::Refused::Wrong(why) => Error::Invalid(why.into()),
    })
}

struct Files;

impl resources::Guest for Files {
    fn list(cursor: Option<String>) -> Result<ResourcePage, Error> {
        STATE.with_borrow_mut(|state| {
            let index = state.index();
            let page = index.page(cursor.as_deref(), PAGE);
            let next_cursor = page.more.then(|| page.files.last().map(|(path, _)| (*path).to_owned())).flatten();
            let resources = page.files.iter().filter_map(|(path, meta)| info(path, meta)).collect();
            let reuse = state.watched.unwrap_or_default().then_some(Reuse::ForMs(LIST_REUSE_MS));
            Ok(ResourcePage { resources, next_cursor, reuse })
        })
    }

    fn templates() -> Result<Vec<TemplateInfo>, Error> {
        let folders = STATE.with_borrow(|state| state.offer.folders().join(", "));
        Ok(vec![TemplateInfo {
            uri_template: TEMPLATE.into(),
            name: "file".into(),
            title: Some("A file or folder".into()),
            description: Some(format!("The content of a file, or the names in a folder, below {folders}. Subscribe to hear of changes.")),
            mime_type: None,
            icons: None,
            annotations: None,
            meta_json: None,
        }])
    }

    fn read(request: ReadRequest) -> Result<Option<Reading>, Error> {
        let path = path_of(&request.uri)?;
        let found = STATE.with_borrow_mut(|state| state.offer.find(&path));
        let (mime_type, body) = match found {
            Some(Found::Folder) => (Some("text/plain".to_owned()), Body::Text(names(&path))),
            Some(Found::File(meta)) if meta.size > MAX_FILE_BYTES => {
                return Err(Error::Failed(format!("{path} has {} bytes, and at most {MAX_FILE_BYTES} are served", meta.size)));
            }
            Some(Found::File(_)) => content(&path)?,
            None => return Err(Error::NotFound),
        };
        Ok(Some(Reading { contents: vec![Contents { uri: None, mime_type, body, meta_json: None }], version: None, reuse: None }))
    }
}

fn content(path: &str) -> Result<(Option<String>, Body), Error> {
    let bytes = fs::read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::NotFound,
        std::io::ErrorKind::PermissionDenied => Error::Denied(format!("{path}: {error}")),
        _ => Error::Failed(format!("{path}: {error}")),
    })?;
    let is_text = media::is_text(&bytes);
    let mime_type = media::of(path, Some(is_text)).map(str::to_owned);
    Ok((mime_type, if is_text { Body::Utf8(bytes) } else { Body::Blob(bytes) }))
}

/// The names in a folder, a line each, folders with a slash.
fn names(path: &str) -> String {
    let mut names = STATE.with_borrow_mut(|state| state.offer.names(path));
    let more = names.len().saturating_sub(NAMES);
    names.truncate(NAMES);
    let mut text: String = names.iter().map(|name| format!("{name}\n")).collect();
    if more > 0 {
        text += &format!("… and {more} more\n");
    }
    text
}

fn info(path: &str, meta: &Meta) -> Option<ResourceInfo> {
    Some(ResourceInfo {
        uri: uri::of(path)?,
        name: path.trim_start_matches('/').into(),
        title: None,
        description: None,
        mime_type: media::of(path, None).map(str::to_owned),
        size: Some(meta.size as f64),
        icons: None,
        annotations: meta.modified_ms.map(|last_modified| Annotations {
            audience: None,
            priority: None,
            last_modified: Some(last_modified),
        }),
        meta_json: None,
    })
}

impl subscriptions::Guest for Files {
    fn subscribe(uri: String, _matched: Option<TemplateMatch>) -> Result<(), Error> {
        let path = path_of(&uri)?;
        STATE.with_borrow_mut(|state| {
            // What is not there yet may come.
            if !state.offer.may_have(&path) {
                return Err(Error::NotFound);
            }
            if !state.watch() {
                return Err(Error::Failed("its folder cannot be watched: the provider's log says why".into()));
            }
            state.subscribed.entry(path).or_default().insert(uri);
            Ok(())
        })
    }

    fn unsubscribe(uri: String) {
        let Ok(path) = path_of(&uri) else { return };
        STATE.with_borrow_mut(|state| {
            if let Some(uris) = state.subscribed.get_mut(&path) {
                uris.remove(&uri);
                if uris.is_empty() {
                    state.subscribed.remove(&path);
                }
            }
        });
    }
}

impl file_handler::Guest for Files {
    fn changed(changes: Vec<FileChange>) {
        let (uris, list) = STATE.with_borrow_mut(|state| state.take_in(changes));
        if list {
            announce::list_changed();
        }
        if !uris.is_empty() {
            announce::updated(&uris.into_iter().collect::<Vec<_>>());
        }
    }
}

impl completions::Guest for Files {
    fn complete(request: CompletionRequest) -> Result<Completion, Error> {
        if request.uri_template != TEMPLATE || request.argument != VARIABLE {
            return Err(Error::NotFound);
        }
        // The variable has no slash before it: the template has.
        let (folder, typed) = request.value.rsplit_once('/').map_or(("", request.value.as_str()), |(folder, typed)| (folder, typed));
        let names = STATE.with_borrow_mut(|state| state.offer.names(&format!("/{folder}")));
        let begins = |name: &String| name.starts_with(typed);
        let slash = if folder.is_empty() { "" } else { "/" };
        let mut values: Vec<String> = names.into_iter().filter(begins).map(|name| format!("{folder}{slash}{name}")).collect();
        let total = u32::try_from(values.len()).ok();
        values.truncate(SUGGESTIONS);
        Ok(Completion { values, total, has_more: None })
    }
}

bindings::export!(Files with_types_in bindings);
