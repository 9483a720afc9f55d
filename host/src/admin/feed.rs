//! What happens, as server-sent events.
//!
//! Invariants: nothing is made while nobody reads; a reader that is slow holds [`WAITING`] events at most, and then is told how many it
//! missed; nobody who does something waits for a reader.

use std::{
    convert::Infallible,
    fmt,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, SystemTime},
};

use axum::{
    body::Body,
    http::{HeaderValue, Response, StatusCode, header},
};
use bytes::Bytes;
use futures_util::stream::unfold;
use serde_json::{Value, json};
use tokio::{
    sync::{broadcast, watch},
    time::sleep,
};

use super::{Admin, answer, caller, status::moment};
use crate::{
    catalog::Catalog,
    host::Notice,
    mcp::observe::{Connection, Observer},
    plugins::{Fate, Report},
    provider::{
        ProviderEvent, Updated,
        tally::{Called, Witness},
    },
    subscriptions::{Listener, SubscribeError},
};

/// Events that wait for a reader: some seconds of a busy host, and at most some hundred KiB.
const WAITING: usize = 1024;
/// Readers at a time: people with the page open, and their programs.
pub const READERS: usize = 32;
/// URIs that one reader may have watched: what is on its screen.
const WATCHED: usize = 100;
/// A connection on which nothing is said for so long gets a comment: proxies close those that are silent for longer.
const SILENCE: Duration = Duration::from_secs(15);
/// Characters of a session's id that are told: enough to tell sessions apart, too few to speak in their name.
const ID_SHOWN: usize = 8;
/// Characters of what a client says of itself.
const SAID_SHOWN: usize = 100;

/// Where what happens is said.
pub(crate) struct Feed {
    lines: broadcast::Sender<Bytes>,
    readers: AtomicUsize,
}

impl Default for Feed {
    fn default() -> Self {
        Self { lines: broadcast::channel(WAITING).0, readers: AtomicUsize::new(0) }
    }
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").finish_non_exhaustive()
    }
}

fn event(kind: &str, mut data: Value) -> Bytes {
    data["at"] = moment(SystemTime::now()).into();
    format!("event: {kind}\ndata: {data}\n\n").into()
}

impl Feed {
    fn is_heard(&self) -> bool {
        self.readers.load(Relaxed) > 0
    }

    fn say(&self, kind: &str, data: impl FnOnce() -> Value) {
        if self.is_heard() {
            // Nobody left meanwhile: nobody misses it.
            let _ = self.lines.send(event(kind, data()));
        }
    }

    /// This became of a provider's file.
    pub fn report(&self, report: &Report) {
        let provider = &*report.name;
        match &report.fate {
            Fate::Loaded(loaded) => self.say("loaded", || {
                json!({
                    "provider": provider, "generation": loaded.generation, "replaced": loaded.replaced, "resources": loaded.resources,
                    "templates": loaded.templates, "tookMs": u64::try_from(loaded.timings.total.as_millis()).unwrap_or(u64::MAX),
                })
            }),
            Fate::Refused { reason, serving } => {
                self.say("refused", || json!({ "provider": provider, "reason": reason, "serving": serving }));
            }
            Fate::Restored => self.say("restored", || json!({ "provider": provider })),
            Fate::Removed => self.say("gone", || json!({ "provider": provider })),
        }
    }

    /// This is to be said of the host's files.
    pub fn notice(&self, notice: &Notice) {
        self.say("notice", || json!({ "warning": notice.is_warning(), "message": notice.to_string() }));
    }

    /// A provider announced this.
    pub fn announced(&self, said: &ProviderEvent, catalog: &Catalog) {
        if !self.is_heard() {
            return;
        }
        let snapshot = catalog.snapshot();
        let Some(place) = snapshot.places.iter().find(|place| place.slot == said.source.slot) else { return };
        let provider = &*place.name;
        if said.down {
            self.say("down", || json!({ "provider": provider }));
        }
        if said.up {
            self.say("up", || json!({ "provider": provider }));
        }
        match &said.updated {
            Updated::These(uris) => uris.iter().for_each(|uri| self.say("updated", || json!({ "provider": provider, "uri": &**uri }))),
            Updated::All => self.say("updated", || json!({ "provider": provider, "uri": null })),
        }
        if said.list_changed {
            self.say("list-changed", || json!({ "provider": provider }));
        }
    }
}

impl Witness for Feed {
    fn is_watching(&self) -> bool {
        self.is_heard()
    }

    fn called(&self, Called { provider, call, uri, took, outcome }: &Called<'_>) {
        let uri = (!uri.is_empty()).then_some(uri);
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.say("call", || json!({ "provider": provider, "call": call, "uri": uri, "tookUs": took, "outcome": outcome.name() }));
    }

    fn denied(&self, provider: &str, line: &str, times: u64) {
        self.say("denied", || json!({ "provider": provider, "line": line, "times": times }));
    }
}

impl Observer for Feed {
    fn is_watching(&self) -> bool {
        self.is_heard()
    }

    fn began(&self, connection: &Connection) {
        self.say("began", || json!({ "connection": of_connection(connection) }));
    }

    fn received(&self, _connection: &Connection, _message: &[u8]) {}

    fn sent(&self, _connection: &Connection, _message: &[u8]) {}

    fn opened(&self, connection: &Connection, listen: Option<&str>) {
        self.say("opened", || json!({ "connection": of_connection(connection), "listen": listen }));
    }

    fn closed(&self, connection: &Connection, listen: Option<&str>) {
        self.say("closed", || json!({ "connection": of_connection(connection), "listen": listen }));
    }

    fn ended(&self, connection: &Connection) {
        self.say("ended", || json!({ "connection": of_connection(connection) }));
    }
}

fn of_connection(connection: &Connection) -> Value {
    let cut = |text: &str, length: usize| text.chars().take(length).collect::<String>();
    match connection {
        Connection::Session(id) => json!({ "kind": "session", "id": cut(id, ID_SHOWN) }),
        Connection::Pipe(number) => json!({ "kind": "pipe", "number": number }),
        Connection::Client { name, version, peer } => {
            let (name, version) = (cut(name, SAID_SHOWN), cut(version, SAID_SHOWN));
            json!({ "kind": "client", "name": name, "version": version, "peer": peer.as_ref().map(IpAddr::to_string) })
        }
    }
}

/// One who reads. Dropping it ends that.
struct Reader {
    feed: Arc<Feed>,
    lines: broadcast::Receiver<Bytes>,
    stop: Option<watch::Receiver<bool>>,
    hello: Option<Bytes>,
    /// Keeps what it shows watched; nothing is taken from it.
    _listener: Option<Listener>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.feed.readers.fetch_sub(1, Relaxed);
    }
}

impl Reader {
    /// None if there are as many as may be.
    fn new(feed: &Arc<Feed>) -> Option<Self> {
        let more = |readers: usize| (readers < READERS).then_some(readers + 1);
        feed.readers.fetch_update(Relaxed, Relaxed, more).ok()?;
        Some(Self { feed: feed.clone(), lines: feed.lines.subscribe(), stop: None, hello: None, _listener: None })
    }

    async fn next(&mut self) -> Option<Bytes> {
        if let Some(hello) = self.hello.take() {
            return Some(hello);
        }
        let stopped = async {
            match &mut self.stop {
                // A sender that is gone stops as well.
                Some(stop) => drop(stop.wait_for(|stop| *stop).await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            line = self.lines.recv() => match line {
                Ok(line) => Some(line),
                Err(broadcast::error::RecvError::Lagged(count)) => Some(event("lost", json!({ "count": count }))),
                Err(broadcast::error::RecvError::Closed) => None,
            },
            () = stopped => None,
            () = sleep(SILENCE) => Some(Bytes::from_static(b":\n\n")),
        }
    }
}

impl Admin {
    pub(super) async fn events(&self, watched: Vec<Arc<str>>) -> Response<Body> {
        let Some(mut reader) = Reader::new(&self.feed) else {
            return answer::text(StatusCode::SERVICE_UNAVAILABLE, format!("{READERS} read the events already, and no more may\n"));
        };
        if watched.len() > WATCHED {
            return answer::text(StatusCode::BAD_REQUEST, format!("at most {WATCHED} resources are watched for one reader\n"));
        }
        if !watched.is_empty() {
            let listener = self.subscriptions.listen(caller(), false);
            if let Err(error) = listener.subscribe(watched).await {
                let status = match error {
                    SubscribeError::InvalidUri(_) => StatusCode::BAD_REQUEST,
                    SubscribeError::Limit(_) => StatusCode::SERVICE_UNAVAILABLE,
                };
                return answer::text(status, format!("{error}\n"));
            }
            reader._listener = Some(listener);
        }
        reader.stop = self.server.upgrade().map(|server| server.stopped());
        reader.hello = Some(event("hello", json!({ "version": env!("CARGO_PKG_VERSION"), "started": moment(self.started) })));
        let lines = unfold(reader, |mut reader| async { reader.next().await.map(|line| (Ok::<_, Infallible>(line), reader)) });
        let mut response = answer::typed(StatusCode::OK, "text/event-stream", Bytes::new());
        *response.body_mut() = Body::from_stream(lines);
        // A proxy that buffers would hold events back until its buffer is full.
        response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store, no-transform"));
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(line: Option<Bytes>) -> String {
        String::from_utf8(line.unwrap().to_vec()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_made_while_nobody_reads_and_a_reader_hears_what_comes_after() {
        let feed = Arc::<Feed>::default();
        feed.say("call", || panic!("nobody reads"));
        let mut reader = Reader::new(&feed).unwrap();
        feed.say("gone", || json!({ "provider": "a\nb" }));
        let line = text(reader.next().await);
        assert!(line.starts_with("event: gone\ndata: {") && line.ends_with("}\n\n"), "{line}");
        assert!(line.contains(r#""provider":"a\nb""#) && line.lines().count() == 3, "one line of JSON: {line}");
        assert_eq!(text(reader.next().await), ":\n\n", "after some silence");
        drop(reader);
        feed.say("call", || panic!("nobody reads"));
    }

    #[tokio::test]
    async fn a_slow_reader_is_told_how_much_it_lost_and_goes_on_with_the_newest() {
        let feed = Arc::<Feed>::default();
        let mut reader = Reader::new(&feed).unwrap();
        for number in 0..WAITING + 7 {
            feed.say("call", || json!({ "number": number }));
        }
        let lost = text(reader.next().await);
        assert!(lost.starts_with("event: lost\n") && lost.contains(r#""count":7"#), "{lost}");
        assert!(text(reader.next().await).contains(r#""number":7"#));
    }

    #[test]
    fn there_are_so_many_readers_and_no_more_until_one_leaves() {
        let feed = Arc::<Feed>::default();
        let mut readers: Vec<_> = (0..READERS).map(|_| Reader::new(&feed).unwrap()).collect();
        assert!(Reader::new(&feed).is_none());
        readers.pop();
        assert!(Reader::new(&feed).is_some());
    }

    #[test]
    fn of_a_session_only_the_beginning_of_its_id_is_told() {
        let told = of_connection(&Connection::Session("0123456789abcdef".into()));
        assert_eq!(told, json!({ "kind": "session", "id": "01234567" }));
    }
}
