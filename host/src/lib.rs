//! Wharf: a host for sandboxed resource providers.

pub mod catalog;
pub mod config;
pub mod mcp;
pub mod provider;
pub mod subscriptions;
pub mod transport;
