//! wharf.toml, read into typed settings.
//!
//! Every key is kebab-case. A key that is not known, a value of the wrong type and a name that comes twice are errors that show the
//! line. Paths are relative to the file's folder. What is not set is `None` here; whoever uses it knows the default.

mod units;

use std::{
    collections::{BTreeMap, HashSet},
    net::SocketAddr,
    ops::Range,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Deserialize;
use toml::{Spanned, Table, Value};

/// Why a wharf.toml cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file is not there, or may not be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Its content is wrong; the message shows the line.
    #[error("{}: {message}", path.display())]
    Wrong {
        /// Which file.
        path: PathBuf,
        /// Where and what.
        message: String,
    },
}

/// A whole wharf.toml.
#[derive(Debug, Default, PartialEq)]
pub struct Config {
    /// `[server]`.
    pub server: Server,
    /// `[[provider]]`, in order, which is precedence.
    pub providers: Vec<Provider>,
}

/// `[server]`: where the host listens, and to whom.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Server {
    /// The address of the HTTP endpoint, `127.0.0.1:8089`.
    pub http: Option<SocketAddr>,
    /// The plugins folder.
    pub plugins: Option<PathBuf>,
    /// Origins of web pages that may speak to it, besides those of this machine.
    #[serde(default)]
    pub allowed_origins: Vec<String>,
    /// Names under which it may be asked for, besides those of this machine.
    #[serde(default)]
    pub allowed_hosts: Vec<String>,
}

/// `[[provider]]`: a provider with settings, limits or a place in the order.
#[derive(Debug, PartialEq)]
pub struct Provider {
    /// Its name.
    pub name: String,
    /// The component; `<plugins folder>/<name>.wasm` if it is not set.
    pub path: Option<PathBuf>,
    /// `[provider.settings]`, as the guest sees them: a string as it is, anything else as JSON, a setting in a table under a dotted name.
    pub settings: BTreeMap<String, String>,
    /// `[provider.limits] memory`, in bytes.
    pub memory: Option<u64>,
    /// `[provider.limits] deadline`.
    pub deadline: Option<Duration>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct File {
    #[serde(default)]
    server: Server,
    #[serde(default)]
    provider: Vec<ProviderTable>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ProviderTable {
    name: Spanned<String>,
    path: Option<PathBuf>,
    #[serde(default)]
    settings: Table,
    #[serde(default)]
    limits: LimitsTable,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct LimitsTable {
    #[serde(default, deserialize_with = "units::bytes")]
    memory: Option<u64>,
    #[serde(default, deserialize_with = "units::duration")]
    deadline: Option<Duration>,
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Unreadable { path: path.to_owned(), source })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::parse(&text, folder).map_err(|message| ConfigError::Wrong { path: path.to_owned(), message })
    }

    fn parse(text: &str, folder: &Path) -> Result<Self, String> {
        let File { mut server, provider } = toml::from_str(text).map_err(|error| error.to_string())?;
        server.plugins = server.plugins.map(|path| folder.join(path));
        let mut names = HashSet::new();
        let mut providers = Vec::with_capacity(provider.len());
        for ProviderTable { name, path, settings, limits } in provider {
            let span = name.span();
            let name = name.into_inner();
            if let Err(reason) = check_name(&name) {
                return Err(at(text, &span, &reason));
            }
            if !names.insert(name.clone()) {
                return Err(at(text, &span, &format!("there are two providers named {name:?}")));
            }
            let path = path.map(|path| folder.join(path));
            providers.push(Provider { name, path, settings: flatten(settings), memory: limits.memory, deadline: limits.deadline });
        }
        Ok(Self { server, providers })
    }
}

/// Whether a provider may be called so: it is part of URIs, paths and log lines.
pub fn check_name(name: &str) -> Result<(), String> {
    let well = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > 64 || !name.chars().all(well) || name.starts_with('.') {
        return Err(format!("{name:?} is no name for a provider: 1 to 64 letters, digits, `-`, `_` and `.`, not `.` first"));
    }
    Ok(())
}

/// A message in the manner of those that the TOML parser gives.
fn at(text: &str, span: &Range<usize>, message: &str) -> String {
    let start = text[..span.start].rfind('\n').map_or(0, |newline| newline + 1);
    let number = text[..span.start].matches('\n').count() + 1;
    let line = text[start..].lines().next().unwrap_or_default();
    let margin = " ".repeat(number.to_string().len());
    let under = format!("{}{}", " ".repeat(text[start..span.start].chars().count()), "^".repeat(span.len().max(1)));
    let column = text[start..span.start].chars().count() + 1;
    format!("TOML parse error at line {number}, column {column}\n{margin} |\n{number} | {line}\n{margin} | {under}\n{message}\n")
}

fn flatten(table: Table) -> BTreeMap<String, String> {
    fn add(flat: &mut BTreeMap<String, String>, name: String, value: Value) {
        match value {
            Value::Table(table) => table.into_iter().for_each(|(key, value)| add(flat, format!("{name}.{key}"), value)),
            Value::String(text) => drop(flat.insert(name, text)),
            other => drop(flat.insert(name, json(other).to_string())),
        }
    }
    let mut flat = BTreeMap::new();
    table.into_iter().for_each(|(key, value)| add(&mut flat, key, value));
    flat
}

/// TOML as JSON; a date becomes a string.
fn json(value: Value) -> serde_json::Value {
    match value {
        Value::String(text) => text.into(),
        Value::Integer(number) => number.into(),
        Value::Float(number) => number.into(),
        Value::Boolean(truth) => truth.into(),
        Value::Datetime(date) => date.to_string().into(),
        Value::Array(items) => items.into_iter().map(json).collect(),
        Value::Table(table) => table.into_iter().map(|(key, value)| (key, json(value))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(text, Path::new("/srv"))
    }

    #[test]
    fn everything_that_can_be_set() {
        let config = parse(
            r#"
            [server]
            http = "0.0.0.0:9000"
            plugins = "providers"
            allowed-origins = ["https://app.example.com"]
            allowed-hosts = ["wharf.example.com"]

            [[provider]]
            name = "review-status"
            path = "elsewhere/review.wasm"
            [provider.settings]
            delay-seconds = 5
            updated-status = "reviewed"
            list = ["a", 1, { b = true }]
            db = { host = "localhost", pool.size = 1.5 }
            [provider.limits]
            memory = "128MiB"
            deadline = "1500ms"

            [[provider]]
            name = "handbook"
            "#,
        )
        .unwrap();
        assert_eq!(config.server.http, Some("0.0.0.0:9000".parse().unwrap()));
        assert_eq!(config.server.plugins.as_deref(), Some(Path::new("/srv/providers")));
        let [review, handbook] = config.providers.as_slice() else { panic!("two providers") };
        assert_eq!(review.path.as_deref(), Some(Path::new("/srv/elsewhere/review.wasm")));
        let settings: Vec<_> = review.settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(
            settings,
            [
                ("db.host", "localhost"),
                ("db.pool.size", "1.5"),
                ("delay-seconds", "5"),
                ("list", r#"["a",1,{"b":true}]"#),
                ("updated-status", "reviewed")
            ]
        );
        assert_eq!((review.memory, review.deadline), (Some(128 << 20), Some(Duration::from_millis(1500))));
        assert_eq!((handbook.path.as_ref(), handbook.memory, handbook.settings.len()), (None, None, 0));
    }

    #[test]
    fn what_is_wrong_is_shown_with_its_line() {
        for (text, line, word) in [
            ("[server]\nhtp = \"a\"", "2 | htp", "unknown field `htp`"),
            ("[server]\nhttp = \"nowhere\"", "2 | http", "invalid socket address"),
            ("[servers]", "1 | [servers]", "unknown field `servers`"),
            ("[[provider]]\nname = \"a\"\nallowed_hosts = []", "3 | allowed_hosts", "unknown field `allowed_hosts`"),
            ("[[provider]]\nname = 1", "2 | name", "invalid type"),
            ("[[provider]]\npath = \"a\"", "1 | [[provider]]", "missing field `name`"),
            ("[[provider]]\nname = \"a\"\n[[provider]]\nname = \"a\"", "4 | name", "there are two providers named \"a\""),
            ("[[provider]]\nname = \"a/b\"", "2 | name", "is no name for a provider"),
            ("[[provider]]\nname = \"a\"\nlimits = { memory = \"many\" }", "3 | limits", "\"many\" is no size"),
            ("[[provider]]\nname = \"a\"\nlimits = { deadline = \"soon\" }", "3 | limits", "\"soon\" is no duration"),
            ("[[provider]]\nname = \"a\"\nlimits = { deadline = \"0s\" }", "3 | limits", "more than nothing"),
            ("[[provider]\n", "1 | [[provider]", ""),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(line) && error.contains(word), "{text}\n{error}");
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = Config::read(Path::new("/nowhere/wharf.toml")).unwrap_err().to_string();
        assert!(error.contains("/nowhere/wharf.toml"), "{error}");
    }
}
