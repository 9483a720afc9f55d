//! A closed loop: so many connections, each sending its next request as soon as it has its answer. It runs on one thread, so that the server
//! has the rest of the machine.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use tokio::task::JoinSet;

use crate::{
    http::{Connection, find},
    mcp::ID,
};

/// An answer that is an event stream has event ids, which may take so many more bytes later.
const EVENT_DIGITS: usize = 16;
/// Ids for each connection: more than it can use.
const IDS_EACH: u32 = 10_000_000;
/// A server that answers nothing for so long is stuck.
const STUCK: Duration = Duration::from_secs(30);

/// What is sent to whom.
#[derive(Clone)]
pub struct Target {
    pub address: SocketAddr,
    /// A whole HTTP request.
    pub request: Vec<u8>,
    /// Bytes of the body that a right answer has.
    pub length: usize,
}

/// What came of one run.
pub struct Run {
    pub per_second: f64,
    /// All requests, those of the warm-up included.
    pub requests: usize,
    /// Of each request, in nanoseconds.
    pub latencies: Vec<u32>,
}

/// Loads a server: first for `warm_up`, which does not count, then for `time`.
pub async fn run(target: &Target, connections: usize, warm_up: Duration, time: Duration) -> Result<Run> {
    let mut open = Vec::with_capacity(connections);
    for _ in 0..connections {
        open.push(Connection::open(target.address).await?);
    }
    let counts = Instant::now() + warm_up;
    let mut last = counts + time;
    let mut tasks = JoinSet::new();
    for (number, connection) in (1..).zip(open) {
        tasks.spawn(one(connection, target.clone(), ID + number * IDS_EACH, counts, counts + time));
    }
    let (mut requests, mut latencies) = (0, Vec::new());
    let all = async {
        while let Some(done) = tasks.join_next().await {
            let (own, mut times, ended) = done??;
            requests += own;
            last = last.max(ended);
            latencies.append(&mut times);
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(warm_up + time + STUCK, all).await.context("a request got no answer")??;
    Ok(Run { per_second: latencies.len() as f64 / (last - counts).as_secs_f64(), requests, latencies })
}

/// How many requests it made, the latencies of those answers that came between `counts` and `end`, and when it ended: at `end`, or later if
/// no answer had come by then, with the first that does.
async fn one(
    mut connection: Connection,
    mut target: Target,
    first: u32,
    counts: Instant,
    end: Instant,
) -> Result<(usize, Vec<u32>, Instant)> {
    let (mut requests, mut latencies) = (0, Vec::with_capacity(1 << 14));
    // In the URI as well, where each is to be of its own.
    let id_at = all(&target.request, ID.to_string().as_bytes());
    ensure!(!id_at.is_empty(), "a request without an id");
    let mut ids = first..;
    let mut began = Instant::now();
    loop {
        let id = ids.next().context("no more ids")?.to_string();
        for &at in &id_at {
            target.request[at..at + id.len()].copy_from_slice(id.as_bytes());
        }
        let status = connection.exchange(&target.request).await?;
        // The numbers of events grow in a stream.
        if status != 200 || connection.body().len().abs_diff(target.length) > EVENT_DIGITS {
            bail!("status {status} and {} bytes instead of 200 and {}", connection.body().len(), target.length);
        }
        requests += 1;
        let now = Instant::now();
        if now >= end && !latencies.is_empty() {
            return Ok((requests, latencies, end));
        }
        if now >= counts {
            latencies.push(u32::try_from((now - began).as_nanos()).unwrap_or(u32::MAX));
        }
        if now >= end {
            return Ok((requests, latencies, now));
        }
        began = now;
    }
}

/// Where this text is in that one.
fn all(text: &[u8], wanted: &[u8]) -> Vec<usize> {
    let (mut places, mut from) = (Vec::new(), 0);
    while let Some(at) = find(&text[from..], wanted) {
        places.push(from + at);
        from += at + wanted.len();
    }
    places
}
