//! The stateless era, from 2026-07-28: what every request must say, and what may be asked.
//!
//! Invariant: the tests of a request come in the order of the specification (Streamable HTTP, "Protocol Version Header" and "Standard
//! Request Headers"): required `_meta`, then what the headers repeat, then the version, then the method, then the parameters.

use std::{borrow::Cow, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};

use super::{
    Cache, Envelope, Reply, Server, calls,
    encode::Encoded,
    era::{Era, MODERN, Said},
    error::RpcError,
    listens,
    message::{Request, is_object, text_of},
    pages::Kind,
    resources,
};
use crate::catalog::Caller;

/// How long a client may remember what this server can do. It never changes while the host runs.
const DISCOVERED_FOR: Duration = Duration::from_secs(60 * 60);

/// Answers a request. `envelope` is there if the transport repeats parts of the message beside it.
pub async fn answer(server: &Server, request: &Request<'_>, caller: &Caller, envelope: Option<&Envelope<'_>>) -> Reply {
    if let Err(error) = check(request, envelope) {
        return Reply::error(request.id, &error);
    }
    let era = Era::Modern;
    let answer = match &*request.method {
        "server/discover" => Ok(discover(server, request)),
        "resources/list" => resources::list(server, era, request, caller, Kind::Resources).await,
        "resources/templates/list" => resources::list(server, era, request, caller, Kind::Templates).await,
        "resources/read" => resources::read(server, era, request, caller).await,
        "subscriptions/listen" => {
            return listens::listen(server, request, caller).await.map_or_else(|error| Reply::error(request.id, &error), Reply::Listening);
        }
        "completion/complete" => resources::complete(server, era, request, caller).await,
        "tools/list" => calls::list(server, era, request),
        "prompts/list" => resources::nothing(server, era, request, "prompts"),
        "tools/call" => return calls::call(server, era, request, caller, None).await,
        "prompts/get" => Err(resources::unknown(request, "prompt")),
        method => Err(RpcError::method_not_found(era, method)),
    };
    Reply::of(request.id, answer)
}

fn discover(server: &Server, request: &Request<'_>) -> Encoded {
    let mut answer = server.begin(Era::Modern, request.id, server.texts.discover.len());
    answer.fields(&server.texts.discover);
    server.finish(Era::Modern, answer, Some(Cache { reuse: DISCOVERED_FOR, scope: "public" }))
}

fn check(request: &Request<'_>, envelope: Option<&Envelope<'_>>) -> Result<(), RpcError> {
    let lacking = |what: &str| RpcError::invalid_params(format!("`_meta`: {what}")).malformed();
    let params = request.params().map_err(RpcError::malformed)?;
    let meta = request.meta().ok_or_else(|| lacking("every request needs it, an object with protocolVersion and clientCapabilities"))?;
    let version = meta
        .protocol_version
        .and_then(text_of)
        .ok_or_else(|| lacking("`io.modelcontextprotocol/protocolVersion` must be there, a string"))?;
    if !meta.client_capabilities.is_some_and(|capabilities| is_object(capabilities.get())) {
        return Err(lacking("`io.modelcontextprotocol/clientCapabilities` must be there, an object"));
    }
    if let Some(envelope) = envelope {
        same("MCP-Protocol-Version", envelope.version, &version)?;
        same("Mcp-Method", envelope.method, &request.method)?;
        let name = match &*request.method {
            "resources/read" => params.uri,
            "tools/call" | "prompts/get" => params.name,
            _ => None,
        };
        // Without a name in the body the parameters are wrong, which is said later.
        if let Some(name) = name.and_then(text_of) {
            same("Mcp-Name", decoded(envelope.name)?.as_said(), &name)?;
        }
    }
    if version != MODERN {
        return Err(RpcError::unsupported_version(&version));
    }
    Ok(())
}

fn same(header: &str, said: Said<'_>, body: &str) -> Result<(), RpcError> {
    match said {
        Said::Text(said) if said == body => Ok(()),
        Said::Text(_) => Err(RpcError::header_mismatch(format!("{header} says other than the body"))),
        Said::Nothing => Err(RpcError::header_mismatch(format!("{header} is missing"))),
        Said::Garbled => Err(RpcError::header_mismatch(format!("{header} is not one visible ASCII text"))),
    }
}

/// `Mcp-Name`, out of the `=?base64?…?=` that carries what no header may.
enum Name<'a> {
    Said(Said<'a>),
    Text(Cow<'a, str>),
}

impl Name<'_> {
    fn as_said(&self) -> Said<'_> {
        match self {
            Self::Said(said) => *said,
            Self::Text(text) => Said::Text(text),
        }
    }
}

fn decoded(said: Said<'_>) -> Result<Name<'_>, RpcError> {
    let Said::Text(text) = said else { return Ok(Name::Said(said)) };
    let Some(encoded) = text.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else { return Ok(Name::Said(said)) };
    let bytes = STANDARD.decode(encoded).map_err(|_| RpcError::header_mismatch("Mcp-Name is not valid base64"))?;
    let text = String::from_utf8(bytes).map_err(|_| RpcError::header_mismatch("Mcp-Name is not base64 of UTF-8"))?;
    Ok(Name::Text(Cow::Owned(text)))
}
