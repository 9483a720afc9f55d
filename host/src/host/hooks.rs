//! Webhooks on their way from the transport to providers.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use axum::http::StatusCode;
use futures_util::{FutureExt, future::BoxFuture};
use tokio::sync::Semaphore;

use crate::{
    plugins::Loader,
    provider::{Error, Provider, WebhookRequest, grants::webhooks::Refused},
    transport::http::{Hook, HookAnswer, Hooks},
};

/// Requests that wait for a provider that is being loaded; so many of the largest bodies take 256 MiB.
const WAITING: usize = 64;

/// Hands each to its provider, if its gate lets it in.
pub(super) struct Webhooks {
    /// A transport may live longer than the host.
    loader: Weak<Loader>,
    /// How long a provider is waited for that is being loaded for the first time: as a read waits.
    loading_time: Duration,
    waiting: Semaphore,
}

impl Webhooks {
    pub fn new(loader: &Arc<Loader>, loading_time: Duration) -> Self {
        Self { loader: Arc::downgrade(loader), loading_time, waiting: Semaphore::new(WAITING) }
    }

    /// The provider of this name, as soon as there is one.
    async fn awaited(&self, name: &str) -> Result<Option<Arc<dyn Provider>>, HookAnswer> {
        let Some(loader) = self.loader.upgrade() else { return Ok(None) };
        if let Some(serving) = loader.serving(name) {
            return Ok(Some(serving));
        }
        let _turn = self.waiting.try_acquire().map_err(|_| unavailable("the provider is still being loaded, and too many wait for it"))?;
        let loading = loader.serving_within(name, self.loading_time);
        loading.await.map_err(|_| unavailable("the provider is still being loaded"))
    }

    fn provider(&self, name: &str) -> Option<Arc<dyn Provider>> {
        self.loader.upgrade()?.serving(name)
    }
}

impl Hooks for Webhooks {
    fn has(&self, provider: &str, name: &str) -> bool {
        match self.provider(provider) {
            Some(serving) => serving.gate(name).is_some(),
            None => self.loader.upgrade().is_some_and(|loader| loader.will_take(provider, name)),
        }
    }

    fn receive(&self, hook: Hook) -> BoxFuture<'_, HookAnswer> {
        Box::pin(async move {
            let Hook { provider, name, method, path_and_query, headers, body } = hook;
            let provider = match self.awaited(&provider).await {
                Ok(provider) => provider,
                Err(answer) => return answer,
            };
            let missing = HookAnswer { status: 404, ..HookAnswer::default() };
            let Some(provider) = provider else { return missing };
            let Some(gate) = provider.gate(&name) else { return missing };
            let request = WebhookRequest { name, method, path_and_query, headers, body };
            let admitted = match gate.admit(&request) {
                Ok(admitted) => admitted,
                Err(refused) => return refuse(refused),
            };
            let receiving = provider.receive(request, gate.queues());
            let answer = if gate.queues() {
                // It waits already, or was refused at once, which shows however often this task has polled something.
                match tokio::task::unconstrained(receiving).now_or_never() {
                    None | Some(Ok(_)) => {
                        admitted.taken();
                        return HookAnswer { status: 202, ..HookAnswer::default() };
                    }
                    Some(Err(error)) => Err(error),
                }
            } else {
                receiving.await
            };
            match answer {
                Ok(answer) => {
                    // It says itself that it failed.
                    if answer.status < 500 {
                        admitted.taken();
                    }
                    HookAnswer { status: answer.status, headers: answer.headers, body: answer.body, retry_after: None }
                }
                Err(error) => failed(&error),
            }
        })
    }
}

fn refuse(refused: Refused) -> HookAnswer {
    let said = refused.to_string();
    match refused {
        Refused::Signature(_) => HookAnswer::plain(StatusCode::UNAUTHORIZED, said),
        Refused::Replayed => HookAnswer::plain(StatusCode::CONFLICT, said),
        Refused::Rate(after) => HookAnswer { retry_after: Some(after), ..HookAnswer::plain(StatusCode::TOO_MANY_REQUESTS, said) },
        Refused::NoSecret => unavailable(&said),
    }
}

/// Its sender is a stranger: what went wrong is in the log.
fn failed(error: &Error) -> HookAnswer {
    match error {
        Error::Unavailable { .. } => unavailable("the provider is busy, or being started"),
        Error::Trapped(_) | Error::DeadlineExceeded(_) => unavailable("the provider failed"),
        _ => HookAnswer::plain(StatusCode::BAD_GATEWAY, "the provider gave no answer"),
    }
}

fn unavailable(said: &str) -> HookAnswer {
    HookAnswer::plain(StatusCode::SERVICE_UNAVAILABLE, said)
}
