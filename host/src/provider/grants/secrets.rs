//! The secrets of one provider: what they are, and that they are not seen.
//!
//! Invariants:
//! - What wharf.toml does not say itself is read once for each load: a secret that changed is taken in by the next one.
//! - No secret of [`MIN_BYTES`] or more goes through [`Secrets::hide`], as it is or line by line. (What a provider does to one first, its
//!   base64 for instance, is another text.)
//! - Neither a secret nor a piece of it is in what `Debug` prints.

use std::{borrow::Cow, collections::BTreeSet, fmt, ops::Range};

use crate::config::{
    Grants,
    files::read_regular,
    grants::{Secret, Webhook},
};

/// A shorter secret would hide half of each text, and protect nothing.
pub const MIN_BYTES: usize = 4;
/// Bytes of a file with a secret: keys and certificates have some thousand.
const FILE_BYTES: u64 = 64 << 10;
/// What stands in a secret's place.
const HIDDEN: &str = "[redacted]";
/// A longer line of a secret is looked for in pieces of this many bytes, since the lines of a log are cut.
const PIECE_BYTES: usize = 512;

/// One provider's secrets, as they were at its load.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets {
    /// The variables of its environment.
    environment: Vec<(String, String)>,
    /// What its webhooks are signed with, by name.
    webhooks: Vec<(String, Option<String>)>,
    /// What is hidden, the longest first.
    hidden: Vec<String>,
    /// What is not there: for the log.
    missing: Vec<String>,
}

impl Secrets {
    /// Reads them all. Blocks, unless there are none.
    pub fn read(grants: &Grants) -> Self {
        let mut this = Self::default();
        for variable in &grants.env {
            match value(&variable.value) {
                Ok(value) if value.contains('\0') => {
                    this.missing.push(format!("the variable {} is left out: there is a NUL in {}", variable.name, variable.value));
                }
                Ok(value) => this.environment.push((variable.name.clone(), value)),
                Err(reason) => this.missing.push(format!("the variable {} is left out: {} {reason}", variable.name, variable.value)),
            }
        }
        for Webhook { name, signed, .. } in &grants.webhooks {
            let Some(signed) = signed else { continue };
            let secret = match value(&signed.secret) {
                Ok(secret) if secret.is_empty() => Err("is empty".to_owned()),
                read => read,
            };
            if let Err(reason) = &secret {
                this.missing.push(format!("the webhook {name:?} takes nothing: its secret, {}, {reason}", signed.secret));
            }
            this.webhooks.push((name.clone(), secret.ok()));
        }
        let all = this.environment.iter().map(|(_, value)| value).chain(this.webhooks.iter().filter_map(|(_, secret)| secret.as_ref()));
        let mut hidden: Vec<String> =
            all.flat_map(|secret| pieces(secret)).collect::<BTreeSet<_>>().into_iter().map(str::to_owned).collect();
        hidden.sort_by_key(|piece| std::cmp::Reverse(piece.len()));
        this.hidden = hidden;
        this
    }

    /// What there is to read, if there is something.
    pub fn are_granted(grants: &Grants) -> bool {
        !grants.env.is_empty() || grants.webhooks.iter().any(|webhook| webhook.signed.is_some())
    }

    /// Names and values of the variables.
    pub fn environment(&self) -> &[(String, String)] {
        &self.environment
    }

    /// What this webhook is signed with; none if it is not there.
    pub fn of_webhook(&self, name: &str) -> Option<&str> {
        self.webhooks.iter().find(|(known, _)| known == name)?.1.as_deref()
    }

    /// What could not be read, and why.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// The text without what is secret.
    pub fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut found: Vec<Range<usize>> =
            self.hidden.iter().flat_map(|secret| text.match_indices(secret.as_str())).map(|(at, secret)| at..at + secret.len()).collect();
        if found.is_empty() {
            return text.into();
        }
        found.sort_by_key(|range| range.start);
        let (mut hidden, mut end) = (String::with_capacity(text.len()), 0);
        for Range { start, end: to } in found {
            if start >= end {
                hidden.push_str(&text[end..start]);
                // Secrets that touch are one.
                if start > end || start == 0 {
                    hidden.push_str(HIDDEN);
                }
            }
            end = end.max(to);
        }
        hidden.push_str(&text[end..]);
        hidden.into()
    }

    /// As [`Secrets::hide`], of text that one owns.
    pub fn hide_in(&self, text: &mut String) {
        if let Cow::Owned(hidden) = self.hide(text) {
            *text = hidden;
        }
    }

    /// Whether something of it would be hidden.
    pub fn are_in(&self, text: &str) -> bool {
        self.hidden.iter().any(|secret| text.contains(secret.as_str()))
    }

    /// How many bytes at the end of this may be the beginning of a secret that goes on: whoever cuts here cuts before them.
    pub fn begun_in(&self, bytes: &[u8]) -> usize {
        let begun = |secret: &String| {
            let longest = bytes.len().min(secret.len().saturating_sub(1));
            (1..=longest).rev().find(|length| bytes.ends_with(&secret.as_bytes()[..*length])).unwrap_or(0)
        };
        self.hidden.iter().map(begun).max().unwrap_or(0)
    }
}

/// A secret, its lines, and the pieces of long ones: whatever goes into one line of a log.
fn pieces(secret: &str) -> Vec<&str> {
    let lines = secret.split(['\n', '\r']).map(str::trim).chain([secret]);
    let mut pieces: Vec<&str> = lines.flat_map(cut).filter(|piece| piece.len() >= MIN_BYTES).collect();
    pieces.dedup();
    pieces
}

fn cut(line: &str) -> Vec<&str> {
    let (mut pieces, mut rest) = (Vec::new(), line);
    while rest.len() > PIECE_BYTES + MIN_BYTES {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES));
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    pieces
}

/// What is there, without the newline at its end.
pub(crate) fn value(secret: &Secret) -> Result<String, String> {
    match secret {
        Secret::Env(name) => match std::env::var(name) {
            Ok(value) => Ok(value),
            Err(std::env::VarError::NotPresent) => Err("is not set where the host was started".into()),
            Err(std::env::VarError::NotUnicode(_)) => Err("is not UTF-8".into()),
        },
        Secret::File(path) => {
            let bytes = read_regular(path, FILE_BYTES).map_err(|error| format!("cannot be read: {error}"))?;
            let mut text = String::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())?;
            if text.ends_with('\n') {
                text.pop();
                if text.ends_with('\r') {
                    text.pop();
                }
            }
            Ok(text)
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").field("number", &self.hidden.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::grants::{Signature, Signed, Variable};

    fn file(folder: &tempfile::TempDir, name: &str, content: &[u8]) -> Secret {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        Secret::File(path)
    }

    fn env(values: Vec<Secret>) -> Grants {
        let env = values.into_iter().enumerate().map(|(n, value)| Variable { name: format!("V{n}"), value }).collect();
        Grants { env, ..Grants::default() }
    }

    fn of(values: &[&str]) -> Secrets {
        let folder = tempfile::tempdir().unwrap();
        Secrets::read(&env(values.iter().enumerate().map(|(n, value)| file(&folder, &n.to_string(), value.as_bytes())).collect()))
    }

    #[test]
    fn a_file_is_taken_without_its_last_newline_and_a_variable_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let grants = env(vec![
            file(&folder, "a", b"one\n"),
            file(&folder, "b", b"two\r\n"),
            file(&folder, "c", b" three \n\n"),
            Secret::Env("PATH".into()),
        ]);
        let secrets = Secrets::read(&grants);
        let values: Vec<&str> = secrets.environment().iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(values, ["one", "two", " three \n", &std::env::var("PATH").unwrap()]);
        assert!(secrets.missing().is_empty());
    }

    #[test]
    fn what_is_missing_is_left_out_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let signed =
            |name: &str, secret| Webhook { name: name.into(), signed: Some(Signed { signature: Signature::Github, secret }), queue: false };
        let mut grants = env(vec![
            Secret::Env("WHARF_NO_SUCH_VARIABLE".into()),
            Secret::File(folder.path().join("none")),
            file(&folder, "a", &[0xff]),
            file(&folder, "b", &vec![b'a'; 64 << 10]),
            file(&folder, "c", &vec![b'a'; (64 << 10) + 1]),
            file(&folder, "d", b"a\0b"),
        ]);
        grants.webhooks = vec![signed("push", Secret::Env("WHARF_NO_SUCH_VARIABLE".into())), signed("other", file(&folder, "e", b"\n"))];
        let secrets = Secrets::read(&grants);
        assert_eq!(secrets.environment().iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["V3"]);
        assert_eq!((secrets.of_webhook("push"), secrets.of_webhook("other"), secrets.of_webhook("x")), (None, None, None));
        let said = secrets.missing().join("\n");
        for wanted in
            ["V0 is left out: the variable WHARF_NO", "/none cannot be read", "V2", "V4", "V5", "\"push\" takes nothing", "is empty"]
        {
            assert!(said.contains(wanted), "{wanted}: {said}");
        }
        assert_eq!(secrets.missing().len(), 7);
    }

    #[test]
    fn secrets_are_hidden_wherever_they_stand() {
        let secrets = of(&["hunter22", "hunter2", "ßecret", "abc", "tail"]);
        for (text, hidden) in [
            ("nothing", "nothing"),
            ("hunter22", "[redacted]"),
            ("a hunter2 b", "a [redacted] b"),
            ("hunter22hunter2", "[redacted]"),
            ("x=hunter22&y=ßecret.", "x=[redacted]&y=[redacted]."),
            ("abc is too short", "abc is too short"),
            ("hunter", "hunter"),
        ] {
            assert_eq!(secrets.hide(text), hidden);
            assert_eq!(secrets.are_in(text), text != hidden);
        }
        assert!(!format!("{secrets:?}").contains("hunter"));
    }

    #[test]
    fn secrets_that_overlap_are_hidden_together() {
        assert_eq!(of(&["abcdef", "defghi"]).hide("-abcdefghi-"), "-[redacted]-");
        assert_eq!(of(&["abcdefgh", "cdef"]).hide("abcdefgh cdef"), "[redacted] [redacted]");
    }

    #[test]
    fn the_lines_of_a_secret_and_the_pieces_of_a_long_one_are_secrets() {
        let key = "-----BEGIN KEY-----\nAAAABBBBCCCC\n  DDDD\n-----END KEY-----";
        let secrets = of(&[key]);
        assert_eq!(secrets.hide(key), "[redacted]");
        assert_eq!(secrets.hide("> AAAABBBBCCCC"), "> [redacted]");
        assert_eq!(secrets.hide("DDDD"), "[redacted]");
        let long: String = (0..1000).map(|n| format!("{n:04}")).collect();
        let secrets = of(&[&long]);
        assert_eq!(secrets.hide(&long), "[redacted]");
        let shown = secrets.hide(&long[100..3900]).len();
        assert!(shown < 2 * PIECE_BYTES + HIDDEN.len(), "{shown}");
    }

    #[test]
    fn a_secret_that_has_begun_is_seen() {
        let secrets = of(&["hunter22", "secret"]);
        for (bytes, begun) in
            [("", 0), ("x", 0), ("h", 1), ("xhunt", 4), ("hunter2", 7), ("hunter22", 0), ("sehunter2s", 1), ("hunter2se", 2)]
        {
            assert_eq!(secrets.begun_in(bytes.as_bytes()), begun, "{bytes}");
        }
    }
}
