//! A web server that answers exactly what it is told to, over HTTP or HTTPS, on this machine.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use rcgen::{BasicConstraints, Certificate, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::AbortHandle,
};
use tokio_rustls::TlsAcceptor;

/// A request, as it came.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The request line and the headers.
    pub head: String,
    pub body: Vec<u8>,
}

impl Seen {
    pub fn method(&self) -> &str {
        self.head.split(' ').next().unwrap()
    }

    pub fn target(&self) -> &str {
        self.head.split(' ').nth(1).unwrap()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(": "))
            .find(|(own, _)| own.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }
}

/// What to do about it. The connection ends afterwards.
pub enum Reply {
    /// Send these.
    Bytes(Vec<u8>),
    /// Send the first, and then the second again and again.
    Endless(Vec<u8>, Vec<u8>),
    /// Nothing, for as long as the other side likes.
    Never,
    /// Nothing until the number that the test holds is at least this, and then this.
    After(watch::Receiver<usize>, usize, Vec<u8>),
    /// Be a tunnel to this address.
    Tunnel(SocketAddr),
}

/// An answer with this status line, these header lines, and this body.
pub fn answer(status: &str, headers: &[&str], body: &[u8]) -> Reply {
    Reply::Bytes(bytes(status, headers, body))
}

pub fn bytes(status: &str, headers: &[&str], body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 {status}\r\n").into_bytes();
    for header in headers {
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
    bytes.extend_from_slice(body);
    bytes
}

pub fn ok(body: &str) -> Reply {
    answer("200 OK", &[], body.as_bytes())
}

/// A certificate authority that nobody else knows.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub certificate: CertificateDer<'static>,
    pub pem: String,
}

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let (pem, der) = (certificate.pem(), certificate.der().clone());
        Self { issuer: Issuer::new(params, key), certificate: der, pem }
    }

    /// A certificate for these names and its key, in PEM.
    pub fn pem(&self, names: &[&str]) -> (String, String) {
        let (certificate, key) = self.certified(names);
        (certificate.pem(), key.serialize_pem())
    }

    fn certified(&self, names: &[&str]) -> (Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(names.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap();
        (params.signed_by(&key, &self.issuer).unwrap(), key)
    }

    /// What a server for these names needs.
    pub fn server(&self, names: &[&str]) -> Arc<ServerConfig> {
        let (certificate, key) = self.certified(names);
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        Arc::new(config)
    }
}

type Handler = Arc<dyn Fn(&Seen) -> Reply + Send + Sync>;

/// A server. It ends when this is dropped.
pub struct Web {
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    count: watch::Receiver<usize>,
    /// Connections that have ended, by themselves or by the other side.
    ended: watch::Receiver<usize>,
    task: AbortHandle,
}

impl Drop for Web {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Web {
    pub async fn http(handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        Self::start(None, Arc::new(handler)).await
    }

    pub async fn https(config: Arc<ServerConfig>, handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        Self::start(Some(config.into()), Arc::new(handler)).await
    }

    async fn start(tls: Option<TlsAcceptor>, handler: Handler) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let (counting, count) = watch::channel(0);
        let (ending, ended) = watch::channel(0);
        let (counting, ending) = (Arc::new(counting), Arc::new(ending));
        let list = seen.clone();
        let task = tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                let (tls, handler, list, counting, ending) = (tls.clone(), handler.clone(), list.clone(), counting.clone(), ending.clone());
                tokio::spawn(async move {
                    let take = |seen: &Seen| {
                        let reply = handler(seen);
                        list.lock().unwrap().push(seen.clone());
                        counting.send_modify(|count| *count += 1);
                        reply
                    };
                    match tls {
                        None => serve(stream, take).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, take).await;
                            }
                        }
                    }
                    ending.send_modify(|ended| *ended += 1);
                });
            }
        })
        .abort_handle();
        Self { address, seen, count, ended, task }
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub fn count(&self) -> usize {
        *self.count.borrow()
    }

    /// Returns once there were so many requests.
    pub async fn asked(&self, times: usize) {
        self.count.clone().wait_for(|count| *count >= times).await.unwrap();
    }

    /// Returns once so many connections have ended.
    pub async fn left(&self, times: usize) {
        self.ended.clone().wait_for(|ended| *ended >= times).await.unwrap();
    }
}

async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, take: impl Fn(&Seen) -> Reply) {
    let Some(seen) = read(&mut stream).await else { return };
    match take(&seen) {
        Reply::Bytes(bytes) => {
            let _ = stream.write_all(&bytes).await;
        }
        Reply::Endless(first, again) => {
            let mut sent = stream.write_all(&first).await;
            while sent.is_ok() {
                sent = stream.write_all(&again).await;
                tokio::task::yield_now().await;
            }
        }
        Reply::Never => {
            let _ = stream.read(&mut [0; 64]).await;
        }
        Reply::After(mut number, least, bytes) => {
            let mut one = [0; 1];
            let reached = async { number.wait_for(|number| *number >= least).await.is_ok() };
            let go = tokio::select! {
                reached = reached => reached,
                _ = stream.read(&mut one) => false,
            };
            if go {
                let _ = stream.write_all(&bytes).await;
            }
        }
        Reply::Tunnel(address) => {
            if let Ok(mut other) = TcpStream::connect(address).await
                && stream.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").await.is_ok()
            {
                let _ = copy_bidirectional(&mut stream, &mut other).await;
            }
        }
    }
    let _ = stream.shutdown().await;
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Option<Seen> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut seen = Seen { head, body: bytes[end..].to_vec() };
    if seen.header("transfer-encoding").is_some() {
        while !seen.body.ends_with(b"0\r\n\r\n") {
            if stream.read_buf(&mut seen.body).await.ok()? == 0 {
                return None;
            }
        }
    }
    let length = seen.header("content-length").map_or(0, |length| length.parse().unwrap());
    while seen.body.len() < length {
        if stream.read_buf(&mut seen.body).await.ok()? == 0 {
            return None;
        }
    }
    Some(seen)
}
