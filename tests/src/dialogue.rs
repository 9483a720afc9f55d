//! Recorded dialogues: what an agent says to a server, and what it needs to hear, played against the real host.
//!
//! A dialogue is a file of JSON lines in `tests/dialogues/`. The first says whose it is, over what it is played, and the headers of every
//! request; each other line is a [`Step`]. One dialogue serves both transports: over stdio what only HTTP has is passed over.
//!
//! What a client needs to hear is a pattern, see [`matches`]. A key that no step knows is an error, so a misspelt expectation cannot pass.

use std::{collections::BTreeMap, fmt, fs};

use anyhow::{Context, Result, bail, ensure};
use http_body_util::{BodyExt, Full};
use hyper::{Request, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::task::JoinSet;

use crate::{
    Events, Host, Pipe,
    http::{Connection, send},
    matches, root, within,
};

const SESSION: &str = "mcp-session-id";
/// Stands for the session id in a dialogue's headers.
const SESSION_VARIABLE: &str = "$session";

/// Over what a dialogue is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// Streamable HTTP.
    Http,
    /// The host as a process of the client's.
    Stdio,
}

/// A file of `tests/dialogues/`.
#[derive(Debug)]
pub struct Dialogue {
    head: Head,
    steps: Vec<Step>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    client: String,
    over: Vec<Transport>,
    headers: Map<String, Value>,
}

/// One line of a dialogue.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
enum Step {
    /// From here on these headers go with each request; null takes one away. `$session` is the id of the session opened last.
    Headers { headers: Map<String, Value> },
    /// Sends a message, and waits for what it is answered with.
    Send(Send),
    /// Sends several at once, and waits for all answers.
    Together { send: Vec<Send> },
    /// Asks for anything by GET. With `stream` a 200 has to be an event stream.
    Get {
        #[serde(default = "endpoint")]
        path: String,
        #[serde(default)]
        headers: Map<String, Value>,
        status: u16,
        stream: Option<String>,
    },
    /// Ends the session.
    Delete { status: u16 },
    /// A notification like this comes, over HTTP on this stream. Other notifications may come before.
    Hear { on: String, message: Value },
    /// Closes the stream.
    HangUp { on: String },
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Send {
    message: Value,
    /// Of this request only.
    #[serde(default)]
    headers: Map<String, Value>,
    /// 200 for a request, 202 for anything else, unless said otherwise.
    status: Option<u16>,
    /// The whole answer. Of a request whose answer is a stream, the first message.
    answer: Option<Value>,
    /// The answer is a stream, and this is its name.
    stream: Option<String>,
    /// A pattern of the answer's headers.
    #[serde(default)]
    answer_headers: Map<String, Value>,
    /// It is sent over this one only.
    only: Option<Transport>,
}

impl Send {
    fn is_request(&self) -> bool {
        self.message.get("method").is_some() && self.message.get("id").is_some()
    }
}

fn endpoint() -> String {
    "/mcp".into()
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send(send) => write!(f, "{}", send.message),
            other => write!(f, "{other:?}"),
        }
    }
}

impl Dialogue {
    /// Reads the dialogue of this name.
    ///
    /// # Errors
    /// There is none, or a line of it is wrong.
    pub fn read(name: &str) -> Result<Self> {
        let path = root().join("tests/dialogues").join(format!("{name}.jsonl"));
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let mut lines = text.lines();
        let head = serde_json::from_str(lines.next().context("an empty dialogue")?).with_context(|| format!("{name}.jsonl:1"))?;
        let step = |(at, line)| serde_json::from_str(line).with_context(|| format!("{name}.jsonl:{}", at + 2));
        Ok(Self { head, steps: lines.enumerate().map(step).collect::<Result<_>>()? })
    }

    /// The client, with the version that was listened to.
    pub fn client(&self) -> &str {
        &self.head.client
    }

    /// Over what it is played.
    pub fn over(&self) -> &[Transport] {
        &self.head.over
    }

    /// Plays it over HTTP.
    ///
    /// # Errors
    /// The client would not get what it needs; with the step.
    pub async fn play_http(&self, host: &Host) -> Result<()> {
        let mut client =
            HttpClient { address: host.address().to_owned(), headers: self.head.headers.clone(), session: None, streams: BTreeMap::new() };
        for (at, step) in self.steps.iter().enumerate() {
            client.step(step).await.with_context(|| format!("{}, line {}: {step}", self.client(), at + 2))?;
        }
        Ok(())
    }

    /// Plays it over stdio.
    ///
    /// # Errors
    /// The client would not get what it needs; with the step.
    pub async fn play_stdio(&self, pipe: Pipe) -> Result<()> {
        let mut client = StdioClient { pipe, unheard: Vec::new() };
        for (at, step) in self.steps.iter().enumerate() {
            client.step(step).await.with_context(|| format!("{}, line {}: {step}", self.client(), at + 2))?;
        }
        let StdioClient { pipe, unheard } = client;
        ensure!(unheard.iter().all(|message| message.get("method").is_some()), "nothing was asked that these answer: {unheard:?}");
        let (status, log) = pipe.end().await?;
        ensure!(status.success() && log.is_empty(), "{}: {status}: {log}", self.client());
        Ok(())
    }
}

/// The names of all dialogues.
///
/// # Errors
/// The folder cannot be read.
pub fn dialogues() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root().join("tests/dialogues"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".jsonl").map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

/// An answer's session id, and the stream it begins.
type Answered = (Option<String>, Option<(String, Events)>);

struct HttpClient {
    address: String,
    headers: Map<String, Value>,
    session: Option<String>,
    streams: BTreeMap<String, Events>,
}

impl HttpClient {
    async fn step(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::Headers { headers } => change(&mut self.headers, headers),
            Step::Send(send) => self.send(std::slice::from_ref(send)).await?,
            Step::Together { send } => self.send(send).await?,
            Step::Get { path, headers, status, stream } => {
                let request = self.request("GET", path, headers, Value::Null)?;
                let (response, connection) = within("GET", send(&self.address, request)).await?;
                ensure!(response.status() == *status, "the status is {}", response.status());
                if let Some(stream) = stream {
                    self.streams.insert(stream.clone(), Events::of(response, connection)?);
                }
            }
            Step::Delete { status } => {
                let request = self.request("DELETE", &endpoint(), &Map::new(), Value::Null)?;
                let (response, _connection) = within("DELETE", send(&self.address, request)).await?;
                ensure!(response.status() == *status, "the status is {}", response.status());
            }
            Step::Hear { on, message } => {
                let events = self.streams.get_mut(on).with_context(|| format!("there is no stream {on:?}"))?;
                hear(message, async || events.next().await?.context("the stream ended")).await?;
            }
            Step::HangUp { on } => drop(self.streams.remove(on).with_context(|| format!("there is no stream {on:?}"))?),
        }
        Ok(())
    }

    async fn send(&mut self, sends: &[Send]) -> Result<()> {
        let mut answers = JoinSet::new();
        for send in sends.iter().filter(|send| send.only.is_none_or(|only| only == Transport::Http)) {
            let request = self.request("POST", &endpoint(), &send.headers, send.message.clone())?;
            answers.spawn(answered(self.address.clone(), request, send.clone()));
        }
        while let Some(answer) = within("the answers", async { Ok(answers.join_next().await) }).await? {
            let (session, stream) = answer??;
            self.session = session.or(self.session.take());
            self.streams.extend(stream);
        }
        Ok(())
    }

    fn request(&self, method: &str, path: &str, extra: &Map<String, Value>, message: Value) -> Result<Request<Full<bytes::Bytes>>> {
        let mut headers = self.headers.clone();
        change(&mut headers, extra);
        let mut request = Request::builder().method(method).uri(path).header("host", &self.address);
        for (name, value) in &headers {
            let value = value.as_str().with_context(|| format!("the header {name} is no text"))?;
            let value = if value == SESSION_VARIABLE { self.session.as_deref().context("there is no session yet")? } else { value };
            // What only a message's body has does not go with a request that has none.
            if !(message.is_null() && name == "content-type") {
                request = request.header(name, value);
            }
        }
        let body = if message.is_null() { String::new() } else { message.to_string() };
        Ok(request.body(Full::from(body))?)
    }
}

/// Sends one request; the rest is its answer's.
async fn answered(address: String, request: Request<Full<bytes::Bytes>>, expected: Send) -> Result<Answered> {
    let (response, connection): (_, Connection) = send(&address, request).await?;
    let status = expected.status.unwrap_or(if expected.is_request() { 200 } else { 202 });
    let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let headers: Map<String, Value> =
        response.headers().keys().filter_map(|name| Some((name.to_string(), header(name.as_str())?.into()))).collect();
    matches(&expected.answer_headers.clone().into(), &headers.into()).context("the answer's headers")?;
    let session = header(SESSION);
    let own = response.status();
    if let Some(name) = &expected.stream {
        ensure!(own == status, "the status is {own}");
        let mut events = Events::of(response, connection)?;
        if let Some(answer) = &expected.answer {
            matches(answer, &events.next().await?.context("the stream ended")?)?;
        }
        return Ok((session, Some((name.clone(), events))));
    }
    let is_json = header("content-type").is_some_and(|kind| kind == "application/json");
    let body = response.into_body().collect().await?.to_bytes();
    ensure!(own == status, "the status is {own}: {}", String::from_utf8_lossy(&body));
    if status == StatusCode::ACCEPTED {
        ensure!(body.is_empty(), "{own} with a body: {}", String::from_utf8_lossy(&body));
        return Ok((session, None));
    }
    ensure!(is_json, "a plain answer has to be application/json");
    check_answer(&expected, &serde_json::from_slice(&body)?)?;
    Ok((session, None))
}

struct StdioClient {
    pipe: Pipe,
    /// What came before what was waited for.
    unheard: Vec<Value>,
}

impl StdioClient {
    async fn step(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::Send(send) => self.send(std::slice::from_ref(send)).await?,
            Step::Together { send } => self.send(send).await?,
            Step::Hear { message, .. } => {
                self.wait_for(|heard| heard.get("method").is_some() && matches(message, heard).is_ok()).await?;
            }
            Step::Headers { .. } | Step::Get { .. } | Step::Delete { .. } | Step::HangUp { .. } => {}
        }
        Ok(())
    }

    async fn send(&mut self, sends: &[Send]) -> Result<()> {
        let sends = sends.iter().filter(|send| send.only.is_none_or(|only| only == Transport::Stdio));
        for send in sends.clone() {
            self.pipe.send(&send.message).await?;
        }
        for send in sends.filter(|send| send.is_request()) {
            match (&send.stream, &send.answer) {
                (Some(_), Some(first)) => {
                    self.wait_for(|heard| matches(first, heard).is_ok()).await?;
                }
                (Some(_), None) => {}
                (None, _) => {
                    let answer = self.wait_for(|heard| heard.get("method").is_none() && heard["id"] == send.message["id"]).await?;
                    check_answer(send, &answer)?;
                }
            }
        }
        Ok(())
    }

    async fn wait_for(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        if let Some(at) = self.unheard.iter().position(&is_wanted) {
            return Ok(self.unheard.remove(at));
        }
        loop {
            let message = self.pipe.message().await.with_context(|| format!("heard instead: {:?}", self.unheard))?;
            if is_wanted(&message) {
                return Ok(message);
            }
            self.unheard.push(message);
        }
    }
}

/// Waits for a notification like this, passing over others.
async fn hear(wanted: &Value, mut next: impl AsyncFnMut() -> Result<Value>) -> Result<()> {
    let mut unheard = Vec::new();
    loop {
        let message = within("a notification", next()).await.with_context(|| format!("heard instead: {unheard:?}"))?;
        if message.get("method").is_none() {
            bail!("an answer on a stream: {message}");
        }
        if matches(wanted, &message).is_ok() {
            return Ok(());
        }
        unheard.push(message);
    }
}

fn check_answer(expected: &Send, answer: &Value) -> Result<()> {
    ensure!(answer["jsonrpc"] == "2.0" && answer["id"] == expected.message["id"], "an answer to something else: {answer}");
    let pattern = expected.answer.as_ref().context("the dialogue does not say what the answer is")?;
    matches(pattern, answer).with_context(|| answer.to_string())
}

fn change(headers: &mut Map<String, Value>, by: &Map<String, Value>) {
    for (name, value) in by {
        if value.is_null() {
            headers.remove(name);
        } else {
            headers.insert(name.clone(), value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_step_is_an_error() {
        let step = |text: &str| serde_json::from_str::<Step>(text);
        assert!(step(r#"{"do":"send","message":{"jsonrpc":"2.0","method":"m"}}"#).is_ok());
        for wrong in
            [r#"{"do":"send","message":{},"anwser":{}}"#, r#"{"do":"sned","message":{}}"#, r#"{"do":"get","status":200,"steam":"s"}"#]
        {
            assert!(step(wrong).is_err(), "{wrong}");
        }
    }
}
