//! HTTP as plain as it comes: one connection a request, and event streams read, or not read, by hand.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    task::JoinHandle,
};

/// What the kernel lets a stalled client receive without anyone reading: as little as can be had.
const STALLED_RECEIVE_BUFFER: u32 = 4096;

/// Keeps a connection going. The connection ends when this is dropped.
pub(crate) struct Connection(JoinHandle<()>);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A connection for one request after the other.
pub(crate) async fn handshake(stream: TcpStream) -> Result<(http1::SendRequest<Full<Bytes>>, Connection)> {
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let connection = Connection(tokio::spawn(async move {
        // How it ended shows in the response.
        let _ = connection.await;
    }));
    Ok((sender, connection))
}

/// Sends one request over a connection of its own.
pub(crate) async fn send(address: &str, request: Request<Full<Bytes>>) -> Result<(Response<Incoming>, Connection)> {
    let stream = TcpStream::connect(address).await.with_context(|| format!("cannot connect to {address}"))?;
    let (mut sender, connection) = handshake(stream).await?;
    Ok((sender.send_request(request).await?, connection))
}

/// An event stream, read event by event.
pub struct Events {
    body: Incoming,
    unread: Vec<u8>,
    _connection: Connection,
}

impl Events {
    pub(crate) fn of(response: Response<Incoming>, connection: Connection) -> Result<Self> {
        let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if response.status() != 200 || !kind.starts_with("text/event-stream") {
            bail!("no event stream, but {} with {kind:?}", response.status());
        }
        Ok(Self { body: response.into_body(), unread: Vec::new(), _connection: connection })
    }

    /// The next message, or `None` at the end of the stream. Comments and events without data are passed over.
    ///
    /// # Errors
    /// The connection broke, or an event is no JSON.
    pub async fn next(&mut self) -> Result<Option<Value>> {
        loop {
            while let Some(end) = self.unread.windows(2).position(|pair| pair == b"\n\n") {
                let event: Vec<u8> = self.unread.drain(..end + 2).collect();
                if let Some(message) = message(&event)? {
                    return Ok(Some(message));
                }
            }
            match self.body.frame().await {
                None => return Ok(None),
                Some(frame) => {
                    if let Some(data) = frame?.data_ref() {
                        self.unread.extend(data.iter().filter(|byte| **byte != b'\r'));
                    }
                }
            }
        }
    }
}

fn message(event: &[u8]) -> Result<Option<Value>> {
    let event = std::str::from_utf8(event)?;
    let data: Vec<&str> =
        event.lines().filter_map(|line| line.strip_prefix("data:")).map(|data| data.strip_prefix(' ').unwrap_or(data)).collect();
    let data = data.join("\n");
    if data.is_empty() {
        return Ok(None);
    }
    serde_json::from_str(&data).map(Some).with_context(|| format!("an event that is no JSON: {data}"))
}

/// A client that asked for an event stream, saw it begin, and reads no further.
pub struct Stalled {
    _stream: TcpStream,
}

impl Stalled {
    /// Sends a request, given as its head without the empty line, and reads only the first bytes of the answer's head.
    pub(crate) async fn behind(address: &str, head: &str, body: &str) -> Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.set_recv_buffer_size(STALLED_RECEIVE_BUFFER)?;
        let mut stream = socket.connect(address.parse::<SocketAddr>()?).await?;
        stream.write_all(format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).as_bytes()).await?;
        let mut begin = [0; 12];
        stream.read_exact(&mut begin).await?;
        if &begin != b"HTTP/1.1 200" {
            bail!("no event stream, but {}", String::from_utf8_lossy(&begin));
        }
        Ok(Self { _stream: stream })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_empty_events_are_no_messages() {
        assert_eq!(message(b": keep-alive\n\n").unwrap(), None);
        assert_eq!(message(b"id: 1-0\ndata:\nretry: 3000\n\n").unwrap(), None);
        assert_eq!(message(b"id: 1-1\ndata: {\"a\":\ndata: 1}\n\n").unwrap(), Some(serde_json::json!({ "a": 1 })));
    }
}
