//! The command line: one file a command. Exit codes: 0, 1 for a failure, 2 for wrong use.

mod attach;
mod logging;
mod serve;
mod signals;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A host for sandboxed resource providers: agents list, read and subscribe to them over MCP.
#[derive(Parser)]
#[command(version, about, arg_required_else_help = true)]
struct Cli {
    #[command(flatten)]
    logging: logging::Args,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Loads the providers and serves them, over HTTP until Ctrl-C, or over stdio
    Serve(serve::Args),
}

/// Runs the command that the arguments name.
pub fn main() -> ExitCode {
    let Cli { logging, command } = Cli::parse();
    let Command::Serve(args) = &command;
    logging::start(&logging, if args.is_stdio() { "warn" } else { "info" });
    let result = match command {
        Command::Serve(args) => serve::run(args, logging.is_json()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if logging.is_json() => {
            tracing::error!("{error:#}");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
