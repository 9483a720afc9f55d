//! Plain values. Names and meanings are those of `wit/provider.wit`, which documents each field.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use serde_json::{Map, Value};

/// For whom a resource is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// Hints for the client.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Annotations {
    /// For whom it is meant.
    pub audience: Option<Vec<Role>>,
    /// From 0.0 to 1.0.
    pub priority: Option<f64>,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub last_modified: Option<u64>,
}

/// The background an icon is drawn for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IconTheme {
    /// A light background.
    Light,
    /// A dark background.
    Dark,
}

/// An icon a client may show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Icon {
    /// An `https:` URL or a `data:` URI.
    pub src: String,
    /// Media type of the image.
    pub mime_type: Option<String>,
    /// `48x48`, or `any`.
    pub sizes: Option<Vec<String>>,
    /// Absent: good on both.
    pub theme: Option<IconTheme>,
}

/// One resource in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceInfo {
    /// Absolute URI of at most 8 KiB, byte for byte as the provider gave it.
    pub uri: Arc<str>,
    /// Short programmatic name.
    pub name: String,
    /// Name for people.
    pub title: Option<String>,
    /// What it is, for the model to decide whether to read it.
    pub description: Option<String>,
    /// Media type of what a read gives.
    pub mime_type: Option<String>,
    /// Bytes of the content before any encoding.
    pub size: Option<u64>,
    /// Icons a client may show.
    pub icons: Option<Vec<Icon>>,
    /// Hints for the client.
    pub annotations: Option<Annotations>,
    /// MCP's `_meta`.
    pub meta: Option<Map<String, Value>>,
}

impl ResourceInfo {
    /// A resource with a URI and a name, and nothing else said.
    pub fn new(uri: impl Into<Arc<str>>, name: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            size: None,
            icons: None,
            annotations: None,
            meta: None,
        }
    }

    /// About how many bytes it takes in memory: all that a provider can make long, since caps count it.
    pub(crate) fn weight(&self) -> usize {
        let Self { uri, name, title, description, mime_type, size: _, icons, annotations, meta } = self;
        size_of::<Self>()
            + uri.len()
            + name.len()
            + texts([title, description, mime_type])
            + weigh_icons(icons)
            + weigh_annotations(annotations)
            + weigh_meta(meta)
    }
}

/// What a member of a JSON object takes besides its key's text and its value.
const MEMBER: usize = size_of::<String>() + 16;

fn texts<const N: usize>(texts: [&Option<String>; N]) -> usize {
    texts.into_iter().flatten().map(String::len).sum()
}

fn weigh_icons(icons: &Option<Vec<Icon>>) -> usize {
    let sizes = |icon: &Icon| icon.sizes.iter().flatten().map(|size| size_of::<String>() + size.len()).sum::<usize>();
    icons.iter().flatten().map(|icon| size_of::<Icon>() + icon.src.len() + texts([&icon.mime_type]) + sizes(icon)).sum()
}

fn weigh_annotations(annotations: &Option<Annotations>) -> usize {
    annotations.as_ref().and_then(|annotations| annotations.audience.as_ref()).map_or(0, |audience| audience.len() * size_of::<Role>())
}

fn weigh_meta(meta: &Option<Map<String, Value>>) -> usize {
    meta.as_ref().map_or(0, weigh_members)
}

fn weigh_members(members: &Map<String, Value>) -> usize {
    members.iter().map(|(key, value)| MEMBER + key.len() + weigh(value)).sum()
}

fn weigh(value: &Value) -> usize {
    size_of::<Value>()
        + match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(weigh).sum(),
            Value::Object(members) => weigh_members(members),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
}

/// A family of resources that are not listed one by one.
#[derive(Debug, Clone, PartialEq)]
pub struct TemplateInfo {
    /// RFC 6570, as the provider gave it.
    pub uri_template: Arc<str>,
    /// Short programmatic name.
    pub name: String,
    /// Name for people.
    pub title: Option<String>,
    /// What the family is.
    pub description: Option<String>,
    /// Media type, only if every member has it.
    pub mime_type: Option<String>,
    /// Icons a client may show.
    pub icons: Option<Vec<Icon>>,
    /// Hints for the client.
    pub annotations: Option<Annotations>,
    /// MCP's `_meta`.
    pub meta: Option<Map<String, Value>>,
}

impl TemplateInfo {
    /// A template with a name, and nothing else said.
    pub fn new(uri_template: impl Into<Arc<str>>, name: impl Into<String>) -> Self {
        Self {
            uri_template: uri_template.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            icons: None,
            annotations: None,
            meta: None,
        }
    }

    /// About how many bytes it takes in memory.
    pub(crate) fn weight(&self) -> usize {
        let Self { uri_template, name, title, description, mime_type, icons, annotations, meta } = self;
        size_of::<Self>()
            + uri_template.len()
            + name.len()
            + texts([title, description, mime_type])
            + weigh_icons(icons)
            + weigh_annotations(annotations)
            + weigh_meta(meta)
    }
}

/// How long an answer may be used without asking again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    /// For so long, or until it is announced as changed.
    For(Duration),
    /// Until it is announced as changed.
    UntilAnnounced,
}

/// One page of a provider's list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResourcePage {
    /// In the order to be shown.
    pub resources: Vec<ResourceInfo>,
    /// Absent: this was the last page.
    pub next_cursor: Option<String>,
    /// How long the whole list may be used; the first page's counts.
    pub reuse: Option<Reuse>,
}

/// What the template that a URI matched says about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateMatch {
    /// The template, exactly as the provider gave it.
    pub uri_template: Arc<str>,
    /// Name and decoded value of each variable found in the URI, in the order of the template.
    pub variables: Vec<(String, String)>,
}

/// A request for one resource.
#[derive(Debug, Clone)]
pub struct ReadRequest {
    /// What the client sent, unchanged.
    pub uri: Arc<str>,
    /// The template it matched; absent for a URI that the provider listed.
    pub matched: Option<Arc<TemplateMatch>>,
    /// A version this provider gave for this URI, and whose content the host still holds.
    pub if_none_match: Option<String>,
}

/// The bytes of one content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// UTF-8 text.
    Text(String),
    /// Anything else.
    Blob(Bytes),
}

/// One content of a resource.
#[derive(Debug, Clone, PartialEq)]
pub struct Contents {
    /// Absent: the URI asked for.
    pub uri: Option<Arc<str>>,
    /// Absent: what the list or the template says.
    pub mime_type: Option<String>,
    /// The bytes.
    pub body: Body,
    /// MCP's `_meta`.
    pub meta: Option<Map<String, Value>>,
}

impl Contents {
    /// About how many bytes it takes in memory.
    pub(crate) fn weight(&self) -> usize {
        let Self { uri, mime_type, body, meta } = self;
        let body = match body {
            Body::Text(text) => text.len(),
            Body::Blob(bytes) => bytes.len(),
        };
        size_of::<Self>() + uri.as_ref().map_or(0, |uri| uri.len()) + texts([mime_type]) + body + weigh_meta(meta)
    }
}

/// What a resource holds at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// One or more.
    pub contents: Vec<Contents>,
    /// Differs whenever the contents differ.
    pub version: Option<String>,
    /// Absent: ask again each time.
    pub reuse: Option<Reuse>,
}

impl From<Body> for Reading {
    fn from(body: Body) -> Self {
        Self { contents: vec![Contents { uri: None, mime_type: None, body, meta: None }], version: None, reuse: None }
    }
}

impl From<String> for Reading {
    fn from(text: String) -> Self {
        Body::Text(text).into()
    }
}

impl From<&str> for Reading {
    fn from(text: &str) -> Self {
        Body::Text(text.into()).into()
    }
}

impl From<Bytes> for Reading {
    fn from(bytes: Bytes) -> Self {
        Body::Blob(bytes).into()
    }
}

impl From<Vec<u8>> for Reading {
    fn from(bytes: Vec<u8>) -> Self {
        Body::Blob(bytes.into()).into()
    }
}

/// A request for suggestions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionRequest {
    /// One of the provider's templates, exactly.
    pub uri_template: Arc<str>,
    /// The variable being filled in.
    pub argument: String,
    /// What is typed of it.
    pub value: String,
    /// Name and value of the variables filled in already.
    pub known: Vec<(String, String)>,
}

/// Suggestions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Completion {
    /// Best first.
    pub values: Vec<String>,
    /// How many there are in all.
    pub total: Option<u32>,
    /// Whether there are more than `values`.
    pub has_more: Option<bool>,
}

/// What someone sent to a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookRequest {
    /// Which webhook, as wharf.toml names it.
    pub name: String,
    /// In upper case, as it came.
    pub method: String,
    /// The path below the webhook's own, and the query: empty, or from `/` or `?` on.
    pub path_and_query: String,
    /// In order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Unchanged.
    pub body: Bytes,
}

/// What to answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookResponse {
    /// From 200 to 599.
    pub status: u16,
    /// In order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}
