//! What a host that serves says to the person who started it.

use std::{
    net::SocketAddr,
    path::{Display, Path},
    sync::Arc,
};

use wharf::{
    admin::STATUS_PATH,
    catalog::Change,
    host::Notice,
    plugins::{Fate, Loaded, Plan, Report},
};

use super::{
    access::is_local,
    connect,
    output::{self, count},
};

/// What the user is told: lines for people, or log events.
#[derive(Clone, Copy)]
pub(super) struct Voice {
    pub json: bool,
    /// Only what is wrong: clients keep what a server says on stderr, and show it as its faults.
    pub quiet: bool,
}

impl Voice {
    pub(super) fn say(self, line: &str) {
        if self.json {
            tracing::info!("{line}");
        } else {
            output::say(line);
        }
    }

    /// `by_token` is whether an agent has to come with a token that it cannot get by itself.
    pub(super) fn greet(self, address: SocketAddr, url: &str, by_token: bool) {
        if self.json {
            tracing::info!(url, "serving");
            return;
        }
        eprintln!(
            "Wharf {version} serves MCP at {url}\n\n\
             To connect an agent, in its project's folder:\n  \
             {hint}\n\
             Or one of {others}.\n\n\
             Ctrl-C ends it.\n",
            version = env!("CARGO_PKG_VERSION"),
            hint = if by_token { connect::hint_with_token(address, url) } else { connect::hint(address, url) },
            others = connect::others(),
        );
    }

    /// Where status and metrics are, if they have an address of their own.
    pub(super) fn admin(self, address: Option<SocketAddr>, guarded: bool) {
        let Some(address) = address else { return };
        self.say(&format!("Status page at http://{address}/"));
        self.say(&format!("Status and metrics at http://{address}{STATUS_PATH}"));
        if guarded && !is_local(address) {
            self.say("They want a token that sees all providers, as `wharf status --token-file FILE` sends it; a browser has no way to");
        } else if !is_local(address) {
            self.warn(&format!("whoever reaches {address} sees what this host serves: keep it from others (wharf.toml: [server] admin)"));
        }
    }

    pub(super) fn plan(self, folder: &Path, plan: &Plan) {
        if let Some(error) = &plan.unreadable {
            self.warn(&format!("the plugins folder {} cannot be read: {error}; make it, or name another with --plugins", folder.display()));
        } else if plan.providers.is_empty() {
            self.warn(&format!("there is no .wasm file in {}: nothing to serve", folder.display()));
        }
        for (path, reason) in plan.misnamed.iter().chain(&plan.passed_over) {
            self.warn(&format!("refused {}: {reason}", path.display()));
        }
        for planned in plan.providers.iter().filter(|planned| !planned.spec.grants.is_empty() && !planned.path.exists()) {
            let (name, path) = (&planned.spec.name, planned.path.display());
            self.warn(&format!(
                "wharf.toml grants {name} something, and there is no such provider: {path} is not there; is the name right?"
            ));
        }
    }

    pub(super) fn warn(self, line: &str) {
        if self.json {
            tracing::warn!("{line}");
        } else {
            output::say(&format!("warning: {line}"));
        }
    }

    pub(super) fn notice(self, notice: &Notice) {
        if let (Notice::ConfigRefused(reason), false) = (notice, self.json) {
            // It shows the line, on lines of its own.
            output::say("refused  wharf.toml; the settings stay as they were:");
            reason.lines().for_each(output::say);
        } else if notice.is_warning() {
            self.warn(&notice.to_string());
        } else if !self.quiet {
            self.say(&notice.to_string());
        }
    }

    pub(super) fn report(self, Report { name, path, fate }: &Report) {
        let path = path.display();
        match fate {
            Fate::Loaded(loaded) => {
                if !self.quiet {
                    self.loaded(name, &path, loaded);
                }
                if let Err(error) = &loaded.lists {
                    self.warn(&format!("{name} did not list: {error}; it is asked again"));
                }
            }
            Fate::Refused { reason, serving } if self.json => tracing::error!(provider = %name, %path, reason, serving, "refused"),
            Fate::Refused { reason, serving } => {
                let still = if *serving { "; the version before it goes on serving" } else { "" };
                output::say(&format!("refused  {name}: {reason} ({path}){still}"));
            }
            _ if self.quiet => {}
            Fate::Restored if self.json => tracing::info!(provider = %name, %path, "the file is again what is served"),
            Fate::Restored => output::say(&format!("as it was {name}: the file is again what is served ({path})")),
            Fate::Removed if self.json => tracing::info!(provider = %name, %path, "removed"),
            Fate::Removed => output::say(&format!("removed  {name} ({path})")),
        }
    }

    fn loaded(self, name: &str, path: &Display<'_>, loaded: &Loaded) {
        let Loaded { replaced, resources, templates, subscriptions, change, timings, .. } = loaded;
        let took = timings.total.as_millis();
        if self.json {
            let took = u64::try_from(took).unwrap_or(u64::MAX);
            let what = if *replaced { "reloaded" } else { "loaded" };
            tracing::info!(provider = %name, %path, resources, templates, subscriptions, took_ms = took, "{what}");
            return;
        }
        if *replaced {
            output::say(&format!("reloaded {name}: {} ({path}, {took} ms)", differences(change)));
            return;
        }
        let live = if *subscriptions { ", tells of changes" } else { "" };
        let (resources, templates) = (count(*resources, "resource"), count(*templates, "template"));
        output::say(&format!("loaded   {name}: {resources}, {templates}{live} ({path}, {took} ms)"));
    }

    pub(super) fn still_loading<'a>(self, names: impl Iterator<Item = &'a Arc<str>>) {
        let names: Vec<&str> = names.map(|name| &**name).collect();
        if !names.is_empty() {
            self.say(&format!("still loading: {}", names.join(", ")));
        }
    }
}

/// What changed in the lists, in numbers.
fn differences(change: &Change) -> String {
    let Change { added, removed, changed, added_templates, removed_templates, changed_templates, reordered } = change;
    let parts = [
        (added.len() + added_templates.len(), "added"),
        (removed.len() + removed_templates.len(), "removed"),
        (changed.len() + changed_templates.len(), "changed"),
    ];
    let mut parts: Vec<String> = parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    if *reordered {
        parts.push("in another order".into());
    }
    if parts.is_empty() { "the same lists".into() } else { parts.join(", ") }
}
