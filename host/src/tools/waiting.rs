//! `wait_for_update`.
//!
//! Invariants: whatever ends the wait but cancelling, there is a result with a token, and the token is of the moment of the result; what a
//! read said that the caller's token is of is compared with what is said now, so the first wait after a read is no false alarm.

use std::{future::pending, sync::Arc, time::Duration};

use serde_json::{Map, Value, value::RawValue};
use tokio::time::Instant;

use super::{
    Link, Outcome, READ_RESOURCE, ToolResult, Tools,
    arguments::{Arguments, Wrong},
    watches::{HELD, Point, Seen, Wait, WaitError, Watches, digest},
};
use crate::catalog::{Caller, Catalog, Snapshot, View};

/// How long a call waits, if the caller says nothing: less than what clients give a call before they give up, as far as is known.
pub const TIMEOUT: Duration = Duration::from_secs(60);
/// How long one may wait.
pub const LONGEST_TIMEOUT: Duration = Duration::from_secs(3600);
/// Resources one call may wait for.
pub const URIS: usize = 1_000;
/// Changed resources that are linked, besides being named.
const LINKS: usize = 20;
/// Resources of which it is looked up whether they still say what the caller read: a token is of one read, so of more than a few it
/// cannot be most.
const COMPARED: usize = 8;

/// Why a wait is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    Changed,
    Timeout,
    Stopping,
}

/// A call that waits. Dropping it ends that.
pub struct Waiting {
    wait: Wait,
    /// What it waits by lasts as long as it does.
    _watches: Arc<Watches>,
    catalog: Arc<Catalog>,
    view: View,
    timeout: Duration,
    deadline: Instant,
}

impl Tools {
    pub(super) async fn wait_for_update(&self, caller: &Caller, raw: Option<&RawValue>) -> Result<Outcome, Wrong> {
        let arguments = Arguments::read(raw, &["uris", "timeout", "token"])?;
        let uris = arguments.texts("uris", URIS)?;
        let timeout = arguments.seconds("timeout", TIMEOUT, LONGEST_TIMEOUT)?;
        let watches = self.watches.of(caller);
        let point = arguments.optional_text("token")?.map_or(Point::Now, |token| watches.point(token));
        let deadline = Instant::now() + timeout;
        let mut wait = watches.wait(&uris, point).await.map_err(|error| match &error {
            WaitError::InvalidUri(..) => Wrong(format!("`uris`: {error}. Give URIs exactly as they are listed.")),
            WaitError::Limit(_) => Wrong(format!("Not now: {error}. Wait for fewer resources, or try again in a minute.")),
        })?;
        let seen = self.compare(caller, &mut wait).await;
        let view = caller.view().clone();
        let waiting = Waiting { wait, _watches: watches, catalog: self.catalog.clone(), view, timeout, deadline };
        Ok(match seen {
            Some(seen) => Outcome::Done(waiting.result(&seen, Over::Changed)),
            None if timeout.is_zero() => Outcome::Done(waiting.result(&waiting.wait.look(), Over::Timeout)),
            None => Outcome::Waiting(waiting),
        })
    }

    /// What there is to tell at once. What the caller read may be the same as now, though nobody watched meanwhile.
    async fn compare(&self, caller: &Caller, wait: &mut Wait) -> Option<Seen> {
        let mut seen = wait.look();
        if let Some(known) = wait.digest()
            && !seen.unsure.is_empty()
            && seen.unsure.len() <= COMPARED
        {
            let mut differ = Vec::new();
            for uri in seen.unsure {
                let same = self.catalog.read(caller, &uri).await.is_ok_and(|read| digest(&uri, &read.contents) == known);
                if !same {
                    differ.push(uri);
                }
            }
            seen.unsure = differ;
        }
        if seen.changed.is_empty() && seen.unsure.is_empty() {
            // What changed while the reads went on is past this number.
            wait.knows(seen.number);
            return None;
        }
        Some(seen)
    }
}

impl Waiting {
    /// How long it waits at most, as the caller wants it.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// How many resources it waits for.
    pub fn count(&self) -> usize {
        self.wait.count()
    }

    /// Waits for a change, for the end of the time, or for `stop`, after which the host answers no more.
    pub async fn run(self, stop: impl Future<Output = ()> + Send) -> ToolResult {
        let (seen, over) = tokio::select! {
            biased;
            seen = self.wait.changed() => (seen, Over::Changed),
            () = tokio::time::sleep_until(self.deadline) => (self.wait.look(), Over::Timeout),
            () = stop => (self.wait.look(), Over::Stopping),
        };
        self.result(&seen, over)
    }

    /// Likewise without an end from outside.
    pub async fn run_to_end(self) -> ToolResult {
        self.run(pending()).await
    }

    fn result(&self, seen: &Seen, over: Over) -> ToolResult {
        let token = self.wait.token(seen.number);
        let snapshot = self.catalog.seen_in(&self.view);
        let unknown: Vec<_> = match over {
            // A URI with a slip in it would be waited for in vain.
            Over::Timeout => self.wait.uris().iter().filter(|uri| snapshot.candidates(uri).is_empty()).cloned().collect(),
            Over::Changed | Over::Stopping => Vec::new(),
        };
        let changed: Vec<_> = seen.changed.iter().chain(&seen.unsure).cloned().collect();
        let mut note = match over {
            Over::Changed if seen.unsure.is_empty() => format!("Read what changed with {READ_RESOURCE}; then wait on with this token."),
            Over::Changed => format!(
                "The host cannot know whether all of these changed: the token was given for others, or before a restart, or they were not watched \
                 since, as happens {} s after the last call. Read them again with {READ_RESOURCE}; then wait on with this token.",
                HELD.as_secs()
            ),
            Over::Timeout if self.timeout.is_zero() => "Wait on with this token: what changes from now on is not missed.".into(),
            Over::Timeout => format!("Nothing changed within {} s. Wait on with this token: nothing is missed.", self.timeout.as_secs()),
            Over::Stopping => "The host is stopping. Call again with this token once it is back.".into(),
        };
        if !unknown.is_empty() {
            note += " No provider offers some of these now: check their URIs.";
        }
        let status = match over {
            Over::Changed => "changed",
            Over::Timeout => "timeout",
            Over::Stopping => "stopping",
        };
        let mut text = String::new();
        for (title, uris) in [("Changed", &changed), ("Not offered", &unknown)] {
            if !uris.is_empty() {
                text += &format!("{title}:\n{}", uris.iter().map(|uri| format!("- {uri}\n")).collect::<String>());
            }
        }
        text += &format!("{note} Token: {token}");
        let mut structured = Map::new();
        structured.insert("status".into(), status.into());
        structured.insert("changed".into(), array(&changed));
        for (field, uris) in [("unsure", &seen.unsure), ("unknown", &unknown)] {
            if !uris.is_empty() {
                structured.insert(field.into(), array(uris));
            }
        }
        structured.insert("token".into(), token.into());
        structured.insert("note".into(), note.into());
        ToolResult::new(text, structured.into()).with_links(changed.iter().take(LINKS).map(|uri| link(&snapshot, uri)))
    }
}

fn array(uris: &[Arc<str>]) -> Value {
    uris.iter().map(|uri| Value::from(&**uri)).collect()
}

fn link(snapshot: &Snapshot, uri: &Arc<str>) -> Link {
    match snapshot.info(uri) {
        Some(info) => Link::from(&**info),
        None => {
            let name = uri.rsplit('/').find(|part| !part.is_empty()).unwrap_or(uri).to_owned();
            Link { uri: uri.clone(), name, title: None, mime_type: None, size: None }
        }
    }
}
