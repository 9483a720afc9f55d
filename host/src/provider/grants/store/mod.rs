//! What providers keep: their stores, all in one SQLite file of the user's own, which several hosts may use at once.
//!
//! Invariants:
//! - A store belongs to a provider of one wharf.toml (its [`Owner`]); nobody else sees it.
//! - Each call is atomic, and durable against the death of the process, whenever it comes: the file is in WAL mode, where what was not
//!   committed does not show. (A power cut may take the last calls back; it damages nothing.)
//! - Keys and values of an owner never take more bytes than it is granted, whichever host writes.
//! - The log beside the file is bounded, whatever providers write: who writes faster than it is brought into the file waits for that.
//! - Nobody waits: a call that finds the file busy says so, and is made again by whoever can wait, at most for [`BUSY`].

mod file;
#[cfg(test)]
mod tests;

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use parking_lot::Mutex;

use self::file::File;

/// Bytes of a key (`store` in the WIT).
pub const MAX_KEY_BYTES: usize = 1024;
/// How long a call waits for another host to be done with the file. A write takes some microseconds: who does not get it in this time finds
/// a machine in trouble.
pub const BUSY: Duration = Duration::from_millis(250);
/// After so many bytes written, what is in the log beside the file goes into the file itself: SQLite's own default, 1000 pages.
const CHECKPOINT_BYTES: u64 = 4 << 20;
/// Bytes in the log for a write besides its value: the pages of an entry, of its index and of its owner.
const WRITE_BYTES: u64 = 16 << 10;
/// So many bytes in the log, and who writes waits until they are in the file: as long as somebody writes it is not begun anew.
const OVERDUE_BYTES: u64 = 64 << 20;
/// Keys that are given at once. They take some 50 ms to read, in which nobody else has the file.
pub const MAX_KEYS: usize = 100_000;
/// The file, in the folder for it.
const FILE: &str = "store.db";

/// Why a call at the store failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The key is empty, or has more than [`MAX_KEY_BYTES`].
    #[error("a key has 1 to {MAX_KEY_BYTES} bytes")]
    Key,
    /// There would be so many bytes, which is more than is granted.
    #[error("the store would have {0} bytes, which is more than it may")]
    Full(u64),
    /// More keys than [`MAX_KEYS`] begin so.
    #[error("more than {MAX_KEYS} keys begin so: ask for longer beginnings")]
    Keys,
    /// Another host has the file, or this one is busy with it.
    #[error("the store is busy: try again")]
    Busy,
    /// The host was made without a place for it.
    #[error("this host has no folder for what providers keep: set XDG_DATA_HOME or HOME")]
    NoFolder,
    /// The disk, or the file; says which, and why.
    #[error("{0}")]
    Disk(String),
}

/// Whose store it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The wharf.toml that grants it, by its real path: two projects with a provider of the same name do not share.
    pub scope: Arc<str>,
    /// The provider's name there.
    pub provider: Arc<str>,
}

/// What is asked of a store.
#[derive(Debug, Clone)]
pub enum Operation {
    /// The value of a key.
    Get(String),
    /// A new value for it.
    Set(String, Vec<u8>),
    /// Away with it.
    Remove(String),
    /// If this is the value, that one is (none: there is no such key).
    Replace(String, Option<Vec<u8>>, Option<Vec<u8>>),
    /// The keys that begin so.
    Keys(String),
}

/// What it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// To [`Operation::Get`].
    Value(Option<Vec<u8>>),
    /// To [`Operation::Set`] and [`Operation::Remove`].
    Done,
    /// To [`Operation::Replace`]: whether it was.
    Replaced(bool),
    /// To [`Operation::Keys`], in byte order.
    Keys(Vec<String>),
}

/// The stores of one host's providers. Opens its file when the first of them is used.
#[derive(Debug, Default)]
pub struct Stores {
    folder: Option<PathBuf>,
    scope: Arc<str>,
    file: Mutex<Option<File>>,
    /// Bytes written since the log was last brought into the file, and since that was last done with all of it.
    written: AtomicU64,
    behind: AtomicU64,
    tidying: Mutex<()>,
}

/// How the log beside the file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Log {
    /// Short.
    Short,
    /// Worth a [`Stores::tidy`], for which nobody need wait. It is said once.
    Long,
    /// So long that who writes has to wait for one.
    Overdue,
}

impl Stores {
    /// In this folder, which is made if it is not there, for the wharf.toml with this real path.
    pub fn new(folder: Option<PathBuf>, scope: impl Into<Arc<str>>) -> Self {
        Self { folder, scope: scope.into(), ..Self::default() }
    }

    /// The user's own folder: `$XDG_DATA_HOME/wharf/state`, or below `~/.local/share`. None without both variables.
    pub fn folder_of_user() -> Option<PathBuf> {
        let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Some(folder("XDG_DATA_HOME").or_else(|| folder("HOME").map(|home| home.join(".local/share")))?.join("wharf/state"))
    }

    /// What names this provider's store.
    pub fn owner(&self, provider: &Arc<str>) -> Owner {
        Owner { scope: self.scope.clone(), provider: provider.clone() }
    }

    /// Carries it out if that takes no waiting: some microseconds. [`StoreError::Busy`] otherwise, which [`Stores::patiently`] waits for.
    /// `quota`: bytes that keys and values may have together.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn at_once(&self, owner: &Owner, quota: u64, operation: &Operation) -> Result<Answer, StoreError> {
        check(operation)?;
        if matches!(operation, Operation::Keys(_)) {
            return Err(StoreError::Busy);
        }
        let Some(mut file) = self.file.try_lock() else { return Err(StoreError::Busy) };
        // Opening it waits for the disk.
        if file.is_none() {
            return Err(StoreError::Busy);
        }
        self.carry_out(&mut file, Duration::ZERO, owner, quota, operation)
    }

    /// Carries it out, and waits as long as [`BUSY`] for others. Blocks.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn patiently(&self, owner: &Owner, quota: u64, operation: &Operation) -> Result<Answer, StoreError> {
        check(operation)?;
        let Some(mut file) = self.file.try_lock_for(BUSY) else { return Err(StoreError::Busy) };
        if file.is_none() {
            *file = Some(File::open(self.folder.as_deref().ok_or(StoreError::NoFolder)?)?);
        }
        self.carry_out(&mut file, BUSY, owner, quota, operation)
    }

    fn carry_out(
        &self,
        open: &mut Option<File>,
        wait: Duration,
        owner: &Owner,
        quota: u64,
        operation: &Operation,
    ) -> Result<Answer, StoreError> {
        let Some(file) = open.as_mut() else { return Err(StoreError::Busy) };
        let answer = file.wait_for(wait).and_then(|()| file.carry_out(owner, quota, operation));
        if matches!(answer, Err(StoreError::Disk(_))) {
            // The user may put another in its place.
            *open = None;
        }
        let answer = answer?;
        let value = match operation {
            Operation::Set(_, value) | Operation::Replace(_, _, Some(value)) => value.len(),
            Operation::Remove(_) | Operation::Replace(_, _, None) => 0,
            Operation::Get(_) | Operation::Keys(_) => return Ok(answer),
        };
        let bytes = WRITE_BYTES + value as u64;
        self.written.fetch_add(bytes, Relaxed);
        self.behind.fetch_add(bytes, Relaxed);
        Ok(answer)
    }

    /// What there is to be done about the log beside the file.
    pub fn log(&self) -> Log {
        if self.behind.load(Relaxed) >= OVERDUE_BYTES {
            return Log::Overdue;
        }
        let long = self.written.load(Relaxed) >= CHECKPOINT_BYTES && self.written.swap(0, Relaxed) >= CHECKPOINT_BYTES;
        if long { Log::Long } else { Log::Short }
    }

    /// Brings the log beside the file into it, which waits for the disk; others go on meanwhile. Blocks. What fails here is done later, or by
    /// the next who opens the file.
    pub fn tidy(&self) {
        let Some(folder) = &self.folder else { return };
        let _one = self.tidying.lock();
        let behind = self.behind.load(Relaxed);
        match File::open(folder).and_then(|file| file.checkpoint()) {
            // The next write begins it anew.
            Ok(true) => drop(self.behind.fetch_sub(behind, Relaxed)),
            Ok(false) => {}
            Err(error) => tracing::debug!("the store was not tidied: {error}"),
        }
    }
}

fn check(operation: &Operation) -> Result<(), StoreError> {
    let key = match operation {
        Operation::Get(key) | Operation::Set(key, _) | Operation::Remove(key) | Operation::Replace(key, ..) => key,
        Operation::Keys(_) => return Ok(()),
    };
    if (1..=MAX_KEY_BYTES).contains(&key.len()) { Ok(()) } else { Err(StoreError::Key) }
}

fn path(folder: &Path) -> PathBuf {
    folder.join(FILE)
}
