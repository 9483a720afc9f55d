//! What an authorization server publishes, asked for.
//!
//! Invariants: it is bounded in bytes and in time before it is looked at; a redirect is not followed, since then somebody else would speak
//! for the issuer. No proxy is used.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::{
    Request, StatusCode,
    client::conn::http1,
    header::{ACCEPT, HOST, HeaderValue, USER_AGENT},
};
use hyper_util::rt::TokioIo;
use rustls::{
    ClientConfig,
    pki_types::{CertificateDer, ServerName},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;
use url::{Position, Url};

use crate::provider::grants::http::client_config;

/// For one document, from the name's lookup to the last byte.
pub const TIME: Duration = Duration::from_secs(5);
/// Bytes of a document: the largest sets of keys have some 20 KiB.
pub const MAX_BYTES: usize = 256 << 10;
/// Bytes of its head.
const MAX_HEAD_BYTES: usize = 32 << 10;

/// Asks.
pub struct Client {
    /// Or why there is no TLS.
    tls: Result<Arc<ClientConfig>, String>,
}

impl Client {
    /// One that trusts these besides the system's roots. Blocks: it reads files.
    pub fn new(authorities: Vec<CertificateDer<'static>>) -> Self {
        Self { tls: client_config(authorities) }
    }

    /// Whether it can speak TLS.
    pub fn check(&self) -> Result<(), String> {
        self.tls.as_ref().map(drop).map_err(Clone::clone)
    }

    /// The document there. The error says why not, with the URL.
    pub async fn get(&self, url: &Url) -> Result<Vec<u8>, String> {
        let got = tokio::time::timeout(TIME, self.ask(url)).await;
        got.unwrap_or_else(|_| Err(format!("no answer within {TIME:?}"))).map_err(|reason| format!("{url}: {reason}"))
    }

    async fn ask(&self, url: &Url) -> Result<Vec<u8>, String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let host = url.host_str().ok_or("it has no host")?;
        let name = host.trim_start_matches('[').trim_end_matches(']');
        let port = url.port_or_known_default().ok_or("it has no port")?;
        let stream = TcpStream::connect((name, port)).await.map_err(|error| text(&error))?;
        if url.scheme() != "https" {
            return exchange(stream, url).await;
        }
        let tls = self.tls.clone()?;
        let server = ServerName::try_from(name.to_owned()).map_err(|error| text(&error))?;
        let stream = TlsConnector::from(tls).connect(server, stream).await.map_err(|error| text(&error))?;
        exchange(stream, url).await
    }
}

async fn exchange(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, url: &Url) -> Result<Vec<u8>, String> {
    let failed = |error: hyper::Error| error.to_string();
    let (mut sender, connection) =
        http1::Builder::new().max_buf_size(MAX_HEAD_BYTES).handshake(TokioIo::new(stream)).await.map_err(failed)?;
    let request = Request::get(&url[Position::BeforePath..Position::AfterQuery])
        .header(HOST, &url[Position::BeforeHost..Position::AfterPort])
        .header(ACCEPT, HeaderValue::from_static("application/json"))
        .header(USER_AGENT, HeaderValue::from_static(concat!("wharf/", env!("CARGO_PKG_VERSION"))))
        .body(Empty::<Bytes>::new())
        .map_err(|error| error.to_string())?;
    let answer = async {
        let response = sender.send_request(request).await.map_err(failed)?;
        if response.status() != StatusCode::OK {
            return Err(format!("it answers {}", response.status()));
        }
        let body = Limited::new(response.into_body(), MAX_BYTES).collect().await;
        Ok(body.map_err(|_| format!("it breaks off, or has more than {MAX_BYTES} bytes"))?.to_bytes().to_vec())
    };
    // It ends with the answer, and so does the connection: neither outlives this.
    tokio::pin!(answer, connection);
    tokio::select! {
        answer = &mut answer => answer,
        ended = &mut connection => match ended {
            Ok(()) => answer.await,
            Err(error) => Err(failed(error)),
        },
    }
}
