//! `ci://<project>/<branch>`, each percent-encoded.

const SCHEME: &str = "ci://";

pub fn of((project, branch): &(String, String)) -> String {
    format!("{SCHEME}{}/{}", encode(project), encode(branch))
}

/// None if it is none, or not spelled as [`of`] does.
pub fn parse(uri: &str) -> Option<(String, String)> {
    let (project, branch) = uri.strip_prefix(SCHEME)?.split_once('/')?;
    let key = (decode(project)?, decode(branch)?);
    (!key.0.is_empty() && !key.1.is_empty() && of(&key) == uri).then_some(key)
}

/// All but unreserved characters (RFC 3986 §2.3).
pub fn encode(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded += &format!("%{byte:02X}");
        }
    }
    encoded
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            let (high, low) = (digit()?, digit()?);
            bytes.push((high * 16 + low) as u8);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
