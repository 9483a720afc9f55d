//! wharf.toml, read into typed settings.
//!
//! Every key is kebab-case. A key that is not known, a value of the wrong type and a name that comes twice are errors that show the line, the
//! text and the nearest known key. Paths are relative to the file's folder. What is not set is `None` here; whoever uses it knows the default.

mod auth;
mod file;
pub(crate) mod files;
pub mod grants;
mod otlp;
mod report;
mod source;
mod trust;
mod units;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    num::NonZeroU16,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Deserialize;

pub(crate) use auth::guarded_url;
pub use auth::{ALL_PROVIDERS, Auth, OAuthSettings, TOKENS_FILE, TokenSettings};
pub use file::schema;
pub use grants::{Expose, Grants};
pub use otlp::{Endpoint, OtlpHeader};
pub use source::{ConfigFile, Given};
pub use trust::{Trust, TrustError, Trusted};

/// Bytes of a wharf.toml: 10,000 resources take less than one MiB.
pub const FILE_BYTES: u64 = 16 << 20;

/// Why a wharf.toml cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file is not there, may not be read, or has more than [`FILE_BYTES`].
    #[error("cannot read {}", path.display())]
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
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Config {
    /// `[server]`.
    pub server: Server,
    /// `[tools]`.
    pub tools: Tools,
    /// `[fetch]`.
    pub fetch: Fetch,
    /// `[[resource]]`, in order, which is precedence.
    pub resources: Vec<Resource>,
    /// `[[provider]]`, in order, which is precedence.
    pub providers: Vec<Provider>,
    /// `[limits]`: for providers that no `[[provider]]` speaks of; those it speaks of have them already.
    pub limits: Limits,
    /// The file that says all this, if it was read from one.
    pub file: Option<PathBuf>,
    /// Whether the user did not choose that file as it is: then somebody else may have put links into its folder.
    pub unchosen: bool,
}

/// `[server]`: where the host listens, and to whom.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Server {
    /// The address of the HTTP endpoint, `127.0.0.1:8089` if it is not set.
    #[schemars(with = "Option<String>")]
    pub http: Option<SocketAddr>,
    /// An address of its own for status, metrics and the status page; if it is not set they are at `http`, for programs of this machine only.
    #[schemars(with = "Option<String>")]
    pub admin: Option<SocketAddr>,
    /// The plugins folder; `plugins` beside this file if it is not set.
    pub plugins: Option<PathBuf>,
    /// Origins of web pages that may speak to it, besides those of this machine.
    #[serde(default)]
    pub allowed_origins: Vec<String>,
    /// Names under which it may be asked for, besides those of this machine.
    #[serde(default)]
    pub allowed_hosts: Vec<String>,
    /// How long a request waits for providers that still load: `3s` over HTTP and `5s` over stdio if it is not set.
    #[serde(default, deserialize_with = "units::duration")]
    #[schemars(with = "Option<String>")]
    pub loading_time: Option<Duration>,
    /// How changes of the plugins folder, of this file and of the files it names are noticed; `auto` if it is not set.
    pub watch: Option<Watch>,
    /// Serve HTTPS, and no plain HTTP.
    pub tls: Option<TlsFiles>,
    /// What a client has to prove. On an address of this machine it is `none` if it is not set; on any other it has to be set.
    pub auth: Option<Auth>,
    /// For `auth = "tokens"`.
    pub tokens: Option<TokenSettings>,
    /// For `auth = "oauth"`.
    pub oauth: Option<OAuthSettings>,
    /// How long everything may take to end, once the host is told to: `10s` if it is not set.
    #[serde(default, deserialize_with = "units::duration")]
    #[schemars(with = "Option<String>")]
    pub shutdown_time: Option<Duration>,
    /// Where spans of what the host does are sent: a collector that takes OTLP over HTTP, such as `http://127.0.0.1:4318`. Nowhere if it is not
    /// set.
    #[serde(default, deserialize_with = "otlp::endpoint")]
    #[schemars(with = "Option<String>")]
    pub otlp: Option<Endpoint>,
    /// Headers that go with them, such as those by which a collector knows its customers: text, `{ env = "NAME" }` or `{ file = "path" }`.
    #[serde(default, deserialize_with = "otlp::headers")]
    #[schemars(with = "otlp::HeadersSchema")]
    pub otlp_headers: BTreeMap<String, OtlpHeader>,
    /// Of the requests whose clients do not say whether they are traced, so large a part is, from 0.0 to 1.0: all if it is not set.
    #[serde(default, deserialize_with = "otlp::ratio")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub otlp_ratio: Option<f64>,
}

/// `tls` of `[server]`: files in PEM. They are followed: a new certificate holds for the connections after it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TlsFiles {
    /// The certificate of this host, and after it those that lead to a root.
    pub certificate: PathBuf,
    /// Its private key, without a password.
    pub key: PathBuf,
}

/// How changes of files are noticed while the host serves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Watch {
    /// By the system's events, and by looking every ten seconds.
    #[default]
    Auto,
    /// By looking every second: for network and container mounts, where no events come.
    Poll,
    /// Not at all.
    Off,
}

/// `[tools]`: the resources as tools, for clients that know tools only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Tools {
    /// Whether there are any; not if it is not set.
    #[serde(default)]
    pub enabled: bool,
}

/// `[fetch]`: how the host asks over HTTP for providers that have a grant for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Fetch {
    /// Certificate authorities, in PEM, that are trusted besides those of the system.
    pub ca_file: Option<PathBuf>,
    /// A provider that polls faster polls as fast as this: `1s` if it is not set.
    #[serde(default, deserialize_with = "units::duration")]
    #[schemars(with = "Option<String>")]
    pub min_period: Option<Duration>,
}

/// `[[resource]]`: a resource that the host itself has.
#[derive(Debug, Clone, PartialEq)]
pub struct Resource {
    /// Its name.
    pub name: String,
    /// Its URI; `wharf://resource/<name, percent-encoded>` if it is not set.
    pub uri: Option<String>,
    /// Name for people.
    pub title: Option<String>,
    /// What it is, for the model to decide whether to read it.
    pub description: Option<String>,
    /// Media type of its content.
    pub mime_type: Option<String>,
    /// Bytes of its content.
    pub size: Option<u64>,
    /// For whom it is meant.
    pub audience: Option<Vec<Audience>>,
    /// From 0.0 to 1.0.
    pub priority: Option<f64>,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub last_modified: Option<u64>,
    /// Icons a client may show.
    pub icons: Vec<Icon>,
    /// What it says.
    pub content: Content,
}

/// What a `[[resource]]` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// This text.
    Text(String),
    /// What is in this file when it is read.
    File(PathBuf),
}

/// For whom a `[[resource]]` is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Audience {
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// An icon of a `[[resource]]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Icon {
    /// An `https:` URL or a `data:` URI.
    pub src: String,
    /// Media type of the image.
    pub mime_type: Option<String>,
    /// `48x48`, or `any`.
    pub sizes: Option<Vec<String>>,
    /// The background it is drawn for; good on both if it is not set.
    pub theme: Option<Theme>,
}

/// The background an icon is drawn for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Theme {
    /// A light background.
    Light,
    /// A dark background.
    Dark,
}

/// `[[provider]]`: a provider with settings, limits or a place in the order.
#[derive(Debug, Clone, PartialEq)]
pub struct Provider {
    /// Its name.
    pub name: String,
    /// The component; `<plugins folder>/<name>.wasm` if it is not set.
    pub path: Option<PathBuf>,
    /// `[provider.settings]`, as the guest sees them: a string as it is, anything else as JSON, a setting in a table under a dotted name.
    pub settings: BTreeMap<String, String>,
    /// Beginnings of URIs that no other provider may have.
    pub claims: Vec<String>,
    /// Whether what it says is the same for everyone, so that caches may share it.
    pub public: bool,
    /// Whether the host is not ready without it.
    pub required: bool,
    /// `[provider.limits]`, or where it says nothing `[limits]`.
    pub limits: Limits,
    /// `[provider.grants]`: what it may do besides answering.
    pub grants: Grants,
    /// Which keys of its shared state clients see.
    pub expose_state: Expose,
}

/// What a provider may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all its memories together.
    pub memory: Option<u64>,
    /// For each call.
    pub deadline: Option<Duration>,
    /// Instances at the most, of what may have several.
    pub instances: Option<NonZeroU16>,
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let unreadable = |source| ConfigError::Unreadable { path: path.to_owned(), source };
        // Whoever names a pipe by --config (`--config <(…)`) wants it waited for.
        let bytes = std::fs::File::open(path).and_then(|file| files::read_capped(file, FILE_BYTES)).map_err(unreadable)?;
        Self::of_bytes(path, bytes)
    }

    fn of_bytes(path: &Path, bytes: Vec<u8>) -> Result<Self, ConfigError> {
        let text = String::from_utf8(bytes).map_err(|error| {
            let line = error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
            ConfigError::Wrong { path: path.to_owned(), message: format!("line {line} is not UTF-8, which TOML has to be") }
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let config = Self::parse(&text, folder).map_err(|message| ConfigError::Wrong { path: path.to_owned(), message })?;
        Ok(Self { file: Some(path.to_owned()), ..config })
    }

    /// Takes away what holds only in a file that the user chose. Gives the names of the providers that were granted something, and the other
    /// settings that do not hold: those that would let others than programs of this machine in, or tell others of what is asked for, and files of the user's that are not
    /// in the file's own folder.
    pub fn without_rights(&mut self) -> (Vec<String>, Vec<String>) {
        self.unchosen = true;
        let granted = self.providers.iter_mut().filter(|provider| !provider.grants.is_empty());
        let granted = granted.map(|provider| (std::mem::take(&mut provider.grants), provider.name.clone()).1).collect();
        let Server { http, admin, allowed_origins, allowed_hosts, auth, otlp, otlp_headers, .. } = &mut self.server;
        let mut unheld = Vec::new();
        let mut took = |taken: bool, key: &str| unheld.extend(taken.then(|| key.to_owned()));
        took(!std::mem::take(allowed_origins).is_empty(), "[server] allowed-origins");
        took(!std::mem::take(allowed_hosts).is_empty(), "[server] allowed-hosts");
        took(http.take_if(|address| !address.ip().to_canonical().is_loopback()).is_some(), "[server] http");
        took(admin.take_if(|address| !address.ip().to_canonical().is_loopback()).is_some(), "[server] admin");
        // The other kinds only keep somebody out.
        took(auth.take_if(|auth| *auth == Auth::None).is_some(), "[server] auth");
        took(otlp.take().is_some(), "[server] otlp");
        took(!std::mem::take(otlp_headers).is_empty(), "[server] otlp-headers");
        took(self.fetch.ca_file.take().is_some(), "[fetch] ca-file");
        let folder = self.file.as_deref().and_then(Path::parent).unwrap_or(Path::new("")).to_owned();
        let is_elsewhere = |resource: &mut Resource| match &resource.content {
            Content::Text(_) => false,
            Content::File(path) => path.strip_prefix(&folder).map_or(true, |below| {
                below.is_absolute() || below.components().any(|part| matches!(part, std::path::Component::ParentDir))
            }),
        };
        unheld.extend(self.resources.extract_if(.., is_elsewhere).map(|resource| format!("[[resource]] {:?}", resource.name)));
        (granted, unheld)
    }

    /// Reads the text of a file that stands in this folder.
    ///
    /// # Errors
    /// Where and what is wrong, for people.
    pub fn parse(text: &str, folder: &Path) -> Result<Self, String> {
        file::File::parse(text, folder)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_end_or_that_is_not_text_is_refused() {
        if cfg!(target_os = "linux") {
            let error = Config::read(Path::new("/dev/zero")).unwrap_err();
            assert!(matches!(&error, ConfigError::Unreadable { source, .. } if source.to_string().contains("more than")), "{error:?}");
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"[server]\n\xff").unwrap();
        let error = Config::read(file.path()).unwrap_err().to_string();
        assert!(error.contains("line 2 is not UTF-8"), "{error}");
    }

    #[test]
    fn a_mark_of_byte_order_and_lines_that_end_with_cr_are_fine() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "\u{feff}[server]\r\nhttp = \"127.0.0.1:0\"\r\n").unwrap();
        assert!(Config::read(file.path()).unwrap().server.http.is_some());
    }
}
