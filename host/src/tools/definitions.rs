//! What a model is told of the tools: names, descriptions, schemas, annotations (MCP 2025-11-25 and 2026-07-28, Tools, "Data Types").
//!
//! Invariant: each description is short, says when to use the tool and what to call next, and every number in it is the constant that
//! the code goes by.

use serde_json::{Value, json};

use super::{ENTRIES, IN_TEXT_SIZE, LENGTH, LONGEST_TIMEOUT, MOST_ENTRIES, MOST_LENGTH, TIMEOUT, URIS, searching, watches::HELD};

/// The tool that lists resources.
pub const LIST_RESOURCES: &str = "list_resources";
/// The tool that lists templates.
pub const LIST_TEMPLATES: &str = "list_resource_templates";
/// The tool that reads one resource.
pub const READ_RESOURCE: &str = "read_resource";
/// The tool that searches.
pub const SEARCH_RESOURCES: &str = "search_resources";
/// The tool that waits.
pub const WAIT_FOR_UPDATE: &str = "wait_for_update";

/// All of them.
pub const TOOLS: [&str; 5] = [LIST_RESOURCES, LIST_TEMPLATES, READ_RESOURCE, SEARCH_RESOURCES, WAIT_FOR_UPDATE];

/// MCP's `Tool` of each.
pub fn definitions() -> Value {
    json!([
        {
            "name": LIST_RESOURCES,
            "title": "List resources",
            "description": "Lists the resources this server offers: live context such as documents, states and logs. Narrow the list with \
                            text, mime_type or provider. Read one with read_resource.",
            "inputSchema": object(json!({
                "text": { "type": "string", "description": "Only those with this text in URI, name, title or description." },
                "mime_type": { "type": "string", "description": "Only those of this media type: text/markdown, or image/* for all images." },
                "provider": { "type": "string", "description": "Only those of this provider." },
                "limit": limit(ENTRIES),
                "cursor": cursor(),
            }), &[]),
            "outputSchema": object(json!({
                "resources": { "type": "array", "items": resource() },
                "nextCursor": { "type": "string" },
                "note": { "type": "string" },
            }), &["resources"]),
            "annotations": annotations("List resources", false),
        },
        {
            "name": LIST_TEMPLATES,
            "title": "List resource templates",
            "description": "Lists the URI templates (RFC 6570) of resources that are not listed one by one. Fill in the variables, and read the \
                            URI with read_resource.",
            "inputSchema": object(json!({ "limit": limit(ENTRIES), "cursor": cursor() }), &[]),
            "outputSchema": object(json!({
                "templates": { "type": "array", "items": template() },
                "nextCursor": { "type": "string" },
                "note": { "type": "string" },
            }), &["templates"]),
            "annotations": annotations("List resource templates", false),
        },
        {
            // No outputSchema: a result with an image has no structured part, and with a schema it would have to have one.
            "name": READ_RESOURCE,
            "title": "Read a resource",
            "description": format!(
                "Reads one resource. A text longer than {LENGTH} characters comes in pieces: go on with offset. Images come as images, large \
                 binary data as a link. The token in the result is for wait_for_update."
            ),
            "inputSchema": object(json!({
                "uri": { "type": "string", "description": "The URI exactly as listed, or a filled-in template." },
                "offset": { "type": "integer", "minimum": 0, "default": 0, "description": "Characters to skip." },
                "length": {
                    "type": "integer", "minimum": 0, "default": LENGTH,
                    "description": format!("Characters to give at most; more than {MOST_LENGTH} count as {MOST_LENGTH}."),
                },
            }), &["uri"]),
            "annotations": annotations("Read a resource", true),
        },
        {
            "name": SEARCH_RESOURCES,
            "title": "Search resources",
            "description": "Finds resources and templates by words in their names, titles, descriptions and URIs; all words have to be there. \
                            With in_text also by what small text resources say, which takes longer.",
            "inputSchema": object(json!({
                "query": { "type": "string", "description": "Words, in any order and case." },
                "in_text": {
                    "type": "boolean", "default": false,
                    "description": format!("Also search the text of resources of at most {} KiB.", IN_TEXT_SIZE >> 10),
                },
                "limit": limit(searching::FOUND),
            }), &["query"]),
            "outputSchema": object(json!({
                "resources": { "type": "array", "items": found() },
                "templates": { "type": "array", "items": template() },
                "textsRead": { "type": "integer" },
                "complete": { "type": "boolean", "description": "Whether everything was looked at, and all that was found is here." },
                "note": { "type": "string" },
            }), &["resources", "templates", "complete"]),
            "annotations": annotations("Search resources", true),
        },
        {
            "name": WAIT_FOR_UPDATE,
            "title": "Wait for an update",
            "description": format!(
                "Waits until one of these resources changes, and says which. Pass the token of the call before for the same resources, or at first \
                 that of read_resource: then changes since count too, and none is missed. Also after a timeout call again with the new token, \
                 within {} s.",
                HELD.as_secs()
            ),
            "inputSchema": object(json!({
                "uris": {
                    "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": URIS,
                    "description": "The URIs exactly as listed or read.",
                },
                "timeout": {
                    "type": "number", "minimum": 0, "default": TIMEOUT.as_secs(),
                    "description": format!(
                        "Seconds to wait; more than {0} count as {0}. 0 only gives a token.", LONGEST_TIMEOUT.as_secs()
                    ),
                },
                "token": { "type": "string", "description": "Of the last wait_for_update for these, or else of read_resource." },
            }), &["uris"]),
            "outputSchema": object(json!({
                "status": { "type": "string", "enum": ["changed", "timeout", "stopping"] },
                "changed": { "type": "array", "items": { "type": "string" }, "description": "Read these again." },
                "unsure": {
                    "type": "array", "items": { "type": "string" },
                    "description": "Those of `changed` of which nobody can know whether they did.",
                },
                "unknown": { "type": "array", "items": { "type": "string" }, "description": "No provider offers these now." },
                "token": { "type": "string", "description": "For the next call." },
                "note": { "type": "string" },
            }), &["status", "changed", "token"]),
            "annotations": annotations("Wait for an update", false),
        },
    ])
}

fn object(properties: Value, required: &[&str]) -> Value {
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

/// All of them read and nothing else. `open` says whether a provider may ask the world outside for what it answers.
fn annotations(title: &str, open: bool) -> Value {
    json!({ "title": title, "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": open })
}

fn limit(default: usize) -> Value {
    json!({
        "type": "integer", "minimum": 1, "default": default,
        "description": format!("Entries to give at most; more than {MOST_ENTRIES} count as {MOST_ENTRIES}."),
    })
}

fn cursor() -> Value {
    json!({ "type": "string", "description": "The nextCursor of the page before, with the same filter." })
}

fn texts(names: &[&str]) -> serde_json::Map<String, Value> {
    names.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect()
}

fn resource() -> Value {
    let mut properties = texts(&["uri", "name", "title", "description", "mimeType", "provider"]);
    properties.insert("size".into(), json!({ "type": "integer", "description": "Bytes." }));
    object(properties.into(), &["uri", "name"])
}

fn template() -> Value {
    object(texts(&["uriTemplate", "name", "title", "description", "mimeType", "provider"]).into(), &["uriTemplate", "name"])
}

fn found() -> Value {
    let mut found = resource();
    found["properties"]["snippet"] = json!({ "type": "string", "description": "Where in its text the words are." });
    found
}
