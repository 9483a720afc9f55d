//! Repositories made by git.

use std::{
    cell::Cell,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use tempfile::TempDir;

use crate::{ObjectId, Repository};

/// Ample: no test is about time.
pub const TIME: Duration = Duration::from_secs(60);

/// A repository in a folder of its own.
pub struct Fixture {
    pub root: TempDir,
    pub path: PathBuf,
    /// Seconds since 1970 of the next commit: they differ, so that the order of the log is theirs.
    clock: Cell<u64>,
}

impl Fixture {
    pub fn new() -> Self {
        Self::with(&[])
    }

    pub fn with(init: &[&str]) -> Self {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("repo");
        let fixture = Self { path: path.clone(), root, clock: Cell::new(1_700_000_000) };
        fixture.git_in(fixture.root.path(), &[&["init", "-q", "-b", "main"], init, &[path.to_str().unwrap()]].concat());
        fixture
    }

    pub fn git(&self, arguments: &[&str]) -> String {
        self.git_in(&self.path, arguments)
    }

    pub fn git_in(&self, folder: &Path, arguments: &[&str]) -> String {
        let (well, out) = self.try_git(folder, arguments);
        assert!(well, "git {arguments:?}: {out}");
        out
    }

    pub fn try_git(&self, folder: &Path, arguments: &[&str]) -> (bool, String) {
        let date = format!("{} +0130", self.clock.get());
        let mut git = Command::new("git");
        // Nothing of the machine's own settings.
        git.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", self.root.path()).env("GIT_CONFIG_NOSYSTEM", "1");
        for who in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{who}_NAME"), "Ada Lovelace").env(format!("GIT_{who}_EMAIL"), "ada@example.org");
            git.env(format!("GIT_{who}_DATE"), &date);
        }
        for setting in ["core.fileMode=false", "gc.auto=0", "maintenance.auto=false", "protocol.file.allow=always", "core.quotePath=false"]
        {
            git.args(["-c", setting]);
        }
        let out =
            git.args(arguments).current_dir(folder).output().expect("these tests need git: install it, `apt-get install git` for instance");
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        if out.status.success() { (true, text) } else { (false, text + &String::from_utf8_lossy(&out.stderr)) }
    }

    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Commits all there is, a second later than the last one.
    pub fn commit(&self, message: &str) -> ObjectId {
        self.clock.set(self.clock.get() + 1);
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.id("HEAD")
    }

    pub fn tick(&self) {
        self.clock.set(self.clock.get() + 1);
    }

    pub fn id(&self, revision: &str) -> ObjectId {
        ObjectId::from_hex(self.git(&["rev-parse", revision]).trim()).unwrap()
    }

    pub fn open(&self) -> Repository {
        let repository = Repository::open(&self.path).unwrap();
        repository.begin(TIME).unwrap();
        repository
    }
}

/// Numbers that are the same at each run: xorshift.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }

    pub fn of<'a, T: ?Sized>(&mut self, these: &[&'a T]) -> &'a T {
        these[self.below(these.len())]
    }
}
