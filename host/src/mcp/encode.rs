//! Writing answers: MCP's JSON of resources, templates and contents, and the frame around a result.
//!
//! Invariants: an answer is written once, into one buffer, borrowing from the catalog's values; nothing is built as a tree first. What is
//! the same in many answers is written once for all of them, and stands at their end. A field that the provider did not give is left out,
//! never null.

mod encoded;
mod text;

use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value};

pub use self::encoded::Encoded;
use super::{error::RpcError, message::Id};
use crate::{
    provider::{Annotations, Body, Contents, Icon, IconTheme, ResourceInfo, Role, TemplateInfo},
    subscriptions::Notice,
};

/// The first millisecond that ISO 8601 has no four-digit year for.
const YEAR_10000: u64 = 253_402_300_800_000;
/// Room for the frame of an answer and a small result, so that most are written without growing.
const FRAME: usize = 512;
/// What ends a message after the last field of its result.
pub const END: &[u8] = b"}}";

/// A result being written.
pub struct Answer {
    out: Vec<u8>,
    first: bool,
}

impl Answer {
    /// Begins the result for this request; `expected` is about how many bytes of content will come.
    pub fn begin(id: Id<'_>, expected: usize) -> Self {
        Self::begin_json(id.as_json(), expected)
    }

    /// Likewise, the id being JSON.
    pub fn begin_json(id: &str, expected: usize) -> Self {
        let mut out = Vec::with_capacity(FRAME + expected);
        out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        out.extend_from_slice(id.as_bytes());
        out.extend_from_slice(b",\"result\":{");
        Self { out, first: true }
    }

    /// Adds a field whose JSON is there already.
    pub fn raw(&mut self, field: &'static str, json: &[u8]) {
        self.name(field);
        self.out.extend_from_slice(json);
    }

    /// Adds a field.
    pub fn field<T: Serialize + ?Sized>(&mut self, field: &'static str, value: &T) -> Result<(), serde_json::Error> {
        self.name(field);
        serde_json::to_writer(&mut self.out, value)
    }

    /// Adds the contents of a resource, which was asked for by this URI.
    pub fn contents(&mut self, contents: &[Contents], asked: &str) -> Result<(), serde_json::Error> {
        self.name("contents");
        write_contents(&mut self.out, contents, asked)
    }

    /// Adds fields that are there already, `"a":1,"b":2`.
    pub fn fields(&mut self, json: &str) {
        self.comma();
        self.out.extend_from_slice(json.as_bytes());
    }

    /// Adds a field that is an object of these fields.
    pub fn object(&mut self, field: &'static str, fields: &str) {
        self.name(field);
        self.out.push(b'{');
        self.out.extend_from_slice(fields.as_bytes());
        self.out.push(b'}');
    }

    /// The whole message.
    pub fn finish(mut self) -> Vec<u8> {
        self.out.extend_from_slice(END);
        self.out
    }

    /// The whole message with one more field, whose JSON is there already, with [`END`] behind it.
    pub fn finish_with(mut self, field: &'static str, json_and_end: Bytes) -> Encoded {
        self.name(field);
        Encoded::new(self.out, json_and_end)
    }

    fn comma(&mut self) {
        if !std::mem::take(&mut self.first) {
            self.out.push(b',');
        }
    }

    fn name(&mut self, field: &'static str) {
        self.comma();
        self.out.push(b'"');
        self.out.extend_from_slice(field.as_bytes());
        self.out.extend_from_slice(b"\":");
    }
}

/// A whole error message.
pub fn error(id: Id<'_>, error: &RpcError) -> Vec<u8> {
    let mut out = Vec::with_capacity(FRAME);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.as_json().as_bytes());
    out.extend_from_slice(b",\"error\":");
    let rest = out.len();
    if serde_json::to_writer(&mut out, &ErrorJson { code: error.code, message: &error.message, data: error.data.as_ref() }).is_err() {
        out.truncate(rest);
        out.extend_from_slice(b"{\"code\":-32603,\"message\":\"Internal error\"}");
    }
    out.push(b'}');
    out
}

/// A whole notification. In a listen it carries the id of the listen's request (2026-07-28, Subscriptions).
pub fn notice(notice: &Notice, listen: Option<&str>) -> Vec<u8> {
    let (method, uri) = match notice {
        Notice::Updated(uri) => ("notifications/resources/updated", Some(&**uri)),
        Notice::ListChanged => ("notifications/resources/list_changed", None),
    };
    let mut out = Vec::with_capacity(FRAME + uri.map_or(0, str::len));
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"method\":\"");
    out.extend_from_slice(method.as_bytes());
    out.push(b'"');
    match (listen, uri) {
        (None, None) => {}
        (None, Some(uri)) => {
            out.extend_from_slice(b",\"params\":{\"uri\":");
            text::string(&mut out, uri);
            out.push(b'}');
        }
        (Some(listen), uri) => {
            out.extend_from_slice(b",\"params\":{");
            out.extend_from_slice(subscription_meta(listen).as_bytes());
            if let Some(uri) = uri {
                out.extend_from_slice(b",\"uri\":");
                text::string(&mut out, uri);
            }
            out.push(b'}');
        }
    }
    out.push(b'}');
    out
}

/// The `_meta` of everything that a listen sends, as a field.
pub fn subscription_meta(listen: &str) -> String {
    format!("\"_meta\":{{\"io.modelcontextprotocol/subscriptionId\":{listen}}}")
}

#[derive(Serialize)]
struct ErrorJson<'a> {
    code: i32,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a Value>,
}

/// MCP's `Resource`.
pub struct ResourceJson<'a>(pub &'a ResourceInfo);

impl Serialize for ResourceJson<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let ResourceInfo { uri, name, title, description, mime_type, size, icons, annotations, meta } = self.0;
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("uri", &**uri)?;
        map.serialize_entry("name", name)?;
        entry(&mut map, "title", title.as_ref())?;
        entry(&mut map, "description", description.as_ref())?;
        entry(&mut map, "mimeType", mime_type.as_ref())?;
        entry(&mut map, "size", size.as_ref())?;
        shared(&mut map, icons.as_deref(), annotations.as_ref(), meta.as_ref())?;
        map.end()
    }
}

/// MCP's `ResourceTemplate`.
pub struct TemplateJson<'a>(pub &'a TemplateInfo);

impl Serialize for TemplateJson<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let TemplateInfo { uri_template, name, title, description, mime_type, icons, annotations, meta } = self.0;
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("uriTemplate", &**uri_template)?;
        map.serialize_entry("name", name)?;
        entry(&mut map, "title", title.as_ref())?;
        entry(&mut map, "description", description.as_ref())?;
        entry(&mut map, "mimeType", mime_type.as_ref())?;
        shared(&mut map, icons.as_deref(), annotations.as_ref(), meta.as_ref())?;
        map.end()
    }
}

/// The JSON of a resource's contents, which was asked for by this URI: an array.
pub fn contents(contents: &[Contents], asked: &str) -> Result<Vec<u8>, serde_json::Error> {
    let mut out = Vec::with_capacity(FRAME + expected(contents));
    write_contents(&mut out, contents, asked)?;
    Ok(out)
}

/// Likewise, with [`END`] behind it.
pub fn contents_and_end(contents: &[Contents], asked: &str) -> Result<Bytes, serde_json::Error> {
    let mut out = self::contents(contents, asked)?;
    out.extend_from_slice(END);
    // It is kept: the room that was left for more is given back.
    Ok(out.into_boxed_slice().into())
}

fn write_contents(out: &mut Vec<u8>, contents: &[Contents], asked: &str) -> Result<(), serde_json::Error> {
    out.push(b'[');
    for (number, one) in contents.iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        one_of_contents(out, one, asked)?;
    }
    out.push(b']');
    Ok(())
}

/// Writes MCP's `TextResourceContents` or `BlobResourceContents`; the URI asked for stands in where the contents have none.
fn one_of_contents(out: &mut Vec<u8>, contents: &Contents, asked: &str) -> Result<(), serde_json::Error> {
    let Contents { uri, mime_type, body, meta } = contents;
    out.extend_from_slice(b"{\"uri\":");
    text::string(out, uri.as_deref().unwrap_or(asked));
    if let Some(mime_type) = mime_type {
        out.extend_from_slice(b",\"mimeType\":");
        text::string(out, mime_type);
    }
    match body {
        Body::Text(body) => {
            out.extend_from_slice(b",\"text\":");
            text::string(out, body);
        }
        Body::Blob(bytes) => {
            out.extend_from_slice(b",\"blob\":");
            text::base64(out, bytes);
        }
    }
    if let Some(meta) = meta {
        out.extend_from_slice(b",\"_meta\":");
        serde_json::to_writer(&mut *out, meta)?;
    }
    out.push(b'}');
    Ok(())
}

/// Bytes of JSON the contents will take, about.
pub fn expected(contents: &[Contents]) -> usize {
    contents
        .iter()
        .map(|contents| match &contents.body {
            Body::Text(text) => text.len() + text.len() / 16,
            Body::Blob(bytes) => bytes.len() / 3 * 4,
        })
        .sum()
}

struct AnnotationsJson<'a>(&'a Annotations);

impl Serialize for AnnotationsJson<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Annotations { audience, priority, last_modified } = self.0;
        let mut map = to.serialize_map(None)?;
        if let Some(audience) = audience {
            let role = |role: &Role| match role {
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            map.serialize_entry("audience", &Each(|| audience.iter().map(role)))?;
        }
        entry(&mut map, "priority", priority.as_ref())?;
        entry(&mut map, "lastModified", last_modified.filter(|ms| *ms < YEAR_10000).map(Timestamp).as_ref())?;
        map.end()
    }
}

/// Milliseconds since 1970 as ISO 8601 in UTC, with a fraction only if there is one.
struct Timestamp(u64);

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let time = UNIX_EPOCH + Duration::from_millis(self.0);
        if self.0.is_multiple_of(1000) {
            to.collect_str(&humantime::format_rfc3339_seconds(time))
        } else {
            to.collect_str(&humantime::format_rfc3339_millis(time))
        }
    }
}

struct IconJson<'a>(&'a Icon);

impl Serialize for IconJson<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Icon { src, mime_type, sizes, theme } = self.0;
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("src", src)?;
        entry(&mut map, "mimeType", mime_type.as_ref())?;
        entry(&mut map, "sizes", sizes.as_ref())?;
        let theme = theme.map(|theme| match theme {
            IconTheme::Light => "light",
            IconTheme::Dark => "dark",
        });
        entry(&mut map, "theme", theme.as_ref())?;
        map.end()
    }
}

/// An array of what the iterator gives that the function makes.
pub struct Each<F>(pub F);

impl<F, I> Serialize for Each<F>
where
    F: Fn() -> I,
    I: Iterator<Item: Serialize>,
{
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq((self.0)())
    }
}

fn shared<M: SerializeMap>(
    map: &mut M,
    icons: Option<&[Icon]>,
    annotations: Option<&Annotations>,
    meta: Option<&Map<String, Value>>,
) -> Result<(), M::Error> {
    if let Some(icons) = icons {
        map.serialize_entry("icons", &Each(|| icons.iter().map(IconJson)))?;
    }
    entry(map, "annotations", annotations.map(AnnotationsJson).as_ref())?;
    entry(map, "_meta", meta)
}

fn entry<M: SerializeMap, T: Serialize + ?Sized>(map: &mut M, key: &'static str, value: Option<&T>) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| map.serialize_entry(key, value))
}

#[cfg(test)]
mod tests;
