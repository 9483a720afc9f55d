//! The file of tokens.
//!
//! ```toml
//! [[token]]
//! name = "laptop"
//! sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
//! providers = ["git", "docs"]
//! created = "2026-11-30T12:00:00Z"
//! expires = "2027-02-28T12:00:00Z"
//! ```
//! Without `providers` the token sees all of them, also those to come; without `expires` it is good until it is revoked.
//!
//! Invariants: only its owner may read or write it, and the owner is the user of this process, or root; what was opened is what is checked,
//! also behind a link; it is written as a whole or not at all, and of two who write at the same time neither undoes the other's work.

use std::{
    collections::HashSet,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    time::SystemTime,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::config::{check_name, files};

/// Bytes of the file: some 5,000 tokens.
const FILE_BYTES: u64 = 1 << 20;
const HEAD: &str =
    "# Tokens of a Wharf host: use `wharf token new|list|revoke`. They are kept as hashes: one that is lost is revoked, and made anew.\n";

/// Why a file of tokens cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokensError {
    /// It cannot be read or written.
    #[error("cannot use the tokens in {}: {source}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Others may read or change it.
    #[error("{} is not used: {who}; run `{command}`", path.display())]
    Exposed {
        /// Which file.
        path: PathBuf,
        /// Who may do what.
        who: &'static str,
        /// What makes it right.
        command: String,
    },
    /// Its content is wrong.
    #[error("{}: {reason}", path.display())]
    Wrong {
        /// Which file.
        path: PathBuf,
        /// Where and what. No hash is in it.
        reason: String,
    },
    /// There is one of this name already.
    #[error("there is a token {0:?} already: choose another name, or revoke that one first")]
    Taken(String),
}

/// A token, as it is written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Entry {
    /// Whose it is. No two have the same.
    pub name: String,
    /// [`super::hash`] of the token.
    #[serde(serialize_with = "write_hash", deserialize_with = "read_hash")]
    pub sha256: [u8; 32],
    /// The providers that it lets see; all if this is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub providers: Option<Vec<String>>,
    /// When it was made, to the second.
    #[serde(serialize_with = "write_time", deserialize_with = "read_time")]
    pub created: SystemTime,
    /// Until when it is good, to the second.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "write_end", deserialize_with = "read_end")]
    pub expires: Option<SystemTime>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    #[serde(default)]
    token: Vec<Entry>,
}

/// A file of tokens, which need not be there.
#[derive(Debug, Clone)]
pub struct TokenFile {
    path: PathBuf,
}

impl TokenFile {
    /// At this path.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is in it; nothing if it is not there. Blocks.
    ///
    /// # Errors
    /// [`TokensError`].
    pub fn read(&self) -> Result<Option<Vec<Entry>>, TokensError> {
        let file = match files::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.failed(error)),
        };
        let metadata = file.metadata().map_err(|error| self.failed(error))?;
        if !metadata.is_file() {
            return Err(self.failed(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file")));
        }
        self.check_rights(&metadata)?;
        let bytes = files::read_capped(file, FILE_BYTES).map_err(|error| self.failed(error))?;
        let text = String::from_utf8(bytes).map_err(|_| self.wrong("it is not UTF-8".into()))?;
        // Its errors quote the line, which may have a hash: that is no secret worth having, and the message alone does.
        let content: Content = toml::from_str(&text).map_err(|error| self.wrong(placed(&text, &error)))?;
        let (mut names, mut hashes) = (HashSet::new(), HashSet::new());
        for entry in &content.token {
            check_token_name(&entry.name).map_err(|reason| self.wrong(reason))?;
            if !names.insert(&entry.name) {
                return Err(self.wrong(format!("there are two tokens named {:?}", entry.name)));
            }
            if !hashes.insert(entry.sha256) {
                return Err(self.wrong(format!("the token {:?} is there under another name too", entry.name)));
            }
        }
        Ok(Some(content.token))
    }

    /// Adds a token. Blocks.
    ///
    /// # Errors
    /// [`TokensError`].
    pub fn add(&self, entry: Entry) -> Result<(), TokensError> {
        check_token_name(&entry.name).map_err(|reason| self.wrong(reason))?;
        let _lock = self.lock()?;
        let mut entries = self.read()?.unwrap_or_default();
        if entries.iter().any(|known| known.name == entry.name) {
            return Err(TokensError::Taken(entry.name));
        }
        entries.push(entry);
        self.write(entries)
    }

    /// Takes the token of this name away. False if there is none. Blocks.
    ///
    /// # Errors
    /// [`TokensError`].
    pub fn remove(&self, name: &str) -> Result<bool, TokensError> {
        let _lock = self.lock()?;
        let mut entries = self.read()?.unwrap_or_default();
        let before = entries.len();
        entries.retain(|entry| entry.name != name);
        if entries.len() == before {
            return Ok(false);
        }
        self.write(entries)?;
        Ok(true)
    }

    /// Held from reading to writing. It goes with the process that has it.
    fn lock(&self) -> Result<File, TokensError> {
        let path = beside(&self.target(), "lock");
        let lock = private().create(true).truncate(false).write(true).open(path).map_err(|error| self.failed(error))?;
        lock.lock().map_err(|error| self.failed(error))?;
        Ok(lock)
    }

    /// By a rename, so that nobody reads half of it.
    fn write(&self, entries: Vec<Entry>) -> Result<(), TokensError> {
        let text = toml::to_string(&Content { token: entries }).map_err(|error| self.wrong(error.to_string()))?;
        let text = format!("{HEAD}\n{text}");
        if text.len() as u64 > FILE_BYTES {
            let advice = "nobody could read it: revoke tokens that are not in use";
            return Err(self.wrong(format!("it would have more than {FILE_BYTES} bytes, and {advice}")));
        }
        let target = self.target();
        let partial = beside(&target, "partial");
        let written = (|| {
            // One that another left behind may have other rights, or be a link.
            match fs::remove_file(&partial) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut file = private().create_new(true).write(true).open(&partial)?;
            as_before(&file, &target)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&partial, &target)
        })();
        written.map_err(|error| self.failed(error))
    }

    /// A link stays a link: the file that it leads to is replaced, or made.
    fn target(&self) -> PathBuf {
        let leads_to = || Some(self.path.parent()?.join(fs::read_link(&self.path).ok()?));
        self.path.canonicalize().ok().or_else(leads_to).unwrap_or_else(|| self.path.clone())
    }

    #[cfg(unix)]
    fn check_rights(&self, metadata: &fs::Metadata) -> Result<(), TokensError> {
        use std::os::unix::fs::MetadataExt;

        const OTHERS: u32 = 0o077;
        /// Hashes are no secrets. A service that is not root's can read what is root's by its group only.
        const OTHERS_OF_ROOT_S: u32 = 0o037;
        let others = if metadata.uid() == 0 { OTHERS_OF_ROOT_S } else { OTHERS };
        let exposed = |who, command: String| Err(TokensError::Exposed { path: self.path.clone(), who, command });
        let path = self.target();
        let path = path.display();
        if metadata.mode() & others != 0 {
            return exposed("others than its owner may read or change it", format!("chmod 600 {path}"));
        }
        let own = rustix::process::geteuid().as_raw();
        if metadata.uid() != own && metadata.uid() != 0 {
            return exposed("it belongs to somebody else, who may change it", format!("chown {own} {path}"));
        }
        Ok(())
    }

    #[cfg(not(unix))]
    fn check_rights(&self, _: &fs::Metadata) -> Result<(), TokensError> {
        Ok(())
    }

    fn failed(&self, source: io::Error) -> TokensError {
        TokensError::File { path: self.path.clone(), source }
    }

    fn wrong(&self, reason: String) -> TokensError {
        TokensError::Wrong { path: self.path.clone(), reason }
    }
}

/// Whether a token may be called so: it stands in logs.
pub(super) fn check_token_name(name: &str) -> Result<(), String> {
    check_name(name).map_err(|_| format!("{name:?} is no name for a token: 1 to 64 letters, digits, `-`, `_` and `.`, not `.` first"))
}

fn placed(text: &str, error: &toml::de::Error) -> String {
    let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    line.map_or_else(|| error.message().to_owned(), |line| format!("line {line}: {}", error.message()))
}

fn beside(path: &Path, extension: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{extension}"));
    path.with_file_name(name)
}

/// Gives a file that takes another one's place that one's group and the group's rights, so that a service may go on reading it.
#[cfg(unix)]
fn as_before(file: &File, before: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

    let Ok(before) = fs::metadata(before) else { return Ok(()) };
    if before.mode() & 0o040 != 0 {
        fchown(file, None, Some(before.gid()))?;
        file.set_permissions(fs::Permissions::from_mode(0o640))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn as_before(_: &File, _: &Path) -> io::Result<()> {
    Ok(())
}

/// For its owner alone, from the moment it is there.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options
}

fn write_hash<S: Serializer>(hash: &[u8; 32], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

fn read_hash<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u8; 32], D::Error> {
    let text = String::deserialize(deserializer)?;
    let wrong = || D::Error::custom("a sha256 has 64 hexadecimal digits");
    let digits = text.as_bytes();
    let mut hash = [0; 32];
    if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return Err(wrong());
    }
    for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok()).ok_or_else(wrong)?;
    }
    Ok(hash)
}

fn write_time<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&humantime::format_rfc3339_seconds(*time))
}

fn read_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
    let text = String::deserialize(deserializer)?;
    humantime::parse_rfc3339(&text).map_err(|_| D::Error::custom("a point in time is written \"2026-11-30T12:00:00Z\""))
}

fn write_end<S: Serializer>(time: &Option<SystemTime>, serializer: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => write_time(time, serializer),
        None => serializer.serialize_none(),
    }
}

fn read_end<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SystemTime>, D::Error> {
    read_time(deserializer).map(Some)
}
