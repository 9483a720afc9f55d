//! The `wharf` command.

mod cli;

use std::process::ExitCode;

/// In static binaries: that of the system makes threads wait for each other.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::main()
}
