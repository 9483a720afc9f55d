//! JSON with comments and trailing commas, changed in the style of the file: its indentation, its ends of lines, its trailing commas.
//!
//! The parser gives ranges; all changes are made to the text itself, in one or two places.

use anyhow::{Result, anyhow, bail};
use jsonc_parser::{
    CollectOptions, CommentCollectionStrategy, ParseOptions, ParseResult,
    ast::{Object, Value as Node},
    common::Ranged,
    parse_to_ast,
    tokens::{Token, TokenAndRange},
};
use serde_json::{Map, Value};

use super::{
    super::server::{Entry, is_transport},
    At, newline, position,
};

/// The indentation of files that show none of their own.
const INDENT: &str = "  ";
/// Some editors put it before the text; it is no part of it.
const MARK: &str = "\u{feff}";

/// Nothing but comments and trailing commas beside JSON: that is what editors and agents read.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// A text that was read.
struct File<'a> {
    text: &'a str,
    parsed: ParseResult<'a>,
}

pub(super) fn parse(text: &str) -> Result<Value> {
    Ok(File::read(text)?.parsed.value.as_ref().map_or_else(|| Value::Object(Map::new()), value))
}

/// Whether the text has neither comments nor trailing commas, which only some clients read.
pub(super) fn is_strict(text: &str) -> bool {
    let strict = ParseOptions { allow_comments: false, allow_trailing_commas: false, ..OPTIONS };
    let text = text.strip_prefix(MARK).unwrap_or(text);
    parse_to_ast(text, &CollectOptions::default(), &strict).is_ok()
}

pub(super) fn piece(name: &str, entry: &Entry) -> String {
    format!("{}: {}", quoted(name), block(&fields(entry), "", INDENT, "\n"))
}

pub(super) fn insert(text: &str, at: At<'_>, entry: &Entry) -> Result<String> {
    let (mark, text) = text.strip_prefix(MARK).map_or(("", text), |rest| (MARK, rest));
    let file = File::read(text)?;
    let keys: Vec<&str> = at.path.iter().copied().chain([at.name]).collect();
    let Some(root) = &file.parsed.value else {
        let end = newline(text);
        let before = text.trim_end();
        let gap = if before.is_empty() { "" } else { end };
        return Ok(format!("{mark}{before}{gap}{{{end}{INDENT}{}{end}}}{end}", nested(&keys, entry, INDENT, INDENT, end)));
    };
    let mut object = file.object(root, "the file")?;
    for (depth, key) in keys.iter().enumerate() {
        let Some(found) = file.find(object, key)? else { return Ok(mark.to_owned() + &file.add(object, &keys[depth..], entry)) };
        let property = &object.properties[found];
        if depth + 1 == keys.len() {
            let range = property.value.range();
            let new = file.replaced(&property.value, entry);
            return Ok(format!("{mark}{}{new}{}", &text[..range.start], &text[range.end..]));
        }
        object = file.object(&property.value, key)?;
    }
    bail!("an entry without a name");
}

pub(super) fn remove(text: &str, at: At<'_>) -> Result<Vec<String>> {
    let (mark, text) = text.strip_prefix(MARK).map_or(("", text), |rest| (MARK, rest));
    let file = File::read(text)?;
    let Some(root) = &file.parsed.value else { return Ok(Vec::new()) };
    let mut holders = vec![(file.object(root, "the file")?, 0)];
    for (depth, key) in at.path.iter().copied().chain([at.name]).enumerate() {
        let Some((object, index)) = holders.last_mut() else { break };
        let Some(found) = file.find(object, key)? else { return Ok(Vec::new()) };
        *index = found;
        let value = &object.properties[found].value;
        if depth < at.path.len() {
            holders.push((file.object(value, key)?, 0));
        }
    }
    let mut candidates = Vec::new();
    // From the entry up, as long as what holds it holds nothing else.
    for (object, index) in holders.into_iter().rev() {
        candidates.extend(file.without(object, index));
        if object.properties.len() > 1 {
            break;
        }
    }
    Ok(candidates.into_iter().map(|text| mark.to_owned() + &text).collect())
}

impl<'a> File<'a> {
    fn read(text: &'a str) -> Result<Self> {
        let text = text.strip_prefix(MARK).unwrap_or(text);
        let collect = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
        let parsed = parse_to_ast(text, &collect, &OPTIONS).map_err(|error| {
            anyhow!("line {}, column {}: {}", error.line_display(), error.column_display(), lower(&error.kind().to_string()))
        })?;
        Ok(Self { text, parsed })
    }

    fn tokens(&self) -> &[TokenAndRange<'a>] {
        self.parsed.tokens.as_deref().unwrap_or_default()
    }

    fn object<'b>(&self, node: &'b Node<'a>, what: &str) -> Result<&'b Object<'a>> {
        let (line, _) = position(self.text, node.start());
        node.as_object().ok_or_else(|| anyhow!("line {line}: {what} is no object; make it one, such as {{}}"))
    }

    /// The property's place; one that is there twice is whichever the client takes.
    fn find(&self, object: &Object<'a>, key: &str) -> Result<Option<usize>> {
        let mut found = (0..object.properties.len()).filter(|at| object.properties[*at].name.as_str() == key);
        let first = found.next();
        if let Some(second) = found.next() {
            let (line, _) = position(self.text, object.properties[second].start());
            bail!("line {line}: {key} is there a second time; leave one of them");
        }
        Ok(first)
    }

    /// The blanks at the start of the line that holds this byte.
    fn indent(&self, at: usize) -> &'a str {
        let line = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let rest = &self.text[line..];
        &rest[..rest.len() - rest.trim_start_matches([' ', '\t']).len()]
    }

    fn is_first_on_line(&self, at: usize) -> bool {
        self.text[..at].trim_end_matches([' ', '\t']).ends_with('\n')
    }

    /// One step of indentation.
    fn unit(&self) -> &'a str {
        let first = self.parsed.value.as_ref().and_then(|root| Some((root.start(), root.as_object()?.properties.first()?.start())));
        let step =
            first.filter(|(_, at)| self.is_first_on_line(*at)).and_then(|(root, at)| self.indent(at).strip_prefix(self.indent(root)));
        step.filter(|step| !step.is_empty()).unwrap_or(INDENT)
    }

    /// The end of the comments that follow on the same line.
    fn end_of_comments(&self, anchor: usize) -> usize {
        let mut end = anchor;
        for comment in self.tokens().iter().filter(|token| token.start() >= anchor) {
            let same_line = self.text[end..comment.start()].trim_matches([' ', '\t']).is_empty();
            if !same_line || !is_comment(&comment.token) {
                break;
            }
            end = comment.end();
        }
        end
    }

    /// The first token from here on that is no comment.
    fn token_after(&self, end: usize) -> Option<&TokenAndRange<'a>> {
        self.tokens().iter().find(|token| token.start() >= end && !is_comment(&token.token))
    }

    fn comma_after(&self, end: usize) -> Option<&TokenAndRange<'a>> {
        self.token_after(end).filter(|token| token.token == Token::Comma)
    }

    /// The text with a property more in this object: the keys one in the other, and the entry.
    fn add(&self, object: &Object<'a>, keys: &[&str], entry: &Entry) -> String {
        let (text, end, unit) = (self.text, newline(self.text), self.unit());
        let own = self.indent(object.start());
        let Some(last) = object.properties.last() else {
            let inside = &text[object.start() + 1..object.end() - 1];
            let kept = inside.trim_end();
            let indent = format!("{own}{unit}");
            let new = nested(keys, entry, &indent, unit, end);
            let rest = if inside[kept.len()..].contains('\n') && !kept.is_empty() { &inside[kept.len()..] } else { &format!("{end}{own}") };
            return format!("{}{kept}{end}{indent}{new}{rest}{}", &text[..=object.start()], &text[object.end() - 1..]);
        };
        let trailing = self.comma_after(last.end());
        let comma = if trailing.is_some() { "" } else { "," };
        let after = if trailing.is_some() { "," } else { "" };
        let anchor = trailing.map_or(last.end(), Ranged::end);
        if !self.is_first_on_line(last.start()) {
            let new = inline(keys, entry);
            return format!("{}{comma} {new}{after}{}", &text[..anchor], &text[anchor..]);
        }
        let line = self.end_of_comments(anchor);
        let indent = self.indent(last.start());
        let new = nested(keys, entry, indent, unit, end);
        format!("{}{comma}{}{end}{indent}{new}{after}{}", &text[..anchor], &text[anchor..line], &text[line..])
    }

    /// The value with this entry's transport, and all else that it has.
    fn replaced(&self, old: &Node<'a>, entry: &Entry) -> String {
        let own = self.indent(old.start());
        let properties = old.as_object().map_or(&[][..], |object| &object.properties);
        let raw = |key: &str| {
            let kept = properties.iter().rfind(|property| property.name.as_str() == key && !is_transport(key));
            kept.map(|property| property.value.text(self.text).to_owned())
        };
        let mut fields: Vec<(String, String)> =
            entry.iter().map(|(key, value)| ((*key).to_owned(), raw(key).unwrap_or_else(|| line(value)))).collect();
        for property in properties {
            let key = property.name.as_str();
            if let Some(raw) = raw(key).filter(|_| !fields.iter().any(|(known, _)| known == key)) {
                fields.push((key.to_owned(), raw));
            }
        }
        if self.text[old.start()..old.end()].contains('\n') || properties.is_empty() {
            block(&fields, own, self.unit(), newline(self.text))
        } else {
            flat(&fields)
        }
    }

    /// What the text may have been before this property was added; what is likeliest first.
    fn without(&self, object: &Object<'a>, index: usize) -> Vec<String> {
        let text = self.text;
        let property = &object.properties[index];
        let comma = self.comma_after(property.end());
        let end = comma.map_or(property.end(), Ranged::end);
        let comment = |start: usize| {
            let mut inside = self.tokens().iter().filter(|token| token.start() >= start && token.end() <= property.start());
            inside.rfind(|token| is_comment(&token.token)).map_or(start, Ranged::end)
        };
        let Some(before) = index.checked_sub(1).map(|before| &object.properties[before]) else {
            let start = comment(object.start() + 1);
            let (head, tail) = (&text[..start], &text[end..]);
            let mut candidates = vec![self.joined(start, head, tail)];
            let close = &text[end..object.end() - 1];
            if object.properties.len() == 1 && close.trim().is_empty() {
                let closing = &text[object.end() - 1..];
                let tight = format!("{head}{closing}");
                let spaced = [" ", "\n"].map(|gap| format!("{head}{gap}{closing}"));
                if start == object.start() + 1 {
                    candidates.insert(0, tight);
                } else {
                    candidates.push(tight);
                }
                candidates.extend(spaced);
            }
            return candidates;
        };
        let Some(previous) = self.comma_after(before.end()) else { return Vec::new() };
        let start = comment(self.end_of_comments(previous.end()));
        if comma.is_some() {
            return vec![self.joined(start, &text[..start], &text[end..])];
        }
        // It was the last, so that comma came with it.
        vec![format!("{}{}{}", &text[..previous.start()], &text[previous.end()..start], &text[end..])]
    }

    /// Both in one; a comment that goes on to the end of its line does not take in what follows.
    fn joined(&self, start: usize, head: &str, tail: &str) -> String {
        let open = self.tokens().iter().any(|token| token.end() == start && matches!(token.token, Token::CommentLine(_)));
        let gap = if open && !tail.trim_start_matches([' ', '\t', '\r']).starts_with('\n') { newline(self.text) } else { "" };
        format!("{head}{gap}{tail}")
    }
}

fn is_comment(token: &Token<'_>) -> bool {
    matches!(token, Token::CommentLine(_) | Token::CommentBlock(_))
}

fn value(node: &Node<'_>) -> Value {
    match node {
        Node::StringLit(text) => text.value.as_ref().into(),
        // Too large for a number here, it is compared as it is written.
        Node::NumberLit(number) => serde_json::from_str(number.value).unwrap_or_else(|_| number.value.into()),
        Node::BooleanLit(is) => is.value.into(),
        Node::NullKeyword(_) => Value::Null,
        Node::Array(array) => array.elements.iter().map(value).collect(),
        Node::Object(object) => {
            Value::Object(object.properties.iter().map(|property| (property.name.as_str().to_owned(), value(&property.value))).collect())
        }
    }
}

/// Keys one in the other, and the entry, over several lines; without the first line's indentation.
fn nested(keys: &[&str], entry: &Entry, indent: &str, unit: &str, end: &str) -> String {
    match keys {
        [] => block(&fields(entry), indent, unit, end),
        [key] => format!("{}: {}", quoted(key), block(&fields(entry), indent, unit, end)),
        [key, rest @ ..] => {
            let deeper = format!("{indent}{unit}");
            format!("{}: {{{end}{deeper}{}{end}{indent}}}", quoted(key), nested(rest, entry, &deeper, unit, end))
        }
    }
}

/// The same on one line.
fn inline(keys: &[&str], entry: &Entry) -> String {
    match keys {
        [] => flat(&fields(entry)),
        [key] => format!("{}: {}", quoted(key), flat(&fields(entry))),
        [key, rest @ ..] => format!("{}: {{ {} }}", quoted(key), inline(rest, entry)),
    }
}

fn fields(entry: &Entry) -> Vec<(String, String)> {
    entry.iter().map(|(key, value)| ((*key).to_owned(), line(value))).collect()
}

fn block(fields: &[(String, String)], indent: &str, unit: &str, end: &str) -> String {
    let lines: Vec<String> = fields.iter().map(|(key, value)| format!("{indent}{unit}{}: {value}", quoted(key))).collect();
    format!("{{{end}{}{end}{indent}}}", lines.join(&format!(",{end}")))
}

fn flat(fields: &[(String, String)]) -> String {
    let all: Vec<String> = fields.iter().map(|(key, value)| format!("{}: {value}", quoted(key))).collect();
    format!("{{ {} }}", all.join(", "))
}

/// A value on one line.
pub(super) fn line(value: &Value) -> String {
    match value {
        Value::Array(list) => format!("[{}]", list.iter().map(line).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn lower(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}
