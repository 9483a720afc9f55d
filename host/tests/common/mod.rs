//! What the tests of this crate share.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

pub mod http;
pub mod memory;
