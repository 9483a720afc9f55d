//! Watching what a plugins folder serves, with a host in this process.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use wharf::{
    catalog::{Caller, ReadError},
    host::Host,
    mcp::encode,
    subscriptions::Notice,
};

use super::{
    super::{
        compile,
        output::count,
        read::reason,
        serve::run_to_end,
        signals::Signals,
        sources::{SourceArgs, Sources},
        voice::Voice,
    },
    Content, Screen,
};

pub(super) fn watch(sources: SourceArgs, uris: Vec<String>, mut screen: Screen) -> Result<()> {
    let Sources { config, plugins, file } = sources.read()?;
    // What is loaded shows in the updates; what is not has to be said.
    let voice = Voice { json: false, quiet: true };
    run_to_end(async {
        let mut signals = Signals::new().context("cannot listen for signals")?;
        let builder = Host::builder().config(config).config_file(file).plugins(&plugins).compilation(compile::compilation());
        let builder = builder.on_report(move |report| voice.report(&report)).on_notice(move |notice| voice.notice(&notice));
        let host = builder.start().await?;
        voice.plan(&plugins, host.plan());
        let done = tokio::select! {
            watched = follow(&host, &uris, &mut screen) => watched,
            () = signals.next() => Ok(()),
        };
        host.close().await;
        done
    })
}

async fn follow(host: &Host, uris: &[String], screen: &mut Screen) -> Result<()> {
    host.loaded().await;
    for uri in uris {
        if matches!(read(host, uri).await?, Content::NotFound) && !screen.wait {
            return Err(nobody_has(host, uri));
        }
    }
    let listener = host.subscriptions().listen(Caller::anyone(), false);
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
    Ok(match host.catalog().read(&Caller::anyone(), uri).await {
        Ok(answered) => {
            let contents = encode::contents(&answered.contents, uri).context("cannot write JSON")?;
            Content::Parts(serde_json::from_slice(&contents).context("cannot read JSON")?)
        }
        Err(ReadError::NotFound) => Content::NotFound,
        Err(ReadError::Provider { provider, error }) => Content::Failed(format!("{provider}: {}", reason(&error))),
        Err(other) => Content::Failed(other.to_string()),
    })
}

fn nobody_has(host: &Host, uri: &str) -> anyhow::Error {
    let near: Vec<String> = host.catalog().snapshot().explain(uri).near.into_iter().map(|(uri, _)| uri.to_string()).collect();
    match &near[..] {
        [] => anyhow!("nobody has {uri}; `wharf list` and `wharf templates` show what there is, and --wait waits for it"),
        near => anyhow!("nobody has {uri}; near: {}", near.join(", ")),
    }
}
