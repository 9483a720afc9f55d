//! The ways in which watched files change, on a real file system, with the system's events and without.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    os::unix::fs::symlink,
    path::Path,
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::Duration,
};

use super::{
    Bounds,
    Change::{Created, Modified, Removed, Rescan},
    *,
};
use crate::config::grants::Folder;

/// Far more than anything here takes.
const LIMIT: Duration = Duration::from_secs(60);
/// Neither of both ways to hear of changes may miss any.
const POLLS: [bool; 2] = [false, true];

/// A granted folder, `/g` for the provider.
struct World {
    _guard: tempfile::TempDir,
    root: PathBuf,
    files: Files,
}

struct Heard {
    told: Receiver<Vec<(String, Change)>>,
    _watching: Watching,
}

impl World {
    fn new(poll: bool) -> Self {
        Self::bounded(poll, Bounds::default())
    }

    fn bounded(poll: bool, bounds: Bounds) -> Self {
        let guard = tempfile::tempdir().unwrap();
        let root = guard.path().canonicalize().unwrap().join("granted");
        fs::create_dir(&root).unwrap();
        let files = Files::new();
        files.shared.bound(bounds);
        if poll {
            files.poll();
        }
        Self { _guard: guard, root, files }
    }

    fn watch(&self, path: &str, recursive: bool) -> Heard {
        self.watch_as("p", path, recursive)
    }

    fn watch_as(&self, owner: &str, path: &str, recursive: bool) -> Heard {
        let places = Places::find(&[Folder { host: self.root.clone(), guest: "/g".into(), write: false }], &Guarded::default());
        let (tell, told) = channel();
        let sink: Sink = Arc::new(move |changes| drop(tell.send(changes)));
        let watching = self.files.watch(&owner.into(), &places.locate(path).unwrap(), recursive, sink).unwrap();
        Heard { told, _watching: watching }
    }

    /// Watches a folder that is there, and returns once what happens in it is told as it happens.
    fn watch_folder(&self, path: &str, recursive: bool) -> Heard {
        let heard = self.watch(path, recursive);
        let marker = self.at(path).join(".marker");
        fs::write(&marker, "").unwrap();
        heard.hears(|path, change| path.ends_with(".marker") || change == Rescan);
        fs::remove_file(&marker).unwrap();
        heard.hears(|path, change| path.ends_with(".marker") && change == Removed);
        heard
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path.strip_prefix("/g").unwrap().trim_start_matches('/'))
    }
}

impl Heard {
    /// Waits for a change, and gives all that was told till then.
    fn hears(&self, wanted: impl Fn(&str, Change) -> bool) -> Vec<(String, Change)> {
        let mut all = Vec::new();
        loop {
            let told = self.told.recv_timeout(LIMIT).unwrap_or_else(|_| panic!("it was not told of, only {all:?}"));
            let found = told.iter().any(|(path, change)| wanted(path, *change));
            all.extend(told);
            if found {
                return all;
            }
        }
    }

    fn tells(&self, path: &str, change: Change) -> Vec<(String, Change)> {
        self.hears(|told, what| told == path && what == change)
    }
}

#[test]
fn each_way_of_changing_a_file_is_told_as_what_it_is() {
    for poll in POLLS {
        let world = World::new(poll);
        fs::create_dir(world.root.join("sub")).unwrap();
        let heard = world.watch_folder("/g", true);
        let (a, staged) = (world.root.join("sub/a"), world.root.parent().unwrap().join("staged"));
        fs::write(&a, "1").unwrap();
        heard.tells("/g/sub/a", Created);
        fs::write(&a, "22").unwrap();
        heard.tells("/g/sub/a", Modified);
        OpenOptions::new().append(true).open(&a).unwrap().write_all(b"33").unwrap();
        heard.tells("/g/sub/a", Modified);
        fs::write(&staged, "4").unwrap();
        fs::rename(&staged, &a).unwrap();
        heard.tells("/g/sub/a", Modified);
        fs::rename(&a, world.root.join(".hidden")).unwrap();
        let told = heard.tells("/g/sub/a", Removed);
        assert!(told.contains(&("/g/.hidden".into(), Created)), "a rename is both, at once, and a hidden file is told of: {told:?}");
        fs::remove_file(world.root.join(".hidden")).unwrap();
        heard.tells("/g/.hidden", Removed);
    }
}

#[test]
fn a_folder_that_comes_or_goes_is_told_with_all_that_is_in_it() {
    for poll in POLLS {
        let world = World::new(poll);
        let outside = world.root.parent().unwrap().join("outside");
        fs::create_dir_all(outside.join("b/c")).unwrap();
        fs::write(outside.join("b/c/d"), "").unwrap();
        let heard = world.watch_folder("/g", true);
        fs::rename(&outside, world.root.join("a")).unwrap();
        let told = heard.tells("/g/a/b/c/d", Created);
        for path in ["/g/a", "/g/a/b", "/g/a/b/c"] {
            assert!(told.contains(&(path.into(), Created)), "{path} in {told:?}");
        }
        fs::write(world.root.join("a/b/c/d"), "more").unwrap();
        heard.tells("/g/a/b/c/d", Modified);
        fs::rename(world.root.join("a"), &outside).unwrap();
        heard.tells("/g/a/b/c/d", Removed);
        // Where it went it is nobody's business.
        fs::write(outside.join("b/c/d"), "elsewhere").unwrap();
        fs::write(world.root.join("e"), "").unwrap();
        let told = heard.tells("/g/e", Created);
        assert!(told.iter().all(|(path, change)| path == "/g/e" || *change == Removed), "{told:?}");
    }
}

#[test]
fn a_watched_folder_may_be_missing_go_and_be_made_again() {
    for poll in POLLS {
        let world = World::new(poll);
        let heard = world.watch("/g/x/y", true);
        let y = world.root.join("x/y");
        let make = |content: &str| {
            fs::create_dir_all(&y).unwrap();
            fs::write(y.join("file"), content).unwrap();
        };
        make("1");
        heard.hears(|path, change| path == "/g/x/y/file" || change == Rescan);
        fs::write(y.join("file"), "22").unwrap();
        heard.hears(|path, change| path == "/g/x/y/file" && change != Rescan);
        fs::remove_dir_all(world.root.join("x")).unwrap();
        heard.tells("/g/x/y/file", Removed);
        make("333");
        heard.tells("/g/x/y/file", Created);
        // Quicker than anybody looks.
        fs::remove_dir_all(&y).unwrap();
        make("4444");
        heard.tells("/g/x/y/file", Modified);
        fs::write(y.join("file"), "and the new folder is watched as the old one was").unwrap();
        heard.tells("/g/x/y/file", Modified);
    }
}

#[test]
fn a_single_file_is_followed_through_rotation() {
    for poll in POLLS {
        let world = World::new(poll);
        let log = world.root.join("app.log");
        fs::write(&log, "1\n").unwrap();
        let heard = world.watch("/g/app.log", false);
        let append = || OpenOptions::new().append(true).create(true).open(&log).unwrap().write_all(b"2\n").unwrap();
        append();
        heard.hears(|_, _| true);
        fs::write(world.root.join("other.log"), "").unwrap();
        append();
        let told = heard.tells("/g/app.log", Modified);
        assert!(told.iter().all(|(path, _)| path == "/g/app.log"), "{told:?}");
        fs::rename(&log, world.root.join("app.log.1")).unwrap();
        heard.tells("/g/app.log", Removed);
        append();
        heard.tells("/g/app.log", Created);
        fs::rename(&log, world.root.join("app.log.1")).unwrap();
        append();
        heard.tells("/g/app.log", Modified);
        OpenOptions::new().write(true).truncate(true).open(&log).unwrap();
        heard.tells("/g/app.log", Modified);
    }
}

#[test]
fn a_watch_that_is_not_recursive_hears_of_the_folder_itself_only() {
    for poll in POLLS {
        let world = World::new(poll);
        fs::create_dir(world.root.join("sub")).unwrap();
        let heard = world.watch_folder("/g", false);
        fs::write(world.root.join("sub/deep"), "").unwrap();
        fs::write(world.root.join("top"), "").unwrap();
        let told = heard.tells("/g/top", Created);
        assert!(told.iter().all(|(path, _)| !path.contains("deep")), "{told:?}");
    }
}

#[test]
fn a_change_right_after_the_watch_was_asked_for_is_never_missed() {
    let world = World::new(false);
    for n in 0..50 {
        let path = format!("/g/{n}");
        fs::write(world.at(&path), "before").unwrap();
        let heard = world.watch(&path, false);
        fs::write(world.at(&path), "after").unwrap();
        heard.hears(|told, _| told == path);
    }
    let heard = world.watch("/g", true);
    fs::remove_file(world.at("/g/0")).unwrap();
    heard.hears(|path, change| change == Rescan || (path == "/g/0" && change == Removed));
}

#[test]
fn a_file_replaced_a_thousand_times_a_second_is_told_now_and_then_and_at_last() {
    let world = World::new(false);
    let heard = world.watch_folder("/g", true);
    let (a, staged) = (world.root.join("a"), world.root.parent().unwrap().join("staged"));
    for n in 0..1000 {
        fs::write(&staged, vec![b'x'; n]).unwrap();
        fs::rename(&staged, &a).unwrap();
    }
    fs::write(world.root.join("last"), "").unwrap();
    let told = heard.tells("/g/last", Created);
    let times = told.iter().filter(|(path, _)| path == "/g/a").count();
    assert!((1..200).contains(&times), "told {times} times");
}

#[test]
fn no_link_out_of_the_granted_folder_is_followed() {
    for poll in POLLS {
        let world = World::new(poll);
        let outside = world.root.parent().unwrap().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret"), "").unwrap();
        symlink(&outside, world.root.join("absolute")).unwrap();
        symlink("../outside", world.root.join("relative")).unwrap();
        let through = world.watch("/g/relative/secret", false);
        let absolute = world.watch("/g/absolute", true);
        let heard = world.watch_folder("/g", true);
        fs::write(outside.join("secret"), "changed").unwrap();
        fs::write(outside.join("new"), "").unwrap();
        fs::write(world.root.join("inside"), "").unwrap();
        let told = heard.tells("/g/inside", Created);
        assert_eq!(told, [("/g/inside".to_owned(), Created)]);
        for other in [through, absolute] {
            let told: Vec<_> = other.told.try_iter().flatten().collect();
            assert!(told.iter().all(|(_, change)| *change == Rescan), "of its own folder alone: {told:?}");
        }
    }
}

#[test]
fn a_farm_of_links_and_circles_is_so_many_links_and_nothing_more() {
    let bounds = Bounds { entries: 5000, of_one: 5000, folders: 20, changes: 100 };
    let world = World::bounded(false, bounds);
    for n in 0..10 {
        let folder = world.root.join(n.to_string());
        fs::create_dir(&folder).unwrap();
        for m in 0..400 {
            symlink(if m % 2 == 0 { ".." } else { "../.." }, folder.join(format!("{m}"))).unwrap();
        }
    }
    let heard = world.watch_folder("/g", true);
    fs::write(world.root.join("3/real"), "").unwrap();
    heard.tells("/g/3/real", Created);
}

#[test]
fn several_watches_of_a_path_each_hear_it_in_their_own_terms_and_one_that_ended_no_more() {
    let world = World::new(false);
    let (one, two) = (world.watch_folder("/g", true), world.watch("g/./", true));
    fs::write(world.root.join("a"), "").unwrap();
    one.tells("/g/a", Created);
    two.tells("g/./a", Created);
    drop(two._watching);
    fs::write(world.root.join("b"), "").unwrap();
    one.tells("/g/b", Created);
    assert_eq!(two.told.recv_timeout(LIMIT), Err(RecvTimeoutError::Disconnected));
}

#[test]
fn with_more_files_than_may_be_remembered_it_is_said_that_all_is_to_be_looked_at() {
    let world = World::bounded(false, Bounds { entries: 10, ..Bounds::default() });
    fs::create_dir(world.root.join("small")).unwrap();
    let small = world.watch_folder("/g/small", true);
    for n in 0..11 {
        fs::write(world.root.join(n.to_string()), "").unwrap();
    }
    let large = world.watch("/g", true);
    assert_eq!(large.hears(|_, _| true), [("/g".to_owned(), Rescan)]);
    fs::write(world.root.join("small/a"), "").unwrap();
    small.tells("/g/small/a", Created);
}

#[test]
fn one_provider_that_watches_all_it_may_leaves_the_others_theirs() {
    let world = World::bounded(false, Bounds { entries: 30, of_one: 20, ..Bounds::default() });
    for folder in ["a", "b", "c"] {
        fs::create_dir(world.root.join(folder)).unwrap();
        for n in 0..12 {
            fs::write(world.root.join(folder).join(n.to_string()), "").unwrap();
        }
    }
    let _first = world.watch_as("greedy", "/g/a", true);
    let second = world.watch_as("greedy", "/g/b", true);
    assert_eq!(second.hears(|_, _| true), [("/g/b".to_owned(), Rescan)], "it is over its share");
    let other = world.watch_as("modest", "/g/c", true);
    fs::write(world.root.join("c/first"), "").unwrap();
    // Whatever that is told as: it was looked at.
    other.hears(|_, _| true);
    fs::write(world.root.join("c/new"), "").unwrap();
    other.tells("/g/c/new", Created);
}

#[test]
fn a_tree_that_grows_beyond_what_may_be_remembered_is_told_as_a_whole() {
    let world = World::bounded(false, Bounds { entries: 10, ..Bounds::default() });
    let heard = world.watch_folder("/g", true);
    for n in 0..20 {
        fs::write(world.root.join(n.to_string()), "").unwrap();
    }
    heard.tells("/g", Rescan);
}

#[test]
fn where_the_system_watches_no_more_folders_changes_are_looked_for() {
    let world = World::bounded(false, Bounds { folders: 5, ..Bounds::default() });
    for n in 0..10 {
        fs::create_dir(world.root.join(n.to_string())).unwrap();
    }
    let heard = world.watch("/g", true);
    heard.tells("/g", Rescan);
    fs::write(world.root.join("7/file"), "").unwrap();
    heard.tells("/g/7/file", Created);
}

#[test]
fn more_changes_than_are_told_one_by_one_are_a_rescan() {
    let world = World::bounded(true, Bounds { changes: 10, ..Bounds::default() });
    let heard = world.watch_folder("/g", true);
    let outside = world.root.parent().unwrap().join("outside");
    fs::create_dir(&outside).unwrap();
    for n in 0..20 {
        fs::write(outside.join(n.to_string()), "").unwrap();
    }
    fs::rename(&outside, world.root.join("many")).unwrap();
    assert_eq!(heard.hears(|_, _| true), [("/g".to_owned(), Rescan)]);
}

#[test]
fn after_events_were_lost_everything_is_to_be_looked_at_and_later_changes_are_told_again() {
    let world = World::new(false);
    let heard = world.watch_folder("/g", true);
    world.files.shared.lost();
    heard.tells("/g", Rescan);
    fs::write(world.root.join("a"), "").unwrap();
    heard.tells("/g/a", Created);
}

#[test]
fn a_granted_folder_that_is_made_or_made_again_is_told_once() {
    let world = World::new(false);
    let later = world.root.join("later");
    let follow = |path: &Path| {
        let (tell, told) = channel();
        let following = world.files.follow(vec![(path.to_owned(), Identity::at(path))], move || tell.send(()).unwrap_or_default()).unwrap();
        (following, told)
    };
    let (_following, told) = follow(&later);
    fs::create_dir(&later).unwrap();
    told.recv_timeout(LIMIT).unwrap();
    let (_following, again) = follow(&later);
    // Held open, so that its number is not used again.
    let _held = fs::File::open(&later).unwrap();
    fs::remove_dir(&later).unwrap();
    fs::create_dir(&later).unwrap();
    again.recv_timeout(LIMIT).unwrap();
    assert!(told.try_recv().is_err());
}
