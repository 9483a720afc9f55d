//! `ci://<project>?branch=<branch>`, and `ci://<project>` for all branches of it.

const SCHEME: &str = "ci://";
const BRANCH: &str = "branch=";

/// A project, and one of its branches or all.
pub type Key = (String, Option<String>);

/// As the list has it.
pub fn of((project, branch): &Key) -> String {
    let project: Vec<String> = project.split('/').map(encode).collect();
    let query = branch.as_ref().map_or(String::new(), |branch| format!("?{BRANCH}{}", encode(branch)));
    format!("{SCHEME}{}{query}", project.join("/"))
}

/// However it is spelled: a branch's slash need not be encoded.
pub fn parse(uri: &str) -> Option<Key> {
    let rest = uri.strip_prefix(SCHEME)?;
    let (project, branch) = match rest.split_once('?') {
        Some((project, query)) => (project, Some(decode(query.strip_prefix(BRANCH)?)?)),
        None => (rest, None),
    };
    let project = decode(project)?;
    (!project.is_empty() && branch.as_ref().is_none_or(|branch| !branch.is_empty())).then_some((project, branch))
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
