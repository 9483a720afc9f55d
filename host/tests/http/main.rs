//! MCP over a real loopback socket, against a provider in memory.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/web.rs"]
mod web;

mod bad_http;
mod bad_messages;
mod bad_sessions;
mod completing;
mod framing;
mod ids;
mod kept;
mod legacy;
mod lifetimes;
mod meta;
mod modern;
mod proxied;
mod templates;
mod tls;
mod tools;

use bytes::Bytes;
use common::{
    http::{Connection, Served},
    memory::{Memory, body},
};
use serde_json::{Value, json};
use wharf::{
    mcp::Caps,
    provider::{Annotations, Body, ResourceInfo, Role, TemplateInfo},
    transport::http::{HttpSettings, Limits},
};

pub const A: &str = "x://A/../a?q=%2F";
pub const B: &str = "x://b";
pub const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

pub fn fill(memory: &Memory) {
    let mut info = ResourceInfo::new(A, "a");
    info.title = Some("The A".into());
    info.mime_type = Some("text/plain".into());
    info.size = Some(2);
    info.annotations = Some(Annotations { audience: Some(vec![Role::User]), priority: Some(1.0), last_modified: Some(0) });
    memory.insert(info, Ok(body(Body::Text("ä\"\n".into()))));
    memory.put(B, "b");
    memory.insert(ResourceInfo::new("x://logo", "logo"), Ok(body(Body::Blob(Bytes::from_static(PNG)))));
    memory.template(TemplateInfo::new("x://t/{name}", "t"));
}

pub async fn served() -> Served {
    Served::new(fill).await
}

pub fn a_listed() -> Value {
    json!({
        "uri": A, "name": "a", "title": "The A", "mimeType": "text/plain", "size": 2,
        "annotations": { "audience": ["user"], "priority": 1.0, "lastModified": "1970-01-01T00:00:00Z" },
    })
}

pub fn others_listed() -> [Value; 2] {
    [json!({ "uri": B, "name": "b" }), json!({ "uri": "x://logo", "name": "logo" })]
}

pub async fn told(stream: &mut Connection) -> (String, Option<String>) {
    let event = stream.event().await.expect("the stream ended");
    let (method, uri) = event.told();
    (method.to_owned(), uri.map(Into::into))
}

pub fn updated(uri: &str) -> (String, Option<String>) {
    ("notifications/resources/updated".into(), Some(uri.into()))
}

pub fn list_changed() -> (String, Option<String>) {
    ("notifications/resources/list_changed".into(), None)
}

pub async fn capped(caps: Caps, limits: Limits) -> Served {
    Served::with(fill, caps, limits, HttpSettings::default()).await
}
