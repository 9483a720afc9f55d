//! Streamable HTTP (MCP 2025-03-26 … 2026-07-28, "Transports"): one path, POST for messages, GET for a legacy session's stream, DELETE
//! for its end.
//!
//! Invariants: no request reaches the protocol before its Origin and Host were checked, and who sent it, where that has to be proven; a plain answer is `application/json`, and only what
//! streams is `text/event-stream`; a client that hangs up drops what waits for it, and nothing else.

mod accept;
mod body;
mod credentials;
mod fields;
mod guard;
mod hooks;
mod page;
mod patient;
mod pieces;
mod requests;
mod sse;
mod timer;
mod tls;

use std::{
    convert::Infallible,
    fmt,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    task::{Context, Poll},
};

use axum::{
    Router,
    body::{Body, Bytes, HttpBody},
    http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header},
};
use futures_util::future::BoxFuture;
use tower_service::Service;

pub use self::{
    accept::{Handshake, Limits, Plain, Served, serve, serve_each},
    body::BODY_CAP,
    hooks::{Hook, HookAnswer, Hooks, PREFIX as HOOKS_PREFIX},
    page::Pages,
    requests::Requests,
    tls::{Tls, TlsError},
};
pub(crate) use self::{credentials::challenged, guard::Guard, page::is_asked};
use self::{
    fields::{accepts, is_json, is_plain, joined, said},
    hooks::Desk,
    sse::Sse,
};
use crate::{
    auth::Authority,
    catalog::Caller,
    mcp::{
        Envelope, Reply, Server,
        encode::{Encoded, error as error_message},
        era::Said,
        error::{RpcError, Status},
        message::Id,
    },
    trace,
};

/// The path of the endpoint.
pub const PATH: &str = "/mcp";

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACE_STATE: HeaderName = HeaderName::from_static("tracestate");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const ALLOWED_METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE, OPTIONS");

/// Who may speak to the endpoint.
#[derive(Debug, Clone, Default)]
pub struct HttpSettings {
    /// The address listened on. On a loopback address only local names are taken as Host.
    pub bind: Option<SocketAddr>,
    /// Origins allowed besides the local ones, as browsers send them: `https://app.example.com`, with the port if it is not the usual one.
    pub allowed_origins: Vec<String>,
    /// Hosts allowed besides the local ones: `wharf.example.com` for any port, or `wharf.example.com:8089`.
    pub allowed_hosts: Vec<String>,
}

struct Endpoint {
    server: Arc<Server>,
    guard: Arc<Guard>,
}

/// The endpoint, at [`PATH`], for an axum application of your own.
pub fn router(server: Arc<Server>, settings: HttpSettings) -> Router {
    Router::new().route_service(PATH, service(server, settings))
}

/// The endpoint, at [`PATH`], and nothing else: what [`router`] gives, without what axum's routing costs.
pub fn service(server: Arc<Server>, settings: HttpSettings) -> McpService {
    McpService {
        endpoint: Arc::new(Endpoint { server, guard: Guard::new(settings).into() }),
        desk: None,
        pages: None,
        requests: None,
        authority: None,
        peer: None,
        second_path: None,
    }
}

/// See [`service`].
#[derive(Clone)]
pub struct McpService {
    endpoint: Arc<Endpoint>,
    desk: Option<Arc<Desk>>,
    pages: Option<Arc<dyn Pages>>,
    requests: Option<Arc<Requests>>,
    authority: Option<Arc<Authority>>,
    peer: Option<IpAddr>,
    second_path: Option<Arc<str>>,
}

impl McpService {
    /// The same, for clients from this address: an observer is told so.
    #[must_use]
    pub fn from_peer(mut self, peer: IpAddr) -> Self {
        self.peer = Some(peer);
        self
    }

    /// The same, and webhooks at [`HOOKS_PREFIX`], which these take.
    #[must_use]
    pub fn with_hooks(mut self, hooks: Arc<dyn Hooks>) -> Self {
        self.desk = Some(Arc::new(Desk::new(hooks)));
        self
    }

    /// The same, and these pages, for programs of this machine.
    #[must_use]
    pub fn with_pages(mut self, pages: Arc<dyn Pages>) -> Self {
        self.pages = Some(pages);
        self
    }

    /// The same, for those only whom this lets in. Webhooks are not its business: they have signatures.
    #[must_use]
    pub fn with_authority(mut self, authority: Option<Arc<Authority>>) -> Self {
        self.authority = authority;
        self
    }

    /// The same, with its answers counted.
    #[must_use]
    pub fn counted(mut self, requests: Arc<Requests>) -> Self {
        self.requests = Some(requests);
        self
    }

    /// The same, also at this path, which begins with a slash.
    #[must_use]
    pub fn also_at(mut self, path: &str) -> Self {
        self.second_path = Some(path.into());
        self
    }
}

impl<B> Service<Request<B>> for McpService
where
    B: HttpBody<Data = Bytes, Error: fmt::Display> + Send + Unpin + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let path = request.uri().path();
        let here = path == PATH || self.second_path.as_deref() == Some(path);
        let (requests, peer) = (self.requests.clone(), self.peer);
        let counted = move |response: Response<Body>| {
            requests.inspect(|requests| requests.count(response.status()));
            Ok(response)
        };
        if let Some(desk) = self.desk.clone().filter(|_| !here && path.starts_with(HOOKS_PREFIX)) {
            let guard = self.endpoint.guard.clone();
            return Box::pin(async move { counted(desk.handle(&guard, request).await) });
        }
        if let Some(pages) = self.pages.as_ref().filter(|pages| !here && pages.has(path)) {
            if let Err(refusal) = page::check(&self.endpoint.guard, &request, peer) {
                return Box::pin(async move { counted(refusal) });
            }
            let page = pages.page(path, request.uri().query());
            let authority = self.authority.clone().filter(|_| !pages.is_open(path));
            return Box::pin(async move {
                counted(match credentials::of_operator(authority.as_deref(), request.headers()).await {
                    Ok(()) => page.await,
                    Err(refusal) => refusal,
                })
            });
        }
        if let Some(metadata) = self.authority.as_ref().filter(|_| !here).and_then(|authority| authority.metadata(path)) {
            let metadata = credentials::metadata(&self.endpoint.guard, &request, metadata);
            return Box::pin(async move { counted(metadata) });
        }
        let (endpoint, authority) = (self.endpoint.clone(), self.authority.clone());
        Box::pin(async move {
            counted(if here { handle(&endpoint, authority.as_deref(), request, peer).await } else { empty(StatusCode::NOT_FOUND) })
        })
    }
}

async fn handle<B>(endpoint: &Endpoint, authority: Option<&Authority>, request: Request<B>, peer: Option<IpAddr>) -> Response<Body>
where
    B: HttpBody<Data = Bytes, Error: fmt::Display> + Unpin,
{
    let origin = match endpoint.guard.check(&request) {
        Ok(origin) => origin,
        Err((status, reason)) => return refuse(status, &RpcError::invalid_request(reason)),
    };
    // A preflight has no credentials (Fetch, "CORS-preflight fetch").
    let caller =
        if *request.method() == Method::OPTIONS { Ok(Caller::anyone()) } else { credentials::of(authority, request.headers()).await };
    let mut response = match (caller, request.method()) {
        (Err(refusal), _) => refusal,
        (Ok(caller), &Method::POST) => post(&endpoint.server, request, &caller, peer).await,
        (Ok(caller), &Method::GET) => get(&endpoint.server, request.headers(), &caller),
        (Ok(caller), &Method::DELETE) => delete(&endpoint.server, request.headers(), &caller),
        (Ok(_), &Method::OPTIONS) => with(StatusCode::NO_CONTENT, header::ALLOW, ALLOWED_METHODS),
        (Ok(_), _) => method_not_allowed("POST messages here"),
    };
    if let Some(origin) = origin {
        guard::allow(response.headers_mut(), origin);
    }
    response
}

async fn post<B>(server: &Server, request: Request<B>, caller: &Caller, peer: Option<IpAddr>) -> Response<Body>
where
    B: HttpBody<Data = Bytes, Error: fmt::Display> + Unpin,
{
    let (parts, body) = request.into_parts();
    let headers = &parts.headers;
    if !is_json(headers) {
        let error = RpcError::invalid_request("Content-Type must be application/json");
        return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, &error);
    }
    if !is_plain(headers) {
        let error = RpcError::invalid_request("Content-Encoding is not taken: send the body uncompressed");
        let mut response = refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, &error);
        // RFC 9110 §12.5.3: what would be.
        response.headers_mut().insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        return response;
    }
    if !accepts(headers, &["application/json", "text/event-stream"]) {
        let error = RpcError::invalid_request("Accept must have application/json and text/event-stream");
        return refuse(StatusCode::NOT_ACCEPTABLE, &error);
    }
    let body = match body::read(headers, body).await {
        Ok(body) => body,
        Err((status, error)) => {
            let mut response = refuse(status, &error);
            // What is left of the body would be taken for the next request.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            return response;
        }
    };
    // More of these are one, in order (W3C Trace Context §3.3.1.1, RFC 9110 §5.2).
    let state = trace::is_wanted().then(|| joined(headers, &TRACE_STATE)).flatten();
    let traceparent = if trace::is_wanted() { said(headers, &TRACE_PARENT) } else { Said::Nothing };
    let tracestate = state.as_deref().map_or(Said::Nothing, Said::Text);
    match server.post(&body, &Envelope { peer, caller, traceparent, tracestate, ..envelope(headers) }).await {
        Reply::Message(status, message) => json(code(status), message),
        Reply::Session(id, message) => {
            let mut response = json(StatusCode::OK, message.into());
            if let Ok(id) = HeaderValue::try_from(id) {
                response.headers_mut().insert(SESSION_ID, id);
            }
            response
        }
        Reply::Accepted => empty(StatusCode::ACCEPTED),
        Reply::Listening(stream) => event_stream(stream),
        Reply::Calling(stream) if accepts(headers, &["text/event-stream"]) => event_stream(stream),
        Reply::Calling(stream) => {
            stream.answer().await.map_or_else(|| empty(StatusCode::ACCEPTED), |answer| json(StatusCode::OK, answer.into()))
        }
    }
}

/// Opens a legacy session's stream. The modern era has none.
fn get(server: &Server, headers: &HeaderMap, caller: &Caller) -> Response<Body> {
    let envelope = Envelope { caller, ..envelope(headers) };
    if envelope.version.is_modern_version() {
        return method_not_allowed("2026-07-28 has no GET: POST subscriptions/listen");
    }
    let last_event_id = match said(headers, &LAST_EVENT_ID) {
        Said::Text(id) => Some(id),
        Said::Nothing | Said::Garbled => None,
    };
    if !accepts(headers, &["text/event-stream"]) {
        return refuse(StatusCode::NOT_ACCEPTABLE, &RpcError::invalid_request("Accept must have text/event-stream"));
    }
    match server.stream(&envelope, last_event_id) {
        Ok(stream) => event_stream(stream),
        Err((status, message)) => json(code(status), message.into()),
    }
}

/// Ends a legacy session. The modern era has none.
fn delete(server: &Server, headers: &HeaderMap, caller: &Caller) -> Response<Body> {
    let envelope = Envelope { caller, ..envelope(headers) };
    if envelope.version.is_modern_version() {
        return method_not_allowed("2026-07-28 has no sessions to DELETE");
    }
    match server.end_session(&envelope) {
        Ok(()) => empty(StatusCode::NO_CONTENT),
        Err((status, message)) => json(code(status), message.into()),
    }
}

fn code(status: Status) -> StatusCode {
    match status {
        Status::Ok => StatusCode::OK,
        Status::Malformed => StatusCode::BAD_REQUEST,
        Status::Missing => StatusCode::NOT_FOUND,
        Status::Full => StatusCode::SERVICE_UNAVAILABLE,
    }
}

fn envelope(headers: &HeaderMap) -> Envelope<'_> {
    Envelope {
        version: said(headers, &PROTOCOL_VERSION),
        session: said(headers, &SESSION_ID),
        method: said(headers, &METHOD),
        name: said(headers, &NAME),
        ..Envelope::default()
    }
}

fn event_stream<S>(stream: S) -> Response<Body>
where
    S: futures_util::Stream<Item = crate::mcp::Event> + Send + Unpin + 'static,
{
    let mut response = Response::new(Body::new(Sse::new(stream)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    // A proxy that compresses would hold events back until it has enough of them, and one that buffers until its buffer is full.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

fn json(status: StatusCode, message: Encoded) -> Response<Body> {
    let mut response = Response::new(pieces::body(message));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

fn refuse(status: StatusCode, error: &RpcError) -> Response<Body> {
    json(status, error_message(Id::NULL, error).into())
}

fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

fn with(status: StatusCode, name: HeaderName, value: HeaderValue) -> Response<Body> {
    let mut response = empty(status);
    response.headers_mut().insert(name, value);
    response
}

fn method_not_allowed(instead: &str) -> Response<Body> {
    let mut response = refuse(StatusCode::METHOD_NOT_ALLOWED, &RpcError::invalid_request(instead));
    response.headers_mut().insert(header::ALLOW, ALLOWED_METHODS);
    response
}

#[cfg(test)]
mod tests;
