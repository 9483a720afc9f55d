//! `wharf health`: asks a host whether it serves. Made for the health check of a container, in which there is no shell to ask with.
//!
//! It asks for `server/discover`, which a host answers whatever its providers do: one that is broken is no reason to end the host. Neither has
//! this a token: a host that wants one serves.

use std::{process::ExitCode, time::Duration};

use anyhow::{Context, Result};
use reqwest::{
    StatusCode, Url,
    header::{HeaderMap, WWW_AUTHENTICATE},
};
use wharf::transport::http::PATH;

use super::{
    authorities::CaArgs,
    output,
    probe::greet,
    serve::{DEFAULT_HTTP, run_to_end},
    watch::{http_client, parse_url},
};

/// Less than a container engine waits by itself (30 s): it is this command that says what is wrong.
const PATIENCE: Duration = Duration::from_secs(4);

/// Arguments of `wharf health`.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The host's URL [default: http://127.0.0.1:8089/mcp]
    #[arg(value_name = "URL", value_parser = parse_url)]
    url: Option<Url>,
    #[command(flatten)]
    ca: CaArgs,
}

pub(super) fn run(Args { url, ca }: Args) -> Result<ExitCode> {
    ca.trust()?;
    let url = match url {
        Some(url) => url,
        None => format!("http://{DEFAULT_HTTP}{PATH}").parse().context("the default URL")?,
    };
    let asked = async {
        let asked = async {
            match greet(url.clone()).await {
                Err(_) if wants_token(&url).await => Ok("a host that lets in by tokens".to_owned()),
                greeted => greeted,
            }
        };
        let asked = tokio::time::timeout(PATIENCE, asked).await;
        asked.with_context(|| format!("no answer within {} s", PATIENCE.as_secs()))?
    };
    let server = run_to_end(asked).with_context(|| format!("{url} is not well"))?;
    output::lines([format!("{server} serves at {url}")])?;
    Ok(ExitCode::SUCCESS)
}

/// Whether what is there wants a token as a host does (RFC 6750 §3).
async fn wants_token(url: &Url) -> bool {
    let Ok(client) = http_client(url, &HeaderMap::new()) else { return false };
    let Ok(response) = client.delete(url.clone()).send().await else { return false };
    let challenge = response.headers().get(WWW_AUTHENTICATE).and_then(|challenge| challenge.to_str().ok()).unwrap_or_default();
    response.status() == StatusCode::UNAUTHORIZED && challenge.starts_with("Bearer ")
}
