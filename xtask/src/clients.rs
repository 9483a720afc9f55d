//! Installs the MCP clients of the end-to-end tests: SDKs, command lines and proxies, pinned with all they depend on.
//!
//! They are installed beside their scripts in `tests/clients/`, and again only when what pins them has changed: a stamp, written last,
//! holds the hash of it. What cannot live together is in environments of its own.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result, bail};

use crate::{repo::Repo, run};

/// Up to 200 MB, from a registry that may be slow.
pub const INSTALL_LIMIT: Duration = Duration::from_secs(300);
const ASK_LIMIT: Duration = Duration::from_secs(30);
/// The oldest that the TypeScript SDK runs on.
const OLDEST_NODE: &[u32] = &[20];
/// The oldest that the pinned Python packages run on.
const OLDEST_PYTHON: &[u32] = &[3, 11];

/// A folder of `tests/clients/` with clients to be installed into it.
struct Environment {
    folder: &'static str,
    what: &'static str,
    packages: Packages,
}

/// Where they come from, and so how they are installed.
#[derive(Clone, Copy)]
pub enum Packages {
    /// Pinned by package-lock.json.
    Npm,
    /// Pinned by requirements.txt.
    Pip,
}

static ENVIRONMENTS: [Environment; 6] = [
    Environment { folder: "typescript", what: "the TypeScript clients", packages: Packages::Npm },
    Environment { folder: "tools", what: "the command-line clients and proxies", packages: Packages::Npm },
    Environment { folder: "oauth", what: "an authorization server and the TypeScript client for it", packages: Packages::Npm },
    // Two: the releases of the SDK before and after 2.0 exclude each other.
    Environment { folder: "python/mcp1", what: "the Python client before 2.0", packages: Packages::Pip },
    Environment { folder: "python/mcp2", what: "the Python clients from 2.0 on", packages: Packages::Pip },
    Environment { folder: "python/metrics", what: "Prometheus' own parser", packages: Packages::Pip },
];

/// Installs what is missing.
pub fn install(repo: &Repo) -> Result<()> {
    let clients = repo.root.join("tests/clients");
    let runtimes = (Packages::Npm.runtime()?, Packages::Pip.runtime()?);
    for Environment { folder, what, packages } in &ENVIRONMENTS {
        let folder = clients.join(folder);
        let runtime = match packages {
            Packages::Npm => &runtimes.0,
            Packages::Pip => &runtimes.1,
        };
        let stamp = Stamp::of(folder.join(packages.installed()).join(".wharf-stamp"), &folder, packages.pins(), runtime)?;
        stamp.unless_there(&format!("install {what}"), || packages.install(&folder))?;
    }
    Ok(())
}

impl Packages {
    fn hint(self) -> &'static str {
        match self {
            Self::Npm => "install Node.js 20 or later, with npm: https://nodejs.org, or `apt-get install nodejs npm`",
            Self::Pip => {
                "install Python 3.11 or later, with its venv module: https://python.org, or `apt-get install python3 python3-venv`"
            }
        }
    }

    /// The version of what runs them, if it is there and recent enough.
    pub fn runtime(self) -> Result<String> {
        match self {
            Self::Npm => {
                version(&["npm", "--version"], &[]).context(self.hint())?;
                version(&["node", "--version"], OLDEST_NODE).context(self.hint())
            }
            Self::Pip => version(&["python3", "--version"], OLDEST_PYTHON).context(self.hint()),
        }
    }

    /// The files that say what is installed.
    pub fn pins(self) -> &'static [&'static str] {
        match self {
            Self::Npm => &["package.json", "package-lock.json", ".npmrc"],
            Self::Pip => &["requirements.txt"],
        }
    }

    /// The folder that is installed into.
    fn installed(self) -> &'static str {
        match self {
            Self::Npm => "node_modules",
            Self::Pip => ".venv",
        }
    }

    /// Installs into a folder that has its pins.
    pub fn install(self, folder: &Path) -> Result<()> {
        match self {
            Self::Npm => run::quietly(Command::new("npm").arg("ci").current_dir(folder), INSTALL_LIMIT),
            Self::Pip => {
                let mut venv = Command::new("python3");
                venv.args(["-m", "venv", "--clear", ".venv"]).current_dir(folder);
                run::quietly(&mut venv, INSTALL_LIMIT).context(self.hint())?;
                let mut pip = Command::new(folder.join(".venv/bin/python"));
                pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", "requirements.txt"])
                    .current_dir(folder);
                run::quietly(&mut pip, INSTALL_LIMIT)
            }
        }
    }
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
    fn every_environment_is_pinned_by_files_of_the_repository() {
        let clients = Repo::find().unwrap().root.join("tests/clients");
        for Environment { folder, packages, .. } in &ENVIRONMENTS {
            for pin in packages.pins() {
                assert!(clients.join(folder).join(pin).is_file(), "{folder}/{pin}");
            }
        }
    }

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
