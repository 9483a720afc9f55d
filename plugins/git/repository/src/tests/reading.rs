//! One kind of repository after the other.

use super::fixture::{Fixture, TIME};
use crate::{EntryKind, Error, Head, Kind, ObjectId, Patch, Repository, patch};

fn blob(repository: &Repository, revision: &str, path: &str) -> Vec<u8> {
    let commit = repository.commit(&repository.revision_commit(revision).unwrap()).unwrap();
    let entry = repository.entry(&commit.tree, path.as_bytes()).unwrap().unwrap();
    repository.object(&entry.id).unwrap().data.to_vec()
}

#[test]
fn a_repository_without_commits_has_a_branch_and_no_history() {
    let fixture = Fixture::new();
    let repository = fixture.open();
    assert_eq!(repository.head().unwrap(), Head::Branch { name: "refs/heads/main".into(), id: None });
    assert!(matches!(repository.revision("HEAD"), Err(Error::NotFound(_))));
    assert!(repository.references("refs/").unwrap().is_empty());
    assert!(repository.status().unwrap().staged.files.is_empty());
}

#[test]
fn a_folder_without_a_repository_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let error = Repository::open(folder.path()).unwrap_err();
    assert!(matches!(error, Error::NotFound(_)) && error.to_string().contains(folder.path().to_str().unwrap()), "{error}");
}

#[test]
fn a_commit_is_read_with_its_people_times_and_message() {
    let fixture = Fixture::new();
    fixture.write("a", "1");
    let id = fixture.commit("Two lines\nof a subject\n\nand a body");
    let commit = fixture.open().commit(&id).unwrap();
    assert_eq!(commit.author.name, "Ada Lovelace");
    assert_eq!(commit.author.email, "ada@example.org");
    assert_eq!(commit.author.when(), fixture.git(&["log", "-1", "--format=%aI"]).trim());
    assert_eq!(commit.subject(), fixture.git(&["log", "-1", "--format=%s"]).trim());
    assert_eq!(commit.message, "Two lines\nof a subject\n\nand a body\n");
    assert!(commit.parents.is_empty());
}

#[test]
fn objects_are_found_loose_then_packed_then_after_the_pack_was_replaced() {
    let fixture = Fixture::new();
    for n in 0..40 {
        // Each differs from the one before in another place, so that the shortest deltas are a chain.
        let line = |line: usize| format!("line {line} of {}\n", if line / 50 < n { line * 7919 } else { line });
        fixture.write("large", (0..2000).map(line).collect::<String>());
        fixture.commit(&format!("change {n}"));
    }
    let repository = fixture.open();
    let loose = blob(&repository, "HEAD~20", "large");
    fixture.git(&["gc", "-q"]);
    // The same one, which has not looked since.
    assert_eq!(blob(&repository, "HEAD~20", "large"), loose);
    repository.begin(TIME).unwrap();
    assert_eq!(blob(&repository, "HEAD~39", "large").len(), blob(&fixture.open(), "HEAD~39", "large").len());
    // Deltas by id instead of by place, and long chains of them.
    fixture.git(&["-c", "repack.useDeltaBaseOffset=false", "repack", "-q", "-a", "-d", "-f", "--depth=40"]);
    repository.begin(TIME).unwrap();
    assert_eq!(blob(&repository, "HEAD~20", "large"), loose);
    let chains = fixture.git(&["verify-pack", "-v", &pack(&fixture)]);
    assert!(chains.contains("chain length = 20:"), "{chains}");
    fixture.git(&["multi-pack-index", "write"]);
    assert_eq!(blob(&fixture.open(), "HEAD~20", "large"), loose);
}

fn pack(fixture: &Fixture) -> String {
    let mut names = std::fs::read_dir(fixture.path.join(".git/objects/pack")).unwrap().map(|entry| entry.unwrap().path());
    names.find(|path| path.extension().is_some_and(|extension| extension == "idx")).unwrap().to_str().unwrap().to_owned()
}

#[test]
fn the_size_of_an_object_is_known_without_reading_it() {
    let fixture = Fixture::new();
    for n in 0..10 {
        fixture.write("a", "some text\n".repeat(2000 + n));
        fixture.commit("c");
    }
    let check = || {
        let repository = fixture.open();
        for n in 0..10 {
            let id = fixture.id(&format!("HEAD~{n}:a"));
            assert_eq!(repository.size(&id).unwrap(), Some(20_090 - 10 * n));
        }
    };
    check();
    fixture.git(&["gc", "-q"]);
    check();
}

#[test]
fn revisions_mean_what_they_mean_to_git() {
    let fixture = Fixture::new();
    for n in 0..5 {
        fixture.write("a", n.to_string());
        fixture.commit("c");
    }
    fixture.git(&["branch", "feature/x", "HEAD~1"]);
    fixture.git(&["tag", "-a", "v1", "-m", "first", "HEAD~2"]);
    fixture.git(&["tag", "light", "HEAD~3"]);
    fixture.git(&["checkout", "-q", "-b", "other", "HEAD~3"]);
    fixture.commit("aside");
    fixture.git(&["checkout", "-q", "main"]);
    fixture.tick();
    fixture.git(&["merge", "-q", "--no-ff", "-m", "joined", "other"]);
    let short = fixture.git(&["rev-parse", "--short=7", "HEAD~2"]);
    for packed in [false, true] {
        if packed {
            fixture.git(&["pack-refs", "--all"]);
            fixture.git(&["gc", "-q"]);
        }
        let repository = fixture.open();
        for revision in [
            "HEAD",
            "@",
            "main",
            "heads/main",
            "refs/heads/main",
            "feature/x",
            "v1",
            "light",
            "main~2",
            "main^2",
            "main^2~1",
            "v1~",
            "HEAD^^",
            "main~2^1",
            short.trim(),
        ] {
            assert_eq!(repository.revision_commit(revision).unwrap(), fixture.id(&format!("{revision}^{{commit}}")), "{revision}");
        }
        assert_eq!(repository.object(&repository.revision("v1").unwrap()).unwrap().kind, Kind::Tag);
        for missing in ["nothing", "main~99", "main^3", "0000", "../../etc/passwd", "refs/../HEAD", "mai"] {
            assert!(matches!(repository.revision(missing), Err(Error::NotFound(_))), "{missing}");
        }
        for invalid in ["", "main^{tree}", "main~x"] {
            assert!(matches!(repository.revision(invalid), Err(Error::Invalid(_))), "{invalid}");
        }
    }
}

#[test]
fn a_detached_head_is_told_from_a_branch() {
    let fixture = Fixture::new();
    let id = fixture.commit("c");
    fixture.git(&["checkout", "-q", "--detach"]);
    assert_eq!(fixture.open().head().unwrap(), Head::Detached(id));
}

#[test]
fn a_shallow_clone_has_its_history_as_far_as_it_goes() {
    let fixture = Fixture::new();
    for n in 0..6 {
        fixture.commit(&n.to_string());
    }
    let to = fixture.root.path().join("shallow");
    fixture
        .git_in(fixture.root.path(), &["clone", "-q", "--depth", "3", &format!("file://{}", fixture.path.display()), to.to_str().unwrap()]);
    let repository = Repository::open(&to).unwrap();
    repository.begin(TIME).unwrap();
    assert_eq!(repository.log(&fixture.id("HEAD"), None, 100).unwrap().commits.len(), 3);
    assert!(matches!(repository.revision("HEAD~3"), Err(Error::NotFound(_))));
    assert_eq!(repository.upstream("refs/heads/main").as_deref(), Some("refs/remotes/origin/main"));
    assert_eq!(repository.revision("origin/main").unwrap(), fixture.id("HEAD"));
    assert_eq!(repository.revision("origin").unwrap(), fixture.id("HEAD"), "by the remote's HEAD");
}

#[test]
fn a_linked_worktree_has_its_own_head_and_the_branches_of_all() {
    let fixture = Fixture::new();
    fixture.write("a", "1");
    let first = fixture.commit("c");
    let to = fixture.root.path().join("tree");
    fixture.git(&["worktree", "add", "-q", "-b", "side", to.to_str().unwrap()]);
    fixture.write("a", "2");
    fixture.commit("d");
    let repository = Repository::open(&to).unwrap();
    repository.begin(TIME).unwrap();
    assert_eq!(repository.head().unwrap(), Head::Branch { name: "refs/heads/side".into(), id: Some(first) });
    assert_eq!(repository.references("refs/heads/").unwrap().len(), 2);
    assert_ne!(repository.git_folder(), repository.common_folder());
    assert!(repository.status().unwrap().unstaged.is_empty());

    // As it looks from a sandbox into which only the worktree was granted.
    std::fs::rename(&fixture.path, fixture.root.path().join("elsewhere")).unwrap();
    let error = Repository::open(&to).unwrap_err();
    let whole = fixture.path.join(".git");
    assert!(matches!(&error, Error::Unreachable(text) if text.contains(&format!("host = {whole:?}, guest = {whole:?}"))), "{error}");
}

#[test]
fn a_submodule_is_a_repository_and_shows_in_its_own_as_a_commit() {
    let (inner, outer) = (Fixture::new(), Fixture::new());
    inner.write("a", "1");
    let at = inner.commit("c");
    outer.git(&["submodule", "--quiet", "add", inner.path.to_str().unwrap(), "sub"]);
    outer.commit("with a submodule");
    let repository = Repository::open(&outer.path.join("sub")).unwrap();
    repository.begin(TIME).unwrap();
    assert_eq!(repository.revision("HEAD").unwrap(), at);
    let outside = outer.open();
    let commit = outside.commit(&outside.revision("HEAD").unwrap()).unwrap();
    let entry = outside.entry(&commit.tree, b"sub").unwrap().unwrap();
    assert_eq!((entry.kind, entry.id), (EntryKind::Submodule, at));
    assert!(outside.status().unwrap().unstaged.is_empty());
    outer.git_in(&outer.path.join("sub"), &["commit", "-q", "--allow-empty", "-m", "moved on"]);
    assert_eq!(outside.status().unwrap().unstaged, [(b"sub".to_vec(), crate::State::Modified)]);
}

#[test]
fn objects_of_an_alternate_are_found() {
    let fixture = Fixture::new();
    fixture.write("a", "1");
    fixture.commit("c");
    let to = fixture.root.path().join("shared");
    fixture.git_in(fixture.root.path(), &["clone", "-q", "--shared", fixture.path.to_str().unwrap(), to.to_str().unwrap()]);
    let repository = Repository::open(&to).unwrap();
    repository.begin(TIME).unwrap();
    assert_eq!(blob(&repository, "HEAD", "a"), b"1");
    // Two that name each other.
    std::fs::write(fixture.path.join(".git/objects/info/alternates"), format!("{}\n", to.join(".git/objects").display())).unwrap();
    assert_eq!(blob(&fixture.open(), "HEAD", "a"), b"1");
}

#[test]
fn a_bare_repository_has_all_but_a_status() {
    let fixture = Fixture::new();
    fixture.write("a", "1");
    fixture.commit("c");
    let to = fixture.root.path().join("bare.git");
    fixture.git_in(fixture.root.path(), &["clone", "-q", "--bare", fixture.path.to_str().unwrap(), to.to_str().unwrap()]);
    let repository = Repository::open(&to).unwrap();
    repository.begin(TIME).unwrap();
    assert_eq!(blob(&repository, "main", "a"), b"1");
    assert!(repository.work_folder().is_none());
    assert!(matches!(repository.status(), Err(Error::Unsupported(_))));
}

#[test]
fn what_is_not_supported_is_named() {
    let fixture = Fixture::with(&["--object-format=sha256"]);
    let error = Repository::open(&fixture.path).unwrap_err();
    assert!(matches!(&error, Error::Unsupported(text) if text.contains("sha256")), "{error}");
    let fixture = Fixture::with(&["--ref-format=reftable"]);
    let error = Repository::open(&fixture.path).unwrap_err();
    assert!(matches!(&error, Error::Unsupported(text) if text.contains("reftable") && text.contains("git refs migrate")), "{error}");
}

#[test]
fn a_file_that_moved_unchanged_is_renamed() {
    let fixture = Fixture::new();
    fixture.write("a", "content\n");
    fixture.write("b", "");
    let old = fixture.commit("c");
    fixture.write("new/b", "");
    fixture.git(&["mv", "a", "new/a"]);
    std::fs::remove_file(fixture.path.join("b")).unwrap();
    let new = fixture.commit("d");
    let repository = fixture.open();
    let tree = |id: &ObjectId| repository.commit(id).unwrap().tree;
    let changes = repository.changes(Some(&tree(&old)), Some(&tree(&new)), 100).unwrap();
    let shown: Vec<_> = changes.files.iter().map(|change| (change.letter(), String::from_utf8_lossy(&change.path).into_owned())).collect();
    assert_eq!(shown, [('D', "b".into()), ('R', "new/a".into()), ('A', "new/b".into())]);
    assert_eq!(changes.files[1].renamed_from.as_deref(), Some(&b"a"[..]));
    assert!(repository.changes(Some(&tree(&old)), Some(&tree(&new)), 2).unwrap().more);
}

#[test]
fn a_patch_counts_lines_and_knows_a_missing_newline_and_what_is_no_text() {
    assert_eq!(
        patch(b"1\n2\n3", b"1\n3\n"),
        Patch::Text { hunks: "@@ -1,3 +1,2 @@\n 1\n-2\n-3\n\\ No newline at end of file\n+3\n".into(), added: 1, removed: 2 }
    );
    assert_eq!(patch(b"", b"1\n"), Patch::Text { hunks: "@@ -0,0 +1 @@\n+1\n".into(), added: 1, removed: 0 });
    assert_eq!(patch(b"a", b"\0"), Patch::Binary);
}
