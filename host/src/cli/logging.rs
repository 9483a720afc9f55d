//! The log, on stderr.

#[cfg(feature = "otlp")]
use std::sync::OnceLock;
use std::{io::IsTerminal, sync::Arc};

use anyhow::Result;
use clap::ValueEnum;
use tracing::{Metadata, level_filters::LevelFilter};
use tracing_subscriber::{
    EnvFilter, Layer, Registry,
    filter::{FilterExt, filter_fn},
    fmt,
    layer::SubscriberExt,
    util::SubscriberInitExt,
};
#[cfg(feature = "otlp")]
use wharf::otlp;
use wharf::{
    config::Server,
    trace::{Export, TARGET},
};

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

/// Of `wharf dev`: calls too.
pub(super) const DEV: &str = "info,wharf::calls=debug";
/// Of `wharf watch`: what becomes of a connection it says itself.
pub(super) const WATCH: &str = "warn,rmcp=off";

/// Tells which events a layer of a command's own takes.
pub(super) type IsTaken = fn(&Metadata<'_>) -> bool;

/// `default` is the level if none is asked for. Of the events, those that the function tells go to the layer, if there is one, and then are
/// not on stderr.
pub(super) fn start<L: Layer<Registry> + Send + Sync>(args: &Args, default: &str, taken: Option<(L, IsTaken)>) {
    let chosen = args.log.as_deref().unwrap_or(default);
    // A folder that is watched and goes is no news to the user, as it is to the crate that watches it.
    let quiet = if chosen.contains("notify") { String::new() } else { ",notify=off".into() };
    let filter = EnvFilter::new(format!("{chosen}{quiet}"));
    // By itself it would colour what goes into a file or a client's log, too.
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let log = fmt::layer().with_ansi(colours).with_writer(std::io::stderr).with_target(false);
    let log = if args.is_json() { log.json().flatten_event(true).boxed() } else { log.compact().boxed() };
    let filter = filter.and(filter_fn(is_no_span).with_max_level_hint(LevelFilter::TRACE));
    #[cfg_attr(not(feature = "otlp"), allow(unused_mut))]
    let mut layers = match taken {
        None => vec![log.with_filter(filter).boxed()],
        Some((layer, is_taken)) => {
            let others = filter_fn(move |what| !is_taken(what));
            vec![log.with_filter(filter.and(others)).boxed(), layer.with_filter(filter_fn(is_taken)).boxed()]
        }
    };
    #[cfg(feature = "otlp")]
    {
        let (spans, wanted, tap) = otlp::layer();
        layers.push(spans.with_filter(wanted).boxed());
        let _ = TAP.set(tap);
    }
    tracing_subscriber::registry().with(layers).init();
}

/// The process has one subscriber, and this is its way to collect spans.
#[cfg(feature = "otlp")]
static TAP: OnceLock<otlp::Tap> = OnceLock::new();

/// Brings spans to the collector of wharf.toml, if it names one. To be called once, inside a tokio runtime.
#[cfg(feature = "otlp")]
pub(super) fn export(server: &Server) -> Result<Option<Arc<dyn Export>>> {
    let Some(tap) = TAP.get() else { return Ok(None) };
    Ok(tap.start(server)?.map(|exporter| exporter as Arc<dyn Export>))
}

/// Refuses to, if wharf.toml names a collector.
#[cfg(not(feature = "otlp"))]
pub(super) fn export(server: &Server) -> Result<Option<Arc<dyn Export>>> {
    if server.otlp.is_some() {
        anyhow::bail!("[server] otlp: this wharf was built without the feature `otlp`; build it with, or take the line out");
    }
    Ok(None)
}

/// Spans are for collectors: on the lines of the log they would stand before each message.
fn is_no_span(what: &Metadata<'_>) -> bool {
    !(what.is_span() && what.target() == TARGET)
}
