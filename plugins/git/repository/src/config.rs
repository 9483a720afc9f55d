//! The few lines of `.git/config` that say how the repository is kept.

use std::path::Path;

use crate::{error::Result, files};

/// Bytes of a config file.
const MAX_BYTES: u64 = 1 << 20;

/// Values by `section.key` or `section.subsection.key`; section and key in lower case. Of several, all are there.
#[derive(Debug, Default)]
pub struct Config(Vec<(String, String)>);

impl Config {
    /// Reads the file; an absent one has no values. Included files are not read.
    pub fn read(path: &Path) -> Result<Self> {
        Ok(files::read_text(path, MAX_BYTES)?.map(|text| Self::parse(&text)).unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let mut values = Vec::new();
        let mut section = String::new();
        for line in text.lines().map(str::trim) {
            if let Some(header) = line.strip_prefix('[') {
                let Some((header, _)) = header.rsplit_once(']') else { continue };
                section = match header.split_once('"') {
                    Some((name, sub)) => {
                        let sub = sub.strip_suffix('"').unwrap_or(sub).replace("\\\"", "\"").replace("\\\\", "\\");
                        format!("{}.{sub}", name.trim().to_ascii_lowercase())
                    }
                    None => header.trim().to_ascii_lowercase(),
                };
            } else if !line.is_empty() && !line.starts_with(['#', ';']) {
                // A key alone is true.
                let (key, value) = line.split_once('=').unwrap_or((line, "true"));
                let value = value.trim();
                let value = match value.strip_prefix('"') {
                    Some(quoted) => quoted.split('"').next().unwrap_or_default(),
                    None => value.split([';', '#']).next().unwrap_or_default().trim_end(),
                };
                values.push((format!("{section}.{}", key.trim().to_ascii_lowercase()), value.to_owned()));
            }
        }
        Self(values)
    }

    /// The value of this name; the last one holds.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// Whether it is there, and set.
    pub fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| matches!(value.to_ascii_lowercase().as_str(), "true" | "yes" | "on" | "1"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_keys_and_comments_are_told_apart() {
        let config = Config::parse(
            "[core]\n\tbare = false ; no\n[Branch \"a.B\"]\nRemote = origin\n merge = \"refs/heads/x#y\"\n[extensions]\nworktreeConfig\n# [core]\n",
        );
        assert_eq!(config.get("core.bare"), Some("false"));
        assert_eq!(config.get("branch.a.B.remote"), Some("origin"));
        assert_eq!(config.get("branch.a.B.merge"), Some("refs/heads/x#y"));
        assert!(config.is_true("extensions.worktreeconfig"));
        assert_eq!(config.get("core.x"), None);
    }
}
