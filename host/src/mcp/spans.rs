//! The span of one request, as OpenTelemetry's semantic conventions for MCP have it (semantic-conventions-genai 0.1.0, "Server").
//!
//! Where they are not kept to, it is for what a collector need not know: a session's id would let whoever reads it speak in that session, so
//! there is a hash of it; and an error is told by its code, since its message may have contents in it. A listen's span ends with its
//! acknowledgement, not with the listen, which may go on for days; that of a call that waits ends with the answer. Who is told of an update
//! has no span: updates are joined on their way and go to any number of listeners, of none of whose requests they are a part.

use std::{borrow::Cow, net::IpAddr};

use serde::Deserialize;
use serde_json::value::RawValue;
use tracing::{Instrument, Span, field::Empty};

use super::{
    Envelope,
    era::{self, Era, MODERN, Said},
    message::{self, Incoming, Message, Request, is_object, text_of},
    sessions::Session,
};
use crate::{
    catalog::Caller,
    tools::{TOOLS, ToolResult},
    trace::{self, NAME_CAP, TARGET, TraceContext, URI_CAP, capped, context::is_trace_state},
};

/// The methods that spans are called by. Any other is a client's own idea, of which there may be any number.
const METHODS: [&str; 16] = [
    "initialize",
    "server/discover",
    "ping",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
    "completion/complete",
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "logging/setLevel",
    "resources/directory/read",
];

/// Where a request came from.
#[derive(Debug, Clone, Copy, Default)]
struct Origin<'a> {
    /// OpenTelemetry's `network.transport`.
    transport: Option<&'static str>,
    version: Option<&'a str>,
    session: Option<&'a str>,
    peer: Option<IpAddr>,
    caller: Option<&'a Caller>,
    /// `traceparent` and `tracestate` of the transport.
    around: (Option<&'a str>, Option<&'a str>),
}

impl<'a> Origin<'a> {
    /// It came with this beside it.
    fn http(envelope: &Envelope<'a>) -> Self {
        Self {
            transport: Some("tcp"),
            version: text(envelope.version),
            session: text(envelope.session),
            peer: envelope.peer,
            caller: Some(envelope.caller),
            around: (text(envelope.traceparent), text(envelope.tracestate)),
        }
    }

    /// It came in this session.
    fn of_session(self, id: &'a str, version: &'a str) -> Self {
        Self { session: Some(id), version: Some(version), ..self }
    }
}

fn text(said: Said<'_>) -> Option<&str> {
    match said {
        Said::Text(text) => Some(text),
        Said::Nothing | Said::Garbled => None,
    }
}

/// The span of what came in one HTTP request, if that is one request; none if nobody collects them, which is all that this looks at then.
pub(super) fn of_post(body: &[u8], envelope: &Envelope<'_>) -> Option<Span> {
    if !trace::is_wanted() {
        return None;
    }
    let Ok(Incoming::One(Message::Request(request))) = message::parse(body) else { return None };
    Some(of(&request, era::of(&request, envelope.version), &Origin::http(envelope)))
}

/// That of one entry of a batch.
pub(super) fn of_entry(request: &Request<'_>, session: &Session) -> Span {
    if !trace::is_wanted() {
        return Span::none();
    }
    let id = session.id();
    of(request, Era::Legacy, &Origin::default().of_session(&id, session.version()))
}

/// That of a request through a pipe, which has this session if it is a legacy one.
pub(super) fn of_pipe(request: &Request<'_>, era: Era, session: Option<&Session>) -> Option<Span> {
    if !trace::is_wanted() {
        return None;
    }
    let session = session.filter(|_| era == Era::Legacy && request.method != "initialize");
    let id = session.map(Session::id);
    let origin = Origin { transport: Some("pipe"), session: id.as_deref(), version: session.map(Session::version), ..Origin::default() };
    Some(of(request, era, &origin))
}

/// The request at hand is answered with this error.
pub(super) fn failed(code: i32) {
    if trace::is_wanted() {
        let code = code.to_string();
        let span = Span::current();
        span.record("rpc.response.status_code", &*code);
        span.record("error.type", &*code);
        span.record("otel.status_code", "ERROR");
    }
}

/// The tool that is called at hand has failed, and its result says so.
pub(super) fn tool_failed() {
    if trace::is_wanted() {
        tool_failed_in(&Span::current());
    }
}

fn tool_failed_in(span: &Span) {
    span.record("error.type", "tool_error");
    span.record("otel.status_code", "ERROR");
}

/// The work of a call that waits: the span at hand lasts as long.
pub(super) async fn waiting(work: impl Future<Output = ToolResult>, span: Span) -> ToolResult {
    let result = work.instrument(span.clone()).await;
    if result.is_error {
        tool_failed_in(&span);
    }
    result
}

/// The span at hand, if spans are collected.
pub(super) fn at_hand() -> Span {
    if trace::is_wanted() { Span::current() } else { Span::none() }
}

/// What `_meta` says of the trace (SEP-414). `baggage` is passed over: nothing here would have a use for it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Meta<'a> {
    #[serde(borrow)]
    traceparent: Option<&'a RawValue>,
    #[serde(borrow)]
    tracestate: Option<&'a RawValue>,
}

/// Whose trace a request continues, and what it has to do with besides: what `_meta` says goes before what the transport says, which is
/// of a request that may have carried others.
fn lineage(request: &Request<'_>, origin: &Origin<'_>) -> (Option<TraceContext>, Option<String>, Option<TraceContext>) {
    let parse = |text: &str| text.parse::<TraceContext>().ok();
    let meta = request.params().ok().and_then(|params| params.meta).filter(|meta| is_object(meta.get()));
    let meta: Meta<'_> = meta.and_then(|meta| serde_json::from_str(meta.get()).ok()).unwrap_or_default();
    let inside = meta.traceparent.and_then(text_of).and_then(|text| parse(&text));
    let around = origin.around.0.and_then(parse);
    let state = match (inside, around) {
        (Some(_), _) => meta.tracestate.and_then(text_of),
        (None, Some(_)) => origin.around.1.map(Cow::Borrowed),
        (None, None) => None,
    };
    let state = state.filter(|state| is_trace_state(state)).map(Cow::into_owned);
    (inside.or(around), state, around.filter(|around| inside.is_some_and(|inside| inside != *around)))
}

fn of(request: &Request<'_>, era: Era, origin: &Origin<'_>) -> Span {
    let method = &*request.method;
    let params = request.params().ok();
    let raw = |raw: Option<&'_ RawValue>| raw.and_then(text_of).map(Cow::into_owned);
    let uri = match method {
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => params.and_then(|params| raw(params.uri)),
        _ => None,
    };
    let tool = params.filter(|_| method == "tools/call").and_then(|params| raw(params.name));
    let version = match (era, method) {
        (Era::Modern, _) => Some(Cow::Borrowed(MODERN)),
        (_, "initialize") => params.and_then(|params| raw(params.protocol_version)).map(Cow::Owned),
        _ => origin.version.map(Cow::Borrowed),
    };
    let known = METHODS.contains(&method);
    let name = match tool.as_deref().filter(|tool| TOOLS.contains(tool)) {
        Some(tool) => Cow::Owned(format!("{method} {tool}")),
        None => Cow::Borrowed(if known { method } else { "mcp request" }),
    };
    let id = request.id.as_json();
    let session = origin.session.map(|id| blake3::hash(id.as_bytes()).to_hex());
    let (parent, state, link) = lineage(request, origin);
    tracing::info_span!(
        target: TARGET,
        "mcp.request",
        otel.name = &*name,
        otel.kind = "server",
        otel.status_code = Empty,
        trace.parent = parent.map(display),
        trace.state = state,
        trace.link = link.map(display),
        mcp.method.name = capped(method, NAME_CAP),
        mcp.protocol.version = version.as_deref().map(|version| capped(version, NAME_CAP)),
        mcp.session.id = session.as_ref().map(|hash| &hash[..16]),
        mcp.resource.uri = uri.as_deref().map(|uri| capped(uri, URI_CAP)),
        jsonrpc.request.id = capped(id.strip_prefix('"').and_then(|id| id.strip_suffix('"')).unwrap_or(id), NAME_CAP),
        gen_ai.tool.name = tool.as_deref().map(|tool| capped(tool, NAME_CAP)),
        gen_ai.operation.name = tool.as_ref().map(|_| "execute_tool"),
        network.transport = origin.transport,
        client.address = origin.peer.map(display),
        enduser.id = origin.caller.and_then(Caller::name).map(|name| capped(name, NAME_CAP)),
        "error.type" = Empty,
        rpc.response.status_code = Empty,
    )
}
