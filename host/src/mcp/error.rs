//! The errors a client gets: their codes, their data, and how each outcome maps to them in either era.
//!
//! Invariant: an error of a method's own work has [`Status::Ok`] in both eras; only what is wrong with the message, the session or the
//! version has another.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::era::{Era, MODERN};
use crate::{
    catalog::{CompleteError, CursorError, ReadError},
    provider::Error,
    subscriptions::SubscribeError,
};

/// JSON-RPC 2.0 §5.1: not JSON.
pub const PARSE_ERROR: i32 = -32700;
/// JSON-RPC 2.0 §5.1: JSON, but no message.
pub const INVALID_REQUEST: i32 = -32600;
/// JSON-RPC 2.0 §5.1.
pub const METHOD_NOT_FOUND: i32 = -32601;
/// JSON-RPC 2.0 §5.1.
pub const INVALID_PARAMS: i32 = -32602;
/// JSON-RPC 2.0 §5.1.
pub const INTERNAL_ERROR: i32 = -32603;
/// MCP up to 2025-11-25: no such resource.
pub const RESOURCE_NOT_FOUND: i32 = -32002;
/// What the official SDKs say of a session they do not know; the HTTP status is what counts.
pub const SESSION_NOT_FOUND: i32 = -32001;
/// MCP 2026-07-28: a header is missing, or says other than the body.
pub const HEADER_MISMATCH: i32 = -32020;
/// MCP 2026-07-28.
pub const UNSUPPORTED_VERSION: i32 = -32022;

/// Longest URI that an error repeats; no valid one is longer.
const ECHOED_URI: usize = 8 * 1024;

/// What an answer means to the transport. Each transport has its own way of showing it, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The message was taken and answered, maybe with an error.
    Ok,
    /// The message itself is wrong.
    Malformed,
    /// What it addresses is not there: the session, or in the modern era the method.
    Missing,
    /// There is no room for another session.
    Full,
}

/// An error as JSON-RPC has it.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcError {
    /// The code.
    pub code: i32,
    /// For people.
    pub message: Cow<'static, str>,
    /// For programs.
    pub data: Option<Value>,
    /// For the transport.
    pub status: Status,
}

impl RpcError {
    fn new(code: i32, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), data: None, status: Status::Ok }
    }

    fn with(self, data: Value) -> Self {
        Self { data: Some(data), ..self }
    }

    /// The same error as a failing of the message.
    pub fn malformed(self) -> Self {
        Self { status: Status::Malformed, ..self }
    }

    /// It is not JSON.
    pub fn parse(reason: impl AsRef<str>) -> Self {
        Self::new(PARSE_ERROR, format!("Parse error: {}", reason.as_ref())).malformed()
    }

    /// It is no message, or none that may be sent here.
    pub fn invalid_request(reason: impl AsRef<str>) -> Self {
        Self::new(INVALID_REQUEST, format!("Invalid request: {}", reason.as_ref())).malformed()
    }

    /// A known method's parameters are wrong; the reason names the field.
    pub fn invalid_params(reason: impl AsRef<str>) -> Self {
        Self::new(INVALID_PARAMS, format!("Invalid params: {}", reason.as_ref()))
    }

    /// There is no such method. In a legacy session the status stays [`Status::Ok`]: another would mean that the session is lost.
    pub fn method_not_found(era: Era, method: &str) -> Self {
        let status = if era == Era::Modern { Status::Missing } else { Status::Ok };
        let method: String = method.chars().take(100).collect();
        Self { status, ..Self::new(METHOD_NOT_FOUND, format!("Method not found: {method}")) }
    }

    /// A session that ended, or never was.
    pub fn session_not_found() -> Self {
        Self { status: Status::Missing, ..Self::new(SESSION_NOT_FOUND, "Session not found: initialize again") }
    }

    /// No session can be made.
    pub fn no_room() -> Self {
        Self { status: Status::Full, ..Self::new(INTERNAL_ERROR, "There is no room for another session: try again later") }
            .with(json!({ "kind": "limit" }))
    }

    /// What stands beside the message is missing, garbled, or says other than the message.
    pub fn header_mismatch(reason: impl AsRef<str>) -> Self {
        Self::new(HEADER_MISMATCH, format!("Header mismatch: {}", reason.as_ref())).malformed()
    }

    /// A version the stateless protocol does not have.
    pub fn unsupported_version(requested: &str) -> Self {
        Self::new(UNSUPPORTED_VERSION, "Unsupported protocol version")
            .malformed()
            .with(json!({ "supported": [MODERN], "requested": requested }))
    }

    /// A cap was hit.
    pub fn limit(message: impl Into<Cow<'static, str>>, cap: usize) -> Self {
        Self::new(INTERNAL_ERROR, message).with(json!({ "kind": "limit", "cap": cap }))
    }

    /// A fault of the host itself.
    pub fn internal(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(INTERNAL_ERROR, message).with(json!({ "kind": "failed" }))
    }

    /// Why a read gave nothing.
    pub fn from_read(era: Era, uri: &str, error: &ReadError) -> Self {
        match error {
            ReadError::NotFound | ReadError::Provider { error: Error::NotFound, .. } => {
                let code = if era == Era::Modern { INVALID_PARAMS } else { RESOURCE_NOT_FOUND };
                // In the message, too: there are clients that show nothing else.
                Self::new(code, format!("Resource not found: {}", short(uri))).with(uri_data(Some(uri), None))
            }
            ReadError::InvalidUri(reason) => {
                Self::invalid_params(format!("`uri` is not a valid resource URI: {reason}")).with(uri_data(Some(uri), Some(reason)))
            }
            ReadError::Provider { error: Error::Invalid(reason), .. } => {
                Self::invalid_params(reason).with(uri_data(Some(uri), Some(reason)))
            }
            ReadError::Provider { provider, error } => {
                let mut data = Map::new();
                data.insert("kind".into(), error.kind().into());
                data.insert("provider".into(), (**provider).into());
                if let Error::Unavailable { retry_after: Some(after), .. } = error {
                    data.insert("retryAfterMs".into(), u64::try_from(after.as_millis()).unwrap_or(u64::MAX).into());
                }
                Self::new(INTERNAL_ERROR, format!("{provider}: {error}")).with(data.into())
            }
        }
    }

    /// Why there are no suggestions for this variable of a template, or of whatever else `ref.uri` says.
    pub fn from_complete(era: Era, uri: &str, variable: &str, error: CompleteError) -> Self {
        let reason = error.to_string();
        match error {
            CompleteError::UnknownTemplate => {
                Self::invalid_params(format!("`ref.uri`: {reason}: {}", short(uri))).with(uri_data(Some(uri), Some(&reason)))
            }
            CompleteError::UnknownVariable(_) => {
                Self::invalid_params(format!("`argument.name`: {}: {reason}", short(variable))).with(uri_data(Some(uri), Some(&reason)))
            }
            CompleteError::Provider { provider, error } => Self::from_read(era, uri, &ReadError::Provider { provider, error }),
        }
    }

    /// Why a subscribe was refused; the URI, if it was about one.
    pub fn from_subscribe(error: &SubscribeError, uri: Option<&str>) -> Self {
        match error {
            SubscribeError::Limit(limit) => Self::limit(limit.to_string(), limit.cap),
            SubscribeError::InvalidUri(reason) => {
                Self::invalid_params(format!("not a valid resource URI: {reason}")).with(uri_data(uri, Some(reason)))
            }
        }
    }
}

/// As much of a client's text as an error repeats in its message.
pub(super) fn short(text: &str) -> String {
    text.chars().take(100).collect()
}

fn uri_data(uri: Option<&str>, reason: Option<&str>) -> Value {
    let mut data = Map::new();
    if let Some(uri) = uri.filter(|uri| uri.len() <= ECHOED_URI) {
        data.insert("uri".into(), uri.into());
    }
    if let Some(reason) = reason {
        data.insert("reason".into(), reason.into());
    }
    data.into()
}

impl From<CursorError> for RpcError {
    fn from(error: CursorError) -> Self {
        Self::invalid_params(format!("`cursor`: {error}"))
    }
}

impl From<serde_json::Error> for RpcError {
    fn from(error: serde_json::Error) -> Self {
        Self::internal(format!("the answer cannot be written as JSON: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::subscriptions::LimitError;

    fn provider(error: Error) -> ReadError {
        ReadError::Provider { provider: "notes".into(), error }
    }

    #[test]
    fn what_nobody_owns_is_said_in_each_eras_own_code() {
        for (era, code) in [(Era::Legacy, -32002), (Era::Modern, -32602)] {
            let error = RpcError::from_read(era, "x://a", &ReadError::NotFound);
            assert_eq!((error.code, error.data, error.status), (code, Some(json!({ "uri": "x://a" })), Status::Ok));
            assert_eq!(error.message, "Resource not found: x://a");
        }
    }

    #[test]
    fn what_is_wrong_with_a_uri_is_said_in_the_data() {
        let error = RpcError::from_read(Era::Modern, "x://a", &provider(Error::Invalid("no such chapter".into())));
        assert_eq!((error.code, error.data), (-32602, Some(json!({ "uri": "x://a", "reason": "no such chapter" }))));
        let error = RpcError::from_read(Era::Legacy, &"x".repeat(ECHOED_URI + 1), &ReadError::InvalidUri("too long"));
        assert_eq!((error.code, error.data), (-32602, Some(json!({ "reason": "too long" }))));
    }

    #[test]
    fn a_providers_failing_names_the_provider_and_the_kind() {
        for (error, kind) in [
            (Error::Denied("no".into()), "denied"),
            (Error::unavailable("later"), "unavailable"),
            (Error::Failed("broken".into()), "failed"),
            (Error::Trapped("unreachable".into()), "trap"),
            (Error::DeadlineExceeded(Duration::from_secs(5)), "deadline"),
        ] {
            for era in [Era::Legacy, Era::Modern] {
                let error = RpcError::from_read(era, "x://a", &provider(error.clone()));
                assert_eq!((error.code, error.status), (-32603, Status::Ok));
                assert_eq!(error.data, Some(json!({ "kind": kind, "provider": "notes" })));
            }
        }
        let busy = Error::Unavailable { message: "busy".into(), retry_after: Some(Duration::from_millis(1500)) };
        let data = RpcError::from_read(Era::Modern, "x://a", &provider(busy)).data;
        assert_eq!(data, Some(json!({ "kind": "unavailable", "provider": "notes", "retryAfterMs": 1500 })));
    }

    #[test]
    fn a_cap_is_named_with_its_number() {
        let error = RpcError::from_subscribe(&SubscribeError::Limit(LimitError { cap: 10_000, of: "for one listener" }), None);
        assert_eq!((error.code, error.data), (-32603, Some(json!({ "kind": "limit", "cap": 10_000 }))));
    }
}
