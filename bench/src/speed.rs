//! Requests a second and latencies, of all servers in turn: A B C A B C …, so that whatever else the machine does meets all of them alike.

use std::{fs, path::Path, time::Duration};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::{
    Options,
    http::Connection,
    load::{self, Target},
    mcp::{self, Era},
    report::{Measured, Table},
    servers::{PEERS, Server},
};

const SIZES: [(&str, usize); 4] = [("256", 256), ("4096", 4 << 10), ("65536", 64 << 10), ("1048576", 1 << 20)];
/// How the component answers: see `tests/guests/texts`. The lane's name, and that of its texts.
const KINDS: [(&str, &str); 3] = [("wharf, new", "new"), ("wharf, same", "same"), ("wharf, kept", "kept")];
const LISTS: [usize; 2] = [100, 10_000];
const CONNECTIONS: [usize; 3] = [1, 32, 256];
const WORK_CONNECTIONS: [usize; 3] = [1, 2, 8];
const WORK_US: u32 = 1000;

/// How long is measured.
#[derive(Clone, Copy)]
struct Pace {
    rounds: usize,
    warm_up: Duration,
    time: Duration,
}

impl Pace {
    fn of(options: &Options) -> Self {
        if options.quick {
            Self { rounds: 1, warm_up: Duration::from_millis(20), time: Duration::from_millis(80) }
        } else {
            // All reads take two minutes so, all lists half a minute; the medians of two runs differ by some 3 % on a quiet machine.
            Self { rounds: 5, warm_up: Duration::from_millis(80), time: Duration::from_millis(300) }
        }
    }
}

/// One of the servers in one case, and what it measured.
struct Lane<'a> {
    name: &'static str,
    server: &'a Server,
    target: Target,
    per_second: Vec<f64>,
    latencies: Vec<u32>,
    requests: usize,
    computed: Option<Duration>,
}

/// A server in another language, with a session of its own.
struct Peer {
    name: &'static str,
    server: Server,
    legacy: Era,
}

impl Peer {
    /// All of them, or none if they are not asked for.
    async fn all(options: &Options, folder: &Path) -> Result<Vec<Self>> {
        let mut peers = Vec::new();
        for (name, command) in PEERS.iter().filter(|_| options.peers) {
            let server = Server::peer(command, folder).with_context(|| format!("{name} does not start"))?;
            let legacy = session(&server).await.with_context(|| (*name).to_owned())?;
            peers.push(Self { name, server, legacy });
        }
        Ok(peers)
    }

    /// The same era, with its own session.
    fn era<'a>(&'a self, era: &'a Era) -> &'a Era {
        match era {
            Era::Modern => era,
            Era::Legacy { .. } => &self.legacy,
        }
    }
}

/// `resources/read`, of each size, in both eras, on one connection and on many; of the host in three ways: a text that the provider makes
/// anew at each read, one of which it says each time that nothing changed, and one that it lets the host keep.
pub async fn read(options: &Options) -> Result<Table> {
    let folder = tempfile::tempdir()?;
    let wharf = Server::wharf(&options.wharf, &options.component, LISTS[0], &made(folder.path(), "wharf")?)?;
    let shared = made(folder.path(), "shared")?;
    fs::write(shared.join("page.list"), "{\"resources\":[]}")?;
    let legacy = session(&wharf).await?;
    for (name, size) in SIZES {
        for era in [&Era::Modern, &legacy] {
            for (_, kind) in KINDS {
                let (body, message) = answer(&read_request(&wharf, "/mcp", era, &format!("{kind}/{name}")), &wharf).await?;
                let text = message["result"]["contents"][0]["text"].as_str().with_context(|| format!("no text in {message}"))?;
                if text.len() != size {
                    bail!("{} bytes of text instead of {size}", text.len());
                }
                fs::write(shared.join(format!("{name}-{}.json", era.name())), body)?;
                fs::write(shared.join(format!("{name}.txt")), text)?;
            }
        }
    }
    let (axum, rmcp) = (Server::rival("axum", &shared)?, Server::rival("rmcp", &shared)?);
    let rmcp_legacy = session(&rmcp).await?;
    let peers = Peer::all(options, &shared).await?;

    let mut table = Table::default();
    for (name, size) in SIZES {
        for (era, rmcp_era) in [(&Era::Modern, &Era::Modern), (&legacy, &rmcp_legacy)] {
            let rivals = [
                ("axum", &axum, format!("/ready/{name}-{}", era.name()), era),
                ("axum + JSON", &axum, "/json".to_owned(), era),
                ("rmcp", &rmcp, "/mcp".to_owned(), rmcp_era),
            ];
            let [axum_lane, json_lane, rmcp_lane] =
                rivals.map(|(lane, server, path, era)| (lane, server, read_request(server, &path, era, name)));
            let own = KINDS.map(|(lane, kind)| (lane, &wharf, read_request(&wharf, "/mcp", era, &format!("{kind}/{name}"))));
            let peers = peers.iter().map(|peer| (peer.name, &peer.server, read_request(&peer.server, "/mcp", peer.era(era), name)));
            let lanes: Vec<_> = [axum_lane, json_lane].into_iter().chain(own).chain([rmcp_lane]).chain(peers).collect();
            for connections in CONNECTIONS {
                let case = format!("read {}", bytes(size));
                race(&mut table, options, &case, era, connections, &lanes).await?;
            }
        }
    }
    Ok(table)
}

/// Reads for which the provider computes for a millisecond, each of a URI of its own, with one instance of it and with as many as there are
/// processors.
pub async fn work(options: &Options) -> Result<Table> {
    let folder = tempfile::tempdir()?;
    let host = |name: &str, lines: &str| Server::wharf_with(&options.wharf, &options.component, 0, &made(folder.path(), name)?, lines);
    let (one, several) = (host("one", "limits = { instances = 1 }")?, host("several", "")?);
    let name = format!("work/{WORK_US}/{}", mcp::ID);
    let read = |server| read_request(server, "/mcp", &Era::Modern, &name);
    let lanes = [("1 instance", &one, read(&one)), ("several", &several, read(&several))];
    let mut table = Table::default();
    for connections in WORK_CONNECTIONS {
        race(&mut table, options, "1 ms of work", &Era::Modern, connections, &lanes).await?;
    }
    Ok(table)
}

/// The first page of `resources/list`, of a short and a long list.
pub async fn list(options: &Options) -> Result<Table> {
    let mut table = Table::default();
    for entries in LISTS {
        let folder = tempfile::tempdir()?;
        let wharf = Server::wharf(&options.wharf, &options.component, entries, &made(folder.path(), "wharf")?)?;
        let shared = made(folder.path(), "shared")?;
        let legacy = session(&wharf).await?;
        for era in [&Era::Modern, &legacy] {
            let (body, message) = answer(&list_request(&wharf, "/mcp", era), &wharf).await?;
            if message["result"]["resources"].as_array().is_none_or(Vec::is_empty) {
                bail!("no resources in {message}");
            }
            fs::write(shared.join(format!("list-{}.json", era.name())), body)?;
            fs::write(shared.join("page.list"), message["result"].to_string())?;
        }
        let (axum, rmcp) = (Server::rival("axum", &shared)?, Server::rival("rmcp", &shared)?);
        let rmcp_legacy = session(&rmcp).await?;
        let peers = Peer::all(options, &shared).await?;
        for (era, rmcp_era) in [(&Era::Modern, &Era::Modern), (&legacy, &rmcp_legacy)] {
            let own = [
                ("axum", &axum, list_request(&axum, &format!("/ready/list-{}", era.name()), era)),
                ("wharf", &wharf, list_request(&wharf, "/mcp", era)),
                ("rmcp", &rmcp, list_request(&rmcp, "/mcp", rmcp_era)),
            ];
            let peers = peers.iter().map(|peer| (peer.name, &peer.server, list_request(&peer.server, "/mcp", peer.era(era))));
            let lanes: Vec<_> = own.into_iter().chain(peers).collect();
            for connections in CONNECTIONS {
                race(&mut table, options, &format!("list of {entries}"), era, connections, &lanes).await?;
            }
        }
    }
    Ok(table)
}

async fn race(
    table: &mut Table,
    options: &Options,
    case: &str,
    era: &Era,
    connections: usize,
    lanes: &[(&'static str, &Server, Vec<u8>)],
) -> Result<()> {
    if options.only.as_ref().is_some_and(|only| !format!("{case} {} {connections}", era.name()).contains(only)) {
        return Ok(());
    }
    let pace = Pace::of(options);
    let mut running = Vec::with_capacity(lanes.len());
    for (name, server, request) in lanes {
        let (body, message) = answer(request, server).await.with_context(|| format!("{name}, {case}"))?;
        if message.get("result").is_none() {
            bail!("{name}, {case}: {message}");
        }
        let target = Target { address: server.address, request: request.clone(), length: body.len() };
        running.push(Lane {
            name,
            server,
            target,
            per_second: Vec::new(),
            latencies: Vec::new(),
            requests: 0,
            computed: Some(Duration::ZERO),
        });
    }
    for _ in 0..pace.rounds {
        for lane in &mut running {
            let before = lane.server.computed();
            let mut run =
                load::run(&lane.target, connections, pace.warm_up, pace.time).await.with_context(|| format!("{}, {case}", lane.name))?;
            let computed = lane.server.computed().zip(before).map(|(after, before)| after - before);
            lane.computed = lane.computed.zip(computed).map(|(sum, own)| sum + own);
            lane.requests += run.requests;
            lane.per_second.push(run.per_second);
            lane.latencies.append(&mut run.latencies);
        }
    }
    let first = running.first().map(|lane| lane.per_second.clone()).unwrap_or_default();
    for lane in running {
        let cpu_us = lane.computed.map(|computed| computed.as_secs_f64() * 1e6 / lane.requests as f64);
        table.add(Measured::new(case, era.name(), connections, lane.name, &lane.per_second, lane.latencies, cpu_us, &first));
    }
    Ok(())
}

fn read_request(server: &Server, path: &str, era: &Era, name: &str) -> Vec<u8> {
    let uri = format!("texts://{name}");
    mcp::request(server.address, path, era, "resources/read", json!({ "uri": uri }), Some(&uri))
}

fn list_request(server: &Server, path: &str, era: &Era) -> Vec<u8> {
    mcp::request(server.address, path, era, "resources/list", json!({}), None)
}

async fn session(server: &Server) -> Result<Era> {
    let session = mcp::initialize(&mut Connection::open(server.address).await?, server.address).await?;
    Ok(Era::Legacy { session })
}

/// The body of one answer, and the message in it.
async fn answer(request: &[u8], server: &Server) -> Result<(Vec<u8>, Value)> {
    let mut connection = Connection::open(server.address).await?;
    let status = connection.exchange(request).await?;
    if status != 200 {
        bail!("status {status}: {}", String::from_utf8_lossy(connection.body()));
    }
    Ok((connection.body().to_vec(), mcp::message(connection.body())?))
}

fn made(folder: &Path, name: &str) -> Result<std::path::PathBuf> {
    let folder = folder.join(name);
    fs::create_dir(&folder)?;
    Ok(folder)
}

fn bytes(size: usize) -> String {
    match size {
        0..0x400 => format!("{size} B"),
        0x400..0x10_0000 => format!("{} KiB", size >> 10),
        _ => format!("{} MiB", size >> 20),
    }
}
