//! One call into a provider, from when it is asked for to when it has ended.

use std::time::Instant;

use tracing::{Span, field::Empty};

use super::{TARGET, URI_CAP, capped, is_wanted};

/// A call that is traced, or that is not. What is not takes no memory. The span is below the one in which the call was asked for, and ends
/// when this is dropped.
#[derive(Debug, Default)]
pub struct Trail(Option<Box<Traced>>);

#[derive(Debug)]
struct Traced {
    span: Span,
    asked: Instant,
}

impl Trail {
    /// A call that waits from now on. No URI if it is about none.
    pub fn new(provider: &str, generation: u64, call: &'static str, uri: Option<&str>) -> Self {
        if !is_wanted() {
            return Self::default();
        }
        let span = tracing::info_span!(
            target: TARGET,
            "wharf.call",
            otel.name = call,
            otel.kind = "internal",
            otel.status_code = Empty,
            wharf.provider.name = provider,
            wharf.provider.generation = generation,
            wharf.call.name = call,
            wharf.call.uri = uri.map(|uri| capped(uri, URI_CAP)),
            wharf.call.outcome = Empty,
            wharf.call.wait_us = Empty,
            "error.type" = Empty,
        );
        Self(Some(Box::new(Traced { span, asked: Instant::now() })))
    }

    /// It has its turn. What is done for it is done in this span.
    pub fn begins(&self) -> Span {
        let Some(traced) = &self.0 else { return Span::none() };
        let waited = u64::try_from(traced.asked.elapsed().as_micros()).unwrap_or(u64::MAX);
        traced.span.record("wharf.call.wait_us", waited);
        traced.span.clone()
    }

    /// It has ended so, by a fault of the provider or not.
    pub fn ended(&self, outcome: &'static str, fault: bool) {
        let Some(traced) = &self.0 else { return };
        traced.span.record("wharf.call.outcome", outcome);
        if fault {
            traced.span.record("error.type", outcome);
            traced.span.record("otel.status_code", "ERROR");
        }
    }
}
