//! A message that is ready to go out, in one piece or in two.
//!
//! Invariant: the second piece is shared by all messages that end with it, and nothing copies it on its way to the socket.

use std::borrow::Cow;

use bytes::Bytes;

/// Up to so many bytes an end is copied behind its head: that costs less than to send one piece more.
const COPIED: usize = 8 << 10;

/// A message: one line of JSON, without the end of the line.
#[derive(Debug, Clone, Default)]
pub struct Encoded {
    head: Vec<u8>,
    end: Bytes,
}

impl Encoded {
    /// These two, one after the other.
    pub(crate) fn new(mut head: Vec<u8>, end: Bytes) -> Self {
        if end.len() > COPIED {
            return Self { head, end };
        }
        head.extend_from_slice(&end);
        head.into()
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.head.len() + self.end.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its two pieces; the second may be empty.
    pub fn into_pieces(self) -> (Vec<u8>, Bytes) {
        (self.head, self.end)
    }

    /// All of it, copied together if it is in two pieces.
    pub fn whole(&self) -> Cow<'_, [u8]> {
        if self.end.is_empty() { Cow::Borrowed(&self.head) } else { Cow::Owned([&self.head[..], &self.end].concat()) }
    }

    /// Writes it behind what is there.
    pub fn append_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head);
        out.extend_from_slice(&self.end);
    }
}

impl From<Vec<u8>> for Encoded {
    fn from(head: Vec<u8>) -> Self {
        Self { head, end: Bytes::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_end_is_copied_and_a_long_one_is_shared() {
        for (length, shared) in [(0, false), (COPIED, false), (COPIED + 1, true)] {
            let end = Bytes::from(vec![b'e'; length]);
            let encoded = Encoded::new(b"head".to_vec(), end.clone());
            let whole = [&b"head"[..], &end].concat();
            assert_eq!((encoded.whole(), encoded.len()), (Cow::Borrowed(&whole[..]), whole.len()));
            let mut out = b"before".to_vec();
            encoded.append_to(&mut out);
            assert_eq!(out, [&b"before"[..], &whole].concat());
            let (_, piece) = encoded.into_pieces();
            assert_eq!(!piece.is_empty() && piece.as_ptr() == end.as_ptr(), shared, "{length}");
            assert_eq!(piece.is_empty(), !shared);
        }
    }
}
