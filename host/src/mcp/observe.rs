//! Who sees the messages of every connection: the seam for `wharf lab`, and for tracing.
//!
//! Invariants: a server that nobody observes looks at no message for it; an observer sees what a client said before the host acts on it,
//! and what the host says when the transport takes it; it changes nothing.

use std::{net::IpAddr, sync::Arc};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    Envelope, Reply, Server,
    era::{self, Era, Said},
    message::{self, Incoming, Message, Request, is_object, text_of},
};

/// Whose message it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Connection {
    /// A legacy session over HTTP, by its id.
    Session(Arc<str>),
    /// A client at the other end of a pipe, such as one over stdio; they count from 1.
    Pipe(u64),
    /// A client of the modern era over HTTP, which has no connections of its own: whatever says that it is this client, from this address.
    Client {
        /// `clientInfo.name`; empty if it does not say.
        name: String,
        /// `clientInfo.version`; empty if it does not say.
        version: String,
        /// Where it comes from, if the transport knows.
        peer: Option<IpAddr>,
    },
}

/// Sees messages. Its calls come from many threads, those of one connection in the order of its messages, and must not take long.
pub trait Observer: Send + Sync + 'static {
    /// Whether it looks, for now. While it does not, requests are not looked at for it: what they begin is not told, and what ends may be.
    fn is_watching(&self) -> bool {
        true
    }

    /// A session has begun, or a pipe.
    fn began(&self, connection: &Connection) {
        let _ = connection;
    }

    /// The client has sent this: a message, or a batch. It may be wrong in any way.
    fn received(&self, connection: &Connection, message: &[u8]);

    /// This goes to the client: an answer, or a notification.
    fn sent(&self, connection: &Connection, message: &[u8]);

    /// A stream of events is open: that of a listen, with the JSON of its request's id, or that of a session. Not over a pipe, which is one.
    fn opened(&self, connection: &Connection, listen: Option<&str>);

    /// It has ended, whoever ended it.
    fn closed(&self, connection: &Connection, listen: Option<&str>);

    /// Nothing more comes of it: the session has ended, or the pipe. What has no sessions has no end either.
    fn ended(&self, connection: &Connection);
}

/// Two that see the same.
pub(crate) struct Both(pub Arc<dyn Observer>, pub Arc<dyn Observer>);

impl Observer for Both {
    fn is_watching(&self) -> bool {
        self.0.is_watching() || self.1.is_watching()
    }

    fn began(&self, connection: &Connection) {
        self.0.began(connection);
        self.1.began(connection);
    }

    fn received(&self, connection: &Connection, message: &[u8]) {
        self.0.received(connection, message);
        self.1.received(connection, message);
    }

    fn sent(&self, connection: &Connection, message: &[u8]) {
        self.0.sent(connection, message);
        self.1.sent(connection, message);
    }

    fn opened(&self, connection: &Connection, listen: Option<&str>) {
        self.0.opened(connection, listen);
        self.1.opened(connection, listen);
    }

    fn closed(&self, connection: &Connection, listen: Option<&str>) {
        self.0.closed(connection, listen);
        self.1.closed(connection, listen);
    }

    fn ended(&self, connection: &Connection) {
        self.0.ended(connection);
        self.1.ended(connection);
    }
}

/// One stream, or one pipe, that is observed. Dropping it tells its end.
pub(crate) struct Tap {
    observer: Arc<dyn Observer>,
    connection: Connection,
    listen: Option<Box<str>>,
}

impl Tap {
    /// Of a stream of events, which is open from now on.
    pub fn stream(observer: Arc<dyn Observer>, connection: Connection, listen: Option<&str>) -> Self {
        observer.opened(&connection, listen);
        Self { observer, connection, listen: listen.map(Into::into) }
    }

    /// Of a pipe.
    pub fn pipe(observer: Arc<dyn Observer>, number: u64) -> Self {
        let connection = Connection::Pipe(number);
        observer.began(&connection);
        Self { observer, connection, listen: None }
    }

    pub fn received(&self, message: &[u8]) {
        self.observer.received(&self.connection, message);
    }

    pub fn sent(&self, message: &[u8]) {
        self.observer.sent(&self.connection, message);
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        match self.connection {
            Connection::Pipe(_) => self.observer.ended(&self.connection),
            _ => self.observer.closed(&self.connection, self.listen.as_deref()),
        }
    }
}

/// [`Server::post`], observed.
pub(super) async fn post(server: &Server, observer: &Arc<dyn Observer>, body: &[u8], envelope: &Envelope<'_>) -> Reply {
    let asked = asked(body);
    let known = connection(asked.as_ref(), envelope);
    if let Some(connection) = &known {
        observer.received(connection, body);
    }
    let reply = server.answer(body, envelope).await;
    match (reply, known) {
        (Reply::Session(id, message), _) => {
            let connection = Connection::Session(id.as_str().into());
            observer.began(&connection);
            observer.received(&connection, body);
            observer.sent(&connection, &message);
            Reply::Session(id, message)
        }
        (Reply::Message(status, message), Some(connection)) => {
            observer.sent(&connection, &message.whole());
            Reply::Message(status, message)
        }
        (Reply::Listening(stream), Some(connection)) => {
            let id = asked.as_ref().map(|request| request.id.as_json());
            Reply::Listening(stream.tapped(Tap::stream(observer.clone(), connection, id)))
        }
        (Reply::Calling(stream), Some(connection)) => Reply::Calling(stream.observed(observer.clone(), connection)),
        // Every kind by name: one that is new must not pass unseen.
        (Reply::Accepted, _) => Reply::Accepted,
        (reply @ (Reply::Message(..) | Reply::Listening(_) | Reply::Calling(_)), None) => reply,
    }
}

/// The request in it, if it is one.
fn asked(body: &[u8]) -> Option<Request<'_>> {
    match message::parse(body) {
        Ok(Incoming::One(Message::Request(request))) => Some(request),
        _ => None,
    }
}

/// Whose message it is, if that can be told from it: of `initialize` it cannot, before there is a session.
fn connection(request: Option<&Request<'_>>, envelope: &Envelope<'_>) -> Option<Connection> {
    let modern = match request {
        Some(request) => match era::of(request, envelope.version) {
            Era::Legacy if request.method == "initialize" => return None,
            era => era == Era::Modern,
        },
        None => envelope.version.is_modern_version(),
    };
    if modern {
        let (name, version) = request.and_then(client_info).unwrap_or_default();
        return Some(Connection::Client { name, version, peer: envelope.peer });
    }
    match envelope.session {
        Said::Text(id) => Some(Connection::Session(id.into())),
        Said::Nothing | Said::Garbled => None,
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Meta<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/clientInfo")]
    client: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ClientInfo<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    version: Option<&'a RawValue>,
}

fn client_info(request: &Request<'_>) -> Option<(String, String)> {
    let meta = request.params().ok()?.meta.filter(|meta| is_object(meta.get()))?;
    let meta: Meta<'_> = serde_json::from_str(meta.get()).ok()?;
    let client = meta.client.filter(|client| is_object(client.get()))?;
    let client: ClientInfo<'_> = serde_json::from_str(client.get()).ok()?;
    let text = |raw: Option<&RawValue>| raw.and_then(text_of).unwrap_or_default().into_owned();
    Some((text(client.name), text(client.version)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(body: &str, envelope: &Envelope<'_>) -> Option<Connection> {
        connection(asked(body.as_bytes()).as_ref(), envelope)
    }

    #[test]
    fn a_message_is_its_sessions_or_its_clients_or_nobodys() {
        let session = Envelope { session: Said::Text("s"), ..Envelope::default() };
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        assert_eq!(of(ping, &session), Some(Connection::Session("s".into())));
        assert_eq!(of(ping, &Envelope::default()), None);
        let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
        assert_eq!(of(initialize, &session), None);
        let peer = Some(IpAddr::from([127, 0, 0, 1]));
        let modern = Envelope { version: Said::Text(era::MODERN), peer, ..session };
        let named = r#"{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"_meta":{
            "io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"}}}}"#;
        assert_eq!(of(named, &modern), Some(Connection::Client { name: "a".into(), version: "1".into(), peer }));
        for unnamed in [ping, "[", r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"io.modelcontextprotocol/clientInfo":[1]}}}"#]
        {
            assert_eq!(of(unnamed, &modern), Some(Connection::Client { name: String::new(), version: String::new(), peer }), "{unnamed}");
        }
    }
}
