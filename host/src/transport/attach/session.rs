//! The client's legacy session at the host, which may lose it.
//!
//! Invariants: a session is renewed once however many requests find it lost; it counts as renewed only once everything the client had
//! subscribed is subscribed again; what was missed meanwhile is told afterwards, once for each resource.

use std::{collections::VecDeque, sync::Arc};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use hyper::{Method, StatusCode};
use indexmap::IndexSet;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::{Notify, watch};

use super::{
    Pause, answered,
    call::{RemoteCall, RemoteStream},
    not_understood, request, unavailable,
    upstream::{Answer, Away, Events, Upstream, message},
};
use crate::{
    mcp::{
        encode,
        error::RpcError,
        message::{Id, Incoming, Message, Params, Request, parse, parse_one},
        pipe::Outcome,
    },
    subscriptions::Notice,
};

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
/// Resources that are subscribed again at a time.
const SUBSCRIBES: usize = 16;

/// A session as the host knows it.
#[derive(Clone)]
struct Opened {
    id: String,
    version: String,
    /// How many there were before.
    number: u64,
}

enum State {
    Opening,
    /// The host did not want it.
    Failed,
    Open(Opened),
}

/// A session as the client knows it.
pub(super) struct Session {
    upstream: Arc<Upstream>,
    /// The client's message, to be sent again.
    initialize: Bytes,
    state: watch::Sender<State>,
    subscribed: Mutex<IndexSet<Box<str>>>,
    renewing: tokio::sync::Mutex<()>,
    news: Mutex<VecDeque<Notice>>,
    told: Notify,
}

impl Session {
    pub(super) fn new(upstream: Arc<Upstream>, initialize: Bytes) -> Self {
        Self {
            upstream,
            initialize,
            state: watch::Sender::new(State::Opening),
            subscribed: Mutex::default(),
            renewing: tokio::sync::Mutex::default(),
            news: Mutex::default(),
            told: Notify::new(),
        }
    }

    /// Opens it; gives the answer to the client's `initialize`.
    pub(super) async fn open(&self) -> Vec<u8> {
        let id = request(&self.initialize).map_or(Id::NULL, |request| request.id);
        let (answer, state) = match self.begin(0).await {
            Ok((Some(opened), _, body)) => (answered(id, StatusCode::OK, &body), State::Open(opened)),
            Ok((None, status, body)) => (answered(id, status, &body), State::Failed),
            Err(away) => (unavailable(id, &away), State::Failed),
        };
        self.state.send_replace(state);
        answer
    }

    /// `initialize`, and where that succeeds `notifications/initialized`.
    async fn begin(&self, number: u64) -> Result<(Option<Opened>, StatusCode, Bytes), Away> {
        #[derive(Deserialize)]
        struct Answered {
            result: Initialized,
        }
        #[derive(Deserialize)]
        struct Initialized {
            #[serde(rename = "protocolVersion")]
            version: String,
        }
        let Answer::Body(status, id, body) = self.upstream.send(Method::POST, &[], self.initialize.clone()).await? else {
            return Err(Away("the host answers initialize with a stream".into()));
        };
        let id = id.as_ref().and_then(|id| id.to_str().ok());
        let (Some(id), Ok(Answered { result })) = (id, serde_json::from_slice(&body)) else { return Ok((None, status, body)) };
        let opened = Opened { id: id.into(), version: result.version, number };
        self.post(&opened, Bytes::from_static(INITIALIZED.as_bytes())).await?;
        Ok((Some(opened), status, body))
    }

    /// The session as it is now; none if the host did not want it.
    async fn opened(&self) -> Option<Opened> {
        let mut state = self.state.subscribe();
        let state = state.wait_for(|state| !matches!(state, State::Opening)).await.ok()?;
        match &*state {
            State::Open(opened) => Some(opened.clone()),
            State::Opening | State::Failed => None,
        }
    }

    async fn send(&self, opened: &Opened, body: Bytes) -> Result<Answer, Away> {
        let headers = [("mcp-session-id", &*opened.id), ("mcp-protocol-version", &*opened.version)];
        self.upstream.send(Method::POST, &headers, body).await
    }

    /// Sends what is not answered with a stream.
    async fn post(&self, opened: &Opened, body: Bytes) -> Result<(StatusCode, Bytes), Away> {
        body_of(self.send(opened, body).await?)
    }

    /// Sends a message, in a new session if this one is lost. None if there is no session.
    async fn forward(&self, line: &Bytes) -> Option<Result<Answer, Away>> {
        let opened = self.opened().await?;
        match self.send(&opened, line.clone()).await {
            Ok(Answer::Body(StatusCode::NOT_FOUND, ..)) => {}
            answer => return Some(answer),
        }
        if let Err(away) = self.renew(&opened).await {
            return Some(Err(away));
        }
        let opened = self.opened().await?;
        Some(self.send(&opened, line.clone()).await)
    }

    /// The answer to a request.
    pub(super) async fn answer(&self, request: &Request<'_>, line: &Bytes) -> Outcome<RemoteStream> {
        Outcome::Message(
            match self.forward(line).await {
                Some(Ok(Answer::Events(events))) => return Outcome::Listening(RemoteStream::Call(RemoteCall::new(line, events))),
                Some(Ok(Answer::Body(status, _, body))) => {
                    let answer = answered(request.id, status, &body);
                    if succeeded(&answer) {
                        self.note(request);
                    }
                    answer
                }
                Some(Err(away)) => unavailable(request.id, &away),
                None => encode::error(request.id, &RpcError::invalid_request("initialize first")),
            }
            .into(),
        )
    }

    /// The answer to a batch, if it wants one.
    pub(super) async fn answer_batch(&self, line: &Bytes) -> Option<Vec<u8>> {
        match self.forward(line).await.map(|answer| answer.and_then(body_of)) {
            Some(Ok((StatusCode::ACCEPTED, _))) => None,
            Some(Ok((StatusCode::OK, body))) => {
                if let Ok(Incoming::Batch(entries)) = parse(line) {
                    for entry in entries {
                        // What the host refused of these it refuses again.
                        if let Ok(Message::Request(request)) = parse_one(entry.get()) {
                            self.note(&request);
                        }
                    }
                }
                Some(message(&body).unwrap_or_else(|| not_understood(Id::NULL, StatusCode::OK)))
            }
            Some(Ok((status, body))) => Some(answered(Id::NULL, status, &body)),
            Some(Err(away)) => Some(unavailable(Id::NULL, &away)),
            None => Some(encode::error(Id::NULL, &RpcError::invalid_request("initialize first"))),
        }
    }

    /// Remembers what is subscribed.
    fn note(&self, request: &Request<'_>) {
        let uri = request.params().ok().and_then(|params| Params::text("uri", params.uri).ok());
        match (&*request.method, uri) {
            ("resources/subscribe", Some(uri)) => drop(self.subscribed.lock().insert((*uri).into())),
            ("resources/unsubscribe", Some(uri)) => drop(self.subscribed.lock().shift_remove(&*uri)),
            _ => {}
        }
    }

    /// Begins the session anew, unless that was done since.
    async fn renew(&self, lost: &Opened) -> Result<(), Away> {
        let _turn = self.renewing.lock().await;
        if self.opened().await.is_none_or(|opened| opened.number != lost.number) {
            return Ok(());
        }
        let (Some(opened), ..) = self.begin(lost.number + 1).await? else {
            return Err(Away("the host came back and refuses the session".into()));
        };
        let uris = self.subscribed.lock().clone();
        let subscribes: Vec<_> = uris.iter().map(|uri| self.subscribe(&opened, uri)).collect();
        let mut subscribed = stream::iter(subscribes).buffer_unordered(SUBSCRIBES);
        while let Some(subscribed) = subscribed.next().await {
            subscribed?;
        }
        tracing::info!(subscriptions = uris.len(), "the host had lost the session; it is initialized again");
        let updated = uris.iter().map(|uri| Notice::Updated((**uri).into()));
        *self.news.lock() = std::iter::once(Notice::ListChanged).chain(updated).collect();
        drop(subscribed);
        self.state.send_replace(State::Open(opened));
        self.told.notify_one();
        Ok(())
    }

    async fn subscribe(&self, opened: &Opened, uri: &str) -> Result<(), Away> {
        let message = json!({ "jsonrpc": "2.0", "id": 0, "method": "resources/subscribe", "params": { "uri": uri } });
        let (status, body) = self.post(opened, message.to_string().into()).await?;
        if status != StatusCode::OK {
            return Err(Away(format!("the host answers {status}")));
        }
        if !succeeded(&body) {
            tracing::warn!(uri, answer = %String::from_utf8_lossy(&body), "could not be subscribed again");
        }
        Ok(())
    }

    /// Ends it at the host.
    pub(super) async fn end(&self) {
        let opened = match &*self.state.borrow() {
            State::Open(opened) => opened.clone(),
            State::Opening | State::Failed => return,
        };
        let headers = [("mcp-session-id", &*opened.id), ("mcp-protocol-version", &*opened.version)];
        // A host that is away has ended it already.
        let _ = self.upstream.send(Method::DELETE, &headers, Bytes::new()).await;
    }

    /// Its notifications. The stream never ends.
    pub(super) fn notices(self: Arc<Self>) -> impl Stream<Item = Vec<u8>> + Send {
        let notices = Notices { session: self, events: None, number: 0, last: None, lost: false, pause: Pause::default() };
        stream::unfold(notices, |mut notices| async {
            let next = notices.next().await;
            Some((next, notices))
        })
    }

    async fn events(&self, opened: &Opened, last: Option<&str>) -> Result<Result<Events, StatusCode>, Away> {
        let mut headers = vec![("mcp-session-id", &*opened.id), ("mcp-protocol-version", &*opened.version)];
        headers.extend(last.map(|last| ("last-event-id", last)));
        Ok(match self.upstream.send(Method::GET, &headers, Bytes::new()).await? {
            Answer::Events(events) => Ok(events),
            Answer::Body(status, ..) => Err(status),
        })
    }
}

fn body_of(answer: Answer) -> Result<(StatusCode, Bytes), Away> {
    match answer {
        Answer::Body(status, _, body) => Ok((status, body)),
        Answer::Events(_) => Err(Away("the host answers with a stream".into())),
    }
}

/// Whether an answer has a result.
fn succeeded(answer: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Answered {
        #[serde(rename = "result")]
        _result: serde::de::IgnoredAny,
    }
    serde_json::from_slice::<Answered>(answer).is_ok()
}

struct Notices {
    session: Arc<Session>,
    events: Option<Events>,
    /// Which session `last` is of.
    number: u64,
    last: Option<String>,
    /// It was lost, and no stream of it has begun since.
    lost: bool,
    pause: Pause,
}

impl Notices {
    async fn next(&mut self) -> Vec<u8> {
        loop {
            let news = self.session.news.lock().pop_front();
            if let Some(notice) = news {
                return encode::notice(&notice, None);
            }
            let Some(events) = &mut self.events else {
                self.reopen().await;
                continue;
            };
            let event = tokio::select! {
                event = events.next() => event,
                () = self.session.told.notified() => continue,
            };
            match event {
                Some(event) => {
                    self.pause = Pause::default();
                    self.last = event.id.or(self.last.take());
                    if let Some(message) = message(&event.data) {
                        return message;
                    }
                }
                None => {
                    self.events = None;
                    self.wait().await;
                }
            }
        }
    }

    async fn reopen(&mut self) {
        let Some(opened) = self.session.opened().await else { return std::future::pending().await };
        if self.number != opened.number {
            (self.number, self.last) = (opened.number, None);
        }
        match self.session.events(&opened, self.last.as_deref()).await {
            Ok(Ok(events)) => (self.events, self.lost) = (Some(events), false),
            Ok(Err(StatusCode::NOT_FOUND)) => {
                // One that loses every session at once must not be asked for the next without end.
                if std::mem::replace(&mut self.lost, true) {
                    self.pause.wait().await;
                }
                if self.session.renew(&opened).await.is_err() {
                    self.wait().await;
                }
            }
            Ok(Err(_)) | Err(_) => self.wait().await,
        }
    }

    async fn wait(&mut self) {
        let session = self.session.clone();
        tokio::select! {
            () = self.pause.wait() => {}
            () = session.told.notified() => {}
        }
    }
}
