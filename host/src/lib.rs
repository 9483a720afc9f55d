//! Wharf: a host for sandboxed resource providers.

pub mod catalog;
pub mod config;
pub mod mcp;
pub mod provider;
pub mod subscriptions;
pub mod transport;

#[cfg(test)]
extern crate self as wharf;

#[cfg(test)]
#[path = "../tests/common/memory.rs"]
#[allow(dead_code, missing_docs, clippy::expect_used)]
mod memory;
