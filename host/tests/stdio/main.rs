//! MCP over a pipe, against a provider in memory. The clock is paused: it moves only once nothing else can.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

// What is shared is not all used here.
#[allow(unused_imports)]
#[path = "../common/mod.rs"]
mod common;

mod attached;
mod client;
mod ends;
mod ids;
mod limits;
mod process;
mod requests;
mod tools;
