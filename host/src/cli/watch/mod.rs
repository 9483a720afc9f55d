//! `wharf watch`: of a plugins folder, in this process, or of any MCP server.
//!
//! stdout has the updates, one line each, and what was read; what becomes of the subscription itself is said on stderr, or with `--json`
//! as a line of its own.

mod local;
mod remote;

use remote::Place;
pub(super) use remote::{http_client, parse_url};

use std::{ops::ControlFlow, time::SystemTime};

use anyhow::Result;
use serde_json::{Map, Value};

use super::{authorities::CaArgs, headers::HeaderArgs, output, read::parse_uri, serve::run_to_end, sources::SourceArgs};

/// Arguments of `wharf watch`.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The resources
    #[arg(value_name = "URI", required = true, value_parser = parse_uri)]
    uris: Vec<String>,
    /// Read the resource at each update, and print what it holds
    #[arg(long)]
    read: bool,
    /// End after so many updates
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Wait for a resource that nobody has yet
    #[arg(long)]
    wait: bool,
    /// Watch an MCP server, such as http://127.0.0.1:8089/mcp, instead of loading providers
    #[arg(long, value_name = "URL", value_parser = remote::parse_url, conflicts_with_all = ["plugins", "config"])]
    url: Option<reqwest::Url>,
    #[command(flatten)]
    headers: HeaderArgs,
    #[command(flatten)]
    ca: CaArgs,
    #[command(flatten)]
    sources: SourceArgs,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> Result<()> {
    let Args { mut uris, read, count, wait, url, headers, ca, sources, json } = args;
    ca.trust()?;
    let headers = headers.read(url.is_some())?;
    let mut seen = std::collections::HashSet::new();
    uris.retain(|uri| seen.insert(uri.clone()));
    let screen = Screen { json, read, wait, left: count };
    match url {
        Some(url) => run_to_end(remote::watch(Place { url: &url, headers: &headers }, &uris, screen)),
        None => local::watch(sources, uris, screen),
    }
}

/// What a read gave.
enum Content {
    /// MCP's `contents`.
    Parts(Vec<Value>),
    NotFound,
    /// Says why.
    Failed(String),
}

/// What the user sees.
struct Screen {
    json: bool,
    read: bool,
    /// What nobody has is no failure.
    wait: bool,
    /// Updates until the end.
    left: Option<u64>,
}

impl Screen {
    /// What becomes of the subscription.
    fn tell(&self, event: &str, message: &str) -> Result<()> {
        if !self.json {
            output::say(&format!("{} {message}", now()));
            return Ok(());
        }
        self.line([("event", event.into()), ("message", message.into())]).map(|_| ())
    }

    /// Prints an update. Breaks after the last that is wanted, or where nobody reads this any more.
    fn updated(&mut self, uri: &str, content: Option<Content>) -> Result<ControlFlow<()>> {
        let is_read = if self.json { self.as_json(uri, content)? } else { output::write_if_read(as_text(uri, content).as_bytes())? };
        self.left = self.left.map(|left| left.saturating_sub(1));
        Ok(if is_read && self.left != Some(0) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    }

    fn as_json(&self, uri: &str, content: Option<Content>) -> Result<bool> {
        let what = content.map(|content| match content {
            Content::Parts(parts) => ("contents", Value::from(parts)),
            Content::NotFound => ("error", "not found".into()),
            Content::Failed(reason) => ("error", reason.into()),
        });
        self.line([("event", "updated".into()), ("uri", uri.into())].into_iter().chain(what))
    }

    fn line<'a>(&self, fields: impl IntoIterator<Item = (&'a str, Value)>) -> Result<bool> {
        let mut object = Map::new();
        object.insert("time".into(), now().into());
        object.extend(fields.into_iter().map(|(name, value)| (name.to_owned(), value)));
        output::write_if_read(format!("{}\n", Value::from(object)).as_bytes())
    }
}

/// UTC.
fn now() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}

fn as_text(uri: &str, content: Option<Content>) -> String {
    let mut text = format!("{} updated {}\n", now(), output::inert(uri));
    match content {
        None => {}
        Some(Content::NotFound) => text += "(not found: nobody has it now)\n",
        Some(Content::Failed(reason)) => text += &format!("(it cannot be read now: {})\n", output::inert(&reason)),
        Some(Content::Parts(parts)) => parts.iter().for_each(|part| text += &part_as_text(part)),
    }
    text
}

fn part_as_text(part: &Value) -> String {
    let field = |name: &str| part.get(name).and_then(Value::as_str);
    match (field("text"), field("blob")) {
        (Some(text), _) => output::shown(text),
        (None, blob) => {
            let padding = blob.map_or(0, |blob| blob.bytes().rev().take_while(|byte| *byte == b'=').count());
            let bytes = blob.map_or(0, |blob| (blob.len() / 4 * 3).saturating_sub(padding));
            let kind = output::inert(field("mimeType").unwrap_or("application/octet-stream"));
            format!("({bytes} bytes of {kind}; --json has them in base64)\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_is_shown_with_an_end_of_line_and_bytes_are_counted() {
        assert_eq!(part_as_text(&json!({ "text": "one\ntwo" })), "one\ntwo\n");
        assert_eq!(part_as_text(&json!({ "text": "a\u{1b}[2J\n" })), "a\\u{1b}[2J\n");
        let blob = |blob: &str| part_as_text(&json!({ "blob": blob, "mimeType": "image/png" }));
        assert_eq!(blob("AAAA"), "(3 bytes of image/png; --json has them in base64)\n");
        assert_eq!(blob("AA=="), "(1 bytes of image/png; --json has them in base64)\n");
    }
}
