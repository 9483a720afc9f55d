//! What every command that loads providers takes: `--config` and `--plugins`, and what they mean where they are not given.

use std::path::{Path, PathBuf};

use anyhow::Result;
use wharf::{
    config::{Config, ConfigFile, Trust},
    host::Notice,
};

/// The file that is used if it is there and no other is given.
pub(super) const DEFAULT_CONFIG: &str = "wharf.toml";
/// The folder beside the wharf.toml, or in the current folder.
pub(super) const DEFAULT_PLUGINS: &str = "plugins";

/// Where the providers are.
#[derive(clap::Args)]
pub(super) struct SourceArgs {
    /// The folder with the .wasm files [default: plugins beside the wharf.toml, or ./plugins]
    #[arg(long, value_name = "DIR")]
    plugins: Option<PathBuf>,
    /// The configuration [default: ./wharf.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// What they come to.
pub(super) struct Sources {
    pub config: Config,
    pub plugins: PathBuf,
    /// The file to follow. One that is not there yet may come.
    pub file: ConfigFile,
}

impl SourceArgs {
    /// Those of a command that takes `--config` alone.
    pub(super) fn of(config: Option<PathBuf>) -> Self {
        Self { plugins: None, config }
    }

    pub(super) fn read(self) -> Result<Sources> {
        let (file, config) = match &self.config {
            // It may be a pipe, which is read once: not by `file`.
            Some(path) => (ConfigFile::named(path), read_config(path)?),
            None => {
                let file = ConfigFile::found(DEFAULT_CONFIG, Trust::of_user().ok());
                let config = if file.path().is_file() { chosen(&file)? } else { Config::default() };
                (file, config)
            }
        };
        let beside = self.config.as_deref().and_then(Path::parent).unwrap_or(Path::new("")).join(DEFAULT_PLUGINS);
        let plugins = self.plugins.or_else(|| config.server.plugins.clone()).unwrap_or(beside);
        Ok(Sources { config, plugins, file })
    }
}

/// Reads a wharf.toml that was found; what it grants holds only if the user chose it.
fn chosen(file: &ConfigFile) -> Result<Config> {
    let given = file.read()?;
    if !given.ungranted.is_empty() {
        tracing::warn!("{}", Notice::NotGranted(file.path().to_owned(), given.ungranted));
    }
    if !given.unheld.is_empty() {
        tracing::warn!("{}", Notice::NotHeld(file.path().to_owned(), given.unheld));
    }
    Ok(given.config)
}

/// Reads a wharf.toml.
pub(super) fn read_config(path: &Path) -> Result<Config> {
    // The text has its cause in it already.
    Ok(Config::read(path)?)
}
