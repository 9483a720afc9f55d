//! The working tree, compared with what `git status` says.

use std::{fs, path::Path};

use super::{
    fixture::{Fixture, Random, TIME},
    random::change,
};
use crate::{Error, Repository, Status};

/// As `git status --porcelain --no-renames` writes it.
fn porcelain(status: &Status) -> String {
    let mut lines: std::collections::BTreeMap<String, [char; 2]> = std::collections::BTreeMap::new();
    let text = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
    for change in &status.staged.files {
        if let Some(from) = &change.renamed_from {
            lines.entry(text(from)).or_insert([' ', ' '])[0] = 'D';
            lines.entry(text(&change.path)).or_insert([' ', ' '])[0] = 'A';
        } else {
            lines.entry(text(&change.path)).or_insert([' ', ' '])[0] = change.letter();
        }
    }
    for (path, state) in &status.unstaged {
        lines.entry(text(path)).or_insert([' ', ' '])[1] = state.letter();
    }
    for (path, letters) in &status.unmerged {
        let mut letters = letters.chars();
        lines.insert(text(path), [letters.next().unwrap(), letters.next().unwrap()]);
    }
    let quoted = |path: &str| if path.contains(' ') { format!("\"{path}\"") } else { path.to_owned() };
    let mut out: String = lines.iter().map(|(path, [index, work])| format!("{index}{work} {}\n", quoted(path))).collect();
    out.extend(status.untracked.iter().map(|path| format!("?? {}\n", quoted(path))));
    out
}

fn expected(fixture: &Fixture) -> String {
    // The index is not refreshed by it, so that both start from the same one.
    fixture.git(&["--no-optional-locks", "status", "--porcelain", "--no-renames"])
}

fn same(fixture: &Fixture, what: &str) {
    let status = fixture.open().status().unwrap();
    assert!(!status.stopped && !status.more && status.unreadable.is_empty());
    assert_eq!(porcelain(&status), expected(fixture), "{what}");
}

#[test]
fn a_random_working_tree_is_as_git_sees_it() {
    for seed in 1..=10 {
        let mut random = Random(seed * 15_485_863);
        let fixture = Fixture::new();
        fixture.write("a", "0\n");
        fixture.write(".gitignore", random.of(&["*.o\n", "/ab\n!keep\n", "src/deep/\n", "z\n*.txt\n!b.txt\n", "**/er\n"]));
        (0..4).for_each(|_| change(&fixture, &mut random));
        fixture.commit("begin");
        if random.below(2) == 0 {
            fixture.git(&["update-index", "--index-version", random.of(&["4", "3"])]);
        }
        for step in 0..25 {
            match random.below(6) {
                0 => drop(fixture.try_git(&fixture.path, &["add", "-A"])),
                1 => fixture.write(random.of(&["new/x.o", "new/y", "new/keep", "more/src/deep/er/o", "empty/.gitignore"]), "n"),
                2 => drop(fixture.try_git(&fixture.path, &["rm", "-q", "--cached", random.of(&["a", "b.txt", "z"])])),
                3 if random.below(3) == 0 => drop(fixture.try_git(&fixture.path, &["commit", "-q", "-m", "c"])),
                _ => change(&fixture, &mut random),
            }
            same(&fixture, &format!("seed {seed}, step {step}"));
        }
    }
}

#[test]
fn a_change_that_keeps_size_and_time_is_seen() {
    let fixture = Fixture::new();
    fixture.write("a", "one");
    fixture.commit("c");
    fixture.write("a", "two");
    // The same time as the index has for it, and the index is no older.
    let (index, file) = (fixture.path.join(".git/index"), fixture.path.join("a"));
    let written = fs::metadata(&index).unwrap().modified().unwrap();
    fs::File::options().write(true).open(&file).unwrap().set_modified(written).unwrap();
    assert_eq!(porcelain(&fixture.open().status().unwrap()), " M a\n");
}

#[test]
fn a_file_that_was_only_touched_is_not_modified() {
    let fixture = Fixture::new();
    fixture.write("a", "one");
    fixture.commit("c");
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(100);
    fs::File::options().write(true).open(fixture.path.join("a")).unwrap().set_modified(later).unwrap();
    same(&fixture, "touched");
}

#[test]
fn conflicts_have_gits_letters_and_the_merge_is_named() {
    let fixture = Fixture::new();
    for path in ["both", "deleted-by-us", "deleted-by-them"] {
        fixture.write(path, "base\n");
    }
    fixture.commit("base");
    fixture.git(&["checkout", "-q", "-b", "other"]);
    fixture.write("both", "theirs\n");
    fixture.write("deleted-by-us", "theirs\n");
    fixture.write("added", "theirs\n");
    fs::remove_file(fixture.path.join("deleted-by-them")).unwrap();
    fixture.commit("theirs");
    fixture.git(&["checkout", "-q", "main"]);
    fixture.write("both", "ours\n");
    fixture.write("deleted-by-them", "ours\n");
    fixture.write("added", "ours\n");
    fs::remove_file(fixture.path.join("deleted-by-us")).unwrap();
    fixture.commit("ours");
    assert!(!fixture.try_git(&fixture.path, &["merge", "other"]).0);
    let status = fixture.open().status().unwrap();
    assert_eq!(status.operation, Some("merge"));
    assert_eq!(porcelain(&status), expected(&fixture));
    assert_eq!(status.unmerged.len(), 4);
}

#[test]
fn links_types_and_folders_in_the_place_of_files_are_as_in_git() {
    let fixture = Fixture::new();
    for path in ["file", "folder/a", "folder/b", "to-folder", "plain"] {
        fixture.write(path, "1\n");
    }
    std::os::unix::fs::symlink("file", fixture.path.join("link")).unwrap();
    fixture.commit("c");
    fs::remove_file(fixture.path.join("plain")).unwrap();
    std::os::unix::fs::symlink("file", fixture.path.join("plain")).unwrap();
    fs::remove_file(fixture.path.join("to-folder")).unwrap();
    fixture.write("to-folder/x", "1");
    // A folder of known files, moved away, with a link to it in its place: the files are gone.
    fs::rename(fixture.path.join("folder"), fixture.root.path().join("moved")).unwrap();
    std::os::unix::fs::symlink(fixture.root.path().join("moved"), fixture.path.join("folder")).unwrap();
    same(&fixture, "types");
    fs::remove_file(fixture.path.join("link")).unwrap();
    std::os::unix::fs::symlink("elsewhere", fixture.path.join("link")).unwrap();
    same(&fixture, "a link that leads elsewhere");
}

#[test]
fn ignored_files_and_repositories_within_are_as_in_git() {
    let fixture = Fixture::new();
    fixture.write(".gitignore", "target/\n*.log\n!keep.log\n/top\nsub/*.tmp\n");
    fixture.write("sub/.gitignore", "!*.log\nx\n");
    fixture.commit("c");
    fixture.git(&["config", "core.excludesFile", "/dev/null"]);
    fs::create_dir_all(fixture.path.join(".git/info")).unwrap();
    fs::write(fixture.path.join(".git/info/exclude"), "secret\n").unwrap();
    for path in [
        "target/a",
        "a.log",
        "keep.log",
        "top",
        "sub/top",
        "sub/a.log",
        "sub/x",
        "sub/a.tmp",
        "deep/target/a/b",
        "secret",
        "only/a.log",
        "q/w/e/r",
    ] {
        fixture.write(path, "1");
    }
    fs::create_dir_all(fixture.path.join("nothing/in/it")).unwrap();
    fixture.git_in(&fixture.path, &["init", "-q", "inner"]);
    same(&fixture, "ignored");
    let repository = fixture.open();
    let counts = |path: &str| repository.any_counts([Path::new(path)].into_iter()).unwrap();
    for path in ["keep.log", "sub/a.log", "q/w/e/r", "not/there", ".gitignore"] {
        assert!(counts(path), "{path}");
    }
    for path in ["target/a", "target", "a.log", "sub/x", "deep/target/a/b", "secret", ".git/index", "inner/.git/HEAD"] {
        assert!(!counts(path), "{path}");
    }
}

#[test]
fn what_the_user_told_git_to_leave_alone_is_left_alone() {
    let fixture = Fixture::new();
    for path in ["a", "b", "c"] {
        fixture.write(path, "1");
    }
    fixture.commit("c");
    fixture.git(&["update-index", "--assume-unchanged", "a"]);
    fixture.git(&["update-index", "--skip-worktree", "b"]);
    for path in ["a", "b"] {
        fixture.write(path, "changed");
    }
    fixture.write("new", "1");
    fixture.git(&["add", "--intent-to-add", "new"]);
    same(&fixture, "flags");
}

#[test]
fn indexes_that_are_not_supported_are_named() {
    let fixture = Fixture::new();
    fixture.write("a/b", "1");
    fixture.write("c", "1");
    fixture.commit("c");
    fixture.git(&["update-index", "--split-index"]);
    let error = fixture.open().status().unwrap_err();
    assert!(matches!(&error, Error::Unsupported(text) if text.contains("--no-split-index")), "{error}");
    fixture.git(&["update-index", "--no-split-index"]);
    fixture.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "nowhere"]);
    let error = fixture.open().status().unwrap_err();
    assert!(matches!(&error, Error::Unsupported(text) if text.contains("sparse")), "{error}");
}

#[test]
fn when_time_runs_out_the_status_is_what_was_seen_until_then() {
    let fixture = Fixture::new();
    for n in 0..50 {
        fixture.write(&format!("f{n}"), "1");
    }
    fixture.commit("c");
    fixture.write("new", "1");
    let repository = Repository::open(&fixture.path).unwrap();
    repository.begin(TIME).unwrap();
    let mut stopped = 0;
    for steps in 0.. {
        repository.budget.begin_steps(steps);
        match repository.status() {
            Ok(status) if status.stopped => {
                stopped += 1;
                assert!(status.unstaged.is_empty(), "nothing is called deleted that was not looked for");
            }
            Ok(status) => {
                assert_eq!(status.untracked, ["new"]);
                break;
            }
            Err(error) => assert!(matches!(error, Error::TooLong), "{error}"),
        }
    }
    assert!(stopped >= 50, "{stopped}");
}

#[test]
fn when_time_runs_out_the_log_is_what_was_found_until_then() {
    let fixture = Fixture::new();
    for n in 0..20 {
        fixture.write("a", n.to_string());
        fixture.commit("c");
    }
    let (repository, head) = (fixture.open(), fixture.id("HEAD"));
    let whole: Vec<_> = repository.log(&head, Some(b"a"), 100).unwrap().commits.into_iter().map(|(id, _)| id).collect();
    let mut stopped = 0;
    for steps in 0.. {
        repository.budget.begin_steps(steps);
        match repository.log(&head, Some(b"a"), 100) {
            Ok(log) => {
                assert!(
                    log.commits.iter().map(|(id, _)| *id).eq(whole.iter().take(log.commits.len()).copied()),
                    "a beginning of the whole"
                );
                if log.stopped_after.is_none() {
                    assert_eq!(log.commits.len(), whole.len());
                    break;
                }
                stopped += 1;
            }
            Err(error) => assert!(matches!(error, Error::TooLong), "{error}"),
        }
    }
    assert!(stopped > 10, "{stopped}");
}
