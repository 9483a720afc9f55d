//! Connections to a host, in plain or by TLS.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::future::BoxFuture;
use hyper::{Uri, rt};
use hyper_util::{
    client::legacy::connect::{Connected, Connection, HttpConnector},
    rt::TokioIo,
};
use rustls::{ClientConfig, pki_types::ServerName};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tower_service::Service;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Makes them.
#[derive(Clone)]
pub(super) struct Connector {
    http: HttpConnector,
    tls: Option<Arc<ClientConfig>>,
    /// For TLS.
    time: Duration,
}

impl Connector {
    /// By TLS if there is a configuration for it. Connecting may take so long, and so may TLS after it.
    pub fn new(tls: Option<Arc<ClientConfig>>, time: Duration) -> Self {
        let mut http = HttpConnector::new();
        http.set_nodelay(true);
        http.set_connect_timeout(Some(time));
        http.enforce_http(false);
        Self { http, tls, time }
    }
}

impl Service<Uri> for Connector {
    type Response = Link;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Link, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.http.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (tls, time) = (self.tls.clone(), self.time);
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let connecting = self.http.call(uri);
        Box::pin(async move {
            let stream = connecting.await?.into_inner();
            let Some(tls) = tls else { return Ok(Link(TokioIo::new(Box::new(stream)))) };
            let shaking = TlsConnector::from(tls).connect(ServerName::try_from(host)?, stream);
            let stream = tokio::time::timeout(time, shaking).await.map_err(|_| format!("no TLS within {} s", time.as_secs()))??;
            Ok(Link(TokioIo::new(Box::new(stream))))
        })
    }
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// One connection.
pub(super) struct Link(TokioIo<Box<dyn Stream>>);

impl Connection for Link {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl rt::Read for Link {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: rt::ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl rt::Write for Link {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
