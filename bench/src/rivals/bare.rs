//! Two bare axum handlers: what HTTP alone costs, and what HTTP and JSON cost.

use std::{collections::HashMap, sync::Arc};

use anyhow::Result;
use axum::{
    Router,
    body::Bytes,
    extract::{Path, State},
    http::{StatusCode, header},
    response::IntoResponse,
    routing::post,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

const JSON: [(header::HeaderName, &str); 1] = [(header::CONTENT_TYPE, "application/json")];

struct Served {
    /// Whole answers.
    answers: HashMap<String, Bytes>,
    /// Texts, by URI.
    texts: HashMap<String, Arc<str>>,
}

/// `/ready/NAME` reads the request's body and sends a whole answer that is there already: the same bytes as the host's, not copied.
/// `/json` parses the request, looks up the text and writes the answer, as any handler has to that has no ready answer: the least that
/// serving such a text can cost.
pub fn router(answers: HashMap<String, Arc<str>>, texts: HashMap<String, Arc<str>>) -> Result<Router> {
    let served = Served {
        answers: answers.into_iter().map(|(name, answer)| (name, Bytes::copy_from_slice(answer.as_bytes()))).collect(),
        texts: texts.into_iter().map(|(name, text)| (format!("texts://{name}"), text)).collect(),
    };
    Ok(Router::new().route("/ready/{name}", post(ready)).route("/json", post(json)).with_state(Arc::new(served)))
}

async fn ready(State(served): State<Arc<Served>>, Path(name): Path<String>, _body: Bytes) -> impl IntoResponse {
    match served.answers.get(&name) {
        Some(answer) => (JSON, answer.clone()).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    uri: &'a str,
}

#[derive(Serialize)]
struct Answer<'a> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    result: Contents<'a>,
}

#[derive(Serialize)]
struct Contents<'a> {
    contents: [Text<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Text<'a> {
    uri: &'a str,
    mime_type: &'static str,
    text: &'a str,
}

async fn json(State(served): State<Arc<Served>>, body: Bytes) -> impl IntoResponse {
    let Ok(Request { id, params: Params { uri } }) = serde_json::from_slice(&body) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let Some(text) = served.texts.get(uri) else { return StatusCode::NOT_FOUND.into_response() };
    let result = Contents { contents: [Text { uri, mime_type: "text/plain", text }] };
    let mut answer = Vec::with_capacity(512 + text.len() + text.len() / 16);
    match serde_json::to_writer(&mut answer, &Answer { jsonrpc: "2.0", id, result }) {
        Ok(()) => (JSON, answer).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
