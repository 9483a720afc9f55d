//! Resources as tools, for clients that know tools only: five of them over the same catalog and subscriptions.
//!
//! Knows nothing of the protocol's eras or of transports: [`Tools::call`] takes a name and arguments, and gives a [`ToolResult`], or a
//! [`Waiting`] that gives it later.
//!
//! Invariants:
//! - What is wrong with the arguments, and a read that fails, is a result that says so to the model, with what to do next (MCP 2025-11-25,
//!   Tools, "Error Handling"). Only a tool that there is not is an error of the protocol.
//! - Several clients give the model the structured part of a result and nothing else, where there is one. So it says all that the text
//!   says, and a result with an image, which it could not carry, has none.
//! - What a caller may not see is in no result, and a token that another caller was given says nothing.
//! - No result floods a model's context: lists are paged, texts are cut at a length that the caller may raise, blobs are linked.

mod arguments;
mod definitions;
mod listing;
mod reading;
mod searching;
#[cfg(test)]
mod tests;
mod waiting;
pub mod watches;

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, value::RawValue};

use self::{arguments::Wrong, watches::Watchers};
pub use self::{
    definitions::{LIST_RESOURCES, LIST_TEMPLATES, READ_RESOURCE, SEARCH_RESOURCES, TOOLS, WAIT_FOR_UPDATE, definitions},
    listing::{ENTRIES, MOST_ENTRIES},
    reading::{BLOB_BYTES, IMAGE_BYTES, LENGTH, MOST_LENGTH},
    searching::{IN_TEXT_BYTES, IN_TEXT_READS, IN_TEXT_SIZE, IN_TEXT_TIME},
    waiting::{LONGEST_TIMEOUT, TIMEOUT, URIS, Waiting},
};
use crate::{
    catalog::{Caller, Catalog},
    provider::{ResourceInfo, TemplateInfo},
    subscriptions::Subscriptions,
};

/// One piece of what a tool says.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Text for the model.
    Text(String),
    /// An image for the model.
    Image {
        /// Its bytes.
        data: Bytes,
        /// One of those that models take.
        mime_type: String,
    },
    /// A small blob, as it is.
    Blob {
        /// Its resource.
        uri: Arc<str>,
        /// Its bytes.
        data: Bytes,
        /// Its media type.
        mime_type: Option<String>,
    },
    /// A resource, by its URI.
    Link(Link),
}

/// As much of MCP's `Resource` as a model needs to choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its URI.
    pub uri: Arc<str>,
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// Media type of what it holds.
    pub mime_type: Option<String>,
    /// Bytes of what it holds.
    pub size: Option<u64>,
}

impl From<&ResourceInfo> for Link {
    fn from(info: &ResourceInfo) -> Self {
        let ResourceInfo { uri, name, title, mime_type, size, .. } = info;
        Self { uri: uri.clone(), name: name.clone(), title: title.clone(), mime_type: mime_type.clone(), size: *size }
    }
}

/// What a tool answers.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// For the model.
    pub content: Vec<Content>,
    /// The same for programs: always an object.
    pub structured: Option<Value>,
    /// Whether it went wrong.
    pub is_error: bool,
}

impl ToolResult {
    fn new(text: String, structured: Value) -> Self {
        Self { content: vec![Content::Text(text)], structured: Some(structured), is_error: false }
    }

    fn error(text: impl Into<String>) -> Self {
        Self { content: vec![Content::Text(text.into())], structured: None, is_error: true }
    }

    fn with_links(mut self, links: impl IntoIterator<Item = Link>) -> Self {
        self.content.extend(links.into_iter().map(Content::Link));
        self
    }
}

impl From<Wrong> for ToolResult {
    fn from(Wrong(what): Wrong) -> Self {
        Self::error(what)
    }
}

/// There is no tool of this name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there is no such tool; there are {LIST_RESOURCES}, {LIST_TEMPLATES}, {READ_RESOURCE}, {SEARCH_RESOURCES} and {WAIT_FOR_UPDATE}")]
pub struct UnknownTool;

/// What became of a call.
pub enum Outcome {
    /// It is answered.
    Done(ToolResult),
    /// It will be, by [`Waiting::run`].
    Waiting(Waiting),
}

/// The tools of one host.
pub struct Tools {
    catalog: Arc<Catalog>,
    watches: Watchers,
}

impl Tools {
    /// Tools over these. `mark` tells the tokens of this host from those of any other, and of itself before a restart, so it should be
    /// random. Needs a tokio runtime.
    pub fn new(catalog: Arc<Catalog>, subscriptions: &Subscriptions, mark: u32) -> Self {
        Self { catalog, watches: Watchers::new(subscriptions, mark) }
    }

    /// Forgets what the tools know of callers that are valid no more.
    pub fn end_callers(&self, valid: &dyn Fn(&Caller) -> bool) {
        self.watches.end(valid);
    }

    /// Calls a tool. Dropping the future gives up waiting.
    ///
    /// # Errors
    /// [`UnknownTool`]; everything else that goes wrong is a result.
    pub async fn call(&self, caller: &Caller, name: &str, arguments: Option<&RawValue>) -> Result<Outcome, UnknownTool> {
        let done = match name {
            LIST_RESOURCES => self.list_resources(caller, arguments).await,
            LIST_TEMPLATES => self.list_templates(caller, arguments).await,
            READ_RESOURCE => self.read_resource(caller, arguments).await,
            SEARCH_RESOURCES => self.search_resources(caller, arguments).await,
            WAIT_FOR_UPDATE => {
                return Ok(self.wait_for_update(caller, arguments).await.unwrap_or_else(|wrong| Outcome::Done(wrong.into())));
            }
            _ => return Err(UnknownTool),
        };
        Ok(Outcome::Done(done.unwrap_or_else(ToolResult::from)))
    }
}

/// A line about a resource: `- notes://today: Notes, of today (text/markdown, 5 bytes)`.
fn line(info: &ResourceInfo) -> String {
    let ResourceInfo { uri, name, title, description, mime_type, size, .. } = info;
    described(uri, title.as_ref().unwrap_or(name), description.as_ref(), mime_type.as_ref(), *size)
}

/// Likewise about a template.
fn template_line(info: &TemplateInfo) -> String {
    let TemplateInfo { uri_template, name, title, description, mime_type, .. } = info;
    described(uri_template, title.as_ref().unwrap_or(name), description.as_ref(), mime_type.as_ref(), None)
}

fn described(uri: &str, name: &str, description: Option<&String>, mime_type: Option<&String>, size: Option<u64>) -> String {
    let details: Vec<_> = mime_type.cloned().into_iter().chain(size.map(|size| format!("{size} bytes"))).collect();
    let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
    let description = description.map(|text| format!(" - {text}")).unwrap_or_default();
    format!("- {uri}: {name}{details}{description}\n")
}

/// A resource for programs.
fn entry(info: &ResourceInfo, provider: Option<&Arc<str>>) -> serde_json::Map<String, Value> {
    let ResourceInfo { uri, name, title, description, mime_type, size, .. } = info;
    let mut entry = fields([
        ("uri", Some(uri.to_string())),
        ("name", Some(name.clone())),
        ("title", title.clone()),
        ("description", description.clone()),
        ("mimeType", mime_type.clone()),
        ("provider", provider.map(|name| name.to_string())),
    ]);
    if let Some(size) = size {
        entry.insert("size".into(), (*size).into());
    }
    entry
}

/// A template for programs.
fn template_entry(info: &TemplateInfo, provider: Option<&Arc<str>>) -> serde_json::Map<String, Value> {
    let TemplateInfo { uri_template, name, title, description, mime_type, .. } = info;
    fields([
        ("uriTemplate", Some(uri_template.to_string())),
        ("name", Some(name.clone())),
        ("title", title.clone()),
        ("description", description.clone()),
        ("mimeType", mime_type.clone()),
        ("provider", provider.map(|name| name.to_string())),
    ])
}

fn fields<const N: usize>(fields: [(&str, Option<String>); N]) -> serde_json::Map<String, Value> {
    fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.into()))).collect()
}

/// Where in a text a word begins that is in lower case, whatever the case of the text.
fn find_folded(text: &str, word: &str) -> Option<usize> {
    text.char_indices().map(|(at, _)| at).find(|at| {
        let mut folded = text[*at..].chars().flat_map(char::to_lowercase);
        word.chars().all(|char| folded.next() == Some(char))
    })
}
