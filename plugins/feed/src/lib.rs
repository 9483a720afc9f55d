//! `feed`: news feeds (RSS, Atom, JSON Feed) as resources, as the model of a provider that polls the web.
//!
//! `feed://NAME` has the newest items of a feed in Markdown, `feed://NAME/ID` one of them whole. Which feeds there are is set in wharf.toml; see
//! README.md. The host fetches, with all that politeness asks for, and wakes this only when there is something new: nothing here
//! ever waits.
//!
//! Each feed is fetched once when the provider is loaded, so that lists have titles and a first read an answer. It is polled while someone
//! is subscribed to it or to one of its items, and for [`IDLE_MS`] after each read.

mod json;
mod model;
mod render;
mod text;
mod xml;

mod bindings {
    wit_bindgen::generate!({
        path: "../../wit",
        // The world `live-provider`, and what fetching and completing need.
        inline: "
            package wharf:feed;
            world feed {
                include wharf:provider/live-provider@0.1.0;
                import wharf:provider/fetch@0.1.0;
                export wharf:provider/fetch-handler@0.1.0;
                export wharf:provider/completions@0.1.0;
            }
        ",
        generate_all,
    });
}

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use bindings::{
    exports::wharf::provider::{
        completions::{self, Completion, CompletionRequest},
        fetch_handler::{self, FetchError, FetchOutcome, FetchResponse},
        resources::{self, ReadRequest, Reading},
        subscriptions, timer_handler,
    },
    wharf::provider::{
        announce,
        fetch::{self, FetchRequest},
        settings, timers,
        types::{Annotations, Body, Contents, Error, ResourceInfo, ResourcePage, Reuse, TemplateInfo, TemplateMatch},
    },
};
use model::Feed;

const SCHEME: &str = "feed://";
const TEMPLATE: &str = "feed://{name}/{id}";
const MIME_TYPE: &str = "text/markdown";
/// In wharf.toml: `[provider.settings.feeds]`.
const FEEDS: &str = "feeds.";
const DEFAULT_EVERY_MS: u32 = 15 * 60 * 1000;
const DEFAULT_ITEMS: usize = 20;
/// After a read without a subscription a feed is polled for an hour more; whoever reads more seldom fetches anew.
const IDLE_MS: u32 = 60 * 60 * 1000;
/// What all servers of feeds know how to answer.
const ACCEPT: &str = "application/atom+xml, application/rss+xml, application/feed+json, application/xml;q=0.9, text/xml;q=0.9, application/json;q=0.8, */*;q=0.1";

/// One feed of wharf.toml.
#[derive(Default)]
struct Source {
    url: String,
    feed: Option<Feed>,
    /// Why the last try brought nothing, if it did not.
    error: Option<String>,
    /// Whether anything has been asked for yet.
    asked: bool,
    polled: bool,
    /// Somebody read it less than [`IDLE_MS`] ago.
    read: bool,
}

#[derive(Default)]
struct State {
    sources: BTreeMap<String, Source>,
    subscribed: BTreeSet<String>,
    every_ms: u32,
    items: usize,
}

// A live provider has exactly one instance, and calls come one at a time: what one call leaves here is there in the next.
thread_local! {
    static STATE: RefCell<Option<State>> = const { RefCell::new(None) };
}

fn with<T>(act: impl FnOnce(&mut State) -> T) -> T {
    STATE.with_borrow_mut(|state| act(state.get_or_insert_with(State::from_settings)))
}

impl State {
    fn from_settings() -> Self {
        let mut state = Self { every_ms: DEFAULT_EVERY_MS, items: DEFAULT_ITEMS, ..Self::default() };
        for (key, value) in settings::all() {
            if let Some(name) = key.strip_prefix(FEEDS) {
                if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) {
                    eprintln!("{key}: a feed is named by letters, digits, `-`, `_` and `.`: it is left out");
                } else if !value.starts_with("https://") && !value.starts_with("http://") {
                    eprintln!("{key} = {value:?} is no URL of a feed: it is left out. Write {name} = \"https://…\" in wharf.toml.");
                } else {
                    state.sources.insert(name.to_owned(), Source { url: value, ..Source::default() });
                }
            } else if key == "every" {
                match every_ms(&value) {
                    Some(ms) => state.every_ms = ms,
                    None => eprintln!("every = {value:?} is no period: taking 15m. Write every = \"30m\", from 1s to 7d, in wharf.toml."),
                }
            } else if key == "items" {
                match value.parse().ok().filter(|items| (1..=model::MAX_ITEMS).contains(items)) {
                    Some(items) => state.items = items,
                    None => eprintln!(
                        "items = {value:?} is no number from 1 to {}: taking {DEFAULT_ITEMS}. Set it in wharf.toml.",
                        model::MAX_ITEMS
                    ),
                }
            } else {
                eprintln!("there is no setting {key:?}: there are every, items, and feeds.NAME = \"https://…\"");
            }
        }
        if state.sources.is_empty() {
            eprintln!("no feeds are set: write them into wharf.toml, as [provider.settings.feeds] NAME = \"https://…\"");
        }
        state
    }

    fn source(&mut self, name: &str) -> Result<&mut Source, Error> {
        self.sources.get_mut(name).ok_or(Error::NotFound)
    }

    /// Those that someone listens to.
    fn subscribed(&self, name: &str) -> Vec<String> {
        self.subscribed.iter().filter(|uri| parts(uri).is_some_and(|(own, _)| own == name)).cloned().collect()
    }

    fn poll(&mut self, name: &str) -> Result<(), Error> {
        let every_ms = self.every_ms;
        let source = self.source(name)?;
        if !source.polled {
            fetch::poll(name, &request(&source.url), every_ms)?;
            (source.polled, source.asked) = (true, true);
        }
        Ok(())
    }

    fn rest(&mut self, name: &str) {
        let wanted = !self.subscribed(name).is_empty();
        if let Ok(source) = self.source(name)
            && source.polled
            && !source.read
            && !wanted
        {
            fetch::cancel(name);
            source.polled = false;
        }
    }
}

/// `90s`, `15m`, `2h`, `1d`.
fn every_ms(text: &str) -> Option<u32> {
    let (number, unit) = text.trim().split_at_checked(text.trim().len().checked_sub(1)?)?;
    let seconds = number.parse::<u32>().ok()?.checked_mul(match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return None,
    })?;
    (1..=7 * 86_400).contains(&seconds).then(|| seconds * 1000)
}

fn request(url: &str) -> FetchRequest {
    FetchRequest { method: None, url: url.into(), headers: Some(vec![("Accept".into(), ACCEPT.into())]), body: None, timeout_ms: None }
}

/// The name of the feed, and the item if it is about one.
fn parts(uri: &str) -> Option<(&str, Option<&str>)> {
    let rest = uri.strip_prefix(SCHEME)?;
    Some(rest.split_once('/').map_or((rest, None), |(name, id)| (name, Some(id))))
}

struct FeedProvider;

impl resources::Guest for FeedProvider {
    fn list(_cursor: Option<String>) -> Result<ResourcePage, Error> {
        let resources = with(|state| {
            for (name, source) in &mut state.sources {
                if !source.asked {
                    source.asked = true;
                    source.error = fetch::start(name, &request(&source.url)).err().map(told);
                }
            }
            state.sources.iter().map(|(name, source)| info(name, source)).collect()
        });
        Ok(ResourcePage { resources, next_cursor: None, reuse: Some(Reuse::UntilAnnounced) })
    }

    fn templates() -> Result<Vec<TemplateInfo>, Error> {
        Ok(vec![TemplateInfo {
            uri_template: TEMPLATE.into(),
            name: "item".into(),
            title: Some("One item of a feed, whole".into()),
            description: Some("feed://NAME names each of its items by its URI.".into()),
            mime_type: Some(MIME_TYPE.into()),
            icons: None,
            annotations: None,
            meta_json: None,
        }])
    }

    fn read(request: ReadRequest) -> Result<Option<Reading>, Error> {
        let (name, id) = parts(&request.uri).ok_or(Error::NotFound)?;
        let text = with(|state| {
            state.source(name)?;
            state.poll(name)?;
            // Once for all reads of the hour: it starts anew with each.
            timers::start(name, IDLE_MS, None)?;
            let items = state.items;
            let source = state.source(name)?;
            source.read = true;
            let Some(feed) = &source.feed else {
                return Err(Error::Unavailable(match &source.error {
                    Some(error) => format!("the feed could not be read: {error}. It is tried again by itself."),
                    None => "the feed is being fetched: read it again in a few seconds, or subscribe to be told when it is there".into(),
                }));
            };
            match id {
                None => Ok(render::feed(name, feed, items)),
                Some(id) => {
                    let item = feed.items.iter().find(|item| item.id() == id).ok_or(Error::NotFound)?;
                    Ok(render::item(feed, item))
                }
            }
        })?;
        let version = render::version(&text);
        if request.if_none_match.as_ref() == Some(&version) {
            return Ok(None);
        }
        let contents = Contents { uri: None, mime_type: Some(MIME_TYPE.into()), body: Body::Utf8(text.into()), meta_json: None };
        Ok(Some(Reading { contents: vec![contents], version: Some(version), reuse: Some(Reuse::UntilAnnounced) }))
    }
}

impl subscriptions::Guest for FeedProvider {
    fn subscribe(uri: String, _matched: Option<TemplateMatch>) -> Result<(), Error> {
        let (name, _) = parts(&uri).ok_or(Error::NotFound)?;
        with(|state| {
            state.poll(name)?;
            state.subscribed.insert(uri.clone());
            Ok(())
        })
    }

    fn unsubscribe(uri: String) {
        with(|state| {
            state.subscribed.remove(&uri);
            if let Some((name, _)) = parts(&uri) {
                state.rest(name);
            }
        });
    }
}

impl timer_handler::Guest for FeedProvider {
    fn fired(names: Vec<String>) {
        with(|state| {
            for name in names {
                if let Ok(source) = state.source(&name) {
                    source.read = false;
                }
                state.rest(&name);
            }
        });
    }
}

impl fetch_handler::Guest for FeedProvider {
    fn fetched(outcomes: Vec<FetchOutcome>) {
        for FetchOutcome { name, answer } in outcomes {
            with(|state| take(state, &name, answer));
        }
    }
}

/// Remembers first, and then says so.
fn take(state: &mut State, name: &str, answer: Result<FetchResponse, FetchError>) {
    let subscribed = state.subscribed(name);
    let items = state.items;
    let Ok(source) = state.source(name) else { return };
    match read(answer) {
        Err(error) => {
            eprintln!("{name}: {error}");
            // What is known of it stays. Whoever waits for it learns why there is nothing.
            let first = source.feed.is_none() && source.error.replace(error).is_none();
            if first {
                announce::updated(&subscribed);
            }
        }
        Ok(feed) => {
            source.error = None;
            let before = source.feed.replace(feed);
            let (Some(feed), before) = (&source.feed, before.as_ref()) else { return };
            let mut changed = Vec::new();
            if before.is_none_or(|before| render::feed(name, before, items) != render::feed(name, feed, items)) {
                changed.push(format!("{SCHEME}{name}"));
            }
            let whole = |feed: &Feed, uri: &str| {
                let (_, id) = parts(uri)?;
                feed.items.iter().find(|item| Some(item.id().as_str()) == id).map(|item| render::item(feed, item))
            };
            let of_items = subscribed.into_iter().filter(|uri| parts(uri).is_some_and(|(_, id)| id.is_some()));
            changed.extend(of_items.filter(|uri| before.and_then(|before| whole(before, uri)) != whole(feed, uri)));
            announce::updated(&changed);
            if before
                .is_none_or(|before| (&before.title, &before.description, newest(before)) != (&feed.title, &feed.description, newest(feed)))
            {
                announce::list_changed();
            }
        }
    }
}

fn read(answer: Result<FetchResponse, FetchError>) -> Result<Feed, String> {
    match answer {
        Ok(response) if response.status == 200 => model::parse(&response.body),
        Ok(FetchResponse { status: 410, .. }) => Err("the server says that it is gone for good: take it out of wharf.toml".into()),
        Ok(response) => Err(format!("the server answered {}", response.status)),
        Err(FetchError::Denied(origin)) => {
            let host = origin.split("://").last().unwrap_or_default();
            Err(format!("it redirects to {origin}, which is not granted: if you trust it, add {host:?} to hosts in wharf.toml"))
        }
        Err(FetchError::TimedOut) => Err("the server took too long".into()),
        Err(FetchError::TooLarge(limit)) => Err(format!("it has more than {limit} bytes")),
        Err(FetchError::Failed(reason)) => Err(reason),
    }
}

fn told(error: Error) -> String {
    match error {
        Error::NotFound => "not found".into(),
        Error::Invalid(text) | Error::Denied(text) | Error::Unavailable(text) | Error::Failed(text) => text,
    }
}

impl completions::Guest for FeedProvider {
    fn complete(request: CompletionRequest) -> Result<Completion, Error> {
        if request.uri_template != TEMPLATE {
            return Err(Error::NotFound);
        }
        let mut values = with(|state| match request.argument.as_str() {
            "name" => Ok(state.sources.keys().cloned().collect::<Vec<_>>()),
            "id" => {
                let name = request.known.iter().find(|(variable, _)| variable == "name").map(|(_, name)| name.as_str());
                let feed = state.source(name.unwrap_or_default())?.feed.as_ref();
                Ok(feed.into_iter().flat_map(|feed| &feed.items).map(model::Item::id).collect())
            }
            _ => Err(Error::NotFound),
        })?;
        values.retain(|value| value.starts_with(&request.value));
        Ok(Completion { total: u32::try_from(values.len()).ok(), values, has_more: None })
    }
}

fn newest(feed: &Feed) -> Option<jiff::Timestamp> {
    feed.items.iter().filter_map(|item| item.date).max()
}

fn info(name: &str, source: &Source) -> ResourceInfo {
    let feed = source.feed.as_ref();
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let last_modified = feed.and_then(newest).map(|date| date.as_millisecond() as f64);
    ResourceInfo {
        uri: format!("{SCHEME}{name}"),
        name: name.into(),
        title: feed.and_then(|feed| some(&feed.title)),
        description: Some(match feed.and_then(|feed| some(&feed.description)) {
            Some(own) => format!("The newest items of this feed: {own}"),
            // Not the whole URL: it may have a token in it.
            None => format!("The newest items of a feed of {}", source.url.split('/').nth(2).unwrap_or_default()),
        }),
        mime_type: Some(MIME_TYPE.into()),
        size: None,
        icons: None,
        annotations: last_modified.filter(|ms| *ms >= 0.0).map(|ms| Annotations {
            audience: None,
            priority: None,
            last_modified: Some(ms),
        }),
        meta_json: None,
    }
}

bindings::export!(FeedProvider with_types_in bindings);
