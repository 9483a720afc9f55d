//! The probe's conversation with a server, in one era: requests and their results, and what comes without being asked for.
//!
//! Invariants: each request has an id of its own, and in the modern era its `_meta`; what was sent last, and what came back, is kept for
//! whoever says what failed.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use wharf::mcp::{era::MODERN, error::METHOD_NOT_FOUND};

use super::wire::Wire;

/// What the names of the modern era's `_meta` begin with.
pub(super) const META: &str = "io.modelcontextprotocol/";

pub(super) struct Talk {
    pub wire: Wire,
    pub modern: bool,
    ids: u64,
    /// What was sent last, and what came back.
    pub last: Option<(Value, Value)>,
}

impl Talk {
    pub(super) fn new(wire: Wire) -> Self {
        Self { wire, modern: false, ids: 0, last: None }
    }

    pub(super) fn request(&mut self, method: &str, mut params: Value) -> Value {
        self.ids += 1;
        if self.modern {
            params["_meta"] = json!({
                (format!("{META}protocolVersion")): MODERN,
                (format!("{META}clientInfo")): { "name": "wharf-probe", "version": env!("CARGO_PKG_VERSION") },
                (format!("{META}clientCapabilities")): {},
            });
        }
        json!({ "jsonrpc": "2.0", "id": self.ids, "method": method, "params": params })
    }

    /// The result of a request; an error is one.
    pub(super) async fn ask(&mut self, method: &str, params: Value) -> Result<Value> {
        let request = self.request(method, params);
        let answer = self.answer(&request).await?;
        ensure!(answer["jsonrpc"] == "2.0", "the answer is no JSON-RPC 2.0");
        let result = result(answer.clone())?;
        ensure!(answer["id"] == request["id"], "the answer has another id");
        ensure!(!self.modern || result["resultType"] == "complete", "`resultType` is not \"complete\"");
        Ok(result)
    }

    /// The answer to a request, which may be an error.
    pub(super) async fn answer(&mut self, request: &Value) -> Result<Value> {
        self.last = Some((request.clone(), Value::Null));
        let answer = self.wire.ask(request).await?;
        self.last = Some((request.clone(), answer.clone()));
        Ok(answer)
    }

    /// What 2026-07-28 wants of an answer that may be kept (Caching).
    pub(super) fn cached(&self, result: &Value) -> Result<()> {
        if self.modern {
            ensure!(result["ttlMs"].is_u64(), "`ttlMs` is missing, or no whole number");
            ensure!(matches!(result["cacheScope"].as_str(), Some("public" | "private")), "`cacheScope` is neither public nor private");
        }
        Ok(())
    }

    /// The next message that is no answer; what the server asks is answered.
    pub(super) async fn heard(&mut self) -> Result<Value> {
        loop {
            let message = self.wire.next().await?;
            let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) else { return Ok(message) };
            let answer = match method {
                "ping" => json!({ "jsonrpc": "2.0", "id": id, "result": {} }),
                _ => json!({ "jsonrpc": "2.0", "id": id, "error": { "code": METHOD_NOT_FOUND, "message": "Method not found" } }),
            };
            self.wire.tell(&answer).await?;
        }
    }
}

/// What an answer gives; an error is one.
pub(super) fn result(mut answer: Value) -> Result<Value> {
    if let Some(error) = answer.get("error") {
        bail!("error {}: {}", error["code"], error["message"].as_str().unwrap_or_default());
    }
    let result = answer.get_mut("result").context("the answer has neither `result` nor `error`")?;
    ensure!(result.is_object(), "`result` is no object");
    Ok(result.take())
}
