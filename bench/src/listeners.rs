//! Many clients that listen, each on a connection of its own, as light as can be.

use std::{net::SocketAddr, time::Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::json;
use tokio::{io, net::TcpStream, sync::mpsc, task::JoinSet};

use crate::{
    http::{Connection, find},
    mcp::{self, Era},
};

const UPDATED: &[u8] = b"notifications/resources/updated";
/// What one look at a socket takes.
const CHUNK: usize = 16 << 10;

/// They listen until this is dropped.
pub struct Listeners {
    _tasks: JoinSet<()>,
}

impl Listeners {
    /// Opens so many that listen to these resources. `tell` gets the number of whoever is told of an update, and when.
    pub async fn open(
        address: SocketAddr,
        era: &str,
        uris: &[&str],
        count: usize,
        tell: Option<mpsc::UnboundedSender<(usize, Instant)>>,
    ) -> Result<Self> {
        let mut tasks = JoinSet::new();
        let mut asking = Connection::open(address).await?;
        for number in 0..count {
            let stream = match era {
                "modern" => modern(address, uris).await?,
                _ => legacy(&mut asking, address, uris).await?,
            };
            let tell = tell.clone();
            tasks.spawn(async move {
                // A server that ends the stream ends the measurement: nobody is told any more.
                let _ = hear(stream, number, tell).await;
            });
        }
        Ok(Self { _tasks: tasks })
    }
}

async fn modern(address: SocketAddr, uris: &[&str]) -> Result<TcpStream> {
    let mut own = Connection::open(address).await?.slim();
    let (status, _) = own.begin(&mcp::listen_to(address, uris)).await?;
    ensure!(status == 200, "status {status} for a listen");
    own.wait_for(b"acknowledged").await?;
    own.wait_for(b"\n\n").await?;
    Ok(own.idle())
}

async fn legacy(asking: &mut Connection, address: SocketAddr, uris: &[&str]) -> Result<TcpStream> {
    let session = mcp::initialize(asking, address).await?;
    let mut own = Connection::open(address).await?.slim();
    let (status, _) = own.begin(&mcp::stream(address, &session)).await?;
    ensure!(status == 200, "status {status} for a stream");
    let era = Era::Legacy { session };
    for uri in uris {
        let subscribe = mcp::request(address, "/mcp", &era, "resources/subscribe", json!({ "uri": uri }), None);
        let status = asking.exchange(&subscribe).await?;
        ensure!(status == 200, "status {status} for a subscribe");
    }
    Ok(own.idle())
}

/// Reads a stream away, and tells of each update in it.
async fn hear(stream: TcpStream, number: usize, tell: Option<mpsc::UnboundedSender<(usize, Instant)>>) -> Result<()> {
    // The end of what was read, in which an update may have begun.
    let mut rest = Vec::new();
    loop {
        stream.readable().await?;
        let mut chunk = [0; CHUNK];
        let read = match stream.try_read(&mut chunk) {
            Ok(0) => bail!("the stream has ended"),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error.into()),
        };
        let now = Instant::now();
        rest.extend_from_slice(&chunk[..read]);
        let mut from = 0;
        while let Some(at) = find(&rest[from..], UPDATED) {
            from += at + UPDATED.len();
            if let Some(tell) = &tell {
                tell.send((number, now)).context("nobody wants to know")?;
            }
        }
        let kept = from.max(rest.len().saturating_sub(UPDATED.len() - 1));
        rest.drain(..kept);
        rest.shrink_to(UPDATED.len());
    }
}
