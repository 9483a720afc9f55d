//! One line of a `.gitignore`, and how it matches. Time is bounded by the product of the lengths of line and path, whatever the stars.

/// Bytes of a line; longer ones ignore nothing.
const MAX_BYTES: usize = 4096;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// `!`: what matches is not ignored.
    pub negated: bool,
    /// It ended with a slash.
    folders_only: bool,
    /// It has a slash elsewhere, so it is the whole path that has to match; else the last part.
    whole: bool,
    parts: Vec<Vec<u8>>,
}

impl Pattern {
    /// `None` for an empty line or a comment.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > MAX_BYTES || line.starts_with(b"#") {
            return None;
        }
        let (negated, line) = line.strip_prefix(b"!").map_or((false, line), |line| (true, line));
        let line = trim_spaces(line);
        let (folders_only, line) = line.strip_suffix(b"/").map_or((false, line), |line| (true, line));
        let whole = line.contains(&b'/');
        let line = line.strip_prefix(b"/").unwrap_or(line);
        if line.is_empty() {
            return None;
        }
        Some(Self { negated, folders_only, whole, parts: line.split(|byte| *byte == b'/').map(<[u8]>::to_vec).collect() })
    }

    /// Whether it matches a path, relative to the folder of the line's file.
    pub fn matches(&self, path: &[u8], is_folder: bool) -> bool {
        if self.folders_only && !is_folder {
            return false;
        }
        let parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
        match (self.whole, parts.last(), self.parts.first()) {
            (true, _, _) => path_matches(&self.parts, &parts),
            (false, Some(name), Some(pattern)) => part_matches(pattern, name),
            _ => false,
        }
    }
}

/// Without spaces at the end, unless there is a `\` before them.
fn trim_spaces(line: &[u8]) -> &[u8] {
    let mut end = line.len();
    while end > 0 && line.get(end - 1) == Some(&b' ') && !(end > 1 && line.get(end - 2) == Some(&b'\\')) {
        end -= 1;
    }
    line.get(..end).unwrap_or_default()
}

/// `**` stands for any number of parts; at the end, for one at least.
fn path_matches(pattern: &[Vec<u8>], path: &[&[u8]]) -> bool {
    // Which beginnings of the path the pattern so far matches.
    let mut reached = vec![false; path.len() + 1];
    if let Some(first) = reached.first_mut() {
        *first = true;
    }
    for (number, part) in pattern.iter().enumerate() {
        let mut next = vec![false; path.len() + 1];
        if part == b"**" {
            let first = reached.iter().position(|reached| *reached);
            let more = usize::from(number + 1 == pattern.len());
            if let Some(first) = first {
                next.iter_mut().skip(first + more).for_each(|next| *next = true);
            }
        } else {
            for ((at, name), reached) in path.iter().enumerate().zip(&reached) {
                if *reached && let Some(next) = next.get_mut(at + 1) {
                    *next = part_matches(part, name);
                }
            }
        }
        reached = next;
    }
    reached.last().copied().unwrap_or_default()
}

/// One part without slashes: `?`, `*`, `[a-z]`, `[!a]`, `[[:alpha:]]`, `\` before any of these.
fn part_matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    // Where to go on if what follows a star does not match: with one byte more for the star.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() || p < pattern.len() {
        let token = pattern.get(p..).and_then(Token::read);
        match (token, name.get(n)) {
            (Some((Token::Star, length)), _) => {
                p += length;
                star = Some((p, n));
                continue;
            }
            (Some((token, length)), Some(byte)) if token.matches(*byte) => {
                p += length;
                n += 1;
                continue;
            }
            _ => {}
        }
        match star {
            Some((after, at)) if at < name.len() => {
                star = Some((after, at + 1));
                (p, n) = (after, at + 1);
            }
            _ => return false,
        }
    }
    true
}

enum Token<'a> {
    Star,
    Any,
    Byte(u8),
    Class {
        negated: bool,
        members: &'a [u8],
    },
    /// What cannot match: a bracket that is not closed, a `\` at the end.
    Nothing,
}

impl<'a> Token<'a> {
    /// The first token, and its length.
    fn read(pattern: &'a [u8]) -> Option<(Self, usize)> {
        match (pattern.first()?, pattern.get(1)) {
            (b'*', _) => Some((Self::Star, 1)),
            (b'?', _) => Some((Self::Any, 1)),
            (b'\\', Some(byte)) => Some((Self::Byte(*byte), 2)),
            (b'\\', None) => Some((Self::Nothing, 1)),
            (b'[', _) => Some(Self::class(pattern)),
            (byte, _) => Some((Self::Byte(*byte), 1)),
        }
    }

    fn class(pattern: &'a [u8]) -> (Self, usize) {
        let negated = matches!(pattern.get(1), Some(b'!' | b'^'));
        let start = 1 + usize::from(negated);
        let mut at = start;
        while let Some(byte) = pattern.get(at) {
            match byte {
                // A `]` that comes first is a member.
                b']' if at > start => {
                    return (Self::Class { negated, members: pattern.get(start..at).unwrap_or_default() }, at + 1);
                }
                b'\\' => at += 2,
                b'[' if pattern.get(at + 1) == Some(&b':') => {
                    let end = pattern.get(at + 2..).and_then(|rest| rest.windows(2).position(|pair| pair == b":]"));
                    at = end.map_or(at + 1, |end| at + 2 + end + 2);
                }
                _ => at += 1,
            }
        }
        (Self::Nothing, pattern.len())
    }

    fn matches(&self, byte: u8) -> bool {
        match self {
            Self::Star | Self::Nothing => false,
            Self::Any => true,
            Self::Byte(own) => *own == byte,
            Self::Class { negated, members } => is_member(members, byte) != *negated,
        }
    }
}

fn is_member(members: &[u8], byte: u8) -> bool {
    let mut at = 0;
    let mut found = false;
    while at < members.len() {
        let rest = members.get(at..).unwrap_or_default();
        if let Some(named) = rest.strip_prefix(b"[:")
            && let Some(end) = named.windows(2).position(|pair| pair == b":]")
        {
            found |= is_named(named.get(..end).unwrap_or_default(), byte);
            at += end + 4;
            continue;
        }
        let (low, length) = literal(rest);
        at += length;
        let rest = members.get(at..).unwrap_or_default();
        match rest.strip_prefix(b"-") {
            Some(high) if !high.is_empty() => {
                let (high, length) = literal(high);
                at += 1 + length;
                found |= (low..=high).contains(&byte);
            }
            _ => found |= low == byte,
        }
    }
    found
}

fn literal(members: &[u8]) -> (u8, usize) {
    match (members.first(), members.get(1)) {
        (Some(b'\\'), Some(byte)) => (*byte, 2),
        (Some(byte), _) => (*byte, 1),
        (None, _) => (0, 1),
    }
}

fn is_named(name: &[u8], byte: u8) -> bool {
    match name {
        b"alnum" => byte.is_ascii_alphanumeric(),
        b"alpha" => byte.is_ascii_alphabetic(),
        b"blank" => byte == b' ' || byte == b'\t',
        b"cntrl" => byte.is_ascii_control(),
        b"digit" => byte.is_ascii_digit(),
        b"graph" => byte.is_ascii_graphic(),
        b"lower" => byte.is_ascii_lowercase(),
        b"print" => byte.is_ascii_graphic() || byte == b' ',
        b"punct" => byte.is_ascii_punctuation(),
        b"space" => byte.is_ascii_whitespace() || byte == 0x0b,
        b"upper" => byte.is_ascii_uppercase(),
        b"xdigit" => byte.is_ascii_hexdigit(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        let (path, is_folder) = path.strip_suffix('/').map_or((path, false), |path| (path, true));
        Pattern::parse(pattern.as_bytes()).is_some_and(|pattern| pattern.matches(path.as_bytes(), is_folder))
    }

    #[test]
    fn a_pattern_matches_as_in_git() {
        for (pattern, path) in [
            ("*.o", "a/b.o"),
            ("/a", "a"),
            ("a/", "x/a/"),
            ("a/b", "a/b"),
            ("**/b", "a/b"),
            ("**/b", "b"),
            ("a/**", "a/b/c"),
            ("a/**/d", "a/d"),
            ("a/**/d", "a/b/c/d"),
            ("a?c", "abc"),
            ("[a-c]x", "bx"),
            ("[!a-c]x", "dx"),
            ("[[:digit:]]*", "1abc"),
            ("[]]", "]"),
            ("\\!a", "!a"),
            ("a\\ ", "a "),
            ("a  ", "a"),
            ("a**b", "axyb"),
            ("*", "anything"),
            ("a*b*c", "aXbYbZc"),
        ] {
            assert!(matches(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("*.o", "a.oo"),
            ("/a", "b/a"),
            ("a/", "a"),
            ("a/b", "x/a/b"),
            ("a/**", "a"),
            ("a/*", "a/b/c"),
            ("[a-c]x", "dx"),
            ("[", "["),
            ("# a", "# a"),
            ("", "a"),
            ("a*b*c", "aXbYbZ"),
        ] {
            assert!(!matches(pattern, path), "{pattern} {path}");
        }
    }

    #[test]
    fn many_stars_cost_little() {
        let pattern = "*a".repeat(500);
        assert!(!matches(&pattern, &"a".repeat(400)));
        let deep = vec!["**/x"; 500].join("/");
        assert!(!matches(&deep, &vec!["y"; 1000].join("/")));
    }
}
