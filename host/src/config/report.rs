//! Errors that show the line.

use std::ops::Range;

/// The share of a key's characters that may be wrong for another to count as near.
const NEAR: f64 = 0.6;

/// A message in the manner of those that the TOML parser gives.
pub(super) fn at(text: &str, span: &Range<usize>, message: &str) -> String {
    let start = text[..span.start].rfind('\n').map_or(0, |newline| newline + 1);
    let number = text[..span.start].matches('\n').count() + 1;
    let line = text[start..].lines().next().unwrap_or_default();
    let margin = " ".repeat(number.to_string().len());
    let column = text[start..span.start].chars().count();
    let under = format!("{}{}", " ".repeat(column), "^".repeat(text[span.clone()].chars().count().max(1)));
    format!("TOML parse error at line {number}, column {}\n{margin} |\n{number} | {line}\n{margin} | {under}\n{message}\n", column + 1)
}

/// The parser's message; where it is about an unknown key, with the known one that comes nearest.
pub(super) fn with_nearest_key(message: &str) -> String {
    let Some((_, rest)) = message.split_once("unknown field `") else { return message.to_owned() };
    // `htp`, expected one of `http`, `plugins`
    let mut quoted = rest.split('`').step_by(2);
    let Some(unknown) = quoted.next() else { return message.to_owned() };
    let nearness = |known: &str| strsim::normalized_damerau_levenshtein(unknown, known);
    let nearest = quoted.filter(|known| nearness(known) >= NEAR).max_by(|a, b| nearness(a).total_cmp(&nearness(b)));
    match nearest {
        Some(nearest) => format!("{}; did you mean `{nearest}`?\n", message.trim_end()),
        None => message.to_owned(),
    }
}
