//! `tail`: the last lines of log files, as resources that are announced as they grow.
//!
//! A setting whose value begins with `/` names a log: `app = "/logs/app.log"` is `log://app`. README.md says what it does for its users.
//!
//! Invariants: of a large file only its end is read; a file is opened by its path each time, so that rotation makes no difference; only logs
//! to which somebody subscribed are watched.

mod bindings {
    wit_bindgen::generate!({
        path: "../../wit",
        inline: "
            package wharf:tail;
            world tail {
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

mod lines;

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use bindings::{
    exports::wharf::provider::{
        completions::{self, Completion, CompletionRequest},
        file_handler::{self, FileChange},
        resources::{self, ReadRequest, Reading},
        subscriptions,
    },
    wharf::provider::{
        announce, file_watch, settings,
        types::{Body, Contents, Error, ResourceInfo, ResourcePage, Reuse, TemplateInfo, TemplateMatch},
    },
};

const SCHEME: &str = "log://";
const TEMPLATE: &str = "log://{name}{?lines,grep}";
const MIME_TYPE: &str = "text/plain";
/// Lines, if neither the URI nor the setting `lines` says how many; and at the most.
const LINES: usize = 100;
const MAX_LINES: usize = 10_000;
/// Bytes of what is searched for.
const MAX_GREP: usize = 256;

thread_local! {
    /// The logs, by name.
    static LOGS: BTreeMap<String, String> = logs();
    /// The URIs that are subscribed, by the name of the log.
    static SUBSCRIBED: RefCell<BTreeMap<String, BTreeSet<String>>> = const { RefCell::new(BTreeMap::new()) };
}

fn logs() -> BTreeMap<String, String> {
    let is_plain = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let (logs, odd): (BTreeMap<_, _>, BTreeMap<_, _>) =
        settings::all().into_iter().filter(|(_, path)| path.starts_with('/')).partition(|(name, _)| is_plain(name));
    for name in odd.keys() {
        eprintln!("{name:?} is no name for a log: letters, digits, `-`, `_` and `.`");
    }
    if logs.is_empty() {
        eprintln!("no log is named: [provider.settings] app = \"/logs/app.log\" in wharf.toml names one, in a folder that is granted");
    }
    logs
}

/// What a URI asks for.
struct Wanted {
    name: String,
    path: String,
    lines: usize,
    grep: Option<String>,
}

impl Wanted {
    fn of(uri: &str, matched: Option<&TemplateMatch>) -> Result<Self, Error> {
        let variable = |name: &str| {
            matched.and_then(|matched| matched.variables.iter().find(|(other, _)| other == name)).map(|(_, value)| value.as_str())
        };
        let name = variable("name").or(uri.strip_prefix(SCHEME)).ok_or(Error::NotFound)?;
        let path = LOGS.with(|logs| logs.get(name).cloned()).ok_or(Error::NotFound)?;
        let lines = match variable("lines") {
            Some(lines) => {
                let lines = lines.parse().ok().filter(|lines| (1..=MAX_LINES).contains(lines));
                lines.ok_or_else(|| Error::Invalid(format!("lines is a number from 1 to {MAX_LINES}")))?
            }
            None => settings::get("lines").and_then(|lines| lines.parse().ok()).unwrap_or(LINES).clamp(1, MAX_LINES),
        };
        let grep = variable("grep").filter(|grep| !grep.is_empty()).map(str::to_owned);
        if grep.as_ref().is_some_and(|grep| grep.len() > MAX_GREP) {
            return Err(Error::Invalid(format!("grep has at most {MAX_GREP} bytes")));
        }
        Ok(Self { name: name.to_owned(), path, lines, grep })
    }
}

struct Tail;

impl resources::Guest for Tail {
    fn list(_cursor: Option<String>) -> Result<ResourcePage, Error> {
        let info = |(name, path): (&String, &String)| ResourceInfo {
            uri: format!("{SCHEME}{name}"),
            name: name.clone(),
            title: None,
            description: Some(format!("The last lines of {path}; ?lines=N gives so many, ?grep=TEXT those with this text.")),
            mime_type: Some(MIME_TYPE.into()),
            size: None,
            icons: None,
            annotations: None,
            meta_json: None,
        };
        let resources = LOGS.with(|logs| logs.iter().map(info).collect());
        Ok(ResourcePage { resources, next_cursor: None, reuse: Some(Reuse::UntilAnnounced) })
    }

    fn templates() -> Result<Vec<TemplateInfo>, Error> {
        Ok(vec![TemplateInfo {
            uri_template: TEMPLATE.into(),
            name: "tail".into(),
            title: Some("The last lines of a log".into()),
            description: Some(format!(
                "lines: how many, {LINES} if not said, at most {MAX_LINES}. grep: only lines that have this text. Subscribe to hear of it growing."
            )),
            mime_type: Some(MIME_TYPE.into()),
            icons: None,
            annotations: None,
            meta_json: None,
        }])
    }

    fn read(request: ReadRequest) -> Result<Option<Reading>, Error> {
        let Wanted { path, lines, grep, .. } = Wanted::of(&request.uri, request.matched.as_ref())?;
        let text = lines::last(&path, lines, grep.as_deref()).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::Unavailable(format!("{path} is not there yet, or its folder is not granted")),
            std::io::ErrorKind::PermissionDenied => Error::Denied(format!("{path}: {error}")),
            _ => Error::Failed(format!("{path}: {error}")),
        })?;
        let contents = Contents { uri: None, mime_type: Some(MIME_TYPE.into()), body: Body::Text(text), meta_json: None };
        Ok(Some(Reading { contents: vec![contents], version: None, reuse: None }))
    }
}

impl subscriptions::Guest for Tail {
    fn subscribe(uri: String, matched: Option<TemplateMatch>) -> Result<(), Error> {
        let Wanted { name, path, .. } = Wanted::of(&uri, matched.as_ref())?;
        SUBSCRIBED.with_borrow_mut(|subscribed| {
            if !subscribed.contains_key(&name) {
                file_watch::watch(&name, &path, false)?;
            }
            subscribed.entry(name).or_default().insert(uri);
            Ok(())
        })
    }

    fn unsubscribe(uri: String) {
        SUBSCRIBED.with_borrow_mut(|subscribed| {
            subscribed.retain(|name, uris| {
                if uris.remove(&uri) && uris.is_empty() {
                    file_watch::unwatch(name);
                }
                !uris.is_empty()
            });
        });
    }
}

impl file_handler::Guest for Tail {
    fn changed(changes: Vec<FileChange>) {
        let names: BTreeSet<String> = changes.into_iter().map(|change| change.name).collect();
        let uris: Vec<String> =
            SUBSCRIBED.with_borrow(|subscribed| names.iter().filter_map(|name| subscribed.get(name)).flatten().cloned().collect());
        announce::updated(&uris);
    }
}

impl completions::Guest for Tail {
    fn complete(request: CompletionRequest) -> Result<Completion, Error> {
        if request.uri_template != TEMPLATE || request.argument != "name" {
            return Err(Error::NotFound);
        }
        let values = LOGS.with(|logs| logs.keys().filter(|name| name.starts_with(&request.value)).cloned().collect());
        Ok(Completion { values, total: None, has_more: None })
    }
}

bindings::export!(Tail with_types_in bindings);
