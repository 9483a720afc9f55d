//! The whole command, with a cache.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::Stdio,
};

use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::Command,
};

use super::support::{WHARF, path_of, within};

fn plugins(names: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in names {
        fs::copy(path_of(name), folder.path().join(format!("{name}.wasm"))).unwrap();
    }
    folder
}

/// Starts a host in a shell that does this first, and gives what it says until it has said of each file what became of it.
async fn said(first: &str, plugins: &TempDir, cache: &Path) -> Vec<String> {
    let files = fs::read_dir(plugins.path()).unwrap().count();
    let mut host = Command::new("sh")
        .args(["-c", &format!("{first}\nexec \"$0\" serve --http 127.0.0.1:0 --plugins \"$1\""), WHARF])
        .arg(plugins.path())
        .current_dir(plugins.path())
        .env("WHARF_CACHE_DIR", cache)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(host.stderr.take().unwrap()).lines();
    let mut said = Vec::new();
    let fate = |line: &&String| line.starts_with("loaded") || line.starts_with("refused");
    while said.iter().filter(fate).count() < files {
        said.push(within(lines.next_line()).await.unwrap().unwrap_or_else(|| panic!("the host ended: {said:#?}")));
    }
    within(host.kill()).await.unwrap();
    said
}

fn all_loaded(said: &[String]) -> bool {
    !said.iter().any(|line| line.starts_with("refused"))
}

fn warnings(said: &[String]) -> Vec<&String> {
    said.iter().filter(|line| line.contains("WARN") && line.contains("compile")).collect()
}

#[tokio::test]
async fn a_host_fills_the_cache_and_says_nothing_of_it() {
    let (plugins, cache) = (plugins(&["basic", "live"]), tempfile::tempdir().unwrap());
    for _ in 0..2 {
        let said = said("", &plugins, cache.path()).await;
        assert!(all_loaded(&said) && warnings(&said).is_empty(), "{said:#?}");
    }
    let entries = fs::read_dir(cache.path().join("components")).unwrap().map(|entry| entry.unwrap().path());
    assert_eq!(entries.filter(|path| path.extension().is_some_and(|found| found == "cwasm")).count(), 2);
}

#[tokio::test]
async fn where_the_disk_is_full_everything_loads_and_the_cache_is_left_clean() {
    let (plugins, cache) = (plugins(&["basic", "live"]), tempfile::tempdir().unwrap());
    // A file of this host ends at 200 kB, as it would on a full disk: with an error and not with a signal.
    let said = said("trap '' XFSZ; ulimit -f 400", &plugins, cache.path()).await;
    assert!(all_loaded(&said), "{said:#?}");
    assert_eq!(said.iter().filter(|line| line.contains("cannot write to the compile cache")).count(), 1, "{said:#?}");
    let left = fs::read_dir(cache.path().join("components")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(left.into_iter().all(|name| !name.starts_with("tmp-") && !name.ends_with(".cwasm")));
}

#[tokio::test]
async fn a_cache_that_others_may_write_is_not_used_and_the_user_told_once() {
    let (plugins, cache) = (plugins(&["basic", "live"]), tempfile::tempdir().unwrap());
    let components = cache.path().join("components");
    fs::create_dir(&components).unwrap();
    fs::set_permissions(&components, Permissions::from_mode(0o777)).unwrap();
    let said = said("", &plugins, cache.path()).await;
    assert!(all_loaded(&said), "{said:#?}");
    assert_eq!(warnings(&said).len(), 1, "{said:#?}");
    assert!(warnings(&said)[0].contains("chmod 700"), "{said:#?}");
    assert_eq!(fs::read_dir(&components).unwrap().count(), 0);
}

#[tokio::test]
async fn files_that_are_no_providers_are_refused_each_for_its_own_reason_and_the_others_load() {
    let (plugins, cache) = (plugins(&["basic"]), tempfile::tempdir().unwrap());
    let file = |name: &str, content: &[u8]| fs::write(plugins.path().join(name), content).unwrap();
    file("core.wasm", b"\0asm\x01\0\0\0");
    file("header.wasm", b"\0asm\x0d\0\x01\0");
    file("cut.wasm", &fs::read(path_of("basic")).unwrap()[..50_000]);
    file("precompiled.wasm", &wasmtime::Engine::default().precompile_component(b"\0asm\x0d\0\x01\0").unwrap());
    let said = said("", &plugins, cache.path()).await;
    for (name, reason) in [
        ("core", "wharf componentize CORE.wasm"),
        ("header", "empty component"),
        ("cut", "not a valid component"),
        ("precompiled", "(.cwasm), which is never loaded"),
    ] {
        assert!(said.iter().any(|line| line.starts_with(&format!("refused  {name}: ")) && line.contains(reason)), "{name}: {said:#?}");
    }
    assert!(said.iter().any(|line| line.starts_with("loaded   basic")), "{said:#?}");
}

#[tokio::test]
async fn two_hosts_start_at_once_on_an_empty_cache() {
    let (plugins, cache) = (plugins(&["basic", "live", "hostile"]), tempfile::tempdir().unwrap());
    let (one, other) = tokio::join!(said("", &plugins, cache.path()), said("", &plugins, cache.path()));
    for said in [one, other] {
        assert!(all_loaded(&said) && warnings(&said).is_empty(), "{said:#?}");
    }
}
