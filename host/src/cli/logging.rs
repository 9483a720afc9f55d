//! The log, on stderr.

use std::io::IsTerminal;

use clap::ValueEnum;
use tracing_subscriber::{
    EnvFilter, Layer,
    filter::{FilterExt, filter_fn},
    fmt,
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

use super::check::{Warnings, is_about_a_provider};

/// What is logged, and how.
#[derive(clap::Args)]
pub(super) struct Args {
    /// What is logged: error, warn, info, debug, trace; or a filter such as `wharf=debug` [default: info for serve and check; warn for the others, and with --stdio]
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

/// `default` is the level if none is asked for. What the host warns of about a provider goes into `warnings`, if there are such, and then is
/// not on stderr.
pub(super) fn start(args: &Args, default: &str, warnings: Option<Warnings>) {
    let chosen = args.log.as_deref().unwrap_or(default);
    // A folder that is watched and goes is no news to the user, as it is to the crate that watches it.
    let quiet = if chosen.contains("notify") { String::new() } else { ",notify=off".into() };
    let filter = EnvFilter::new(format!("{chosen}{quiet}"));
    // By itself it would colour what goes into a file or a client's log, too.
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let log = fmt::layer().with_ansi(colours).with_writer(std::io::stderr).with_target(false);
    let log = if args.is_json() { log.json().flatten_event(true).boxed() } else { log.compact().boxed() };
    match warnings {
        None => tracing_subscriber::registry().with(log.with_filter(filter)).init(),
        Some(warnings) => {
            let log = log.with_filter(filter.and(filter_fn(|what| !is_about_a_provider(what))));
            tracing_subscriber::registry().with(log).with(warnings.with_filter(filter_fn(is_about_a_provider))).init();
        }
    }
}
