//! Compilers that do as they are told, and runtimes that use them.

use std::{
    fs::{self, Permissions},
    future::Future,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use tempfile::TempDir;
use wharf::provider::wasm::{CacheFolder, Compilation, Compiler, Runtime, compile::Limits};

/// The real compiler.
pub const WHARF: &str = env!("CARGO_BIN_EXE_wharf");
/// Nothing here takes so long, on however busy a machine.
pub const AMPLE: Duration = Duration::from_secs(60);

pub fn path_of(guest: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../tests/guests/{guest}.wasm"));
    assert!(path.exists(), "{} is missing: run `cargo xtask guests`", path.display());
    path
}

pub fn guest(name: &str) -> Bytes {
    fs::read(path_of(name)).unwrap().into()
}

/// A compiler that is this shell script. `$real` is the real one.
pub fn script(folder: &TempDir, lines: &str) -> PathBuf {
    let path = folder.path().join("compiler");
    fs::write(&path, format!("#!/bin/sh\nreal='{WHARF}'\n{lines}\n")).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    path
}

pub fn runtime(program: impl Into<PathBuf>, cache: Option<&Path>, limits: Limits) -> Arc<Runtime> {
    let cache = cache.map_or(CacheFolder::Off, |path| CacheFolder::At(path.to_owned()));
    let compiler = Compiler::Process { program: program.into() };
    Runtime::with(Compilation { compiler, cache, limits, ..Compilation::default() }).unwrap()
}

pub async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(AMPLE, future).await.expect("in time")
}

/// On a thread that a test does not have to wait for, should it hang.
pub async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || done.send(work()).ok());
    within(result).await.unwrap()
}

/// Ends when nobody has the pipe open for writing any more.
pub async fn end_of(pipe: PathBuf) {
    apart(move || fs::read(pipe).unwrap()).await;
}

pub fn pipe(folder: &TempDir) -> PathBuf {
    let path = folder.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    path
}
