//! The example provider `git`, as its users see it: a real repository, changed by git itself.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use wharf_tests::{Host, Listener, Session, Setup, call};

/// A repository with one commit, granted as `/repo`.
struct World {
    guard: tempfile::TempDir,
    repo: PathBuf,
}

impl World {
    fn new() -> Result<Self> {
        let guard = tempfile::tempdir()?;
        let root = guard.path().canonicalize()?;
        let world = Self { repo: root.join("repo"), guard };
        fs::create_dir(&world.repo)?;
        world.git(&["init", "-q", "-b", "main"])?;
        world.write("src/main.rs", "fn main() {}\n")?;
        world.write(".gitignore", "target/\n")?;
        world.commit("Begin")?;
        Ok(world)
    }

    fn git(&self, arguments: &[&str]) -> Result<String> {
        git(&self.repo, arguments)
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) -> Result<()> {
        let path = self.repo.join(path);
        fs::create_dir_all(path.parent().context("no parent")?)?;
        Ok(fs::write(path, content)?)
    }

    fn commit(&self, message: &str) -> Result<String> {
        self.git(&["add", "-A"])?;
        self.git(&["commit", "-q", "-m", message])?;
        self.git(&["rev-parse", "HEAD"])
    }

    async fn serve(&self, settings: &str) -> Result<Host> {
        serve(&[(&self.repo, "/repo")], settings).await
    }
}

fn git(folder: &Path, arguments: &[&str]) -> Result<String> {
    let mut git = Command::new("git");
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for who in ["AUTHOR", "COMMITTER"] {
        git.env(format!("GIT_{who}_NAME"), "Ada").env(format!("GIT_{who}_EMAIL"), "ada@example.org");
    }
    let out = git.args(arguments).current_dir(folder).output().context("this test needs git: `apt-get install git` for instance")?;
    ensure!(out.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
    Ok(String::from_utf8(out.stdout)?.trim_end().to_owned())
}

async fn serve(folders: &[(&Path, &str)], settings: &str) -> Result<Host> {
    let folder = |(host, guest): &(&Path, &str)| format!("{{ host = {:?}, guest = {guest:?} }}", host.display().to_string());
    let folders: Vec<String> = folders.iter().map(folder).collect();
    let config =
        format!("[[provider]]\nname = \"git\"\n[provider.grants]\nfolders = [{}]\n[provider.settings]\n{settings}\n", folders.join(", "));
    let mut host = Setup::new().guest("git").config(&config).start().await?;
    host.wait_for_log("loaded   git").await?;
    Ok(host)
}

async fn content(host: &Host, uri: &str) -> Result<Value> {
    Ok(call(host, "resources/read", json!({ "uri": uri })).await?["contents"][0].take())
}

async fn text(host: &Host, uri: &str) -> Result<String> {
    let content = content(host, uri).await?;
    Ok(content["text"].as_str().with_context(|| format!("{uri} is no text: {content}"))?.to_owned())
}

async fn refused(host: &Host, uri: &str) -> Result<String> {
    match content(host, uri).await {
        Ok(content) => bail!("{uri} can be read: {content}"),
        Err(error) => Ok(format!("{error:#}")),
    }
}

/// Takes updates until each of these has come; others may come, too.
async fn told(listener: &mut Listener, expected: &[&str]) -> Result<()> {
    let mut missing: BTreeSet<&str> = expected.iter().copied().collect();
    while !missing.is_empty() {
        let uri = listener.update().await?;
        missing.remove(uri.as_str());
    }
    Ok(())
}

#[tokio::test]
async fn a_repository_is_served_by_nothing_but_its_grant() -> Result<()> {
    let world = World::new()?;
    let host = world.serve("").await?;
    let list = call(&host, "resources/list", json!({})).await?;
    let listed: Vec<&str> = list["resources"].as_array().context("no list")?.iter().filter_map(|info| info["uri"].as_str()).collect();
    let expected = ["status", "diff", "log/HEAD", "branches", "tags", "tree/HEAD"].map(|path| format!("git://repo/{path}"));
    ensure!(listed == expected, "{listed:?}");
    for uri in listed {
        ensure!(!text(&host, uri).await?.is_empty(), "{uri}");
    }
    ensure!(text(&host, "git://repo/file/HEAD/src/main.rs").await? == "fn main() {}\n");
    ensure!(content(&host, "git://repo/file/main/src/main.rs").await?["mimeType"] == "text/x-rust");
    ensure!(text(&host, "git://repo/log/main?limit=1").await?.contains("Author: Ada <ada@example.org>"));
    Ok(())
}

#[tokio::test]
async fn a_file_is_had_at_each_revision_after_everything_was_packed_too() -> Result<()> {
    let world = World::new()?;
    let mut commits = Vec::new();
    for n in 0..30 {
        world.write("notes.txt", format!("{}{n}\n", "the same line\n".repeat(200)))?;
        commits.push(world.commit(&format!("Note {n}"))?);
    }
    world.git(&["branch", "feature/x", "HEAD~7"])?;
    world.write("logo", [0u8, 1, 2])?;
    world.commit("A logo")?;
    let host = world.serve("").await?;
    for packed in [false, true] {
        if packed {
            world.git(&["gc", "-q"])?;
        }
        for (n, id) in commits.iter().enumerate() {
            let read = text(&host, &format!("git://repo/file/{id}/notes.txt")).await?;
            ensure!(read.ends_with(&format!("line\n{n}\n")), "{n}");
        }
        ensure!(text(&host, "git://repo/file/feature/x/notes.txt").await?.ends_with("\n22\n"));
        ensure!(content(&host, "git://repo/file/HEAD/logo").await?["blob"] == "AAEC");
        let commit = text(&host, "git://repo/commit/feature/x").await?;
        ensure!(text(&host, "git://repo/compare/feature/x...main").await?.contains("-22\n+29\n"));
        ensure!(commit.contains("-21\n+22\n") && commit.contains("    Note 22\n"), "{commit}");
    }
    for missing in ["file/HEAD/none", "file/none/notes.txt", "commit/none", "log/none", "tree/HEAD/none"] {
        let error = refused(&host, &format!("git://repo/{missing}")).await?;
        ensure!(error.contains("-32602"), "{missing}: {error}");
    }
    Ok(())
}

#[tokio::test]
async fn commits_checkouts_and_edits_are_announced() -> Result<()> {
    let world = World::new()?;
    world.git(&["branch", "other"])?;
    let host = world.serve("").await?;
    let session = Session::open(&host).await?;
    let mut listener = session.listen().await?;
    let uris = ["status", "diff", "log/HEAD", "branches", "file/HEAD/src/main.rs"].map(|path| format!("git://repo/{path}"));
    session.subscribe(&uris).await?;
    let [status, diff, log, branches, file] = uris.each_ref().map(String::as_str);

    world.write("src/main.rs", "fn main() { edited() }\n")?;
    told(&mut listener, &[status, diff]).await?;
    ensure!(text(&host, status).await?.contains("  M src/main.rs\n"));
    ensure!(text(&host, diff).await?.contains("+fn main() { edited() }\n"));

    world.git(&["add", "-A"])?;
    told(&mut listener, &[status]).await?;
    ensure!(text(&host, status).await?.contains("Staged (1):\n  M src/main.rs\n"));

    world.commit("Edited")?;
    told(&mut listener, &[status, diff, log, branches, file]).await?;
    ensure!(text(&host, log).await?.contains("    Edited\n"));
    ensure!(text(&host, file).await? == "fn main() { edited() }\n");

    world.git(&["checkout", "-q", "other"])?;
    told(&mut listener, &[status, log, branches, file]).await?;
    ensure!(text(&host, status).await?.starts_with("On branch other\n"));
    ensure!(text(&host, file).await? == "fn main() {}\n");
    Ok(())
}

#[tokio::test]
async fn what_git_ignores_and_what_did_not_change_is_not_announced() -> Result<()> {
    let world = World::new()?;
    // However slow the machine is: where looking takes long, more is announced.
    let host = world.serve("time-ms = 600000").await?;
    let session = Session::open(&host).await?;
    let mut listener = session.listen().await?;
    let status = "git://repo/status".to_owned();
    session.subscribe(std::slice::from_ref(&status)).await?;
    world.write("target/debug/out", "built")?;
    let touched = fs::File::options().append(true).open(world.repo.join("src/main.rs"))?;
    touched.set_modified(std::time::SystemTime::now())?;
    world.git(&["status"])?;
    world.git(&["branch", "another"])?;
    // The first that is heard is of this one.
    world.write("new.txt", "1")?;
    ensure!(listener.update().await? == status);
    ensure!(text(&host, &status).await?.contains("  ? new.txt\n"));
    Ok(())
}

#[tokio::test]
async fn a_branch_that_is_still_to_come_can_be_subscribed_to() -> Result<()> {
    let world = World::new()?;
    let host = world.serve("").await?;
    let session = Session::open(&host).await?;
    let mut listener = session.listen().await?;
    let log = "git://repo/log/feature/y".to_owned();
    session.subscribe(std::slice::from_ref(&log)).await?;
    world.git(&["branch", "feature/y"])?;
    ensure!(listener.update().await? == log);
    ensure!(text(&host, &log).await?.contains("    Begin\n"));
    Ok(())
}

#[tokio::test]
async fn a_worktree_whose_repository_is_not_granted_names_the_folder_to_grant() -> Result<()> {
    let world = World::new()?;
    let tree = world.guard.path().canonicalize()?.join("tree");
    world.git(&["worktree", "add", "-q", "-b", "side", tree.to_str().context("not UTF-8")?])?;
    let alone = serve(&[(&tree, "/tree")], "repository = \"/tree\"").await?;
    let error = refused(&alone, "git://tree/status").await?;
    let whole = world.repo.join(".git").display().to_string();
    // As the message has it, in JSON or not.
    ensure!(error.replace('\\', "").contains(&format!("guest = \"{whole}\"")), "{error}");
    let both = serve(&[(&tree, "/tree"), (&world.repo.join(".git"), &whole)], "repository = \"/tree\"").await?;
    ensure!(text(&both, "git://tree/status").await?.starts_with("On branch side\n"));
    Ok(())
}

#[tokio::test]
async fn what_is_not_granted_or_wrongly_set_says_what_to_write() -> Result<()> {
    let world = World::new()?;
    let host = serve(&[], "").await?;
    let error = refused(&host, "git://repo/status").await?;
    ensure!(error.contains("[provider.grants] folders"), "{error}");
    let wrong = "[[provider]]\nname = \"git\"\n[provider.settings]\nrepositry = \"/repo\"\n";
    let mut host = Setup::new().guest("git").config(wrong).start().await?;
    host.wait_for_log("the settings are repository, repositories and time-ms").await?;
    let host = serve(&[(&world.repo, "/srv/app")], "repositories.one = \"/srv/app\"").await?;
    ensure!(text(&host, "git://one/status").await?.contains("working tree clean"));
    Ok(())
}

#[tokio::test]
async fn a_damaged_repository_costs_an_error_and_no_instance() -> Result<()> {
    let world = World::new()?;
    let host = world.serve("").await?;
    let blob = world.git(&["rev-parse", "HEAD:src/main.rs"])?;
    let (first, rest) = blob.split_at(2);
    let object = world.repo.join(".git/objects").join(first).join(rest);
    fs::remove_file(&object)?;
    fs::write(&object, "no zlib")?;
    let error = refused(&host, "git://repo/file/HEAD/src/main.rs").await?;
    ensure!(error.contains("damaged") && error.contains(&blob), "{error}");
    fs::write(world.repo.join(".git/refs/heads/a"), "ref: refs/heads/a\n")?;
    let error = refused(&host, "git://repo/log/a").await?;
    ensure!(error.contains("circle"), "{error}");
    ensure!(text(&host, "git://repo/status").await?.starts_with("On branch main\n"));
    Ok(())
}

#[tokio::test]
async fn branches_and_paths_are_suggested() -> Result<()> {
    let world = World::new()?;
    world.git(&["branch", "feature/x"])?;
    let host = world.serve("").await?;
    for (template, name, typed, known, expected) in [
        ("log/{+revision}{?limit,path}", "revision", "fea", json!({}), json!(["feature/x"])),
        ("compare/{+range}", "range", "mai", json!({}), json!(["main..."])),
        ("compare/{+range}", "range", "main...f", json!({}), json!(["main...feature/x"])),
        ("file/{revision}/{+path}", "revision", "", json!({}), json!(["HEAD", "main"])),
        ("file/{revision}/{+path}", "path", "s", json!({ "revision": "main" }), json!(["src/"])),
        ("file/{revision}/{+path}", "path", "src/", json!({ "revision": "main" }), json!(["src/main.rs"])),
    ] {
        let params = json!({
            "ref": { "type": "ref/resource", "uri": format!("git://repo/{template}") },
            "argument": { "name": name, "value": typed },
            "context": { "arguments": known },
        });
        let completion = call(&host, "completion/complete", params).await?;
        ensure!(completion["completion"]["values"] == expected, "{template} {typed:?}: {completion}");
    }
    Ok(())
}
