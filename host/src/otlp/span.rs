//! A span on its way out, and what is known of it while it goes on.

use std::{
    borrow::Cow,
    time::{Duration, Instant, SystemTime},
};

/// A value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Text(Cow<'static, str>),
    Whole(i64),
    Number(f64),
    Truth(bool),
}

/// OTLP's `SpanKind`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Kind {
    #[default]
    Internal = 1,
    Server = 2,
    Client = 3,
}

/// The ids of a span, and whether it is recorded: what those below it need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ids {
    pub trace: [u8; 16],
    pub span: [u8; 8],
    pub sampled: bool,
}

/// What there is to tell of one span that is recorded.
#[derive(Debug)]
pub(super) struct Span {
    pub ids: Ids,
    pub parent: Option<[u8; 8]>,
    /// The parent is somebody else's.
    pub is_remote: bool,
    pub state: Option<String>,
    pub link: Option<crate::trace::TraceContext>,
    pub name: Cow<'static, str>,
    pub kind: Kind,
    pub failed: bool,
    pub attributes: Vec<(&'static str, Value)>,
    pub start: SystemTime,
    pub took: Duration,
}

/// How long it goes on.
#[derive(Debug)]
pub(super) struct Clock {
    began: Instant,
    /// When work in it stopped last. The subscriber closes a span only once all below it are closed, and these may go on for longer.
    left: Option<Instant>,
}

impl Clock {
    pub fn start() -> Self {
        Self { began: Instant::now(), left: None }
    }

    pub fn leave(&mut self) {
        self.left = Some(Instant::now());
    }

    /// What it took, if it ends now or has ended already.
    pub fn took(&self) -> Duration {
        self.left.unwrap_or_else(Instant::now).duration_since(self.began)
    }
}
