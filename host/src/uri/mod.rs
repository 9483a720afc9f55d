//! What counts as a URI, and families of URIs. URIs are compared byte by byte: nothing here normalises.

pub mod template;

/// Bytes of a URI (design of the contract: `resource-info.uri` in the WIT).
pub const MAX_BYTES: usize = 8192;

/// Whether this is an absolute URI in the sense of RFC 3986: a scheme (section 3.1), then only characters that the RFC allows there, with
/// whole percent triplets (section 2.1). Brackets only in the authority (section 3.2.2), one `#` at most. Nothing is normalised or
/// decoded: two URIs are the same if their bytes are.
///
/// # Errors
/// What is wrong with it, for people.
pub fn check(uri: &str) -> Result<(), &'static str> {
    if uri.len() > MAX_BYTES {
        return Err("it is longer than 8192 bytes");
    }
    let Some((scheme, rest)) = uri.split_once(':') else {
        return Err("it has no scheme, such as `file:` or `x:`");
    };
    if !scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        || !scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
    {
        return Err("its scheme is not a letter followed by letters, digits, `+`, `-` or `.`");
    }
    let authority = match rest.strip_prefix("//") {
        Some(rest) => 2 + rest.find(['/', '?', '#']).unwrap_or(rest.len()),
        None => 0,
    };
    let bytes = rest.as_bytes();
    let mut fragment = false;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'%' => {
                if !matches!(bytes.get(at + 1..at + 3), Some(hex) if hex.iter().all(u8::is_ascii_hexdigit)) {
                    return Err("a `%` in it is not followed by two hexadecimal digits");
                }
                at += 2;
            }
            b'#' if fragment => return Err("it has two `#`"),
            b'#' => fragment = true,
            b'[' | b']' if at < authority => {}
            b':' | b'/' | b'?' | b'@' => {}
            b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' => {}
            b'-' | b'.' | b'_' | b'~' => {}
            _ if byte.is_ascii_alphanumeric() => {}
            _ if byte.is_ascii() => return Err("it has a character that must be percent-encoded"),
            _ => return Err("it has a character that is not ASCII and must be percent-encoded"),
        }
        at += 1;
    }
    Ok(())
}

/// The text as a part of a URI: everything but unreserved characters (RFC 3986 section 2.3) becomes percent triplets.
pub fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or_default().to_ascii_uppercase();
            encoded.extend(['%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn uris_of_all_kinds_are_accepted_as_they_are() {
        for uri in [
            "x:",
            "x:a",
            "x://",
            "x://A/../b//c?d=/?#e/?",
            "file:///etc/hosts",
            "urn:isbn:0451450523",
            "mailto:a@b.example",
            "http://user:pw@[2001:db8::1]:80/~a;b=c,d/!$&'()*+",
            "a+b-c.1://x%2Fy%c3%a4",
            "data:text/plain;base64,SGk=",
        ] {
            assert_eq!(check(uri), Ok(()), "{uri}");
        }
    }

    #[test]
    fn what_is_no_uri_is_refused() {
        for uri in [
            "",
            "a",
            "/a",
            "//a/b",
            ":a",
            "1x:a",
            "-x:a",
            "x y:a",
            "ä:a",
            "x_y:a",
            "x://a b",
            "x://ä",
            "x://a%",
            "x://a%2",
            "x://a%zz",
            "x://a#b#c",
            "x://a/[b]",
            "x:[b]",
            "x://a?[b]",
            "x://{name}",
            "x://a\"",
            "x://a<b>",
            "x://a\\b",
            "x://a^",
            "x://a`",
            "x://a|b",
            "x://a\n",
            "x://\0",
            "x://\u{7f}",
        ] {
            assert!(check(uri).is_err(), "{uri:?}");
        }
    }

    #[test]
    fn a_uri_has_8192_bytes_at_most() {
        let prefix = "x://";
        assert_eq!(check(&format!("{prefix}{}", "a".repeat(MAX_BYTES - prefix.len()))), Ok(()));
        assert_eq!(check(&format!("{prefix}{}", "a".repeat(MAX_BYTES - prefix.len() + 1))), Err("it is longer than 8192 bytes"));
    }

    proptest! {
        #[test]
        fn any_text_is_judged_without_a_panic(text in any::<String>()) {
            let _ = check(&text);
        }

        #[test]
        fn percent_encoded_text_is_accepted(text in any::<String>()) {
            let encoded: String = text.bytes().take(2000).map(|byte| format!("%{byte:02x}")).collect();
            prop_assert_eq!(check(&format!("x://{encoded}")), Ok(()));
        }
    }
}
