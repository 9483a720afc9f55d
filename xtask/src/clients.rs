//! Installs the MCP clients of the end-to-end tests: the official SDKs for TypeScript and Python, pinned with all they depend on.
//!
//! They are installed beside their scripts in `tests/clients/`, and again only when what pins them has changed: a stamp, written last,
//! holds the hash of it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result, bail};

use crate::{repo::Repo, run};

/// A few MB each, from a registry that may be slow.
pub const INSTALL_LIMIT: Duration = Duration::from_secs(300);
const ASK_LIMIT: Duration = Duration::from_secs(30);
/// The oldest that the TypeScript SDK runs on.
const OLDEST_NODE: &[u32] = &[20];
/// The oldest that the pinned Python packages run on.
const OLDEST_PYTHON: &[u32] = &[3, 11];

/// Installs what is missing.
pub fn install(repo: &Repo) -> Result<()> {
    let clients = repo.root.join("tests/clients");
    typescript(&clients.join("typescript"))?;
    python(&clients.join("python"))
}

fn typescript(folder: &Path) -> Result<()> {
    let hint = "install Node.js 20 or later, with npm: https://nodejs.org, or `apt-get install nodejs npm`";
    let node = version(&["node", "--version"], OLDEST_NODE).context(hint)?;
    version(&["npm", "--version"], &[]).context(hint)?;
    let stamp = Stamp::of(folder.join("node_modules/.wharf-stamp"), folder, &["package.json", "package-lock.json", ".npmrc"], &node)?;
    stamp.unless_there("install the TypeScript client", || run::quietly(Command::new("npm").arg("ci").current_dir(folder), INSTALL_LIMIT))
}

fn python(folder: &Path) -> Result<()> {
    let hint = "install Python 3.11 or later, with its venv module: https://python.org, or `apt-get install python3 python3-venv`";
    let python = version(&["python3", "--version"], OLDEST_PYTHON).context(hint)?;
    let stamp = Stamp::of(folder.join(".venv/.wharf-stamp"), folder, &["requirements.txt"], &python)?;
    stamp.unless_there("install the Python client", || {
        let mut venv = Command::new("python3");
        venv.args(["-m", "venv", "--clear", ".venv"]).current_dir(folder);
        run::quietly(&mut venv, INSTALL_LIMIT).context(hint)?;
        let mut pip = Command::new(folder.join(".venv/bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", "requirements.txt"])
            .current_dir(folder);
        run::quietly(&mut pip, INSTALL_LIMIT)
    })
}

/// Says whether something is installed as it should be.
pub struct Stamp {
    path: PathBuf,
    hash: String,
}

impl Stamp {
    /// Of what is installed in `folder` as these of its files say, for this runtime.
    pub fn of(path: PathBuf, folder: &Path, files: &[&str], runtime: &str) -> Result<Self> {
        let mut hash = blake3::Hasher::new();
        hash.update(runtime.as_bytes());
        for file in files {
            let content = fs::read(folder.join(file)).with_context(|| format!("cannot read {}", folder.join(file).display()))?;
            hash.update(&(content.len() as u64).to_le_bytes()).update(&content);
        }
        Ok(Self { path, hash: hash.finalize().to_hex().to_string() })
    }

    /// Installs it, unless it is there.
    pub fn unless_there(&self, what: &str, install: impl FnOnce() -> Result<()>) -> Result<()> {
        if fs::read_to_string(&self.path).is_ok_and(|hash| hash == self.hash) {
            return Ok(());
        }
        run::step(what, install)?;
        fs::write(&self.path, &self.hash).with_context(|| format!("cannot write {}", self.path.display()))
    }
}

/// What a program says its version is, if that is recent enough.
pub fn version(ask: &[&str], oldest: &[u32]) -> Result<String> {
    let said = run::output(Command::new(ask[0]).args(&ask[1..]), ASK_LIMIT)?;
    if !is_recent(&said, oldest) {
        let oldest: Vec<String> = oldest.iter().map(u32::to_string).collect();
        bail!("{} is version {}, and {} is the oldest that will do", ask[0], said.trim(), oldest.join("."));
    }
    Ok(said)
}

/// `v20.20.2` and `Python 3.11.7` alike.
fn is_recent(said: &str, oldest: &[u32]) -> bool {
    let digits = said.trim_start_matches(|character: char| !character.is_ascii_digit());
    let numbers: Vec<u32> = digits.split('.').map_while(|number| number.trim().parse().ok()).collect();
    numbers.as_slice() >= oldest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_number_by_number() {
        assert!(is_recent("v20.20.2\n", &[20]));
        assert!(!is_recent("v8.17.0\n", &[20]));
        assert!(is_recent("Python 3.11.7\n", &[3, 11]));
        assert!(!is_recent("Python 3.9.18\n", &[3, 11]));
        assert!(!is_recent("no version", &[20]));
    }

    #[test]
    fn a_second_run_installs_nothing_until_a_pin_changes() {
        let folder = tempfile::tempdir().unwrap();
        let installs = |runtime: &str| {
            let mut installed = false;
            let stamp = Stamp::of(folder.path().join("stamp"), folder.path(), &["lock"], runtime).unwrap();
            let install = || {
                installed = true;
                Ok(())
            };
            stamp.unless_there("pretend", install).unwrap();
            installed
        };
        fs::write(folder.path().join("lock"), "1").unwrap();
        assert!(installs("node 20"));
        assert!(!installs("node 20"));
        assert!(installs("node 22"));
        fs::write(folder.path().join("lock"), "2").unwrap();
        assert!(installs("node 22"));
    }

    #[test]
    fn a_failed_install_leaves_no_stamp() {
        let folder = tempfile::tempdir().unwrap();
        let stamp = Stamp::of(folder.path().join("stamp"), folder.path(), &[], "").unwrap();
        assert!(stamp.unless_there("pretend", || bail!("no network")).is_err());
        assert!(!folder.path().join("stamp").exists());
    }
}
