//! Watching an MCP server over HTTP, of either era. When it goes away, it is asked again with growing pauses, and subscribed to anew.

mod connection;

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow};
use hyper::HeaderMap;
use reqwest::Url;

use self::connection::Connection;
pub(in crate::cli) use self::connection::http_client;
use super::{
    super::{output::count, signals::Signals},
    Content, Screen,
};

/// The pause before the first new attempt; each that fails doubles it.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A connection that held so long is taken for good, and the pauses begin anew.
const SETTLED: Duration = Duration::from_secs(5);
/// Ending a session takes a request, which the server may never answer.
const GOODBYE: Duration = Duration::from_secs(2);
/// At least so alike (normalised Levenshtein), and no more than so many, are named as near: as `wharf explain` has it.
const NEAR: f64 = 0.6;
const NEAR_URIS: usize = 3;

/// For clap.
pub(in crate::cli) fn parse_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| error.to_string())?;
    if matches!(url.scheme(), "http" | "https") { Ok(url) } else { Err("it does not begin with http:// or https://".into()) }
}

/// A server, and what it is sent with each request.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub url: &'a Url,
    pub headers: &'a HeaderMap,
}

pub(super) async fn watch(place: Place<'_>, uris: &[String], mut screen: Screen) -> Result<()> {
    let mut signals = Signals::new().context("cannot listen for signals")?;
    let mut watch = Watch { place, uris, last: HashMap::new(), connection: None };
    let done = tokio::select! {
        done = watch.follow(&mut screen) => done,
        () = signals.next() => Ok(()),
    };
    if let Some(connection) = watch.connection.take() {
        connection.close(GOODBYE).await;
    }
    done
}

struct Watch<'a> {
    place: Place<'a>,
    uris: &'a [String],
    /// What each was last seen to hold, as a hash; only with `--read`.
    last: HashMap<String, blake3::Hash>,
    connection: Option<Connection>,
}

impl Watch<'_> {
    async fn follow(&mut self, screen: &mut Screen) -> Result<()> {
        let wrong = "is the server running, and is this its MCP endpoint?";
        let connection =
            Connection::open(self.place).await.map_err(|error| anyhow!("cannot connect to {}: {error:#}; {wrong}", self.place.url))?;
        let connection = self.connection.insert(connection);
        for uri in self.uris {
            let content = connection.read(uri).await?;
            if matches!(content, Content::NotFound) && !screen.wait {
                return Err(nobody_has(connection, uri).await);
            }
            self.last.insert(uri.clone(), hash(&content));
        }
        connection.subscribe(self.uris).await?;
        let (number, era) = (count(self.uris.len(), "resource"), connection.era());
        screen.tell("watching", &format!("watching {number} at {} (MCP {era}); Ctrl-C ends it", self.place.url))?;
        let mut pause = FIRST_PAUSE;
        loop {
            let since = Instant::now();
            let lost = match self.updates(screen).await? {
                Some(lost) => lost,
                None => return Ok(()),
            };
            // Not closed: nobody is there.
            self.connection = None;
            if since.elapsed() > SETTLED {
                pause = FIRST_PAUSE;
            }
            screen.tell("lost", &format!("{lost}; trying again"))?;
            pause = self.again(screen, pause).await?;
            if self.missed(screen).await?.is_break() {
                return Ok(());
            }
        }
    }

    /// Prints updates until the connection is lost, and says why; nothing if no more are wanted.
    async fn updates(&mut self, screen: &mut Screen) -> Result<Option<String>> {
        let Some(connection) = &mut self.connection else { return Ok(Some("there is no connection".into())) };
        loop {
            let uri = match connection.next().await {
                Ok(uri) => uri,
                Err(lost) => return Ok(Some(lost)),
            };
            let content = match screen.read {
                false => None,
                true => match connection.read(&uri).await {
                    Ok(content) => Some(content),
                    // The update is shown when it can be read again.
                    Err(lost) => {
                        self.last.remove(&uri);
                        return Ok(Some(format!("{lost:#}")));
                    }
                },
            };
            if let Some(content) = &content {
                self.last.insert(uri.clone(), hash(content));
            }
            if screen.updated(&uri, content)?.is_break() {
                return Ok(None);
            }
        }
    }

    /// Connects and subscribes anew, however long that takes; gives the next pause.
    async fn again(&mut self, screen: &Screen, mut pause: Duration) -> Result<Duration> {
        loop {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            let attempt = async {
                let mut connection = Connection::open(self.place).await?;
                connection.subscribe(self.uris).await?;
                anyhow::Ok(connection)
            };
            match attempt.await {
                Ok(connection) => {
                    self.connection = Some(connection);
                    screen.tell("subscribed", "connected and subscribed anew; changes in between may have gone unnoticed")?;
                    return Ok(pause);
                }
                Err(error) => {
                    let pause = humantime::format_duration(pause);
                    screen.tell("unreachable", &format!("no connection: {error:#}; trying again in {pause}"))?;
                }
            }
        }
    }

    /// With `--read`: what has changed while there was no connection.
    async fn missed(&mut self, screen: &mut Screen) -> Result<std::ops::ControlFlow<()>> {
        let Some(connection) = self.connection.as_ref().filter(|_| screen.read) else { return Ok(std::ops::ControlFlow::Continue(())) };
        for uri in self.uris {
            // If it is gone again already, the next round finds out.
            let Ok(content) = connection.read(uri).await else { break };
            if self.last.insert(uri.clone(), hash(&content)) != Some(hash(&content)) && screen.updated(uri, Some(content))?.is_break() {
                return Ok(std::ops::ControlFlow::Break(()));
            }
        }
        Ok(std::ops::ControlFlow::Continue(()))
    }
}

fn hash(content: &Content) -> blake3::Hash {
    match content {
        Content::Parts(parts) => blake3::hash(serde_json::to_string(parts).unwrap_or_default().as_bytes()),
        Content::NotFound => blake3::hash(b"not found"),
        Content::Failed(reason) => blake3::hash(reason.as_bytes()),
    }
}

async fn nobody_has(connection: &Connection, uri: &str) -> anyhow::Error {
    let listed = connection.list().await.unwrap_or_default();
    let mut near: Vec<(f64, String)> = listed.into_iter().map(|listed| (strsim::normalized_levenshtein(&listed, uri), listed)).collect();
    near.retain(|(nearness, _)| *nearness >= NEAR);
    near.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let near: Vec<String> = near.into_iter().take(NEAR_URIS).map(|(_, uri)| uri).collect();
    if near.is_empty() {
        anyhow!("the server has no {uri}; --wait waits for it")
    } else {
        anyhow!("the server has no {uri}; near: {}", near.join(", "))
    }
}
