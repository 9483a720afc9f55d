//! The folders that wharf.toml grants: where a provider finds them, and what changes in them.
//!
//! [`Places`] are the granted folders of one instance, as they were found when it was made. [`Files`] watches below them for all providers:
//! one thread, one watcher of the system's, and one remembered state for each folder that is watched, however many watch it.
//!
//! Events are hints and the look is the truth, as for the plugins folder: what is told is the difference between two looks. So nothing
//! depends on which events a system, a mount or an editor makes of a save, and where none come the looks alone do the work.
//!
//! Invariants:
//! - Nobody waits for the thread: what a provider asks for is left to it, and what it finds is handed over under a short lock.
//! - A change after [`Files::watch`] returned is told: one that is as old as the first look is told as well.
//! - No link leads out of a granted folder, and below a watched one none is followed.
//! - What is remembered is bounded, and where a bound is met the watch goes on with less: looks in place of events, or a word now and then
//!   that everything is to be looked at ([`Change::Rescan`]). One line in the log says so.

mod guarded;
mod joined;
mod keeper;
mod pace;
mod pinned;
mod place;
mod shared;
mod system;
mod tree;
mod way;

#[cfg(test)]
#[cfg(unix)]
mod tests;

use std::{io, path::PathBuf, sync::Arc, time::SystemTime};

use self::shared::{Order, Shared};
pub use self::{
    guarded::Guarded,
    joined::{Change, Joined},
    place::{Identity, Located, Missing, Place, Places, Unplaced},
};

/// Takes the changes of one watch: the path of each in the watch's own terms, at most one for each path. It must not wait.
pub type Sink = Arc<dyn Fn(Vec<(String, Change)>) + Send + Sync>;

/// Files in a watched folder that are remembered, of all providers together: 150 bytes each, so 10,000 take 1.5 MB. In a tree that would go
/// beyond it no single change is told any more.
pub const MAX_ENTRIES: usize = 200_000;
/// And of those, the ones for one provider: whatever it watches, the others have the rest.
pub const MAX_ENTRIES_OF_ONE: usize = 150_000;
/// Folders that the system watches for this host; one takes some 1 KiB of the kernel's memory, and some systems give a user no more than 8192.
pub const MAX_FOLDERS: usize = 16_384;
/// Changes of one watch that are told, or wait to be told, one by one. Of more it is only said that everything is to be looked at.
pub const MAX_CHANGES: usize = 10_000;

/// Bounds, which tests make smaller.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    entries: usize,
    of_one: usize,
    folders: usize,
    changes: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { entries: MAX_ENTRIES, of_one: MAX_ENTRIES_OF_ONE, folders: MAX_FOLDERS, changes: MAX_CHANGES }
    }
}

/// Watches files for all providers of a host. Its thread begins with the first watch, and ends with this.
#[derive(Default)]
pub struct Files {
    shared: Arc<Shared>,
}

impl Files {
    /// With events where the system gives any.
    pub fn new() -> Self {
        Self::default()
    }

    /// Without events from now on: changes are looked for. For what is watched later.
    pub fn poll(&self) {
        self.shared.poll();
    }

    /// Watches a path for a provider until what this returns is dropped. Returns at once.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn watch(&self, owner: &Arc<str>, located: &Located, recursive: bool, sink: Sink) -> io::Result<Watching> {
        let order = Order {
            owner: owner.clone(),
            root: located.root.clone(),
            below: located.below.clone(),
            recursive,
            shown: located.shown.clone(),
            sink,
            asked: SystemTime::now(),
        };
        Ok(Watching { number: self.shared.begin(order)?, shared: self.shared.clone() })
    }

    /// Calls this, once, when one of these folders is another than it was: made, or made again. It must not wait. Ends when what this
    /// returns is dropped.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn follow(&self, roots: Vec<(PathBuf, Option<Identity>)>, tell: impl Fn() + Send + Sync + 'static) -> io::Result<Watching> {
        Ok(Watching { number: self.shared.follow(roots, Arc::new(tell))?, shared: self.shared.clone() })
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl std::fmt::Debug for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Files").finish_non_exhaustive()
    }
}

/// A watch, which ends with this.
pub struct Watching {
    number: u64,
    shared: Arc<Shared>,
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.shared.end(self.number);
    }
}

impl std::fmt::Debug for Watching {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Watching").field(&self.number).finish()
    }
}
