//! The span of one exchange, as OpenTelemetry's semantic conventions for HTTP clients have it (1.41, "HTTP client span").
//!
//! But for `url.full`, which may have a secret in its query or its path: scheme, host and port are what a collector gets. And the request
//! gets no `traceparent`: that a request is traced, and by which id, is nothing that a grant for a host gives it.

use tracing::{Span, field::Empty};

use super::{Answer, Failure, gate::Origin};
use crate::{provider::grants::Rights, trace::TARGET};

/// Below the span at hand, which is that of the call that asks for it, or below none.
pub(crate) fn of_exchange(rights: &Rights, method: &str, origin: &Origin) -> Span {
    if !crate::trace::is_wanted() {
        return Span::none();
    }
    tracing::info_span!(
        target: TARGET,
        "wharf.fetch",
        otel.name = method,
        otel.kind = "client",
        otel.status_code = Empty,
        wharf.provider.name = &**rights.provider(),
        http.request.method = method,
        url.scheme = if origin.https { "https" } else { "http" },
        server.address = %origin.host,
        server.port = origin.port,
        http.response.status_code = Empty,
        "error.type" = Empty,
    )
}

/// It was answered with this status.
pub(crate) fn answered(span: &Span, status: u16) {
    span.record("http.response.status_code", status);
    if status >= 400 && !span.is_disabled() {
        span.record("error.type", &*status.to_string());
        span.record("otel.status_code", "ERROR");
    }
}

/// It was not answered.
pub(crate) fn failed(span: &Span, why: &'static str) {
    span.record("error.type", why);
    span.record("otel.status_code", "ERROR");
}

/// What became of it.
pub(super) fn ended(span: &Span, came: &Result<Answer, Failure>) {
    match came {
        Ok(answer) => answered(span, answer.status),
        Err(failure) => failed(
            span,
            match failure {
                Failure::Denied(_) => "denied",
                Failure::TimedOut => "timeout",
                Failure::TooLarge => "too-large",
                Failure::Failed(_) => "failed",
            },
        ),
    }
}
