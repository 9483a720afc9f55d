//! The few things that are to be known of a URI template (RFC 6570): how it becomes a URI, and what its last segment is.
//!
//! Matching is the host's work: a provider is handed the variables.

use std::fmt::Write as _;

use crate::request::Variables;

/// What an expression can begin with (RFC 6570 section 2.2).
const OPERATORS: [char; 7] = ['+', '#', '.', '/', ';', '?', '&'];

/// The template with the variables filled in (RFC 6570 section 3.2). One that is not given is left out.
pub(crate) fn expand(template: &str, variables: &Variables) -> String {
    let mut uri = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((literal, after)) = rest.split_once('{') {
        uri += literal;
        let Some((expression, after)) = after.split_once('}') else { break };
        rest = after;
        expand_one(expression, variables, &mut uri);
    }
    uri + rest
}

fn expand_one(expression: &str, variables: &Variables, uri: &mut String) {
    // First, between, whether named, what follows an empty named one, whether reserved characters stay.
    let (first, between, named, empty, reserved) = match expression.as_bytes().first() {
        Some(b'+') => ("", ",", false, "", true),
        Some(b'#') => ("#", ",", false, "", true),
        Some(b'.') => (".", ".", false, "", false),
        Some(b'/') => ("/", "/", false, "", false),
        Some(b';') => (";", ";", true, "", false),
        Some(b'?') => ("?", "&", true, "=", false),
        Some(b'&') => ("&", "&", true, "=", false),
        _ => ("", ",", false, "", false),
    };
    let names = expression.trim_start_matches(OPERATORS);
    let mut before = first;
    for name in names.split(',') {
        let (name, exploded) = name.strip_suffix('*').map_or((name, false), |name| (name, true));
        for (at, value) in variables.all(name).enumerate() {
            let joins = at > 0 && !exploded;
            *uri += if joins { "," } else { before };
            before = between;
            if named && !joins {
                *uri += name;
                *uri += if value.is_empty() { empty } else { "=" };
            }
            encode(value, reserved, uri);
        }
    }
}

/// All but unreserved characters is encoded (RFC 3986 section 2.3); reserved ones (2.2) stay where the operator lets them.
fn encode(value: &str, reserved: bool, uri: &mut String) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || reserved && b":/?#[]@!$&'()*+,;=".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
}

/// The name of a resource or template that is given none: the last segment that is written out; of `x://{v}`, which has none, `v`.
pub(crate) fn last_segment(uri: &str) -> &str {
    // From where to where, of what is written out and of the first variable. By bytes: this is in every provider, and small so.
    let (mut last, mut variable) = (0..0, 0..0);
    let (mut from, mut in_braces) = (0, false);
    for (at, byte) in uri.bytes().chain([b'/']).enumerate() {
        match byte {
            b':' if last.end == 0 && !in_braces => from = at + 1,
            b'/' | b'{' | b'?' | b'#' if !in_braces => {
                if from < at {
                    last = from..at;
                }
                if matches!(byte, b'?' | b'#') {
                    break;
                }
                (from, in_braces) = (at + 1, byte == b'{');
            }
            b'}' | b',' | b'*' if in_braces => {
                if variable.is_empty() {
                    variable = from..at;
                }
                (from, in_braces) = (at + 1, byte != b'}');
            }
            _ if in_braces && from == at && OPERATORS.contains(&char::from(byte)) => from = at + 1,
            _ => {}
        }
    }
    uri.get(if last.is_empty() { variable } else { last }).unwrap_or(uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_expanded_as_the_rfc_has_it() {
        let variables = Variables::from([("v", "a b/c"), ("list", "red"), ("list", "blue"), ("empty", "")]);
        for (template, uri) in [
            ("x://{v}", "x://a%20b%2Fc"),
            ("x://{+v}", "x://a%20b/c"),
            ("x://a{/list*}", "x://a/red/blue"),
            ("x://a{/list,v}", "x://a/red,blue/a%20b%2Fc"),
            ("x://a{?v,none,empty}", "x://a?v=a%20b%2Fc&empty="),
            ("x://a?fixed=1{&list*}", "x://a?fixed=1&list=red&list=blue"),
            ("x://a{;empty}{#v}", "x://a;empty#a%20b/c"),
            ("x://a{?none}", "x://a"),
            ("x://{list}", "x://red,blue"),
        ] {
            assert_eq!(expand(template, &variables), uri, "{template}");
        }
    }

    #[test]
    fn a_name_is_the_last_segment() {
        for (uri, name) in [
            ("x://a/b", "b"),
            ("x://b", "b"),
            ("x:b", "b"),
            ("x://a/b?c=d/e", "b"),
            ("x://a/{v}", "a"),
            ("x://a/{+v}", "a"),
            ("x://a{/v*}", "a"),
            ("x://{+v}", "v"),
            ("x://b{?from,to}", "b"),
            ("x://{v}{?from,to}", "v"),
            ("x://echo/{word}{?from,to}", "echo"),
        ] {
            assert_eq!(last_segment(uri), name, "{uri}");
        }
    }
}
