//! What builds have made, kept in the user's cache folder: the same sources, tools and contract are not built twice, in whatever checkout.
//!
//! Invariant: a name says all that a component was made of. What changes it without changing its name is a change of [`RECIPE`].

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use anyhow::{Context, Result};

use super::{
    Tools,
    project::{Project, Source},
};
use crate::{
    guests,
    repo::{self, Repo},
};

/// Raised with every change of how projects are built.
const RECIPE: &str = "1";
/// Of each project: enough for a few branches.
const VERSIONS: usize = 8;
/// What makes bindings and components in the host.
const MAKERS: [&str; 2] = ["host/src/cli/authors", "wit"];
/// And the crates it has for that: what their names begin with.
const MAKING_CRATES: [&str; 5] = ["wasi-preview1", "wasm-encoder", "wit-bindgen", "wit-component", "wit-parser"];

/// The place of one component.
pub struct Kept {
    folder: PathBuf,
    key: String,
}

impl Kept {
    /// Of a project as it is now.
    pub fn of(repo: &Repo, project: &Project, sources: &[Source], tools: &Tools, cache: &Path) -> Result<Self> {
        let mut hash = blake3::Hasher::new();
        let mut add = |part: &[u8]| {
            hash.update(&(part.len() as u64).to_le_bytes()).update(part);
        };
        for part in [RECIPE, project.language.name, &tools.key] {
            add(part.as_bytes());
        }
        if project.language.asks_host {
            add(&makers(repo)?);
        }
        for source in sources {
            add(source.path.as_os_str().as_encoded_bytes());
            add(&fs::read(&source.from).with_context(|| format!("cannot read {}", source.from.display()))?);
        }
        let folder = cache.join("built").join(project.id());
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Self { folder, key: repo::short(&hash) })
    }

    /// Held by whoever builds the project.
    pub fn lock(&self) -> PathBuf {
        self.folder.join("lock")
    }

    /// Where the component is.
    pub fn component(&self) -> PathBuf {
        self.folder.join(format!("{}.wasm", self.key))
    }

    fn tested(&self) -> PathBuf {
        self.folder.join(format!("{}.tested", self.key))
    }

    pub fn is_built(&self) -> bool {
        self.component().exists()
    }

    /// Whether the project's own tests passed, with these sources.
    pub fn is_tested(&self) -> bool {
        self.tested().exists()
    }

    pub fn mark_tested(&self) -> Result<()> {
        fs::write(self.tested(), "").with_context(|| format!("cannot write {}", self.tested().display()))
    }

    /// Takes a component; those that were kept longest go.
    pub fn keep(&self, component: &Path) -> Result<()> {
        guests::put(component, &self.component())?;
        let mut all: Vec<(SystemTime, PathBuf)> = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if entry.path().extension().is_some_and(|extension| extension == "wasm") {
                all.push((entry.metadata()?.modified()?, entry.path()));
            }
        }
        all.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
        for (_, old) in all.iter().skip(VERSIONS) {
            fs::remove_file(old)?;
            let _ = fs::remove_file(old.with_extension("tested"));
        }
        Ok(())
    }
}

/// All in the host that decides what its bindings and components are.
fn makers(repo: &Repo) -> Result<Vec<u8>> {
    let mut parts = Vec::new();
    for place in MAKERS {
        files(&repo.root.join(place), &mut parts)?;
    }
    let lock = fs::read_to_string(repo.root.join("Cargo.lock")).context("cannot read Cargo.lock")?;
    for package in lock.split("\n[[package]]\n") {
        if MAKING_CRATES.iter().any(|name| package.starts_with(&format!("name = \"{name}"))) {
            parts.extend_from_slice(package.as_bytes());
        }
    }
    Ok(parts)
}

fn files(folder: &Path, parts: &mut Vec<u8>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut entries: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, parts)?;
        } else {
            parts.extend_from_slice(&fs::read(&path)?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_few_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("from");
        let of = |number: usize| Kept { folder: folder.path().into(), key: format!("{number:02}") };
        for number in 0..VERSIONS + 2 {
            fs::write(&from, number.to_string()).unwrap();
            of(number).keep(&from).unwrap();
            of(number).mark_tested().unwrap();
            let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(number as u64);
            fs::File::options().append(true).open(of(number).component()).unwrap().set_modified(time).unwrap();
        }
        // The last one had no time of long ago when it was kept.
        let kept: Vec<bool> = (0..VERSIONS + 2).map(|number| of(number).is_built()).collect();
        assert_eq!(kept.iter().filter(|kept| **kept).count(), VERSIONS);
        assert!(!kept[0] && !of(0).is_tested() && kept[VERSIONS + 1]);
    }

    #[test]
    fn what_makes_components_is_there_to_be_looked_at() {
        let makers = makers(&Repo::find().unwrap()).unwrap();
        let text = String::from_utf8_lossy(&makers);
        assert!(text.contains("wit-component") && text.contains("interface resources"));
    }
}
