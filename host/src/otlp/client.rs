//! One request to the collector, on a connection of its own: there is one every second at most, and then none for long.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    HeaderMap, Request, Response, StatusCode,
    body::Incoming,
    client::conn::http1,
    header::{self, HeaderValue},
};
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, pki_types::ServerName};
use serde::Deserialize;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    task::AbortHandle,
    time::timeout,
};
use tokio_rustls::TlsConnector;

use super::TIMEOUT;
use crate::config::Endpoint;

/// Bytes of an answer that are read: it has a number and a sentence.
const ANSWER_BYTES: usize = 64 << 10;
/// Bytes of an answer's head.
const HEAD_BYTES: usize = 16 << 10;
/// Characters of what the collector says that go into the log.
const SHOWN: usize = 200;

/// What became of a batch.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// It was taken, but for so many; why, for the log.
    Taken { rejected: u64, why: String },
    /// It is not taken, and would not be a second time.
    Refused(String),
    /// It may be tried again, after this time if the collector says so.
    Later(String, Option<Duration>),
}

/// See the module's page.
#[derive(Debug)]
pub(super) struct Client {
    endpoint: Endpoint,
    headers: HeaderMap,
    tls: Option<Arc<ClientConfig>>,
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Client {
    pub fn new(endpoint: Endpoint, headers: HeaderMap, tls: Option<Arc<ClientConfig>>) -> Self {
        Self { endpoint, headers, tls }
    }

    /// For people.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Sends a batch.
    pub async fn send(&self, body: Bytes) -> Answer {
        match timeout(TIMEOUT, self.exchange(body)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(reason)) => Answer::Later(reason, None),
            Err(_) => Answer::Later(format!("no answer within {}", humantime::format_duration(TIMEOUT)), None),
        }
    }

    async fn exchange(&self, body: Bytes) -> Result<Answer, String> {
        let Endpoint { host, port, authority, path, .. } = &self.endpoint;
        let mut request = Request::post(path).body(Full::new(body)).map_err(|error| error.to_string())?;
        *request.headers_mut() = self.headers.clone();
        let host_header = HeaderValue::try_from(authority).map_err(|error| error.to_string())?;
        request.headers_mut().insert(header::HOST, host_header);
        request.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let agent = concat!("OTel-OTLP-Exporter-Wharf/", env!("CARGO_PKG_VERSION"));
        request.headers_mut().insert(header::USER_AGENT, HeaderValue::from_static(agent));
        let stream = TcpStream::connect((host.as_str(), *port)).await.map_err(|error| format!("no connection: {error}"))?;
        let _ = stream.set_nodelay(true);
        let stream: Box<dyn Stream> = match &self.tls {
            None => Box::new(stream),
            Some(tls) => {
                let name = ServerName::try_from(host.clone()).map_err(|error| error.to_string())?;
                Box::new(TlsConnector::from(tls.clone()).connect(name, stream).await.map_err(|error| format!("no TLS: {error}"))?)
            }
        };
        let shaken = http1::Builder::new().max_buf_size(HEAD_BYTES).handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = shaken.map_err(|error| error.to_string())?;
        let _connection = AbortOnDrop(tokio::spawn(async move { drop(connection.await) }).abort_handle());
        answered(sender.send_request(request).await.map_err(|error| error.to_string())?).await
    }
}

/// OTLP/HTTP, "OTLP/HTTP Response": what each status means.
async fn answered(response: Response<Incoming>) -> Result<Answer, String> {
    let (head, body) = response.into_parts();
    let status = head.status;
    let retryable = [StatusCode::TOO_MANY_REQUESTS, StatusCode::BAD_GATEWAY, StatusCode::SERVICE_UNAVAILABLE, StatusCode::GATEWAY_TIMEOUT];
    if retryable.contains(&status) {
        return Ok(Answer::Later(format!("it answers {status}"), retry_after(&head.headers)));
    }
    // What cannot be read says nothing: the status is what counts.
    let body = Limited::new(body, ANSWER_BYTES).collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    Ok(if status.is_success() { taken(&body) } else { Answer::Refused(format!("it answers {status}: {}", shown(&body))) })
}

fn shown(body: &[u8]) -> String {
    // One line, whatever it has in it.
    String::from_utf8_lossy(body).chars().filter(|c| !c.is_control()).take(SHOWN).collect()
}

/// "Partial Success": some of it may not be taken, and is not to be sent again.
fn taken(body: &[u8]) -> Answer {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Response {
        partial_success: Option<Partial>,
    }
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Partial {
        /// A number, or text with one.
        rejected_spans: serde_json::Value,
        error_message: String,
    }
    let partial = serde_json::from_slice::<Response>(body).unwrap_or_default().partial_success.unwrap_or_default();
    let rejected = partial.rejected_spans.as_u64().or_else(|| partial.rejected_spans.as_str()?.parse().ok()).unwrap_or_default();
    Answer::Taken { rejected, why: shown(partial.error_message.as_bytes()) }
}

/// Seconds, or a date (RFC 9110 §10.2.3).
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    match text.parse() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => httpdate::parse_http_date(text).ok()?.duration_since(std::time::SystemTime::now()).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_taken_is_a_number_or_text() {
        let taken = |body: &str| match super::taken(body.as_bytes()) {
            Answer::Taken { rejected, why } => (rejected, why),
            other => panic!("{other:?}"),
        };
        assert_eq!(taken(r#"{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too\nold"}}"#), (3, "tooold".into()));
        assert_eq!(taken(r#"{"partialSuccess":{"rejectedSpans":2}}"#), (2, String::new()));
        for nothing in ["", "{}", "<html>", r#"{"partialSuccess":null}"#, r#"{"partialSuccess":{}}"#] {
            assert_eq!(taken(nothing), (0, String::new()), "{nothing}");
        }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let after = |text: &'static str| retry_after(&HeaderMap::from_iter([(header::RETRY_AFTER, HeaderValue::from_static(text))]));
        assert_eq!(after("7"), Some(Duration::from_secs(7)));
        assert_eq!(after("Mon, 30 Nov 1998 12:00:00 GMT"), None);
        assert_eq!(after("soon"), None);
    }
}
