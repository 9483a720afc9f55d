//! What providers may do besides answering: what wharf.toml grants each of them, and what each was denied.
//!
//! Invariants:
//! - What is not granted is denied; nothing that a provider, a client or a web page does widens a grant.
//! - A denial names the lines of wharf.toml that would allow it, is counted, and is told in the log once for each thing that was wanted.
//! - What is secret is in no denial, no line of the log and no error.

pub mod broad;
pub mod files;
pub mod http;
mod rights;
pub mod secrets;
pub mod store;
pub mod webhooks;

pub use rights::{Denied, Need, Rights};
pub use secrets::Secrets;
