//! Compiling in a process of its own, and telling what became of it.

use std::{
    io,
    num::NonZero,
    path::Path,
    process::{ExitStatus, Stdio},
    thread,
};

use bytes::Bytes;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    process::Command,
};

use super::{
    super::component::LoadError,
    Limits, Strategy,
    worker::{INVALID, UNAVAILABLE},
};

/// The hidden subcommand whose work is [`super::worker::run`].
pub const SUBCOMMAND: &str = "compile-component";

/// Cranelift gains little from more, and each takes its share of the address space.
const MAX_THREADS: usize = 8;
/// Machine code is two to three times the size of its component; so this is ample for 64 MiB.
const MAX_CODE: u64 = 512 << 20;
/// Of what it writes to stderr, the rest is not kept. In bytes.
const MAX_COMPLAINT: u64 = 16 << 10;
/// What a Rust program says before it aborts for want of memory.
const NO_MEMORY: [&str; 3] = ["memory allocation of", "Cannot allocate memory", "Resource temporarily unavailable"];

/// Why there is no machine code.
#[derive(Debug)]
pub(super) enum Failure {
    /// No process could be had that compiles for this engine: says why. It says nothing about the component.
    NoCompiler(String),
    /// The component does not load.
    Component(LoadError),
}

/// Runs the compiler. The process is gone when this returns, and killed if this is dropped.
pub(super) async fn compile(
    program: &Path,
    (engine, strategy): (&str, Strategy),
    limits: &Limits,
    component: Bytes,
) -> Result<Vec<u8>, Failure> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
    let seconds = limits.work.as_secs().max(1);
    let mut child = Command::new(program)
        .arg0("wharf")
        .arg(SUBCOMMAND)
        .args(["--bytes", &component.len().to_string(), "--memory", &limits.memory.to_string()])
        .args(["--seconds", &seconds.to_string(), "--engine", engine])
        .args((strategy == Strategy::Quick).then_some("--quick"))
        .env("RAYON_NUM_THREADS", threads.to_string())
        .env("RUST_BACKTRACE", "0")
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| Failure::NoCompiler(format!("{} cannot be started: {error}", program.display())))?;
    let (Some(mut stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take()) else {
        return Err(Failure::NoCompiler("it has no pipes".into()));
    };
    let work = async {
        // It may end before it has read everything; why, its exit code says. Stdin stays open: its end would end the process.
        let (_, code, complaint) = tokio::join!(stdin.write_all(&component), read(stdout, MAX_CODE), read(stderr, MAX_COMPLAINT));
        (code, complaint.unwrap_or_default(), child.wait().await)
    };
    let ended = tokio::time::timeout(limits.time, work).await;
    drop(stdin);
    let Ok((code, complaint, status)) = ended else {
        // An error here means that it has ended by itself.
        let _ = child.kill().await;
        return Err(Failure::Component(LoadError::CompileTime(limits.time)));
    };
    let (Ok(code), Ok(status)) = (code, status) else { return Err(Failure::NoCompiler("it cannot be read from".into())) };
    if !status.success() {
        return Err(verdict(status, String::from_utf8_lossy(&complaint).trim(), limits));
    }
    if code.len() as u64 > MAX_CODE {
        return Err(Failure::Component(LoadError::Compile(format!("its machine code is larger than {} MiB", MAX_CODE >> 20))));
    }
    Ok(code)
}

/// Reads to the end, and keeps one byte more than the limit at the most.
async fn read(mut from: impl AsyncRead + Unpin, limit: u64) -> io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    (&mut from).take(limit + 1).read_to_end(&mut kept).await?;
    tokio::io::copy(&mut from, &mut tokio::io::sink()).await?;
    Ok(kept)
}

fn verdict(status: ExitStatus, complaint: &str, limits: &Limits) -> Failure {
    use std::os::unix::process::ExitStatusExt;

    const PANICKED: i32 = 101;
    let report = |what: String| {
        let said = if complaint.is_empty() { String::new() } else { format!(": {complaint}") };
        LoadError::Compile(format!("{what}{said}; please report this, with the file"))
    };
    Failure::Component(match (status.code(), status.signal()) {
        (Some(code), _) if code == i32::from(INVALID) => LoadError::Invalid(complaint.into()),
        _ if NO_MEMORY.iter().any(|text| complaint.contains(text)) => LoadError::CompileMemory(limits.memory),
        (Some(code), _) if code == i32::from(UNAVAILABLE) => return Failure::NoCompiler(complaint.into()),
        (Some(PANICKED), _) => report("the compiler panicked".into()),
        (Some(code), _) => return Failure::NoCompiler(format!("it ended with exit code {code}: {complaint}")),
        (None, Some(signal)) => match rustix::process::Signal::from_named_raw(signal) {
            Some(rustix::process::Signal::XCPU) => LoadError::CompileWork(limits.work),
            Some(rustix::process::Signal::KILL) => {
                LoadError::Compile("the compiler was killed, perhaps since the machine has no more memory; start the host again".into())
            }
            _ => report(format!("the compiler was ended by signal {signal}")),
        },
        (None, None) => report(format!("the compiler ended ({status})")),
    })
}
