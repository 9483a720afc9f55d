//! Compiling in processes of the real binary, and the compile cache across hosts.
//!
//! Needs the fixtures of tests/guests, and a shell.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cached;
mod hosts;
mod process;
mod quick;
mod support;
