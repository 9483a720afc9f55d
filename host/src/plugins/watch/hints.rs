//! What the system says of changes, as hints: which paths to look at again.
//!
//! Invariants: nothing waits here without bound (past [`MAX_PATHS`] everything counts as touched); what concerns nobody wakes nobody, such
//! as the reading of files, or a compiler's work in a folder to which a link leads; a watched folder that was made anew is watched anew.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use notify::{
    Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode, ModifyKind, RenameMode},
};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{
    mounts::Mounts,
    scan::{self, Scan},
    settling::Hint,
};

/// Paths that are remembered one by one until the next look.
const MAX_PATHS: usize = 10_000;

/// What was said since the last look.
#[derive(Debug, Default)]
pub(super) struct Said {
    paths: HashMap<PathBuf, Hint>,
    /// Something was lost: anything may have changed.
    all: bool,
}

impl Said {
    /// What it means for a path that events may call by these names.
    pub fn of<'a>(&self, mut names: impl Iterator<Item = &'a PathBuf>) -> Option<Hint> {
        if self.all {
            return Some(Hint::Touched);
        }
        // Where one of its names was only touched, it may still be written.
        names
            .try_fold(None, |hint: Option<Hint>, name| match (hint, self.paths.get(name)) {
                (_, Some(Hint::Touched)) => Err(Hint::Touched),
                (hint, said) => Ok(said.copied().or(hint)),
            })
            .unwrap_or_else(Some)
    }

    /// Adds what was said later.
    pub fn join(&mut self, later: Self) {
        self.all |= later.all;
        self.paths.extend(later.paths);
    }

    fn take_in(&mut self, path: &Path, hint: Hint, content: bool) {
        if self.paths.len() >= MAX_PATHS {
            self.all = true;
            self.paths.clear();
        }
        if self.all {
            return;
        }
        let said = self.paths.entry(path.to_owned()).or_insert(hint);
        // The last word counts, but a change of rights or times does not mean that it is being written again.
        if content || hint > *said {
            *said = hint;
        }
    }
}

#[derive(Default)]
struct State {
    said: Said,
    /// The names that concern somebody, and the folder of which every component does.
    names: HashSet<PathBuf>,
    folder: Option<PathBuf>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    arrived: Notify,
}

/// See the module's page.
pub(super) struct Hints {
    shared: Arc<Shared>,
    watcher: Option<RecommendedWatcher>,
    watched: BTreeMap<PathBuf, Watched>,
}

/// A folder.
struct Watched {
    /// What tells it from another that took its place.
    file: (u64, u64),
    /// The type of the file system, if others change it unseen.
    shared: Option<String>,
}

/// Resolves when something was said.
#[derive(Clone)]
pub(super) struct Arrivals(Arc<Shared>);

impl Arrivals {
    pub async fn next(&self) {
        self.0.arrived.notified().await;
    }
}

impl Hints {
    /// None are given.
    pub fn none() -> Self {
        Self { shared: Arc::default(), watcher: None, watched: BTreeMap::new() }
    }

    /// Those of the system.
    ///
    /// # Errors
    /// It gives none; why.
    pub fn of_system() -> notify::Result<Self> {
        let shared = Arc::<Shared>::default();
        let watcher = notify::recommended_watcher({
            let shared = shared.clone();
            move |event| shared.hear(event)
        })?;
        Ok(Self { shared, watcher: Some(watcher), watched: BTreeMap::new() })
    }

    pub fn arrivals(&self) -> Arrivals {
        Arrivals(self.shared.clone())
    }

    /// What was said since the last time.
    pub fn take(&self) -> Said {
        std::mem::take(&mut self.shared.state.lock().said)
    }

    /// A watched folder that others change unseen, and the type of its file system.
    pub fn shared(&self) -> Option<(&Path, &str)> {
        self.watched.iter().find_map(|(folder, watched)| Some((&**folder, watched.shared.as_deref()?)))
    }

    /// From now on, hears of what a scan found to matter. Returns whether there is a folder that was not watched before, so that what
    /// happened in it till now went unheard; and why the first of those cannot be watched that cannot. Blocks.
    pub fn follow(&mut self, scan: &Scan) -> (bool, Option<String>) {
        {
            let mut state = self.shared.state.lock();
            state.names = scan.names.keys().cloned().collect();
            state.folder.clone_from(&scan.real_folder);
        }
        let Some(watcher) = &mut self.watcher else { return (false, None) };
        let gone: BTreeSet<_> = self.watched.keys().filter(|folder| !scan.watched.contains(*folder)).cloned().collect();
        for folder in gone {
            self.watched.remove(&folder);
            // It may have been removed, and its watch with it.
            let _ = watcher.unwatch(&folder);
        }
        let (mut fresh, mut failure, mut mounts) = (false, None, None);
        for folder in &scan.watched {
            let Ok(metadata) = std::fs::metadata(folder) else { continue };
            let file = scan::stamp(&metadata).file;
            match self.watched.get(folder) {
                Some(known) if known.file == file => continue,
                Some(_) => drop(watcher.unwatch(folder)),
                None => {}
            }
            match watcher.watch(folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    fresh = true;
                    let mounts = mounts.get_or_insert_with(Mounts::now);
                    let shared = mounts.shared(folder).map(str::to_owned);
                    self.watched.insert(folder.clone(), Watched { file, shared });
                }
                Err(error) => {
                    self.watched.remove(folder);
                    failure.get_or_insert_with(|| format!("{}: {error}", folder.display()));
                }
            }
        }
        (fresh, failure)
    }
}

impl Shared {
    fn hear(&self, event: notify::Result<Event>) {
        let mut state = self.state.lock();
        let Ok(event) = event else {
            state.said.all = true;
            drop(state);
            return self.arrived.notify_one();
        };
        if event.need_rescan() {
            state.said.all = true;
        }
        let concerns = |state: &State, path: &Path| {
            let of_folder = path.parent().is_some_and(|parent| state.folder.as_deref() == Some(parent));
            state.names.contains(path) || (of_folder && path.file_name().is_some_and(scan::is_component))
        };
        let mut news = state.said.all;
        for (path, hint, content) in meaning(&event) {
            if concerns(&state, path) {
                state.said.take_in(path, hint, content);
                news = true;
            }
        }
        drop(state);
        if news {
            self.arrived.notify_one();
        }
    }
}

/// What an event says of each path it names, and whether it is about the content.
fn meaning(event: &Event) -> impl Iterator<Item = (&PathBuf, Hint, bool)> {
    let complete = |at: usize| match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) | EventKind::Modify(ModifyKind::Name(RenameMode::To)) => true,
        EventKind::Modify(ModifyKind::Name(RenameMode::Both)) => at == 1,
        _ => false,
    };
    let silent = matches!(event.kind, EventKind::Access(kind) if !matches!(kind, AccessKind::Close(AccessMode::Write)));
    let content = !matches!(event.kind, EventKind::Modify(ModifyKind::Metadata(_)));
    let said = move |(at, path)| (path, if complete(at) { Hint::Complete } else { Hint::Touched }, content);
    event.paths.iter().enumerate().filter(move |_| !silent).map(said)
}

#[cfg(test)]
mod tests {
    use notify::event::{CreateKind, DataChange, MetadataKind};

    use super::*;

    fn said(kinds: &[(EventKind, &[&str])]) -> Said {
        let shared = Shared::default();
        shared.state.lock().names = ["/p/a.wasm".into(), "/p/b.wasm".into()].into();
        for (kind, paths) in kinds {
            let event = paths.iter().fold(Event::new(*kind), |event, path| event.add_path(path.into()));
            shared.hear(Ok(event));
        }
        std::mem::take(&mut shared.state.lock().said)
    }

    fn hint(kinds: &[(EventKind, &[&str])]) -> Option<Hint> {
        said(kinds).of([PathBuf::from("/p/a.wasm")].iter())
    }

    const A: &[&str] = &["/p/a.wasm"];
    const CREATED: EventKind = EventKind::Create(CreateKind::File);
    const WRITTEN: EventKind = EventKind::Modify(ModifyKind::Data(DataChange::Any));
    const CLOSED: EventKind = EventKind::Access(AccessKind::Close(AccessMode::Write));
    const CHMOD: EventKind = EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any));

    #[test]
    fn the_last_word_counts() {
        assert_eq!(hint(&[(CREATED, A), (WRITTEN, A), (CLOSED, A)]), Some(Hint::Complete));
        assert_eq!(hint(&[(CLOSED, A), (WRITTEN, A)]), Some(Hint::Touched), "somebody writes to it again");
        assert_eq!(hint(&[(CLOSED, A), (CHMOD, A)]), Some(Hint::Complete));
        assert_eq!(hint(&[(CHMOD, A)]), Some(Hint::Touched));
    }

    #[test]
    fn a_rename_completes_what_it_leads_to_and_touches_where_it_came_from() {
        let rename = EventKind::Modify(ModifyKind::Name(RenameMode::Both));
        let said = said(&[(rename, &["/p/b.wasm", "/p/a.wasm"])]);
        assert_eq!(said.of([PathBuf::from("/p/a.wasm")].iter()), Some(Hint::Complete));
        assert_eq!(said.of([PathBuf::from("/p/b.wasm")].iter()), Some(Hint::Touched));
        let both = ["/p/a.wasm", "/p/b.wasm"].map(PathBuf::from);
        assert_eq!(said.of(both.iter()), Some(Hint::Touched), "a file of both names may not be complete");
    }

    #[test]
    fn reading_and_what_concerns_nobody_say_nothing() {
        let opened = EventKind::Access(AccessKind::Open(AccessMode::Any));
        assert_eq!(hint(&[(opened, A)]), None);
        assert!(said(&[(CLOSED, &["/p/c.txt"])]).paths.is_empty());
    }

    #[test]
    fn what_is_too_much_to_remember_touches_everything() {
        let shared = Shared::default();
        shared.state.lock().folder = Some("/p".into());
        for n in 0..=MAX_PATHS {
            shared.hear(Ok(Event::new(CLOSED).add_path(format!("/p/{n}.wasm").into())));
        }
        let said = std::mem::take(&mut shared.state.lock().said);
        assert!(said.all && said.paths.is_empty());
        assert_eq!(said.of([].iter()), Some(Hint::Touched));
    }
}
