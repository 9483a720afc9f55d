//! URI templates (RFC 6570), and matching as the inverse of expansion. Level 1: `{name}`.
//!
//! What a `{name}` expands to is made of unreserved characters and percent triplets, so that is what it matches, as much of it as there is.
//! Its domain is every text that is not empty, holds no `/`, and is neither `.` nor `..`: for values in it, `matches(expand(v)) == v`.
//! That is unambiguous where the literal between two variables holds a character that no value can hold, such as `/`; a template
//! where it does not is refused. Matching takes one pass over the URI and never backtracks.

use std::collections::HashSet;

/// The longest template, in bytes.
pub const TEMPLATE_BYTES: usize = 8 << 10;
/// The most variables of one template.
pub const TEMPLATE_VARIABLES: usize = 256;

/// Why a template is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// Longer than [`TEMPLATE_BYTES`].
    #[error("it is longer than {TEMPLATE_BYTES} bytes")]
    TooLong,
    /// More than [`TEMPLATE_VARIABLES`].
    #[error("it has more than {TEMPLATE_VARIABLES} variables")]
    TooManyVariables,
    /// A brace without its other half.
    #[error("a brace is not closed, or was not opened")]
    Unbalanced,
    /// An expression that is not a plain variable name.
    #[error("{{{0}}} is not supported: only plain variables like {{name}} are")]
    Unsupported(String),
    /// A variable that comes twice.
    #[error("the variable {0} comes twice")]
    Twice(String),
    /// Two variables that cannot be told apart.
    #[error("between {{{0}}} and {{{1}}} there must be a character that no value can hold, such as /")]
    Ambiguous(String, String),
    /// A literal character that no URI can hold.
    #[error("{0:?} cannot stand in a URI")]
    Literal(char),
    /// It does not begin with a scheme, so that what it gives is no absolute URI.
    #[error("it must begin with a scheme, as in notes://{{name}}")]
    NoScheme,
}

/// A template that can be matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// What comes before the first variable.
    prefix: String,
    /// Each variable, with the literal after it.
    variables: Vec<Variable>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Variable {
    name: String,
    /// What of the following literal could belong to a value as well.
    suffix: String,
    /// The rest of it, which begins with a character that no value can hold; empty only at the end.
    literal: String,
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// The first reason why it cannot be matched.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        if text.len() > TEMPLATE_BYTES {
            return Err(TemplateError::TooLong);
        }
        let mut pieces = text.split('{');
        let prefix = literal(pieces.next().unwrap_or_default())?.to_owned();
        if !has_scheme(&prefix) {
            return Err(TemplateError::NoScheme);
        }
        let mut seen = HashSet::new();
        let mut variables: Vec<Variable> = Vec::new();
        for piece in pieces {
            let (name, after) = piece.split_once('}').ok_or(TemplateError::Unbalanced)?;
            if name.is_empty()
                || !name.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'))
            {
                return Err(TemplateError::Unsupported(name.to_owned()));
            }
            if !seen.insert(name) {
                return Err(TemplateError::Twice(name.to_owned()));
            }
            if let Some(before) = variables.last()
                && before.literal.is_empty()
            {
                return Err(TemplateError::Ambiguous(before.name.clone(), name.to_owned()));
            }
            if variables.len() == TEMPLATE_VARIABLES {
                return Err(TemplateError::TooManyVariables);
            }
            let after = literal(after)?;
            let (suffix, rest) = after.split_at(after.bytes().take_while(|b| is_of_value(*b)).count());
            variables.push(Variable { name: name.to_owned(), suffix: suffix.to_owned(), literal: rest.to_owned() });
        }
        Ok(Self { prefix, variables })
    }

    /// The variables and their decoded values, if this URI is of the family.
    pub fn matches(&self, uri: &str) -> Option<Vec<(String, String)>> {
        let mut rest = uri.strip_prefix(self.prefix.as_str())?;
        let mut found = Vec::with_capacity(self.variables.len());
        for Variable { name, suffix, literal } in &self.variables {
            let (run, after) = rest.split_at(rest.bytes().take_while(|b| is_of_value(*b)).count());
            let value = decode(run.strip_suffix(suffix.as_str())?)?;
            if value.is_empty() || value.contains('/') || value == "." || value == ".." {
                return None;
            }
            found.push((name.clone(), value));
            rest = after.strip_prefix(literal.as_str())?;
        }
        rest.is_empty().then_some(found)
    }
}

/// Unreserved (RFC 3986 §2.3), and the sign of a percent triplet.
fn is_of_value(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte)
}

fn literal(text: &str) -> Result<&str, TemplateError> {
    match text.chars().find(|c| !c.is_ascii_graphic() || "\"'<>\\^`{|}".contains(*c)) {
        Some('}' | '{') => Err(TemplateError::Unbalanced),
        Some(other) if other != '\'' => Err(TemplateError::Literal(other)),
        _ => Ok(text),
    }
}

fn has_scheme(prefix: &str) -> bool {
    prefix.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
    })
}

/// Percent-decodes once; `None` if a triplet is broken or the result is not UTF-8.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        if *first == b'%' {
            let [high, low, after @ ..] = after else { return None };
            let digit = |b: u8| char::from(b).to_digit(16).and_then(|d| u8::try_from(d).ok());
            bytes.push(digit(*high)? << 4 | digit(*low)?);
            rest = after;
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matched(template: &str, uri: &str) -> Option<Vec<(String, String)>> {
        Template::parse(template).unwrap().matches(uri)
    }

    fn values<const N: usize>(values: [(&str, &str); N]) -> Option<Vec<(String, String)>> {
        Some(values.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec())
    }

    fn encode(value: &str) -> String {
        value
            .bytes()
            .map(|b| if b.is_ascii_alphanumeric() || b"-._~".contains(&b) { char::from(b).to_string() } else { format!("%{b:02X}") })
            .collect()
    }

    #[test]
    fn a_variable_is_handed_on_decoded_once() {
        assert_eq!(matched("x://a/{name}", "x://a/caf%C3%A9%2520"), values([("name", "café%20")]));
        assert_eq!(matched("x://{a}/b/{c}.json", "x://1/b/2.json.json"), values([("a", "1"), ("c", "2.json")]));
        assert_eq!(matched("x://fixed", "x://fixed"), values([]));
    }

    #[test]
    fn what_no_expansion_gives_is_no_match() {
        for uri in
            ["x://a/", "x://a/b/c", "x://a/b%2Fc", "x://a/..", "x://a/%2e%2E", "x://a/b?c", "x://a/%4", "x://a/%ff", "x://b/c", "X://a/c"]
        {
            assert_eq!(matched("x://a/{name}", uri), None, "{uri}");
        }
    }

    #[test]
    fn a_template_that_cannot_be_matched_is_refused_by_name() {
        use TemplateError::*;
        for (template, error) in [
            ("x://{a", Unbalanced),
            ("x://a}", Unbalanced),
            ("x://{a}{b}", Ambiguous("a".into(), "b".into())),
            ("x://{a}-{b}", Ambiguous("a".into(), "b".into())),
            ("x://{a}/{a}", Twice("a".into())),
            ("x://{+a}", Unsupported("+a".into())),
            ("x://{}", Unsupported(String::new())),
            ("x://a b/{c}", Literal(' ')),
            ("{scheme}://a", NoScheme),
            ("a/{b}", NoScheme),
        ] {
            assert_eq!(Template::parse(template), Err(error), "{template}");
        }
    }

    #[test]
    fn long_templates_and_many_variables_are_refused() {
        let many = |n: usize| format!("x://{}", (0..n).map(|n| format!("{{v{n}}}/")).collect::<String>());
        assert!(Template::parse(&many(TEMPLATE_VARIABLES)).is_ok());
        assert_eq!(Template::parse(&many(TEMPLATE_VARIABLES + 1)), Err(TemplateError::TooManyVariables));
        assert_eq!(Template::parse(&format!("x://{}", "a".repeat(TEMPLATE_BYTES))), Err(TemplateError::TooLong));
    }

    proptest! {
        #[test]
        fn matching_is_the_inverse_of_expansion(a in "[^/]{1,12}", b in "[^/]{1,12}", literal in "[a-z/?.-]{0,3}/[a-z.-]{0,3}", end in "[a-z.-]{0,3}") {
            prop_assume!([&a, &b].iter().all(|v| *v != "." && *v != ".."));
            let template = format!("x://{{a}}{literal}{{b}}{end}");
            let uri = format!("x://{}{literal}{}{end}", encode(&a), encode(&b));
            prop_assert_eq!(matched(&template, &uri), values([("a", &a), ("b", &b)]));
        }

        #[test]
        fn no_uri_makes_it_panic(template in "x://(\\{[a-c]\\}|[a-z/%.]){0,8}", uri in "\\PC{0,40}") {
            if let Ok(template) = Template::parse(&template) {
                let _ = template.matches(&uri);
            }
        }
    }
}
