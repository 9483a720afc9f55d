//! The handle to a component's instance: calls go to the task that owns it, and what is published is answered here.

use std::{future::ready, sync::Arc};

use futures_util::future::BoxFuture;
use tokio::{
    sync::{oneshot, watch},
    time::{Duration, Instant, sleep_until},
};

use super::{
    component::Maker,
    queue::{Call, Queue, Reply},
};
use crate::{
    provider::{
        Answer, Begun, Completion, CompletionRequest, Depths, Error, Offers, Provider, ReadRequest, Reading, ResourcePage, TemplateInfo,
        TemplateMatch, WebhookRequest, WebhookResponse,
        grants::{Rights, webhooks::Gate},
        shared_state::SharedState,
    },
    trace::{self, Trail},
};

/// A provider that is a component.
pub struct WasmProvider {
    /// Whose it is, for traces.
    name: Arc<str>,
    generation: u64,
    queue: Arc<Queue>,
    offers: Offers,
    exports_subscriptions: bool,
    rights: Rights,
    /// What it publishes, if it can.
    shared: Option<Arc<SharedState>>,
    /// How long its successor has to publish anew what it published.
    deadline: Duration,
    /// Its sender goes when the task has ended.
    ended: watch::Receiver<()>,
}

impl WasmProvider {
    /// One for the task that works off this queue, and drops the sender when it ends.
    pub(super) fn new(maker: &Maker, queue: Arc<Queue>, ended: watch::Receiver<()>) -> Self {
        Self {
            name: maker.spec.name.clone(),
            generation: maker.announcer.source().generation,
            queue,
            offers: maker.offers(),
            exports_subscriptions: maker.exports().subscriptions.is_some(),
            rights: maker.rights.clone(),
            shared: maker.publishes().then(|| maker.shared.clone()),
            deadline: maker.spec.limits.deadline,
            ended,
        }
    }

    fn ask<T: Send + 'static>(&self, call: impl FnOnce(Reply<T>) -> Call) -> Answer<'_, T> {
        let (reply, answer) = oneshot::channel();
        let mut call = call(reply.into());
        if trace::is_wanted() {
            *call.trail() = Trail::new(&self.name, self.generation, call.name(), call.uri());
        }
        // Not only when the answer is first polled: calls are made in the order in which they are asked for.
        self.queue.push(call);
        Box::pin(async move {
            // The reply is dropped unanswered only if host code panicked inside the call.
            answer.await.unwrap_or_else(|_| Err(Error::Trapped("the host failed while the provider ran; see its log".into())))
        })
    }

    fn publishing(&self, uri: &str) -> Option<&SharedState> {
        self.shared.as_deref().filter(|shared| shared.owns(uri))
    }

    /// It can be told of what it publishes, and of nothing else: what it has otherwise is as with a provider that cannot be told of anything
    /// (design, law 10).
    fn unwatchable(&self, uri: Arc<str>, matched: Option<Arc<TemplateMatch>>) -> Answer<'_, ()> {
        let refusal = Error::Failed("the provider does not export wharf:provider/subscriptions".into());
        let Some(matched) = matched else { return Box::pin(ready(Err(refusal))) };
        let request = ReadRequest { uri, matched: Some(matched), if_none_match: None };
        let read = self.ask(|reply| Call::Read(request, Begun::default(), reply));
        Box::pin(async move {
            match read.await {
                Ok(_) => Err(refusal),
                Err(error) => Err(error),
            }
        })
    }
}

impl Provider for WasmProvider {
    fn offers(&self) -> Offers {
        self.offers
    }

    fn list(&self, cursor: Option<String>) -> Answer<'_, ResourcePage> {
        self.ask(|reply| Call::List(cursor, reply))
    }

    fn templates(&self) -> Answer<'_, Vec<TemplateInfo>> {
        self.ask(Call::Templates)
    }

    fn read(&self, request: ReadRequest) -> Answer<'_, Option<Reading>> {
        if let Some(shared) = self.publishing(&request.uri) {
            return Box::pin(ready(shared.read(&request.uri).map(Some)));
        }
        self.ask(|reply| Call::Read(request, Begun::default(), reply))
    }

    fn is_busy(&self) -> bool {
        self.queue.is_busy()
    }

    fn read_in_turn(&self, request: ReadRequest, begun: Begun) -> Answer<'_, Option<Reading>> {
        if self.publishing(&request.uri).is_some() {
            begun.set();
            return self.read(request);
        }
        self.ask(|reply| Call::Read(request, begun, reply))
    }

    fn subscribe(&self, uri: Arc<str>, matched: Option<Arc<TemplateMatch>>) -> Answer<'_, ()> {
        if self.publishing(&uri).is_some() {
            // One that is not there may come.
            return Box::pin(ready(Ok(())));
        }
        if !self.exports_subscriptions {
            return self.unwatchable(uri, matched);
        }
        self.ask(|reply| Call::Subscribe(uri, matched, reply))
    }

    fn unsubscribe(&self, uri: Arc<str>) -> Answer<'_, ()> {
        if self.publishing(&uri).is_some() || !self.exports_subscriptions {
            return Box::pin(ready(Ok(())));
        }
        self.ask(|reply| Call::Unsubscribe(uri, reply))
    }

    fn complete(&self, request: CompletionRequest) -> Answer<'_, Completion> {
        self.ask(|reply| Call::Complete(request, reply))
    }

    fn receive(&self, request: WebhookRequest, queued: bool) -> Answer<'_, WebhookResponse> {
        self.ask(|reply| Call::Receive { request, queued, reply })
    }

    fn gate(&self, name: &str) -> Option<Gate> {
        let gate = self.rights.gate(name, self.offers.webhooks);
        gate.filter(|_| self.offers.webhooks)
    }

    fn take_queued(&self) -> Vec<WebhookRequest> {
        self.queue.take_queued()
    }

    fn depths(&self) -> Depths {
        self.queue.depths()
    }

    fn shared_state(&self) -> Option<&SharedState> {
        self.shared.as_deref()
    }

    fn inherit(&self, before: &dyn Provider) {
        let (Some(shared), Some(before)) = (&self.shared, before.shared_state()) else { return };
        let Some(inherited) = shared.inherit(before) else { return };
        let (shared, deadline) = (Arc::downgrade(shared), self.deadline);
        tokio::spawn(async move {
            sleep_until(Instant::now() + deadline).await;
            shared.upgrade().inspect(|shared| shared.expire_inherited(inherited));
        });
    }

    fn retire(&self) -> BoxFuture<'static, ()> {
        self.queue.retire();
        let mut ended = self.ended.clone();
        Box::pin(async move { while ended.changed().await.is_ok() {} })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.queue.close();
        let mut ended = self.ended.clone();
        Box::pin(async move {
            // Nothing is ever sent: this returns when the sender is dropped.
            while ended.changed().await.is_ok() {}
        })
    }
}

impl Drop for WasmProvider {
    fn drop(&mut self) {
        self.queue.close();
    }
}
