//! What goes over the wire, as the lab's one task hears of it.
//!
//! Invariant: what happens comes out in the order in which it happened, with its time.

use serde_json::Value;
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::Instant,
};
use wharf::mcp::observe::{Connection, Observer};

/// Something that happened.
#[derive(Debug)]
pub(super) struct Event {
    pub connection: Connection,
    pub at: Instant,
    pub what: What,
}

#[derive(Debug)]
pub(super) enum What {
    /// A message of the client's.
    Received(Value),
    /// A message to the client.
    Sent(Value),
    /// A stream has ended; with the JSON of a listen's id.
    Closed(Option<String>),
    /// The connection has ended.
    Ended,
}

/// Passes on what it sees. Without a bound: the lab's task does nothing else, and each message is bounded by its transport.
pub(super) struct Heard(UnboundedSender<Event>);

/// Both ends.
pub(super) fn channel() -> (Heard, UnboundedReceiver<Event>) {
    let (sender, receiver) = unbounded_channel();
    (Heard(sender), receiver)
}

impl Heard {
    fn tell(&self, connection: &Connection, what: What) {
        // At the end nobody hears it.
        let _ = self.0.send(Event { connection: connection.clone(), at: Instant::now(), what });
    }
}

impl Observer for Heard {
    fn received(&self, connection: &Connection, message: &[u8]) {
        each(message, |message| self.tell(connection, What::Received(message)));
    }

    fn sent(&self, connection: &Connection, message: &[u8]) {
        each(message, |message| self.tell(connection, What::Sent(message)));
    }

    fn opened(&self, _: &Connection, _: Option<&str>) {}

    fn closed(&self, connection: &Connection, listen: Option<&str>) {
        // In one form, whatever the client's: ids are compared.
        let id = listen.and_then(|id| serde_json::from_str::<Value>(id).ok());
        self.tell(connection, What::Closed(id.map(|id| id.to_string())));
    }

    fn ended(&self, connection: &Connection) {
        self.tell(connection, What::Ended);
    }
}

/// The messages of a batch one by one. What is no JSON is answered with an error, and is no step of anybody's.
fn each(message: &[u8], tell: impl Fn(Value)) {
    match serde_json::from_slice(message) {
        Ok(Value::Array(messages)) => messages.into_iter().for_each(tell),
        Ok(message) => tell(message),
        Err(_) => {}
    }
}
