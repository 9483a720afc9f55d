//! Writing the long strings of an answer: text escaped as JSON wants it, and bytes in base64.
//!
//! Escaping is what a read of a large text costs most, after sending it. A long text goes block by block: what is to be escaped in a block is
//! found at once, for all its bytes, and what lies between is copied in pieces of a fixed length, so that little depends on what the text
//! holds. Source code and Markdown go at some 3 GB/s so, twice as fast as eight bytes at a time; short texts do that, which needs no room
//! of its own. Either is faster than byte by byte, as `serde_json` does it.
//!
//! Invariant: what is written is what `serde_json` writes.

use base64::{Engine, engine::general_purpose::STANDARD};

/// A one in each of eight bytes.
const EACH: u64 = 0x0101_0101_0101_0101;
/// The highest bit of each.
const HIGHEST: u64 = 0x8080_8080_8080_8080;
/// Times eight bytes that are each 0 or 1, this has them as bits in its highest byte, the first one lowest.
const GATHER: u64 = 0x0102_0408_1020_4080;

/// Texts of so many bytes go block by block.
const LONG: usize = 512;
/// Bytes that are looked at at once: as many as a word has bits.
const BLOCK: usize = 64;
/// Whole blocks are read wherever they begin in one, so another one has to follow.
const WINDOW: usize = 2 * BLOCK;
/// Bytes of text that are put together in [`ROOM`] before they go out. Both fit into a processor's first cache.
const PIECE: usize = 1024;
/// What a piece takes if all of it is escaped, and the block that is written behind it.
const ROOM: usize = PIECE * LONGEST + WINDOW;
/// Bytes of the longest escape, `\u0000`.
const LONGEST: usize = 6;

/// How a byte is written.
#[derive(Clone, Copy)]
struct Escape {
    bytes: [u8; 8],
    length: u8,
}

static ESCAPES: [Escape; 256] = escapes();

const fn escapes() -> [Escape; 256] {
    let digits = b"0123456789abcdef";
    let mut escapes = [Escape { bytes: [0; 8], length: 1 }; 256];
    let mut byte = 0;
    while byte < 256 {
        let short = match byte as u8 {
            b'"' => b'"',
            b'\\' => b'\\',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x08 => b'b',
            0x0c => b'f',
            _ => 0,
        };
        escapes[byte] = match byte {
            _ if short != 0 => Escape { bytes: [b'\\', short, 0, 0, 0, 0, 0, 0], length: 2 },
            0..0x20 => Escape { bytes: [b'\\', b'u', b'0', b'0', digits[byte >> 4], digits[byte & 15], 0, 0], length: LONGEST as u8 },
            _ => Escape { bytes: [byte as u8, 0, 0, 0, 0, 0, 0, 0], length: 1 },
        };
        byte += 1;
    }
    escapes
}

/// Writes a JSON string (RFC 8259 §7).
pub fn string(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    out.push(b'"');
    if rest.len() >= LONG {
        rest = long(out, rest);
    }
    while let Some(at) = next_escaped(rest) {
        let (plain, from) = rest.split_at(at);
        out.extend_from_slice(plain);
        let Some((byte, after)) = from.split_first() else { break };
        let Escape { bytes, length } = &ESCAPES[usize::from(*byte)];
        out.extend_from_slice(&bytes[..usize::from(*length)]);
        rest = after;
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Writes a text but for its last bytes, less than [`WINDOW`], which it gives back.
fn long<'a>(out: &mut Vec<u8>, mut rest: &'a [u8]) -> &'a [u8] {
    let mut room = [0; ROOM];
    while rest.len() >= WINDOW {
        let (mut at, mut taken) = (0, 0);
        while taken < PIECE
            && let Some(window) = rest.first_chunk()
        {
            at = block(&mut room, at, window);
            taken += BLOCK;
            rest = &rest[BLOCK..];
        }
        out.extend_from_slice(&room[..at]);
    }
    rest
}

/// Writes the first block of the window to `at`; gives where it ends. Whatever is copied past an escape, or past the block, is written over
/// by what comes next.
fn block(room: &mut [u8; ROOM], mut at: usize, window: &[u8; WINDOW]) -> usize {
    let Some(block) = window.first_chunk::<BLOCK>() else { return at };
    let mut marks = marks_of_block(block);
    let mut from = 0;
    while let (Some(to), Some(bytes)) = (room.get_mut(at..at + BLOCK), window.get(from..from + BLOCK)) {
        to.copy_from_slice(bytes);
        if marks == 0 {
            break;
        }
        let next = marks.trailing_zeros() as usize;
        at += next - from;
        let Escape { bytes, length } = &ESCAPES[usize::from(block[next])];
        if let Some(to) = room.get_mut(at..at + bytes.len()) {
            to.copy_from_slice(bytes);
        }
        at += usize::from(*length);
        from = next + 1;
        marks &= marks - 1;
    }
    at + BLOCK - from
}

/// A bit for each byte that has to be escaped, the first one lowest.
fn marks_of_block(block: &[u8; BLOCK]) -> u64 {
    // Each byte for itself, which compilers make vectors of.
    let mut escaped = [0; BLOCK];
    for (escaped, byte) in escaped.iter_mut().zip(block) {
        *escaped = u8::from((*byte < b' ') | (*byte == b'"') | (*byte == b'\\'));
    }
    let words = escaped.as_chunks::<8>().0.iter().enumerate();
    words.fold(0, |marks, (number, word)| marks | ((u64::from_le_bytes(*word).wrapping_mul(GATHER) >> 56) << (8 * number)))
}

/// Writes bytes as a JSON string in base64 (RFC 4648 §4).
pub fn base64(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, b'=');
    // It fails only where there is too little room.
    let written = STANDARD.encode_slice(bytes, &mut out[start..]).unwrap_or(0);
    out.truncate(start + written);
    out.push(b'"');
}

/// Where the first byte is that may not stand in a JSON string.
fn next_escaped(bytes: &[u8]) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        let marks = marks(u64::from_le_bytes(*word));
        if marks != 0 {
            return Some(number * 8 + (marks.trailing_zeros() / 8) as usize);
        }
    }
    let is_escaped = |byte: &u8| *byte < b' ' || matches!(*byte, b'"' | b'\\');
    rest.iter().position(is_escaped).map(|at| words.len() * 8 + at)
}

/// The highest bit of each byte that has to be escaped. Bytes after the first such one may be marked without reason: a borrow ran into them.
fn marks(word: u64) -> u64 {
    // A byte is below a small number if subtracting sets its highest bit, which it did not have.
    let below = |word: u64, number: u8| word.wrapping_sub(EACH * u64::from(number)) & !word;
    let is = |byte: u8| below(word ^ (EACH * u64::from(byte)), 1);
    (below(word, b' ') | is(b'"') | is(b'\\')) & HIGHEST
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_byte_is_escaped_as_serde_json_does_at_every_place_of_a_word() {
        for character in (0..=0x17f).filter_map(char::from_u32) {
            for before in 0..17 {
                let text = format!("{}{character}{}", "a".repeat(before), "b\u{7f}c\u{1}".repeat(3));
                assert_eq!(written(|out| string(out, &text)), serde_json::to_string(&text).unwrap());
            }
        }
        assert_eq!(written(|out| string(out, "")), "\"\"");
    }

    #[test]
    fn a_long_text_is_escaped_as_serde_json_does_whatever_stands_where_in_its_blocks() {
        let long = |of: &str, length: usize| of.repeat(length / of.len() + 1);
        for character in (0..=0x17f).filter_map(char::from_u32) {
            // Everything escaped, and everything but for one byte.
            let texts = [long(&character.to_string(), 3 * PIECE), long(&format!("{}{character}", "a".repeat(70)), 3 * PIECE)];
            for text in texts {
                assert_eq!(written(|out| string(out, &text)), serde_json::to_string(&text).unwrap());
            }
        }
        for length in LONG - 1..LONG + 2 * WINDOW {
            let text = &long("\u{1}\"ab\n\u{7f}ü\\ and so on", length + 1)[..];
            let text = &text[..(length..).find(|at| text.is_char_boundary(*at)).unwrap()];
            assert_eq!(written(|out| string(out, text)), serde_json::to_string(text).unwrap(), "{length}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_written_as_serde_json_does(text in "(?s)(.|[\"\\\\\n\x00-\x1f]){0,80}") {
            prop_assert_eq!(written(|out| string(out, &text)), serde_json::to_string(&text).unwrap());
            let long = text.repeat(LONG / text.len().max(1) + 2);
            prop_assert_eq!(written(|out| string(out, &long)), serde_json::to_string(&long).unwrap());
        }

        #[test]
        fn any_bytes_come_back_from_base64(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let text = written(|out| base64(out, &bytes));
            prop_assert_eq!(STANDARD.decode(text.trim_matches('"')).unwrap(), bytes);
        }
    }
}
