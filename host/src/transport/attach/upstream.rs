//! HTTP to one host: messages go out as POSTs, streams come back as events.
//!
//! Invariants: what comes back is a message on one line, or an [`Away`]; dropping an [`Events`] closes its connection,
//! which ends a listen at the host.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode, Uri,
    body::Incoming,
    header::{self, HeaderValue},
};
use hyper_util::{
    client::legacy::Client,
    rt::{TokioExecutor, TokioTimer},
};
use rustls::pki_types::CertificateDer;
use serde_json::value::RawValue;

use super::{
    connector::Connector,
    sse::{Event, Parser},
};
use crate::provider::grants::http::client_config;

/// To a host on the same machine; it is there or it is not.
const CONNECT_TIME: Duration = Duration::from_secs(5);
/// Less than the 30 s after which the host closes idle connections, so that no request meets one that is being closed.
const IDLE_TIME: Duration = Duration::from_secs(15);
/// Bytes of an answer: the largest read, every byte of it escaped, and then some.
const ANSWER_CAP: usize = 128 << 20;
/// A stream that says nothing for so long is dead: the host beats every 15 s.
const SILENCE: Duration = Duration::from_secs(60);

/// The host does not answer, or not as a host does.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Away(pub String);

/// What came back.
pub enum Answer {
    /// A body, maybe empty.
    Body(StatusCode, Option<HeaderValue>, Bytes),
    /// A stream.
    Events(Events),
}

/// A host.
pub struct Upstream {
    client: Client<Connector, Full<Bytes>>,
    uri: Uri,
    /// Of each request.
    headers: HeaderMap,
}

impl Upstream {
    /// The host at this URL, headers for each request to it, and authorities that are trusted besides those of the system.
    ///
    /// # Errors
    /// What is wrong with the URL.
    pub fn new(url: &str, headers: HeaderMap, authorities: Vec<CertificateDer<'static>>) -> Result<Self, Away> {
        let uri: Uri = url.parse().map_err(|error| Away(format!("{url} is not a URL: {error}")))?;
        let tls = match uri.scheme_str().filter(|_| uri.authority().is_some()) {
            Some("http") => None,
            Some("https") => Some(client_config(authorities).map_err(|reason| Away(format!("{url}: {reason}")))?),
            _ => return Err(Away(format!("{url} is not the URL of a host, such as http://127.0.0.1:8089/mcp"))),
        };
        let connector = Connector::new(tls, CONNECT_TIME);
        let client = Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE_TIME).build(connector);
        Ok(Self { client, uri, headers })
    }

    /// Sends one request.
    ///
    /// # Errors
    /// [`Away`]: nothing comes back that could be read.
    pub async fn send(&self, method: Method, headers: &[(&'static str, &str)], body: Bytes) -> Result<Answer, Away> {
        let mut request = Request::builder().method(method).uri(&self.uri);
        request = request.header(header::ACCEPT, "application/json, text/event-stream").header(header::CONTENT_TYPE, "application/json");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body)).map_err(|error| Away(error.to_string()))?;
        let response = self.client.request(request).await.map_err(|error| self.away(&error))?;
        let streams = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        if streams && response.status() == StatusCode::OK {
            return Ok(Answer::Events(Events { body: response.into_body(), parser: Parser::default() }));
        }
        self.body(response).await
    }

    async fn body(&self, response: Response<Incoming>) -> Result<Answer, Away> {
        let session = response.headers().get("mcp-session-id").cloned();
        let (status, mut body, mut all) = (response.status(), response.into_body(), BytesMut::new());
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| self.away(&error))?;
            all.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
            if all.len() > ANSWER_CAP {
                return Err(Away(format!("an answer of more than {ANSWER_CAP} bytes")));
            }
        }
        Ok(Answer::Body(status, session, all.freeze()))
    }

    fn away(&self, error: &dyn std::error::Error) -> Away {
        let mut text = format!("the host at {} does not answer", self.uri);
        let mut cause = Some(error);
        while let Some(error) = cause {
            text += &format!(": {error}");
            cause = error.source();
        }
        Away(text)
    }
}

/// A stream of events.
pub struct Events {
    body: Incoming,
    parser: Parser,
}

impl Events {
    /// The next event with data or an id; none once the stream is over, however it ended.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.parser.next_event() {
                return Some(event);
            }
            let frame = tokio::time::timeout(SILENCE, self.body.frame()).await.ok()??.ok()?;
            if let Some(data) = frame.data_ref() {
                self.parser.push(data).ok()?;
            }
        }
    }
}

/// A message, or a batch of them, as one line; none for anything else: nothing but MCP may get to the client. Outside of its strings a
/// line's end is white space, and inside there is none.
pub fn message(text: &[u8]) -> Option<Vec<u8>> {
    // Reads it to its end, as UTF-8 too.
    serde_json::from_slice::<&RawValue>(text).ok().filter(|json| json.get().starts_with(['{', '[']))?;
    Some(text.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }).collect())
}

#[cfg(test)]
mod tests {
    use super::message;

    #[test]
    fn a_message_is_a_whole_object_or_array_and_becomes_one_line() {
        assert_eq!(message(b"{\n\"a\":\r1}\n").as_deref(), Some(&b"{ \"a\": 1} "[..]));
        assert!(message(b"[{}]").is_some());
        for text in [&b""[..], b"<html>", b"{", b"{} {}", b"1", b"\"a\"", b"{\"a\":\"\xff\"}", b"{}\n{}"] {
            assert_eq!(message(text), None, "{:?}", String::from_utf8_lossy(text));
        }
    }
}
