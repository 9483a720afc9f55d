//! W3C Trace Context (Recommendation of 23 November 2021): which trace of another's a request continues.
//!
//! Invariant: what is malformed in any way counts as not there; a malformed `tracestate` does not take the `traceparent` with it (§4.3).

use std::{collections::HashSet, fmt, str::FromStr};

/// Bytes of a `tracestate`: §3.3.1.5 asks that 512 be kept, and what is longer is left out as a whole.
const STATE_CAP: usize = 512;
/// Its members (§3.3.1.1).
const MEMBERS: usize = 32;
/// Characters of a member's key, and of its value (§3.3.1.3).
const MEMBER_CAP: usize = 256;

/// The bytes of a `traceparent` of version 00.
const LENGTH: usize = 55;
const SAMPLED: u8 = 1;

/// A span of somebody else's: a `traceparent` (§3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    /// The trace; not all zeros.
    pub trace_id: [u8; 16],
    /// The span in it; not all zeros.
    pub span_id: [u8; 8],
    /// Whether whoever began it records it.
    pub sampled: bool,
}

/// It is no `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a traceparent as W3C Trace Context has it")]
pub struct Malformed;

impl FromStr for TraceContext {
    type Err = Malformed;

    /// Of a version to come, what this one has is taken (§3.2.4).
    fn from_str(text: &str) -> Result<Self, Malformed> {
        let bytes = text.as_bytes();
        let (head, rest) = bytes.split_at_checked(LENGTH).ok_or(Malformed)?;
        let [version] = hex(&head[..2]).ok_or(Malformed)?;
        let dashes = [head[2], head[35], head[52]] == *b"---";
        let ends = rest.is_empty() || (version > 0 && rest[0] == b'-');
        if version == u8::MAX || !dashes || !ends {
            return Err(Malformed);
        }
        let trace_id = hex::<16>(&head[3..35]).filter(|id| *id != [0; 16]).ok_or(Malformed)?;
        let span_id = hex::<8>(&head[36..52]).filter(|id| *id != [0; 8]).ok_or(Malformed)?;
        let [flags] = hex(&head[53..]).ok_or(Malformed)?;
        Ok(Self { trace_id, span_id, sampled: flags & SAMPLED != 0 })
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-0{}", Hex(&self.trace_id), Hex(&self.span_id), u8::from(self.sampled))
    }
}

/// Bytes in hexadecimal, in lower case.
pub struct Hex<'a>(pub &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// In lower case only (§3.2.2).
fn hex<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

/// Whether it is a `tracestate` (§3.3.1), and not too long to be kept.
pub fn is_trace_state(text: &str) -> bool {
    let mut keys = HashSet::new();
    let members = text.split(',').map(|member| member.trim_matches([' ', '\t'])).filter(|member| !member.is_empty());
    let well = |member: &str| {
        let Some((key, value)) = member.split_once('=') else { return false };
        is_key(key) && is_value(value)
    };
    let unique = members.clone().all(|member| keys.insert(member.split_once('=').map_or(member, |(key, _)| key)));
    !text.is_empty() && text.len() <= STATE_CAP && unique && members.clone().count() <= MEMBERS && members.clone().all(well)
}

fn is_key(key: &str) -> bool {
    let well = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"_-*/@".contains(&c);
    let first = key.as_bytes().first();
    first.is_some_and(|first| first.is_ascii_lowercase() || first.is_ascii_digit()) && key.len() <= MEMBER_CAP && key.bytes().all(well)
}

fn is_value(value: &str) -> bool {
    let well = |c: u8| (b' '..=b'~').contains(&c) && c != b',' && c != b'=';
    !value.is_empty() && value.len() <= MEMBER_CAP && value.bytes().all(well)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WELL: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn parsed(text: &str) -> Option<TraceContext> {
        text.parse().ok()
    }

    #[test]
    fn a_traceparent_is_read_and_written() {
        let context = parsed(WELL).unwrap();
        assert_eq!((context.trace_id[0], context.span_id[1], context.sampled), (0x4b, 0xf0, true));
        assert_eq!(context.to_string(), WELL);
        assert!(!parsed(&WELL.replace("-01", "-00")).unwrap().sampled);
        assert!(parsed(&WELL.replace("-01", "-ff")).unwrap().sampled, "flags to come are passed over");
    }

    #[test]
    fn a_version_to_come_may_have_more_and_version_00_may_not() {
        assert!(parsed(&WELL.replacen("00", "cc", 1)).is_some());
        assert!(parsed(&format!("{}-what-the-future-brings", WELL.replacen("00", "cc", 1))).is_some());
        assert!(parsed(&format!("{}.what", WELL.replacen("00", "cc", 1))).is_none());
        assert!(parsed(&format!("{WELL}-what")).is_none());
        assert!(parsed(&WELL.replacen("00", "ff", 1)).is_none(), "ff is forbidden");
    }

    #[test]
    fn what_is_malformed_is_none() {
        let mut wrong = vec![String::new(), "00".into(), WELL.to_uppercase(), format!(" {WELL}"), format!("{WELL} "), WELL[..54].into()];
        wrong.push(WELL.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)));
        wrong.push(WELL.replace("00f067aa0ba902b7", &"0".repeat(16)));
        wrong.push(WELL.replace('-', "_"));
        wrong.push(WELL.replace("4b", "4g"));
        wrong.push(WELL.replace("4bf", "4ü"));
        wrong.push(WELL.replace("-01", "-0x"));
        wrong.push("ü".repeat(40));
        for text in wrong {
            assert_eq!(parsed(&text), None, "{text:?}");
        }
    }

    #[test]
    fn a_tracestate_is_a_list_of_few_short_members_with_different_keys() {
        for well in ["rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "a=1", "1a-_*/=~ x", "fw529a3039@dt=FfV", "a=1, ,\tb=2,", "a= 1"] {
            assert!(is_trace_state(well), "{well}");
        }
        let many = (0..=MEMBERS).map(|n| format!("k{n}=v")).collect::<Vec<_>>();
        assert!(is_trace_state(&many[1..].join(",")));
        let long = format!("a={}", "x".repeat(MEMBER_CAP));
        assert!(is_trace_state(&long));
        let wrongs = [&many.join(","), &format!("{long}x"), &format!("{long},b={},c=1", "x".repeat(MEMBER_CAP)), "", "a", "a=", "=1"];
        for wrong in wrongs.into_iter().chain(["A=1", "a=1,a=2", "a=b=c", "a=ü", "a=\n", "_a=1"]) {
            assert!(!is_trace_state(wrong), "{wrong}");
        }
    }
}
