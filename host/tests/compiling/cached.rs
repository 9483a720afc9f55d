//! What the cache spares.

use std::{fs, time::Duration};

use wharf::provider::wasm::{Compilation, LoadError, Runtime, compile::Limits};

use super::support::{WHARF, guest, path_of, runtime, script, within};

/// A runtime whose compiler refuses everything.
const REFUSING: &str = "exit 101";

#[tokio::test]
async fn what_one_host_compiled_the_next_one_need_not() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let (file, copy) = (folder.path().join("a.wasm"), folder.path().join("b.wasm"));
    fs::write(&file, guest("basic")).unwrap();
    within(runtime(WHARF, Some(&cache), Limits::default()).load("a", &file)).await.unwrap();

    fs::copy(&file, &copy).unwrap();
    let warm = runtime(script(&folder, REFUSING), Some(&cache), Limits::default());
    for path in [&file, &copy] {
        within(warm.load("a", path)).await.unwrap();
    }
    within(warm.compile("a", guest("basic"))).await.unwrap();
    // Another content at the same path.
    fs::write(&file, guest("live")).unwrap();
    assert!(matches!(within(warm.load("a", &file)).await.unwrap_err(), LoadError::Compile(_)));
}

#[tokio::test]
async fn a_program_that_compiles_in_process_fills_and_uses_the_cache_too() {
    let folder = tempfile::tempdir().unwrap();
    let cache = wharf::provider::wasm::CacheFolder::At(folder.path().join("cache"));
    let here = Runtime::with(Compilation { cache, ..Compilation::default() }).unwrap();
    within(here.compile("a", guest("basic"))).await.unwrap();
    let warm = runtime(script(&folder, REFUSING), Some(&folder.path().join("cache")), Limits::default());
    within(warm.compile("a", guest("basic"))).await.unwrap();
}

#[tokio::test]
async fn a_file_that_did_not_change_is_not_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    // Files that have lain still for a while; a young one might change unseen, and is read each time.
    let (basic, live) = (path_of("basic"), path_of("live"));
    let cold = runtime(WHARF, Some(&cache), Limits::default());
    assert!(!within(cold.load("basic", &basic)).await.unwrap().offers().live);
    within(cold.load("live", &live)).await.unwrap();
    let content = |name| blake3::hash(&guest(name)).to_hex();
    let notes = fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().path());
    let note = notes.filter(|path| path.extension().is_some_and(|found| found == "src"));
    let mut known = 0;
    for path in note {
        let text = fs::read_to_string(&path).unwrap();
        known += 1;
        // What is told of the one is now told of the other: whoever believes it has not read the file.
        fs::write(&path, text.replace(content("basic").as_str(), content("live").as_str())).unwrap();
    }
    assert_eq!(known, 2);
    let warm = runtime(script(&folder, REFUSING), Some(&cache), Limits::default());
    assert!(within(warm.load("basic", &basic)).await.unwrap().offers().live);
}

#[tokio::test]
async fn a_damaged_entry_is_compiled_again() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    within(runtime(WHARF, Some(&cache), Limits::default()).compile("a", guest("basic"))).await.unwrap();
    let entry = fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().path());
    let entry = entry.filter(|path| path.extension().is_some_and(|found| found == "cwasm")).last().unwrap();
    let mut code = fs::read(&entry).unwrap();
    let whole = code.clone();
    code[5000] ^= 0x10;
    fs::write(&entry, &code).unwrap();
    assert!(within(runtime(script(&folder, REFUSING), Some(&cache), Limits::default()).compile("a", guest("basic"))).await.is_err());
    assert!(!entry.exists());
    within(runtime(WHARF, Some(&cache), Limits::default()).compile("a", guest("basic"))).await.unwrap();
    assert_eq!(fs::read(&entry).unwrap().len(), whole.len());
}

#[tokio::test]
async fn two_hosts_that_fill_the_cache_at_once_compile_each_component_once() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let program = script(&folder, &format!("echo ran >>'{}/ran'\nexec \"$real\" \"$@\"", folder.path().display()));
    let hosts = [(); 2].map(|()| runtime(&program, Some(&cache), Limits::default()));
    let names = ["basic", "live", "hostile", "caller"];
    let loading = hosts.iter().flat_map(|host| {
        names.map(|name| {
            let host = host.clone();
            tokio::spawn(async move { host.load(name, &path_of(name)).await.map(drop) })
        })
    });
    for loaded in loading.collect::<Vec<_>>() {
        within(loaded).await.unwrap().unwrap();
    }
    assert_eq!(fs::read_to_string(folder.path().join("ran")).unwrap().lines().count(), names.len());
}

#[tokio::test]
async fn a_cache_that_cannot_be_used_keeps_nothing_from_loading() {
    let folder = tempfile::tempdir().unwrap();
    let blocked = folder.path().join("file");
    fs::write(&blocked, "").unwrap();
    let cold = runtime(WHARF, Some(&blocked.join("cache")), Limits { time: Duration::from_secs(60), ..Limits::default() });
    within(cold.load("basic", &path_of("basic"))).await.unwrap();
}
