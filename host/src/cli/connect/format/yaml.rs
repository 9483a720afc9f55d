//! YAML, changed line by line: there is no editor for it that keeps a file as it is.
//!
//! What is known here is the block style that Goose writes: the holder of the servers at the file's root, in column 1, and each server a
//! block below it. What is written in another way, such as `{a: b}` or a quoted key, is refused, and so is whatever says something else
//! once it is read again.

use anyhow::{Result, bail};
use serde_json::{Map, Value};
use yaml_rust2::{Yaml, YamlLoader};

use super::{
    super::server::{Entry, is_transport},
    At, newline,
};

/// The indentation of files that show none of their own.
const INDENT: &str = "  ";
const BY_HAND: &str = "is written in a way that cannot be changed safely; change it by hand";

pub(super) fn parse(text: &str) -> Result<Value> {
    let documents = match YamlLoader::load_from_str(text) {
        Ok(documents) => documents,
        Err(error) => {
            let mark = error.marker();
            // Its text may quote what stands there, but only a name or a sign.
            bail!("line {}, column {}: {}", mark.line(), mark.col() + 1, error.info());
        }
    };
    match &documents[..] {
        [] | [Yaml::Null] => Ok(Value::Object(Map::new())),
        [document @ Yaml::Hash(_)] => Ok(value(document)),
        [_] => bail!("line 1: it is no mapping of keys to values"),
        _ => bail!("it holds {} documents; there can be one", documents.len()),
    }
}

fn value(yaml: &Yaml) -> Value {
    match yaml {
        Yaml::String(text) => text.as_str().into(),
        Yaml::Integer(number) => (*number).into(),
        Yaml::Boolean(is) => (*is).into(),
        Yaml::Array(list) => list.iter().map(value).collect(),
        Yaml::Hash(fields) => {
            // Other keys than text are only compared.
            let key = |key: &Yaml| key.as_str().map_or_else(|| format!("{key:?}"), Into::into);
            Value::Object(fields.iter().map(|(name, field)| (key(name), value(field))).collect())
        }
        Yaml::Null => Value::Null,
        other => format!("{other:?}").into(),
    }
}

pub(super) fn piece(name: &str, entry: &Entry) -> String {
    let fields: Vec<String> = entry.iter().map(|(key, field)| format!("\n{INDENT}{key}: {}", scalar(field))).collect();
    format!("{name}:{}", fields.concat())
}

/// A value on one line: as it is where nothing in it means anything in YAML, else in quotes, as JSON has them.
fn scalar(field: &Value) -> String {
    let is_plain = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./:@+~".contains(c))
            && !text.ends_with(':')
            && !["y", "n", "yes", "no", "on", "off", "true", "false", "null"].contains(&text.to_ascii_lowercase().as_str())
    };
    match field {
        Value::String(text) if is_plain(text) => text.clone(),
        other => super::json::line(other),
    }
}

/// The lines of a text, and those in it that hold the servers.
struct Lines<'a> {
    lines: Vec<&'a str>,
    /// The holder's own line.
    section: Option<usize>,
    /// The line after its last one.
    end: usize,
    /// The indentation of what it holds.
    indent: String,
}

impl<'a> Lines<'a> {
    /// Fails if what holds the servers is there, and not in block style.
    fn read(text: &'a str, at: At<'_>) -> Result<Self> {
        let [key] = at.path else { bail!("the file {BY_HAND}") };
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let section = lines.iter().position(|line| after_key(line, "", key).is_some());
        let known = parse(text)?.get(key).is_some();
        if known != section.is_some() {
            bail!("{key} {BY_HAND}");
        }
        let Some(start) = section else { return Ok(Self { end: lines.len(), lines, section, indent: INDENT.into() }) };
        let inside = lines[start + 1..].iter().take_while(|line| indent(line) > 0 || is_blank(line) || line.starts_with('#'));
        let inside: Vec<&&str> = inside.collect();
        let end = start + 1 + inside.iter().rposition(|line| indent(line) > 0 && !is_blank(line)).map_or(0, |last| last + 1);
        let first = inside.iter().find(|line| !is_blank(line) && !line.trim_start().starts_with('#'));
        let indent = first.map_or_else(|| INDENT.into(), |line| line[..indent(line)].to_owned());
        Ok(Self { lines, section, end, indent })
    }

    /// The lines of this server.
    fn entry(&self, name: &str) -> Option<std::ops::Range<usize>> {
        let start = self.section? + 1;
        let start = (start..self.end).find(|at| after_key(self.lines[*at], &self.indent, name).is_some())?;
        let inside = self.lines[start + 1..self.end].iter().take_while(|line| is_blank(line) || indent(line) > self.indent.len());
        let inside: Vec<_> = inside.collect();
        Some(start..start + 1 + inside.iter().rposition(|line| !is_blank(line)).map_or(0, |last| last + 1))
    }

    /// The fields of a server, each with all its lines.
    fn fields(&self, entry: std::ops::Range<usize>) -> Vec<(&'a str, String)> {
        let mut fields: Vec<(&str, String)> = Vec::new();
        let inside = &self.lines[(entry.start + 1).min(entry.end)..entry.end];
        let own = inside.iter().find(|line| !is_blank(line) && !line.trim_start().starts_with('#')).map_or(0, |line| indent(line));
        for line in inside {
            let content = line.trim();
            let key = content.split_once(':').map(|(key, _)| key).filter(|_| indent(line) == own && !content.starts_with(['#', '-']));
            match (key, fields.last_mut()) {
                (Some(key), _) => fields.push((key, (*line).to_owned())),
                (None, Some((_, lines))) => *lines += line,
                (None, None) => {}
            }
        }
        fields
    }
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// Blanks before the text of a line.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// What follows a key that stands alone at this indentation; none if the line is another.
fn after_key<'a>(line: &'a str, indent: &str, key: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(indent)?.strip_prefix(key)?.strip_prefix(':')?;
    rest.starts_with([' ', '\t', '\r', '\n']).then(|| rest.trim()).or_else(|| rest.is_empty().then_some(""))
}

pub(super) fn insert(text: &str, at: At<'_>, entry: &Entry) -> Result<String> {
    let end = newline(text);
    let file = Lines::read(text, at)?;
    let own = file.indent.clone();
    let deeper = own.repeat(2);
    let rendered = |key: &str, field: &Value| format!("{deeper}{key}: {}{end}", scalar(field));
    let Some(section) = file.section else {
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { end };
        let fields: String = entry.iter().map(|(key, field)| rendered(key, field)).collect();
        return Ok(format!("{text}{gap}{}:{end}{own}{}:{end}{fields}", at.path.join("."), at.name));
    };
    let known = super::get(&parse(text)?, at).is_some();
    let Some(lines) = file.entry(at.name) else {
        if known {
            bail!("{} {BY_HAND}", at.name);
        }
        let mut holder = file.lines[section].to_owned();
        match after_key(&holder, "", at.path[0]) {
            Some("{}") if file.end == section + 1 => holder = holder.replacen(" {}", "", 1),
            Some(rest) if rest.is_empty() || rest.starts_with('#') => {}
            _ => bail!("{} {BY_HAND}", at.path[0]),
        }
        let before = file.lines[..section].concat() + &holder + &file.lines[section + 1..file.end].concat();
        let gap = if before.ends_with('\n') { "" } else { end };
        let fields: String = entry.iter().map(|(key, field)| rendered(key, field)).collect();
        return Ok(format!("{before}{gap}{own}{}:{end}{fields}{}", at.name, file.lines[file.end..].concat()));
    };
    let old = file.fields(lines.clone());
    let kept = |key: &str| old.iter().find(|(known, _)| *known == key && !is_transport(key)).map(|(_, lines)| lines.clone());
    let mut new = file.lines[..lines.start].concat() + &format!("{own}{}:{end}", at.name);
    for (key, field) in entry {
        new += &kept(key).unwrap_or_else(|| rendered(key, field));
    }
    for (key, lines) in &old {
        if !is_transport(key) && !entry.iter().any(|(known, _)| known == key) {
            new += lines;
        }
    }
    if !new.ends_with('\n') {
        new += end;
    }
    Ok(new + &file.lines[lines.end..].concat())
}

pub(super) fn remove(text: &str, at: At<'_>) -> Result<Vec<String>> {
    let file = Lines::read(text, at)?;
    let (Some(section), Some(lines)) = (file.section, file.entry(at.name)) else { return Ok(Vec::new()) };
    let rest = file.lines[lines.end..].concat();
    let base = file.lines[..lines.start].concat() + &rest;
    let mut candidates = Vec::new();
    if parse(text)?.get(at.path[0]).and_then(Value::as_object).is_none_or(|holder| holder.len() <= 1) {
        // The last one: what held it can have been empty, or not there at all.
        let (head, holder) = (file.lines[..section].concat(), file.lines[section]);
        let between = file.lines[section + 1..lines.start].concat();
        if holder.trim_end().ends_with(':') {
            candidates.push(format!("{head}{} {{}}{}{between}{rest}", holder.trim_end(), newline(text)));
        }
        candidates.push(format!("{head}{between}{rest}"));
    }
    candidates.push(base);
    let shorter: Vec<_> = candidates.iter().filter_map(|text| text.strip_suffix(newline(text)).map(String::from)).collect();
    candidates.extend(shorter);
    Ok(candidates)
}
