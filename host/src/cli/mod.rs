//! The command line: one file a command. Exit codes: 0, 1 for a failure, 2 for wrong use.

mod compile;
mod complete;
mod list;
mod logging;
mod once;
mod output;
mod read;
mod serve;
mod sources;

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
    /// Loads the providers and serves them over HTTP until Ctrl-C
    Serve(serve::Args),
    /// Lists all resources
    List(list::Args),
    /// Lists all templates
    Templates(list::Args),
    /// Writes what a resource holds to stdout, as it is
    Read(read::Args),
    /// Suggests values for a variable of a template, one a line
    Complete(complete::Args),
    /// Compiles the component on stdin for the host that started this
    #[command(hide = true)]
    CompileComponent(compile::Args),
}

/// Runs the command that the arguments name.
pub fn main() -> ExitCode {
    let Cli { logging, command } = Cli::parse();
    // Its stderr is for the host that started it: no log.
    if let Command::CompileComponent(args) = command {
        return compile::run(args);
    }
    logging::start(&logging);
    let result = match command {
        Command::Serve(args) => serve::run(args, logging.is_json()),
        Command::List(args) => list::resources(args),
        Command::Templates(args) => list::templates(args),
        Command::Read(args) => read::run(args),
        Command::Complete(args) => complete::run(args),
        Command::CompileComponent(_) => Ok(()),
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
