//! Who is listened to: which files are watched, and what is announced when they change.
//!
//! Watched is what the subscriptions need and no more: git's own small files, and all of the working tree only while someone is
//! subscribed to what depends on it. What depends on references is announced if the object it shows is another one. What depends on the
//! working tree is looked at when a file changed that git does not ignore, or the index did, and announced if it is another text; where
//! looking takes long, it is announced without, since whoever wants to know reads it anyway.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use git_repository::Repository;

use crate::{
    bindings::{
        exports::wharf::provider::file_handler::{Change, FileChange},
        wharf::provider::{announce, file_watch, types::Error},
    },
    error, pages,
    source::Source,
    uri::Resource,
};

/// Files of git's folder that say what the status shows. Others come and go with every command.
const SAYING: [&str; 6] = ["HEAD", "index", "packed-refs", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"];
const LOCK: &str = ".lock";
/// Watches of a repository are called by its name, a slash, and one of these.
const GIT: &str = "git";
const COMMON: &str = "common";
const REFS: &str = "refs";
const WORK: &str = "work";

/// Of the time of a question, so much may go into finding out whether the working tree's status is another one. Readers wait meanwhile.
const LOOK: u32 = 10;
/// After a look that took longer, there is none for so long.
const PAUSE: Duration = Duration::from_secs(60);

#[derive(Default)]
pub struct Live {
    /// By URI.
    subscribed: BTreeMap<String, Subscription>,
    /// Watches that are set, by name.
    watched: BTreeSet<String>,
}

struct Subscription {
    source: String,
    resource: Resource,
    /// What was known when listeners last heard of it; `None`: not known, so the next change counts.
    version: Option<String>,
    /// The last look took too long: none until then.
    pause: Option<Instant>,
}

/// A watch that is needed.
struct Watch {
    name: String,
    path: PathBuf,
    recursive: bool,
}

/// What changed in one repository.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Git's own files.
    pub git: bool,
    /// Anything: there is no telling what.
    pub all: bool,
    /// Files of the working tree, relative to it.
    pub work: Vec<PathBuf>,
}

impl Live {
    pub fn subscribe(&mut self, uri: String, source: &Source, resource: Resource) -> Result<(), Error> {
        let repository = source.open().map_err(|error| match self::error(error) {
            // There may be one later, and then it is watched.
            Error::Denied(text) => Error::Unavailable(text),
            error => error,
        })?;
        if resource.is_of_work() && repository.work_folder().is_none() {
            return Err(Error::NotFound);
        }
        // Watched before it is looked at, so that no change falls between.
        for watch in watches(source, &repository, resource.is_of_work()) {
            if self.watched.contains(&watch.name) {
                continue;
            }
            if let Err(error) = file_watch::watch(&watch.name, &watch.path.display().to_string(), watch.recursive) {
                self.release(&source.name);
                return Err(error);
            }
            self.watched.insert(watch.name);
        }
        let mut subscription = Subscription { source: source.name.clone(), resource, version: None, pause: None };
        moved(&repository, &mut subscription, source.time);
        self.subscribed.insert(uri, subscription);
        Ok(())
    }

    pub fn unsubscribe(&mut self, uri: &str) {
        if let Some(gone) = self.subscribed.remove(uri) {
            self.release(&gone.source);
        }
    }

    /// Ends the watches of a repository that no subscription needs.
    fn release(&mut self, source: &str) {
        let mut needing = self.subscribed.values().filter(|subscription| subscription.source == source).peekable();
        let any = needing.peek().is_some();
        let work = needing.any(|subscription| subscription.resource.is_of_work());
        self.watched.retain(|name| {
            let needed = match name.split_once('/') {
                Some((of, part)) if of == source => any && (part != WORK || work),
                _ => true,
            };
            if !needed {
                file_watch::unwatch(name);
            }
            needed
        });
    }

    /// Announces what the changes changed.
    pub fn changed(&mut self, sources: &[Source], changes: &[FileChange]) {
        let mut uris = Vec::new();
        let all = sources.iter().map(|source| (source, sort(source, changes))).filter(|(_, changed)| *changed != Changed::default());
        let all: Vec<_> = all.collect();
        for (source, changed) in &all {
            // The time of one call is for all repositories of which something is told.
            self.announce(source, changed, source.time / u32::try_from(all.len()).unwrap_or(u32::MAX), &mut uris);
        }
        if !uris.is_empty() {
            announce::updated(&uris);
        }
    }

    fn announce(&mut self, source: &Source, changed: &Changed, time: Duration, uris: &mut Vec<String>) {
        let repository = source.open().ok().filter(|repository| repository.begin(time).is_ok());
        let work = repository
            .as_ref()
            .is_none_or(|repository| changed.all || repository.any_counts(changed.work.iter().map(PathBuf::as_path)).unwrap_or(true));
        let mut subscriptions: Vec<_> = self.subscribed.iter_mut().filter(|(_, subscription)| subscription.source == source.name).collect();
        // Those that take a time of their own last.
        subscriptions.sort_by_key(|(_, subscription)| subscription.resource.is_of_work());
        for (uri, subscription) in subscriptions {
            let told = match &repository {
                // One that cannot be read any more has changed for all who read it.
                None => {
                    subscription.version = None;
                    true
                }
                Some(repository) => {
                    let concerned = changed.git || changed.all || work && subscription.resource.is_of_work();
                    concerned && moved(repository, subscription, source.time)
                }
            };
            if told {
                uris.push(uri.clone());
            }
        }
    }
}

/// What has to be watched in a repository.
fn watches(source: &Source, repository: &Repository, work: bool) -> Vec<Watch> {
    let watch = |part: &str, path: PathBuf, recursive| Watch { name: format!("{}/{part}", source.name), path, recursive };
    let (git, common) = (repository.git_folder(), repository.common_folder());
    let mut watches = vec![watch(GIT, git.to_owned(), false), watch(REFS, common.join("refs"), true)];
    if git != common {
        watches.push(watch(COMMON, common.to_owned(), false));
    }
    if work && let Some(folder) = repository.work_folder() {
        watches.push(watch(WORK, folder.to_owned(), true));
    }
    watches
}

/// What changed in this repository, of all that changed.
fn sort(source: &Source, changes: &[FileChange]) -> Changed {
    let mut changed = Changed::default();
    for change in changes {
        let Some((name, part)) = change.name.split_once('/') else { continue };
        if name != source.name {
            continue;
        }
        let path = Path::new(&change.path);
        let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        match (part, change.change) {
            (WORK, Change::Rescan) => changed.all = true,
            (_, Change::Rescan) => changed.git = true,
            (GIT | COMMON, _) => changed.git |= SAYING.contains(&file) || path == source.folder.join(".git"),
            (REFS, _) => changed.git |= !file.ends_with(LOCK),
            (WORK, _) => {
                // Git's own files are in the other watches.
                if let Ok(path) = path.strip_prefix(&source.folder)
                    && !path.iter().any(|part| part == ".git")
                {
                    changed.work.push(path.to_owned());
                }
            }
            _ => {}
        }
    }
    changed
}

/// Whether a subscribed resource shows something else than it did, or may.
fn moved(repository: &Repository, subscription: &mut Subscription, time: Duration) -> bool {
    let now = if !subscription.resource.is_of_work() {
        version(repository, &subscription.resource)
    } else if subscription.pause.is_some_and(|until| Instant::now() < until) {
        None
    } else {
        let (began, look) = (Instant::now(), time / LOOK);
        let page = repository.begin(look).and_then(|()| pages::page_of_work(repository, &subscription.resource));
        subscription.pause = if began.elapsed() > look { began.checked_add(PAUSE) } else { None };
        page.ok().filter(|page| page.whole).map(|page| pages::hash(&page.body))
    };
    let moved = now.is_none() || now != subscription.version;
    subscription.version = now;
    moved
}

/// What the resource shows, in short; a missing one is a version, too.
fn version(repository: &Repository, resource: &Resource) -> Option<String> {
    match pages::version(repository, resource) {
        Ok(version) => Some(version.unwrap_or_default()),
        Err(git_repository::Error::NotFound(_)) => Some(String::new()),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn change(name: &str, path: &str) -> FileChange {
        FileChange { name: name.into(), path: path.into(), change: Change::Modified }
    }

    #[test]
    fn what_changed_is_told_by_watch_and_name() {
        let source = Source::new("repo".into(), "/repo".into(), Duration::from_secs(1));
        let sorted = |changes: &[FileChange]| sort(&source, changes);
        for quiet in [
            change("repo/git", "/repo/.git/index.lock"),
            change("repo/git", "/repo/.git/COMMIT_EDITMSG"),
            change("repo/refs", "/repo/.git/refs/heads/main.lock"),
            change("repo/work", "/repo/.git/objects/12/34"),
            change("other/work", "/repo/a"),
            change("repo", "/repo/a"),
        ] {
            assert_eq!(sorted(std::slice::from_ref(&quiet)), Changed::default(), "{quiet:?}");
        }
        for git in [
            change("repo/git", "/repo/.git/HEAD"),
            change("repo/git", "/repo/.git/index"),
            change("repo/refs", "/repo/.git/refs/heads/main"),
        ] {
            assert!(sorted(&[git]).git);
        }
        let work = sorted(&[change("repo/work", "/repo/src/main.rs"), change("repo/work", "/repo/sub/.git/HEAD")]);
        assert_eq!(work, Changed { work: vec!["src/main.rs".into()], ..Changed::default() });
        let rescan = |name: &str| FileChange { change: Change::Rescan, ..change(name, "/repo") };
        assert!(sorted(&[rescan("repo/work")]).all && sorted(&[rescan("repo/git")]).git);
    }
}
