//! The wharf.toml of a running host: read at the start, and again when it changes.
//!
//! Invariant: whether the user chose the file is judged anew each time it is read, by the very bytes that are used (design §6): a file that was
//! found and trusted, and has changed since, grants nothing until it is trusted again.

use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::{Config, ConfigError, FILE_BYTES, Trust, Trusted, files};

/// A wharf.toml, and how it was come by.
#[derive(Debug)]
pub struct ConfigFile {
    path: PathBuf,
    /// The record of chosen files, for one that was found; none for one that the user named.
    trust: Option<Trust>,
    named: bool,
    /// How it looked when this was made.
    was: Option<Glimpse>,
}

/// When a file was written, how long it is, and where there is such a thing, its inode.
type Glimpse = (SystemTime, u64, u64);

fn glimpse(path: &Path) -> Option<Glimpse> {
    let metadata = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    let inode = std::os::unix::fs::MetadataExt::ino(&metadata);
    #[cfg(not(unix))]
    let inode = 0;
    Some((metadata.modified().ok()?, metadata.len(), inode))
}

/// What a wharf.toml gives.
#[derive(Debug, PartialEq)]
pub struct Given {
    /// What it says; without grants, if the user did not choose it as it is.
    pub config: Config,
    /// Whether the user chose it as it is.
    pub trusted: Trusted,
    /// The providers whose grants do not hold because he did not.
    pub ungranted: Vec<String>,
    /// The other settings that do not hold for the same reason.
    pub unheld: Vec<String>,
}

impl ConfigFile {
    /// One that the user named, and so chose, whatever is in it. To be made before the file is read for the first time.
    pub fn named(path: impl Into<PathBuf>) -> Self {
        Self::new(path.into(), None, true)
    }

    /// One that is, or may appear, in the current folder, likewise. Without a record of chosen files none is chosen.
    pub fn found(path: impl Into<PathBuf>, trust: Option<Trust>) -> Self {
        Self::new(path.into(), trust, false)
    }

    fn new(path: PathBuf, trust: Option<Trust>, named: bool) -> Self {
        Self { was: glimpse(&path), path, trust, named }
    }

    /// Whether the file has changed since this was made.
    pub(crate) fn has_changed(&self) -> bool {
        glimpse(&self.path) != self.was
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What tells it from any other: its real path, also where it is not there yet; of one that is no file, such as a pipe, the current folder.
    pub(crate) fn identity(&self) -> String {
        let real = |path: &Path| path.canonicalize().ok();
        let parent = || self.path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let path = if self.can_be_followed() {
            real(&self.path).or_else(|| Some(real(parent())?.join(self.path.file_name()?)))
        } else {
            real(Path::new("."))
        };
        path.unwrap_or_else(|| self.path.clone()).to_string_lossy().into_owned()
    }

    /// Whether it can be read again: it is a file, or may become one. A pipe (`--config <(…)`) can be read once.
    pub fn can_be_followed(&self) -> bool {
        std::fs::metadata(&self.path).map_or(true, |metadata| metadata.is_file())
    }

    /// Reads it anew. Blocks.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn read(&self) -> Result<Given, ConfigError> {
        let unreadable = |source| ConfigError::Unreadable { path: self.path.clone(), source };
        let bytes = files::read_regular(&self.path, FILE_BYTES).map_err(unreadable)?;
        let trusted = if self.named { Trusted::Yes } else { self.judge(&bytes) };
        let mut config = Config::of_bytes(&self.path, bytes)?;
        let (ungranted, unheld) = if trusted == Trusted::Yes { Default::default() } else { config.without_rights() };
        Ok(Given { config, trusted, ungranted, unheld })
    }

    fn judge(&self, content: &[u8]) -> Trusted {
        let Some(trust) = &self.trust else { return Trusted::No };
        trust.check_content(&self.path, content).unwrap_or_else(|error| {
            tracing::warn!("{} counts as not trusted: {error}", self.path.display());
            Trusted::No
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_found_is_chosen_only_as_it_was_trusted_each_time_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wharf.toml");
        std::fs::write(&path, "").unwrap();
        let store = folder.path().join("trusted.json");
        Trust::at(&store).add(&path).unwrap();
        let found = ConfigFile::found(&path, Some(Trust::at(&store)));
        assert!(!found.has_changed());
        let config = Config { file: Some(path.clone()), ..Config::default() };
        assert_eq!(found.read().unwrap(), Given { config, trusted: Trusted::Yes, ungranted: Vec::new(), unheld: Vec::new() });
        std::fs::write(&path, "[[resource]]\nname = \"a\"\ntext = \"\"").unwrap();
        assert!(found.has_changed());
        let read = found.read().unwrap();
        assert_eq!((read.config.resources.len(), read.trusted), (1, Trusted::Changed));
        assert_eq!(ConfigFile::named(&path).read().unwrap().trusted, Trusted::Yes);
        assert_eq!(ConfigFile::found(&path, None).read().unwrap().trusted, Trusted::No);
    }

    #[test]
    fn a_file_that_the_user_did_not_choose_as_it_is_grants_nothing_and_says_to_whom_it_would() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wharf.toml");
        let store = folder.path().join("trusted.json");
        let granting = "[[provider]]\nname = \"a\"\ngrants = { state = 1 }\n[[provider]]\nname = \"b\"\n";
        std::fs::write(&path, granting).unwrap();
        let found = ConfigFile::found(&path, Some(Trust::at(&store)));
        let granted = |given: &Given| given.config.providers.iter().map(|provider| provider.grants.state).collect::<Vec<_>>();
        let given = found.read().unwrap();
        assert_eq!((granted(&given), given.ungranted), (vec![None, None], vec!["a".to_owned()]));
        Trust::at(&store).add(&path).unwrap();
        let given = found.read().unwrap();
        assert_eq!((granted(&given), given.ungranted), (vec![Some(1), None], Vec::new()));
        std::fs::write(&path, format!("{granting}grants = {{ hosts = [\"*\"] }}")).unwrap();
        let given = found.read().unwrap();
        assert_eq!((granted(&given), given.ungranted.len()), (vec![None, None], 2), "changed after it was trusted");
        assert_eq!(granted(&ConfigFile::named(&path).read().unwrap()), [Some(1), None]);
    }

    #[test]
    fn a_file_that_the_user_did_not_choose_lets_nobody_in_and_serves_no_files_of_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wharf.toml");
        let store = folder.path().join("trusted.json");
        let hostile = "[server]\nhttp = \"0.0.0.0:8089\"\nallowed-origins = [\"https://evil.example\"]\nallowed-hosts = [\"evil.example\"]\n\
            loading-time = \"1s\"\notlp = \"https://evil.example\"\notlp-headers = { a = { env = \"HOME\" } }\n[fetch]\nca-file = \"ca.pem\"\n\
            [[resource]]\nname = \"own\"\nfile = \"docs/a.md\"\n[[resource]]\nname = \"key\"\nfile = \"/home/user/.ssh/id_rsa\"\n\
            [[resource]]\nname = \"up\"\nfile = \"docs/../../key\"\n[[resource]]\nname = \"text\"\ntext = \"\"\n";
        std::fs::write(&path, hostile).unwrap();
        let found = ConfigFile::found(&path, Some(Trust::at(&store)));
        let Given { config, unheld, .. } = found.read().unwrap();
        let keys = [
            "[server] allowed-origins",
            "[server] allowed-hosts",
            "[server] http",
            "[server] otlp",
            "[server] otlp-headers",
            "[fetch] ca-file",
            "[[resource]] \"key\"",
            "[[resource]] \"up\"",
        ];
        assert_eq!(unheld, keys);
        let server = &config.server;
        assert!(
            server.http.is_none() && server.allowed_origins.is_empty() && server.allowed_hosts.is_empty() && config.fetch.ca_file.is_none()
        );
        assert!(server.otlp.is_none() && server.otlp_headers.is_empty());
        assert_eq!(config.resources.iter().map(|resource| resource.name.as_str()).collect::<Vec<_>>(), ["own", "text"]);
        assert!(server.loading_time.is_some() && config.unchosen, "the rest holds");
        Trust::at(&store).add(&path).unwrap();
        let Given { config, unheld, .. } = found.read().unwrap();
        assert!(unheld.is_empty() && config.resources.len() == 4 && config.server.http.is_some() && !config.unchosen);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_is_known_by_its_real_path_and_a_pipe_by_the_current_folder() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        let (path, link) = (folder.path().join("wharf.toml"), folder.path().join("link.toml"));
        let expected = real.join("wharf.toml").to_string_lossy().into_owned();
        assert_eq!(ConfigFile::named(&path).identity(), expected, "before it is there");
        std::fs::write(&path, "").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!((ConfigFile::found(&path, None).identity(), ConfigFile::named(&link).identity()), (expected.clone(), expected));
        assert_eq!(ConfigFile::named("/dev/null").identity(), std::env::current_dir().unwrap().canonicalize().unwrap().to_string_lossy());
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_not_followed_and_what_is_not_there_yet_is() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
        assert!(!ConfigFile::named(pipe).can_be_followed());
        assert!(ConfigFile::named(folder.path().join("none")).can_be_followed());
    }
}
