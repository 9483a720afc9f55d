//! One hop: from a request to the head of its answer, over a connection of its own.

use std::{
    error::Error,
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use hyper::{
    Request, Response, Uri,
    body::{Body, Bytes, Incoming},
    client::conn::http1,
    header::{HOST, HeaderValue, PROXY_AUTHORIZATION},
    http::uri::{Authority, PathAndQuery, Scheme},
};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
    task::AbortHandle,
    time::sleep,
};
use tokio_rustls::TlsConnector;
use url::Host;

use super::{
    Client, MAX_HEAD_BYTES,
    gate::{self, Origin},
    proxy::Proxy,
};
use crate::provider::grants::{Need, Rights};

/// Addresses of one name that are tried.
const MAX_ADDRESSES: usize = 8;
/// How long an address is alone before the next one is tried beside it (RFC 8305 §5).
const HEAD_START: Duration = Duration::from_millis(250);
/// Bytes of a proxy's answer to CONNECT.
const PROXY_HEAD_BYTES: usize = 8 << 10;

/// How far a hop came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Before anything was sent.
    Before,
    /// Looking for addresses.
    Resolving,
    /// Connecting, also to a proxy.
    Connecting,
    /// Agreeing on keys.
    Securing,
    /// Asking, and being answered.
    Asking,
}

/// Why a hop gave no answer.
#[derive(Debug)]
pub enum HopError {
    /// It is not granted.
    Denied(Need),
    /// Anything else.
    Failed(Stage, String),
}

impl From<Need> for HopError {
    fn from(need: Need) -> Self {
        Self::Denied(need)
    }
}

fn failed(stage: Stage, reason: impl ToString) -> HopError {
    HopError::Failed(stage, reason.to_string())
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// Keeps a connection going while its answer is read. Dropping it ends the connection.
#[derive(Debug)]
pub struct Connected(AbortHandle);

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Where a request goes by what.
enum Route<'a> {
    Direct(Vec<SocketAddr>),
    Through(&'a Proxy),
}

impl Client {
    /// Asks once, if the grants let it. The request's URI is its path and query; Host, and what leads to a proxy, is set here.
    pub(crate) async fn hop<B>(
        &self,
        rights: &Rights,
        origin: &Origin,
        mut request: Request<B>,
    ) -> Result<(Response<Incoming>, Connected), HopError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        gate::admit(rights.grants(), origin)?;
        let authority = origin.authority();
        let host = HeaderValue::from_str(&authority).map_err(|error| failed(Stage::Before, error))?;
        request.headers_mut().insert(HOST, host);
        let route = self.route(rights, origin).await?;
        let stream = match route {
            Route::Direct(addresses) => self.secured(origin, connect(&addresses).await?).await?,
            Route::Through(proxy) => {
                let addresses =
                    self.addresses(None, &proxy.origin).await.map_err(|error| failed(Stage::Connecting, proxied(proxy, error)))?;
                let to_proxy: Vec<_> = addresses.into_iter().map(|address| SocketAddr::new(address, proxy.origin.port)).collect();
                let stream = self.secured(&proxy.origin, connect(&to_proxy).await?).await?;
                if origin.https {
                    self.secured(origin, tunnel(proxy, origin, stream).await?).await?
                } else {
                    if let Some(authorization) = &proxy.authorization {
                        request.headers_mut().insert(PROXY_AUTHORIZATION, authorization.clone());
                    }
                    *request.uri_mut() = absolute(&authority, request.uri()).map_err(|error| failed(Stage::Before, error))?;
                    stream
                }
            }
        };
        let (mut sender, connection) = http1::Builder::new()
            .max_buf_size(MAX_HEAD_BYTES)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| failed(Stage::Connecting, error))?;
        // What becomes of the connection shows in the answer.
        let connected = Connected(tokio::spawn(async move { drop(connection.await) }).abort_handle());
        let answer = sender.send_request(request).await.map_err(|error| failed(Stage::Asking, told(&error)))?;
        Ok((answer, connected))
    }

    async fn route(&self, rights: &Rights, origin: &Origin) -> Result<Route<'_>, HopError> {
        let proxy = self.proxies.before(origin).map_err(|reason| failed(Stage::Connecting, reason))?;
        let (grants, found) = (rights.grants(), self.addresses(Some(rights), origin).await);
        let Some(proxy) = proxy else {
            let addresses = gate::reachable(grants, origin, &found.map_err(|reason| failed(Stage::Resolving, reason))?)?;
            return Ok(Route::Direct(addresses));
        };
        // It connects to whichever address it likes, so all have to be granted; and often it alone knows them.
        for address in found.unwrap_or_default() {
            gate::reachable(grants, origin, &[address])?;
        }
        Ok(Route::Through(proxy))
    }

    /// At least one, or why there is none. What is looked up for a provider takes one of its turns, until the lookup ends by itself: names
    /// that nobody answers for are no reason why others should wait.
    async fn addresses(&self, asking: Option<&Rights>, origin: &Origin) -> Result<Vec<IpAddr>, String> {
        if let Some(address) = origin.literal() {
            return Ok(vec![address]);
        }
        let name = origin.name().unwrap_or_default();
        let turn = match asking {
            Some(rights) => Some(rights.lookups().clone().acquire_owned().await.map_err(|error| error.to_string())?),
            None => None,
        };
        let resolving = self.resolver.resolve(name);
        // A task of its own, which whoever gives up does not end: the system's call cannot be called off.
        let looking = tokio::spawn(async move {
            let found = resolving.await;
            drop(turn);
            found
        });
        match looking.await.unwrap_or_else(|error| Err(io::Error::other(error))) {
            Ok(mut addresses) if !addresses.is_empty() => {
                let mut seen = Vec::new();
                addresses.retain(|address| !seen.contains(address) && (seen.push(*address), true).1);
                Ok(addresses)
            }
            Ok(_) => Err(format!("{name} has no address")),
            Err(error) => Err(format!("no address of {name} was found: {error}")),
        }
    }

    async fn secured(&self, origin: &Origin, stream: Box<dyn Stream>) -> Result<Box<dyn Stream>, HopError> {
        if !origin.https {
            return Ok(stream);
        }
        let config = self.trusted.config().await.map_err(|reason| failed(Stage::Securing, reason))?;
        let name = match &origin.host {
            Host::Domain(_) => {
                ServerName::try_from(origin.name().unwrap_or_default().to_owned()).map_err(|error| failed(Stage::Securing, error))?
            }
            Host::Ipv4(address) => ServerName::from(IpAddr::from(*address)),
            Host::Ipv6(address) => ServerName::from(IpAddr::from(*address)),
        };
        let secured = TlsConnector::from(Arc::clone(&config)).connect(name, stream).await;
        Ok(Box::new(secured.map_err(|error| failed(Stage::Securing, format!("no TLS with {origin}: {error}")))?))
    }
}

fn absolute(authority: &str, path: &Uri) -> Result<Uri, hyper::http::Error> {
    let path = path.path_and_query().cloned().unwrap_or(PathAndQuery::from_static("/"));
    Uri::builder().scheme(Scheme::HTTP).authority(Authority::try_from(authority)?).path_and_query(path).build()
}

/// The first that answers, of addresses that are tried one after the other and then side by side.
async fn connect(addresses: &[SocketAddr]) -> Result<Box<dyn Stream>, HopError> {
    let tries = addresses.iter().take(MAX_ADDRESSES).zip(0..).map(|(address, nth)| {
        let address = *address;
        async move {
            sleep(HEAD_START * nth).await;
            TcpStream::connect(address).await.map_err(|error| format!("{address}: {error}"))
        }
    });
    let mut tries: FuturesUnordered<_> = tries.collect();
    let mut reasons = Vec::new();
    while let Some(tried) = tries.next().await {
        match tried {
            Ok(stream) => {
                // A request is small, and waits for its answer.
                let _ = stream.set_nodelay(true);
                return Ok(Box::new(stream));
            }
            Err(reason) => reasons.push(reason),
        }
    }
    Err(failed(Stage::Connecting, format!("no connection: {}", reasons.join("; "))))
}

/// Has a proxy connect to a host (RFC 9110 §9.3.6).
async fn tunnel(proxy: &Proxy, origin: &Origin, mut stream: Box<dyn Stream>) -> Result<Box<dyn Stream>, HopError> {
    let target = format!("{}:{}", origin.host, origin.port);
    let mut head = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n").into_bytes();
    if let Some(authorization) = &proxy.authorization {
        head.extend_from_slice(b"Proxy-Authorization: ");
        head.extend_from_slice(authorization.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    let broken = |error: io::Error| failed(Stage::Connecting, proxied(proxy, error));
    stream.write_all(&head).await.map_err(broken)?;
    let mut answer = Vec::new();
    // Byte by byte: what follows the head is the host's.
    while !answer.ends_with(b"\r\n\r\n") {
        if answer.len() == PROXY_HEAD_BYTES {
            return Err(failed(Stage::Connecting, proxied(proxy, "its answer does not end")));
        }
        answer.push(stream.read_u8().await.map_err(broken)?);
    }
    let status = answer.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
    match status {
        [b'2', _, _] => Ok(stream),
        _ => Err(failed(Stage::Connecting, proxied(proxy, format!("it answered {}", String::from_utf8_lossy(status))))),
    }
}

fn proxied(proxy: &Proxy, reason: impl std::fmt::Display) -> String {
    format!("through the proxy {}: {reason}", proxy.origin)
}

/// What hyper says, in words for people.
fn told(error: &hyper::Error) -> String {
    if error.is_parse_too_large() {
        return format!("the head of the answer has more than {} KiB, or more than 100 headers", MAX_HEAD_BYTES >> 10);
    }
    if error.is_incomplete_message() || error.is_canceled() {
        return "the connection ended before the answer".into();
    }
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
