//! Reading JSON-RPC 2.0 messages, borrowed from the text they came in.
//!
//! Invariants: a message is parsed once, and only as deep as the fields this host knows; everything else is skipped. An id is kept as
//! the JSON it came as, so that it goes back byte for byte. A message whose shape is wrong still gives its id, if that can be read.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{self, IgnoredAny, SeqAccess, Visitor},
};
use serde_json::{error::Category, value::RawValue};

use super::error::RpcError;

/// Messages in one batch. Only 2025-03-26 has batches, and what clients put in them is a handful; each may be a read.
pub const BATCH_CAP: usize = 64;

/// Bytes of a request's id, as JSON. It goes back with the answer, and a listen holds it as long as it lasts; those in use are numbers
/// and UUIDs.
pub const ID_CAP: usize = 1024;

/// A request's id, as JSON: a string or a number. MCP forbids null and wants whole numbers; JSON-RPC 2.0 §4 only advises against others.
/// Nothing here counts with an id, so any number is taken, and goes back as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Id<'a>(&'a str);

impl<'a> Id<'a> {
    /// For answers to what had no readable id (JSON-RPC 2.0 §5).
    pub const NULL: Id<'static> = Id("null");

    fn new(raw: &'a RawValue) -> Option<Self> {
        matches!(raw.get().as_bytes().first(), Some(b'"' | b'-' | b'0'..=b'9')).then_some(Self(raw.get()))
    }

    /// The JSON.
    pub fn as_json(&self) -> &'a str {
        self.0
    }
}

/// Anything a client may send.
#[derive(Debug)]
pub enum Message<'a> {
    /// It wants an answer.
    Request(Request<'a>),
    /// It wants none; here is its method.
    Notification(Cow<'a, str>),
    /// An answer to something this host never asks.
    Response,
}

/// A request.
#[derive(Debug)]
pub struct Request<'a> {
    /// To be sent back with the answer.
    pub id: Id<'a>,
    /// What is wanted.
    pub method: Cow<'a, str>,
    params: Result<Params<'a>, String>,
}

/// What came in one text.
#[derive(Debug)]
pub enum Incoming<'a> {
    /// One message.
    One(Message<'a>),
    /// A batch: its messages as JSON, at least one, at most [`BATCH_CAP`].
    Batch(Vec<&'a RawValue>),
}

/// A message that cannot be answered but with an error.
#[derive(Debug)]
pub struct Rejected<'a> {
    /// [`Id::NULL`] if it had none that could be read.
    pub id: Id<'a>,
    /// What is wrong.
    pub error: RpcError,
}

/// The parameters this host knows, of all methods; any other is skipped.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Params<'a> {
    /// `resources/read`, `subscribe`, `unsubscribe`.
    #[serde(borrow)]
    pub uri: Option<&'a RawValue>,
    /// The lists.
    #[serde(borrow)]
    pub cursor: Option<&'a RawValue>,
    /// `tools/call`, `prompts/get`.
    #[serde(borrow)]
    pub name: Option<&'a RawValue>,
    /// `tools/call`, `prompts/get`.
    #[serde(borrow)]
    pub arguments: Option<&'a RawValue>,
    /// `initialize`.
    #[serde(borrow, rename = "protocolVersion")]
    pub protocol_version: Option<&'a RawValue>,
    /// `subscriptions/listen`.
    #[serde(borrow)]
    pub notifications: Option<&'a RawValue>,
    /// `completion/complete`.
    #[serde(borrow, rename = "ref")]
    pub reference: Option<&'a RawValue>,
    /// `completion/complete`.
    #[serde(borrow)]
    pub argument: Option<&'a RawValue>,
    /// `completion/complete`.
    #[serde(borrow)]
    pub context: Option<&'a RawValue>,
    /// `logging/setLevel`.
    #[serde(borrow)]
    pub level: Option<&'a RawValue>,
    /// All methods.
    #[serde(borrow, rename = "_meta")]
    pub meta: Option<&'a RawValue>,
}

/// Of `_meta`, what 2026-07-28 asks of every request, and what any may have.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Meta<'a> {
    /// The version the request is made in.
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    pub protocol_version: Option<&'a RawValue>,
    /// What the client can do.
    #[serde(borrow, rename = "io.modelcontextprotocol/clientCapabilities")]
    pub client_capabilities: Option<&'a RawValue>,
    /// What progress notifications for the request have to name. All versions have it.
    #[serde(borrow, rename = "progressToken")]
    pub progress_token: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Frame<'a> {
    #[serde(borrow, deserialize_with = "even_null")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, deserialize_with = "even_null")]
    id: Option<&'a RawValue>,
    #[serde(borrow, deserialize_with = "even_null")]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow, deserialize_with = "even_null")]
    result: Option<&'a RawValue>,
    #[serde(borrow, deserialize_with = "even_null")]
    error: Option<&'a RawValue>,
}

/// Tells `null` from a field that is not there.
fn even_null<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

/// Reads what came in one text.
pub fn parse(text: &[u8]) -> Result<Incoming<'_>, Rejected<'_>> {
    let text = std::str::from_utf8(text).map_err(|_| rejected(RpcError::parse("it is not UTF-8")))?;
    match text.trim_ascii_start().as_bytes().first() {
        Some(b'[') => match serde_json::from_str::<Batch<'_>>(text) {
            Ok(batch) if batch.0.is_empty() => Err(rejected(RpcError::invalid_request("the batch is empty"))),
            Ok(batch) => Ok(Incoming::Batch(batch.0)),
            Err(error) => Err(unreadable(&error)),
        },
        _ => parse_one(text).map(Incoming::One),
    }
}

/// Reads one message: the whole text, or an entry of a batch.
pub fn parse_one(text: &str) -> Result<Message<'_>, Rejected<'_>> {
    if !is_object(text.trim_ascii_start()) {
        return Err(match serde_json::from_str::<IgnoredAny>(text) {
            Ok(_) => rejected(RpcError::invalid_request("a message is a JSON object")),
            Err(error) => unreadable(&error),
        });
    }
    let frame: Frame<'_> = serde_json::from_str(text).map_err(|error| unreadable(&error))?;
    let id = frame.id.map(Id::new);
    let reject = |reason: &str| Err(Rejected { id: id.flatten().unwrap_or(Id::NULL), error: RpcError::invalid_request(reason) });
    if frame.id.is_some_and(|id| id.get().len() > ID_CAP) {
        return Err(rejected(RpcError::invalid_request(format!("`id` is longer than {ID_CAP} bytes"))));
    }
    if frame.jsonrpc.is_none_or(|version| version.get() != "\"2.0\"") {
        return reject("`jsonrpc` must be \"2.0\"");
    }
    let Some(method) = frame.method else {
        return match (frame.result, frame.error) {
            (None, None) => reject("`method` is missing"),
            _ => Ok(Message::Response),
        };
    };
    if id == Some(None) {
        return reject("`id` must be a string or a number");
    }
    let Some(method) = text_of(method) else { return reject("`method` must be a string") };
    Ok(match id.flatten() {
        Some(id) => Message::Request(Request { id, method, params: Params::read(frame.params) }),
        None => Message::Notification(method),
    })
}

impl<'a> Request<'a> {
    /// Its parameters; none count as an empty object.
    pub fn params(&self) -> Result<&Params<'a>, RpcError> {
        self.params.as_ref().map_err(|reason| RpcError::invalid_params(reason.clone()))
    }

    /// Its `_meta`, if it has one that is an object.
    pub fn meta(&self) -> Option<Meta<'a>> {
        let meta = self.params.as_ref().ok()?.meta?;
        is_object(meta.get()).then(|| serde_json::from_str(meta.get()).ok()).flatten()
    }
}

impl<'a> Params<'a> {
    fn read(raw: Option<&'a RawValue>) -> Result<Self, String> {
        match raw {
            None => Ok(Self::default()),
            Some(raw) if is_object(raw.get()) => serde_json::from_str(raw.get()).map_err(|error| format!("`params`: {error}")),
            Some(_) => Err("`params` must be an object".to_owned()),
        }
    }

    /// The text of a field; null counts as missing.
    pub fn text(field: &'static str, raw: Option<&'a RawValue>) -> Result<Cow<'a, str>, RpcError> {
        let raw = raw.ok_or_else(|| RpcError::invalid_params(format!("`{field}` is missing")))?;
        text_of(raw).ok_or_else(|| RpcError::invalid_params(format!("`{field}` must be a string")))
    }

    /// The text of a field that need not be there.
    pub fn optional_text(field: &'static str, raw: Option<&'a RawValue>) -> Result<Option<Cow<'a, str>>, RpcError> {
        raw.map(|raw| Self::text(field, Some(raw))).transpose()
    }

    /// A field that is an object, as `T`, whose fields all have defaults.
    pub fn object<T: Deserialize<'a>>(field: &'static str, raw: Option<&'a RawValue>) -> Result<T, RpcError> {
        let raw = raw.ok_or_else(|| RpcError::invalid_params(format!("`{field}` is missing")))?;
        if !is_object(raw.get()) {
            return Err(RpcError::invalid_params(format!("`{field}` must be an object")));
        }
        serde_json::from_str(raw.get()).map_err(|error| RpcError::invalid_params(format!("`{field}`: {error}")))
    }
}

/// Whether it is JSON's text for an object. A struct that serde derives would take an array as well.
pub fn is_object(json: &str) -> bool {
    json.starts_with('{')
}

/// The text of a JSON string.
pub fn text_of(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inner = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') { serde_json::from_str(raw.get()).ok().map(Cow::Owned) } else { Some(Cow::Borrowed(inner)) }
}

fn rejected(error: RpcError) -> Rejected<'static> {
    Rejected { id: Id::NULL, error }
}

fn unreadable(error: &serde_json::Error) -> Rejected<'static> {
    rejected(match error.classify() {
        Category::Data => RpcError::invalid_request(error.to_string()),
        Category::Io | Category::Syntax | Category::Eof => RpcError::parse(error.to_string()),
    })
}

struct Batch<'a>(Vec<&'a RawValue>);

impl<'de> Deserialize<'de> for Batch<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Batch<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a batch")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
                let mut batch = Vec::new();
                while let Some(entry) = entries.next_element()? {
                    if batch.len() == BATCH_CAP {
                        return Err(de::Error::custom(format_args!("a batch has at most {BATCH_CAP} messages: send several")));
                    }
                    batch.push(entry);
                }
                Ok(Batch(batch))
            }
        }
        from.deserialize_seq(Entries)
    }
}

#[cfg(test)]
mod tests;
