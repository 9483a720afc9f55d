//! How the probe speaks to a server: messages as they are, since what matters to it is what a client library hides.

use std::{collections::VecDeque, time::Duration};

use anyhow::{Context, Result, bail};
use hyper::HeaderMap;
use reqwest::Url;
use serde_json::Value;

use super::{http::Http, stdio::Stdio};

/// Of a server that takes a message and does not answer.
pub(super) const ANSWER: Duration = Duration::from_secs(10);
/// Notifications that may wait to be looked at. A server that sends more without being asked is at fault.
pub(super) const INBOX: usize = 10_000;

/// Where the server is.
#[derive(Debug, Clone)]
pub(super) enum Target {
    Url(Url),
    /// A program and its arguments.
    Command(Vec<String>),
}

enum Link {
    Http(Http),
    Stdio(Stdio),
}

/// A conversation with a server.
pub(super) struct Wire {
    link: Link,
    /// What the server sent without being asked, and nobody has looked at yet.
    unread: VecDeque<Value>,
}

impl Wire {
    pub(super) fn open(target: &Target, headers: &HeaderMap) -> Result<Self> {
        let link = match target {
            Target::Url(url) => Link::Http(Http::new(url, headers)?),
            Target::Command(words) => Link::Stdio(Stdio::start(words)?),
        };
        Ok(Self { link, unread: VecDeque::new() })
    }

    pub(super) fn is_http(&self) -> bool {
        matches!(self.link, Link::Http(_))
    }

    /// From now on messages are of this version.
    pub(super) fn speaks(&mut self, version: &str) {
        if let Link::Http(http) = &mut self.link {
            http.version = Some(version.to_owned());
        }
    }

    /// The next message says its version in its body.
    pub(super) fn forget_version(&mut self) {
        if let Link::Http(http) = &mut self.link {
            http.version = None;
        }
    }

    /// Sends a request; gives its answer, a whole message.
    pub(super) async fn ask(&mut self, request: &Value) -> Result<Value> {
        let answer = async {
            match &mut self.link {
                Link::Http(http) => http.post(request, &mut self.unread).await?.context("the server took the request and answered nothing"),
                Link::Stdio(stdio) => {
                    stdio.send(request).await?;
                    loop {
                        let message = stdio.next().await?;
                        if message.get("method").is_none() && message["id"] == request["id"] {
                            return Ok(message);
                        }
                        keep(&mut self.unread, message)?;
                    }
                }
            }
        };
        timed(answer).await
    }

    /// Sends what wants no answer.
    pub(super) async fn tell(&mut self, message: &Value) -> Result<()> {
        let told = async {
            match &mut self.link {
                Link::Http(http) => http.post(message, &mut self.unread).await.map(drop),
                Link::Stdio(stdio) => stdio.send(message).await,
            }
        };
        timed(told).await
    }

    /// Opens a legacy session's stream of events. Over stdio there is nothing to open.
    pub(super) async fn open_stream(&mut self) -> Result<()> {
        match &mut self.link {
            Link::Http(http) => timed(http.get()).await,
            Link::Stdio(_) => Ok(()),
        }
    }

    /// Sends `subscriptions/listen`. Its messages come by [`Wire::next`]; the answer is there only if the server refused.
    pub(super) async fn listen(&mut self, request: &Value) -> Result<Option<Value>> {
        match &mut self.link {
            Link::Http(http) => timed(http.listen(request)).await,
            Link::Stdio(stdio) => timed(stdio.send(request)).await.map(|()| None),
        }
    }

    /// Ends the streams. Over stdio a listen is to be cancelled by a message instead.
    pub(super) fn hang_up(&mut self) {
        if let Link::Http(http) = &mut self.link {
            http.hang_up();
        }
    }

    /// The next message that is no answer, however long it takes.
    pub(super) async fn next(&mut self) -> Result<Value> {
        if let Some(message) = self.unread.pop_front() {
            return Ok(message);
        }
        match &mut self.link {
            Link::Http(http) => http.next().await,
            Link::Stdio(stdio) => stdio.next().await,
        }
    }

    /// Ends it; says how the server took it.
    pub(super) async fn close(self) -> Result<String> {
        match self.link {
            Link::Http(http) => timed(http.close()).await,
            Link::Stdio(stdio) => stdio.close().await,
        }
    }
}

/// Keeps a message for later.
pub(super) fn keep(unread: &mut VecDeque<Value>, message: Value) -> Result<()> {
    if unread.len() >= INBOX {
        bail!("the server sent {INBOX} messages nobody asked for");
    }
    unread.push_back(message);
    Ok(())
}

async fn timed<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::time::timeout(ANSWER, work).await.with_context(|| format!("no answer within {} s", ANSWER.as_secs()))?
}
