//! A pipe's messages answered by this process's own server.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::{FutureExt, Stream, StreamExt};
use tracing::Span;

use super::{Backend, Listen, Outcome, Tapped, Work};
use crate::{
    catalog::Caller,
    mcp::{
        CallStream, Event, ListenStream, Reply, Server, SessionStream, encode,
        era::Era,
        error::RpcError,
        legacy,
        message::{Id, Incoming, Message, Request, parse},
        modern,
        sessions::Session,
        spans,
    },
};

/// The backend of one client, of whom no proof is wanted. Its session ends with it.
pub struct Local {
    server: Arc<Server>,
    legacy: Option<Legacy>,
}

struct Legacy {
    session: Arc<Session>,
    /// Open from the beginning, so that the session is never taken for one that idles. None once the host stops.
    stream: Option<SessionStream>,
}

impl Local {
    /// One that has no session yet.
    pub fn new(server: Arc<Server>) -> Self {
        Self { server, legacy: None }
    }

    fn session(&self) -> Option<Arc<Session>> {
        self.legacy.as_ref().map(|legacy| legacy.session.clone())
    }

    fn end_session(&mut self) {
        if let Some(Legacy { session, .. }) = self.legacy.take() {
            self.server.sessions.close(&session.id());
        }
    }

    fn begin_session(&mut self, request: &Request<'_>) -> Outcome<LocalListen> {
        match legacy::initialize(&self.server, request, <&Caller>::default()) {
            Reply::Session(id, answer) => {
                self.end_session();
                self.legacy = self.server.sessions.find(&id, <&Caller>::default()).map(|session| {
                    let stream = session.stream(None, self.server.stopping());
                    Legacy { session, stream }
                });
                Outcome::Message(answer.into())
            }
            reply => outcome(reply),
        }
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        self.end_session();
    }
}

impl Backend for Local {
    type Listen = LocalListen;

    fn tap(&self) -> Option<Tapped> {
        self.server.tap_pipe().map(Tapped)
    }

    fn span(&self, request: &Request<'_>, era: Era) -> Option<Span> {
        spans::of_pipe(request, era, self.legacy.as_ref().map(|legacy| &*legacy.session))
    }

    fn has_session(&self) -> bool {
        self.legacy.is_some()
    }

    fn initialize(&mut self, line: Bytes) -> Work<LocalListen> {
        let outcome = request(&line).map_or(Outcome::Nothing, |request| self.begin_session(&request));
        async { outcome }.boxed()
    }

    fn legacy(&mut self, line: Bytes) -> Work<LocalListen> {
        let (server, session) = (self.server.clone(), self.session());
        async move {
            let Some(request) = request(&line) else { return Outcome::Nothing };
            match session {
                Some(session) => outcome(legacy::reply(&server, &session, &request).await),
                None => Outcome::Message(encode::error(request.id, &RpcError::session_not_found()).into()),
            }
        }
        .boxed()
    }

    fn batch(&mut self, line: Bytes) -> Work<LocalListen> {
        let (server, session) = (self.server.clone(), self.session());
        async move {
            let Ok(Incoming::Batch(entries)) = parse(&line) else { return Outcome::Nothing };
            match session {
                Some(session) => outcome(legacy::batch(&server, &session, &entries).await),
                None => Outcome::Message(encode::error(Id::NULL, &RpcError::session_not_found()).into()),
            }
        }
        .boxed()
    }

    fn modern(&mut self, line: Bytes) -> Work<LocalListen> {
        let server = self.server.clone();
        async move {
            let Some(request) = request(&line) else { return Outcome::Nothing };
            outcome(modern::answer(&server, &request, <&Caller>::default(), None).await)
        }
        .boxed()
    }

    fn poll_notice(&mut self, context: &mut Context<'_>) -> Poll<Vec<u8>> {
        let Some(Legacy { stream: open, .. }) = &mut self.legacy else { return Poll::Pending };
        let Some(stream) = open else { return Poll::Pending };
        match stream.poll_next_unpin(context) {
            Poll::Ready(Some(event)) => Poll::Ready(event.message),
            Poll::Ready(None) => {
                *open = None;
                Poll::Pending
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn end(&mut self) -> Work<LocalListen> {
        self.end_session();
        async { Outcome::Nothing }.boxed()
    }
}

/// A listen of this process's server, or a call that waits.
pub enum LocalListen {
    /// A listen.
    Listen(ListenStream),
    /// A call.
    Call(CallStream),
}

impl Stream for LocalListen {
    type Item = Vec<u8>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        let event = match &mut *self {
            Self::Listen(listen) => listen.poll_next_unpin(context),
            Self::Call(call) => call.poll_next_unpin(context),
        };
        event.map(|event| event.map(|Event { message, .. }| message))
    }
}

impl Listen for LocalListen {
    fn end(&mut self) {
        match self {
            Self::Listen(listen) => listen.end(),
            Self::Call(call) => call.end(),
        }
    }
}

/// The request in a line that is known to hold one.
fn request(line: &[u8]) -> Option<Request<'_>> {
    match parse(line) {
        Ok(Incoming::One(Message::Request(request))) => Some(request),
        _ => None,
    }
}

fn outcome(reply: Reply) -> Outcome<LocalListen> {
    match reply {
        Reply::Message(_, message) => Outcome::Message(message),
        Reply::Session(_, message) => Outcome::Message(message.into()),
        Reply::Accepted => Outcome::Nothing,
        Reply::Listening(stream) => Outcome::Listening(LocalListen::Listen(stream)),
        Reply::Calling(stream) => Outcome::Listening(LocalListen::Call(stream)),
    }
}
