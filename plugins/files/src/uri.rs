//! `file:` URIs (RFC 8089, without a host) and the paths they name.

/// What a path may have unencoded: RFC 3986's `pchar`, and the slash.
const PLAIN: &[u8] = b"-._~!$&'()*+,;=:@/";
/// The contract's limit.
const MAX_URI_BYTES: usize = 8192;

/// Why a URI names no path.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is none of ours.
    Foreign,
    /// It cannot be meant.
    Wrong(&'static str),
}

/// The URI of an absolute path, unless it is too long.
pub fn of(path: &str) -> Option<String> {
    let mut uri = String::from("file://");
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || PLAIN.contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri += &format!("%{byte:02X}");
        }
    }
    (uri.len() <= MAX_URI_BYTES).then_some(uri)
}

/// The absolute path that a URI names, without a slash at its end. It is decoded once, and leads nowhere but down.
pub fn path(uri: &str) -> Result<String, Refused> {
    let encoded = uri.strip_prefix("file://").filter(|path| path.starts_with('/')).ok_or(Refused::Foreign)?;
    let path = decoded(encoded).ok_or(Refused::Wrong("its percent-encoding is broken, or not of UTF-8"))?;
    if path.contains('\0') {
        return Err(Refused::Wrong("a path has no such characters"));
    }
    let path = path.strip_suffix('/').unwrap_or(&path);
    let mut parts = path.split('/').skip(1);
    if parts.clone().any(|part| part == "." || part == "..") {
        return Err(Refused::Wrong("a path has no `.` and no `..`"));
    }
    if parts.any(str::is_empty) {
        return Err(Refused::Wrong("a path has no empty names"));
    }
    Ok(if path.is_empty() { "/".into() } else { path.into() })
}

fn decoded(encoded: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.bytes();
    let digit = |rest: &mut std::str::Bytes<'_>| rest.next().and_then(|digit| char::from(digit).to_digit(16));
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => u8::try_from(digit(&mut rest)? * 16 + digit(&mut rest)?).ok()?,
            plain => plain,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_comes_back_from_its_uri() {
        for path in ["/a/b c/ü#?%25.txt", "/a", "/", "/100%/[x]{y}"] {
            assert_eq!(super::path(&of(path).unwrap()).as_deref(), Ok(path));
        }
        assert_eq!(of("/a b").as_deref(), Some("file:///a%20b"));
    }

    #[test]
    fn what_leads_upwards_is_refused_however_it_is_encoded() {
        for uri in [
            "file:///a/../b",
            "file:///a/%2e%2E/b",
            "file:///a/%2E./b",
            "file:///..%2fb",
            "file:///a%2f..%2f..%2fb",
            "file:///./a",
            "file:///a//b",
        ] {
            assert!(matches!(path(uri), Err(Refused::Wrong(_))), "{uri}");
        }
        assert_eq!(path("file:///%252e%252e/a").as_deref(), Ok("/%2e%2e/a"), "decoded once");
        for uri in ["file:///%", "file:///%zz", "file:///%ff", "file:///a%00"] {
            assert!(matches!(path(uri), Err(Refused::Wrong(_))), "{uri}");
        }
        for uri in ["file://host/a", "http:///a", "file:a"] {
            assert_eq!(path(uri), Err(Refused::Foreign), "{uri}");
        }
    }
}
