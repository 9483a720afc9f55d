//! Tells when a provider's sources have changed.
//!
//! File events are hints, the scan is the truth: a change is a file whose content is another one than at the last scan, or that came or
//! went. What a build writes is none: hidden files, what `.gitignore` names, the usual folders for build output, `.wasm` files.

use std::{
    collections::{HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use ignore::{DirEntry, WalkBuilder};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};

/// An editor's save is several events, some milliseconds apart.
const QUIET: Duration = Duration::from_millis(20);
/// While events keep coming, it is looked no later than this after the first.
const PATIENCE: Duration = Duration::from_millis(300);
/// Where events get lost, as on network and container mounts, a change is found so much later.
const RESCAN: Duration = Duration::from_secs(2);
/// Larger files are told apart by time and size alone.
const MAX_HASHED: u64 = 4 << 20;
/// Folders for build output and packages, whether a `.gitignore` names them or not.
const OUTPUT_FOLDERS: [&str; 6] = ["target", "node_modules", "zig-out", "zig-cache", "__pycache__", "venv"];
/// The same, but only directly below the project's folder: deeper, it is a good name for a folder of sources.
const OUTPUT_FOLDERS_AT_TOP: [&str; 3] = ["build", "dist", "gen"];
/// Files that builds write beside the sources.
const LOCK_FILES: [&str; 4] = ["package-lock.json", "go.sum", "pnpm-lock.yaml", "requirements.lock"];

/// Something is another than it was.
#[derive(Debug)]
pub(super) struct Change {
    /// Below the folder.
    pub paths: Vec<PathBuf>,
    /// When the last of them was saved; now, where that cannot be told.
    pub saved: SystemTime,
}

impl Change {
    /// Whether it is only what a build writes by itself.
    pub fn is_of_lock_files(&self) -> bool {
        let is_lock = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.ends_with(".lock") || LOCK_FILES.contains(&&*name)
        };
        self.paths.iter().all(is_lock)
    }
}

/// Watches a folder until the receiver is dropped. The first scan is done when this returns.
pub(super) async fn watch(folder: PathBuf) -> mpsc::Receiver<Change> {
    let (changes, receiver) = mpsc::channel(1);
    let hints = Arc::<Hints>::default();
    let watcher = notify::recommended_watcher({
        let hints = hints.clone();
        move |event: notify::Result<notify::Event>| hints.take_in(event)
    });
    let watcher = watcher.inspect_err(|error| tracing::warn!("no file events, so changes are found later: {error}")).ok();
    let mut sources = Sources { folder, seen: HashMap::new(), watcher, watched: HashSet::new() };
    sources = scanned(sources, HashSet::new()).await.0;
    tokio::spawn(async move {
        loop {
            tokio::select! {
                () = hints.settled() => {}
                () = tokio::time::sleep(RESCAN) => {}
                () = changes.closed() => return,
            }
            let (next, change) = scanned(sources, hints.take()).await;
            sources = next;
            if let Some(change) = change
                && changes.send(change).await.is_err()
            {
                return;
            }
        }
    });
    receiver
}

/// Where something may have happened.
#[derive(Default)]
struct Hints {
    paths: Mutex<HashSet<PathBuf>>,
    came: Notify,
}

impl Hints {
    fn take_in(&self, event: notify::Result<notify::Event>) {
        // Reading a file is no change.
        if let Ok(event) = event
            && !event.kind.is_access()
        {
            self.paths.lock().extend(event.paths);
            self.came.notify_one();
        }
    }

    /// Returns when something happened, and nothing more did for a moment.
    async fn settled(&self) {
        self.came.notified().await;
        let quiet = async { while tokio::time::timeout(QUIET, self.came.notified()).await.is_ok() {} };
        let _ = tokio::time::timeout(PATIENCE, quiet).await;
    }

    fn take(&self) -> HashSet<PathBuf> {
        std::mem::take(&mut self.paths.lock())
    }
}

/// What a file was at the last scan.
#[derive(Clone, PartialEq)]
struct Seen {
    modified: Option<SystemTime>,
    size: u64,
    /// Not of large files.
    hash: Option<blake3::Hash>,
}

struct Sources {
    folder: PathBuf,
    seen: HashMap<PathBuf, Seen>,
    watcher: Option<RecommendedWatcher>,
    watched: HashSet<PathBuf>,
}

async fn scanned(mut sources: Sources, hinted: HashSet<PathBuf>) -> (Sources, Option<Change>) {
    let folder = sources.folder.clone();
    let scanning = tokio::task::spawn_blocking(move || {
        let change = sources.scan(&hinted);
        (sources, change)
    });
    scanning.await.unwrap_or_else(|_| {
        tracing::error!("the scan of the sources failed; it begins anew");
        (Sources { folder, seen: HashMap::new(), watcher: None, watched: HashSet::new() }, None)
    })
}

impl Sources {
    /// What has changed since the last scan. A file that was hinted at is read even if it looks as before: time stamps are coarse.
    fn scan(&mut self, hinted: &HashSet<PathBuf>) -> Option<Change> {
        let mut walk = WalkBuilder::new(&self.folder);
        // A `.gitignore` holds also where there is no repository; those above the folder may name all of it.
        walk.require_git(false).parents(false).git_global(false).git_exclude(false).ignore(false).filter_entry(is_source);
        let (mut seen, mut changed, mut saved) = (HashMap::new(), Vec::new(), None);
        let mut folders = HashSet::new();
        for entry in walk.build().flatten() {
            let Ok(file) = entry.metadata() else { continue };
            let path = entry.into_path();
            if file.is_dir() {
                folders.insert(path);
                continue;
            }
            let mut now = Seen { modified: file.modified().ok(), size: file.len(), hash: None };
            let before = self.seen.get(&path);
            let alike = before.is_some_and(|before| before.modified == now.modified && before.size == now.size);
            if alike && !hinted.contains(&path) {
                now.hash = before.and_then(|before| before.hash);
            } else {
                now.hash = hash(&path, now.size);
                let same = before.is_some_and(|before| match (before.hash, now.hash) {
                    (Some(before), Some(now)) => before == now,
                    _ => alike,
                });
                if !same {
                    saved = saved.max(now.modified);
                    changed.push(path.clone());
                }
            }
            seen.insert(path, now);
        }
        changed.extend(self.seen.keys().filter(|path| !seen.contains_key(*path)).cloned());
        self.seen = seen;
        self.watch(folders);
        if changed.is_empty() {
            return None;
        }
        changed.sort();
        let now = SystemTime::now();
        let paths = changed.into_iter().map(|path| path.strip_prefix(&self.folder).map(Path::to_owned).unwrap_or(path)).collect();
        Some(Change { paths, saved: saved.filter(|saved| *saved <= now).unwrap_or(now) })
    }

    /// Each folder by itself: below those that are left out, there may be very many.
    fn watch(&mut self, folders: HashSet<PathBuf>) {
        let Some(watcher) = &mut self.watcher else { return };
        for gone in self.watched.difference(&folders) {
            // It is gone from the watcher already, if it was removed.
            let _ = watcher.unwatch(gone);
        }
        for folder in &folders {
            // One that was removed and made again would have lost its watch unseen. Watching twice is watching once.
            if let Err(error) = watcher.watch(folder, RecursiveMode::NonRecursive) {
                tracing::debug!("no file events for {}: {error}", folder.display());
            }
        }
        self.watched = folders;
    }
}

fn is_source(entry: &DirEntry) -> bool {
    let name = entry.file_name().to_string_lossy();
    if entry.depth() == 0 {
        return true;
    }
    if entry.file_type().is_some_and(|kind| kind.is_dir()) {
        return !(OUTPUT_FOLDERS.contains(&&*name) || entry.depth() == 1 && OUTPUT_FOLDERS_AT_TOP.contains(&&*name));
    }
    // Editors' backups end with `~`; vim looks whether it can write by making `4913`.
    let is_written = [".wasm", ".tsbuildinfo", ".pyc", "~"].iter().any(|end| name.ends_with(end));
    !(is_written || name.starts_with('#') || name == "4913")
}

fn hash(path: &Path, size: u64) -> Option<blake3::Hash> {
    if size > MAX_HASHED { None } else { fs::read(path).ok().map(|content| blake3::hash(&content)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    struct Folder(tempfile::TempDir);

    impl Folder {
        /// Not in a hidden folder, as a temporary one is by itself.
        fn new(files: &[&str]) -> Self {
            let folder = Self(tempfile::Builder::new().prefix("sources").tempdir().unwrap());
            files.iter().for_each(|file| folder.write(file, file));
            folder
        }

        fn write(&self, file: &str, content: &str) {
            let path = self.0.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }

        async fn watch(&self) -> mpsc::Receiver<Change> {
            watch(self.0.path().to_owned()).await
        }
    }

    async fn next(changes: &mut mpsc::Receiver<Change>) -> Vec<String> {
        let change = tokio::time::timeout(LIMIT, changes.recv()).await.expect("no change is seen").unwrap();
        change.paths.iter().map(|path| path.display().to_string()).collect()
    }

    fn scan_of(folder: &Folder) -> Sources {
        let mut sources = Sources { folder: folder.0.path().to_owned(), seen: HashMap::new(), watcher: None, watched: HashSet::new() };
        sources.scan(&HashSet::new());
        sources
    }

    fn paths(change: Option<Change>) -> Vec<String> {
        change.map_or_else(Vec::new, |change| change.paths.iter().map(|path| path.display().to_string()).collect())
    }

    #[tokio::test]
    async fn files_that_change_come_and_go_are_told_also_in_new_folders() {
        let folder = Folder::new(&["a", "src/b"]);
        let mut changes = folder.watch().await;
        folder.write("src/b", "other");
        assert_eq!(next(&mut changes).await, ["src/b"]);
        fs::remove_file(folder.0.path().join("a")).unwrap();
        assert_eq!(next(&mut changes).await, ["a"]);
        folder.write("new/c", "c");
        assert_eq!(next(&mut changes).await, ["new/c"]);
        folder.write("new/c", "other");
        assert_eq!(next(&mut changes).await, ["new/c"]);
    }

    #[tokio::test]
    async fn an_editor_s_save_by_rename_is_one_change() {
        let folder = Folder::new(&["src/b"]);
        let mut changes = folder.watch().await;
        folder.write("src/.b.swp", "other");
        folder.write("src/4913", "");
        fs::remove_file(folder.0.path().join("src/4913")).unwrap();
        fs::rename(folder.0.path().join("src/b"), folder.0.path().join("src/b~")).unwrap();
        fs::rename(folder.0.path().join("src/.b.swp"), folder.0.path().join("src/b")).unwrap();
        // The rename may be seen half done.
        assert_eq!(next(&mut changes).await, ["src/b"]);
    }

    #[test]
    fn what_builds_write_is_no_change() {
        let folder = Folder::new(&[".gitignore", "a", "sub/.gitignore"]);
        folder.write(".gitignore", "/out/\n*.tmp\n");
        folder.write("sub/.gitignore", "mine\n");
        let mut sources = scan_of(&folder);
        for file in ["target/x/a", "node_modules/b/c", "out/a", "a.tmp", ".hidden", "a.wasm", "a~", "sub/mine", ".git/index"] {
            folder.write(file, "new");
        }
        for file in ["build/a", "gen/b.h", ".venv/c", ".zig-cache/d", "zig-out/e", "__pycache__/f", "a.tsbuildinfo", "a.pyc"] {
            folder.write(file, "new");
        }
        assert_eq!(paths(sources.scan(&HashSet::new())), Vec::<String>::new());
        folder.write("sub/yours", "new");
        folder.write("sub/build/a", "new");
        assert_eq!(paths(sources.scan(&HashSet::new())), ["sub/build/a", "sub/yours"]);
    }

    #[test]
    fn a_file_that_is_written_anew_with_the_same_content_is_no_change() {
        let folder = Folder::new(&["a"]);
        let mut sources = scan_of(&folder);
        fs::File::options().append(true).open(folder.0.path().join("a")).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(sources.scan(&HashSet::new()).is_none());
    }

    #[test]
    fn a_hint_finds_what_time_and_size_do_not_show() {
        let folder = Folder::new(&["a"]);
        let path = folder.0.path().join("a");
        let fix = || fs::File::options().append(true).open(&path).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        folder.write("a", "1");
        fix();
        let mut sources = scan_of(&folder);
        folder.write("a", "2");
        fix();
        assert!(sources.scan(&HashSet::new()).is_none());
        assert_eq!(paths(sources.scan(&HashSet::from([path.clone()]))), ["a"]);
    }

    #[test]
    fn lock_files_are_told_apart() {
        let change = |paths: &[&str]| Change { paths: paths.iter().map(PathBuf::from).collect(), saved: SystemTime::now() };
        assert!(change(&["Cargo.lock", "a/package-lock.json"]).is_of_lock_files());
        assert!(!change(&["Cargo.lock", "src/lib.rs"]).is_of_lock_files());
    }
}
