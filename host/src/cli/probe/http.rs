//! Streamable HTTP, as a client speaks it (MCP 2025-03-26 … 2026-07-28, "Transports").

use std::collections::VecDeque;

use anyhow::{Context, Result, anyhow, bail};
use base64::{Engine, engine::general_purpose::STANDARD};
use hyper::HeaderMap;
use reqwest::{RequestBuilder, Response, Url};
use serde_json::Value;
use tokio::{sync::mpsc, task::AbortHandle};
use wharf::{mcp::era, transport::attach::sse::Parser};

use super::wire::{INBOX, keep};
use crate::cli::watch::http_client;

/// Bytes of an answer: more than a server should give a client at once.
const ANSWER_CAP: usize = 64 << 20;
/// Bytes of an answer that is no message, as it is shown.
const SHOWN: usize = 300;

pub(super) struct Http {
    client: reqwest::Client,
    url: Url,
    pub version: Option<String>,
    session: Option<String>,
    told: mpsc::Sender<Result<Value, String>>,
    inbox: mpsc::Receiver<Result<Value, String>>,
    streams: Vec<AbortHandle>,
}

impl Http {
    pub(super) fn new(url: &Url, headers: &HeaderMap) -> Result<Self> {
        let (told, inbox) = mpsc::channel(INBOX);
        Ok(Self { client: http_client(url, headers)?, url: url.clone(), version: None, session: None, told, inbox, streams: Vec::new() })
    }

    /// The answer, if there is one. What else comes with it is kept.
    pub(super) async fn post(&mut self, message: &Value, unread: &mut VecDeque<Value>) -> Result<Option<Value>> {
        let mut response = self.send(message).await?;
        if let Some(session) = response.headers().get("mcp-session-id").filter(|_| message["method"] == "initialize") {
            self.session = Some(session.to_str().context("the session id is no visible ASCII text")?.to_owned());
        }
        if message.get("id").is_none() || message.get("method").is_none() {
            if response.status().is_success() {
                return Ok(None);
            }
            bail!("HTTP {}: {}", response.status(), body(response).await?);
        }
        if !is_stream(&response) {
            return answer(response).await.map(Some);
        }
        let mut parser = Parser::default();
        while let Some(bytes) = response.chunk().await.map_err(|error| broken(&error))? {
            parser.push(&bytes)?;
            while let Some(event) = parser.next_event() {
                let Some(event) = parsed(&event.data)? else { continue };
                if event.get("method").is_none() && event["id"] == message["id"] {
                    return Ok(Some(event));
                }
                keep(unread, event)?;
            }
        }
        bail!("the stream of the answer ended without it");
    }

    /// Opens the stream of a session.
    pub(super) async fn get(&mut self) -> Result<()> {
        let request = self.client.get(self.url.clone()).header("Accept", "text/event-stream");
        let response = self.headed(request).send().await.map_err(|error| broken(&error))?;
        if !response.status().is_success() || !is_stream(&response) {
            bail!("GET gave HTTP {}: the server has no stream, so it cannot tell of changes", response.status());
        }
        self.follow(response);
        Ok(())
    }

    /// The answer, if it is no stream.
    pub(super) async fn listen(&mut self, message: &Value) -> Result<Option<Value>> {
        let response = self.send(message).await?;
        if !is_stream(&response) {
            return answer(response).await.map(Some);
        }
        self.follow(response);
        Ok(None)
    }

    pub(super) async fn next(&mut self) -> Result<Value> {
        // It keeps a sender of its own, so there is no end.
        let message = self.inbox.recv().await.context("there is no stream")?;
        message.map_err(|lost| anyhow!(lost))
    }

    pub(super) fn hang_up(&mut self) {
        self.streams.drain(..).for_each(|stream| stream.abort());
    }

    pub(super) async fn close(mut self) -> Result<String> {
        self.hang_up();
        if self.session.is_none() {
            return Ok("there is no session to end".into());
        }
        let status = self.headed(self.client.delete(self.url.clone())).send().await.map_err(|error| broken(&error))?.status();
        match status.as_u16() {
            200..300 => Ok("the session has ended".into()),
            // The specification lets a server refuse.
            405 => Ok("the server ends sessions by itself".into()),
            _ => bail!("DELETE gave HTTP {status}"),
        }
    }

    async fn send(&self, message: &Value) -> Result<Response> {
        let body = serde_json::to_vec(message).context("cannot write JSON")?;
        let mut request = self.client.post(self.url.clone()).header("Content-Type", "application/json");
        request = self.headed(request.header("Accept", "application/json, text/event-stream"));
        if self.version.as_deref() == Some(era::MODERN) {
            request = request.header("Mcp-Method", message["method"].as_str().unwrap_or_default());
            if let (Some("resources/read"), Some(uri)) = (message["method"].as_str(), message["params"]["uri"].as_str()) {
                request = request.header("Mcp-Name", name(uri));
            }
        }
        request.body(body).send().await.map_err(|error| broken(&error))
    }

    fn headed(&self, mut request: RequestBuilder) -> RequestBuilder {
        if let Some(version) = &self.version {
            request = request.header("MCP-Protocol-Version", version);
        }
        if let Some(session) = &self.session {
            request = request.header("Mcp-Session-Id", session);
        }
        request
    }

    fn follow(&mut self, mut response: Response) {
        let told = self.told.clone();
        let reading = async move {
            let mut parser = Parser::default();
            loop {
                let bytes = match response.chunk().await {
                    Ok(Some(bytes)) => bytes,
                    Ok(None) => return "the server ended the stream".to_owned(),
                    Err(error) => return format!("the stream broke: {:#}", broken(&error)),
                };
                if let Err(error) = parser.push(&bytes) {
                    return error.to_string();
                }
                while let Some(event) = parser.next_event() {
                    match parsed(&event.data) {
                        Ok(Some(message)) => drop(told.send(Ok(message)).await),
                        Ok(None) => {}
                        Err(error) => return format!("{error:#}"),
                    }
                }
            }
        };
        let told = self.told.clone();
        let task = tokio::spawn(async move {
            let lost = reading.await;
            // Nobody hears it at the end.
            let _ = told.send(Err(lost)).await;
        });
        self.streams.push(task.abort_handle());
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        self.hang_up();
    }
}

fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream"))
}

/// An event's message; none in one that only says that the stream lives.
fn parsed(data: &[u8]) -> Result<Option<Value>> {
    if data.is_empty() {
        return Ok(None);
    }
    serde_json::from_slice(data).map(Some).context("an event that is no JSON")
}

/// Errors are messages too, whatever their status.
async fn answer(response: Response) -> Result<Value> {
    let status = response.status();
    let body = body(response).await?;
    let message: Option<Value> = serde_json::from_str(&body).ok();
    match message.filter(Value::is_object) {
        Some(message) => Ok(message),
        None => bail!("HTTP {status}, and no message: {}", body.chars().take(SHOWN).collect::<String>()),
    }
}

async fn body(mut response: Response) -> Result<String> {
    let mut all = Vec::new();
    while let Some(bytes) = response.chunk().await.map_err(|error| broken(&error))? {
        all.extend_from_slice(&bytes);
        if all.len() > ANSWER_CAP {
            bail!("an answer of more than {ANSWER_CAP} bytes");
        }
    }
    Ok(String::from_utf8_lossy(&all).into_owned())
}

/// As `Mcp-Name` carries it (2026-07-28, Streamable HTTP): what no header may hold, or what looks as if it were encoded, as base64.
fn name(uri: &str) -> String {
    let plain = uri.bytes().all(|byte| byte.is_ascii_graphic()) && !uri.starts_with("=?base64?");
    if plain { uri.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(uri)) }
}

/// What is at the bottom of it: reqwest's own texts end before they say why.
fn broken(error: &reqwest::Error) -> anyhow::Error {
    let mut deepest: &dyn std::error::Error = error;
    while let Some(below) = deepest.source() {
        deepest = below;
    }
    anyhow!("{deepest}")
}
