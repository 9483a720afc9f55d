//! The optional, unordered variables of a query: `{?a,b}`, or `{&a,b}` after what is fixed of it.

use super::Alphabet;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pairs {
    /// Each with its name and whether it may come more than once.
    variables: Vec<(usize, String, bool)>,
    /// Their places above, by name.
    by_name: Vec<usize>,
    /// How many `&` come before the first that is ours; none if we begin the query.
    fixed: usize,
}

impl Pairs {
    pub fn new(variables: Vec<(usize, String, bool)>, fixed: usize) -> Self {
        let mut by_name: Vec<usize> = (0..variables.len()).collect();
        by_name.sort_unstable_by_key(|at| &variables[*at].1);
        Self { variables, by_name, fixed }
    }

    /// Parts a query into what is fixed of it and our pairs. No value in the fixed part can hold an `&`, so it is enough to count.
    pub fn split<'a>(&self, query: &'a str) -> (&'a str, Option<&'a str>) {
        match query.match_indices('&').nth(self.fixed) {
            Some((at, sign)) => (&query[..at], Some(&query[at + sign.len()..])),
            None => (query, None),
        }
    }

    /// Reads pairs, and adds them in the order of the template.
    pub fn matches(&self, text: &str, found: &mut Vec<(usize, String)>) -> Option<()> {
        let mut values = vec![Vec::new(); self.variables.len()];
        for pair in text.split('&') {
            let (name, value) = pair.split_once('=')?;
            let at = self.by_name.binary_search_by_key(&name, |at| &*self.variables[*at].1).ok()?;
            let at = self.by_name[at];
            let may_repeat = self.variables[at].2;
            if !may_repeat && !values[at].is_empty() {
                return None;
            }
            values[at].push(Alphabet::Query.read(value)?);
        }
        for ((variable, ..), values) in self.variables.iter().zip(values) {
            found.extend(values.into_iter().map(|value| (*variable, value)));
        }
        Some(())
    }

    /// Writes those that have values. `begins` is whether there is no query yet.
    pub fn expand(&self, begins: bool, values: &[Vec<&str>], out: &mut String) {
        let mut sign = if begins { '?' } else { '&' };
        for (variable, name, _) in &self.variables {
            for value in &values[*variable] {
                out.push(sign);
                out.push_str(name);
                out.push('=');
                Alphabet::Query.write(value, out);
                sign = '&';
            }
        }
    }
}
