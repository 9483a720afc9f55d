//! A plain MCP client in both eras: what it sends is what the test says, and what it receives is what the host sent.

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, StatusCode, http::request::Builder};
use serde_json::{Value, json};

use crate::{
    Host,
    http::{Events, Stalled, send},
    within,
};

const LEGACY: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";
const SESSION: &str = "mcp-session-id";
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
const ACCEPT: &str = "application/json, text/event-stream";

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

fn next_id() -> u64 {
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}

fn post(address: &str) -> Builder {
    Request::post("/mcp").header("host", address).header("content-type", "application/json").header("accept", ACCEPT)
}

fn body(message: &Value) -> Full<Bytes> {
    Full::new(Bytes::from(message.to_string()))
}

/// The whole answer, and its HTTP status.
async fn answer(address: &str, request: Request<Full<Bytes>>) -> Result<(StatusCode, Value)> {
    let (response, _connection) = send(address, request).await?;
    let status = response.status();
    let bytes = response.into_body().collect().await?.to_bytes();
    let answer = serde_json::from_slice(&bytes).with_context(|| format!("{status}: {}", String::from_utf8_lossy(&bytes)))?;
    Ok((status, answer))
}

/// The answer's result; an error is an error.
fn result((status, answer): (StatusCode, Value)) -> Result<Value> {
    answer.get("result").cloned().with_context(|| format!("{status}: {answer}"))
}

/// The answer's error; a result is an error.
fn error((status, answer): (StatusCode, Value)) -> Result<Value> {
    answer.get("error").cloned().with_context(|| format!("no error but {status}: {answer}"))
}

/// One session of the legacy era (2025-11-25).
pub struct Session<'a> {
    host: &'a Host,
    id: String,
}

impl<'a> Session<'a> {
    /// `initialize` and `notifications/initialized`.
    ///
    /// # Errors
    /// The host does not answer as it should.
    pub async fn open(host: &'a Host) -> Result<Self> {
        let initialize = json!({ "jsonrpc": "2.0", "id": next_id(), "method": "initialize", "params": {
            "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": { "name": "wharf-tests", "version": "1" } } });
        let id = within("initialize", async {
            let (response, _connection) = send(host.address(), post(host.address()).body(body(&initialize))?).await?;
            let id = response.headers().get(SESSION).context("no session id")?.to_str()?.to_owned();
            response.into_body().collect().await?;
            Ok(id)
        })
        .await?;
        let session = Self { host, id };
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let request = session.headers(post(host.address())).body(body(&initialized))?;
        let (response, _connection) = within("notifications/initialized", send(host.address(), request)).await?;
        if response.status() != StatusCode::ACCEPTED {
            bail!("notifications/initialized: {}", response.status());
        }
        Ok(session)
    }

    fn headers(&self, request: Builder) -> Builder {
        request.header(SESSION, &self.id).header("mcp-protocol-version", LEGACY)
    }

    /// Sends a request and gives its result.
    ///
    /// # Errors
    /// An error of any kind, also one the host answers.
    pub async fn call(&self, method: &str, params: Value) -> Result<Value> {
        result(self.ask(method, params).await?)
    }

    /// Sends a request and gives the error that is answered.
    ///
    /// # Errors
    /// There is a result, or no answer.
    pub async fn refused(&self, method: &str, params: Value) -> Result<Value> {
        error(self.ask(method, params).await?)
    }

    async fn ask(&self, method: &str, params: Value) -> Result<(StatusCode, Value)> {
        let message = json!({ "jsonrpc": "2.0", "id": next_id(), "method": method, "params": params });
        let request = self.headers(post(self.host.address())).body(body(&message))?;
        within(method, answer(self.host.address(), request)).await
    }

    /// Subscribes to each of these.
    ///
    /// # Errors
    /// As [`Session::call`].
    pub async fn subscribe(&self, uris: &[String]) -> Result<()> {
        for uri in uris {
            self.call("resources/subscribe", json!({ "uri": uri })).await?;
        }
        Ok(())
    }

    /// Opens the session's event stream.
    ///
    /// # Errors
    /// The host gives none.
    pub async fn listen(&self) -> Result<Listener> {
        let request = self.headers(Request::get("/mcp")).header("host", self.host.address()).header("accept", "text/event-stream");
        let (response, connection) = within("GET", send(self.host.address(), request.body(Full::default())?)).await?;
        Ok(Listener { events: Events::of(response, connection)?, subscription: None })
    }

    /// Ends the session.
    ///
    /// # Errors
    /// The host does not say that it has.
    pub async fn end(self) -> Result<()> {
        let request = self.headers(Request::delete("/mcp")).header("host", self.host.address());
        let (response, _connection) = within("DELETE", send(self.host.address(), request.body(Full::default())?)).await?;
        if response.status() != StatusCode::NO_CONTENT {
            bail!("DELETE: {}", response.status());
        }
        Ok(())
    }

    /// Opens the session's event stream, and does not read it.
    ///
    /// # Errors
    /// The host gives none.
    pub async fn stall(&self) -> Result<Stalled> {
        let head = format!(
            "GET /mcp HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\nMcp-Session-Id: {}\r\nMcp-Protocol-Version: {LEGACY}",
            self.host.address(),
            self.id
        );
        within("a GET that stalls", Stalled::behind(self.host.address(), &head, "")).await
    }
}

fn modern(id: &Value, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": { "name": "wharf-tests", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// Sends a request of the modern era (2026-07-28) and gives its result.
///
/// # Errors
/// An error of any kind, also one the host answers.
pub async fn call(host: &Host, method: &str, params: Value) -> Result<Value> {
    call_at(host.address(), method, params).await
}

/// As [`call`], at any `127.0.0.1:PORT`.
///
/// # Errors
/// As [`call`].
pub async fn call_at(address: &str, method: &str, params: Value) -> Result<Value> {
    result(ask_at(address, method, params).await?)
}

/// As [`call`], and gives the error that is answered.
///
/// # Errors
/// There is a result, or no answer.
pub async fn refused(host: &Host, method: &str, params: Value) -> Result<Value> {
    error(ask_at(host.address(), method, params).await?)
}

async fn ask_at(address: &str, method: &str, params: Value) -> Result<(StatusCode, Value)> {
    let mut request = post(address).header("mcp-protocol-version", MODERN).header("mcp-method", method);
    if method == "resources/read" {
        request = request.header("mcp-name", params["uri"].as_str().context("resources/read without a URI")?);
    }
    let request = request.body(body(&modern(&next_id().into(), method, params)))?;
    within(method, answer(address, request)).await
}

fn listen_message(uris: &[String]) -> (String, Value) {
    let id = format!("listen-{}", next_id());
    let message = modern(&json!(id), "subscriptions/listen", json!({ "notifications": { "resourceSubscriptions": uris } }));
    (id, message)
}

/// Opens a `subscriptions/listen` stream, and sees it acknowledged.
///
/// # Errors
/// The host does not answer as it should.
pub async fn listen(host: &Host, uris: &[String]) -> Result<Listener> {
    let (id, message) = listen_message(uris);
    let request =
        post(host.address()).header("mcp-protocol-version", MODERN).header("mcp-method", "subscriptions/listen").body(body(&message))?;
    let (response, connection) = within("subscriptions/listen", send(host.address(), request)).await?;
    let mut listener = Listener { events: Events::of(response, connection)?, subscription: Some(id) };
    let first = listener.message().await?;
    if first["method"] != "notifications/subscriptions/acknowledged"
        || first["params"]["notifications"]["resourceSubscriptions"] != json!(uris)
    {
        bail!("not acknowledged as asked: {first}");
    }
    Ok(listener)
}

/// Opens a `subscriptions/listen` stream, and does not read it.
///
/// # Errors
/// The host gives none.
pub async fn stall(host: &Host, uris: &[String]) -> Result<Stalled> {
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: {ACCEPT}\r\nMcp-Protocol-Version: {MODERN}\r\n\
         Mcp-Method: subscriptions/listen",
        host.address()
    );
    within("a listen that stalls", Stalled::behind(host.address(), &head, &listen_message(uris).1.to_string())).await
}

/// Hears of updates, in either era.
pub struct Listener {
    events: Events,
    /// The id that every message of a modern listen has to bear.
    subscription: Option<String>,
}

impl Listener {
    /// The next message on the stream.
    ///
    /// # Errors
    /// None came in time, the stream ended, or the message is of another listen.
    pub async fn message(&mut self) -> Result<Value> {
        let message = within("a message", async { self.events.next().await?.context("the stream ended") }).await?;
        let id = message["params"]["_meta"].get(SUBSCRIPTION_ID).and_then(Value::as_str);
        if id != self.subscription.as_deref() {
            bail!("a message of another listen: {message}");
        }
        Ok(message)
    }

    /// The URI of the next update. A legacy session also hears that the list has changed, as when a provider has loaded after it was
    /// opened: that is passed over.
    ///
    /// # Errors
    /// As [`Listener::message`], or the message is none of these.
    pub async fn update(&mut self) -> Result<String> {
        loop {
            let message = self.message().await?;
            match message["method"].as_str() {
                Some("notifications/resources/updated") => {
                    return Ok(message["params"]["uri"].as_str().context("an update without a URI")?.to_owned());
                }
                Some("notifications/resources/list_changed") if self.subscription.is_none() => {}
                _ => bail!("no update: {message}"),
            }
        }
    }

    /// Waits for the end of the stream, passing over what comes before.
    ///
    /// # Errors
    /// It does not end, or breaks.
    pub async fn end(mut self) -> Result<()> {
        within("the end of the stream", async {
            while self.events.next().await?.is_some() {}
            Ok(())
        })
        .await
    }
}
