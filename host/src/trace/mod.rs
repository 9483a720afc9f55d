//! What is traced: the spans of the host, under one target, and what they have to do with the traces of others.
//!
//! A span is one of `tracing`'s, with the target [`TARGET`]. Its fields have the names of OpenTelemetry's semantic conventions where these
//! have one, and begin with `wharf.` where not:
//!
//! | span | what it is | conventions |
//! |---|---|---|
//! | `mcp.request` | one request of a client | MCP, semantic-conventions-genai 0.1.0 |
//! | `wharf.call` | one call into a provider, the time included for which it waited for its turn | - |
//! | `wharf.fetch` | one exchange over HTTP that a provider asked for | HTTP client spans, semantic-conventions 1.41 |
//!
//! `otel.name`, `otel.kind` and `otel.status_code` say name, kind and status as a span of OpenTelemetry has them. [`PARENT`], [`STATE`] and
//! [`LINK`] name spans of others ([`context`]).
//!
//! Invariants: while nobody collects spans, none is made, and what would make one costs a look at a number; no span has contents, secrets, a
//! message of an error, the query of a URL that is fetched, or text of a client's longer than [`URI_CAP`]; a span ends with its work, whatever
//! becomes of what the work began.

mod call;
pub mod context;

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use futures_util::future::BoxFuture;
use tokio::time::Instant;
use tracing::Level;

pub use self::{call::Trail, context::TraceContext};

/// The target of all spans, at the level [`LEVEL`].
pub const TARGET: &str = "wharf::trace";
/// Their level.
pub const LEVEL: Level = Level::INFO;
/// The field with the context that a span continues, as [`TraceContext`] prints it.
pub const PARENT: &str = "trace.parent";
/// The field with the `tracestate` beside it.
pub const STATE: &str = "trace.state";
/// The field with a context that a span has to do with, and does not continue.
pub const LINK: &str = "trace.link";

/// Bytes of a URI that a span shows. Longer ones are rare, and a collector keeps each.
pub const URI_CAP: usize = 512;
/// Bytes of a name that a client chooses: a tool's, a method's, an id.
pub const NAME_CAP: usize = 64;

/// Whether anybody collects spans.
pub fn is_wanted() -> bool {
    tracing::span_enabled!(target: TARGET, LEVEL)
}

/// The beginning of a text, at most so many bytes.
pub fn capped(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// How many spans went where.
#[derive(Debug, Default)]
pub struct Counts {
    exported: AtomicU64,
    dropped: AtomicU64,
}

impl Counts {
    /// Spans that were taken by who collects them.
    pub fn exported(&self) -> u64 {
        self.exported.load(Relaxed)
    }

    /// Spans that were let go: the queue was full, or nobody took them.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }

    /// So many more were taken.
    pub fn add_exported(&self, spans: u64) {
        self.exported.fetch_add(spans, Relaxed);
    }

    /// So many more were let go.
    pub fn add_dropped(&self, spans: u64) {
        self.dropped.fetch_add(spans, Relaxed);
    }
}

/// What brings spans out of this process, as a host knows it: for its metrics, and for its end.
pub trait Export: fmt::Debug + Send + Sync + 'static {
    /// How many it has brought out.
    fn counts(&self) -> &Counts;

    /// Brings out what there still is, and ends, by then at the latest.
    fn finish(&self, by: Instant) -> BoxFuture<'_, ()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(capped("aüb", 2), "a");
        assert_eq!(capped("aüb", 3), "aü");
        assert_eq!(capped("aüb", 9), "aüb");
    }

    #[test]
    fn nobody_collects_by_default() {
        assert!(!is_wanted());
    }
}
