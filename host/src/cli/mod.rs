//! The command line: one file a command. Exit codes: 0, 1 for a failure, 2 for wrong use, 130 and 143 where a
//! second Ctrl-C or SIGTERM cut the end short.

mod access;
mod attach;
mod authorities;
mod authors;
mod check;
mod compile;
mod complete;
mod completions;
mod config;
mod connect;
mod dev;
mod explain;
mod grants;
mod headers;
mod health;
mod lab;
mod list;
mod logging;
mod man;
mod new;
mod notify;
mod once;
mod output;
mod probe;
mod read;
mod serve;
mod signals;
mod sources;
mod status;
mod token;
mod trust;
mod voice;
mod watch;
mod wit;

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
    /// Lists all resources
    List(list::Args),
    /// Lists all templates
    Templates(list::Args),
    /// Writes what a resource holds to stdout, as it is
    Read(read::Args),
    /// Subscribes to resources, and prints a line at each update
    Watch(watch::Args),
    /// Suggests values for a variable of a template, one a line
    Complete(complete::Args),
    /// Says who owns a resource and why, or what comes nearest
    Explain(explain::Args),
    /// Loads one component and asks it in the sandbox: names every rule it breaks
    Check(check::Args),
    /// Finds out what a client does with resources: serves one that changes, and says which steps the client took
    Lab(lab::Args),
    /// Builds a provider at each save, serves it, and shows what happens
    Dev(dev::Args),
    /// Makes a provider's project, ready to build
    New(new::Args),
    /// Makes a component of a core module, as compilers for C, C++, Zig, Go and AssemblyScript make them
    Componentize(authors::componentize::Args),
    /// Writes bindings for the contract, or a world of your own, in C, C++ or Go
    Bindings(authors::bindings::Args),
    /// Checks a wharf.toml, or gives its schema
    Config(config::Args),
    /// Plays the ideal client against any MCP server, and says which step fails
    Probe(probe::Args),
    /// Asks a host whether it serves, as a container's health check
    Health(health::Args),
    /// Says how a running host and its providers are
    Status(status::Args),
    /// Connects an agent: prints its configuration, or writes it into the agent's file
    Connect(connect::Args),
    /// Says what each provider may do, and what a running host has denied it
    Grants(grants::Args),
    /// Makes, lists and revokes the tokens by which a host lets clients in
    Token(token::Args),
    /// Records that you have read a wharf.toml and want what it grants
    Trust(trust::Args),
    /// Writes the contract for providers, as WIT files
    Wit(wit::Args),
    /// Writes what a shell needs to complete the commands, to stdout
    Completions(completions::Args),
    /// Writes a manual page for each command into a folder
    Man(man::Args),
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
    // What a server says on stderr, its client may show as its faults; and whoever asks one question wants the answer.
    let over_stdio = matches!(&command, Command::Serve(args) if args.is_stdio());
    let default = match &command {
        Command::Dev(_) => logging::DEV,
        Command::Watch(_) => logging::WATCH,
        Command::Serve(_) | Command::Check(_) if !over_stdio => "info",
        _ => "warn",
    };
    let warnings = matches!(&command, Command::Check(_)).then(check::Warnings::default);
    match &command {
        Command::Check(_) => logging::start(&logging, default, warnings.clone().map(|layer| (layer, check::is_about_a_provider as _))),
        Command::Dev(_) if !logging.is_json() => logging::start(&logging, default, Some((dev::Layer, dev::is_shown))),
        _ => logging::start(&logging, default, None::<(dev::Layer, _)>),
    }
    let done = |result: anyhow::Result<()>| result.map(|()| ExitCode::SUCCESS);
    let result = match command {
        Command::Serve(args) => done(serve::run(args, logging.is_json())),
        Command::List(args) => done(list::resources(args)),
        Command::Templates(args) => done(list::templates(args)),
        Command::Read(args) => done(read::run(args)),
        Command::Watch(args) => done(watch::run(args)),
        Command::Complete(args) => done(complete::run(args)),
        Command::Explain(args) => explain::run(args),
        Command::Check(args) => check::run(args, &warnings.unwrap_or_default()),
        Command::Lab(args) => lab::run(args),
        Command::Probe(args) => probe::run(args),
        Command::Health(args) => health::run(args),
        Command::Status(args) => status::run(args),
        Command::Dev(args) => done(dev::run(args, logging.is_json())),
        Command::New(args) => done(new::run(args)),
        Command::Componentize(args) => done(authors::componentize::run(args)),
        Command::Bindings(args) => done(authors::bindings::run(args)),
        Command::Config(args) => done(config::run(args)),
        Command::Connect(args) => connect::run(args),
        Command::Grants(args) => grants::run(args),
        Command::Token(args) => done(token::run(args)),
        Command::Trust(args) => done(trust::run(args)),
        Command::Wit(args) => done(wit::run(args)),
        Command::Completions(args) => done(completions::run(args)),
        Command::Man(args) => done(man::run(args)),
        Command::CompileComponent(_) => Ok(ExitCode::SUCCESS),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            if logging.is_json() {
                tracing::error!("{error:#}");
            } else {
                eprintln!("error: {error:#}");
            }
            error.downcast_ref::<signals::Again>().map_or(ExitCode::FAILURE, |again| again.exit_code().into())
        }
    }
}
