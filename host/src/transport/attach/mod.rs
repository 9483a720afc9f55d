//! A thin proxy: one client on a pipe, served with what a running host serves over Streamable HTTP.
//!
//! A [`Remote`] is the backend of a [`Pipe`](crate::mcp::pipe::Pipe), which keeps the rules of stdio. It forwards messages as they are, in
//! either era, and adds nothing but what a restart of the host takes away:
//! - The legacy session is initialized again with the client's own message, what was subscribed is subscribed again, and then the client is
//!   told that the lists changed and once of each of its resources.
//! - A listen is begun again, and once it is acknowledged the client is told likewise.
//!
//! Invariants: what cannot be forwarded is answered with -32603 and the kind `unavailable`; a stream is read only while the client reads,
//! so what waits does so at the host, as a set.

mod call;
mod connector;
mod listen;
mod session;
pub mod sse;
mod upstream;

use std::{
    borrow::Cow,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream::BoxStream};
use hyper::{HeaderMap, Method, StatusCode};
use rustls::pki_types::CertificateDer;
use serde::Deserialize;
use serde_json::{json, value::RawValue};

pub use self::{
    call::{RemoteCall, RemoteStream},
    listen::RemoteListen,
    upstream::Away,
};
use self::{
    session::Session,
    upstream::{Answer, Upstream, message},
};
use crate::mcp::{
    encode,
    era::{Era, MODERN},
    error::{INTERNAL_ERROR, RpcError, Status},
    message::{Id, Incoming, Message, Request, parse, text_of},
    pipe::{Backend, Outcome, Work},
};

/// The pause after the first failure to reach the host; each further one doubles it.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest. A host that restarts is back within a second or two.
const LONGEST_PAUSE: Duration = Duration::from_secs(3);
/// What is asked at the start, to know that there is a host.
const DISCOVER: &str = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
/// How long that may take: a host answers it at once, and the client's own handshake waits.
const DISCOVER_TIME: Duration = Duration::from_secs(5);

/// A growing pause between attempts.
struct Pause(Duration);

impl Default for Pause {
    fn default() -> Self {
        Self(FIRST_PAUSE)
    }
}

impl Pause {
    async fn wait(&mut self) {
        tokio::time::sleep(self.0).await;
        self.0 = (self.0 * 2).min(LONGEST_PAUSE);
    }
}

/// A running host, for one client.
pub struct Remote {
    upstream: Arc<Upstream>,
    session: Option<Arc<Session>>,
    notices: Option<BoxStream<'static, Vec<u8>>>,
}

impl Remote {
    /// Attaches to the host whose endpoint is at this URL, such as `http://127.0.0.1:8089/mcp`.
    ///
    /// # Errors
    /// Nothing there answers as a host does.
    pub async fn connect(url: &str) -> Result<Self, Away> {
        Self::connect_with(url, HeaderMap::new(), Vec::new()).await
    }

    /// The same, with these headers in each request, and these authorities trusted besides those of the system.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub async fn connect_with(url: &str, headers: HeaderMap, authorities: Vec<CertificateDer<'static>>) -> Result<Self, Away> {
        let upstream = Arc::new(Upstream::new(url, headers, authorities)?);
        let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "server/discover")];
        let asked = upstream.send(Method::POST, &headers, Bytes::from_static(DISCOVER.as_bytes()));
        let answer = tokio::time::timeout(DISCOVER_TIME, asked).await.unwrap_or_else(|_| {
            Err(Away(format!("the host at {url} took the connection, and has not answered for {} s", DISCOVER_TIME.as_secs())))
        });
        match answer {
            Ok(Answer::Body(StatusCode::OK, ..)) => Ok(Self { upstream, session: None, notices: None }),
            Ok(Answer::Body(status, ..)) => {
                Err(Away(format!("{url} answers {status}, not as a Wharf does: see what `wharf serve` says it serves")))
            }
            Ok(Answer::Events(_)) => Err(Away(format!("{url} answers with a stream, not as a Wharf does"))),
            Err(Away(reason)) => Err(Away(format!("{reason}; start it with `wharf serve`, or leave out --attach to serve without it"))),
        }
    }
}

impl Backend for Remote {
    type Listen = RemoteStream;

    fn has_session(&self) -> bool {
        self.session.is_some()
    }

    fn initialize(&mut self, line: Bytes) -> Work<RemoteStream> {
        let session = Arc::new(Session::new(self.upstream.clone(), line));
        let older = self.session.replace(session.clone());
        self.notices = Some(session.clone().notices().boxed());
        async move {
            if let Some(older) = older {
                older.end().await;
            }
            Outcome::Message(session.open().await.into())
        }
        .boxed()
    }

    fn legacy(&mut self, line: Bytes) -> Work<RemoteStream> {
        let Some(session) = self.session.clone() else { return async { Outcome::Nothing }.boxed() };
        async move {
            let Some(request) = request(&line) else { return Outcome::Nothing };
            session.answer(&request, &line).await
        }
        .boxed()
    }

    fn batch(&mut self, line: Bytes) -> Work<RemoteStream> {
        let Some(session) = self.session.clone() else { return async { Outcome::Nothing }.boxed() };
        async move { session.answer_batch(&line).await.map_or(Outcome::Nothing, |answer| Outcome::Message(answer.into())) }.boxed()
    }

    fn modern(&mut self, line: Bytes) -> Work<RemoteStream> {
        let upstream = self.upstream.clone();
        async move {
            let Some(request) = request(&line) else { return Outcome::Nothing };
            let id = request.id;
            if !is_header(&request.method) {
                return Outcome::Message(encode::error(id, &RpcError::method_not_found(Era::Modern, &request.method)).into());
            }
            let headers = ModernHeaders::of(&request);
            match upstream.send(Method::POST, &headers.list(), line.clone()).await {
                Ok(Answer::Body(status, _, body)) => Outcome::Message(answered(id, status, &body).into()),
                Ok(Answer::Events(events)) if request.method == "subscriptions/listen" => {
                    Outcome::Listening(RemoteStream::Listen(RemoteListen::new(upstream, headers, &line, id, events)))
                }
                Ok(Answer::Events(events)) => Outcome::Listening(RemoteStream::Call(RemoteCall::new(&line, events))),
                Err(away) => Outcome::Message(unavailable(id, &away).into()),
            }
        }
        .boxed()
    }

    fn poll_notice(&mut self, context: &mut Context<'_>) -> Poll<Vec<u8>> {
        match self.notices.as_mut().map(|notices| notices.poll_next_unpin(context)) {
            Some(Poll::Ready(Some(notice))) => Poll::Ready(notice),
            _ => Poll::Pending,
        }
    }

    fn end(&mut self) -> Work<RemoteStream> {
        self.notices = None;
        let session = self.session.take();
        async move {
            if let Some(session) = session {
                session.end().await;
            }
            Outcome::Nothing
        }
        .boxed()
    }
}

/// What Streamable HTTP repeats of a modern message (2026-07-28, "Standard Request Headers").
struct ModernHeaders {
    version: String,
    method: String,
    name: Option<String>,
}

impl ModernHeaders {
    fn of(request: &Request<'_>) -> Self {
        let version = request.meta().and_then(|meta| meta.protocol_version).and_then(text_of).filter(|version| is_header(version));
        let named = request.params().ok().and_then(|params| match &*request.method {
            "resources/read" => params.uri,
            "tools/call" | "prompts/get" => params.name,
            _ => None,
        });
        Self {
            version: version.map_or_else(|| MODERN.to_owned(), Cow::into_owned),
            method: request.method.clone().into_owned(),
            name: named.and_then(text_of).map(header_text),
        }
    }

    fn list(&self) -> Vec<(&'static str, &str)> {
        let mut list = vec![("mcp-protocol-version", &*self.version), ("mcp-method", &*self.method)];
        list.extend(self.name.as_deref().map(|name| ("mcp-name", name)));
        list
    }
}

fn is_header(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// As a header's value; what no header may carry as base64.
fn header_text(text: Cow<'_, str>) -> String {
    if is_header(&text) && !text.starts_with("=?base64?") { text.into_owned() } else { format!("=?base64?{}?=", STANDARD.encode(&*text)) }
}

/// The request in a line that is known to hold one.
fn request(line: &[u8]) -> Option<Request<'_>> {
    match parse(line) {
        Ok(Incoming::One(Message::Request(request))) => Some(request),
        _ => None,
    }
}

/// What the host answered, as an answer to this request.
fn answered(id: Id<'_>, status: StatusCode, body: &[u8]) -> Vec<u8> {
    #[derive(Deserialize)]
    struct Answered<'a> {
        #[serde(borrow)]
        id: Option<&'a RawValue>,
        #[serde(borrow)]
        error: Option<&'a RawValue>,
    }
    let answer = match serde_json::from_slice::<Answered<'_>>(body) {
        Ok(Answered { id: Some(own), .. }) if own.get() == id.as_json() => message(body),
        // What is refused before it is read is refused without an id.
        Ok(Answered { error: Some(error), .. }) => {
            message(format!(r#"{{"jsonrpc":"2.0","id":{},"error":{}}}"#, id.as_json(), error.get()).as_bytes())
        }
        _ => None,
    };
    answer.unwrap_or_else(|| not_understood(id, status))
}

fn not_understood(id: Id<'_>, status: StatusCode) -> Vec<u8> {
    unavailable(id, &Away(format!("the host answers {status}, and no message for this request")))
}

fn unavailable(id: Id<'_>, away: &Away) -> Vec<u8> {
    let message = format!("{away}: try again later").into();
    encode::error(id, &RpcError { code: INTERNAL_ERROR, message, data: Some(json!({ "kind": "unavailable" })), status: Status::Ok })
}
