//! The compile cache: machine code on disk, by the content of the component it was made of.
//!
//! | file | holds |
//! |---|---|
//! | `<content>-<engine>.cwasm` | machine code, as wasmtime serialises it |
//! | `<content>-<engine>.sum` | the checksum of that |
//! | `<path>.src` | what the file at that path looked like, and its content's hash, so that it need not be read again |
//! | `lock`, `claim-xx` | nothing: what hosts that share the folder lock |
//!
//! All hashes are blake3. `<engine>` stands for all that machine code depends on, and for this version of Wharf.
//!
//! Invariants kept here:
//! - Nothing is loaded from a folder, or a file, that someone else may write ([`folder`]), nor before it was compared with its checksum.
//! - Files appear whole, by renaming, and are never written again. An entry is written while `lock` is held, checksum first, and one that
//!   is there and right is not replaced: so whoever finds both finds those that belong together.
//! - Nothing that goes wrong here keeps a component from being loaded. A wrong entry is thrown away.
//! - The folder stays under a size; what was not used for longest goes first.

pub(super) mod folder;
#[cfg(test)]
mod tests;

use std::{
    fs::{File, TryLockError},
    io::{self, Read, Write},
    path::Path,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::{Duration, Instant, SystemTime},
};

use wasmtime::{Engine, component::Component};

use self::folder::{Folder, Unusable};
use super::{compile::Stamp, precompiled};

/// All entries together, in bytes: some 100 components of interpreted languages.
const MAX_BYTES: u64 = 4 << 30;
/// Remembered files. Each takes a block of the file system.
const MAX_SOURCES: usize = 10_000;
/// What a killed host left behind is old enough to be swept.
const ABANDONED: Duration = Duration::from_secs(60 * 60);
/// When an entry was last used is noted this exactly: a start shall read the disk, not write it.
const USE_NOTED: Duration = Duration::from_secs(60 * 60);
/// Another host holds the lock while it writes one entry. Past this the cache is left alone.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);
/// How often a lock that is taken is tried again.
const LOCK_RETRY: Duration = Duration::from_millis(10);
/// A checksum, or a remembered file, in bytes. More is garbage.
const MAX_NOTE: u64 = 1 << 10;

/// An open cache.
pub(super) struct Cache {
    folder: Folder,
    /// What the machine code is for.
    engine: String,
    max_bytes: u64,
    max_sources: usize,
    patience: Duration,
    warned: AtomicBool,
}

/// The name of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key(String);

/// Held while one host compiles a component, so that another waits for it instead of doing the same.
#[derive(Debug)]
pub(super) struct Claim(#[allow(dead_code, reason = "the lock goes with the file")] Option<File>);

impl Cache {
    /// `engine` is the digest of what the machine code depends on.
    pub fn open(path: &Path, engine: &str) -> Result<Self, Unusable> {
        Ok(Self {
            folder: Folder::open(path)?,
            engine: engine.into(),
            max_bytes: MAX_BYTES,
            max_sources: MAX_SOURCES,
            patience: LOCK_PATIENCE,
            warned: AtomicBool::new(false),
        })
    }

    /// Where this component's machine code is.
    pub fn key(&self, content: &blake3::Hash) -> Key {
        Key(format!("{}-{}", content.to_hex(), self.engine))
    }

    /// The component, if its machine code is here. Blocks, for milliseconds.
    pub fn load(&self, engine: &Engine, key: &Key) -> Option<Component> {
        let loaded = self.verified(key).and_then(|file| {
            let Some(file) = file else { return Ok(None) };
            let component = precompiled::load(engine, &file).map_err(|error| io::Error::other(format!("{error:#}")))?;
            self.note_use(&file);
            Ok(Some(component))
        });
        loaded.unwrap_or_else(|error| {
            tracing::warn!(entry = key.0, "thrown out of the compile cache, and compiled anew: {error}");
            self.throw_away(key);
            None
        })
    }

    /// Keeps machine code, and gives its file. Blocks.
    pub fn store(&self, key: &Key, code: &[u8]) -> io::Result<File> {
        let stored = self.store_now(key, code);
        if let Err(error) = &stored
            && !self.warned.swap(true, Relaxed)
        {
            let path = self.folder.path.display();
            tracing::warn!("cannot write to the compile cache {path}: {error}; components are compiled again at the next start");
        }
        stored
    }

    fn store_now(&self, key: &Key, code: &[u8]) -> io::Result<File> {
        let _lock = self.lock()?;
        // Another host may have been faster.
        match self.verified(key) {
            Ok(Some(file)) => return Ok(file),
            Ok(None) => {}
            Err(_) => self.throw_away(key),
        }
        let sum = format!("{}\n", blake3::hash(code).to_hex());
        self.folder.put(&key.sum(), |file| file.write_all(sum.as_bytes()))?;
        let file = self.folder.put(&key.code(), |file| file.write_all(code))?;
        if let Err(error) = self.sweep(SystemTime::now()) {
            tracing::debug!("cannot sweep the compile cache: {error}");
        }
        Ok(file)
    }

    /// The content's hash, of a file that is as it was when it was last read.
    pub fn recall(&self, path: &Path, stamp: &Stamp) -> Option<blake3::Hash> {
        let mut text = String::new();
        self.folder.get(&source(path)).ok()??.take(MAX_NOTE).read_to_string(&mut text).ok()?;
        let (known, hash) = text.split_once('\n')?;
        if known == stamp.text { blake3::Hash::from_hex(hash.strip_suffix('\n')?).ok() } else { None }
    }

    /// Remembers what a file holds, unless it may still change unseen. Blocks.
    pub fn remember(&self, path: &Path, stamp: &Stamp, content: &blake3::Hash, now: SystemTime) {
        if stamp.is_settled(now) {
            let text = format!("{}\n{}\n", stamp.text, content.to_hex());
            if let Err(error) = self.folder.put(&source(path), |file| file.write_all(text.as_bytes())) {
                tracing::debug!("cannot write to the compile cache: {error}");
            }
        }
    }

    /// The right to compile this, against all other hosts; none if another has it. What cannot be locked is not contended.
    pub fn claim(&self, key: &Key) -> Option<Claim> {
        let stripe: String = key.0.chars().take(2).collect();
        let Ok(file) = self.folder.lock_file(&format!("claim-{stripe}")) else { return Some(Claim(None)) };
        match file.try_lock() {
            Ok(()) => Some(Claim(Some(file))),
            Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Error(_)) => Some(Claim(None)),
        }
    }

    fn lock(&self) -> io::Result<File> {
        let file = self.folder.lock_file("lock")?;
        let began = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if began.elapsed() < self.patience => thread::sleep(LOCK_RETRY),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// An entry's file, once its content was read and found right.
    fn verified(&self, key: &Key) -> io::Result<Option<File>> {
        let Some(sum) = self.folder.get(&key.sum())? else { return Ok(None) };
        let Some(file) = self.folder.get(&key.code())? else { return Ok(None) };
        let mut text = String::new();
        sum.take(MAX_NOTE).read_to_string(&mut text)?;
        let found = blake3::Hasher::new().update_reader(&file)?.finalize();
        if text.strip_suffix('\n').and_then(|text| blake3::Hash::from_hex(text).ok()) != Some(found) {
            return Err(io::Error::other("its checksum is wrong"));
        }
        Ok(Some(file))
    }

    fn note_use(&self, file: &File) {
        let now = SystemTime::now();
        let noted = file.metadata().and_then(|metadata| metadata.modified());
        if noted.is_ok_and(|noted| now.duration_since(noted).is_ok_and(|age| age > USE_NOTED)) {
            // The worst that comes of an error here is that it is swept early.
            let _ = file.set_modified(now);
        }
    }

    fn throw_away(&self, key: &Key) {
        for name in [key.code(), key.sum()] {
            if let Err(error) = self.folder.remove(&name) {
                tracing::debug!(name, "cannot remove it from the compile cache: {error}");
            }
        }
    }

    /// Brings the folder under its caps. To be called while the lock is held.
    fn sweep(&self, now: SystemTime) -> io::Result<()> {
        let mut files = self.folder.list()?;
        files.sort_by_key(|file| file.modified);
        let is_old = |modified: SystemTime| now.duration_since(modified).is_ok_and(|age| age > ABANDONED);
        let ends = |name: &str, extension: &str| Path::new(name).extension().is_some_and(|found| found == extension);
        let mut bytes: u64 = files.iter().filter(|file| ends(&file.name, "cwasm")).map(|file| file.bytes).sum();
        let mut sources = files.iter().filter(|file| ends(&file.name, "src")).count();
        for file in &files {
            let gone = if ends(&file.name, "cwasm") {
                let over = bytes > self.max_bytes;
                if over {
                    bytes -= file.bytes;
                    self.folder.remove(&with_extension(&file.name, "sum"))?;
                }
                over
            } else if ends(&file.name, "src") {
                let over = sources > self.max_sources;
                sources -= usize::from(over);
                over
            } else if ends(&file.name, "sum") {
                is_old(file.modified) && !self.folder.has(&with_extension(&file.name, "cwasm"))
            } else {
                folder::is_temporary(&file.name) && is_old(file.modified)
            };
            if gone {
                self.folder.remove(&file.name)?;
            }
        }
        Ok(())
    }
}

impl Key {
    fn code(&self) -> String {
        format!("{}.cwasm", self.0)
    }

    fn sum(&self) -> String {
        format!("{}.sum", self.0)
    }
}

fn with_extension(name: &str, extension: &str) -> String {
    Path::new(name).with_extension(extension).to_string_lossy().into_owned()
}

fn source(path: &Path) -> String {
    format!("{}.src", blake3::hash(path.as_os_str().as_encoded_bytes()).to_hex())
}
