//! The targets, one a file.

mod component;
mod config;
mod cursor;
mod http;
mod message;
mod template;

use crate::Target;

/// All of them.
pub static TARGETS: [Target; 6] = [
    Target { name: "template", promise: "what a template matches expands to the same URI, and the other way round", run: template::run },
    Target { name: "cursor", promise: "a cursor leads to a page or to an error", run: cursor::run },
    Target { name: "config", promise: "wharf.toml is taken, or refused with a reason", run: config::run },
    Target { name: "message", promise: "each request has one answer with its id, in both eras", run: message::run },
    Target { name: "http", promise: "what answers a stream of bytes is HTTP, and it ends", run: http::run },
    Target { name: "component", promise: "a file is a component or is refused", run: component::run },
];

/// The first line and what follows it, as text.
fn line_and_rest(data: &[u8]) -> Option<(&str, &str)> {
    std::str::from_utf8(data).ok()?.split_once('\n')
}
