//! `wharf read`.

use anyhow::{Result, anyhow, bail};
use serde_json::{Value, json};
use wharf::{
    catalog::{Caller, ReadError},
    host::Host,
    mcp::encode,
    provider::{Body, Contents, Error},
    uri,
};

use super::{once, output, sources::SourceArgs};

/// Arguments of `wharf read`.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The resource
    #[arg(value_parser = parse_uri)]
    uri: String,
    #[command(flatten)]
    sources: SourceArgs,
    /// MCP's JSON
    #[arg(long)]
    json: bool,
}

/// For clap: what is no URI is wrong use.
pub(super) fn parse_uri(text: &str) -> Result<String, &'static str> {
    uri::check(text).map(|()| text.to_owned())
}

pub(super) fn run(args: Args) -> Result<()> {
    let Args { uri, sources, json } = args;
    let answered =
        once::ask(sources, async |host: &Host| host.catalog().read(&Caller::anyone(), &uri).await.map_err(|error| failure(&uri, error)))?;
    if json {
        let contents: Value = serde_json::from_slice(&encode::contents(&answered.contents, &uri)?)?;
        return output::json(&json!({ "contents": contents }));
    }
    if output::for_people()
        && let Some((part, bytes)) = answered.contents.iter().find_map(blob)
    {
        let kind = part.mime_type.as_deref().unwrap_or("application/octet-stream");
        bail!("{bytes} bytes of {} are nothing for a terminal: write them to a file, as in `wharf read URI > FILE`", output::inert(kind));
    }
    for part in answered.contents.iter() {
        match &part.body {
            Body::Text(text) => output::text(text)?,
            Body::Blob(bytes) => output::write(bytes)?,
        }
    }
    Ok(())
}

fn blob(part: &Contents) -> Option<(&Contents, usize)> {
    match &part.body {
        Body::Text(_) => None,
        Body::Blob(bytes) => Some((part, bytes.len())),
    }
}

fn failure(uri: &str, error: ReadError) -> anyhow::Error {
    match error {
        ReadError::NotFound => anyhow!("nobody has {uri}; `wharf explain {uri}` says what comes nearest"),
        ReadError::Provider { provider, error } => anyhow!("{provider} does not give {uri}: {}", reason(&error)),
        other => other.into(),
    }
}

/// The error with its name, where its text does not say it. Inert, since it is a provider's own text.
pub(super) fn reason(error: &Error) -> String {
    match error {
        Error::NotFound | Error::Trapped(_) | Error::DeadlineExceeded(_) => output::inert(&error.to_string()),
        _ => output::inert(&format!("{}: {error}", error.kind())),
    }
}
