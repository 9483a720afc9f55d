//! `tail`: the last lines of log files, as resources that are announced as they grow.
//!
//! A setting whose value begins with `/` names a log: `app = "/logs/app.log"` is `log://app`. README.md says what it does for its users.
//!
//! Invariants: of a large file only its end is read; a file is opened by its path each time, so that rotation makes no difference; only logs
//! to which somebody subscribed are watched.

mod lines;

use std::collections::{BTreeMap, BTreeSet};

use wharf_provider::{Entry, Error, Provide, Provider, Request, Result, Reuse, Suggestions, announce, export, files, settings};

/// Lines, if neither the URI nor the setting `lines` says how many; and at the most.
const LINES: usize = 100;
const MAX_LINES: usize = 10_000;
/// Bytes of what is searched for.
const MAX_GREP: usize = 256;

struct Tail {
    /// The logs: name and path.
    logs: BTreeMap<String, String>,
    /// The URIs that are subscribed, by the name of the log.
    subscribed: BTreeMap<String, BTreeSet<String>>,
}

impl Provide for Tail {
    fn provider() -> Result<Provider<Self>> {
        let mut provider = Provider::new(Tail { logs: logs(), subscribed: BTreeMap::new() });
        // Which logs there are depends on the settings alone.
        provider.list_reuse(Reuse::UntilAnnounced);
        provider
            .template("log://{name}{?lines,grep}")
            .name("tail")
            .title("The last lines of a log")
            .describe(format!(
                "lines: how many, {LINES} if not said, at most {MAX_LINES}. grep: only lines that have this text. Subscribe to hear of it growing."
            ))
            .mime_type("text/plain")
            .list(Tail::list)
            .complete("name", |tail, typed, _| Ok(Suggestions::beginning_with(typed, tail.logs.keys())))
            .on_subscribe(Tail::subscribe)
            .on_unsubscribe(Tail::unsubscribe)
            .read(Tail::read);
        Ok(provider)
    }
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
struct Wanted<'a> {
    path: &'a str,
    lines: usize,
    grep: Option<&'a str>,
}

impl Tail {
    fn list(&mut self) -> Result<Vec<Entry>> {
        let entry = |(name, path): (&String, &String)| {
            Entry::new([("name", name)])
                .name(name)
                .describe(format!("The last lines of {path}; ?lines=N gives so many, ?grep=TEXT those with this text."))
        };
        Ok(self.logs.iter().map(entry).collect())
    }

    fn wanted<'a>(&'a self, request: &'a Request) -> Result<Wanted<'a>> {
        let path = self.logs.get(request.variable("name")).ok_or(Error::NotFound)?;
        let lines = match request.given("lines") {
            Some(lines) => {
                let lines = lines.parse().ok().filter(|lines| (1..=MAX_LINES).contains(lines));
                lines.ok_or_else(|| Error::Invalid(format!("lines is a number from 1 to {MAX_LINES}")))?
            }
            None => settings::get("lines").and_then(|lines| lines.parse().ok()).unwrap_or(LINES).clamp(1, MAX_LINES),
        };
        let grep = request.given("grep").filter(|grep| !grep.is_empty());
        if grep.is_some_and(|grep| grep.len() > MAX_GREP) {
            return Err(Error::Invalid(format!("grep has at most {MAX_GREP} bytes")));
        }
        Ok(Wanted { path, lines, grep })
    }

    fn read(&mut self, request: &Request) -> Result<String> {
        let Wanted { path, lines, grep } = self.wanted(request)?;
        lines::last(path, lines, grep).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::Unavailable(format!("{path} is not there yet, or its folder is not granted")),
            std::io::ErrorKind::PermissionDenied => Error::Denied(format!("{path}: {error}")),
            _ => Error::Failed(format!("{path}: {error}")),
        })
    }

    fn subscribe(&mut self, request: &Request) -> Result<()> {
        let Wanted { path, .. } = self.wanted(request)?;
        let name = request.variable("name").to_owned();
        if !self.subscribed.contains_key(&name) {
            let grows = name.clone();
            files::watch(&name, path, false, move |tail: &mut Tail, _| {
                announce::updated(tail.subscribed.get(&grows).into_iter().flatten())
            })?;
        }
        self.subscribed.entry(name).or_default().insert(request.uri().to_owned());
        Ok(())
    }

    fn unsubscribe(&mut self, request: &Request) {
        let name = request.variable("name");
        if let Some(uris) = self.subscribed.get_mut(name)
            && uris.remove(request.uri())
            && uris.is_empty()
        {
            files::unwatch(name);
            self.subscribed.remove(name);
        }
    }
}

export!(Tail: subscriptions, completions, files);
