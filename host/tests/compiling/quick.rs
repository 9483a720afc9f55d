//! The quick compiler: what it makes answers as what the thorough one makes, and what it cannot make, that one makes.

use std::sync::Arc;

use wharf::provider::{
    Announcer, Provider, ReadRequest, Reading, Source,
    wasm::{CacheFolder, Compilation, Compiler, LoadError, Runtime, Spec, Strategy},
};

use super::support::{WHARF, guest, path_of, within};

fn quick(compiler: Compiler, cache: CacheFolder) -> Arc<Runtime> {
    Runtime::with(Compilation { compiler, cache, strategy: Strategy::Quick, ..Compilation::default() }).unwrap()
}

async fn read(runtime: &Arc<Runtime>) -> Reading {
    let compiled = within(runtime.load("basic", &path_of("basic"))).await.unwrap();
    let announcer = Announcer::new(Source { slot: 1, generation: 1 }, Arc::default());
    let provider = within(compiled.start(Spec::new("basic"), announcer)).await.unwrap();
    let request = ReadRequest { uri: "basic://full".into(), matched: None, if_none_match: None };
    within(provider.read(request)).await.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_compiled_quickly_answers_as_what_is_compiled_thoroughly_and_is_kept_apart() {
    let cache = tempfile::tempdir().unwrap();
    let at = || CacheFolder::At(cache.path().join("components"));
    let expected = read(&Runtime::with(Compilation { cache: at(), ..Compilation::default() }).unwrap()).await;
    for compiler in [Compiler::InProcess, Compiler::Process { program: WHARF.into() }] {
        let runtime = quick(compiler, at());
        assert_eq!(read(&runtime).await, expected);
    }
    let runtime = quick(Compiler::InProcess, at());
    let compiled = within(runtime.load("basic", &path_of("basic"))).await.unwrap();
    assert_eq!(compiled.compile_time(), None, "its code is in the cache, besides the other's");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_neither_compiles_is_refused_in_the_words_of_the_thorough_one() {
    let runtime = quick(Compiler::InProcess, CacheFolder::Off);
    let half = guest("basic").slice(..1000);
    let error = within(runtime.compile("half", half.clone())).await.unwrap_err();
    assert!(matches!(error, LoadError::Invalid(_)), "{error}");
    let thorough = Runtime::new().unwrap();
    assert_eq!(within(thorough.compile("half", half)).await.unwrap_err(), error);
    // And what either compiles is compiled all the same afterwards.
    within(runtime.compile("basic", guest("basic"))).await.unwrap();
}
