//! Hot reload, through the real binary, with clients that stay connected through all of it.

mod config;
mod hostile;
mod load;
mod saving;
mod unreadable;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use wharf_tests::{Host, Listener, Session, Setup, call, version, with_section, within};

/// How changes are noticed: by the system's events, and without.
const MODES: [&str; 2] = ["auto", "poll"];

const NOW: &str = "version://now";

/// A host whose only provider says that it is this version.
async fn serving(first: &str, mode: &str) -> Result<Host> {
    let mut host = Setup::new().file("versioned.wasm", &version(first)?).config(&format!("[server]\nwatch = \"{mode}\"\n")).start().await?;
    host.wait_for_log("loaded   versioned").await?;
    Ok(host)
}

fn plugin(host: &Host, name: &str) -> PathBuf {
    host.folder().join("plugins").join(name)
}

/// Writes a file elsewhere, and renames it into place.
fn replace(path: &Path, content: &[u8]) -> Result<()> {
    // Unlike any name that a host looks at.
    let staged = path.with_extension("staged");
    fs::write(&staged, content)?;
    Ok(fs::rename(staged, path)?)
}

async fn read(host: &Host, uri: &str) -> Result<Value> {
    call(host, "resources/read", json!({ "uri": uri })).await
}

/// The version that answers, if it answers as a whole.
async fn now(host: &Host) -> Result<String> {
    whole(&read(host, NOW).await?)
}

fn whole(answer: &Value) -> Result<String> {
    let texts: Vec<&str> = answer["contents"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str()).collect();
    ensure!(texts.len() == 3 && texts.iter().all(|text| *text == texts[0]), "of more than one version: {answer}");
    Ok(texts[0].to_owned())
}

async fn listed(host: &Host) -> Result<Vec<String>> {
    let list = call(host, "resources/list", json!({})).await?;
    Ok(list["resources"].as_array().into_iter().flatten().filter_map(|one| one["uri"].as_str()).map(str::to_owned).collect())
}

/// What a message on a stream says: a URI, or `list`.
fn news(message: &Value) -> Result<String> {
    Ok(match (message["method"].as_str(), message["params"]["uri"].as_str()) {
        (Some("notifications/resources/updated"), Some(uri)) => uri.to_owned(),
        (Some("notifications/resources/list_changed"), _) => "list".into(),
        _ => anyhow::bail!("no news: {message}"),
    })
}

/// Waits for this to be told, and gives what else was told on the way.
async fn told(listener: &mut Listener, what: &str) -> Result<Vec<String>> {
    let mut others = Vec::new();
    loop {
        match news(&listener.message().await?)? {
            told if told == what => return Ok(others),
            other => others.push(other),
        }
    }
}

/// Waits for all of these, in whatever order they come, and gives what else was told on the way.
async fn all_told(listener: &mut Listener, what: &[&str]) -> Result<Vec<String>> {
    let (mut awaited, mut others) = (what.to_vec(), Vec::new());
    while !awaited.is_empty() {
        let told = news(&listener.message().await?)?;
        match awaited.iter().position(|awaited| *awaited == told) {
            Some(at) => drop(awaited.remove(at)),
            None => others.push(told),
        }
    }
    Ok(others)
}

/// A session that has subscribed to these and read them, and its stream.
async fn subscribed<'a>(host: &'a Host, uris: &[&str]) -> Result<(Session<'a>, Listener)> {
    let session = Session::open(host).await?;
    let listener = session.listen().await?;
    session.subscribe(&uris.iter().map(ToString::to_string).collect::<Vec<_>>()).await?;
    for uri in uris {
        // One that is not there yet will be.
        let _ = session.call("resources/read", json!({ "uri": uri })).await;
    }
    Ok((session, listener))
}
