//! How this program compiles components: in processes of its own binary, with the user's cache. `wharf compile-component` is such a process.

use std::{path::Path, process::ExitCode};

use wharf::provider::wasm::{CacheFolder, Compilation, Compiler, Strategy, compile::worker};

/// This program, whatever has become of its file since it was started.
const SELF: &str = "/proc/self/exe";

/// Arguments of `wharf compile-component`, which only this program gives.
#[derive(clap::Args)]
pub(super) struct Args {
    #[arg(long)]
    bytes: usize,
    #[arg(long)]
    memory: u64,
    #[arg(long)]
    seconds: u64,
    #[arg(long)]
    engine: String,
    #[arg(long)]
    quick: bool,
}

/// What each command that loads components uses.
pub(super) fn compilation() -> Compilation {
    let program = if Path::new(SELF).exists() { Ok(SELF.into()) } else { std::env::current_exe() };
    let compiler = program.map_or(Compiler::InProcess, |program| Compiler::Process { program });
    Compilation { compiler, cache: CacheFolder::from_environment(), ..Compilation::default() }
}

pub(super) fn run(Args { bytes, memory, seconds, engine, quick }: Args) -> ExitCode {
    let strategy = if quick { Strategy::Quick } else { Strategy::Thorough };
    worker::run(&worker::Request { bytes, memory, seconds, engine, strategy })
}
