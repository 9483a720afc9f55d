//! Watching what a plugins folder serves, with a host in this process.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use wharf::{
    catalog::{Caller, ReadError},
    host::Host,
    mcp::encode::ContentsJson,
    subscriptions::Notice,
};

use super::{
    super::{once, output::count, read::reason, signals::Signals, sources::SourceArgs},
    Content, Screen,
};

pub(super) fn watch(sources: SourceArgs, uris: Vec<String>, mut screen: Screen) -> Result<()> {
    once::ask(sources, async |host: &Host| {
        let mut signals = Signals::new().context("cannot listen for signals")?;
        tokio::select! {
            watched = follow(host, &uris, &mut screen) => watched,
            () = signals.next() => Ok(()),
        }
    })
}

async fn follow(host: &Host, uris: &[String], screen: &mut Screen) -> Result<()> {
    for uri in uris {
        if matches!(read(host, uri).await?, Content::NotFound) {
            return Err(nobody_has(host, uri));
        }
    }
    let listener = host.subscriptions().listen(Caller, false);
    listener.subscribe(uris.iter().map(|uri| Arc::from(&**uri)).collect()).await?;
    screen.tell("watching", &format!("watching {}; Ctrl-C ends it", count(uris.len(), "resource")))?;
    loop {
        let (_, notice) = listener.next().await;
        let Notice::Updated(uri) = notice else { continue };
        let content = if screen.read { Some(read(host, &uri).await?) } else { None };
        if screen.updated(&uri, content)?.is_break() {
            return Ok(());
        }
    }
}

async fn read(host: &Host, uri: &str) -> Result<Content> {
    Ok(match host.catalog().read(&Caller, uri).await {
        Ok(answered) => {
            let parts = answered.contents.iter().map(|part| serde_json::to_value(ContentsJson(part, uri)));
            Content::Parts(parts.collect::<Result<_, _>>().context("cannot write JSON")?)
        }
        Err(ReadError::NotFound) => Content::NotFound,
        Err(ReadError::Provider { provider, error }) => Content::Failed(format!("{provider}: {}", reason(&error))),
        Err(other) => Content::Failed(other.to_string()),
    })
}

fn nobody_has(host: &Host, uri: &str) -> anyhow::Error {
    let near: Vec<String> = host.catalog().snapshot().explain(uri).near.into_iter().map(|(uri, _)| uri.to_string()).collect();
    match &near[..] {
        [] => anyhow!("nobody has {uri}; `wharf list` and `wharf templates` show what there is"),
        near => anyhow!("nobody has {uri}; near: {}", near.join(", ")),
    }
}
