//! `tools/list` and `tools/call`: the frame around [`crate::tools`], which knows what the tools do.
//!
//! Invariants: without tools the list is empty and every name is unknown; a call that waits is answered on a stream, which holds nothing
//! of the request but its id and its progress token, and has its answer as the last message; one that is cancelled has none.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use base64::{display::Base64Display, engine::general_purpose::STANDARD};
use futures_util::{
    FutureExt, Stream, StreamExt,
    future::{Abortable, BoxFuture},
};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::json;
use tokio::{
    sync::{Notify, watch},
    time::{Instant, Interval, MissedTickBehavior},
};

use super::{
    Cache, Event, Reply, Server,
    cancelling::Registered,
    encode::{Answer, Each, Encoded},
    era::Era,
    error::RpcError,
    message::{ID_CAP, Params, Request},
    observe::{Connection, Observer},
    resources,
    sessions::Session,
    spans,
};
use crate::{
    catalog::Caller,
    tools::{Content, Link, Outcome, ToolResult, Waiting},
};

/// How often a call that waits says so: well within the 30 s after which the first clients give up on one that is silent.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);

/// `tools/list`: one page.
pub fn list(server: &Server, era: Era, request: &Request<'_>) -> Result<Encoded, RpcError> {
    let Some((_, definitions)) = &server.tools else { return resources::nothing(server, era, request, "tools") };
    if Params::optional_text("cursor", request.params()?.cursor)?.is_some() {
        return Err(crate::catalog::CursorError.into());
    }
    let mut answer = server.begin(era, request.id, definitions.len());
    answer.raw("tools", definitions.as_bytes());
    Ok(server.finish(era, answer, Some(Cache::private(Duration::ZERO))))
}

/// `tools/call`, in a session if it is of one. The reply may be a stream.
pub async fn call(server: &Server, era: Era, request: &Request<'_>, caller: &Caller, session: Option<&Arc<Session>>) -> Reply {
    // Before anything is waited for, so that whenever it is cancelled something hears of it.
    let registered = session.map(|session| session.waiting().register(request.id));
    let begun = match session {
        // There is nothing to say to one that was cancelled.
        Some(session) => match session.waiting().wait(request.id, begin(server, request, caller)).await {
            Some(begun) => begun,
            None => return Reply::Accepted,
        },
        None => begin(server, request, caller).await,
    };
    match begun {
        Ok(Outcome::Done(result)) => {
            Reply::of(request.id, write(era, request.id.as_json(), &server.texts.server, &result).map(Encoded::from))
        }
        Ok(Outcome::Waiting(waiting)) => {
            let over = session.map_or_else(|| server.callers.over(caller), |session| session.over());
            Reply::Calling(CallStream::new(server, era, request, waiting, (session, over), registered))
        }
        Err(error) => Reply::error(request.id, &error),
    }
}

/// `tools/call` where no stream can be: waits to the end.
pub async fn answer(server: &Server, era: Era, request: &Request<'_>, session: &Arc<Session>) -> Result<Encoded, RpcError> {
    let result = match begin(server, request, session.caller()).await? {
        Outcome::Done(result) => result,
        Outcome::Waiting(waiting) => waiting.run(stopped(server.stop.subscribe(), session.over(), Arc::default())).await,
    };
    write(era, request.id.as_json(), &server.texts.server, &result).map(Encoded::from)
}

async fn begin(server: &Server, request: &Request<'_>, caller: &Caller) -> Result<Outcome, RpcError> {
    let Some((tools, _)) = &server.tools else { return Err(resources::unknown(request, "tool")) };
    let params = request.params()?;
    let name = Params::text("name", params.name)?;
    tools.call(caller, &name, params.arguments).await.map_err(|error| RpcError::invalid_params(format!("`name`: {error}")))
}

/// Resolves when a wait has to end with what there is: the host stops, the session or the caller is over, or the transport ends it.
async fn stopped(mut host: watch::Receiver<bool>, mut over: watch::Receiver<bool>, end: Arc<Notify>) {
    // A sender that is gone counts as well.
    let host = async move { drop(host.wait_for(|stop| *stop).await) };
    let over = async move { drop(over.wait_for(|over| *over).await) };
    tokio::select! {
        () = host => {}
        () = over => {}
        () = end.notified() => {}
    }
}

/// What the client wants its progress notifications to say.
struct Progress {
    /// Its token, as JSON.
    token: Box<str>,
    /// Seconds.
    total: f64,
    message: String,
}

/// The messages of one call that waits.
pub struct CallStream {
    work: Option<Abortable<BoxFuture<'static, ToolResult>>>,
    era: Era,
    /// The request's id, as JSON.
    id: Box<str>,
    /// Of the result's `_meta`.
    server: Arc<str>,
    progress: Option<Progress>,
    began: Instant,
    ticks: Interval,
    session: Option<Arc<Session>>,
    _registered: Option<Registered>,
    end: Arc<Notify>,
    observed: Option<(Arc<dyn Observer>, Connection)>,
}

impl CallStream {
    fn new(
        server: &Server,
        era: Era,
        request: &Request<'_>,
        waiting: Waiting,
        (session, over): (Option<&Arc<Session>>, watch::Receiver<bool>),
        registered: Option<(Registered, futures_util::future::AbortRegistration)>,
    ) -> Self {
        let token = request.meta().and_then(|meta| meta.progress_token).map(|token| token.get());
        // MCP, Progress: a string or a whole number.
        let token = token.filter(|token| {
            token.len() <= ID_CAP && token.starts_with(|first: char| first == '"' || first == '-' || first.is_ascii_digit())
        });
        let progress = token.map(|token| Progress {
            token: token.into(),
            total: waiting.timeout().as_secs_f64(),
            message: match waiting.count() {
                1 => "waiting for 1 resource to change".into(),
                count => format!("waiting for one of {count} resources to change"),
            },
        });
        let end = Arc::new(Notify::new());
        let stop = stopped(server.stop.subscribe(), over, end.clone());
        let (registered, registration) = match registered {
            Some((registered, registration)) => (Some(registered), registration),
            // Nothing cancels it but dropping it.
            None => (None, futures_util::future::AbortHandle::new_pair().1),
        };
        let began = Instant::now();
        let mut ticks = tokio::time::interval_at(began + PROGRESS_EVERY, PROGRESS_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            work: Some(Abortable::new(spans::waiting(waiting.run(stop), spans::at_hand()).boxed(), registration)),
            era,
            id: request.id.as_json().into(),
            server: server.texts.server.clone(),
            progress,
            began,
            ticks,
            session: session.cloned(),
            _registered: registered,
            end,
            observed: None,
        }
    }

    /// The same, with what it sends seen by this.
    pub(super) fn observed(mut self, observer: Arc<dyn Observer>, connection: Connection) -> Self {
        self.observed = Some((observer, connection));
        self
    }

    /// From now on as if the host stopped: the answer comes, with what there is.
    pub fn end(&mut self) {
        self.end.notify_one();
    }

    /// The answer alone, for a client that takes no stream; none if it was cancelled.
    pub async fn answer(mut self) -> Option<Vec<u8>> {
        // It would not be sent, so nobody is to see it as sent.
        self.progress = None;
        let mut last = None;
        while let Some(event) = self.next().await {
            last = self.work.is_none().then_some(event.message);
        }
        last
    }

    fn told(&self) -> Option<Vec<u8>> {
        let Progress { token, total, message } = self.progress.as_ref()?;
        let progress = self.began.elapsed().as_secs();
        let params = json!({ "progress": progress, "total": total, "message": message }).to_string();
        let params = params.strip_prefix('{').unwrap_or_default();
        Some(
            format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{{\"progressToken\":{token},{params}}}")
                .into_bytes(),
        )
    }
}

impl Stream for CallStream {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let next = self.poll_message(context);
        if let (Poll::Ready(Some(message)), Some((observer, connection))) = (&next, &self.observed) {
            observer.sent(connection, message);
        }
        next.map(|next| next.map(|message| Event { id: None, message }))
    }
}

impl CallStream {
    fn poll_message(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        let this = self;
        let Some(work) = &mut this.work else { return Poll::Ready(None) };
        if let Poll::Ready(result) = work.poll_unpin(context) {
            this.work = None;
            let answer = result.ok().map(|result| {
                write(this.era, &this.id, &this.server, &result).unwrap_or_else(|_| {
                    format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{{\"code\":-32603,\"message\":\"Internal error\"}}}}", this.id)
                        .into_bytes()
                })
            });
            return Poll::Ready(answer);
        }
        while this.ticks.poll_tick(context).is_ready() {
            // A session that waits is no session that idles.
            if let Some(session) = &this.session {
                session.touch();
            }
            if let Some(message) = this.told() {
                return Poll::Ready(Some(message));
            }
        }
        Poll::Pending
    }
}

fn write(era: Era, id: &str, server: &str, result: &ToolResult) -> Result<Vec<u8>, RpcError> {
    let ToolResult { content, structured, is_error } = result;
    let mut answer = Answer::begin_json(id, content.iter().map(weight).sum());
    if era == Era::Modern {
        answer.fields("\"resultType\":\"complete\"");
    }
    answer.field("content", &Each(|| content.iter().map(ContentJson)))?;
    if let Some(structured) = structured {
        answer.field("structuredContent", structured)?;
    }
    if *is_error {
        spans::tool_failed();
        answer.fields("\"isError\":true");
    }
    if era == Era::Modern {
        answer.object("_meta", server);
    }
    Ok(answer.finish())
}

/// Bytes of JSON it takes, about.
fn weight(content: &Content) -> usize {
    match content {
        Content::Text(text) => 2 * text.len(),
        Content::Image { data, .. } | Content::Blob { data, .. } => data.len() / 3 * 4,
        Content::Link(_) => 200,
    }
}

/// MCP's `ContentBlock`.
struct ContentJson<'a>(&'a Content);

impl Serialize for ContentJson<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        match self.0 {
            Content::Text(text) => {
                map.serialize_entry("type", "text")?;
                map.serialize_entry("text", text)?;
            }
            Content::Image { data, mime_type } => {
                map.serialize_entry("type", "image")?;
                map.serialize_entry("data", &format_args!("{}", Base64Display::new(data, &STANDARD)))?;
                map.serialize_entry("mimeType", mime_type)?;
            }
            Content::Blob { uri, data, mime_type } => {
                map.serialize_entry("type", "resource")?;
                map.serialize_entry("resource", &BlobJson { uri, data, mime_type: mime_type.as_deref() })?;
            }
            Content::Link(Link { uri, name, title, mime_type, size }) => {
                map.serialize_entry("type", "resource_link")?;
                map.serialize_entry("uri", &**uri)?;
                map.serialize_entry("name", name)?;
                for (field, text) in [("title", title), ("mimeType", mime_type)] {
                    if let Some(text) = text {
                        map.serialize_entry(field, text)?;
                    }
                }
                if let Some(size) = size {
                    map.serialize_entry("size", size)?;
                }
            }
        }
        map.end()
    }
}

struct BlobJson<'a> {
    uri: &'a str,
    data: &'a [u8],
    mime_type: Option<&'a str>,
}

impl Serialize for BlobJson<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("uri", self.uri)?;
        if let Some(mime_type) = self.mime_type {
            map.serialize_entry("mimeType", mime_type)?;
        }
        map.serialize_entry("blob", &format_args!("{}", Base64Display::new(self.data, &STANDARD)))?;
        map.end()
    }
}
