//! The ideal client: what it does, step by step, and what has to hold.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use wharf::mcp::{
    era::{LEGACY, MODERN},
    error::{INVALID_PARAMS, RESOURCE_NOT_FOUND},
};

use super::{
    Era,
    report::{Outcome, Report},
    talk::{META, Talk, result},
    wire::Wire,
};

/// Nobody has it.
const MISSING: &str = "wharf-probe://nobody/has/this";
/// Enough to see that paging works.
const PAGES: usize = 100;
/// Resources that are tried for a subscription.
const CANDIDATES: usize = 20;
/// How long a server may take to acknowledge a listen.
const ACKNOWLEDGEMENT: Duration = Duration::from_secs(10);

/// What became of a step that did not fail.
enum Done {
    Ok(String),
    Skipped(String),
}

pub(super) struct Player {
    talk: Talk,
    /// What the user wants waited on.
    uri: Option<String>,
    era: Era,
    wait: Duration,
    report: Report,
    capabilities: Value,
    listed: Vec<String>,
    /// What is subscribed to.
    target: Option<String>,
    notified: bool,
    listen: Value,
    /// What was read last.
    read: Option<(String, Value)>,
    /// Why no notification can come.
    deaf: Option<String>,
}

impl Player {
    pub(super) fn new(wire: Wire, uri: Option<String>, era: Era, wait: Duration, report: Report) -> Self {
        Self {
            talk: Talk::new(wire),
            uri,
            era,
            wait,
            report,
            capabilities: Value::Null,
            listed: Vec::new(),
            target: None,
            notified: false,
            listen: Value::Null,
            read: None,
            deaf: None,
        }
    }

    /// Takes all steps; whether none failed.
    pub(super) async fn play(mut self) -> Result<bool> {
        macro_rules! step {
            ($name:literal, $work:expr) => {{
                self.talk.last = None;
                let began = Instant::now();
                let done = $work;
                let took = began.elapsed();
                let (outcome, detail) = match done {
                    Ok(Done::Ok(detail)) => (Outcome::Ok, detail),
                    Ok(Done::Skipped(detail)) => (Outcome::Skipped, detail),
                    Err(error) => (Outcome::Failed, format!("{error:#}")),
                };
                let last = self.talk.last.take();
                self.report.add($name, outcome, detail, took, last)?;
                outcome
            }};
        }
        if step!("connect", self.connect().await) == Outcome::Failed {
            return self.report.end();
        }
        step!("list", self.list().await);
        step!("templates", self.templates().await);
        step!("read", self.read_first().await);
        step!("subscribe", self.subscribe().await);
        step!("update", self.update().await);
        step!("read again", self.read_again().await);
        step!("unsubscribe", self.unsubscribe().await);
        step!("not found", self.not_found().await);
        let Self { talk, mut report, .. } = self;
        let began = Instant::now();
        let (outcome, detail) = match talk.wire.close().await {
            Ok(detail) => (Outcome::Ok, detail),
            Err(error) => (Outcome::Failed, format!("{error:#}")),
        };
        report.add("close", outcome, detail, began.elapsed(), None)?;
        report.end()
    }

    async fn connect(&mut self) -> Result<Done> {
        if self.era != Era::Legacy {
            self.talk.modern = true;
            self.talk.wire.speaks(MODERN);
            match self.discover().await {
                Ok(done) => return Ok(done),
                Err(error) if self.era == Era::Modern => return Err(error),
                // A server of the legacy era refuses in some way of its own, or says nothing.
                Err(_) => self.talk.modern = false,
            }
        }
        self.initialize().await
    }

    async fn discover(&mut self) -> Result<Done> {
        let result = self.talk.ask("server/discover", json!({})).await?;
        let versions = result["supportedVersions"].as_array().context("`supportedVersions` is no array")?;
        ensure!(versions.iter().any(|version| version == MODERN), "the server does not speak {MODERN}");
        let server = result["_meta"][format!("{META}serverInfo")].clone();
        self.greeted(MODERN, &result, server)
    }

    async fn initialize(&mut self) -> Result<Done> {
        let newest = LEGACY[LEGACY.len() - 1];
        // The first request says the version in its body.
        self.talk.wire.forget_version();
        let client = json!({ "name": "wharf-probe", "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "protocolVersion": newest, "capabilities": {}, "clientInfo": client });
        let result = self.talk.ask("initialize", params).await?;
        let version = result["protocolVersion"].as_str().context("`protocolVersion` is no text")?.to_owned();
        ensure!(LEGACY.contains(&&*version), "the server chose {version:?}, which is no version with sessions");
        self.talk.wire.speaks(&version);
        self.talk.wire.tell(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await?;
        self.deaf = self.talk.wire.open_stream().await.err().map(|error| format!("{error:#}"));
        self.greeted(&version, &result, result["serverInfo"].clone())
    }

    fn greeted(&mut self, version: &str, result: &Value, server: Value) -> Result<Done> {
        ensure!(result["capabilities"].is_object(), "`capabilities` is no object");
        self.capabilities = result["capabilities"].clone();
        self.report.era = if self.talk.modern { "modern" } else { "legacy" };
        version.clone_into(&mut self.report.protocol);
        let text = |field: &str| server[field].as_str().unwrap_or("?").to_owned();
        let detail = format!("{} {}, {} {version}", text("name"), text("version"), self.report.era);
        self.report.server = server;
        Ok(Done::Ok(detail))
    }

    async fn list(&mut self) -> Result<Done> {
        ensure!(self.capabilities["resources"].is_object(), "the server has no resources (capability resources)");
        let (entries, pages) = self.pages("resources/list", "resources").await?;
        for entry in &entries {
            let uri = entry["uri"].as_str().context("a resource without `uri`")?;
            ensure!(entry["name"].is_string(), "{uri} has no `name`");
            self.listed.push(uri.to_owned());
        }
        Ok(Done::Ok(format!("{} resources on {pages} pages", entries.len())))
    }

    async fn templates(&mut self) -> Result<Done> {
        if !self.capabilities["resources"].is_object() {
            return Ok(Done::Skipped("the server has no resources".into()));
        }
        let (entries, _) = self.pages("resources/templates/list", "resourceTemplates").await?;
        ensure!(entries.iter().all(|entry| entry["uriTemplate"].is_string()), "a template without `uriTemplate`");
        Ok(Done::Ok(format!("{} templates", entries.len())))
    }

    async fn pages(&mut self, method: &str, field: &str) -> Result<(Vec<Value>, usize)> {
        let (mut all, mut params, mut pages) = (Vec::new(), json!({}), 0);
        loop {
            let result = self.talk.ask(method, params).await?;
            self.talk.cached(&result)?;
            all.extend(result[field].as_array().with_context(|| format!("`{field}` is no array"))?.iter().cloned());
            pages += 1;
            match result.get("nextCursor").filter(|cursor| !cursor.is_null()) {
                None => return Ok((all, pages)),
                Some(_) if pages >= PAGES => bail!("more than {PAGES} pages"),
                Some(cursor) => params = json!({ "cursor": cursor }),
            }
        }
    }

    async fn read_first(&mut self) -> Result<Done> {
        match self.uri.clone().or_else(|| self.listed.first().cloned()) {
            None => Ok(Done::Skipped("nothing is listed: name a resource with --uri".into())),
            Some(uri) => self.read(&uri).await.map(Done::Ok),
        }
    }

    async fn read(&mut self, uri: &str) -> Result<String> {
        let result = self.talk.ask("resources/read", json!({ "uri": uri })).await?;
        self.talk.cached(&result)?;
        let contents = result["contents"].as_array().context("`contents` is no array")?;
        ensure!(!self.talk.modern || !contents.is_empty(), "`contents` is empty");
        for content in contents {
            ensure!(content["uri"].is_string(), "a content without `uri`");
            ensure!(content["text"].is_string() != content["blob"].is_string(), "a content has either `text` or `blob`");
        }
        let same = self.read.as_ref().filter(|(known, _)| known == uri).map(|(_, before)| *before == result["contents"]);
        let how = match same {
            None => "",
            Some(true) => ", the same as before",
            Some(false) => ", other than before",
        };
        let detail = format!("{uri}: {} contents{how}", contents.len());
        self.read = Some((uri.to_owned(), result["contents"].clone()));
        Ok(detail)
    }

    async fn subscribe(&mut self) -> Result<Done> {
        if self.capabilities["resources"]["subscribe"] != true {
            return Ok(Done::Skipped("the server takes no subscriptions (capability resources.subscribe)".into()));
        }
        let candidates = match &self.uri {
            Some(uri) => vec![uri.clone()],
            None => self.listed.iter().take(CANDIDATES).cloned().collect(),
        };
        if candidates.is_empty() {
            return Ok(Done::Skipped("nothing is listed: name a resource with --uri".into()));
        }
        let mut refused = None;
        for uri in candidates {
            let taken = if self.talk.modern { self.begin_listen(&uri).await } else { self.begin_subscription(&uri).await };
            match taken {
                Ok(()) => {
                    self.target = Some(uri.clone());
                    return Ok(Done::Ok(uri));
                }
                Err(error) => refused = Some(error.context(uri)),
            }
        }
        Err(refused.context("nothing was tried")?)
    }

    async fn begin_subscription(&mut self, uri: &str) -> Result<()> {
        self.talk.ask("resources/subscribe", json!({ "uri": uri })).await.map(drop)
    }

    async fn begin_listen(&mut self, uri: &str) -> Result<()> {
        let request = self.talk.request("subscriptions/listen", json!({ "notifications": { "resourceSubscriptions": [uri] } }));
        self.talk.last = Some((request.clone(), Value::Null));
        if let Some(answer) = self.talk.wire.listen(&request).await? {
            self.talk.last = Some((request, answer.clone()));
            result(answer)?;
            bail!("the listen was answered with a result instead of a stream");
        }
        self.listen = request["id"].clone();
        let first = tokio::time::timeout(ACKNOWLEDGEMENT, self.talk.heard()).await;
        let first = first.with_context(|| format!("no acknowledgement within {} s", ACKNOWLEDGEMENT.as_secs()))??;
        self.talk.last = Some((request, first.clone()));
        ensure!(first["method"] == "notifications/subscriptions/acknowledged", "the first message is no acknowledgement");
        ensure!(
            first["params"]["_meta"][format!("{META}subscriptionId")] == self.listen,
            "the acknowledgement has another `subscriptionId`"
        );
        let honoured = first["params"]["notifications"]["resourceSubscriptions"].as_array();
        ensure!(honoured.is_some_and(|uris| uris.iter().any(|honoured| honoured == uri)), "the acknowledgement does not have {uri}");
        Ok(())
    }

    async fn update(&mut self) -> Result<Done> {
        let Some(uri) = self.target.clone() else { return Ok(Done::Skipped("nothing is subscribed to".into())) };
        if self.wait.is_zero() {
            return Ok(Done::Skipped("not asked for".into()));
        }
        if let Some(deaf) = &self.deaf {
            bail!("no update can come: {deaf}");
        }
        let wait = self.wait;
        let others = match tokio::time::timeout(wait, self.updated(&uri)).await {
            Ok(heard) => heard?,
            Err(_) => bail!(
                "{uri} was not announced within {} s: name one that changes with --uri, wait longer with --wait, or make it change",
                wait.as_secs()
            ),
        };
        self.notified = true;
        let others = if others == 0 { String::new() } else { format!(", after {others} other messages") };
        Ok(Done::Ok(format!("{uri} was announced{others}")))
    }

    /// Waits for the update; how many other messages came before it.
    async fn updated(&mut self, uri: &str) -> Result<usize> {
        let mut others = 0;
        loop {
            let message = self.talk.heard().await?;
            let told = message["params"]["uri"].as_str().unwrap_or_default();
            // It may be a part of what was subscribed to (both eras, Resources, "Subscriptions").
            if message["method"] != "notifications/resources/updated" || !told.starts_with(uri) {
                others += 1;
                continue;
            }
            if self.talk.modern {
                self.talk.last = Some((Value::Null, message.clone()));
                let id = &message["params"]["_meta"][format!("{META}subscriptionId")];
                ensure!(*id == self.listen, "the notification has another `subscriptionId` than the listen");
            }
            return Ok(others);
        }
    }

    async fn read_again(&mut self) -> Result<Done> {
        match self.target.clone().filter(|_| self.notified) {
            None => Ok(Done::Skipped("nothing was announced".into())),
            Some(uri) => self.read(&uri).await.map(Done::Ok),
        }
    }

    async fn unsubscribe(&mut self) -> Result<Done> {
        let Some(uri) = self.target.clone() else { return Ok(Done::Skipped("nothing is subscribed to".into())) };
        if !self.talk.modern {
            self.talk.ask("resources/unsubscribe", json!({ "uri": uri })).await?;
            return Ok(Done::Ok(uri));
        }
        if self.talk.wire.is_http() {
            self.talk.wire.hang_up();
            return Ok(Done::Ok("by closing the listen's stream".into()));
        }
        let params = json!({ "requestId": self.listen });
        self.talk.wire.tell(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })).await?;
        Ok(Done::Ok("by cancelling the listen".into()))
    }

    async fn not_found(&mut self) -> Result<Done> {
        if !self.capabilities["resources"].is_object() {
            return Ok(Done::Skipped("the server has no resources".into()));
        }
        let request = self.talk.request("resources/read", json!({ "uri": MISSING }));
        let answer = self.talk.answer(&request).await?;
        let error = answer.get("error").context("a resource that is not there was answered with a result")?;
        let code = error["code"].as_i64().context("the error has no `code`")?;
        let wanted = i64::from(if self.talk.modern { INVALID_PARAMS } else { RESOURCE_NOT_FOUND });
        if code == wanted {
            return Ok(Done::Ok(format!("error {code}")));
        }
        // 2026-07-28 says MUST, the versions before it SHOULD.
        ensure!(!self.talk.modern, "error {code} in place of {wanted}");
        Ok(Done::Ok(format!("error {code}, where the specification advises {wanted}")))
    }
}
