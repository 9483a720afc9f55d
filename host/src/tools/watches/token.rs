//! Tokens: what a caller knows of one host's history, as text that a model copies.
//!
//! `7f3a91c2-184-5be0c1d2` is the host's mark, a point of its history, and a digest of the URIs that are known up to that point. A token of a read
//! has the digest of what was read after it.
//!
//! Invariant: a token says nothing of a URI that it was not given for: a caller that waits for one resource and then for another has
//! not heard of the other meanwhile.

use crate::provider::{Body, Contents};

/// What a caller knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// It has no token: only what changes from now on is news.
    Now,
    /// What its token says, which is one of this host.
    At(Known),
    /// Nothing that this host could tell: the token is another host's, one of before a restart, or none at all.
    Unknown,
}

/// What a token of this host says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The point of the history.
    pub number: u64,
    /// [`set`] of the URIs that are known up to it.
    pub set: u32,
    /// [`digest`] of what was read.
    pub read: Option<u64>,
}

/// Writes a token.
pub(super) fn write(mark: u32, known: Known) -> String {
    let Known { number, set, read } = known;
    let read = read.map(|read| format!("-{read:016x}")).unwrap_or_default();
    format!("{mark:08x}-{number}-{set:08x}{read}")
}

/// Reads one of the host that has this mark.
pub(super) fn read(mark: u32, token: &str) -> Point {
    fn parts(mark: u32, token: &str) -> Option<Known> {
        let mut parts = token.trim().split('-');
        if u32::from_str_radix(parts.next()?, 16).ok()? != mark {
            return None;
        }
        let number = parts.next()?.parse().ok()?;
        let set = u32::from_str_radix(parts.next()?, 16).ok()?;
        let read = match parts.next() {
            Some(read) => Some(u64::from_str_radix(read, 16).ok()?),
            None => None,
        };
        parts.next().is_none().then_some(Known { number, set, read })
    }
    parts(mark, token).map_or(Point::Unknown, Point::At)
}

/// What tells one set of URIs from another, in whatever order they come.
pub fn set<'a>(uris: impl Iterator<Item = &'a str>) -> u32 {
    let mut uris: Vec<_> = uris.collect();
    uris.sort_unstable();
    uris.dedup();
    let mut hasher = blake3::Hasher::new();
    uris.iter().for_each(|uri| add(&mut hasher, 0, uri.as_bytes()));
    let [a, b, c, d, ..] = *hasher.finalize().as_bytes();
    u32::from_be_bytes([a, b, c, d])
}

/// What tells what a resource said at one time from what it says at another.
pub fn digest(uri: &str, contents: &[Contents]) -> u64 {
    let mut hasher = blake3::Hasher::new();
    add(&mut hasher, 0, uri.as_bytes());
    for part in contents {
        add(&mut hasher, 1, part.uri.as_deref().unwrap_or_default().as_bytes());
        match &part.body {
            Body::Text(text) => add(&mut hasher, 2, text.as_bytes()),
            Body::Blob(bytes) => add(&mut hasher, 3, bytes),
        }
    }
    let [a, b, c, d, e, f, g, h, ..] = *hasher.finalize().as_bytes();
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

fn add(hasher: &mut blake3::Hasher, kind: u8, bytes: &[u8]) {
    hasher.update(&[kind]);
    hasher.update(&(bytes.len() as u64).to_be_bytes());
    hasher.update(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_as_it_was_written_and_only_by_its_host() {
        for (number, set, digest) in [(0, 0, None), (u64::MAX, u32::MAX, Some(0)), (184, 7, Some(u64::MAX))] {
            let known = Known { number, set, read: digest };
            let token = write(0x7f, known);
            assert_eq!(read(0x7f, &format!(" {token} ")), Point::At(known), "{token}");
            assert_eq!(read(0x7e, &token), Point::Unknown);
        }
        for odd in ["", "7f", "7f-", "7f-x-1", "7f-1", "7f-1-x", "7f-1-1-", "7f-1-2-3-4", "-1", "none", "7f-99999999999999999999-1"] {
            assert_eq!(read(0x7f, odd), Point::Unknown, "{odd}");
        }
    }

    #[test]
    fn a_set_is_the_same_in_any_order_and_no_other_is() {
        let of = |uris: &[&'static str]| set(uris.iter().copied());
        assert_eq!(of(&["x://a", "x://b"]), of(&["x://b", "x://a", "x://b"]));
        assert_ne!(of(&["x://a", "x://b"]), of(&["x://a"]));
        assert_ne!(of(&["x://a", "b"]), of(&["x://", "ab"]));
    }

    #[test]
    fn a_digest_tells_what_is_said_apart_and_of_which_resource() {
        let text = |text: &str| vec![Contents { uri: None, mime_type: None, body: Body::Text(text.into()), meta: None }];
        assert_eq!(digest("x://a", &text("1")), digest("x://a", &text("1")));
        assert_ne!(digest("x://a", &text("1")), digest("x://a", &text("2")));
        assert_ne!(digest("x://a", &text("1")), digest("x://b", &text("1")));
        assert_ne!(digest("x://a", &text("12")), digest("x://a", &[text("1"), text("2")].concat()));
    }
}
