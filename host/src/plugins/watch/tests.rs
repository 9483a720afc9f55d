//! The ways in which files change, on a real file system, with the system's events and without.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    os::unix::fs::symlink,
};

use tokio::time::timeout;

use super::*;

/// Far more than anything here takes.
const LIMIT: Duration = Duration::from_secs(60);

struct World {
    _folder: tempfile::TempDir,
    /// In which the plugins folder is.
    root: PathBuf,
    watching: Watching,
    view: watch::Receiver<View>,
}

impl World {
    /// With `a.wasm` in the folder, and `elsewhere.wasm` followed beside it.
    async fn new(mode: Watch) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("plugins")).unwrap();
        fs::write(root.join("plugins/a.wasm"), "a").unwrap();
        let followed = Followed { folder: Some(root.join("plugins")), files: [root.join("elsewhere.wasm")].into() };
        let watching = Watching::start(followed, mode).await;
        let view = watching.view();
        Self { _folder: folder, root, watching, view }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join("plugins").join(name)
    }

    fn now(&mut self, path: &Path) -> Resting {
        self.view.borrow_and_update().of(path)
    }

    /// Waits until the path rests as it did not before.
    async fn moves_on(&mut self, path: &Path, before: Resting) -> Resting {
        let what = path.display().to_string();
        let moved = self.view.wait_for(|view| view.of(path) != before);
        timeout(LIMIT, moved).await.unwrap_or_else(|_| panic!("nothing is seen of {what}")).unwrap().of(path)
    }

    /// Does something to a path, and waits until it is seen.
    async fn sees(&mut self, path: &Path, change: impl FnOnce(&Path)) -> Resting {
        let before = self.now(path);
        change(path);
        self.moves_on(path, before).await
    }
}

const MODES: [Watch; 2] = [Watch::Auto, Watch::Poll];

#[tokio::test]
async fn each_way_of_writing_a_file_is_seen() {
    for mode in MODES {
        let mut world = World::new(mode).await;
        let (a, b, staged) = (world.path("a.wasm"), world.path("b.wasm"), world.root.join("staged"));
        assert_eq!(world.now(&a), Resting { there: true, revision: 0 }, "as it was found at the start");

        let written = world.sees(&a, |path| fs::write(path, "in place").unwrap()).await;
        assert!(written.there && written.revision > 0);
        fs::write(&staged, "renamed").unwrap();
        assert!(world.sees(&a, |path| fs::rename(&staged, path).unwrap()).await.there);
        fs::write(&staged, "copied").unwrap();
        assert!(world.sees(&a, |path| assert!(fs::copy(&staged, path).is_ok())).await.there);
        assert!(world.sees(&b, |path| fs::hard_link(&staged, path).unwrap()).await.there);
        let recreated = |path: &Path| {
            fs::remove_file(path).unwrap();
            fs::write(path, "deleted and made again").unwrap();
        };
        assert!(world.sees(&a, recreated).await.there, "{mode:?}: it was never gone");
        // As vim saves: the old one is moved away, the new one written, the old one removed.
        let edited = |path: &Path| {
            fs::rename(path, path.with_extension("wasm~")).unwrap();
            fs::write(path, "edited").unwrap();
            fs::remove_file(path.with_extension("wasm~")).unwrap();
        };
        assert!(world.sees(&a, edited).await.there);
        let slowly = |path: &Path| {
            let mut file = OpenOptions::new().append(true).open(path).unwrap();
            (0..100).for_each(|_| file.write_all(b"more").unwrap());
        };
        assert!(world.sees(&a, slowly).await.there);
        assert!(!world.sees(&a, |path| fs::remove_file(path).unwrap()).await.there);
        let (_, seen) = (world.now(&b), world.view.borrow().clone());
        assert_eq!(seen.files.keys().collect::<Vec<_>>(), [&world.root.join("elsewhere.wasm"), &b]);
    }
}

#[tokio::test]
async fn links_are_followed_wherever_they_change() {
    for mode in MODES {
        let mut world = World::new(mode).await;
        // As Kubernetes swaps a mounted ConfigMap.
        for (folder, text) in [("..one", "1"), ("..two", "2")] {
            fs::create_dir(world.path(folder)).unwrap();
            fs::write(world.path(folder).join("d.wasm"), text).unwrap();
        }
        symlink("..one", world.path("..data")).unwrap();
        let d = world.path("d.wasm");
        assert!(world.sees(&d, |path| symlink("..data/d.wasm", path).unwrap()).await.there);
        let (fresh, data) = (world.path("..fresh"), world.path("..data"));
        let swap = |_: &Path| {
            symlink("..two", &fresh).unwrap();
            fs::rename(&fresh, &data).unwrap();
        };
        assert!(world.sees(&d, swap).await.there);
        // A link out of the folder, to a file that is built there.
        let (built, linked) = (world.root.join("target/release/l.wasm"), world.path("l.wasm"));
        fs::create_dir_all(built.parent().unwrap()).unwrap();
        fs::write(&built, "1").unwrap();
        assert!(world.sees(&linked, |path| symlink(&built, path).unwrap()).await.there);
        assert!(world.sees(&linked, |_| fs::write(&built, "22").unwrap()).await.there);
        assert!(!world.sees(&linked, |_| fs::remove_file(&built).unwrap()).await.there, "a link to nothing is nothing");
        assert!(world.sees(&linked, |_| fs::write(&built, "333").unwrap()).await.there);
    }
}

#[tokio::test]
async fn a_folder_is_waited_for_and_may_go_and_come_back() {
    for mode in MODES {
        let mut world = World::new(mode).await;
        let (folder, a) = (world.root.join("plugins"), world.path("a.wasm"));
        assert!(!world.sees(&a, |_| fs::remove_dir_all(&folder).unwrap()).await.there);
        assert_eq!(world.view.borrow().folder, Folder::Missing);
        let made = |path: &Path| {
            fs::create_dir(path.parent().unwrap()).unwrap();
            fs::write(path, "again").unwrap();
        };
        assert!(world.sees(&a, made).await.there);
        assert!(world.sees(&a, |path| fs::write(path, "and again").unwrap()).await.there, "the new folder is watched as the old one was");
        // Quicker than anybody looks.
        let remade = |path: &Path| {
            fs::remove_dir_all(path.parent().unwrap()).unwrap();
            made(path);
        };
        assert!(world.sees(&a, remade).await.there);
        let deep = world.root.join("not/yet/there");
        world.watching.follow(Followed { folder: Some(deep.clone()), files: [].into() });
        timeout(LIMIT, world.view.wait_for(|view| view.folder == Folder::Missing)).await.unwrap().unwrap();
        let b = deep.join("b.wasm");
        let appears = |path: &Path| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "at last").unwrap();
        };
        assert!(world.sees(&b, appears).await.there);
    }
}

#[tokio::test]
async fn files_that_are_named_are_followed_from_when_they_are_named() {
    for mode in MODES {
        let mut world = World::new(mode).await;
        let (elsewhere, other) = (world.root.join("elsewhere.wasm"), world.root.join("other"));
        assert!(world.sees(&elsewhere, |path| fs::write(path, "1").unwrap()).await.there);
        fs::write(&other, "2").unwrap();
        world.watching.follow(Followed { folder: None, files: [other.clone()].into() });
        let view = timeout(LIMIT, world.view.wait_for(|view| view.files.contains_key(&other))).await.unwrap().unwrap().clone();
        assert_eq!(view.files.keys().collect::<Vec<_>>(), [&other]);
        assert!(view.of(&other).there, "{mode:?}: it need not come to rest first");
        assert!(world.sees(&other, |path| fs::write(path, "33").unwrap()).await.there);
    }
}

#[tokio::test]
async fn a_thousand_changes_in_a_second_end_in_the_last_one() {
    for mode in MODES {
        let mut world = World::new(mode).await;
        let a = world.path("a.wasm");
        let before = world.now(&a);
        for n in 0..1000 {
            fs::write(&a, vec![b'a'; n]).unwrap();
        }
        let mut rests = world.moves_on(&a, before).await;
        // Whatever was told on the way, what is told last is told once nothing changes any more.
        let mut told = 1;
        while let Ok(changed) = timeout(2 * settling::STABLE + POLL, world.view.changed()).await {
            changed.unwrap();
            rests = world.now(&a);
            told += 1;
        }
        assert!(rests.there && told <= 1000);
    }
}
