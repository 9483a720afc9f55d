//! Webhooks on their way from the transport to providers.

use std::sync::{Arc, Weak};

use axum::http::StatusCode;
use futures_util::{FutureExt, future::BoxFuture};

use crate::{
    plugins::Loader,
    provider::{Error, Provider, WebhookRequest, grants::webhooks::Refused},
    transport::http::{Hook, HookAnswer, Hooks},
};

/// Hands each to its provider, if its gate lets it in.
pub(super) struct Webhooks {
    /// A transport may live longer than the host.
    pub loader: Weak<Loader>,
}

impl Webhooks {
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
            let Some(provider) = self.provider(&provider) else { return unavailable("the provider is still being loaded") };
            let Some(gate) = provider.gate(&name) else { return HookAnswer { status: 404, ..HookAnswer::default() } };
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
