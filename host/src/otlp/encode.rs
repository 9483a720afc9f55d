//! `ExportTraceServiceRequest` in OTLP's JSON: that of protobuf, but ids are hexadecimal, enums are numbers, and 64-bit numbers are text.

use std::{fmt::Display, time::UNIX_EPOCH};

use serde::Serialize;

use super::span::{Span, Value};
use crate::trace::context::Hex;

/// Of OTLP's `SpanFlags`: whether the parent is remote is known, and it is.
const PARENT_IS_KNOWN: u32 = 0x100;
const PARENT_IS_REMOTE: u32 = 0x200;
/// W3C's flag.
const SAMPLED: u32 = 1;
/// OTLP's `STATUS_CODE_ERROR`.
const ERROR: u8 = 2;

/// What all spans of this process come from.
#[derive(Debug)]
pub(super) struct Resource {
    instance: String,
    /// `OTEL_SERVICE_NAME`, where several hosts are to be told apart.
    name: String,
}

impl Resource {
    /// A process with this random mark.
    pub fn new(instance: [u8; 16]) -> Self {
        let name = std::env::var("OTEL_SERVICE_NAME").ok().filter(|name| !name.is_empty());
        Self { instance: Hex(&instance).to_string(), name: name.unwrap_or_else(|| "wharf".into()) }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    resource_spans: [ResourceSpans<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans<'a> {
    resource: ResourceJson<'a>,
    scope_spans: [ScopeSpans<'a>; 1],
}

#[derive(Serialize)]
struct ResourceJson<'a> {
    attributes: Vec<Attribute<'a>>,
}

#[derive(Serialize)]
struct ScopeSpans<'a> {
    scope: Scope,
    spans: Vec<SpanJson<'a>>,
}

#[derive(Serialize)]
struct Scope {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SpanJson<'a> {
    trace_id: Text<Hex<'a>>,
    span_id: Text<Hex<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_state: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_span_id: Option<Text<Hex<'a>>>,
    flags: u32,
    name: &'a str,
    kind: u8,
    start_time_unix_nano: Text<u128>,
    end_time_unix_nano: Text<u128>,
    attributes: Vec<Attribute<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<[Link<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Link<'a> {
    trace_id: Text<Hex<'a>>,
    span_id: Text<Hex<'a>>,
}

#[derive(Serialize)]
struct Status {
    code: u8,
}

#[derive(Serialize)]
struct Attribute<'a> {
    key: &'a str,
    value: AnyValue<'a>,
}

#[derive(Serialize)]
enum AnyValue<'a> {
    #[serde(rename = "stringValue")]
    Text(&'a str),
    #[serde(rename = "intValue")]
    Whole(Text<i64>),
    #[serde(rename = "doubleValue")]
    Number(f64),
    #[serde(rename = "boolValue")]
    Truth(bool),
}

/// What JSON has as text.
struct Text<T>(T);

impl<T: Display> Serialize for Text<T> {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&self.0)
    }
}

/// One request's body.
pub(super) fn request(resource: &Resource, spans: &[Span]) -> Result<Vec<u8>, serde_json::Error> {
    let text = |key, value| Attribute { key, value: AnyValue::Text(value) };
    let version = env!("CARGO_PKG_VERSION");
    let attributes = vec![
        text("service.name", resource.name.as_str()),
        text("service.version", version),
        text("service.instance.id", resource.instance.as_str()),
        text("telemetry.sdk.name", "wharf"),
        text("telemetry.sdk.language", "rust"),
        text("telemetry.sdk.version", version),
    ];
    serde_json::to_vec(&Request {
        resource_spans: [ResourceSpans {
            resource: ResourceJson { attributes },
            scope_spans: [ScopeSpans { scope: Scope { name: "wharf", version }, spans: spans.iter().map(span).collect() }],
        }],
    })
}

fn span(span: &Span) -> SpanJson<'_> {
    let start = span.start.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    SpanJson {
        trace_id: Text(Hex(&span.ids.trace)),
        span_id: Text(Hex(&span.ids.span)),
        trace_state: span.state.as_deref(),
        parent_span_id: span.parent.as_ref().map(|parent| Text(Hex(parent))),
        flags: SAMPLED | PARENT_IS_KNOWN | if span.is_remote { PARENT_IS_REMOTE } else { 0 },
        name: &span.name,
        kind: span.kind as u8,
        start_time_unix_nano: Text(start),
        end_time_unix_nano: Text(start + span.took.as_nanos()),
        attributes: span.attributes.iter().map(|(key, value)| Attribute { key, value: any(value) }).collect(),
        links: span.link.as_ref().map(|link| [Link { trace_id: Text(Hex(&link.trace_id)), span_id: Text(Hex(&link.span_id)) }]),
        status: span.failed.then_some(Status { code: ERROR }),
    }
}

fn any(value: &Value) -> AnyValue<'_> {
    match value {
        Value::Text(text) => AnyValue::Text(text),
        Value::Whole(number) => AnyValue::Whole(Text(*number)),
        Value::Number(number) => AnyValue::Number(*number),
        Value::Truth(truth) => AnyValue::Truth(*truth),
    }
}
