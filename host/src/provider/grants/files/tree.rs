//! What is remembered of one watched path, and what a look finds to be different.
//!
//! Invariants: a folder is listened to before it is read, so that nothing happens unseen in between; no link is followed below the watched
//! path; what cannot be read stays as it was known.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::Metadata,
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use super::{
    Change, Identity,
    pinned::{Pinned, metadata},
    way::{Way, way},
};

/// Looks at a way in a row, when folders turn up on it that were not listened to before.
const ROUNDS: usize = 3;
/// By so much the clock of a file system may be behind the system's: it is that of the last tick.
const CLOCK_STEP: Duration = Duration::from_millis(20);

/// Hears of changes in single folders.
pub(super) trait Ears {
    /// Listens to what happens in a folder, from now on; anew, if it is another folder than it was. Whether it was not listened to before.
    fn listen(&mut self, folder: &Path, identity: Identity, anew: bool) -> Result<bool, Trouble>;
    /// Listens to it no more.
    fn forget(&mut self, folder: &Path);
}

/// Why a tree cannot be followed as others are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The system watches no more folders.
    Full,
    /// It has more entries than may be remembered.
    TooMany,
}

/// What an event said of a path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Touch {
    /// Its content may be another, even if it looks the same.
    pub content: bool,
    /// It came or went.
    pub moved: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Folder,
    /// A link, a pipe, a device.
    Other,
}

/// What tells one state of a file from another without reading it. Times are in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    kind: Kind,
    file: (u64, u64),
    size: u64,
    modified: i64,
    changed: i64,
}

impl Entry {
    #[cfg(unix)]
    fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;

        let time = |seconds: i64, nanoseconds: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds);
        Self {
            kind: kind(metadata),
            file: (metadata.dev(), metadata.ino()),
            size: metadata.len(),
            modified: time(metadata.mtime(), metadata.mtime_nsec()),
            changed: time(metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    #[cfg(not(unix))]
    fn of(metadata: &Metadata) -> Self {
        let modified = metadata.modified().map_or(0, nanoseconds);
        Self { kind: kind(metadata), file: (0, 0), size: metadata.len(), modified, changed: modified }
    }

    fn is_since(&self, then: i64) -> bool {
        self.modified.max(self.changed) >= then
    }
}

fn kind(metadata: &Metadata) -> Kind {
    match metadata {
        metadata if metadata.is_dir() => Kind::Folder,
        metadata if metadata.is_file() => Kind::File,
        _ => Kind::Other,
    }
}

fn nanoseconds(time: SystemTime) -> i64 {
    time.duration_since(UNIX_EPOCH).ok().and_then(|past| i64::try_from(past.as_nanos()).ok()).unwrap_or_default()
}

type Known = BTreeMap<PathBuf, Entry>;

/// What happened at each path, below the watched one; the empty path is that itself.
pub(super) type Changes = BTreeMap<PathBuf, Change>;

/// One watched path.
#[derive(Debug)]
pub(super) struct Tree {
    root: PathBuf,
    below: PathBuf,
    recursive: bool,
    way: Way,
    /// From the end of the way on.
    known: Known,
    /// The folders that it listens to.
    folders: BTreeSet<PathBuf>,
    /// What events spoke of since the last look, below the end of the way.
    touched: BTreeMap<PathBuf, Touch>,
    /// Everything has to be looked at.
    all: bool,
}

impl Tree {
    pub fn new(root: PathBuf, below: PathBuf, recursive: bool) -> Self {
        Self {
            root,
            below,
            recursive,
            way: Way::default(),
            known: Known::new(),
            folders: BTreeSet::new(),
            touched: BTreeMap::new(),
            all: true,
        }
    }

    /// Where it is, for people.
    pub fn path(&self) -> PathBuf {
        self.root.join(&self.below)
    }

    /// How much it remembers.
    pub fn entries(&self) -> usize {
        self.known.len()
    }

    /// Everything has to be looked at, next time.
    pub fn look_at_everything(&mut self) {
        self.all = true;
        self.touched.clear();
    }

    /// An event spoke of a path. Whether it is about this; at most `most` paths are remembered one by one.
    pub fn touch(&mut self, path: &Path, touch: Touch, most: usize) -> bool {
        let below = self.way.end.as_deref().and_then(|end| path.strip_prefix(end).ok());
        let Some(below) = below.filter(|below| !below.as_os_str().is_empty()) else {
            let is_way = self.way.names.iter().any(|name| name == path) || self.folders.contains(path);
            self.all |= is_way;
            // Where the watched path is a file, its writing is a reason to tell it even if it looks the same.
            if is_way && self.way.end.as_deref() == Some(path) {
                self.join(PathBuf::new(), touch, most);
            }
            return is_way;
        };
        if !self.recursive && below.components().count() > 1 {
            return false;
        }
        self.join(below.to_owned(), touch, most);
        true
    }

    fn join(&mut self, below: PathBuf, touch: Touch, most: usize) {
        let said = self.touched.entry(below).or_default();
        said.content |= touch.content;
        said.moved |= touch.moved;
        if self.touched.len() > most {
            self.look_at_everything();
        }
    }

    /// Looks for the first time. What is there is known from now on; told is what changed since it was asked for: whether all of it is to be
    /// looked at, and else which files.
    pub fn begin(&mut self, asked: SystemTime, ears: &mut dyn Ears, room: usize) -> Result<(bool, Changes), Trouble> {
        self.look(ears, room)?;
        let then = nanoseconds(asked - CLOCK_STEP);
        let is_since = |entry: &Entry| entry.is_since(then);
        // Of what went, only the folder tells in which it was.
        let around = self.way.names.last().and_then(|name| name.parent());
        let went = self.known.is_empty()
            && around.and_then(|folder| std::fs::symlink_metadata(folder).ok()).is_some_and(|folder| is_since(&Entry::of(&folder)));
        let rescan = went || self.known.values().any(|entry| entry.kind == Kind::Folder && is_since(entry));
        let changed = self.known.iter().filter(|(_, entry)| is_since(entry)).map(|(path, _)| (path.clone(), Change::Modified)).collect();
        Ok((rescan, changed))
    }

    /// Looks at what was touched, or at everything if that is needed, and gives the differences. `room`: how many entries it may have.
    pub fn look(&mut self, ears: &mut dyn Ears, room: usize) -> Result<Changes, Trouble> {
        let touched = std::mem::take(&mut self.touched);
        let mut changes = Changes::new();
        if std::mem::take(&mut self.all) {
            let known = self.look_at_all(ears, room)?;
            differences(&self.known, &known, &touched, &mut changes);
            self.known = known;
            return Ok(changes);
        }
        for (below, touch) in touched {
            if !changes.contains_key(&below) {
                self.look_at(&below, touch, ears, room, &mut changes)?;
            }
        }
        Ok(changes)
    }

    fn look_at_all(&mut self, ears: &mut dyn Ears, room: usize) -> Result<Known, Trouble> {
        let mut wanted = BTreeSet::new();
        for _ in 0..ROUNDS {
            self.way = way(&self.root, &self.below);
            let mut fresh = false;
            let folders: Vec<PathBuf> = self.way.names.iter().filter_map(|name| name.parent()).map(Path::to_owned).collect();
            for folder in folders {
                if !wanted.contains(&folder) {
                    fresh |= self.listen(&folder, false, ears)?;
                    wanted.insert(folder);
                }
            }
            if !fresh {
                break;
            }
        }
        let mut known = Known::new();
        if let Some(end) = self.way.end.clone()
            && let Ok(metadata) = metadata(&self.root, &end)
        {
            known.insert(PathBuf::new(), Entry::of(&metadata));
            if metadata.is_dir() {
                self.walk(&end, Path::new(""), false, ears, room, &mut known)?;
                wanted.extend(
                    known
                        .iter()
                        .filter(|(below, entry)| entry.kind == Kind::Folder && self.reads(below))
                        .map(|(below, _)| join(&end, below)),
                );
            }
        }
        for folder in self.folders.difference(&wanted) {
            ears.forget(folder);
        }
        self.folders.retain(|folder| wanted.contains(folder));
        Ok(known)
    }

    fn reads(&self, below: &Path) -> bool {
        self.recursive || below.as_os_str().is_empty()
    }

    /// Looks at one path below the end of the way.
    fn look_at(&mut self, below: &Path, touch: Touch, ears: &mut dyn Ears, room: usize, changes: &mut Changes) -> Result<(), Trouble> {
        let Some(end) = self.way.end.clone() else { return Ok(()) };
        let path = join(&end, below);
        let found = match metadata(&self.root, &path) {
            Ok(metadata) => Some(Entry::of(&metadata)),
            Err(error) if is_absence(&error) => None,
            Err(_) => return Ok(()),
        };
        let is_folder = |entry: Option<&Entry>| entry.is_some_and(|entry| entry.kind == Kind::Folder);
        let before = self.known.get(below);
        if is_folder(found.as_ref()) && is_folder(before) && !touch.moved && before.map(|entry| entry.file) == found.map(|entry| entry.file)
        {
            return Ok(());
        }
        let others = self.known.len();
        let mut new = Known::new();
        if let Some(entry) = found {
            new.insert(below.to_owned(), entry);
            if entry.kind == Kind::Folder && self.recursive {
                self.walk(&path, below, true, ears, room.saturating_sub(others), &mut new)?;
            }
        }
        if new.len() + others > room {
            return Err(Trouble::TooMany);
        }
        let folders: BTreeSet<PathBuf> =
            new.iter().filter(|(_, entry)| entry.kind == Kind::Folder).map(|(below, _)| join(&end, below)).collect();
        let gone: Vec<PathBuf> = self
            .folders
            .range(path.clone()..)
            .take_while(|folder| folder.starts_with(&path))
            .filter(|folder| !folders.contains(*folder))
            .cloned()
            .collect();
        for folder in gone {
            ears.forget(&folder);
            self.folders.remove(&folder);
        }
        let old = self.take(below);
        differences(&old, &new, &BTreeMap::from([(below.to_owned(), touch)]), changes);
        self.known.extend(new);
        Ok(())
    }

    /// Takes what is known of a path, and below it.
    fn take(&mut self, below: &Path) -> Known {
        let paths: Vec<PathBuf> =
            self.known.range(below.to_owned()..).map(|(path, _)| path).take_while(|path| path.starts_with(below)).cloned().collect();
        paths.into_iter().filter_map(|path| self.known.remove_entry(&path)).collect()
    }

    fn listen(&mut self, folder: &Path, anew: bool, ears: &mut dyn Ears) -> Result<bool, Trouble> {
        let Ok(metadata) = std::fs::symlink_metadata(folder) else { return Ok(false) };
        let fresh = ears.listen(folder, Identity::of(&metadata), anew)?;
        Ok(self.folders.insert(folder.to_owned()) || fresh)
    }

    /// Reads a folder, and those in it. What cannot be read is as it was known.
    fn walk(&mut self, folder: &Path, below: &Path, anew: bool, ears: &mut dyn Ears, room: usize, into: &mut Known) -> Result<(), Trouble> {
        let mut ahead = vec![(folder.to_owned(), below.to_owned())];
        while let Some((folder, below)) = ahead.pop() {
            self.listen(&folder, anew, ears)?;
            let opened = Pinned::inside(&self.root, &folder);
            let entries = match opened.as_ref().map_err(|error| io::Error::from(error.kind())).and_then(Pinned::read) {
                Ok(entries) => entries,
                Err(error) => {
                    if !is_absence(&error) {
                        into.extend(
                            self.known
                                .range(below.clone()..)
                                .take_while(|(path, _)| path.starts_with(&below))
                                .map(|(path, entry)| (path.clone(), *entry)),
                        );
                    }
                    continue;
                }
            };
            for entry in entries.flatten() {
                // WASI has no name for one that is not UTF-8.
                let name = entry.file_name();
                let (Some(name), Ok(metadata)) = (name.to_str(), entry.metadata()) else { continue };
                let path = below.join(name);
                if metadata.is_dir() && self.recursive {
                    ahead.push((folder.join(name), path.clone()));
                }
                into.insert(path, Entry::of(&metadata));
                if into.len() > room {
                    return Err(Trouble::TooMany);
                }
            }
        }
        Ok(())
    }

    /// Remembers nothing, and listens to nothing any more.
    pub fn forget(&mut self, ears: &mut dyn Ears) {
        self.known.clear();
        self.deafen(ears);
    }

    /// Listens to nothing any more.
    pub fn deafen(&mut self, ears: &mut dyn Ears) {
        for folder in std::mem::take(&mut self.folders) {
            ears.forget(&folder);
        }
        self.look_at_everything();
    }
}

fn join(end: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() { end.to_owned() } else { end.join(below) }
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn differences(old: &Known, new: &Known, touched: &BTreeMap<PathBuf, Touch>, into: &mut Changes) {
    for path in old.keys().filter(|path| !new.contains_key(*path)) {
        into.insert(path.clone(), Change::Removed);
    }
    for (path, entry) in new {
        let change = match old.get(path) {
            None => Change::Created,
            Some(before) if before.kind == Kind::Folder && entry.kind == Kind::Folder => continue,
            Some(before) if before != entry || touched.get(path).is_some_and(|touch| touch.content) => Change::Modified,
            Some(_) => continue,
        };
        into.insert(path.clone(), change);
    }
}
