//! Who is listened to: which files are watched, and what is announced when they change.
//!
//! Watched is what the subscriptions need and no more: git's own small files, and all of the working tree only while someone is
//! subscribed to what depends on it. What depends on references is announced if the object it shows is another one; the working tree's
//! if a file changed that git does not ignore, or if the index did and with it the status.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use git_repository::Repository;

use crate::{
    bindings::{
        exports::wharf::provider::file_handler::{Change, FileChange},
        wharf::provider::{announce, file_watch, types::Error},
    },
    error,
    pages,
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
            if !self.watched.contains(&watch.name) {
                file_watch::watch(&watch.name, &watch.path.display().to_string(), watch.recursive)?;
                self.watched.insert(watch.name);
            }
        }
        let version = version(&repository, &resource);
        self.subscribed.insert(uri, Subscription { source: source.name.clone(), resource, version });
        Ok(())
    }

    pub fn unsubscribe(&mut self, uri: &str) {
        let Some(gone) = self.subscribed.remove(uri) else { return };
        let of_source = |subscription: &&Subscription| subscription.source == gone.source;
        let any = self.subscribed.values().any(|subscription| of_source(&subscription));
        let work = self.subscribed.values().filter(of_source).any(|subscription| subscription.resource.is_of_work());
        self.watched.retain(|name| {
            let needed = match name.split_once('/') {
                Some((source, part)) if source == gone.source => any && (part != WORK || work),
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
        for source in sources {
            let changed = sort(source, changes);
            if changed != Changed::default() {
                self.announce(source, &changed, &mut uris);
            }
        }
        if !uris.is_empty() {
            announce::updated(&uris);
        }
    }

    fn announce(&mut self, source: &Source, changed: &Changed, uris: &mut Vec<String>) {
        // A repository that cannot be read any more has changed for all who read it.
        let repository = source.open().ok();
        let work = match &repository {
            Some(repository) => changed.all || repository.any_counts(changed.work.iter().map(PathBuf::as_path)).unwrap_or(true),
            None => true,
        };
        for (uri, subscription) in self.subscribed.iter_mut().filter(|(_, subscription)| subscription.source == source.name) {
            let told = match &repository {
                None => true,
                Some(repository) if subscription.resource.is_of_work() => {
                    if work {
                        // Not looked at now, which would take as long as reading it: whoever wants to know reads it.
                        subscription.version = None;
                        true
                    } else {
                        changed.git && moved(repository, subscription, true)
                    }
                }
                Some(repository) => (changed.git || changed.all) && moved(repository, subscription, false),
            };
            if told {
                uris.push(uri.clone());
            }
        }
    }
}

/// What has to be watched in a repository.
fn watches(source: &Source, repository: &Repository, work: bool) -> Vec<Watch> {
    let watch =
        |part: &str, path: PathBuf, recursive| Watch { name: format!("{}/{part}", source.name), path, recursive };
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

/// Whether a subscribed resource shows something else than it did.
fn moved(repository: &Repository, subscription: &mut Subscription, look: bool) -> bool {
    let now = match look {
        false => version(repository, &subscription.resource),
        true => match pages::page_of_work(repository, &subscription.resource) {
            Ok(page) if page.whole => Some(pages::hash(&page.body)),
            _ => None,
        },
    };
    let moved = now.is_none() || now != subscription.version;
    subscription.version = now;
    moved
}

/// What the resource shows, in short; a missing one is a version, too.
fn version(repository: &Repository, resource: &Resource) -> Option<String> {
    match pages::version(repository, resource) {
        Ok(version) if resource.is_of_work() => version,
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
        for git in [change("repo/git", "/repo/.git/HEAD"), change("repo/git", "/repo/.git/index"), change("repo/refs", "/repo/.git/refs/heads/main")] {
            assert!(sorted(&[git]).git);
        }
        let work = sorted(&[change("repo/work", "/repo/src/main.rs"), change("repo/work", "/repo/sub/.git/HEAD")]);
        assert_eq!(work, Changed { work: vec!["src/main.rs".into()], ..Changed::default() });
        let rescan = |name: &str| FileChange { change: Change::Rescan, ..change(name, "/repo") };
        assert!(sorted(&[rescan("repo/work")]).all && sorted(&[rescan("repo/git")]).git);
    }
}
