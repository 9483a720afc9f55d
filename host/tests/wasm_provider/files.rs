//! Granted folders, and what is told of changes in them.

use std::{
    fs::{self, OpenOptions},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::time::timeout;
use wharf::{
    config::{Grants, grants::Folder},
    provider::{
        Announcer, Error, EventQueue, Provider, Updated,
        grants::files::Guarded,
        wasm::{Limits, Spec},
    },
};

use super::support::{LONG, Running, SHORT, SOURCE, basic, compiled};

/// Far more than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

struct World {
    _guard: tempfile::TempDir,
    root: PathBuf,
}

impl World {
    fn new() -> Self {
        let guard = tempfile::tempdir().unwrap();
        let root = guard.path().canonicalize().unwrap().join("granted");
        fs::create_dir(&root).unwrap();
        fs::write(root.join("a"), "inside").unwrap();
        fs::write(root.parent().unwrap().join("secret"), "secret").unwrap();
        Self { _guard: guard, root }
    }

    /// The guest `filer`, with the folder as `/g`.
    async fn filer(&self, write: bool, limits: Limits) -> Running {
        filer(vec![Folder { host: self.root.clone(), guest: "/g".into(), write }], limits).await
    }
}

async fn filer(folders: Vec<Folder>, limits: Limits) -> Running {
    let grants = Arc::new(Grants { folders, ..Grants::default() });
    started(Spec { grants, limits, ..Spec::new("filer") }).await
}

async fn started(spec: Spec) -> Running {
    let events = Arc::<EventQueue>::default();
    let announcer = Announcer::new(SOURCE, events.clone());
    let provider = compiled("filer").await.start(spec, announcer.clone()).await.unwrap();
    Running { provider, events, announcer }
}

/// Why a read failed.
async fn failure(filer: &Running, uri: &str) -> String {
    match filer.read(uri).await {
        Err(Error::Failed(how)) => how,
        other => panic!("{uri}: {other:?}"),
    }
}

/// Waits until the guest was told of something.
async fn told(filer: &Running, line: &str) -> String {
    let waiting = async {
        loop {
            let changes = filer.text("filer://changes").await;
            if changes.lines().any(|told| told == line) {
                return changes;
            }
            let changed = Updated::These(["filer://changes".into()].into());
            filer.event(|event| event.updated == changed).await;
        }
    };
    timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("it is not told: {line}"))
}

/// Watches recursively, and returns once what changes is told as it changes.
async fn watching(filer: &Running, name: &str, root: &Path) {
    filer.text(&format!("filer://watch-all/{name}/g")).await;
    let marker = root.join(format!(".{name}"));
    fs::write(&marker, "").unwrap();
    // What is told first may be of before: that what has just been made is to be looked at.
    filer.event(|event| event.updated != Updated::default()).await;
    let second = root.join(format!(".{name}-second"));
    fs::write(&second, "").unwrap();
    told(filer, &format!("{name} created /g/.{name}-second")).await;
    fs::remove_file(&second).unwrap();
    fs::remove_file(&marker).unwrap();
    told(filer, &format!("{name} removed /g/.{name}")).await;
}

#[tokio::test]
async fn a_granted_folder_is_read_and_only_if_that_is_granted_written() {
    let world = World::new();
    let filer = world.filer(false, LONG).await;
    assert_eq!(filer.text("filer://read/g/a").await, "inside");
    assert_eq!(filer.text("filer://list/g").await, "a");
    assert!(failure(&filer, "filer://write/g/b").await.contains("os error"));
    assert!(failure(&filer, "filer://write/g/a").await.contains("os error"));
    assert_eq!(fs::read_to_string(world.root.join("a")).unwrap(), "inside");
    let writer = world.filer(true, LONG).await;
    writer.text("filer://write/g/b").await;
    assert_eq!(fs::read_to_string(world.root.join("b")).unwrap(), "written");
}

#[tokio::test]
async fn neither_links_nor_dots_lead_out_of_a_granted_folder() {
    let world = World::new();
    symlink("../secret", world.root.join("relative")).unwrap();
    symlink(world.root.parent().unwrap().join("secret"), world.root.join("absolute")).unwrap();
    symlink("..", world.root.join("up")).unwrap();
    symlink("a", world.root.join("inner")).unwrap();
    let filer = world.filer(true, LONG).await;
    for path in ["/g/relative", "/g/absolute", "/g/up/secret", "/g/../secret", "/g/up/../secret", "/secret", "/etc/passwd"] {
        let how = failure(&filer, &format!("filer://read{path}")).await;
        assert!(how.contains("os error") || how.contains("pre-opened"), "{path}: {how}");
        filer.read(&format!("filer://write{path}")).await.unwrap_err();
    }
    assert_eq!(filer.text("filer://read/g/inner").await, "inside", "one that stays inside is followed");
    assert_eq!(fs::read_to_string(world.root.parent().unwrap().join("secret")).unwrap(), "secret");
}

#[tokio::test]
async fn a_farm_of_links_ends_with_an_error_and_costs_no_instance() {
    let world = World::new();
    symlink("0", world.root.join("circle")).unwrap();
    for n in 0..2000 {
        symlink(format!("{}", (n + 1) % 2000), world.root.join(n.to_string())).unwrap();
    }
    symlink(".", world.root.join("self")).unwrap();
    let filer = world.filer(false, LONG).await;
    failure(&filer, "filer://read/g/circle").await;
    failure(&filer, &format!("filer://read/g{}", "/self".repeat(500))).await;
    assert_eq!(filer.text("filer://list/g").await.split(' ').count(), 2003);
}

#[tokio::test]
async fn a_pipe_to_which_nobody_writes_costs_its_reader_the_instance_and_delays_nobody() {
    let world = World::new();
    let pipe = world.root.join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    let filer = world.filer(false, Limits { deadline: SHORT, ..LONG }).await;
    let basic = basic().await;
    let (stuck, other) = tokio::join!(filer.read("filer://open/g/pipe"), basic.text("basic://world"));
    assert_eq!(stuck, Err(Error::DeadlineExceeded(SHORT)));
    assert!(!other.is_empty());
    // The thread that opens it is let go.
    drop(OpenOptions::new().read(true).write(true).open(&pipe).unwrap());
    assert_eq!(filer.back("filer://read/g/a").await, "inside");
}

#[tokio::test]
async fn changes_are_told_in_the_terms_of_the_watch() {
    let world = World::new();
    let filer = world.filer(false, LONG).await;
    watching(&filer, "w", &world.root).await;
    fs::write(world.root.join("b"), "").unwrap();
    told(&filer, "w created /g/b").await;
    fs::write(world.root.join("b"), "more").unwrap();
    told(&filer, "w modified /g/b").await;
    fs::rename(world.root.join("b"), world.root.join("c")).unwrap();
    let all = told(&filer, "w removed /g/b").await;
    assert!(all.contains("w created /g/c"), "{all}");
    filer.text("filer://unwatch/w").await;
    watching(&filer, "later", &world.root).await;
    fs::write(world.root.join("d"), "").unwrap();
    let all = told(&filer, "later created /g/d").await;
    assert!(!all.contains("w created /g/d"), "after unwatch nothing is told: {all}");
}

#[tokio::test]
async fn while_a_provider_computes_changes_wait_for_it_joined() {
    let world = World::new();
    let filer = world.filer(false, LONG).await;
    watching(&filer, "w", &world.root).await;
    let busy = filer.text("filer://spin/g/last");
    let change = async {
        for n in 0..10 {
            fs::write(world.root.join("b"), n.to_string()).unwrap();
            // Each is a batch of its own: the quiet that ends one is shorter.
            tokio::time::sleep(Duration::from_millis(150)).await;
        }
        fs::write(world.root.join("last"), "").unwrap();
    };
    tokio::join!(busy, change);
    let all = told(&filer, "w created /g/last").await;
    // What had come when it was done, joined, and at most one that came with the file it waited for.
    assert!(all.contains("w created /g/b") && all.matches("/g/b").count() <= 2, "{all}");
}

#[tokio::test]
async fn what_cannot_be_watched_is_refused_with_a_reason() {
    let world = World::new();
    let filer = world.filer(false, LONG).await;
    match filer.read("filer://watch/w/elsewhere/x").await {
        Err(Error::Denied(how)) => {
            assert!(how.ends_with(r#"[provider.grants] folders = [{ host = "…", guest = "/elsewhere/x" }]"#), "{how}");
        }
        other => panic!("{other:?}"),
    }
    for uri in ["filer://watch/w/g/../x".to_owned(), "filer://watch//g/a".to_owned(), format!("filer://watch/{}/g/a", "n".repeat(2049))] {
        assert!(matches!(filer.read(&uri).await, Err(Error::Invalid(_))), "{uri}");
    }
    for n in 0..256 {
        filer.text(&format!("filer://watch/{n}/g/{n}")).await;
    }
    assert!(matches!(filer.read("filer://watch/more/g/a").await, Err(Error::Denied(_))));
    filer.text("filer://watch/7/g/a").await;
    filer.text("filer://unwatch/7").await;
    filer.text("filer://watch/more/g/a").await;
}

#[tokio::test]
async fn a_granted_folder_that_was_deleted_and_made_again_is_had_by_a_fresh_instance() {
    let world = World::new();
    let filer = world.filer(false, LONG).await;
    assert_eq!(filer.text("filer://once").await, "1");
    fs::rename(&world.root, world.root.parent().unwrap().join("old")).unwrap();
    fs::create_dir(&world.root).unwrap();
    fs::write(world.root.join("a"), "new").unwrap();
    let renewed = filer.event(|event| event.up);
    timeout(PATIENCE, renewed).await.unwrap();
    assert_eq!(filer.text("filer://read/g/a").await, "new");
    assert_eq!(filer.text("filer://once").await, "1");
}

#[tokio::test]
async fn a_granted_folder_that_is_missing_is_had_once_it_is_made() {
    let world = World::new();
    let later = world.root.join("later");
    let filer = filer(vec![Folder { host: later.clone(), guest: "/g".into(), write: false }], LONG).await;
    failure(&filer, "filer://read/g/a").await;
    match filer.read("filer://watch/w/g/a").await {
        Err(Error::Unavailable { message, .. }) => assert!(message.contains("make it"), "{message}"),
        other => panic!("{other:?}"),
    }
    fs::create_dir(&later).unwrap();
    fs::write(later.join("a"), "made").unwrap();
    timeout(PATIENCE, filer.event(|event| event.up)).await.unwrap();
    assert_eq!(filer.text("filer://read/g/a").await, "made");
    filer.provider.close().await;
}

#[tokio::test]
async fn a_folder_with_what_rights_rest_on_in_it_is_read_only_whatever_wharf_toml_says() {
    let world = World::new();
    let folders = vec![Folder { host: world.root.clone(), guest: "/g".into(), write: true }];
    let grants = Arc::new(Grants { folders, ..Grants::default() });
    let guarded = Guarded { paths: vec![world.root.join("wharf.toml")], written: vec![world.root.clone()] };
    let spec = Spec { grants, limits: LONG, guarded: guarded.into(), ..Spec::new("filer-guarded") };
    let filer = started(spec).await;
    assert_eq!(filer.text("filer://read/g/a").await, "inside");
    for path in ["wharf.toml", "b", "a"] {
        failure(&filer, &format!("filer://write/g/{path}")).await;
    }
    assert_eq!(fs::read_to_string(world.root.join("a")).unwrap(), "inside");
}

#[tokio::test]
async fn a_granted_folder_that_a_provider_turns_into_a_link_leads_nowhere() {
    let world = World::new();
    let (outside, inner) = (world.root.parent().unwrap().join("outside"), world.root.join("inner"));
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("key"), "secret").unwrap();
    fs::create_dir(&inner).unwrap();
    fs::write(inner.join("key"), "own").unwrap();
    let folders = vec![Folder { host: inner.clone(), guest: "/g".into(), write: false }];
    let grants = Arc::new(Grants { folders, ..Grants::default() });
    // Another provider may write what is around it.
    let guarded = Guarded { paths: Vec::new(), written: vec![world.root.clone()] };
    let spec = Spec { grants, limits: LONG, guarded: guarded.into(), ..Spec::new("filer-nested") };
    let filer = started(spec).await;
    assert_eq!(filer.text("filer://read/g/key").await, "own");
    fs::rename(&inner, world.root.join("moved")).unwrap();
    symlink("../outside", &inner).unwrap();
    // It is started anew, and without the folder.
    timeout(PATIENCE, filer.event(|event| event.up)).await.expect("it is not started anew");
    failure(&filer, "filer://read/g/key").await;
    // Made again, it is had again.
    fs::remove_file(&inner).unwrap();
    fs::rename(world.root.join("moved"), &inner).unwrap();
    timeout(PATIENCE, filer.event(|event| event.up)).await.expect("it is not started anew");
    assert_eq!(filer.text("filer://read/g/key").await, "own");
}
