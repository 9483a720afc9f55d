//! A sender of webhooks.

use anyhow::{Context, Result};
use bytes::Bytes;
use hmac::{Hmac, KeyInit, Mac};
use http_body_util::{BodyExt, Full};
use hyper::{HeaderMap, Request, client::conn::http1::SendRequest};
use sha2::Sha256;
use tokio::net::TcpStream;

use crate::{Host, http::Connection, within};

/// What it was answered.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, as text.
    pub body: String,
}

/// A connection, on which one request follows the other.
pub struct Hooks {
    address: String,
    sender: SendRequest<Full<Bytes>>,
    _connection: Connection,
}

impl Hooks {
    /// Connects.
    ///
    /// # Errors
    /// It cannot.
    pub async fn connect(host: &Host) -> Result<Self> {
        Self::at(host.address()).await
    }

    /// Connects to this address.
    ///
    /// # Errors
    /// It cannot.
    pub async fn at(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = crate::http::handshake(stream).await?;
        Ok(Self { address: address.to_owned(), sender, _connection: connection })
    }

    /// Sends a request to a path, with the host's own name unless the headers have another.
    ///
    /// # Errors
    /// No answer.
    pub async fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Result<Answer> {
        let mut request = Request::builder().method(method).uri(path);
        if headers.iter().all(|(name, _)| *name != "host") {
            request = request.header("host", &self.address);
        }
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value)).body(Full::new(body.into()))?;
        within(path, async {
            self.sender.ready().await?;
            let response = self.sender.send_request(request).await?;
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            let body = response.into_body().collect().await?.to_bytes();
            Ok(Answer { status, headers, body: String::from_utf8(body.into()).context("the answer is no text")? })
        })
        .await
    }
}

/// Posts to a path over a connection of its own.
///
/// # Errors
/// No answer.
pub async fn hook(host: &Host, path: &str, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Result<Answer> {
    Hooks::connect(host).await?.send("POST", path, headers, body).await
}

/// HMAC-SHA-256 in hex.
///
/// # Panics
/// Never: a key has any length.
pub fn mac(key: &str, text: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).unwrap_or_else(|_| unreachable!("a key of any length"));
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}
