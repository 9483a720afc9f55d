//! TOML: an entry is a table of its own at the end of the file; where the file has its servers in another way, that way is kept.

use anyhow::{Result, anyhow, bail};
use serde_json::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Key, TableLike, Value as Toml};

use super::{
    super::server::{Entry, is_transport},
    At, newline, position,
};

pub(super) fn parse(text: &str) -> Result<Value> {
    let table: toml::Table = toml::from_str(text).map_err(|error| wrong(text, error.span(), error.message()))?;
    Ok(serde_json::to_value(table)?)
}

/// Without the line itself, which the errors of TOML show: it may hold a secret.
fn wrong(text: &str, span: Option<std::ops::Range<usize>>, message: &str) -> anyhow::Error {
    let (line, column) = position(text, span.map_or(0, |span| span.start));
    let message: String = message.lines().collect::<Vec<_>>().join(", ");
    anyhow!("line {line}, column {column}: {message}")
}

fn document(text: &str) -> Result<DocumentMut> {
    text.parse().map_err(|error: toml_edit::TomlError| wrong(text, error.span(), error.message()))
}

pub(super) fn piece(at: At<'_>, entry: &Entry) -> String {
    let keys: Vec<&str> = at.path.iter().copied().chain([at.name]).collect();
    let lines: Vec<String> = entry.iter().map(|(key, field)| format!("{key} = {}", value(field))).collect();
    format!("[{}]\n{}", keys.join("."), lines.join("\n"))
}

fn value(field: &Value) -> Toml {
    match field {
        Value::Bool(is) => (*is).into(),
        Value::Number(number) => number.as_i64().unwrap_or_default().into(),
        Value::Array(list) => Toml::Array(list.iter().map(value).collect::<Array>()),
        other => other.as_str().unwrap_or_default().into(),
    }
}

/// What holds the servers, as a table of any kind; none if the file has none.
fn holder<'a>(file: &'a mut DocumentMut, path: &[&str]) -> Result<Option<&'a mut dyn TableLike>> {
    let mut holder: &mut dyn TableLike = file.as_table_mut();
    for key in path {
        let Some(item) = holder.get_mut(key) else { return Ok(None) };
        holder = item.as_table_like_mut().ok_or_else(|| anyhow!("{key} is no table; make it one, or take it out"))?;
    }
    Ok(Some(holder))
}

pub(super) fn insert(text: &str, at: At<'_>, entry: &Entry) -> Result<String> {
    let mut file = document(text)?;
    let is_inline = at.path.iter().try_fold(file.as_item(), |item, key| item.get(key)).is_some_and(Item::is_inline_table);
    if let Some(holder) = holder(&mut file, at.path)? {
        if let Some(old) = holder.get_mut(at.name) {
            let Some(old) = old.as_table_like_mut() else { bail!("{} is no table; take it out, or choose another name", at.name) };
            let keys: Vec<String> = old.iter().map(|(key, _)| key.to_owned()).filter(|key| is_transport(key)).collect();
            for key in keys {
                old.remove(&key);
            }
            for (key, field) in entry {
                if !old.contains_key(key) {
                    old.insert(key, Item::Value(value(field)));
                }
            }
            return written(&file, text);
        }
        if is_inline {
            let table: InlineTable = entry.iter().map(|(key, field)| (*key, value(field))).collect();
            holder.insert(at.name, Item::Value(table.into()));
            return written(&file, text);
        }
    }
    let end = newline(text);
    let mut new = text.to_owned();
    if !new.is_empty() && !new.ends_with('\n') {
        new += end;
    }
    if !new.is_empty() && !new.ends_with("\n\n") && !new.ends_with("\n\r\n") {
        new += end;
    }
    for line in piece(at, entry).lines() {
        new += line;
        new += end;
    }
    Ok(new)
}

pub(super) fn remove(text: &str, at: At<'_>) -> Result<Vec<String>> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let keys: Vec<&str> = at.path.iter().copied().chain([at.name]).collect();
    let ours = |line: &&str| header(line).is_some_and(|header| header.is_some_and(|header| header.starts_with(&keys[..])));
    // The same words in a text over several lines make no table: what is taken out there says something else then, and is dropped.
    let starts: Vec<usize> = (0..lines.len()).filter(|at| ours(&lines[*at])).collect();
    if starts.is_empty() {
        let mut file = document(text)?;
        if let Some(holder) = holder(&mut file, at.path)? {
            holder.remove(at.name);
        }
        return Ok(vec![written(&file, text)?]);
    }
    let mut candidates = Vec::new();
    for start in starts {
        let next = lines.iter().skip(start).position(|line| header(line).is_some() && !ours(line)).map_or(lines.len(), |more| start + more);
        // What stands before the next table is that one's.
        let is_content = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
        let end = start + lines[start..next].iter().rposition(is_content).map_or(0, |last| last + 1);
        let without = |head: &[&str]| head.concat() + &lines[end..].concat();
        let tight = (start > 0 && lines[start - 1].trim().is_empty()).then(|| without(&lines[..start - 1]));
        let shorter = |text: &String| text.strip_suffix(newline(text)).map(String::from);
        let base = without(&lines[..start]);
        let shortest = tight.as_ref().or(Some(&base)).and_then(shorter);
        candidates.extend(tight.into_iter().chain([base]).chain(shortest));
    }
    Ok(candidates)
}

/// The changed file with the ends of lines it had: the editor knows one kind only.
fn written(file: &DocumentMut, text: &str) -> Result<String> {
    let (all, long) = (text.matches('\n').count(), text.matches("\r\n").count());
    match long {
        0 => Ok(file.to_string()),
        _ if long == all => Ok(file.to_string().replace('\n', "\r\n")),
        _ => bail!("its lines end in two ways; let an editor make it one, and run this again"),
    }
}

/// The keys of a line that begins a table; of an array of tables, no keys.
fn header(line: &str) -> Option<Option<Vec<String>>> {
    let inner = line.trim_start().strip_prefix('[')?;
    if inner.starts_with('[') {
        return Some(None);
    }
    let keys = Key::parse(inner.split(']').next()?).ok()?;
    Some(Some(keys.iter().map(|key| key.get().to_owned()).collect()))
}

/// Whether these begin with those.
trait StartsWith {
    fn starts_with(&self, keys: &[&str]) -> bool;
}

impl StartsWith for Vec<String> {
    fn starts_with(&self, keys: &[&str]) -> bool {
        self.len() >= keys.len() && self.iter().zip(keys).all(|(own, key)| own == key)
    }
}
