//! MCP requests as whole HTTP requests, in both eras.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::http::Connection;

const LEGACY: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";

/// What each request has as its id, until it gets one of its own: ids of one session may not be used twice, and all have the same length.
pub const ID: u32 = 1_000_000_000;

/// Which protocol; the legacy one with its session.
#[derive(Clone, Debug)]
pub enum Era {
    Legacy { session: String },
    Modern,
}

impl Era {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Legacy { .. } => "legacy",
            Self::Modern => "modern",
        }
    }
}

/// A POST with these headers, one a line, and this body.
fn post(address: SocketAddr, path: &str, headers: &str, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         {headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// A request for `method`. `name` is what the modern era repeats of the parameters in a header.
pub fn request(address: SocketAddr, path: &str, era: &Era, method: &str, mut params: Value, name: Option<&str>) -> Vec<u8> {
    let headers = match era {
        Era::Legacy { session } => format!("Mcp-Protocol-Version: {LEGACY}\r\nMcp-Session-Id: {session}\r\n"),
        Era::Modern => {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientInfo": { "name": "wharf-bench", "version": "0" },
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            let name = name.map(|name| format!("Mcp-Name: {name}\r\n")).unwrap_or_default();
            format!("Mcp-Protocol-Version: {MODERN}\r\nMcp-Method: {method}\r\n{name}")
        }
    };
    post(address, path, &headers, &json!({ "jsonrpc": "2.0", "id": ID, "method": method, "params": params }))
}

/// Begins a session, on a connection that goes on. Gives its id.
pub async fn initialize(connection: &mut Connection, address: SocketAddr) -> Result<String> {
    let info = json!({ "name": "wharf-bench", "version": "0" });
    let params = json!({ "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": info });
    let opening = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let status = connection.exchange(&post(address, "/mcp", "", &opening)).await?;
    let session = connection.header("mcp-session-id").with_context(|| format!("no session, but status {status}"))?.to_owned();
    let headers = format!("Mcp-Protocol-Version: {LEGACY}\r\nMcp-Session-Id: {session}\r\n");
    let done = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    match connection.exchange(&post(address, "/mcp", &headers, &done)).await? {
        202 => Ok(session),
        status => bail!("status {status} for notifications/initialized"),
    }
}

/// A request for a session's stream.
pub fn stream(address: SocketAddr, session: &str) -> Vec<u8> {
    let headers = format!("Mcp-Protocol-Version: {LEGACY}\r\nMcp-Session-Id: {session}\r\n");
    format!("GET /mcp HTTP/1.1\r\nHost: {address}\r\nAccept: text/event-stream\r\n{headers}\r\n").into_bytes()
}

/// A request for a listen to one resource and the list.
pub fn listen(address: SocketAddr, uri: &str) -> Vec<u8> {
    let params = json!({ "notifications": { "resourceSubscriptions": [uri], "resourcesListChanged": true } });
    request(address, "/mcp", &Era::Modern, "subscriptions/listen", params, None)
}

/// A request for a listen to these resources.
pub fn listen_to(address: SocketAddr, uris: &[&str]) -> Vec<u8> {
    let params = json!({ "notifications": { "resourceSubscriptions": uris } });
    request(address, "/mcp", &Era::Modern, "subscriptions/listen", params, None)
}

/// The message in an answer, which is JSON or one event of a stream.
pub fn message(body: &[u8]) -> Result<Value> {
    let text = std::str::from_utf8(body)?;
    if text.starts_with('{') {
        return Ok(serde_json::from_str(text)?);
    }
    let data = text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim).find(|data| data.starts_with('{'));
    Ok(serde_json::from_str(data.context("an answer without a message")?)?)
}
