//! Following files: the plugins folder, and files anywhere.
//!
//! Events are hints, the look is the truth: whatever an event says, and also where none comes, every path is looked at, and what is told is
//! the state in which the files came to rest ([`View`]). So nothing depends on which events a system, a mount or an editor makes of a save.

mod hints;
mod mounts;
mod scan;
mod settling;
#[cfg(test)]
#[cfg(unix)]
mod tests;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep_until},
};

pub(super) use self::scan::is_component;
use self::{
    hints::Hints,
    scan::{Scan, scan},
    settling::Track,
};
pub use self::{
    scan::{Folder, Followed},
    settling::Resting,
};
use crate::config::Watch;

/// Everything is looked at so often also where events come: some changes make none.
const RESCAN: Duration = Duration::from_secs(10);
/// And so often where none come. A look at 100 files takes less than a millisecond.
const POLL: Duration = Duration::from_secs(1);
/// The least time between two looks. A look that takes long, at many files or over a network, is followed by a pause as long as itself.
const PAUSE: Duration = Duration::from_millis(10);
/// Looks in a row when folders that have to be watched turn up on the way.
const WATCH_ROUNDS: usize = 3;

/// The files as they rest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    /// How the folder was found.
    pub folder: Folder,
    /// Every path that is followed, and every component that is or was in the folder.
    pub files: Arc<BTreeMap<PathBuf, Resting>>,
}

impl View {
    /// How a path rests.
    pub fn of(&self, path: &Path) -> Resting {
        self.files.get(path).copied().unwrap_or_default()
    }
}

/// Follows files until it is dropped.
pub struct Watching {
    followed: watch::Sender<Followed>,
    view: watch::Receiver<View>,
    task: JoinHandle<()>,
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Watching {
    /// Begins, with a first look at everything. What is found then rests as it is; what is found later has to come to rest first. `mode` is
    /// never [`Watch::Off`].
    pub async fn start(followed: Followed, mode: Watch) -> Self {
        let (followed, wanted) = watch::channel(followed);
        let (told, view) = watch::channel(View::default());
        let mut follower = Follower::new(mode, wanted);
        follower.look(true).await;
        told.send_replace(follower.view());
        let task = tokio::spawn(async move {
            loop {
                follower.wait().await;
                follower.look(false).await;
                let view = follower.view();
                told.send_if_modified(|told| {
                    let news = *told != view;
                    *told = view;
                    news
                });
                if told.is_closed() {
                    return;
                }
            }
        });
        Self { followed, view, task }
    }

    /// Follows these from now on.
    pub fn follow(&self, followed: Followed) {
        self.followed.send_if_modified(|before| {
            let news = *before != followed;
            *before = followed;
            news
        });
    }

    /// The files as they rest; wakes at each change.
    pub fn view(&self) -> watch::Receiver<View> {
        self.view.clone()
    }
}

struct Follower {
    mode: Watch,
    wanted: watch::Receiver<Followed>,
    /// Taken while a look is under way.
    hints: Option<Hints>,
    tracks: BTreeMap<PathBuf, Track>,
    revisions: u64,
    folder: Folder,
    /// When to look again, if nothing is said before.
    next: Instant,
    /// Not to look again before.
    not_before: Instant,
    /// Why no events come, once it was said.
    deaf: Option<String>,
    /// That events do not tell everything, once it was said.
    half_deaf: bool,
}

impl Follower {
    fn new(mode: Watch, wanted: watch::Receiver<Followed>) -> Self {
        let now = Instant::now();
        let hints = match mode {
            Watch::Poll | Watch::Off => Ok(Hints::none()),
            Watch::Auto => Hints::of_system(),
        };
        let mut this = Self {
            mode,
            wanted,
            hints: None,
            tracks: BTreeMap::new(),
            revisions: 0,
            folder: Folder::None,
            next: now,
            not_before: now,
            deaf: None,
            half_deaf: false,
        };
        this.hints = Some(hints.unwrap_or_else(|error| {
            this.cannot_hear(error.to_string());
            Hints::none()
        }));
        this
    }

    async fn wait(&mut self) {
        let arrivals = self.hints.as_ref().map(Hints::arrivals);
        let said = async {
            match &arrivals {
                Some(arrivals) => arrivals.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = said => {}
            // Whoever wants it has gone, then: that is seen where it is told.
            _ = self.wanted.changed() => {}
            () = sleep_until(self.next) => {}
        }
        sleep_until(self.not_before).await;
    }

    async fn look(&mut self, first: bool) {
        let followed = self.wanted.borrow_and_update().clone();
        let Some(hints) = self.hints.take() else { return };
        let began = Instant::now();
        let looked = tokio::task::spawn_blocking(move || look(&followed, hints)).await;
        let now = Instant::now();
        let Ok((found, said, hints, failure)) = looked else {
            // It panicked, and took the watches with it.
            self.hints = Some(Hints::none());
            self.cannot_hear("looking at the files failed".into());
            self.next = now + POLL;
            return;
        };
        if let Some(failure) = failure {
            self.cannot_hear(failure);
        }
        let shared = hints.shared();
        self.next = now + if self.deaf.is_some() || self.mode == Watch::Poll || shared.is_some() { POLL } else { RESCAN };
        if let Some((folder, kind)) = shared.filter(|_| !self.half_deaf) {
            self.half_deaf = true;
            let pause = humantime::format_duration(POLL);
            tracing::info!(
                "{} is on {kind}, where the system does not tell of what others change: its files are looked at every {pause}, too",
                folder.display()
            );
        }
        self.not_before = now + PAUSE.max(now - began);
        self.take_in(found, &said, now, first);
        self.hints = Some(hints);
    }

    fn take_in(&mut self, found: Scan, said: &hints::Said, now: Instant, first: bool) {
        let mut names: BTreeMap<&PathBuf, Vec<&PathBuf>> = BTreeMap::new();
        for (name, paths) in &found.names {
            for path in paths {
                names.entry(path).or_default().push(name);
            }
        }
        let unknown = matches!(found.folder, Folder::Unreadable(_));
        let followed = self.wanted.borrow();
        let in_folder = |path: &Path| followed.folder.as_deref() == path.parent() && path.file_name().is_some_and(is_component);
        let is_followed = |path: &Path| followed.files.contains(path) || in_folder(path);
        self.tracks.retain(|path, _| is_followed(path));
        for (path, look) in &found.looks {
            if !self.tracks.contains_key(path) {
                let track = match look {
                    // Whoever names a file uses it as it is.
                    Some(look) if first || followed.files.contains(path) => Track::resting(*look, now),
                    _ => Track::new(now),
                };
                self.tracks.insert(path.clone(), track);
            }
        }
        for (path, track) in &mut self.tracks {
            let look = match found.looks.get(path) {
                Some(look) => *look,
                None if unknown => None,
                None => Some(settling::Look::Absent),
            };
            let hint = names.get(path).and_then(|names| said.of(names.iter().copied()));
            if let Some(due) = track.look(look, hint, now, &mut self.revisions) {
                self.next = self.next.min(due);
            }
        }
        // What went and is in no list any more need not be remembered.
        self.tracks.retain(|path, track| found.looks.contains_key(path) || !track.is_gone());
        self.folder = found.folder;
    }

    fn cannot_hear(&mut self, reason: String) {
        if self.deaf.is_none() {
            let pause = humantime::format_duration(POLL);
            tracing::warn!("changes of files are looked for every {pause}, since the system does not tell of them: {reason}");
            self.deaf = Some(reason);
        }
    }

    fn view(&self) -> View {
        View {
            folder: self.folder.clone(),
            files: Arc::new(self.tracks.iter().map(|(path, track)| (path.clone(), track.told())).collect()),
        }
    }
}

/// Watches first and looks then, so that nothing happens unseen in between.
fn look(followed: &Followed, mut hints: Hints) -> (Scan, hints::Said, Hints, Option<String>) {
    let (mut said, mut failure) = (hints::Said::default(), None);
    let mut rounds = 0;
    loop {
        // Before the look: what is said after it is about what the look may not have seen.
        said.join(hints.take());
        let found = scan(followed);
        let (fresh, failed) = hints.follow(&found);
        failure = failure.or(failed);
        rounds += 1;
        if !fresh || rounds == WATCH_ROUNDS {
            return (found, said, hints, failure);
        }
    }
}
