//! What values are made of, in a URI and decoded.
//!
//! Invariants: a value is decoded exactly once; what [`Alphabet::read`] gives is safe in the place it was read from, so it names
//! no more than its operator allows.

/// The characters that a value can have in a URI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alphabet {
    /// One segment: unreserved characters (RFC 3986 §2.3) and triplets.
    Segment,
    /// A segment without dots.
    Label,
    /// Several segments: reserved characters as well, but for those that end a path.
    Path,
    /// Like a path, but only `#` is not in it.
    Fragment,
    /// All that may be in a query (RFC 3986 §3.4), but for what parts its pairs.
    Query,
}

impl Alphabet {
    /// Whether an encoded value can have this byte in it.
    pub fn holds(self, byte: u8) -> bool {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'~' | b'%' => true,
            b'.' => self != Self::Label,
            b'!' | b'$' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' | b':' | b'@' | b'/' => {
                self.is_reserved() || self == Self::Query
            }
            b'&' | b'[' | b']' => self.is_reserved(),
            b'?' => matches!(self, Self::Fragment | Self::Query),
            _ => false,
        }
    }

    /// Whether expansion leaves reserved characters and triplets as they are.
    fn is_reserved(self) -> bool {
        matches!(self, Self::Path | Self::Fragment)
    }

    /// How many bytes at the beginning belong to it.
    pub fn run(self, text: &str) -> usize {
        text.bytes().take_while(|byte| self.holds(*byte)).count()
    }

    /// How many bytes at the end belong to it.
    pub fn run_back(self, text: &str) -> usize {
        text.bytes().rev().take_while(|byte| self.holds(*byte)).count()
    }

    /// Decodes a value, if it is one.
    pub fn read(self, encoded: &str) -> Option<String> {
        if self.run(encoded) != encoded.len() {
            return None;
        }
        let value = decode(encoded)?;
        self.check(&value).is_ok().then_some(value)
    }

    /// Whether a decoded value may be handed on.
    ///
    /// # Errors
    /// Why not, for people.
    fn check(self, value: &str) -> Result<(), &'static str> {
        if value.contains('\0') {
            return Err("it has a NUL in it");
        }
        if self == Self::Query {
            return Ok(());
        }
        if value.is_empty() {
            return Err("it is empty");
        }
        if value.split('/').any(|segment| segment == "." || segment == "..") {
            return Err("a segment of it is `.` or `..`");
        }
        match self {
            Self::Segment | Self::Label if value.contains('/') => Err("it has a `/` in it, and the template allows one segment only"),
            Self::Label if value.contains('.') => Err("it has a `.` in it"),
            _ => Ok(()),
        }
    }

    /// Whether a value is in the domain: what it expands to is read as this value again.
    ///
    /// # Errors
    /// Why not, for people.
    pub fn check_expandable(self, value: &str) -> Result<(), &'static str> {
        self.check(value)?;
        match self {
            Self::Path if value.contains('?') => Err("it has a `?` in it, where a query would begin"),
            Self::Path | Self::Fragment if value.contains('#') => Err("it has a `#` in it, where a fragment would begin"),
            Self::Path | Self::Fragment if (0..value.len()).any(|at| is_triplet(value.as_bytes(), at)) => {
                Err("it has a percent triplet in it, which would be read as the character it stands for")
            }
            _ => Ok(()),
        }
    }

    /// Encodes a value (RFC 6570 §3.2.1).
    pub fn write(self, value: &str, out: &mut String) {
        const HEX: &[u8; 16] = b"0123456789ABCDEF";
        for byte in value.bytes() {
            let is_unreserved = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
            if is_unreserved || (self.is_reserved() && b":/?#[]@!$&'()*+,;=".contains(&byte)) {
                out.push(char::from(byte));
            } else {
                out.extend(['%', char::from(HEX[usize::from(byte >> 4)]), char::from(HEX[usize::from(byte & 15)])]);
            }
        }
    }
}

/// Whether a percent triplet (RFC 3986 §2.1) begins here.
pub(super) fn is_triplet(text: &[u8], at: usize) -> bool {
    matches!(text.get(at..at + 3), Some([b'%', high, low]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit())
}

/// Percent-decodes once; `None` if a triplet is broken or the result is not UTF-8.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first == b'%' {
            let [high, low, after @ ..] = after else { return None };
            let digit = |b: u8| char::from(b).to_digit(16).and_then(|d| u8::try_from(d).ok());
            bytes.push(digit(*high)? << 4 | digit(*low)?);
            rest = after;
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}
