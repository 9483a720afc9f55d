//! `wharf probe`: plays the ideal client of either era against any MCP server, and says which step fails.
//!
//! stdout has a line a step, with what was sent and what came back where one failed; or one JSON object. Exit code 0 if none failed: what the
//! server does not claim to be able to do is skipped.

mod http;
mod player;
mod report;
mod stdio;
mod talk;
mod wire;

use std::{process::ExitCode, time::Duration};

use anyhow::{Context, Result, bail};
use hyper::HeaderMap;
use reqwest::Url;
use serde_json::json;
use wharf::mcp::era::MODERN;

use self::{
    player::Player,
    report::Report,
    talk::{META, Talk},
    wire::{Target, Wire},
};
use super::{authorities::CaArgs, headers::HeaderArgs, read::parse_uri, serve::run_to_end, signals::Signals, watch::parse_url};

/// Arguments of `wharf probe`.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The resource to read and to wait on [default: the first listed, and the first that can be subscribed]
    #[arg(long, value_name = "URI", value_parser = parse_uri)]
    uri: Option<String>,
    /// Which protocol to speak
    #[arg(long, value_enum, default_value_t = Era::Auto)]
    era: Era,
    /// Seconds to wait for an update; 0 waits for none
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    wait: u64,
    #[command(flatten)]
    headers: HeaderArgs,
    #[command(flatten)]
    ca: CaArgs,
    /// The report as one JSON object
    #[arg(long)]
    json: bool,
    /// The server: its URL, such as http://127.0.0.1:8089/mcp, or a command that serves over stdio, with its arguments
    #[arg(value_name = "URL|COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    target: Vec<String>,
}

/// Which protocol to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Era {
    /// The newest that the server speaks
    Auto,
    /// 2025-11-25 and before, with sessions
    Legacy,
    /// 2026-07-28
    Modern,
}

pub(super) fn run(args: Args) -> Result<ExitCode> {
    let Args { uri, era, wait, headers, ca, json, target: words } = args;
    ca.trust()?;
    let target = match &words[..] {
        [url] if url.contains("://") => match parse_url(url) {
            Ok(url) => Target::Url(url),
            Err(why) => bail!("{url} is no URL of an MCP server: {why}"),
        },
        _ => Target::Command(words.clone()),
    };
    let headers = headers.read(matches!(target, Target::Url(_)))?;
    run_to_end(async {
        let mut signals = Signals::new().context("cannot listen for signals")?;
        let report = Report { target: words.join(" "), json, ..Report::default() };
        let player = Player::new(Wire::open(&target, &headers)?, uri, era, Duration::from_secs(wait), report);
        tokio::select! {
            passed = player.play() => Ok(if passed? { ExitCode::SUCCESS } else { ExitCode::FAILURE }),
            () = signals.next() => bail!("ended before everything was tried"),
        }
    })
}

/// Asks a server of the modern era who it is.
pub(super) async fn greet(url: Url) -> Result<String> {
    let mut talk = Talk::new(Wire::open(&Target::Url(url), &HeaderMap::new())?);
    talk.modern = true;
    talk.wire.speaks(MODERN);
    let result = talk.ask("server/discover", json!({})).await?;
    let server = &result["_meta"][format!("{META}serverInfo")];
    let text = |field: &str| server[field].as_str().unwrap_or("?");
    Ok(format!("{} {}", text("name"), text("version")))
}
