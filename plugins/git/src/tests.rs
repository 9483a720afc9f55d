//! What the resources say of repositories that git makes.

use std::{fs, path::PathBuf, process::Command, time::Duration};

use git_repository::{Error, Result};
use tempfile::TempDir;

use crate::{
    listing, pages,
    source::Source,
    uri::{self, Resource},
};

struct Fixture {
    root: TempDir,
    folder: PathBuf,
    source: Source,
}

impl Fixture {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("repo");
        fs::create_dir(&folder).unwrap();
        let source = Source::new("repo".into(), folder.clone(), Duration::from_secs(60));
        let fixture = Self { root, folder, source };
        fixture.git(&["init", "-q", "-b", "main"]);
        fixture
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        git.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", self.root.path()).env("GIT_CONFIG_NOSYSTEM", "1");
        for who in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{who}_NAME"), "Ada")
                .env(format!("GIT_{who}_EMAIL"), "ada@example.org")
                .env(format!("GIT_{who}_DATE"), "1700000000 +0100");
        }
        let out = git.args(arguments).current_dir(&self.folder).output().expect("these tests need git: `apt-get install git` for instance");
        assert!(out.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }

    fn read(&self, resource: Resource) -> Result<String> {
        let page = pages::page(&*self.source.open()?, &self.source, &resource)?;
        Ok(String::from_utf8(page.body).unwrap())
    }

    fn version(&self, resource: Resource) -> Result<Option<String>> {
        pages::version(&*self.source.open()?, &resource)
    }

    /// As after one commit of one file.
    fn begun() -> (Self, String) {
        let fixture = Self::new();
        fixture.write("src/main.rs", "fn main() {}\n");
        let id = fixture.commit("Begin\n\nWith a body.");
        (fixture, id)
    }
}

fn file(place: &str) -> Resource {
    Resource::File { place: place.into() }
}

fn commit(revision: &str) -> Resource {
    Resource::Commit { revision: revision.into() }
}

fn log(revision: &str, path: Option<&str>, limit: usize) -> Resource {
    Resource::Log { revision: revision.into(), path: path.map(str::to_owned), limit }
}

#[test]
fn the_log_reads_as_gits_own() {
    let (fixture, first) = Fixture::begun();
    fixture.write("b", "1");
    let second = fixture.commit("Second");
    let text = fixture.read(log("HEAD", None, 30)).unwrap();
    let date = "Date:   2023-11-14T23:13:20+01:00";
    assert_eq!(
        text,
        format!(
            "commit {second}\nAuthor: Ada <ada@example.org>\n{date}\n\n    Second\n\ncommit {first}\nAuthor: Ada <ada@example.org>\n{date}\n\n    Begin\n\n    With a body.\n"
        )
    );
    assert!(!fixture.read(log("main", Some("src"), 30)).unwrap().contains("Second"));
    let cut = fixture.read(log("main", None, 1)).unwrap();
    assert!(cut.contains("git://repo/log/main?limit=4"), "{cut}");
}

#[test]
fn a_commit_shows_message_files_and_patch() {
    let (fixture, _) = Fixture::begun();
    fixture.write("src/main.rs", "fn main() {\n}\n");
    fixture.write("logo", b"\0\x01");
    let id = fixture.commit("Change");
    let text = fixture.read(commit("HEAD")).unwrap();
    for part in [
        &format!("commit {id}\n"),
        "    Change\n\n2 files changed, +2 -1\n  A logo (binary, 0 -> 2 bytes)\n  M src/main.rs +2 -1\n",
        "diff --git a/src/main.rs b/src/main.rs\n--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1 +1,2 @@\n-fn main() {}\n+fn main() {\n+}\n",
    ] {
        assert!(text.contains(part), "{part}\n---\n{text}");
    }
    fixture.git(&["tag", "-a", "-m", "The first", "v1"]);
    assert!(fixture.read(commit("v1")).unwrap().starts_with("tag v1\nTagger: Ada <ada@example.org>\n"));
}

#[test]
fn a_file_is_read_at_any_revision_also_of_a_branch_with_slashes() {
    let (fixture, id) = Fixture::begun();
    fixture.git(&["checkout", "-q", "-b", "feature/x"]);
    fixture.write("src/main.rs", "fn main() { x() }\n");
    fixture.commit("x");
    fixture.git(&["checkout", "-q", "main"]);
    for (place, content) in [
        ("HEAD/src/main.rs", "fn main() {}\n"),
        ("feature/x/src/main.rs", "fn main() { x() }\n"),
        ("refs/heads/feature/x/src/main.rs", "fn main() { x() }\n"),
        ("feature/x~1/src/main.rs", "fn main() {}\n"),
        (&format!("{id}/src/main.rs"), "fn main() {}\n"),
        (&format!("{}/src/main.rs", &id[..8]), "fn main() {}\n"),
    ] {
        assert_eq!(fixture.read(file(place)).unwrap(), content, "{place}");
    }
    for missing in ["HEAD/nothing", "nothing/src/main.rs", "HEAD/src/main.rs/x", "feature/y/a"] {
        assert!(matches!(fixture.read(file(missing)), Err(Error::NotFound(_))), "{missing}");
    }
    let error = fixture.read(file("HEAD/src")).unwrap_err();
    assert!(matches!(&error, Error::Invalid(text) if text.contains("git://repo/tree/HEAD/src")), "{error}");
    let tree = |place: &str| Resource::Tree { place: place.into() };
    assert!(fixture.read(tree("feature/x")).unwrap().contains("folder          -  src/\n"));
    assert!(fixture.read(tree("feature/x/src")).unwrap().contains("file           18  main.rs\n"));
}

#[test]
fn a_remote_branch_is_told_from_its_remotes_head() {
    let (fixture, id) = Fixture::begun();
    fixture.git(&["update-ref", "refs/remotes/origin/dev", &id]);
    fixture.git(&["update-ref", "refs/remotes/origin/main", &id]);
    fixture.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main"]);
    for place in ["origin/dev/src/main.rs", "origin/src/main.rs"] {
        assert_eq!(fixture.read(file(place)).unwrap(), "fn main() {}\n", "{place}");
    }
}

#[test]
fn a_branch_is_compared_with_where_it_left_the_other() {
    let (fixture, _) = Fixture::begun();
    fixture.git(&["checkout", "-q", "-b", "feature/x"]);
    fixture.write("x", "x\n");
    fixture.commit("x");
    fixture.git(&["checkout", "-q", "main"]);
    fixture.write("later", "later\n");
    fixture.commit("later");
    let compare = |range: &str| fixture.read(Resource::from_template(uri::COMPARE, &[("range".into(), range.into())])?);
    let parted = compare("main...feature/x").unwrap();
    assert!(parted.contains("\n1 file changed, +1 -0\n  A x +1 -0\n") && !parted.contains("later"), "{parted}");
    let direct = compare("main..feature/x").unwrap();
    assert!(direct.contains("  D later +0 -1\n  A x +1 -0\n"), "{direct}");
    assert!(compare("feature/x...").unwrap().contains("  A later +1 -0\n"), "HEAD where one is left out");
    assert!(matches!(compare("main"), Err(Error::Invalid(text)) if text.contains("main...feature/x")));
    assert!(matches!(compare("main...none"), Err(Error::NotFound(_))));
    fixture.git(&["checkout", "-q", "--orphan", "alone"]);
    fixture.commit("alone");
    assert!(matches!(compare("main...alone"), Err(Error::Invalid(text)) if text.contains("main..alone")));
}

#[test]
fn branches_and_tags_are_listed_with_what_they_lead_to() {
    let (fixture, id) = Fixture::begun();
    fixture.git(&["branch", "feature/x"]);
    fixture.git(&["tag", "v1"]);
    fixture.git(&["tag", "-a", "-m", "t", "v2"]);
    fixture.git(&["update-ref", "refs/remotes/origin/main", &id]);
    fixture.git(&["config", "branch.main.remote", "origin"]);
    fixture.git(&["config", "branch.main.merge", "refs/heads/main"]);
    let what = format!("{} 2023-11-14T23:13:20+01:00 Begin", &id[..10]);
    assert_eq!(
        fixture.read(Resource::Branches).unwrap(),
        format!("  feature/x {what}\n* main {what} [origin/main]\n  remotes/origin/main {what}\n")
    );
    assert_eq!(fixture.read(Resource::Tags).unwrap(), format!("v2 {what}\nv1 {what}\n"));
    fixture.git(&["checkout", "-q", "--detach"]);
    assert!(fixture.read(Resource::Branches).unwrap().starts_with("* (no branch) "));
}

#[test]
fn an_empty_repository_says_that_it_is() {
    let fixture = Fixture::new();
    assert_eq!(fixture.read(Resource::Branches).unwrap(), "* main (no commits yet)\n");
    assert_eq!(fixture.read(log("HEAD", None, 30)).unwrap(), "no commits yet\n");
    assert_eq!(fixture.read(Resource::Status).unwrap(), "On branch main\nNo commits yet\n\nNothing to commit, working tree clean\n");
    fixture.write("a", "1\n");
    fixture.git(&["add", "a"]);
    assert!(fixture.read(Resource::Diff).unwrap().contains("--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+1\n"));
}

#[test]
fn the_status_and_the_diff_show_what_is_not_committed() {
    let (fixture, id) = Fixture::begun();
    fixture.write("staged", "1\n");
    fixture.git(&["add", "staged"]);
    fixture.write("staged", "2\n");
    fixture.write("src/main.rs", "fn main() { todo!() }\n");
    fixture.write("new/file", "1");
    assert_eq!(
        fixture.read(Resource::Status).unwrap(),
        format!(
            "On branch main\nHEAD {} Begin\n\nStaged (1):\n  A staged\n\nChanged, not staged (2):\n  M src/main.rs\n  M staged\n\nUntracked (1):\n  ? new/\n",
            &id[..10]
        )
    );
    let diff = fixture.read(Resource::Diff).unwrap();
    for part in [
        "2 files changed, +2 -1\n  M src/main.rs +1 -1\n  A staged +1 -0\n",
        "-fn main() {}\n+fn main() { todo!() }\n",
        "--- /dev/null\n+++ b/staged\n@@ -0,0 +1 @@\n+2\n",
        "? new/\n",
    ] {
        assert!(diff.contains(part), "{part}\n---\n{diff}");
    }
    // What was staged is put away: the old file is in HEAD, and gone.
    fixture.git(&["reset", "-q", "--hard"]);
    fs::remove_file(fixture.folder.join("src/main.rs")).unwrap();
    let diff = fixture.read(Resource::Diff).unwrap();
    assert!(diff.contains("deleted file mode 100644\n--- a/src/main.rs\n+++ /dev/null\n"), "{diff}");
}

#[test]
fn a_version_changes_with_what_it_is_of_and_with_nothing_else() {
    let (fixture, first) = Fixture::begun();
    let all = || {
        let version = |resource| fixture.version(resource).unwrap().unwrap();
        [
            version(Resource::Branches),
            version(Resource::Tags),
            version(log("main", None, 30)),
            version(file("main/src/main.rs")),
            version(Resource::Tree { place: "main".into() }),
            version(commit(&first)),
        ]
    };
    let before = all();
    assert_eq!(all(), before);
    fixture.write("b", "1");
    fixture.commit("c");
    let changed: Vec<bool> = all().iter().zip(&before).map(|(now, before)| now != before).collect();
    assert_eq!(changed, [true, false, true, false, true, false]);
    assert!(commit(&first).is_fixed() && file(&format!("{first}/a")).is_fixed() && !file("main/a").is_fixed());
}

#[test]
fn a_name_that_would_break_a_line_is_written_in_one() {
    let (fixture, _) = Fixture::begun();
    fixture.write("a\nStaged (1):", "1");
    let text = fixture.read(Resource::Status).unwrap();
    assert!(text.contains("? a\\nStaged (1):\n"), "{text}");
}

#[test]
fn long_patches_are_cut_and_the_files_named() {
    let (fixture, _) = Fixture::begun();
    for n in 0..8 {
        fixture.write(&format!("f{n}"), format!("line {n}\n").repeat(20_000));
    }
    fixture.write("a-huge", "x\n".repeat(600 << 10));
    fixture.commit("Much");
    let text = fixture.read(commit("HEAD")).unwrap();
    assert!(text.len() < 2 << 20, "{}", text.len());
    for part in ["files are only named: the patches above are long", "  A f7\n", "a-huge (more than 1024 KiB: not compared)\n"] {
        assert!(text.contains(part), "{part}\n{}", &text[..600]);
    }
}

#[test]
fn a_folder_that_is_not_there_names_the_line_that_would_grant_it() {
    let source = Source::new("repo".into(), "/nowhere/repo".into(), Duration::from_secs(1));
    let error = source.open().unwrap_err();
    assert!(matches!(&error, Error::Unreachable(text) if text.contains("guest = \"/nowhere/repo\"")), "{error}");
    assert_eq!(listing::resources(&source).len(), 6, "it is listed, so that a read can tell");
}

#[test]
fn a_repository_made_anew_in_the_same_place_is_read_anew() {
    let (fixture, first) = Fixture::begun();
    assert!(fixture.read(log("HEAD", None, 1)).unwrap().contains(&first));
    fs::remove_dir_all(fixture.folder.join(".git")).unwrap();
    assert!(matches!(fixture.read(Resource::Status), Err(Error::Unreachable(_))));
    fixture.git(&["init", "-q", "-b", "other"]);
    assert!(fixture.read(Resource::Status).unwrap().starts_with("On branch other\n"));
}

#[test]
fn a_bare_repository_lists_no_status() {
    let (fixture, _) = Fixture::begun();
    let bare = fixture.root.path().join("bare.git");
    fixture.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    let source = Source::new("bare".into(), bare, Duration::from_secs(60));
    let uris: Vec<String> = listing::resources(&source).into_iter().map(|info| info.uri).collect();
    assert_eq!(uris, ["git://bare/log/HEAD", "git://bare/branches", "git://bare/tags", "git://bare/tree/HEAD"]);
}

#[test]
fn a_template_gives_the_resource_that_it_says() {
    let variables =
        |pairs: &[(&str, &str)]| -> Vec<(String, String)> { pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect() };
    let log_of = |pairs: &[(&str, &str)]| Resource::from_template(uri::LOG, &variables(pairs));
    assert_eq!(log_of(&[("revision", "a/b")]).unwrap(), log("a/b", None, uri::DEFAULT_LIMIT));
    assert_eq!(log_of(&[("revision", "a"), ("limit", "5"), ("path", "/x/y/")]).unwrap(), log("a", Some("x/y"), 5));
    for limit in ["0", "1001", "many", "-1"] {
        assert!(matches!(log_of(&[("revision", "a"), ("limit", limit)]), Err(Error::Invalid(_))), "{limit}");
    }
    assert_eq!(Resource::from_template(uri::FILE, &variables(&[("revision", "a"), ("path", "b/c")])).unwrap(), file("a/b/c"));
    assert!(matches!(Resource::listed("nothing"), Err(Error::NotFound(_))));
}
