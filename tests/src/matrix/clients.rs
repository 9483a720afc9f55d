//! Which clients there are, how each is started, and which ways it has to the host.

use serde::Serialize;

/// How a client reaches the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// `wharf serve`, over Streamable HTTP.
    Http,
    /// The client starts `wharf serve --stdio`.
    Stdio,
    /// The client starts `wharf serve --stdio --attach URL`.
    Attached,
}

/// What plays a client.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Driver {
    /// A program, and the script of `tests/clients/` that it runs.
    Script(&'static str, &'static str),
    /// The crate rmcp, in this process.
    Rmcp,
}

/// One client in one of its modes.
#[derive(Debug)]
pub struct Client {
    /// How drivers and `tests/clients/known.toml` name it.
    pub id: &'static str,
    pub(crate) driver: Driver,
    /// By which ways it is tried.
    pub ways: &'static [Way],
    /// The version of the protocol that it has to agree on with the host: a client that quietly fell back would be tried in the wrong era.
    pub(crate) protocol: &'static str,
}

impl Client {
    /// Whether it speaks a version with sessions.
    pub fn is_legacy(&self) -> bool {
        self.protocol == LEGACY
    }
}

const LEGACY: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";
const ALL: &[Way] = &[Way::Http, Way::Stdio, Way::Attached];
/// Of tools that start a process for each question, the ways that differ for them: a round of theirs takes a minute of computing.
const BOTH: &[Way] = &[Way::Http, Way::Stdio];
const TYPESCRIPT: Driver = Driver::Script("node", "typescript/round.mjs");
const PYTHON: Driver = Driver::Script("python3", "python/round.py");
const TOOLS: Driver = Driver::Script("node", "tools/round.mjs");

/// All of them, in the order of COMPATIBILITY.md.
pub static CLIENTS: &[Client] = &[
    Client { id: "ts-sdk", driver: TYPESCRIPT, ways: ALL, protocol: LEGACY },
    Client { id: "ts-client-legacy", driver: TYPESCRIPT, ways: ALL, protocol: LEGACY },
    Client { id: "ts-client-auto", driver: TYPESCRIPT, ways: ALL, protocol: MODERN },
    Client { id: "ts-client-pinned", driver: TYPESCRIPT, ways: ALL, protocol: MODERN },
    Client { id: "py-mcp1", driver: PYTHON, ways: ALL, protocol: LEGACY },
    Client { id: "py-mcp2-legacy", driver: PYTHON, ways: ALL, protocol: LEGACY },
    Client { id: "py-mcp2-auto", driver: PYTHON, ways: ALL, protocol: MODERN },
    Client { id: "py-fastmcp-legacy", driver: PYTHON, ways: ALL, protocol: LEGACY },
    Client { id: "py-fastmcp-auto", driver: PYTHON, ways: ALL, protocol: MODERN },
    Client { id: "rmcp-legacy", driver: Driver::Rmcp, ways: ALL, protocol: LEGACY },
    Client { id: "rmcp-modern", driver: Driver::Rmcp, ways: ALL, protocol: MODERN },
    Client { id: "inspector-cli", driver: TOOLS, ways: BOTH, protocol: LEGACY },
    Client { id: "mcpdo-legacy", driver: TOOLS, ways: BOTH, protocol: LEGACY },
    Client { id: "mcpdo-modern", driver: TOOLS, ways: BOTH, protocol: MODERN },
    // Proxies: from stdio to HTTP the one, from HTTP to stdio the other. That one has no row for the modern era, in which it starts a host
    // for each request: COMPATIBILITY.md says so.
    Client { id: "mcp-remote", driver: TOOLS, ways: &[Way::Http], protocol: LEGACY },
    Client { id: "mcp-remote-modern", driver: TOOLS, ways: &[Way::Http], protocol: MODERN },
    Client { id: "supergateway", driver: TOOLS, ways: &[Way::Stdio], protocol: LEGACY },
];
