//! The accept loop: which connections there are, how long their headers may take, and how they end.
//!
//! Invariants: small answers go out at once (`TCP_NODELAY`; without it each waits some 40 ms on Linux); a connection that says nothing is
//! closed, and so is one that takes nothing of its answer; one more than the cap is told so and closed, and takes no room; nothing here
//! ends the loop but the shutdown.

use std::{convert::Infallible, io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    body::Body,
    http::{Request, Response},
};
use hyper::body::Incoming;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};
use tower_service::Service;

use super::{patient::Patient, timer::ConnectionTimer};

/// Connections at once, if the process may have the files: half for the streams of the sessions and listens there may be, and then some.
const CONNECTIONS: usize = 18_000;
/// How long a request's headers may take to arrive, counted from the end of the one before.
const HEADER_TIME: Duration = Duration::from_secs(30);
/// How long a client may take nothing of what is being written to it. The answer to a large read waits in memory for it, and a stream that
/// nobody reads keeps its session alive; a client that comes back to its stream is told what it missed.
const WRITE_TIME: Duration = Duration::from_secs(60);
/// How long requests in flight, and streams being ended, may take at the shutdown: more than a call into a provider, unless it may take
/// longer than it may by default.
const SHUTDOWN_TIME: Duration = Duration::from_secs(8);
/// Bytes of a request's headers. The longest URI there is takes 11 KiB of them, as base64 in `Mcp-Name`.
const HEADER_BYTES: usize = 32 << 10;
/// Bytes of an answer waiting for its socket, per connection. Past it hyper takes no further events from a stream, so a stalled reader
/// holds no more than this.
const BUFFER: usize = 64 << 10;
/// After an accept that failed for want of files or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);
/// Connections being told that there is no room. Past it they are closed without a word.
const REFUSALS: usize = 64;
/// How long such a one may take to hear it.
const REFUSAL_TIME: Duration = Duration::from_secs(1);
const REFUSAL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-type: text/plain\r\n\
content-length: 39\r\n\r\ntoo many connections: try again later\r\n";

/// Limits of the accept loop.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections at once. One more gets 503 and is closed.
    pub connections: usize,
    /// How long a request's headers may take to arrive; also how long a connection may idle between requests.
    pub header_time: Duration,
    /// How long a client may take nothing of what is being written to it; then its connection is closed.
    pub write_time: Duration,
    /// How long what is in flight may take at the shutdown.
    pub shutdown_time: Duration,
}

impl Default for Limits {
    /// 18,000 connections or 90 % of the file descriptors this process may have, whichever is less; 30 s for headers; 60 s for a client
    /// that stalls; 8 s at the shutdown.
    fn default() -> Self {
        Self { connections: connection_cap(descriptors()), header_time: HEADER_TIME, write_time: WRITE_TIME, shutdown_time: SHUTDOWN_TIME }
    }
}

/// Nine tenths of the files there may be: the others are for the log, the plugins and what they open.
fn connection_cap(files: Option<usize>) -> usize {
    files.map_or(CONNECTIONS, |files| CONNECTIONS.min(files / 10 * 9).max(1))
}

/// The soft limit of open files, where the system says it in a file.
fn descriptors() -> Option<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    limits.lines().find_map(|line| line.strip_prefix("Max open files")?.split_whitespace().next()?.parse().ok())
}

/// What is done with a connection before HTTP is spoken on it, such as TLS.
pub trait Handshake: Send + Sync + 'static {
    /// What HTTP is spoken on.
    type Io: AsyncRead + AsyncWrite + Unpin + Send + 'static;
    /// Whether HTTP can be spoken without it, so that one who finds no room can be told so.
    const IS_PLAIN: bool;

    /// Does it. The time it may take is that of the headers. It is dropped at the shutdown: nothing was asked yet.
    fn shake(&self, stream: TcpStream) -> impl Future<Output = io::Result<Self::Io>> + Send;
}

/// HTTP right away.
pub struct Plain;

impl Handshake for Plain {
    type Io = TcpStream;
    const IS_PLAIN: bool = true;

    async fn shake(&self, stream: TcpStream) -> io::Result<TcpStream> {
        Ok(stream)
    }
}

/// What answers requests: all services of HTTP that never fail and answer with axum's bodies, so axum's routers too.
pub trait Served: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible, Future: Send> + Clone + Send + 'static {}

impl<S> Served for S where
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible, Future: Send> + Clone + Send + 'static
{
}

/// Serves until `shutdown` resolves; then accepts nothing more, lets what is in flight finish, and after [`Limits::shutdown_time`] cuts it
/// off. `shutdown` is to end the streams ([`crate::mcp::Server::end_streams`]) before it resolves: they do not end by themselves.
///
/// `service` is [`super::service`], or an axum router.
pub async fn serve(
    listener: TcpListener,
    service: impl Served + Sync,
    handshake: impl Handshake,
    limits: Limits,
    shutdown: impl Future<Output = ()> + Send,
) {
    serve_each(listener, move |_| service.clone(), handshake, limits, shutdown).await;
}

/// [`serve`], with a service for each connection, by where it comes from.
pub async fn serve_each<S: Served, H: Handshake>(
    listener: TcpListener,
    service: impl Fn(SocketAddr) -> S + Send,
    handshake: H,
    limits: Limits,
    shutdown: impl Future<Output = ()> + Send,
) {
    let handshake = Arc::new(handshake);
    let stop = watch::Sender::new(false);
    let mut connections = JoinSet::new();
    let mut refusals = JoinSet::new();
    tokio::pin!(shutdown);
    let mut failing = false;
    loop {
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            Some(_) = connections.join_next() => continue,
            Some(_) = refusals.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) if connections.len() >= limits.connections => {
                tracing::warn!(cap = limits.connections, "too many connections");
                if H::IS_PLAIN && refusals.len() < REFUSALS {
                    refusals.spawn(refuse(stream, REFUSAL));
                }
            }
            Ok((stream, peer)) => {
                connections.spawn(connection(stream, service(peer), handshake.clone(), limits, stop.subscribe()));
            }
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                // Said once: it may go on for long.
                if !failing {
                    tracing::warn!(%error, "no connection can be accepted; trying again until one can");
                }
                failing = true;
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        }
        if std::mem::take(&mut failing) {
            tracing::info!("connections are accepted again");
        }
    }
    drop(listener);
    refusals.abort_all();
    stop.send_replace(true);
    let finished = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(limits.shutdown_time, finished).await.is_err() {
        tracing::warn!(connections = connections.len(), "cut off at the shutdown");
        connections.shutdown().await;
    }
}

async fn connection(
    stream: TcpStream,
    service: impl Served,
    handshake: Arc<impl Handshake>,
    limits: Limits,
    mut stop: watch::Receiver<bool>,
) {
    // It fails only on a connection that is gone already, which the next read shows.
    let _ = stream.set_nodelay(true);
    let shaken = tokio::select! {
        shaken = tokio::time::timeout(limits.header_time, handshake.shake(stream)) => shaken,
        _ = stop.wait_for(|stop| *stop) => return,
    };
    let io = match shaken {
        Ok(Ok(io)) => io,
        Ok(Err(error)) => return tracing::debug!(%error, "a handshake failed"),
        Err(_) => return tracing::debug!("a handshake took too long"),
    };
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(ConnectionTimer::default())
        .header_read_timeout(limits.header_time)
        .max_header_size(HEADER_BYTES)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(Patient::new(io, limits.write_time)), TowerToHyperService::new(service));
    let stopped = async { drop(stop.wait_for(|stop| *stop).await) };
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = stopped => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke");
    }
}

/// Errors of a connection that was gone before it was accepted.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// Says why not. What the client sends is read away, since closing on unread bytes would take the answer back.
pub(super) async fn refuse(mut stream: TcpStream, why: &[u8]) {
    let tell = async {
        stream.write_all(why).await?;
        stream.shutdown().await?;
        let mut unread = [0; 1024];
        while stream.read(&mut unread).await? > 0 {}
        io::Result::Ok(())
    };
    // Whether it listens to the end is its own affair.
    let _ = tokio::time::timeout(REFUSAL_TIME, tell).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_connection_cap_leaves_a_tenth_of_the_files() {
        for (files, cap) in [(None, CONNECTIONS), (Some(0), 1), (Some(1024), 918), (Some(20_000), 18_000), (Some(1 << 20), CONNECTIONS)] {
            assert_eq!(connection_cap(files), cap, "{files:?}");
        }
        assert_eq!(descriptors().is_some(), cfg!(target_os = "linux"));
    }
}
