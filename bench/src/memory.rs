//! What an idle legacy session, its open stream, and an idle listen take of the server's memory: many of each are opened in a fresh process,
//! and what it has more then is divided by their number.

use std::{fs, time::Duration};

use anyhow::{Context, Result, bail};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use tokio::net::TcpStream;

use crate::{
    Options,
    http::Connection,
    mcp,
    report::{Table, Weighed},
    servers::Server,
};

const MANY: usize = 10_000;
const FEW: usize = 500;
/// Descriptors that this process and the servers need besides the connections.
const SPARE: u64 = 200;
/// A server may take more connections than nine tenths of its descriptors at no time; the host has that limit.
const SHARE: u64 = 10;
/// How often a server's memory is read until it stands still.
const LOOK_EVERY: Duration = Duration::from_millis(200);
const LOOKS: usize = 25;

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Connection,
    Session,
    Stream,
    Listen,
}

impl What {
    const ALL: [Self; 4] = [Self::Connection, Self::Session, Self::Stream, Self::Listen];

    fn name(self) -> &'static str {
        match self {
            Self::Connection => "connection, silent after one request",
            Self::Session => "legacy session without a stream",
            Self::Stream => "legacy session with its stream",
            Self::Listen => "listen to one resource",
        }
    }
}

pub async fn memory(options: &Options) -> Result<Table> {
    let many = allowed(if options.quick { FEW } else { MANY })?;
    let mut table = Table::default();
    for what in What::ALL {
        for name in ["wharf", "rmcp"] {
            let folder = tempfile::tempdir()?;
            let own = folder.path().join("own");
            fs::create_dir(&own)?;
            let server = if name == "wharf" {
                Server::wharf(&options.wharf, &options.component, 100, &own)?
            } else {
                fs::write(own.join("page.list"), "{\"resources\":[]}")?;
                fs::write(own.join("256.txt"), "text")?;
                Server::rival(name, &own)?
            };
            let bytes_each = weigh(&server, what, many).await.with_context(|| format!("{name}: {}", what.name()))?;
            eprintln!("  {}: {name} {bytes_each:.0} bytes each", what.name());
            table.weigh(Weighed { what: what.name(), server: name, count: many, bytes_each });
        }
    }
    Ok(table)
}

async fn weigh(server: &Server, what: What, many: usize) -> Result<f64> {
    // The first ones make what all share.
    let mut kept = open(server, what, many / 100 + 1).await?;
    let before = steady(server).await?;
    kept.extend(open(server, what, many).await?);
    let after = steady(server).await?;
    drop(kept);
    Ok((after as f64 - before as f64) / many as f64)
}

async fn open(server: &Server, what: What, many: usize) -> Result<Vec<TcpStream>> {
    let address = server.address;
    let mut shared = Connection::open(address).await?;
    let mut kept = Vec::with_capacity(many);
    for number in 0..many {
        let session = match what {
            What::Connection | What::Listen => String::new(),
            What::Session | What::Stream => mcp::initialize(&mut shared, address).await?,
        };
        if what == What::Session {
            continue;
        }
        let mut own = Connection::open(address).await?;
        match what {
            What::Connection => {
                let request = mcp::request(address, "/mcp", &mcp::Era::Modern, "server/discover", json!({}), None);
                expect(own.exchange(&request).await?)?;
            }
            What::Session => {}
            What::Stream => expect(own.begin(&mcp::stream(address, &session)).await?.0)?,
            What::Listen => {
                expect(own.begin(&mcp::listen(address, &format!("texts://entry/{:06}", number % 50 + 20))).await?.0)?;
                own.wait_for(b"acknowledged").await?;
            }
        }
        kept.push(own.idle());
    }
    Ok(kept)
}

fn expect(status: u16) -> Result<()> {
    if status == 200 { Ok(()) } else { bail!("status {status}") }
}

/// The server's memory, once two looks in a row see the same.
pub async fn steady(server: &Server) -> Result<u64> {
    let mut last = None;
    for _ in 0..LOOKS {
        tokio::time::sleep(LOOK_EVERY).await;
        let now = server.memory().context("this system does not say how much memory a process has: `bench memory` needs Linux")?;
        if last == Some(now) {
            return Ok(now);
        }
        last = Some(now);
    }
    last.context("no look")
}

/// So many connections, or as many as there may be files. The limit is raised as far as the system lets anyone; the servers inherit it.
pub fn allowed(wanted: usize) -> Result<usize> {
    let limits = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limits.maximum, maximum: limits.maximum });
    let Some(files) = getrlimit(Resource::Nofile).current else { return Ok(wanted) };
    let fitting = usize::try_from(files.saturating_sub(SPARE) / SHARE * (SHARE - 1))?;
    // Each is opened once more for what all share.
    let fitting = fitting - fitting / 50;
    if fitting < wanted {
        eprintln!("only {files} files may be open: {fitting} of each instead of {wanted}");
    }
    Ok(wanted.min(fitting))
}
