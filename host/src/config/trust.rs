//! Which files the user chose. Grants hold only in such: a cloned repository must not be able to bring its own.
//!
//! A file is chosen by `--config`, or, where it is found in the current folder, by `wharf trust`, which records its path and the hash of its
//! content; once it has changed, it has to be chosen again.

use std::{
    collections::BTreeMap,
    fs::File,
    io,
    path::{Path, PathBuf},
};

use super::{FILE_BYTES, files};

/// The store's file below the user's data folder.
const STORE: &str = "wharf/trusted.json";

/// Why the store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// Neither of the variables that say where it is.
    #[error("set XDG_DATA_HOME or HOME: trusted files are recorded there")]
    NoHome,
    /// A file cannot be read or written.
    #[error("cannot use {}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The store is not as this program wrote it.
    #[error("{} is damaged ({reason}): remove it, and trust your files again", path.display())]
    Damaged {
        /// The store.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// Whether a file was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trusted {
    /// As it is now.
    Yes,
    /// It was, and has changed since.
    Changed,
    /// Never.
    No,
}

/// The record of chosen files.
#[derive(Debug)]
pub struct Trust {
    store: PathBuf,
}

impl Trust {
    /// The user's own: `$XDG_DATA_HOME/wharf/trusted.json`, or below `~/.local/share`.
    ///
    /// # Errors
    /// [`TrustError::NoHome`].
    pub fn of_user() -> Result<Self, TrustError> {
        let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let data = folder("XDG_DATA_HOME").or_else(|| folder("HOME").map(|home| home.join(".local/share"))).ok_or(TrustError::NoHome)?;
        Ok(Self::at(data.join(STORE)))
    }

    /// One that is kept in this file.
    pub fn at(store: impl Into<PathBuf>) -> Self {
        Self { store: store.into() }
    }

    /// Where it is.
    pub(crate) fn into_path(self) -> PathBuf {
        self.store
    }

    /// Whether this file was chosen.
    ///
    /// # Errors
    /// [`TrustError::File`], [`TrustError::Damaged`].
    pub fn check(&self, file: &Path) -> Result<Trusted, TrustError> {
        let (path, hash) = identify(file)?;
        self.judge(&path, &hash)
    }

    /// Whether this file was chosen with this content, which was read from it: so what is judged is what is used, whatever is in the file by
    /// now.
    ///
    /// # Errors
    /// [`TrustError::File`], [`TrustError::Damaged`].
    pub(super) fn check_content(&self, file: &Path, content: &[u8]) -> Result<Trusted, TrustError> {
        let path = file.canonicalize().map_err(failed(file))?;
        self.judge(&text(&path), blake3::hash(content).to_hex().as_str())
    }

    fn judge(&self, path: &str, hash: &str) -> Result<Trusted, TrustError> {
        Ok(match self.read()?.get(path) {
            Some(recorded) if *recorded == hash => Trusted::Yes,
            Some(_) => Trusted::Changed,
            None => Trusted::No,
        })
    }

    /// Records this file as it is now.
    ///
    /// # Errors
    /// [`TrustError::File`], [`TrustError::Damaged`].
    pub fn add(&self, file: &Path) -> Result<(), TrustError> {
        let (path, hash) = identify(file)?;
        let _lock = self.lock()?;
        let mut entries = self.read()?;
        entries.insert(path, hash);
        self.write(&entries)
    }

    /// Forgets this file, which need not exist any more. Returns whether it was recorded.
    ///
    /// # Errors
    /// [`TrustError::File`], [`TrustError::Damaged`].
    pub fn remove(&self, file: &Path) -> Result<bool, TrustError> {
        let path = std::path::absolute(file).map_err(failed(file))?;
        let path = path.canonicalize().unwrap_or(path);
        let _lock = self.lock()?;
        let mut entries = self.read()?;
        let known = entries.remove(&text(&path)).is_some();
        if known {
            self.write(&entries)?;
        }
        Ok(known)
    }

    /// The recorded files.
    ///
    /// # Errors
    /// [`TrustError::File`], [`TrustError::Damaged`].
    pub fn list(&self) -> Result<Vec<PathBuf>, TrustError> {
        Ok(self.read()?.into_keys().map(PathBuf::from).collect())
    }

    fn read(&self) -> Result<BTreeMap<String, String>, TrustError> {
        match std::fs::read(&self.store) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes).map_err(|error| TrustError::Damaged { path: self.store.clone(), reason: error.to_string() })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeMap::new()),
            Err(error) => Err(failed(&self.store)(error)),
        }
    }

    /// Held from reading to writing, so that of two who trust files at the same time neither forgets the other's. It is held for
    /// milliseconds, and goes with the process that has it.
    fn lock(&self) -> Result<File, TrustError> {
        let folder = self.store.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(failed(folder))?;
        let path = self.store.with_extension("lock");
        let lock = File::options().create(true).truncate(false).write(true).open(&path).map_err(failed(&path))?;
        lock.lock().map_err(failed(&path))?;
        Ok(lock)
    }

    /// By a rename, so that nobody reads half of it.
    fn write(&self, entries: &BTreeMap<String, String>) -> Result<(), TrustError> {
        let partial = self.store.with_extension(format!("{}.partial", std::process::id()));
        let json = serde_json::to_vec_pretty(entries).map_err(|error| failed(&self.store)(error.into()))?;
        std::fs::write(&partial, json).map_err(failed(&partial))?;
        std::fs::rename(&partial, &self.store).map_err(failed(&self.store))
    }
}

fn identify(file: &Path) -> Result<(String, String), TrustError> {
    let path = file.canonicalize().map_err(failed(file))?;
    let content = files::read_regular(&path, FILE_BYTES).map_err(failed(&path))?;
    Ok((text(&path), blake3::hash(&content).to_hex().to_string()))
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> TrustError {
    let path = path.to_owned();
    move |source| TrustError::File { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_trusted_as_it_was_when_it_was_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let trust = Trust::at(folder.path().join("data/wharf/trusted.json"));
        let file = folder.path().join("wharf.toml");
        std::fs::write(&file, "one").unwrap();
        assert_eq!(trust.check(&file).unwrap(), Trusted::No);
        trust.add(&file).unwrap();
        assert_eq!(trust.check(&file).unwrap(), Trusted::Yes);
        std::fs::write(&file, "two").unwrap();
        assert_eq!(trust.check(&file).unwrap(), Trusted::Changed);
        std::fs::write(&file, "one").unwrap();
        assert_eq!(trust.check(&file).unwrap(), Trusted::Yes);
        let copy = folder.path().join("copy.toml");
        std::fs::copy(&file, &copy).unwrap();
        assert_eq!(trust.check(&copy).unwrap(), Trusted::No, "a copy is another file");
        assert_eq!(trust.list().unwrap(), [file.canonicalize().unwrap()]);
        assert!(trust.remove(&file).unwrap());
        assert!(!trust.remove(&file).unwrap());
        assert_eq!(trust.check(&file).unwrap(), Trusted::No);
    }

    #[test]
    fn a_damaged_store_trusts_nothing_and_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("trusted.json");
        std::fs::write(&store, "{").unwrap();
        let error = Trust::at(&store).check(&store).unwrap_err().to_string();
        assert!(error.contains("remove it"), "{error}");
    }

    #[test]
    fn files_that_are_trusted_at_the_same_time_are_all_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("data/wharf/trusted.json");
        let files: Vec<_> = (0..16).map(|n| folder.path().join(format!("{n}.toml"))).collect();
        files.iter().for_each(|file| std::fs::write(file, "").unwrap());
        std::thread::scope(|scope| {
            for file in &files {
                scope.spawn(|| Trust::at(&store).add(file).unwrap());
            }
        });
        let trust = Trust::at(&store);
        assert!(files.iter().all(|file| trust.check(file).unwrap() == Trusted::Yes));
    }
}
