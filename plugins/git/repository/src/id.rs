//! Names of objects: SHA-1, in hex.

use std::fmt;

use sha1::{Digest, Sha1};

/// Bytes of an id.
pub const LENGTH: usize = 20;
/// The shortest abbreviation that git takes.
pub const MIN_ABBREVIATION: usize = 4;

/// The name of an object: the SHA-1 of its kind, size and content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId([u8; LENGTH]);

impl ObjectId {
    /// Reads 40 hex digits in either case.
    pub fn from_hex(hex: &str) -> Option<Self> {
        let hex = hex.as_bytes();
        if hex.len() != LENGTH * 2 {
            return None;
        }
        let mut bytes = [0; LENGTH];
        for (byte, pair) in bytes.iter_mut().zip(hex.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(Self(bytes))
    }

    /// From 20 bytes, and no other number.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// What an object of this kind and content is called.
    pub(crate) fn of(kind: &str, content: &[u8]) -> Self {
        let mut hash = Sha1::new();
        hash.update(format!("{kind} {}\0", content.len()));
        hash.update(content);
        Self(hash.finalize().into())
    }

    /// The SHA-1 of these bytes alone.
    pub fn sha1(bytes: &[u8]) -> Self {
        Self(Sha1::digest(bytes).into())
    }

    pub(crate) fn bytes(&self) -> &[u8; LENGTH] {
        &self.0
    }

    /// Its first digits, as they are shown where a whole id is too long to read.
    pub fn short(&self) -> String {
        let mut hex = self.to_string();
        hex.truncate(10);
        hex
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The first digits of an id, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abbreviation(String);

impl Abbreviation {
    /// 4 to 40 hex digits.
    pub fn new(text: &str) -> Option<Self> {
        let fits = (MIN_ABBREVIATION..=LENGTH * 2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        fits.then(|| Self(text.to_ascii_lowercase()))
    }

    /// The first byte of all ids that it may stand for, and its two digits.
    pub fn first(&self) -> (u8, &str) {
        let digits = self.0.get(..2).unwrap_or_default();
        (u8::from_str_radix(digits, 16).unwrap_or_default(), digits)
    }

    /// Whether it may stand for this one.
    pub fn fits(&self, id: &ObjectId) -> bool {
        id.to_string().starts_with(&self.0)
    }
}

fn digit(hex: u8) -> Option<u8> {
    char::from(hex).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}
