//! What the author sees: builds, reloads, the provider's own words, and each call with its duration.
//!
//! All of it goes to stderr: lines for people, or with `--log-format json` log events.

use std::{
    fmt::Debug,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use parking_lot::Mutex;
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::layer::Context;
use wharf::{
    catalog::Change as ListChange,
    host::Notice,
    plugins::{Fate, Loaded, Report},
    provider::wasm::CALLS,
};

use super::{
    super::output::{self, count},
    Change, Project, seconds,
};

/// Where a provider's own words come from (`provider/wasm/log.rs`).
const GUEST_LOG: &str = "wharf::provider::wasm::log";
/// Of what changed, so much is named.
const NAMED: usize = 5;

/// The save that a reload comes from.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct Saved {
    /// Nothing for the first build.
    pub at: Option<SystemTime>,
    pub build: Duration,
}

/// All clones are one.
#[derive(Clone)]
pub(super) struct Screen {
    json: bool,
    /// The provider that is built.
    name: Arc<str>,
    /// Of the component that was put there last, and has not been reported yet.
    expected: Arc<Mutex<Option<Saved>>>,
}

impl Screen {
    pub fn new(json: bool, name: &str) -> Self {
        Self { json, name: name.into(), expected: Arc::default() }
    }

    pub fn say(&self, line: &str) {
        if self.json { tracing::info!("{line}") } else { output::say(line) }
    }

    pub fn greet(&self, project: &Project, url: &str) {
        let Project { name, folder, .. } = project;
        if self.json {
            return tracing::info!(url, provider = name, folder = %folder.display(), "serving");
        }
        output::say(&format!(
            "Wharf {} serves {name} at {url}, and builds it at each save in {}",
            env!("CARGO_PKG_VERSION"),
            folder.display()
        ));
        output::say(&format!("In another terminal:  wharf watch --wait --read --url {url} URI"));
        output::say("Ctrl-C ends it.");
    }

    pub fn building(&self, project: &Project) {
        let (command, because_of) = (project.shown(), project.because_of);
        if self.json { tracing::info!(command, "building") } else { output::say(&format!("building  {command}  ({because_of})")) }
    }

    pub fn changed(&self, change: &Change) {
        let paths = some(change.paths.iter().map(|path| path.display().to_string()));
        if self.json { tracing::info!(%paths, "changed") } else { output::say(&format!("changed   {paths}")) }
    }

    pub fn built(&self, component: &Path, took: Duration) {
        if self.json {
            return tracing::info!(component = %component.display(), took_ms = millis(took), "built");
        }
        output::say(&format!("built     {} in {}", component.display(), seconds(took)));
    }

    /// The build made what is served already.
    pub fn same(&self, took: Duration) {
        self.expected.lock().take();
        self.say(&format!("built     in {}: the component is the same as before", seconds(took)));
    }

    pub fn failed(&self, reason: &str) {
        self.expected.lock().take();
        if self.json {
            tracing::error!("{reason}")
        } else {
            output::say(&format!("failed    {reason}; the last good version serves on, if there is one"))
        }
    }

    pub fn self_made(&self, paths: &[PathBuf]) {
        let paths = some(paths.iter().map(|path| path.display().to_string()));
        self.warn(&format!("each build changes {paths}, so it is not built again for that: name it in .gitignore"));
    }

    /// The next report is of what was built for this.
    pub fn expect(&self, saved: Saved) {
        *self.expected.lock() = Some(saved);
    }

    pub fn report(&self, Report { name, path, fate }: &Report) {
        match fate {
            Fate::Loaded(loaded) => {
                self.loaded(name, loaded);
                if let Err(error) = &loaded.lists {
                    self.warn(&format!("{name} did not list: {error}; it is asked again"));
                }
            }
            Fate::Refused { reason, serving } => {
                self.expected.lock().take();
                let still = if *serving { "; the last good version serves on" } else { "" };
                let line = format!("refused   {name}: {reason} ({}){still}", path.display());
                if self.json { tracing::error!("{line}") } else { output::say(&line) }
            }
            Fate::Restored => self.say(&format!("as before {name}: the component is again what is served")),
            Fate::Removed => self.say(&format!("removed   {name}")),
        }
    }

    fn loaded(&self, name: &str, loaded: &Loaded) {
        let Loaded { replaced, resources, templates, subscriptions, change, timings, .. } = loaded;
        let saved = if name == &*self.name { self.expected.lock().take() } else { None };
        let since_save = saved.and_then(|saved| saved.at).and_then(|at| at.elapsed().ok());
        let build = saved.map(|saved| saved.build);
        if self.json {
            let what = if *replaced { "reloaded" } else { "loaded" };
            let (save_ms, build_ms, reload_ms) = (since_save.map(millis), build.map(millis), millis(timings.total));
            return tracing::info!(provider = name, resources, templates, save_ms, build_ms, reload_ms, "{what}");
        }
        let took = match (since_save, build) {
            (Some(since), Some(build)) => {
                format!("{} after the save: the build {}, the reload {}", seconds(since), seconds(build), seconds(timings.total))
            }
            _ => seconds(timings.total),
        };
        if !replaced {
            let live = if *subscriptions { ", tells of changes" } else { "" };
            let (resources, templates) = (count(*resources, "resource"), count(*templates, "template"));
            return output::say(&format!("loaded    {name}: {resources}, {templates}{live} ({took})"));
        }
        output::say(&format!("reloaded  {name} ({took})"));
        for line in differences(change) {
            output::say(&line);
        }
    }

    pub fn warn(&self, line: &str) {
        if self.json { tracing::warn!("{line}") } else { output::say(&format!("warning: {line}")) }
    }

    pub fn notice(&self, notice: &Notice) {
        if notice.is_warning() { self.warn(&notice.to_string()) } else { self.say(&notice.to_string()) }
    }
}

/// What a reload changed in the lists, a line for each kind of change.
fn differences(change: &ListChange) -> Vec<String> {
    let ListChange { added, removed, changed, added_templates, removed_templates, changed_templates, reordered } = change;
    let kinds = [
        ("listed now", added),
        ("listed no more", removed),
        ("listed with something else said of it", changed),
        ("a template now", added_templates),
        ("a template no more", removed_templates),
        ("a template with something else said of it", changed_templates),
    ];
    let line = |(what, names): &(&str, &Vec<Arc<str>>)| format!("          {what}: {}", some(names.iter().map(ToString::to_string)));
    let mut lines: Vec<String> = kinds.iter().filter(|(_, names)| !names.is_empty()).map(line).collect();
    if *reordered {
        lines.push("          listed in another order".into());
    }
    lines
}

fn some(items: impl ExactSizeIterator<Item = String>) -> String {
    let left = items.len().saturating_sub(NAMED);
    let mut named: Vec<String> = items.take(NAMED).collect();
    if left > 0 {
        named.push(format!("{left} more"));
    }
    named.join(", ")
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Whether [`Layer`] shows this event, so that the log need not.
pub(in crate::cli) fn is_shown(what: &Metadata<'_>) -> bool {
    what.target() == CALLS || what.target() == GUEST_LOG && *what.level() == Level::INFO
}

/// Shows calls and the provider's own words as they come.
pub(in crate::cli) struct Layer;

impl<S: Subscriber> tracing_subscriber::Layer<S> for Layer {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        if event.metadata().target() == CALLS {
            output::say(&fields.call());
        } else {
            output::say(&format!("{:9} {}", fields.provider, fields.message));
        }
    }
}

#[derive(Default)]
struct Fields {
    provider: String,
    message: String,
    call: String,
    uri: String,
    error: String,
    took_us: u64,
}

impl Fields {
    fn call(&self) -> String {
        let Self { call, uri, error, took_us, .. } = self;
        let space = if uri.is_empty() { "" } else { " " };
        let error = if error.is_empty() { String::new() } else { format!(": {error}") };
        let took = if *took_us < 1000 { format!("{took_us} µs") } else { format!("{}.{} ms", took_us / 1000, took_us % 1000 / 100) };
        format!("call      {call}{space}{uri} ({took}){error}")
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.record_str(field, &format!("{value:?}"));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "took_us" {
            self.took_us = value;
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let place = match field.name() {
            "provider" => &mut self.provider,
            "message" => &mut self.message,
            "call" => &mut self.call,
            "uri" => &mut self.uri,
            "error" => &mut self.error,
            _ => return,
        };
        value.clone_into(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_shown_with_its_duration_and_its_error() {
        let call = |uri: &str, error: &str| {
            Fields { call: "read".into(), uri: uri.into(), error: error.into(), took_us: 1250, ..Fields::default() }.call()
        };
        assert_eq!(call("x://a", ""), "call      read x://a (1.2 ms)");
        assert_eq!(call("", "not-found"), "call      read (1.2 ms): not-found");
        assert_eq!(Fields { call: "fired".into(), took_us: 83, ..Fields::default() }.call(), "call      fired (83 µs)");
    }

    #[test]
    fn what_a_reload_changed_is_named() {
        let change = ListChange { added: vec!["x://a".into(), "x://b".into()], reordered: true, ..ListChange::default() };
        assert_eq!(differences(&change), ["          listed now: x://a, x://b", "          listed in another order"]);
        assert!(differences(&ListChange::default()).is_empty());
    }

    #[test]
    fn of_many_names_some_are_shown() {
        assert_eq!(some((0..7).map(|n| n.to_string())), "0, 1, 2, 3, 4, 2 more");
    }
}
