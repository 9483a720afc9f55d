//! A language's tools: installed once as its folder in `xtask/languages/` pins them, in the user's cache folder, and found by `PATH`.
//!
//! Invariant: a folder of tools is named after all that it was made of, and counts only once it is whole. Two checkouts that pin
//! different versions do not disturb each other.

use std::{
    env,
    ffi::OsString,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use super::{HOST, Language, Value};
use crate::{clients::Packages, repo, repo::Repo, run};

/// Written last.
const DONE: &str = ".whole";
/// What a test is told, to link it into a project that would install the same.
pub const NODE_MODULES: &str = "WHARF_NODE_MODULES";

/// What is installed.
pub struct Tools {
    /// Says all that it was made of.
    pub key: String,
    /// The folder of npm's packages, if that is where they come from.
    pub node_modules: Option<PathBuf>,
    path: Vec<PathBuf>,
    environment: Vec<(&'static str, PathBuf)>,
    host: PathBuf,
}

impl Tools {
    /// Installs what is missing.
    pub fn install(repo: &Repo, language: &Language, cache: &Path) -> Result<Self> {
        let pinned = language.pins(repo);
        let runtime = language.packages.runtime().with_context(|| format!("the tools for {} cannot be installed", language.name))?;
        let pins = pins(language, &pinned)?;
        let key = key(&pins, &runtime);
        let all = cache.join("tools");
        fs::create_dir_all(&all).with_context(|| format!("cannot make {}", all.display()))?;
        let folder = all.join(format!("{}-{key}", language.folder));
        let _lock = repo::lock(&folder.with_extension("lock"), "installing the same tools")?;
        if !folder.join(DONE).exists() {
            // Where it stays: what pip installs knows its place.
            fs::create_dir_all(&folder)?;
            for (name, content) in &pins {
                fs::write(folder.join(name), content)?;
            }
            run::step(&format!("install the tools for {}", language.name), || language.packages.install(&folder))?;
            shims(language, &folder)?;
            fs::write(folder.join(DONE), "")?;
        }
        let (path, node_modules) = match language.packages {
            Packages::Npm => (vec![folder.join("node_modules/.bin")], Some(folder.join("node_modules"))),
            Packages::Pip => (vec![folder.join("shims"), folder.join(".venv/bin")], None),
        };
        let environment = language.environment.iter().map(|(name, value)| match value {
            Value::Is(value) => (*name, PathBuf::from(value)),
            Value::Cache(folder) => (*name, cache.join("caches").join(folder)),
        });
        let debug = repo.target()?.join("debug").join(format!("wharf{}", env::consts::EXE_SUFFIX));
        Ok(Self { key, node_modules, path, environment: environment.collect(), host: env::var_os(HOST).map_or(debug, PathBuf::from) })
    }

    /// What to set so that the tools are found.
    pub fn environment(&self) -> Result<Vec<(&'static str, OsString)>> {
        let before = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths(self.path.iter().cloned().chain(env::split_paths(&before))).context("a folder with a `:`")?;
        let mut all = vec![("PATH", path), (HOST, self.host.clone().into())];
        for (name, value) in &self.environment {
            all.push((name, value.clone().into()));
        }
        if let Some(folder) = &self.node_modules {
            all.push((NODE_MODULES, folder.clone().into()));
        }
        Ok(all)
    }

    /// Lets a command find them.
    pub fn apply(&self, command: &mut Command) -> Result<()> {
        command.envs(self.environment()?);
        // What is about the one who runs xtask is not about the project.
        for set_by_npm in ["npm_config_local_prefix", "INIT_CWD", "VIRTUAL_ENV", "MAKEFLAGS", "MAKELEVEL"] {
            command.env_remove(set_by_npm);
        }
        Ok(())
    }
}

/// The files that say what is installed, by name, with what they say.
pub fn pins(language: &Language, folder: &Path) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let mut pins = Vec::new();
    for name in language.packages.pins() {
        match fs::read(folder.join(name)) {
            Ok(content) => pins.push((*name, content)),
            // npm's own settings, which a folder may do without.
            Err(_) if name.starts_with('.') => {}
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", folder.join(name).display())),
        }
    }
    Ok(pins)
}

fn key(pins: &[(&str, Vec<u8>)], runtime: &str) -> String {
    let mut hash = blake3::Hasher::new();
    for part in pins.iter().flat_map(|(name, content)| [name.as_bytes(), content]).chain([runtime.as_bytes()]) {
        hash.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    repo::short(&hash)
}

/// Links programs to where programs are looked for.
fn shims(language: &Language, folder: &Path) -> Result<()> {
    if language.shims.is_empty() {
        return Ok(());
    }
    let libraries = folder.join(".venv/lib");
    let python = fs::read_dir(&libraries)?.next().with_context(|| format!("{} is empty", libraries.display()))??.path();
    let shims = folder.join("shims");
    fs::create_dir_all(&shims)?;
    for shim in language.shims {
        let (program, link) = (python.join("site-packages").join(shim.path), shims.join(shim.name));
        if !program.exists() {
            bail!("there is no {}: the package that {} pins has it no more", program.display(), language.pins_shown());
        }
        if link.symlink_metadata().is_ok() {
            fs::remove_file(&link)?;
        }
        symlink(&program, &link)?;
    }
    Ok(())
}

impl Language {
    fn pins_shown(&self) -> String {
        format!("xtask/languages/{}", self.folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pin_and_the_runtime_change_the_key() {
        let of = |name: &'static str, content: &str, runtime: &str| key(&[(name, content.into())], runtime);
        let first = of("package.json", "{}", "node 20");
        assert_eq!(first, of("package.json", "{}", "node 20"));
        for other in [of("package.json", "{ }", "node 20"), of("package.json", "{}", "node 22"), of("package.jso", "n{}", "node 20")] {
            assert_ne!(first, other);
        }
    }

    #[test]
    fn a_missing_pin_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("package.json"), "{}").unwrap();
        let error = pins(Language::named("js").unwrap(), folder.path()).unwrap_err().to_string();
        assert!(error.ends_with("package-lock.json"), "{error}");
        fs::write(folder.path().join("package-lock.json"), "{}").unwrap();
        assert_eq!(pins(Language::named("js").unwrap(), folder.path()).unwrap().len(), 2);
    }
}
