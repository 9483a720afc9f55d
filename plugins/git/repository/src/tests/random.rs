//! Random repositories, compared with what git says of them.

use std::{collections::BTreeMap, fs, io::Write, process::Stdio};

use super::fixture::{Fixture, Random};
use crate::{Change, ObjectId, Patch, Repository, patch};

const FILES: [&str; 10] = ["a", "b.txt", "src/main.rs", "src/lib.rs", "src/deep/er/x", "docs/ü mlaut.md", "a.d/a", "a-b", "ab/c", "z"];

/// Commits, branches, merges, tags, packs.
fn make(random: &mut Random, steps: usize) -> Fixture {
    let fixture = Fixture::new();
    fixture.write("a", "0\n");
    fixture.commit("begin");
    for step in 0..steps {
        match random.below(12) {
            0..7 => {
                for _ in 0..=random.below(3) {
                    change(&fixture, random);
                }
                fixture.commit(&format!("step {step}"));
            }
            7 => drop(fixture.try_git(&fixture.path, &["checkout", "-q", "-B", &format!("branch-{}", random.below(4))])),
            8 => drop(fixture.try_git(&fixture.path, &["checkout", "-q", random.of(&["main", "branch-0", "branch-1", "branch-2"])])),
            9 => {
                fixture.tick();
                // Conflicts are not what this is about.
                let (well, _) = fixture.try_git(
                    &fixture.path,
                    &["merge", "-q", "--no-ff", "-X", "ours", "-m", "merge", random.of(&["main", "branch-0", "branch-1"])],
                );
                if !well {
                    fixture.try_git(&fixture.path, &["merge", "--abort"]);
                    fixture.git(&["reset", "-q", "--hard"]);
                }
            }
            10 => drop(fixture.try_git(&fixture.path, &["tag", "-a", "-m", "t", &format!("tag-{step}")])),
            _ if random.below(3) == 0 => drop(fixture.git(&["gc", "-q"])),
            _ => drop(fixture.git(&["repack", "-q", "-d"])),
        }
    }
    fixture
}

pub fn change(fixture: &Fixture, random: &mut Random) {
    let path = random.of(&FILES);
    let full = fixture.path.join(path);
    let old = fs::read_to_string(&full).unwrap_or_default();
    // Moves can make a folder of what was a file.
    if full.is_dir() || full.ancestors().skip(1).any(std::path::Path::is_file) {
        return;
    }
    match random.below(6) {
        0 => drop(fs::remove_file(full)),
        1 => drop(fixture.try_git(&fixture.path, &["mv", "-f", path, random.of(&FILES)])),
        _ => {
            let mut lines: Vec<String> = old.lines().map(str::to_owned).collect();
            for _ in 0..=random.below(4) {
                let at = random.below(lines.len() + 1);
                if random.below(3) == 0 && at < lines.len() {
                    lines.remove(at);
                } else {
                    lines.insert(at, random.of(&["x", "y", "z", "{", "}", ""]).to_owned());
                }
            }
            let mut content = lines.join("\n");
            if random.below(4) > 0 {
                content.push('\n');
            }
            fixture.write(path, content);
        }
    }
}

#[test]
fn history_trees_and_contents_are_those_of_git() {
    for seed in 1..=8 {
        let mut random = Random(seed * 7919);
        let fixture = make(&mut random, 60);
        let repository = fixture.open();
        let refs: String =
            repository.references("refs/").unwrap().iter().map(|reference| format!("{} {}\n", reference.id, reference.name)).collect();
        assert_eq!(refs, fixture.git(&["for-each-ref", "--format=%(objectname) %(refname)"]), "seed {seed}");

        let head = repository.revision_commit("HEAD").unwrap();
        let log = |path: Option<&str>| -> String {
            let log = repository.log(&head, path.map(str::as_bytes), 10_000).unwrap();
            log.commits.iter().map(|(id, _)| format!("{id}\n")).collect()
        };
        assert_eq!(log(None), fixture.git(&["log", "--format=%H"]), "seed {seed}");
        for path in FILES.iter().chain(&["src", "docs", "nothing"]) {
            assert_eq!(log(Some(path)), fixture.git(&["log", "--format=%H", "--", path]), "seed {seed}, {path}");
        }
        for (id, commit) in repository.log(&head, None, 12).unwrap().commits {
            let mut listed = String::new();
            list(&repository, &commit.tree, "", &mut listed);
            assert_eq!(listed, fixture.git(&["ls-tree", "-r", "-t", &id.to_string()]), "seed {seed}, {id}");
            assert_eq!(commit.message, fixture.git(&["log", "-1", "--format=%B", &id.to_string()]).strip_suffix('\n').unwrap());
        }
    }
}

#[test]
fn histories_part_where_git_says() {
    let mut parted = 0;
    for seed in 1..=8 {
        let mut random = Random(seed * 1_299_709);
        let fixture = make(&mut random, 60);
        let repository = fixture.open();
        let heads = repository.references("refs/heads/").unwrap();
        for one in &heads {
            for other in &heads {
                let base = repository.merge_base(&one.id, &other.id).unwrap().unwrap();
                let expected = fixture.git(&["merge-base", "--all", &one.name, &other.name]);
                assert!(
                    expected.lines().any(|line| line == base.to_string()),
                    "seed {seed}, {} {}: {base} {expected}",
                    one.name,
                    other.name
                );
                parted += usize::from(base != one.id && base != other.id);
            }
        }
        fixture.git(&["checkout", "-q", "--orphan", "alone"]);
        fixture.commit("alone");
        assert_eq!(repository.merge_base(&heads[0].id, &fixture.id("alone")).unwrap(), None);
    }
    assert!(parted > 5, "{parted}");
}

fn list(repository: &Repository, tree: &ObjectId, above: &str, out: &mut String) {
    for entry in repository.tree(tree).unwrap() {
        let path = format!("{above}{}", String::from_utf8_lossy(&entry.name));
        let is_tree = entry.kind == crate::EntryKind::Tree;
        let kind = if is_tree { "tree" } else { "blob" };
        out.push_str(&format!("{} {kind} {}\t{path}\n", entry.kind.mode(), entry.id));
        if is_tree {
            list(repository, &entry.id, &format!("{path}/"), out);
        }
    }
}

#[test]
fn changes_are_those_of_git_and_git_takes_the_patches() {
    for seed in 1..=6 {
        let mut random = Random(seed * 104_729);
        let fixture = make(&mut random, 40);
        let repository = fixture.open();
        let head = repository.revision_commit("HEAD").unwrap();
        for (id, commit) in repository.log(&head, None, 25).unwrap().commits {
            let Some(parent) = commit.parents.first() else { continue };
            let old = repository.commit(parent).unwrap().tree;
            let changes = repository.changes(Some(&old), Some(&commit.tree), 1000).unwrap().files;
            // As if nothing was renamed, which git shows in another way.
            let mut shown = BTreeMap::new();
            for change in &changes {
                if let Some(from) = &change.renamed_from {
                    shown.insert(from.clone(), 'D');
                    shown.insert(change.path.clone(), 'A');
                } else {
                    shown.insert(change.path.clone(), change.letter());
                }
            }
            let shown: String = shown.iter().map(|(path, letter)| format!("{letter}\t{}\n", String::from_utf8_lossy(path))).collect();
            let expected = fixture.git(&["diff-tree", "-r", "--no-renames", "--name-status", &parent.to_string(), &id.to_string()]);
            assert_eq!(shown, expected, "seed {seed}, {id}");
            apply(&fixture, &repository, parent, &changes, &commit.tree);
        }
    }
}

/// Git makes the new tree of the old one by our patches.
fn apply(fixture: &Fixture, repository: &Repository, old: &ObjectId, changes: &[Change], new: &ObjectId) {
    let mut text = String::new();
    for change in changes {
        let content = |side: &crate::Side| side.map(|(_, id)| repository.object(&id).unwrap().data.to_vec()).unwrap_or_default();
        let Patch::Text { hunks, .. } = patch(&content(&change.old), &content(&change.new)) else { panic!("no binaries here") };
        let path = String::from_utf8_lossy(&change.path).into_owned();
        let from = change.renamed_from.as_ref().map_or(path.clone(), |from| String::from_utf8_lossy(from).into_owned());
        text.push_str(&format!("diff --git a/{from} b/{path}\n"));
        match (&change.old, &change.new) {
            (None, Some((kind, _))) => text.push_str(&format!("new file mode {}\n", kind.mode())),
            (Some((kind, _)), None) => text.push_str(&format!("deleted file mode {}\n", kind.mode())),
            _ => {}
        }
        if change.renamed_from.is_some() {
            text.push_str(&format!("similarity index 100%\nrename from {from}\nrename to {path}\n"));
        }
        if !hunks.is_empty() {
            let old = if change.old.is_some() { format!("a/{from}") } else { "/dev/null".into() };
            let new = if change.new.is_some() { format!("b/{path}") } else { "/dev/null".into() };
            text.push_str(&format!("--- {old}\n+++ {new}\n{hunks}"));
        }
    }
    let index = fixture.root.path().join("index");
    let run = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(arguments).current_dir(&fixture.path).env("GIT_INDEX_FILE", &index).env("HOME", fixture.root.path());
        let mut child = git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let out = child.wait_with_output().unwrap();
        assert!(out.status.success(), "git {arguments:?}: {}\n{text}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    };
    // Those that read no input would break the pipe on a long patch: all do here.
    let tree = format!("{old}^{{tree}}");
    fixture_read_tree(fixture, &index, &tree);
    if !text.is_empty() {
        run(&["apply", "--cached", "--unidiff-zero", "-"]);
    }
    let mut git = std::process::Command::new("git");
    let written = git.args(["write-tree"]).current_dir(&fixture.path).env("GIT_INDEX_FILE", &index).output().unwrap();
    assert_eq!(String::from_utf8(written.stdout).unwrap().trim(), new.to_string(), "{text}");
}

fn fixture_read_tree(fixture: &Fixture, index: &std::path::Path, tree: &str) {
    let mut git = std::process::Command::new("git");
    assert!(git.args(["read-tree", tree]).current_dir(&fixture.path).env("GIT_INDEX_FILE", index).status().unwrap().success());
}
