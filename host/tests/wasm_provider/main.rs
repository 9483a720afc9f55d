//! Components as providers: what they are refused for, what they may do, and what becomes of those that misbehave.
//!
//! Needs the fixtures of tests/guests.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod answers;
mod calls;
mod counted;
mod extras;
mod fetching;
#[cfg(unix)]
mod files;
mod granted;
mod live;
mod misbehaving;
mod pooled;
mod refused;
mod rights;
mod support;
