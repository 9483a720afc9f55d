//! What becomes of compiler processes.

use std::{
    io::{Read, Write},
    process::{Command, Stdio},
    time::Duration,
};

use bytes::Bytes;
use wharf::provider::wasm::{LoadError, Runtime, compile::Limits};

use super::support::{WHARF, apart, end_of, guest, pipe, runtime, script, within};

async fn refusal(program: impl Into<std::path::PathBuf>, limits: Limits) -> LoadError {
    within(runtime(program, None, limits).compile("test", guest("basic"))).await.unwrap_err()
}

#[tokio::test]
async fn a_component_compiled_in_a_process_of_its_own_is_like_any_other() {
    // Falling back would show nothing, so the process has to leave a trace.
    let folder = tempfile::tempdir().unwrap();
    let program = script(&folder, &format!("echo ran >>'{}/ran'\nexec \"$real\" \"$@\"", folder.path().display()));
    for (name, live) in [("basic", false), ("live", true)] {
        let compiled = within(runtime(&program, None, Limits::default()).compile(name, guest(name))).await.unwrap();
        assert_eq!(compiled.offers().live, live);
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("ran")).unwrap(), "ran\nran\n");
}

#[tokio::test]
async fn a_component_cut_off_at_any_section_boundary_is_refused_in_the_same_words_as_in_process() {
    let whole = Bytes::from(sections());
    let (here, apart) = (Runtime::new().unwrap(), runtime(WHARF, None, Limits::default()));
    let boundaries = boundaries(&whole);
    assert!(boundaries.len() > 10);
    for length in boundaries {
        let error = within(here.compile("test", whole.slice(..length))).await.unwrap_err();
        assert_eq!(within(apart.compile("test", whole.slice(..length))).await.unwrap_err(), error, "{length} bytes");
    }
}

/// A component of many sections, in which there is little to compile.
fn sections() -> Vec<u8> {
    wat::parse_str(
        r#"(component
            (type $log (func (param "line" string)))
            (import "wasi:cli/stderr@0.2.0" (instance $stderr (export "f" (func (param "n" u32)))))
            (core module $memory (memory (export "memory") 1))
            (core instance $memories (instantiate $memory))
            (alias export $stderr "f" (func $imported))
            (core func $lowered (canon lower (func $imported)))
            (core module $module
                (import "" "f" (func (param i32)))
                (func (export "f")) (func (export "g") (param i32) (result i32) local.get 0))
            (core instance $core (instantiate $module (with "" (instance (export "f" (func $lowered))))))
            (component $inner (type (record (field "a" u8))))
            (instance (instantiate $inner))
            (func $f (canon lift (core func $core "f")))
            (instance $resources (export "list" (func $f)) (export "templates" (func $f)) (export "read" (func $f)))
            (export "wharf:provider/resources@0.1.0" (instance $resources)))"#,
    )
    .unwrap()
}

/// Where the sections of a component begin, the last excepted (Binary.md of the component model: id, size as LEB128, content).
fn boundaries(component: &[u8]) -> Vec<usize> {
    let (mut at, mut found) = (8, Vec::new());
    while at < component.len() {
        found.push(at);
        let (mut size, mut shift) = (0, 0);
        loop {
            at += 1;
            size |= usize::from(component[at] & 0x7f) << shift;
            shift += 7;
            if component[at] & 0x80 == 0 {
                break;
            }
        }
        at += 1 + size;
    }
    assert_eq!(at, component.len());
    found
}

#[tokio::test]
async fn a_compiler_that_takes_too_long_is_stopped_and_only_that_file_refused() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = pipe(&folder);
    let program = script(&folder, &format!("exec 3>'{}'\nexec sleep 3600", pipe.display()));
    let reading = tokio::spawn(end_of(pipe.clone()));
    let limits = Limits { time: Duration::from_millis(300), ..Limits::default() };
    let error = refusal(program, limits).await;
    assert_eq!(error, LoadError::CompileTime(Duration::from_millis(300)));
    assert!(error.to_string().contains("300ms"), "{error}");
    // Nobody holds the pipe's other end any more.
    within(reading).await.unwrap();
}

#[tokio::test]
async fn nobody_who_waits_means_no_compiler() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = pipe(&folder);
    let program = script(&folder, &format!("exec 3>'{}'\nexec sleep 3600", pipe.display()));
    let runtime = runtime(program, None, Limits::default());
    let compiling = tokio::spawn(async move { runtime.compile("test", guest("basic")).await.map(drop) });
    // Opening it waits for the compiler to open it, too.
    let mut opened = apart(move || std::fs::File::open(pipe).unwrap()).await;
    compiling.abort();
    assert!(within(compiling).await.unwrap_err().is_cancelled());
    apart(move || opened.read_to_end(&mut Vec::new()).unwrap()).await;
}

#[tokio::test]
async fn a_compiler_that_is_killed_or_crashes_refuses_that_file_and_says_how() {
    let folder = tempfile::tempdir().unwrap();
    for (lines, said) in [
        ("kill -9 $$", "no more memory"),
        ("kill -SEGV $$", "signal 11"),
        ("echo 'thread main panicked at x.rs' >&2; exit 101", "panicked at x.rs"),
        ("echo 'memory allocation of 9 bytes failed' >&2; kill -ABRT $$", "4096 MiB"),
        ("echo not code", ""),
    ] {
        let apart = runtime(script(&folder, lines), None, Limits::default());
        let result = within(apart.compile("test", guest("basic"))).await;
        match said {
            // What is no machine code is compiled again, here.
            "" => assert!(result.is_ok()),
            said => {
                let error = result.unwrap_err();
                assert!(error.to_string().contains(said), "{lines}: {error}");
            }
        }
        // The next one has its turn.
        std::fs::remove_file(script(&folder, "")).unwrap();
        assert!(within(apart.compile("test", guest("basic"))).await.is_ok(), "after {lines}");
    }
}

#[tokio::test]
async fn a_component_that_needs_more_memory_than_it_may_have_is_refused() {
    let limits = Limits { memory: 256 << 20, ..Limits::default() };
    let error = within(runtime(WHARF, None, limits).compile("test", hungry().into())).await.unwrap_err();
    assert_eq!(error, LoadError::CompileMemory(256 << 20));
}

#[tokio::test]
async fn a_component_that_takes_more_computing_than_it_may_is_refused() {
    let limits = Limits { work: Duration::from_secs(1), ..Limits::default() };
    let error = within(runtime(WHARF, None, limits).compile("test", hungry().into())).await.unwrap_err();
    assert_eq!(error, LoadError::CompileWork(Duration::from_secs(1)));
}

#[tokio::test]
async fn without_a_compiler_process_it_is_compiled_in_this_one() {
    let folder = tempfile::tempdir().unwrap();
    for program in ["/nowhere".into(), script(&folder, "echo 'unknown subcommand' >&2; exit 2")] {
        assert!(within(runtime(program, None, Limits::default()).compile("test", guest("basic"))).await.is_ok());
    }
}

fn worker(bytes: usize, engine: &str) -> std::process::Child {
    Command::new(WHARF)
        .args(["compile-component", "--memory", "4294967296", "--seconds", "60", "--engine", engine, "--bytes", &bytes.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn a_compiler_of_another_version_says_so_and_compiles_nothing() {
    let component = guest("basic");
    let mut child = worker(component.len(), "another");
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&component).unwrap();
    let ended = child.wait_with_output().unwrap();
    drop(stdin);
    assert_eq!((ended.status.code(), ended.stdout.len()), (Some(69), 0));
    assert!(String::from_utf8_lossy(&ended.stderr).contains("another version"));
}

#[test]
fn a_compiler_whose_host_is_gone_ends() {
    let component = guest("basic");
    let mut child = worker(component.len(), "another");
    child.stdin.take().unwrap().write_all(&component[..100]).unwrap();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(69));
}

/// Takes the compiler a gigabyte or two: one function of many blocks, each with many values alive across all of them.
fn hungry() -> Vec<u8> {
    let mut body = String::new();
    for n in 0..60_000 {
        body += &format!("local.get {} if local.get {} local.set {} end ", n % 900, (n * 7) % 900, (n * 13) % 900);
    }
    let locals = "i32 ".repeat(900);
    wat::parse_str(format!("(component (core module (func (export \"f\") (local {locals}) {body})))")).unwrap()
}
