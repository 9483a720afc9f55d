//! Versions of the fixture `versioned`: the same component with another text in it.

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::root;

/// What the built file has where the version stands, between `@`s that are not part of it.
const MARK: &[u8] = b"@@version-0000@@";

/// The version that says this of itself: at most 16 letters.
///
/// # Errors
/// The fixture is not built, or has no mark.
pub fn version(text: &str) -> Result<Vec<u8>> {
    let path = root().join("tests/guests/versioned.wasm");
    let mut bytes = fs::read(&path).with_context(|| format!("{} is not built: run `cargo xtask guests`", path.display()))?;
    ensure!(text.len() <= MARK.len(), "{text} is too long");
    let padded: Vec<u8> = text.bytes().chain(std::iter::repeat(b'@')).take(MARK.len()).collect();
    let mut found = 0;
    while let Some(at) = bytes.windows(MARK.len()).position(|window| window == MARK) {
        bytes[at..at + MARK.len()].copy_from_slice(&padded);
        found += 1;
    }
    ensure!(found > 0, "{} has no {}", path.display(), String::from_utf8_lossy(MARK));
    Ok(bytes)
}

/// The same component in another file: with a custom section that says nothing (component model, Binary.md).
pub fn with_section(mut component: Vec<u8>, name: &str) -> Vec<u8> {
    let length = u8::try_from(name.len()).unwrap_or(u8::MAX).min(100);
    component.extend([0, length + 1, length]);
    component.extend(&name.as_bytes()[..length.into()]);
    component
}
