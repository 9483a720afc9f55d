//! URI templates (RFC 6570): expansion, and matching as its inverse.
//!
//! | expression | in the URI | domain of a value |
//! |---|---|---|
//! | `{v}`, `{a,b}` | one segment; several with `,` between | not empty, no `/`, neither `.` nor `..` |
//! | `{/v}`, `{/a,b}` | `/` and a segment, for each | as of `{v}` |
//! | `{/v*}` | `/` and a segment, for each value; maybe none | each as of `{v}` |
//! | `{.v}`, `{.a,b}` | `.` and a label, for each | as of `{v}`, and no `.` |
//! | `{.v*}` | `.` and a label, for each value; maybe none | each as of `{.v}` |
//! | `{+v}` | one or more segments | not empty, no segment that is `.` or `..`; no `?`, no `#`, no percent triplet |
//! | `{#v}` | `#` and the fragment, or nothing | as of `{+v}`, but `?` may be in it |
//! | `{?a,b}` | `?` and `name=value` for each, or nothing | any text |
//! | `{&a,b}` | `&` and `name=value` for each, after a fixed `?x=y` | any text |
//! | `{?v*}`, `{&v*}` | `v=value` for each value | each any text |
//!
//! Nowhere may a value hold a NUL. An assignment is in the domain if each of its values is and the whole gives a URI of at most
//! 8 KiB; then `matches(expand(v)) == v`. `{#v}`, `{?…}` and `{&…}` are optional, and lists may be empty; all others must have a value.
//!
//! Matching takes a little more than expansion gives. A triplet that need not be one is decoded too, each once. `{+v}` and `{#v}`, which
//! leave `?`, `#` and triplets of a value as they are, take these encoded, so that a file named `what?` can be had; to expand such a value
//! is an error. In a query, where only `&` and `#` end a value, a client need not encode `/` or `:`. Its pairs come in any order; one
//! that the template does not name, one without `=`, and one that comes twice are no match.
//!
//! What looks like one segment and decodes to more (`%2F`), and what walks up a path (`..`, `%2e%2E`), is no match.
//!
//! How it is unambiguous: a URI falls apart at its first `?` and `#`, which no value before them can hold. In a part, every variable but one
//! (the pivot) ends at a character that its values cannot hold; those after the pivot are read from the end, those before it from
//! the beginning, and the pivot gets the rest. A variable that takes several segments, `{+v}` or `{/v*}`, must be the pivot, so there can be
//! one only. A template that cannot be read like this is refused. Nothing backtracks: matching is linear in the URI and the template.

mod alphabet;
mod error;
mod expand;
mod pairs;
mod parse;
mod section;
#[cfg(test)]
mod tests;

pub use self::error::{ExpandError, TemplateError};
use self::{alphabet::Alphabet, pairs::Pairs, section::Section};
use crate::uri;

/// The longest template, in bytes.
pub const TEMPLATE_BYTES: usize = 8 << 10;
/// The most variables of one template.
pub const TEMPLATE_VARIABLES: usize = 256;

/// A template that can be matched.
///
/// ```
/// use wharf::uri::template::Template;
///
/// let template = Template::parse("files:{+path}{?line}")?;
/// let values = template.matches("files:/my%20notes/a?line=3").unwrap_or_default();
/// assert_eq!(values, [("path".into(), "/my notes/a".into()), ("line".into(), "3".into())]);
/// assert_eq!(template.expand(&values).as_deref(), Ok("files:/my%20notes/a?line=3"));
/// assert_eq!(template.matches("files:/notes/../a"), None);
/// # Ok::<(), wharf::uri::template::TemplateError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// In the order of the template; everything else names them by their place here.
    variables: Vec<Variable>,
    /// All before the first `?` or `#`.
    path: Section,
    /// What follows a `?` that is always there.
    query: Option<Section>,
    /// `{&…}` if there is a query, else `{?…}`.
    pairs: Option<Pairs>,
    fragment: Fragment,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Variable {
    name: String,
    alphabet: Alphabet,
    /// It may have any number of values, none as well.
    exploded: bool,
    /// It may have no value.
    optional: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Fragment {
    None,
    /// What follows a `#` that is always there.
    Fixed(Section),
    /// `{#v}`.
    Variable(usize),
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// The first reason why it cannot be matched.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        parse::parse(text)
    }

    /// The names of the variables, in the order of the template.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(|variable| &*variable.name)
    }

    /// The variables and their decoded values, if this URI is of the family. They are in the order of the template: an exploded one once for each of
    /// its values, one that the URI leaves out not at all.
    pub fn matches(&self, uri: &str) -> Option<Vec<(String, String)>> {
        // Nearly every template that is asked has nothing to do with the URI, so what costs nothing comes first.
        if !uri.starts_with(self.path.prefix()) || uri.len() > uri::MAX_BYTES {
            return None;
        }
        let (rest, fragment) = split_once(uri, '#');
        let (path, query) = split_once(rest, '?');
        let mut found = Vec::with_capacity(self.variables.len());
        self.path.matches(path, &mut found)?;
        match (&self.query, &self.pairs, query) {
            (None, _, None) => {}
            (None, Some(pairs), Some(query)) => pairs.matches(query, &mut found)?,
            (Some(fixed), None, Some(query)) => fixed.matches(query, &mut found)?,
            (Some(fixed), Some(pairs), Some(query)) => {
                let (query, more) = pairs.split(query);
                fixed.matches(query, &mut found)?;
                if let Some(more) = more {
                    pairs.matches(more, &mut found)?;
                }
            }
            (Some(_), _, None) | (None, None, Some(_)) => return None,
        }
        match (&self.fragment, fragment) {
            (Fragment::None | Fragment::Variable(_), None) => {}
            (Fragment::Fixed(fixed), Some(fragment)) => fixed.matches(fragment, &mut found)?,
            (Fragment::Variable(variable), Some(fragment)) => found.push((*variable, Alphabet::Fragment.read(fragment)?)),
            (Fragment::None, Some(_)) | (Fragment::Fixed(_), None) => return None,
        }
        Some(found.into_iter().map(|(variable, value)| (self.variables[variable].name.clone(), value)).collect())
    }

    /// The URI for these values, given as [`Template::matches`] gives them, in any order.
    ///
    /// # Errors
    /// The first thing that is wrong with them. What expands at all is matched again, with the same values.
    pub fn expand(&self, values: &[(String, String)]) -> Result<String, ExpandError> {
        expand::expand(self, values)
    }
}

fn split_once(text: &str, at: char) -> (&str, Option<&str>) {
    text.split_once(at).map_or((text, None), |(before, after)| (before, Some(after)))
}
