//! The few things that are to be known of a URI template (RFC 6570): how it becomes a URI, and what its last segment is.
//!
//! Matching is the host's work: a provider is handed the variables.

use std::fmt::Write as _;

use crate::request::Variables;

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
    let (names, (first, between, named, empty, reserved)) = match expression.as_bytes().first() {
        Some(b'+') => (&expression[1..], ("", ",", false, "", true)),
        Some(b'#') => (&expression[1..], ("#", ",", false, "", true)),
        Some(b'.') => (&expression[1..], (".", ".", false, "", false)),
        Some(b'/') => (&expression[1..], ("/", "/", false, "", false)),
        Some(b';') => (&expression[1..], (";", ";", true, "", false)),
        Some(b'?') => (&expression[1..], ("?", "&", true, "=", false)),
        Some(b'&') => (&expression[1..], ("&", "&", true, "=", false)),
        _ => (expression, ("", ",", false, "", false)),
    };
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
    let mut rest = uri.split_once(':').map_or(uri, |(_, path)| path);
    let (mut last, mut variable) = ("", "");
    loop {
        let (literal, after) = rest.split_once('{').unwrap_or((rest, ""));
        let path = literal.split(['?', '#']).next().unwrap_or(literal);
        last = path.rsplit('/').find(|segment| !segment.is_empty()).unwrap_or(last);
        if after.is_empty() || path.len() < literal.len() {
            break if last.is_empty() { variable } else { last };
        }
        let (expression, after) = after.split_once('}').unwrap_or((after, ""));
        if variable.is_empty() {
            variable = expression.trim_start_matches(['+', '.', ';', '/']).split([',', '*']).next().unwrap_or(expression);
        }
        rest = after;
    }
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
