//! Where things are: the repository, cargo's target folder, the user's cache folder.

use std::{
    env,
    ffi::OsString,
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::run;

/// `cargo metadata` reads files, and writes a lock file at the most.
const METADATA_LIMIT: Duration = Duration::from_secs(120);

/// The fixture of the contract's test in Rust: beside those in other languages, and a workspace of its own.
pub const RUST_FIXTURE: &str = "tests/languages/rust";

/// What providers in Rust are written with.
pub const RUST_SDK: &str = "sdk/rust";

/// The checkout that xtask works on.
pub struct Repo {
    pub root: PathBuf,
}

impl Repo {
    /// The one this xtask belongs to, whatever the current folder is.
    pub fn find() -> Result<Self> {
        // Cargo says at run time where the package is: that holds after the checkout was moved, too.
        let package = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        let root = Path::new(&package).parent().context("xtask has no folder above it")?.to_owned();
        if !root.join("wit/provider.wit").is_file() {
            bail!("{} is not Wharf's repository: run `cargo xtask` inside it", root.display());
        }
        Ok(Self { root })
    }

    /// Cargo, the one that runs this program.
    pub fn cargo(&self) -> Command {
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(&self.root);
        // What `cargo run` says of this package: ring's build script asks for such, so with them here and without them in a terminal, all that
        // stands on ring would be compiled anew whenever the two take turns.
        for (name, _) in env::vars_os() {
            let said = name.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"));
            if said {
                command.env_remove(name);
            }
        }
        command
    }

    /// Rustc, the one the host is compiled with.
    pub fn rustc(&self) -> Command {
        let mut command = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        command.current_dir(&self.root);
        command
    }

    /// Cargo's target folder; CARGO_TARGET_DIR and cargo's configuration are heeded.
    pub fn target(&self) -> Result<PathBuf> {
        let metadata = self.metadata(&self.root.join("Cargo.toml"))?;
        let folder = metadata["target_directory"].as_str().context("`cargo metadata` names no target folder")?;
        Ok(folder.into())
    }

    /// What `cargo metadata` says of a workspace, without its dependencies.
    pub fn metadata(&self, manifest: &Path) -> Result<Value> {
        let mut command = self.cargo();
        command.args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path"]).arg(manifest);
        serde_json::from_str(&run::output(&mut command, METADATA_LIMIT)?).context("`cargo metadata` gave something else than JSON")
    }

    /// The workspaces of guests, as far as they are there: each has a lock file of its own.
    pub fn guest_workspaces(&self) -> Vec<PathBuf> {
        ["plugins", "tests/guests", RUST_FIXTURE]
            .map(|folder| self.root.join(folder))
            .into_iter()
            .filter(|folder| folder.join("Cargo.toml").is_file())
            .collect()
    }
}

/// Wharf's folder in the user's cache folder, made if it is missing. `XDG_CACHE_HOME`, else `~/.cache` (XDG Base Directory Specification).
pub fn cache() -> Result<PathBuf> {
    let folder = cache_under(env::var_os("XDG_CACHE_HOME"), env::var_os("HOME"))?;
    fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}: set XDG_CACHE_HOME to a folder you can write to", folder.display()))?;
    Ok(folder)
}

fn cache_under(xdg: Option<OsString>, home: Option<OsString>) -> Result<PathBuf> {
    // The specification has relative paths ignored.
    if let Some(cache) = xdg.map(PathBuf::from).filter(|path| path.is_absolute()) {
        return Ok(cache.join("wharf"));
    }
    let home = home.filter(|home| !home.is_empty()).context("neither XDG_CACHE_HOME nor HOME is set: set one of them")?;
    Ok(Path::new(&home).join(".cache/wharf"))
}

/// Waits for other runs that are doing the same; the lock ends with the file.
pub fn lock(path: &Path, doing: &str) -> Result<File> {
    let file = File::create(path).with_context(|| format!("cannot make {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            eprintln!("  Waiting for another run that is {doing}");
            file.lock()?;
        }
        Err(TryLockError::Error(error)) => return Err(error).with_context(|| format!("cannot lock {}", path.display())),
    }
    Ok(file)
}

/// A hash, as a part of a file's name.
pub fn short(hash: &blake3::Hasher) -> String {
    hash.finalize().to_hex()[..16].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_run_at_a_time_holds_the_lock() {
        let cache = tempfile::tempdir().unwrap();
        let path = cache.path().join("lock");
        let held = lock(&path, "testing").unwrap();
        assert!(matches!(File::open(&path).unwrap().try_lock(), Err(TryLockError::WouldBlock)));
        drop(held);
        lock(&path, "testing").unwrap();
    }

    #[test]
    fn the_cache_folder_is_where_xdg_says_else_in_the_home_folder() {
        let under = |xdg: &str, home: &str| cache_under(Some(xdg.into()), Some(home.into())).unwrap();
        assert_eq!(under("/x", "/home/u"), Path::new("/x/wharf"));
        assert_eq!(under("", "/home/u"), Path::new("/home/u/.cache/wharf"));
        assert_eq!(under("relative", "/home/u"), Path::new("/home/u/.cache/wharf"));
        assert!(cache_under(None, None).is_err());
    }
}
