//! Wharf: a host for sandboxed resource providers, served to agents over MCP.
//!
//! A call goes down this list; what comes up from a provider comes through one channel, [`provider::EventQueue`].
//!
//! | module | owns | knows nothing of |
//! |---|---|---|
//! | [`host`] | the composition root: it alone wires the parts | - |
//! | [`transport`] | sockets, HTTP, event streams, who may connect | what a resource is |
//! | [`admin`] | what a host says of itself: status, metrics, the page | - |
//! | [`auth`] | who is let in over HTTP, and what they may see | what a resource is |
//! | [`mcp`] | the protocol without a transport: both eras, sessions, errors | sockets, WebAssembly |
//! | [`tools`] | resources as tools, beside `mcp` | MCP's eras, sockets |
//! | [`subscriptions`] | who listens to what | MCP messages, WebAssembly |
//! | [`plugins`] | the plugins folder, loading | MCP |
//! | [`catalog`] | order, lists, lookup, pages, kept answers | MCP, WebAssembly, listeners |
//! | [`provider`] | what a provider is; those that are components; what each may do besides answering | everything above |
//! | [`config`] | wharf.toml, which files are trusted | everything else |
//! | [`uri`] | what is a URI; templates, matched and expanded | everything else |
//! | [`trace`] | the spans of all of these, and the traces they continue | everything else |
//! | `otlp` | bringing spans to a collector, with the feature of that name | all but [`trace`], [`config`] and how [`provider`] speaks TLS |
//!
//! The command line is the binary's own, in `cli/`.

pub mod admin;
pub mod auth;
pub mod catalog;
pub mod config;
pub mod host;
pub mod mcp;
#[cfg(feature = "otlp")]
pub mod otlp;
pub mod plugins;
pub mod provider;
pub mod subscriptions;
pub mod tools;
pub mod trace;
pub mod transport;
pub mod uri;
