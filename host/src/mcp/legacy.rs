//! The stateful era, up to 2025-11-25: `initialize`, and what a session may ask.
//!
//! Invariant: an answer to a session's request has [`Status::Ok`], whatever it says; another status is kept for what is wrong with the
//! session itself, since clients take it for the session's end.

use std::sync::Arc;

use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream};
use serde_json::value::RawValue;
use tracing::Instrument;

use super::{
    Envelope, Reply, Server, calls,
    cancelling::cancelled,
    encode::{self, Answer, Encoded},
    era::{BATCHES, Era, LEGACY, Said, negotiate},
    error::{RpcError, Status},
    message::{Id, Message, Params, Rejected, Request, parse_one},
    pages::Kind,
    resources,
    sessions::{OpenError, Session},
    spans,
};
use crate::catalog::Caller;

/// Entries of one batch that are worked on at a time.
const BATCH_WIDTH: usize = 8;
/// Bytes of all answers to one batch: what two of the largest reads take, encoded. The entries past it are to be asked again one by one.
const BATCH_BYTES: usize = 48 << 20;

/// `initialize`: a new session, whatever session the client may have had.
pub fn initialize(server: &Server, request: &Request<'_>, caller: &Caller) -> Reply {
    let version = match request.params().and_then(|params| Params::text("protocolVersion", params.protocol_version)) {
        Ok(asked) => negotiate(&asked),
        Err(error) => return Reply::error(request.id, &error),
    };
    let listener = server.subscriptions.listen(caller.clone(), true);
    match server.sessions.open(version, listener) {
        // Whoever is no caller any more has been let in before that was known, and finds its session gone.
        Ok(session) => {
            if !server.callers.is_valid(caller) {
                server.sessions.close(&session.id());
            }
            let mut answer = server.begin(Era::Legacy, request.id, server.texts.initialize.len());
            answer.raw("protocolVersion", format!("\"{version}\"").as_bytes());
            answer.fields(&server.texts.initialize);
            Reply::Session(session.id(), answer.finish())
        }
        Err(error) => {
            tracing::warn!(%error, "a session was refused");
            let error = match error {
                OpenError::Full(_) => RpcError::no_room(),
                OpenError::Random(_) => RpcError::internal("there is no session id to be had: try again later"),
            };
            Reply::error(request.id, &error)
        }
    }
}

/// The session a message belongs to. One of another caller's is none.
pub fn session(server: &Server, envelope: &Envelope<'_>) -> Result<Arc<Session>, RpcError> {
    match envelope.version {
        Said::Nothing => {}
        Said::Text(version) if LEGACY.contains(&version) => {}
        Said::Text(_) | Said::Garbled => {
            return Err(RpcError::invalid_request(format!("unknown MCP-Protocol-Version; those with sessions are {}", LEGACY.join(", "))));
        }
    }
    match envelope.session {
        Said::Nothing => Err(RpcError::invalid_request("Mcp-Session-Id is missing: initialize first")),
        Said::Garbled => Err(RpcError::session_not_found()),
        Said::Text(id) => server.sessions.find(id, envelope.caller).ok_or_else(RpcError::session_not_found),
    }
}

/// The reply to a session's request. There is nothing to say to one that was cancelled (2025-11-25, Cancellation, "Behavior Requirements").
pub async fn reply(server: &Server, session: &Arc<Session>, request: &Request<'_>) -> Reply {
    if request.method == "tools/call" {
        return calls::call(server, Era::Legacy, request, session.caller(), Some(session)).await;
    }
    let answer = session.waiting().wait(request.id, answer(server, session, request)).await;
    answer.map_or(Reply::Accepted, |answer| Reply::of(request.id, answer))
}

/// Takes a notification of a session.
pub fn notified(session: &Session, method: &str, message: &[u8]) {
    if method == "notifications/cancelled"
        && let Some(id) = cancelled(message)
    {
        session.waiting().cancel(&id);
    }
}

/// Answers a session's request. Requests are served before `notifications/initialized`: HTTP keeps no order between the two.
pub async fn answer(server: &Server, session: &Arc<Session>, request: &Request<'_>) -> Result<Encoded, RpcError> {
    let (era, caller) = (Era::Legacy, session.caller());
    match &*request.method {
        "ping" => Ok(empty(request)),
        "resources/list" => resources::list(server, era, request, caller, Kind::Resources).await,
        "resources/templates/list" => resources::list(server, era, request, caller, Kind::Templates).await,
        "resources/read" => resources::read(server, era, request, caller).await,
        "resources/subscribe" => {
            let uri = Params::text("uri", request.params()?.uri)?;
            let listener = session.listener().ok_or_else(RpcError::session_not_found)?;
            listener.subscribe(vec![Arc::from(&*uri)]).await.map_err(|error| RpcError::from_subscribe(&error, Some(&uri)))?;
            Ok(empty(request))
        }
        "resources/unsubscribe" => {
            let uri = Params::text("uri", request.params()?.uri)?;
            session.listener().ok_or_else(RpcError::session_not_found)?.unsubscribe(&uri);
            Ok(empty(request))
        }
        "completion/complete" => resources::complete(server, era, request, caller).await,
        "tools/list" => calls::list(server, era, request),
        "prompts/list" => resources::nothing(server, era, request, "prompts"),
        "tools/call" => calls::answer(server, era, request, session).await,
        "prompts/get" => Err(resources::unknown(request, "prompt")),
        // Taken, since clients send it unasked; this host sends no log messages.
        "logging/setLevel" => Params::text("level", request.params()?.level).map(|_| empty(request)),
        method => Err(RpcError::method_not_found(era, method)),
    }
}

/// Answers a batch, in its order. Only sessions of 2025-03-26 have batches (that version's Streamable HTTP, "Sending Messages").
pub async fn batch(server: &Server, session: &Arc<Session>, entries: &[&RawValue]) -> Reply {
    if session.version() != BATCHES {
        return Reply::error(Id::NULL, &RpcError::invalid_request("only a session of 2025-03-26 has batches: send one message"));
    }
    let work: Vec<BoxFuture<'_, _>> = entries.iter().map(|text| answer_entry(server, session, text.get()).boxed()).collect();
    let mut answers = stream::iter(work).buffered(BATCH_WIDTH);
    let mut all = vec![b'['];
    while let Some(one) = answers.next().await {
        let Some((id, mut answer)) = one else { continue };
        if all.len() + answer.len() > BATCH_BYTES {
            let error = RpcError::limit("The answers to this batch are too large: ask for each by itself", BATCH_BYTES);
            answer = encode::error(id, &error).into();
        }
        if all.len() > 1 {
            all.push(b',');
        }
        answer.append_to(&mut all);
    }
    if all.len() == 1 {
        return Reply::Accepted;
    }
    all.push(b']');
    Reply::Message(Status::Ok, all.into())
}

/// The answer to one entry of a batch, if it wants one.
async fn answer_entry<'a>(server: &Server, session: &Arc<Session>, text: &'a str) -> Option<(Id<'a>, Encoded)> {
    match parse_one(text) {
        Ok(Message::Request(request)) => {
            let result = match &*request.method {
                "initialize" => Err(RpcError::invalid_request("`initialize` has no place in a batch")),
                _ => {
                    let span = spans::of_entry(&request, session);
                    session.waiting().wait(request.id, answer(server, session, &request).instrument(span.clone())).await?.inspect_err(
                        |error| {
                            span.in_scope(|| spans::failed(error.code));
                        },
                    )
                }
            };
            Some((request.id, result.unwrap_or_else(|error| encode::error(request.id, &error).into())))
        }
        Ok(Message::Notification(method)) => {
            notified(session, &method, text.as_bytes());
            None
        }
        Ok(Message::Response) => None,
        Err(Rejected { id, error }) => Some((id, encode::error(id, &error).into())),
    }
}

fn empty(request: &Request<'_>) -> Encoded {
    Answer::begin(request.id, 0).finish().into()
}
