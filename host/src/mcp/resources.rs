//! The methods that both eras have: the lists, reading, completing.
//!
//! Invariant: what differs between the eras is the frame of an answer and some error codes, never what is answered.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    Cache, Server,
    encode::{self, Encoded},
    era::Era,
    error::{RpcError, short},
    message::{Params, Request, text_of},
    pages::Kind,
};
use crate::{catalog::Caller, provider::Completion};

/// `resources/list` and `resources/templates/list`.
pub async fn list(server: &Server, era: Era, request: &Request<'_>, caller: &Caller, kind: Kind) -> Result<Encoded, RpcError> {
    let cursor = Params::optional_text("cursor", request.params()?.cursor)?;
    let (field, page) = match kind {
        Kind::Resources => ("resources", server.catalog.resources(caller, cursor.as_deref()).await?),
        Kind::Templates => ("resourceTemplates", server.catalog.templates(caller, cursor.as_deref()).await?),
    };
    let json_and_end = server.pages.json_and_end(kind, &page)?;
    let mut answer = server.begin(era, request.id, 0);
    if let Some(next) = &page.next {
        answer.field("nextCursor", next)?;
    }
    server.frame(era, &mut answer, Some(Cache::private(Duration::ZERO)));
    Ok(answer.finish_with(field, json_and_end))
}

/// `resources/read`.
pub async fn read(server: &Server, era: Era, request: &Request<'_>, caller: &Caller) -> Result<Encoded, RpcError> {
    let uri = Params::text("uri", request.params()?.uri)?;
    let read = server.catalog.read(caller, &uri).await.map_err(|error| RpcError::from_read(era, &uri, &error))?;
    let again = read.may_come_again();
    let mut answer = server.begin(era, request.id, if again { 0 } else { encode::expected(&read.contents) });
    server.frame(era, &mut answer, Some(Cache::of(read.reuse, read.public && !server.by_caller)));
    if again {
        let contents = server.catalog.encoded(&read, |contents| encode::contents_and_end(contents, &uri))?;
        return Ok(answer.finish_with("contents", contents));
    }
    answer.contents(&read.contents, &uri)?;
    Ok(answer.finish().into())
}

/// `tools/list` and `prompts/list`: there are none, and there is one page of them.
pub fn nothing(server: &Server, era: Era, request: &Request<'_>, field: &'static str) -> Result<Encoded, RpcError> {
    if Params::optional_text("cursor", request.params()?.cursor)?.is_some() {
        return Err(crate::catalog::CursorError.into());
    }
    let mut answer = server.begin(era, request.id, 0);
    answer.raw(field, b"[]");
    Ok(server.finish(era, answer, Some(Cache::private(Duration::ZERO))))
}

/// `tools/call` and `prompts/get`: whatever the name, there is none of it.
pub fn unknown(request: &Request<'_>, what: &str) -> RpcError {
    match request.params().and_then(|params| Params::text("name", params.name)) {
        Ok(name) => RpcError::invalid_params(format!("`name`: there is no {what} {}; this server has none", short(&name))),
        Err(error) => error,
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Reference<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    uri: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Argument<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    value: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Context<'a> {
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// MCP's `completion`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CompletionJson<'a> {
    values: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    has_more: Option<bool>,
}

/// `completion/complete`, for the variables of templates.
pub async fn complete(server: &Server, era: Era, request: &Request<'_>, caller: &Caller) -> Result<Encoded, RpcError> {
    let params = request.params()?;
    let reference: Reference<'_> = Params::object("ref", params.reference)?;
    let argument: Argument<'_> = Params::object("argument", params.argument)?;
    let name = Params::text("argument.name", argument.name)?;
    let value = Params::text("argument.value", argument.value)?;
    let known = known(params.context)?;
    let completion = match &*Params::text("ref.type", reference.kind)? {
        "ref/resource" => {
            let uri = Params::text("ref.uri", reference.uri)?;
            let completion = server.catalog.complete(caller, &uri, &name, &value, &known).await;
            completion.map_err(|error| RpcError::from_complete(era, &uri, &name, error))?
        }
        // There are no prompts; but no suggestions for one is no lie, and clients ask before they have listed.
        "ref/prompt" => Completion { values: Vec::new(), total: Some(0), has_more: Some(false) },
        _ => return Err(RpcError::invalid_params("`ref.type` must be \"ref/resource\" or \"ref/prompt\"")),
    };
    let Completion { values, total, has_more } = completion;
    let mut answer = server.begin(era, request.id, values.iter().map(String::len).sum());
    answer.field("completion", &CompletionJson { values: &values, total, has_more })?;
    Ok(server.finish(era, answer, None))
}

/// What is filled in already: `context.arguments`.
fn known(context: Option<&RawValue>) -> Result<Vec<(String, String)>, RpcError> {
    let given = |raw: Option<&'_ RawValue>| raw.is_some_and(|raw| raw.get() != "null");
    if !given(context) {
        return Ok(Vec::new());
    }
    let context: Context<'_> = Params::object("context", context)?;
    if !given(context.arguments) {
        return Ok(Vec::new());
    }
    let arguments: BTreeMap<String, &RawValue> = Params::object("context.arguments", context.arguments)?;
    let text = |(name, raw): (String, &RawValue)| match text_of(raw) {
        Some(value) => Ok((name, value.into_owned())),
        None => Err(RpcError::invalid_params(format!("`context.arguments`: {} must be a string", short(&name)))),
    };
    arguments.into_iter().map(text).collect()
}
