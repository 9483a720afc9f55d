//! What a client sends on a connection, from the first byte to the end.

use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, duplex},
    time::timeout,
};
use wharf::transport::http::{HttpSettings, service};

use crate::world::World;

/// By a clock that does not wait. Streams that a client may keep open go on for ever.
const LONG: Duration = Duration::from_secs(120);
/// In the head of an answer that may go on for ever.
const STREAM: &[u8] = b"text/event-stream";
/// More than any answer here has.
const ROOM: usize = 1 << 20;

pub fn run(data: &[u8]) {
    World::with(|world| {
        let service = service(world.host.server().clone(), HttpSettings::default());
        let mut said = Vec::new();
        let ended = world.block_on(async {
            let (mut client, server) = duplex(ROOM);
            let connection = http1::Builder::new().serve_connection(TokioIo::new(server), TowerToHyperService::new(service));
            let asked = async {
                client.write_all(data).await.ok();
                client.shutdown().await.ok();
                client.read_to_end(&mut said).await.ok();
            };
            timeout(LONG, async { tokio::join!(asked, connection) }).await.is_ok()
        });
        let is_stream = said.windows(STREAM.len()).any(|window| window == STREAM);
        assert!(ended || is_stream, "it does not end: {}", String::from_utf8_lossy(&said));
        assert!(said.is_empty() || said.starts_with(b"HTTP/1.1 "), "{}", String::from_utf8_lossy(&said));
    });
}
