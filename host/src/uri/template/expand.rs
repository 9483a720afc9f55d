//! Values to a URI.

use std::collections::HashMap;

use super::{Alphabet, ExpandError, Fragment, Template};
use crate::uri;

pub(super) fn expand(template: &Template, assignment: &[(String, String)]) -> Result<String, ExpandError> {
    let places: HashMap<&str, usize> = template.variables().zip(0..).collect();
    let mut values = vec![Vec::new(); template.variables.len()];
    for (name, value) in assignment {
        let place = *places.get(&**name).ok_or_else(|| ExpandError::Unknown(name.clone()))?;
        let variable = &template.variables[place];
        if !variable.exploded && !values[place].is_empty() {
            return Err(ExpandError::Twice(name.clone()));
        }
        variable.alphabet.check_expandable(value).map_err(|why| ExpandError::Value(name.clone(), why))?;
        values[place].push(&**value);
    }
    let missing = template.variables.iter().zip(&values).find(|(variable, values)| !variable.optional && values.is_empty());
    if let Some((variable, _)) = missing {
        return Err(ExpandError::Missing(variable.name.clone()));
    }
    let uri = write(template, &values);
    uri::check(&uri).map_err(ExpandError::NoUri)?;
    Ok(uri)
}

/// Writes the URI for these values, which are one list for each variable.
pub(super) fn write(template: &Template, values: &[Vec<&str>]) -> String {
    let mut out = String::new();
    template.path.expand(values, &mut out);
    if let Some(query) = &template.query {
        out.push('?');
        query.expand(values, &mut out);
    }
    if let Some(pairs) = &template.pairs {
        pairs.expand(template.query.is_none(), values, &mut out);
    }
    match &template.fragment {
        Fragment::None => {}
        Fragment::Fixed(fragment) => {
            out.push('#');
            fragment.expand(values, &mut out);
        }
        Fragment::Variable(variable) => {
            for value in &values[*variable] {
                out.push('#');
                Alphabet::Fragment.write(value, &mut out);
            }
        }
    }
    out
}
