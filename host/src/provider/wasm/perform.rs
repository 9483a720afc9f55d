//! Making one call at an instance, and what becomes of it: the answer, what is counted and traced, and whether the instance survived.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::{
    instance::{Event, Instance, Outcome},
    queue::{Call, Reply},
};
use crate::{
    provider::{
        Completion, Error, Occurrence, Reading, ResourcePage, TemplateInfo, WebhookResponse,
        tally::{self, Tally},
    },
    trace::Trail,
};

/// What an instance is to do.
pub(super) enum Work {
    Event(Event),
    Call(Call),
    /// The instance ends, for a fresh one to be made.
    Renew,
}

/// The target of the log's events for calls, at the level debug: fields `provider`, `call`, `uri` (or nothing), `took_us`, and `error` with
/// the kind, if there is one.
pub const CALLS: &str = "wharf::calls";

/// Makes one call and answers it. Gives the instance back if it survived.
pub(super) async fn perform(mut instance: Box<Instance>, work: Work, tally: Arc<Tally>, trail: Trail) -> Option<Box<Instance>> {
    let began = std::time::Instant::now();
    match work {
        Work::Event(event) => {
            let outcome = instance.tell(&event).await;
            // A handler has nobody to answer to.
            let (reply, _nobody) = oneshot::channel();
            finish(instance, Made { call: event.handler(), uri: "", began, trail }, &tally, outcome, reply.into())
        }
        Work::Renew => {
            tracing::info!(provider = &*instance.spec().name, "a granted folder is another than it was; it gets a fresh instance");
            instance.announcer().announce(Occurrence::Down);
            None
        }
        Work::Call(Call::List(cursor, reply)) => {
            let outcome = instance.list(cursor.as_deref()).await;
            finish(instance, Made { call: "resources.list", uri: "", began, trail }, &tally, outcome, reply)
        }
        Work::Call(Call::Templates(reply)) => {
            let outcome = instance.templates().await;
            finish(instance, Made { call: "resources.templates", uri: "", began, trail }, &tally, outcome, reply)
        }
        Work::Call(Call::Read(request, _, reply)) => {
            let outcome = instance.read(&request).await;
            finish(instance, Made { call: "read", uri: &request.uri, began, trail }, &tally, outcome, reply)
        }
        Work::Call(Call::Complete(request, reply)) => {
            let outcome = instance.complete(request).await;
            finish(instance, Made { call: "completions.complete", uri: "", began, trail }, &tally, outcome, reply)
        }
        Work::Call(Call::Subscribe(uri, matched, reply)) => {
            let outcome = instance.subscribe(&uri, matched.as_deref()).await;
            finish(instance, Made { call: "subscribe", uri: &uri, began, trail }, &tally, outcome, reply)
        }
        Work::Call(Call::Unsubscribe(uri, reply)) => {
            let outcome = instance.unsubscribe(&uri).await;
            finish(instance, Made { call: "unsubscribe", uri: &uri, began, trail }, &tally, outcome, reply)
        }
        Work::Call(Call::Receive { request, reply, .. }) => {
            let outcome = instance.receive(request).await;
            finish(instance, Made { call: "webhook-handler.receive", uri: "", began, trail }, &tally, outcome, reply)
        }
    }
}

/// Which call it was.
struct Made<'a> {
    call: &'static str,
    /// Empty if it is about none.
    uri: &'a str,
    began: std::time::Instant,
    trail: Trail,
}

impl Made<'_> {
    fn ended(&self, tally: &Tally, outcome: tally::Outcome, error: Option<&Error>) {
        let took = self.began.elapsed();
        tally.called(self.call, self.uri, took, outcome, error);
        self.trail.ended(outcome.name(), outcome.is_fault());
        if tracing::enabled!(target: CALLS, tracing::Level::DEBUG) {
            let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
            let error = error.map(Error::kind);
            tracing::debug!(target: CALLS, provider = &**tally.provider(), call = self.call, uri = self.uri, took_us, error);
        }
    }
}

/// What an answer is counted as.
trait Counted {
    fn counted(&self) -> tally::Outcome {
        tally::Outcome::Ok
    }
}

impl Counted for () {}
impl Counted for ResourcePage {}
impl Counted for Vec<TemplateInfo> {}
impl Counted for Completion {}
impl Counted for WebhookResponse {}
impl Counted for Option<Reading> {
    fn counted(&self) -> tally::Outcome {
        if self.is_some() { tally::Outcome::Ok } else { tally::Outcome::NotModified }
    }
}

fn finish<T: Counted>(
    instance: Box<Instance>,
    made: Made<'_>,
    tally: &Tally,
    outcome: Outcome<T>,
    reply: Reply<T>,
) -> Option<Box<Instance>> {
    let (survivor, answer) = match outcome {
        Ok(answer) => {
            instance.log().settle();
            let counted = match &answer {
                Ok(answer) => answer.counted(),
                Err(error) => error.into(),
            };
            made.ended(tally, counted, answer.as_ref().err());
            (Some(instance), answer)
        }
        Err(fault) => {
            let what = if made.uri.is_empty() { made.call } else { made.uri };
            let said = format!("{what}: it {fault}; it gets a fresh instance");
            tracing::warn!(provider = &*instance.spec().name, "{}", instance.log().secrets().hide(&said));
            instance.announcer().announce(Occurrence::Down);
            let counted = fault.counted();
            let error = fault.into();
            made.ended(tally, counted, Some(&error));
            drop(instance);
            (None, Err(error))
        }
    };
    reply.send(answer);
    survivor
}
