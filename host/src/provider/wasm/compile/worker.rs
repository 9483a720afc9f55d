//! The compiler process: reads one component from stdin, writes its machine code to stdout, and ends.
//!
//! It has a limit on its memory and its computing time that the system enforces, a low priority, and ends when its parent does. What
//! becomes of it is no concern of the host's: it is one file that did not load.

use std::{
    fmt::Display,
    io::{self, Read, Write},
    process::ExitCode,
    thread,
};

use rustix::process::{Resource, Rlimit};
use wasmtime::Engine;

use super::{super::engine::config, Strategy, digest};

/// The component is at fault; stderr says why, in wasmtime's words (`EX_DATAERR` of sysexits.h).
pub(super) const INVALID: u8 = 65;
/// It cannot compile for whoever asks (`EX_UNAVAILABLE`).
pub(super) const UNAVAILABLE: u8 = 69;

/// Added to the niceness: serving comes first. At 10, a machine that is busy with something else would let it wait tenfold.
const NICER: i32 = 5;

/// What the parent asks for.
#[derive(Debug, Clone)]
pub struct Request {
    /// How long the component on stdin is, in bytes. Stdin stays open after it for as long as the parent wants the answer.
    pub bytes: usize,
    /// The address space it may have, in bytes.
    pub memory: u64,
    /// The computing time it may take, over all threads, in seconds.
    pub seconds: u64,
    /// Which engine the answer is for: the parent may be of another version than the file it started.
    pub engine: String,
    /// Which compiler.
    pub strategy: Strategy,
}

/// Serves one request. To be the whole of a process: it limits the process, and may end it.
pub fn run(request: &Request) -> ExitCode {
    match serve(request) {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::from(UNAVAILABLE)
        }
    }
}

fn serve(request: &Request) -> io::Result<ExitCode> {
    step_back();
    limit(Resource::Core, 0, 0)?;
    // At the first, a signal that tells the parent why; at the second, one that cannot be caught.
    limit(Resource::Cpu, request.seconds, request.seconds + 1)?;
    limit(Resource::As, request.memory, request.memory)?;

    let mut component = vec![0; request.bytes];
    io::stdin().lock().read_exact(&mut component)?;
    thread::Builder::new().spawn(|| {
        // Nothing more is sent, so this returns when the parent has gone, or has lost interest.
        let _ = io::stdin().lock().read(&mut [0]);
        std::process::exit(i32::from(UNAVAILABLE));
    })?;

    let engine = Engine::new(&config(request.strategy)).map_err(other)?;
    if digest(&engine, request.strategy) != request.engine {
        return Err(other("this is another version of wharf than the one that asks"));
    }
    match engine.precompile_component(&component) {
        Ok(code) => {
            io::stdout().lock().write_all(&code)?;
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            write!(io::stderr(), "{error:#}")?;
            Ok(ExitCode::from(INVALID))
        }
    }
}

/// Lets the host go first. Where that cannot be had it compiles all the same.
fn step_back() {
    // Ctrl-C in a terminal is for the host, which ends this one when it is time. And many Linux systems share out the processors between
    // sessions before they look at niceness (sched(7), "The autogroup feature"): what is compiled in the host's own session costs the host
    // its share, so that it waits for whatever else the machine does. The session itself is made no nicer: on a busy machine that has let one
    // component compile for more than five minutes.
    let _ = rustix::process::setsid();
    let _ = rustix::process::nice(NICER);
}

/// Lowers a limit; what the user set lower stays.
fn limit(resource: Resource, current: u64, maximum: u64) -> io::Result<()> {
    let before = rustix::process::getrlimit(resource);
    let lower = |before: Option<u64>, value| Some(before.map_or(value, |before| before.min(value)));
    let limits = Rlimit { current: lower(before.current, current), maximum: lower(before.maximum, maximum) };
    Ok(rustix::process::setrlimit(resource, limits)?)
}

fn other(error: impl Display) -> io::Error {
    io::Error::other(error.to_string())
}
