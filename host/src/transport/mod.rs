//! How messages travel: bytes come in, a [`crate::mcp::Server`] answers, bytes go out. What a resource is, nothing here knows.

pub mod attach;
pub mod http;
pub mod stdio;
