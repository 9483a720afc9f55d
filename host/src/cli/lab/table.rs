//! The connections there are, and what each of them does: messages in, lines of the log, updates due and verdicts out.
//!
//! A connection is a legacy session, a pipe, or, in the modern era over HTTP, one client name and version from one address, until [`IDLE`]
//! without a request or an open listen.
//!
//! Invariants: it reads no clock and prints nothing; each connection gets one verdict; each of them that subscribes gets an update of its
//! own, so that every client can make a full round, whatever others did before it.

use std::{collections::HashMap, time::Duration};

use indexmap::IndexMap;
use serde_json::Value;
use tokio::time::Instant;
use wharf::mcp::observe::Connection;

use super::{
    heard::{Event, What},
    review::URI,
    round::Round,
    verdict::{Client, End, Verdict},
};

/// A modern client over HTTP that says nothing for so long, and listens to nothing, is taken to have ended.
pub(super) const IDLE: Duration = Duration::from_secs(30);
/// Requests of one connection whose answers are waited for. Past it the older ones are forgotten; they were never answered.
const PENDING: usize = 1024;
const META: &str = "io.modelcontextprotocol/";

/// What came of something.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub lines: Vec<String>,
    pub verdicts: Vec<Verdict>,
    /// So many updates are due now.
    pub updates: usize,
}

/// See the module's page.
pub(super) struct Table {
    delay: Duration,
    seats: IndexMap<Connection, Seat>,
    /// How many there were.
    count: usize,
    /// When updates are due.
    updates: Vec<Instant>,
}

struct Seat {
    number: usize,
    round: Round,
    client: Client,
    modern: bool,
    protocol: String,
    pending: HashMap<String, Asked>,
    /// The ids of open listens, and whether it is for the resource; several clients that are one by name may use one id.
    listens: Vec<(String, bool)>,
    last: Instant,
}

/// A request that waits for its answer.
struct Asked {
    method: String,
    uri: String,
    /// Of a listen.
    uris: Vec<String>,
}

impl Table {
    /// An empty one; updates are due so long after a subscription.
    pub(super) fn new(delay: Duration) -> Self {
        Self { delay, seats: IndexMap::new(), count: 0, updates: Vec::new() }
    }

    /// When [`Table::tick`] has something to do.
    pub(super) fn due(&self) -> Option<Instant> {
        let idle = self.seats.iter().filter_map(|(connection, seat)| seat.idle_at(connection));
        idle.chain(self.updates.iter().copied()).min()
    }

    /// Takes what happened.
    pub(super) fn take(&mut self, Event { connection, at, what }: Event) -> Told {
        let mut told = Told::default();
        match what {
            What::Received(message) => self.received(&connection, &message, at, &mut told.lines),
            What::Sent(message) => {
                if let Some(seat) = self.seats.get_mut(&connection) {
                    let subscribed = seat.sent(&message, at, &mut told.lines);
                    self.updates.extend(subscribed.then(|| at + self.delay));
                }
            }
            What::Closed(Some(listen)) => {
                if let Some(seat) = self.seats.get_mut(&connection) {
                    seat.unlisten(&listen, at, &mut told.lines);
                }
            }
            What::Closed(None) => {}
            What::Ended => {
                if let Some(seat) = self.seats.shift_remove(&connection) {
                    told.verdicts.push(seat.verdict(&connection, End::Closed));
                }
            }
        }
        told
    }

    /// What is due by now.
    pub(super) fn tick(&mut self, now: Instant) -> Told {
        let before = self.updates.len();
        self.updates.retain(|due| *due > now);
        let over = |connection: &Connection, seat: &Seat| seat.idle_at(connection).is_some_and(|due| due <= now);
        let mut verdicts = Vec::new();
        self.seats.retain(|connection, seat| {
            let over = over(connection, seat);
            if over {
                verdicts.push(seat.verdict(connection, End::Idle));
            }
            !over
        });
        Told { lines: Vec::new(), verdicts, updates: before - self.updates.len() }
    }

    /// The verdicts on those that are open.
    pub(super) fn conclude(&mut self) -> Vec<Verdict> {
        self.seats.drain(..).map(|(connection, seat)| seat.verdict(&connection, End::Open)).collect()
    }

    fn received(&mut self, connection: &Connection, message: &Value, at: Instant, lines: &mut Vec<String>) {
        let Some(method) = message["method"].as_str() else { return };
        let request = message.get("id").map(Value::to_string);
        if !self.seats.contains_key(connection) {
            let begins = match connection {
                // Of a session that is not there.
                Connection::Session(_) => method == "initialize",
                Connection::Pipe(_) => true,
                // Notifications need not name the client.
                Connection::Client { .. } => request.is_some(),
            };
            if !begins {
                return lines.push(format!("[{method}] of no known connection"));
            }
            self.count += 1;
            self.seats.insert(connection.clone(), Seat::new(self.count, at));
        }
        let Some(seat) = self.seats.get_mut(connection) else { return };
        match request {
            Some(id) => seat.request(id, method, &message["params"], at, lines),
            None => seat.notification(method, &message["params"], at, lines),
        }
    }
}

impl Seat {
    fn new(number: usize, now: Instant) -> Self {
        Self {
            number,
            round: Round::new(now),
            client: Client::default(),
            modern: false,
            protocol: String::new(),
            pending: HashMap::new(),
            listens: Vec::new(),
            last: now,
        }
    }

    /// When it is taken to have ended.
    fn idle_at(&self, connection: &Connection) -> Option<Instant> {
        let ends_by_itself = matches!(connection, Connection::Client { .. });
        (ends_by_itself && self.listens.is_empty()).then(|| self.last + IDLE)
    }

    fn say(&self, lines: &mut Vec<String>, line: &str) {
        lines.push(format!("{line} connection={}", self.number));
    }

    fn request(&mut self, id: String, method: &str, params: &Value, now: Instant, lines: &mut Vec<String>) {
        self.last = now;
        let meta = &params["_meta"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let info = if method == "initialize" { &params["clientInfo"] } else { &meta[format!("{META}clientInfo")] };
        let protocol = if method == "initialize" { &params["protocolVersion"] } else { &meta[format!("{META}protocolVersion")] };
        if info.is_object() {
            self.client = Client { name: text(&info["name"]), version: text(&info["version"]) };
        }
        // Clients ask with one and go on with the other: what they ask for after that counts.
        if let Some(protocol) = protocol.as_str().filter(|_| method != "server/discover" || self.protocol.is_empty()) {
            self.modern = method != "initialize";
            self.protocol = protocol.to_owned();
        }
        let uri = text(&params["uri"]);
        let filter = &params["notifications"];
        let uris: Vec<String> = filter["resourceSubscriptions"].as_array().into_iter().flatten().map(text).collect();
        match method {
            "initialize" | "server/discover" => {
                let Client { name, version } = &self.client;
                self.say(lines, &format!("[{method}] client={name} version={version} protocol={}", protocol.as_str().unwrap_or_default()));
            }
            // Said with its answer, which has the version.
            "resources/read" => {}
            "resources/subscribe" | "resources/unsubscribe" => self.say(lines, &format!("[{method}] uri={uri}")),
            "subscriptions/listen" => {
                let list_changed = filter["resourcesListChanged"] == true;
                self.say(lines, &format!("[{method}] uri={} list_changed={list_changed}", uris.join(",")));
            }
            _ => self.say(lines, &format!("[{method}] requested")),
        }
        if self.pending.len() >= PENDING {
            self.pending.clear();
        }
        self.pending.insert(id, Asked { method: method.to_owned(), uri, uris });
    }

    fn notification(&mut self, method: &str, params: &Value, now: Instant, lines: &mut Vec<String>) {
        self.say(lines, &format!("[{method}]"));
        if method == "notifications/cancelled" {
            let id = params["requestId"].to_string();
            self.pending.remove(&id);
            self.unlisten(&id, now, lines);
        }
    }

    /// True if it has subscribed to the resource for the first time.
    fn sent(&mut self, message: &Value, now: Instant, lines: &mut Vec<String>) -> bool {
        match message["method"].as_str() {
            Some(method) => self.told(method, &message["params"], now, lines),
            None => self.answered(message, now, lines),
        }
    }

    fn told(&mut self, method: &str, params: &Value, now: Instant, lines: &mut Vec<String>) -> bool {
        let uri = params["uri"].as_str();
        self.say(lines, &format!("[notification/send] {method}{}", uri.map(|uri| format!(" uri={uri}")).unwrap_or_default()));
        match method {
            "notifications/resources/updated" if uri == Some(URI) => self.round.notified(now),
            "notifications/subscriptions/acknowledged" => {
                let id = params["_meta"][format!("{META}subscriptionId")].to_string();
                // The answer proper is the end of the listen.
                let uris = self.pending.remove(&id).map(|asked| asked.uris).unwrap_or_default();
                let ours = uris.iter().any(|uri| uri == URI);
                self.listens.push((id, ours));
                return ours && self.round.subscribed(now);
            }
            _ => {}
        }
        false
    }

    fn answered(&mut self, message: &Value, now: Instant, lines: &mut Vec<String>) -> bool {
        let id = message["id"].to_string();
        let Some(Asked { method, uri, .. }) = self.pending.remove(&id) else {
            self.unlisten(&id, now, lines);
            return false;
        };
        if let Some(error) = message.get("error") {
            let (code, why) = (&error["code"], error["message"].as_str().unwrap_or_default());
            let uri = if uri.is_empty() { String::new() } else { format!(" uri={uri}") };
            self.say(lines, &format!("[{method}]{uri} error={code} {why}"));
            return false;
        }
        let result = &message["result"];
        match &*method {
            "initialize" => self.protocol = result["protocolVersion"].as_str().unwrap_or(&self.protocol).to_owned(),
            "resources/list" => self.round.listed(now),
            "resources/read" => {
                let text = result["contents"][0]["text"].as_str().unwrap_or_default();
                let content: Value = serde_json::from_str(text).unwrap_or_default();
                self.say(lines, &format!("[resources/read] uri={uri} version={}", content["version"]));
                self.round.read(now);
            }
            "resources/subscribe" if uri == URI => return self.round.subscribed(now),
            "resources/unsubscribe" if uri == URI => self.round.unsubscribed(now),
            _ => {}
        }
        false
    }

    /// A listen has ended: so the modern era unsubscribes.
    fn unlisten(&mut self, id: &str, now: Instant, lines: &mut Vec<String>) {
        let Some(at) = self.listens.iter().position(|(listen, _)| listen == id) else { return };
        let (_, ours) = self.listens.swap_remove(at);
        self.last = now;
        self.say(lines, &format!("[subscriptions/listen] ended uri={}", if ours { URI } else { "" }));
        if ours && !self.listens.iter().any(|(_, ours)| *ours) {
            self.round.unsubscribed(now);
        }
    }

    fn verdict(&self, connection: &Connection, ended: End) -> Verdict {
        let (steps, missing) = Verdict::steps(&self.round);
        Verdict {
            connection: self.number,
            client: self.client.clone(),
            era: if self.modern { "modern" } else { "legacy" },
            protocol: self.protocol.clone(),
            transport: if matches!(connection, Connection::Pipe(_)) { "stdio" } else { "http" },
            steps,
            missing,
            full_round: self.round.is_full(),
            ended,
        }
    }
}

#[cfg(test)]
mod tests;
