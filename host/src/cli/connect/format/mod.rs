//! The languages of the clients' files: reading them, and putting one entry in or taking it out.
//!
//! Invariants:
//! - All but the entry stays as it is, byte for byte; in JSON a comma may come to the line before it.
//! - A changed text is read again before it is given out: it says what the old one says and the entry, and nothing else.
//! - An error names a line and a column, and shows nothing of what stands there.
//! - What [`Format::insert`] did to a text, [`Format::remove`] undoes to the byte, given the text as it was; without it, wherever only one
//!   text can have been there.

mod json;
mod toml;
mod yaml;

use anyhow::{Result, bail};
use serde_json::{Map, Value};

use super::server::{Entry, merged};

/// What a client's files are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// JSON with comments and trailing commas: strict clients have files without them.
    Json,
    Toml,
    Yaml,
}

/// Where in a file an entry is, and its name.
#[derive(Debug, Clone, Copy)]
pub(super) struct At<'a> {
    /// From the file's root to what holds the servers.
    pub path: &'a [&'static str],
    pub name: &'a str,
}

impl Format {
    /// The file's language, as README.md's blocks name it.
    pub(super) fn language(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Toml => "toml",
            Self::Yaml => "yaml",
        }
    }

    /// What the text says. A text without anything in it says `{}`.
    pub(super) fn parse(self, text: &str) -> Result<Value> {
        match self {
            Self::Json => json::parse(text),
            Self::Toml => toml::parse(text),
            Self::Yaml => yaml::parse(text),
        }
    }

    /// The entry alone, as it stands in a file.
    pub(super) fn piece(self, at: At<'_>, entry: &Entry) -> String {
        match self {
            Self::Json => json::piece(at.name, entry),
            Self::Toml => toml::piece(at, entry),
            Self::Yaml => yaml::piece(at.name, entry),
        }
    }

    /// A file with this entry alone.
    pub(super) fn document(self, at: At<'_>, entry: &Entry) -> Result<String> {
        self.insert("", at, entry)
    }

    /// The text with this entry, in place of another of the same name.
    ///
    /// # Errors
    /// It cannot be read, or there is something else where the entry belongs.
    pub(super) fn insert(self, text: &str, at: At<'_>, entry: &Entry) -> Result<String> {
        let mut expected = self.parse(text)?;
        let old = get(&expected, at).cloned();
        let new = merged(old.as_ref(), entry);
        if old.as_ref() == Some(&new) {
            return Ok(text.to_owned());
        }
        let changed = match self {
            Self::Json => json::insert(text, at, entry)?,
            Self::Toml => toml::insert(text, at, entry)?,
            Self::Yaml => yaml::insert(text, at, entry)?,
        };
        set(&mut expected, at, new);
        if self.parse(&changed).ok().as_ref() != Some(&expected) {
            bail!("it is written in a way that cannot be changed safely; put the entry in by hand");
        }
        Ok(changed)
    }

    /// Whether the text can be read and has no entry of this name.
    pub(super) fn lacks(self, text: &str, at: At<'_>) -> bool {
        self.parse(text).is_ok_and(|value| get(&value, at).is_none())
    }

    /// The text without this entry; none if nothing is left, and the file came with the entry. `before` is the file as it was before the
    /// last change, where that is known, and `entry` is what this entry would be if it were written now.
    ///
    /// # Errors
    /// As [`Format::insert`].
    pub(super) fn remove(self, text: &str, at: At<'_>, entry: &Entry, before: Option<&str>) -> Result<Option<String>> {
        let mut expected = self.parse(text)?;
        unset(&mut expected, at);
        let expected = without_empty(expected, at.path);
        let same = |text: &str| self.parse(text).is_ok_and(|value| without_empty(value, at.path) == expected);
        let led_here = |candidate: &str| self.insert(candidate, at, entry).is_ok_and(|made| made == text);
        if let Some(before) = before.filter(|before| same(before) && self.lacks(before, at) && led_here(before)) {
            return Ok(Some(before.to_owned()));
        }
        if before.is_none() && self.document(at, entry).is_ok_and(|made| made == text) {
            return Ok(None);
        }
        let candidates = match self {
            Self::Json => json::remove(text, at)?,
            Self::Toml => toml::remove(text, at)?,
            Self::Yaml => yaml::remove(text, at)?,
        };
        let mut candidates: Vec<String> = candidates.into_iter().filter(|candidate| same(candidate)).collect();
        let best = candidates.iter().position(|candidate| led_here(candidate)).unwrap_or(0);
        if candidates.is_empty() {
            bail!("it is written in a way that cannot be changed safely; take the entry out by hand");
        }
        Ok(Some(candidates.swap_remove(best)))
    }
}

/// Whether the text is JSON without comments and trailing commas.
pub(super) fn is_strict_json(text: &str) -> bool {
    json::is_strict(text)
}

/// What is at this path.
pub(super) fn servers<'a>(file: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(file, |value, key| value.get(key))
}

/// The entry.
pub(super) fn get<'a>(file: &'a Value, at: At<'_>) -> Option<&'a Value> {
    servers(file, at.path)?.get(at.name)
}

fn set(file: &mut Value, at: At<'_>, entry: Value) {
    let mut value = file;
    for key in at.path.iter().copied().chain([at.name]) {
        if !value.is_object() {
            *value = Value::Object(Map::new());
        }
        let Value::Object(fields) = value else { return };
        value = fields.entry(key).or_insert(Value::Null);
    }
    *value = entry;
}

fn unset(file: &mut Value, at: At<'_>) {
    let holder = at.path.iter().try_fold(file, |value, key| value.get_mut(key));
    if let Some(fields) = holder.and_then(Value::as_object_mut) {
        fields.remove(at.name);
    }
}

/// Without the holders of servers that hold none: to a client they are as if they were not there.
fn without_empty(mut file: Value, path: &[&str]) -> Value {
    for depth in (1..=path.len()).rev() {
        let (holder, key) = (&path[..depth - 1], path[depth - 1]);
        let holder = holder.iter().try_fold(&mut file, |value, key| value.get_mut(key)).and_then(Value::as_object_mut);
        if let Some(fields) = holder
            && fields.get(key).is_some_and(|value| value.is_null() || value.as_object().is_some_and(Map::is_empty))
        {
            fields.remove(key);
        }
    }
    file
}

/// The line and the column, both from 1, of a byte.
fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.rfind('\n').map_or(0, |end| end + 1);
    (before.matches('\n').count() + 1, before[line..].chars().count() + 1)
}

/// What ends the text's lines.
fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

#[cfg(test)]
mod tests;
