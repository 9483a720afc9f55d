//! `subscriptions/listen` (2026-07-28): a request whose answer is a stream.
//!
//! Invariants: the acknowledgement comes first, and only once the providers watch or have said why not (law 11); then come only notices
//! that were asked for, each tagged with the request's id as the client wrote it; the result comes last, and only when the host ends it, or
//! its caller is valid no more.
//! A listen holds its notices in its listener's set until the transport asks for one, and dropping it ends it at once.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::{Stream, future::BoxFuture};
use indexmap::IndexSet;
use serde::Deserialize;
use serde_json::{json, value::RawValue};
use tokio::sync::OwnedSemaphorePermit;

use super::{
    Event, Server, Stopping,
    encode::{notice, subscription_meta},
    error::RpcError,
    message::{Params, Request},
    observe::Tap,
};
use crate::{
    catalog::Caller,
    subscriptions::{Listener, Notice},
    uri,
};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Filter<'a> {
    #[serde(borrow, rename = "resourcesListChanged")]
    list_changed: Option<&'a RawValue>,
    #[serde(borrow, rename = "resourceSubscriptions")]
    uris: Option<&'a RawValue>,
}

enum Stage {
    /// The acknowledgement is to be sent.
    Begun {
        ack: Vec<u8>,
        /// Nothing was asked for that could ever be told, so the result follows at once.
        idle: bool,
    },
    Told,
    Ending,
    Ended,
}

/// The messages of one listen.
pub struct ListenStream {
    listener: Arc<Listener>,
    next: Option<BoxFuture<'static, (u64, Notice)>>,
    /// The request's id, as JSON.
    id: String,
    /// Of the result's `_meta`.
    server: Arc<str>,
    stage: Stage,
    stopping: Stopping,
    _permit: OwnedSemaphorePermit,
    tap: Option<Tap>,
}

/// Begins a listen.
pub async fn listen(server: &Server, request: &Request<'_>, caller: &Caller) -> Result<ListenStream, RpcError> {
    let filter: Filter<'_> = Params::object("notifications", request.params()?.notifications)?;
    let list_changed = match filter.list_changed.map(RawValue::get) {
        None | Some("false") => false,
        Some("true") => true,
        Some(_) => return Err(RpcError::invalid_params("`notifications.resourcesListChanged` must be true or false")),
    };
    let uris: Vec<String> = match filter.uris {
        None => Vec::new(),
        Some(uris) => serde_json::from_str(uris.get())
            .map_err(|_| RpcError::invalid_params("`notifications.resourceSubscriptions` must be an array of strings"))?,
    };
    let permit = server.listens.clone().try_acquire_owned().map_err(|_| {
        RpcError::limit(format!("too many listens: at most {} in the whole host", server.caps.listens), server.caps.listens)
    })?;
    let uris: IndexSet<Arc<str>> = uris.into_iter().map(Arc::from).collect();
    let listener = server.subscriptions.listen(caller.clone(), list_changed);
    if !uris.is_empty() {
        let wanted = uris.iter().cloned().collect();
        listener.subscribe(wanted).await.map_err(|error| {
            let wrong = uris.iter().find(|uri| uri::check(uri).is_err());
            RpcError::from_subscribe(&error, wrong.map(|uri| &**uri))
        })?;
    }
    let id = request.id.as_json().to_owned();
    let ack = acknowledgement(&id, list_changed, &uris);
    Ok(ListenStream {
        listener: Arc::new(listener),
        next: None,
        id,
        server: server.texts.server.clone(),
        stage: Stage::Begun { ack, idle: !list_changed && uris.is_empty() },
        stopping: server.stopping_for(caller),
        _permit: permit,
        tap: None,
    })
}

fn acknowledgement(id: &str, list_changed: bool, uris: &IndexSet<Arc<str>>) -> Vec<u8> {
    let mut honoured = serde_json::Map::new();
    if list_changed {
        honoured.insert("resourcesListChanged".into(), true.into());
    }
    if !uris.is_empty() {
        honoured.insert("resourceSubscriptions".into(), uris.iter().map(|uri| &**uri).collect());
    }
    let meta = subscription_meta(id);
    format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{{{meta},\"notifications\":{}}}}}",
        json!(honoured)
    )
    .into_bytes()
}

impl ListenStream {
    /// From now on as if the host stopped: what is due goes out, and then the result.
    pub fn end(&mut self) {
        self.stopping = Stopping(None);
    }

    pub(super) fn tapped(mut self, tap: Tap) -> Self {
        self.tap = Some(tap);
        self
    }

    fn result(&self) -> Vec<u8> {
        let Self { id, server, .. } = self;
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"resultType\":\"complete\",\"_meta\":{{\"io.modelcontextprotocol/subscriptionId\":{id},{server}}}}}}}"
        )
        .into_bytes()
    }
}

impl Stream for ListenStream {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let polled = self.poll_event(context);
        if let (Poll::Ready(Some(event)), Some(tap)) = (&polled, &self.tap) {
            tap.sent(&event.message);
        }
        polled
    }
}

impl ListenStream {
    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let this = self;
        let event = |message| Poll::Ready(Some(Event { id: None, message }));
        match std::mem::replace(&mut this.stage, Stage::Told) {
            Stage::Begun { ack, idle } => {
                if idle {
                    this.stage = Stage::Ending;
                }
                return event(ack);
            }
            Stage::Told => {}
            Stage::Ending => {
                this.stage = Stage::Ended;
                return event(this.result());
            }
            Stage::Ended => {
                this.stage = Stage::Ended;
                return Poll::Ready(None);
            }
        }
        if this.stopping.poll_stopped(context).is_ready() {
            this.stage = Stage::Ended;
            this.next = None;
            return event(this.result());
        }
        let next = this.next.get_or_insert_with(|| {
            let listener = this.listener.clone();
            Box::pin(async move { listener.next().await })
        });
        match next.as_mut().poll(context) {
            Poll::Ready((_, told)) => {
                this.next = None;
                event(notice(&told, Some(&this.id)))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}
