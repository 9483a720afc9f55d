//! A client's listen at the host, which may lose it.
//!
//! Invariants: the client gets one acknowledgement; a stream that is cut off, or that a stopping host ends, is begun again with the same
//! message, and what may have been missed is told once. Dropping it closes the stream.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::{
    Stream, StreamExt,
    stream::{self, BoxStream},
};
use hyper::{Method, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    ModernHeaders, Pause, answered, request,
    upstream::{Answer, Events, Upstream, one_line},
};
use crate::{
    mcp::{encode, message::Id, pipe::Listen},
    subscriptions::Notice,
};

/// What the host acknowledged.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Honoured {
    #[serde(rename = "resourcesListChanged")]
    list_changed: bool,
    #[serde(rename = "resourceSubscriptions")]
    uris: Vec<Box<str>>,
}

/// As much of a message as tells what it is.
#[derive(Deserialize)]
struct Told<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<String>,
    #[serde(default)]
    params: Option<ToldParams>,
}

#[derive(Deserialize)]
struct ToldParams {
    #[serde(default)]
    notifications: Option<Honoured>,
}

struct State {
    upstream: Arc<Upstream>,
    headers: ModernHeaders,
    /// The client's message.
    line: Bytes,
    events: Option<Events>,
    honoured: Option<Honoured>,
    news: VecDeque<Notice>,
    pause: Pause,
    over: bool,
}

/// The messages of one listen.
pub struct RemoteListen {
    id: String,
    messages: BoxStream<'static, Vec<u8>>,
    acknowledged: bool,
}

impl RemoteListen {
    pub(super) fn new(upstream: Arc<Upstream>, headers: ModernHeaders, line: &[u8], id: Id<'_>, events: Events) -> Self {
        let state = State {
            upstream,
            headers,
            // A copy, so that it does not keep what it was read with.
            line: Bytes::copy_from_slice(line),
            events: Some(events),
            honoured: None,
            news: VecDeque::new(),
            pause: Pause::default(),
            over: false,
        };
        let messages = stream::unfold(state, |mut state| async { state.next().await.map(|message| (message, state)) }).boxed();
        Self { id: id.as_json().into(), messages, acknowledged: false }
    }
}

impl Stream for RemoteListen {
    type Item = Vec<u8>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        let message = self.messages.poll_next_unpin(context);
        self.acknowledged |= message.is_ready();
        message
    }
}

impl Listen for RemoteListen {
    fn end(&mut self) {
        let id = &self.id;
        let result = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
        );
        let messages = std::mem::replace(&mut self.messages, stream::empty().boxed());
        let due = usize::from(!self.acknowledged);
        self.messages = messages.take(due).chain(stream::iter([result.into_bytes()])).boxed();
    }
}

impl State {
    async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let line = self.line.clone();
            let id = request(&line).map_or(Id::NULL, |request| request.id);
            if let Some(notice) = self.news.pop_front() {
                return Some(encode::notice(&notice, Some(id.as_json())));
            }
            if self.over {
                return None;
            }
            let Some(events) = &mut self.events else {
                match self.upstream.send(Method::POST, &self.headers.list(), self.line.clone()).await {
                    Ok(Answer::Events(events)) => self.events = Some(events),
                    Ok(Answer::Body(StatusCode::SERVICE_UNAVAILABLE, ..)) | Err(_) => self.pause.wait().await,
                    Ok(Answer::Body(status, _, body)) => {
                        self.over = true;
                        return Some(answered(id, status, &body));
                    }
                }
                continue;
            };
            let Some(event) = events.next().await else {
                self.events = None;
                self.pause.wait().await;
                continue;
            };
            let message = one_line(&event.data);
            let Ok(told) = serde_json::from_slice::<Told<'_>>(&message) else { continue };
            let honoured = told.params.and_then(|params| params.notifications);
            if told.method.as_deref() == Some("notifications/subscriptions/acknowledged") {
                self.pause = Pause::default();
                let again = self.honoured.replace(honoured.unwrap_or_default()).is_some();
                if again {
                    self.catch_up();
                    continue;
                }
            } else if told.id.is_some() {
                // A listen has a result of its own only if there was nothing to listen to; any other is a host that stops.
                if self.honoured.as_ref().is_some_and(|honoured| honoured.list_changed || !honoured.uris.is_empty()) {
                    self.events = None;
                    self.pause.wait().await;
                    continue;
                }
                self.over = true;
            }
            return Some(message);
        }
    }

    /// Whatever may have changed meanwhile is told.
    fn catch_up(&mut self) {
        let Some(honoured) = &self.honoured else { return };
        let list_changed = honoured.list_changed.then_some(Notice::ListChanged);
        self.news = list_changed.into_iter().chain(honoured.uris.iter().map(|uri| Notice::Updated((**uri).into()))).collect();
    }
}
