//! The system's watcher: one for all trees, folder by folder, and never below a link.

use std::{
    collections::{BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::Arc,
};

use notify::{
    ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode, ModifyKind},
};

use super::{
    Identity,
    shared::Shared,
    tree::{Ears, Touch, Trouble},
};

struct Folder {
    identity: Identity,
    /// The trees that listen to it.
    trees: BTreeSet<u64>,
}

/// See the module's page.
pub(super) struct System {
    watcher: Option<RecommendedWatcher>,
    folders: HashMap<PathBuf, Folder>,
    most: usize,
}

impl System {
    /// Tells what it hears here. Without one, all has to be looked for; why, if it was wanted.
    pub fn new(shared: &Arc<Shared>, most: usize) -> (Self, Option<String>) {
        let hear = {
            let shared = shared.clone();
            move |event| hear(&shared, event)
        };
        let (watcher, deaf) = match notify::recommended_watcher(hear) {
            Ok(watcher) => (Some(watcher), None),
            Err(error) => (None, Some(error.to_string())),
        };
        (Self { watcher, folders: HashMap::new(), most }, deaf)
    }

    /// Whether there is any use in listening.
    pub fn hears(&self) -> bool {
        self.watcher.is_some()
    }

    /// The trees that an event at this path may be about.
    pub fn concerned(&self, path: &Path) -> BTreeSet<u64> {
        let of = |folder: &Path| self.folders.get(folder).into_iter().flat_map(|folder| folder.trees.iter().copied());
        path.parent().into_iter().flat_map(of).chain(of(path)).collect()
    }

    /// As one tree hears it.
    pub fn ears(&mut self, tree: u64) -> TreesEars<'_> {
        TreesEars { system: self, tree }
    }

    /// Folders that are listened to.
    pub fn count(&self) -> usize {
        self.folders.len()
    }
}

/// The ears of one tree.
pub(super) struct TreesEars<'a> {
    system: &'a mut System,
    tree: u64,
}

impl Ears for TreesEars<'_> {
    fn listen(&mut self, path: &Path, identity: Identity, anew: bool) -> Result<bool, Trouble> {
        let System { watcher, folders, most } = self.system;
        let Some(watcher) = watcher else { return Ok(false) };
        let known = folders.get_mut(path);
        let is_known = known.is_some();
        if let Some(known) = known {
            let is_new = known.trees.insert(self.tree);
            if known.identity == identity && !anew {
                return Ok(is_new);
            }
            known.identity = identity;
            // It may be gone, and its watch with it.
            let _ = watcher.unwatch(path);
        } else if folders.len() >= *most {
            return Err(Trouble::Full);
        }
        match watcher.watch(path, RecursiveMode::NonRecursive) {
            Ok(()) if is_known => {}
            Ok(()) => drop(folders.insert(path.to_owned(), Folder { identity, trees: [self.tree].into() })),
            Err(error) if matches!(error.kind, ErrorKind::MaxFilesWatch) => return Err(Trouble::Full),
            Err(error) => {
                // It went again, or may not be read: then nothing in it is seen either.
                tracing::debug!("cannot watch {}: {error}", path.display());
                folders.remove(path);
            }
        }
        Ok(true)
    }

    fn forget(&mut self, path: &Path) {
        let System { watcher, folders, .. } = self.system;
        let Some(folder) = folders.get_mut(path) else { return };
        folder.trees.remove(&self.tree);
        if folder.trees.is_empty() {
            folders.remove(path);
            if let Some(watcher) = watcher {
                let _ = watcher.unwatch(path);
            }
        }
    }
}

/// For trees that hear nothing.
pub(super) struct Deaf;

impl Ears for Deaf {
    fn listen(&mut self, _folder: &Path, _identity: Identity, _anew: bool) -> Result<bool, Trouble> {
        Ok(false)
    }

    fn forget(&mut self, _folder: &Path) {}
}

fn hear(shared: &Shared, event: notify::Result<Event>) {
    let Ok(event) = event else { return shared.lost() };
    if event.need_rescan() {
        return shared.lost();
    }
    if let Some(touch) = meaning(event.kind) {
        shared.touched(event.paths, touch);
    }
}

/// What an event says of the paths it names; nothing, for the reading of files.
fn meaning(kind: EventKind) -> Option<Touch> {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => Some(Touch { content: true, moved: false }),
        EventKind::Access(_) => None,
        EventKind::Modify(ModifyKind::Metadata(_)) => Some(Touch { content: false, moved: false }),
        EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) => Some(Touch { content: true, moved: true }),
        _ => Some(Touch { content: true, moved: false }),
    }
}
