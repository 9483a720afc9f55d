//! The log, on stderr.

use std::io::IsTerminal;

use clap::ValueEnum;
use tracing_subscriber::{EnvFilter, fmt};

/// What is logged, and how.
#[derive(clap::Args)]
pub(super) struct Args {
    /// What is logged: error, warn, info, debug, trace; or a filter such as `wharf=debug` [default: info; warn with --stdio]
    #[arg(long, global = true, value_name = "LEVEL", value_parser = parse)]
    log: Option<String>,
    /// How it is logged
    #[arg(long, global = true, value_name = "FORMAT", default_value = "text")]
    log_format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// One JSON object a line, everything the host has to say included
    Json,
}

impl Args {
    pub(super) fn is_json(&self) -> bool {
        self.log_format == Format::Json
    }
}

fn parse(text: &str) -> Result<String, String> {
    EnvFilter::try_new(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// `default` is the level if none is asked for.
pub(super) fn start(args: &Args, default: &str) {
    // Without NO_COLOR it would colour what goes into a file or a client's log, too.
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let subscriber = fmt()
        .with_ansi(colours)
        .with_env_filter(EnvFilter::new(args.log.as_deref().unwrap_or(default)))
        .with_writer(std::io::stderr)
        .with_target(false);
    if args.is_json() {
        subscriber.json().flatten_event(true).init();
    } else {
        subscriber.compact().init();
    }
}
