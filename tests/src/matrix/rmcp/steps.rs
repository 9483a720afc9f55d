//! The steps, as in `tests/clients/typescript/steps.mjs`.

use std::{collections::HashSet, sync::Arc, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use rmcp::{
    ServiceError,
    model::{ReadResourceRequestParams, ResourceContents},
};
use tokio::{sync::mpsc, time::timeout};

use super::{Connection, Heard, Line, Target};
use crate::matrix::player::Please;

/// The longest a step may take.
pub(super) const STEP_LIMIT: Duration = Duration::from_secs(20);
/// The longest it waits for something: far more than anything takes on a slow machine.
const WAIT: Duration = Duration::from_secs(15);
/// So long a client that got its server back may need to notice by itself; after that the application asks.
const UNNOTICED: Duration = Duration::from_secs(5);

const TEXT: &str = "matrix://fixture/text";
const BLOB: &str = "matrix://fixture/blob";
const WATCHED: &str = "matrix://fixture/watched";
const BYSTANDER: &str = "matrix://fixture/bystander";
const MISSING: &str = "matrix://fixture/missing";
/// A read that is never answered.
const HANGS: &str = "matrix://do/hang";
const ITEM: &str = "matrix://item/{name}";
const PAGES: usize = 2500;
const FLOOD: u64 = 10_000;
/// At most one update in 50 ms: of a flood in one call a listener hears a handful.
const FEW: u64 = 1_000;
/// The bytes 0 to 255 in base64 (RFC 4648), as the client has them.
const BYTES: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+P0BBQkNERUZHSElKS0xNTk9QUVJTVFVWV1hZWltcXV5fYGFi\
                     Y2RlZmdoaWprbG1ub3BxcnN0dXZ3eHl6e3x9fn+AgYKDhIWGh4iJiouMjY6PkJGSk5SVlpeYmZqbnJ2en6ChoqOkpaanqKmqq6ytrq+wsbKztLW2t7i5uru8vb6/wMHCw8TF\
                     xsfIycrLzM3Oz9DR0tPU1dbX2Nna29zd3t/g4eLj5OXm5+jp6uvs7e7v8PHy8/T19vf4+fr7/P3+/w==";

pub(super) struct Round {
    protocol: &'static str,
    target: Target,
    report: mpsc::Sender<Line>,
    /// Says that what was asked for is done.
    done: mpsc::Receiver<()>,
    heard: Arc<Heard>,
    connection: Option<Connection>,
    /// What the last do/update said.
    answered: String,
}

fn initial() -> Vec<String> {
    let pages = (1..=PAGES).map(|page| format!("matrix://page/{page:04}"));
    [TEXT, BLOB, WATCHED, BYSTANDER].map(str::to_owned).into_iter().chain(pages).collect()
}

fn number(version: &str) -> Result<u64> {
    Ok(version.strip_prefix("version ").with_context(|| format!("{version:?} is no version"))?.parse()?)
}

impl Round {
    pub fn new(protocol: &'static str, target: Target, report: mpsc::Sender<Line>, done: mpsc::Receiver<()>) -> Self {
        Self { protocol, target, report, done, heard: Arc::default(), connection: None, answered: String::new() }
    }

    pub async fn step(&mut self, step: &str) -> Result<String> {
        let done = |()| String::new();
        match step {
            "connect" => self.connect().await.map(done),
            "list" => self.list().await.map(done),
            "pages" => self.pages().await,
            "templates" => self.templates().await.map(done),
            "complete" => self.complete().await.map(done),
            "text" => self.read_text().await.map(done),
            "blob" => self.blob().await.map(done),
            "not-found" => self.not_found().await,
            "subscribe" => self.open()?.subscribe(&[WATCHED, BYSTANDER]).await.map(done),
            "update" => self.update().await.map(done),
            "read-again" => self.read_again().await.map(done),
            "flood" => self.flood().await,
            "unsubscribe" => self.unsubscribe().await.map(done),
            "list-changed" => self.list_changed().await.map(done),
            "died" => self.died().await.map(done),
            "restart" => self.restart().await,
            "killed" => self.killed().await,
            "close" => self.connection.take().context("there is no connection")?.close().await,
            _ => bail!("there is no step {step}"),
        }
    }

    fn open(&mut self) -> Result<&mut Connection> {
        self.connection.as_mut().context("there is no connection")
    }

    async fn text(&mut self, uri: &str) -> Result<String> {
        match self.open()?.read(uri).await? {
            ResourceContents::TextResourceContents { text, .. } => Ok(text),
            other => bail!("no text: {other:?}"),
        }
    }

    async fn act(&mut self, what: &str) -> Result<String> {
        self.text(&format!("matrix://do/{what}")).await
    }

    fn updates(&self) -> u64 {
        self.heard.now(|counts| counts.updates(WATCHED))
    }

    async fn update_after(&self, before: u64) -> Result<()> {
        self.heard.until("an update", WAIT, |counts| counts.updates(WATCHED) > before).await
    }

    /// Does something after which an update of what is watched has to arrive.
    async fn updated(&mut self, what: &str) -> Result<String> {
        let before = self.updates();
        let answer = self.act(what).await?;
        self.update_after(before).await?;
        Ok(answer)
    }

    /// Does something that changes the list, and looks at the list each time it is told of a change, until it has the URI or has it no more.
    async fn listed(&mut self, what: &str, is_listed: bool) -> Result<String> {
        let mut before = self.heard.now(|counts| counts.lists);
        let uri = self.act(what).await?;
        loop {
            self.heard.until("a change of the list", WAIT, |counts| counts.lists > before).await?;
            before = self.heard.now(|counts| counts.lists);
            if self.open()?.list().await?.contains(&uri) == is_listed {
                return Ok(uri);
            }
        }
    }

    async fn connect(&mut self) -> Result<()> {
        let connection = Connection::open(self.protocol, &self.target, self.heard.clone()).await?;
        let rmcp = super::rmcp();
        let hello = Line::Hello { client: rmcp.name, version: rmcp.version, protocol: Some(connection.protocol()?.to_string()) };
        self.connection = Some(connection);
        Ok(self.report.send(hello).await?)
    }

    async fn list(&mut self) -> Result<()> {
        ensure!(self.open()?.list().await? == initial(), "the list is another");
        Ok(())
    }

    async fn pages(&mut self) -> Result<String> {
        let (mut all, mut next) = self.open()?.page(None).await?;
        let added = self.act("add").await?;
        let mut pages = 1;
        while next.is_some() {
            let (uris, after) = self.open()?.page(next).await?;
            all.extend(uris);
            next = after;
            pages += 1;
        }
        ensure!(all.iter().collect::<HashSet<_>>().len() == all.len(), "an entry came twice");
        all.retain(|uri| *uri != added);
        ensure!(all == initial(), "the pages together are another list");
        Ok(format!("{pages} pages"))
    }

    async fn templates(&mut self) -> Result<()> {
        let templates = self.open()?.templates().await?;
        ensure!(templates == [ITEM, "matrix://do/{what}"], "{templates:?}");
        ensure!(self.text("matrix://item/an%20item").await? == "item an item", "another item");
        Ok(())
    }

    async fn complete(&mut self) -> Result<()> {
        let values = self.open()?.complete(ITEM, "name", "al").await?;
        ensure!(values == ["alpha", "alpine"], "{values:?}");
        Ok(())
    }

    async fn read_text(&mut self) -> Result<()> {
        let text = self.text(TEXT).await?;
        ensure!(text == "The text of the matrix: äöü 漢字.", "{text:?}");
        Ok(())
    }

    async fn blob(&mut self) -> Result<()> {
        match self.open()?.read(BLOB).await? {
            ResourceContents::BlobResourceContents { blob, .. } if blob == BYTES => Ok(()),
            other => bail!("{other:?}"),
        }
    }

    async fn not_found(&mut self) -> Result<String> {
        let error = match self.open()?.read(MISSING).await {
            Err(ServiceError::McpError(error)) => error,
            other => bail!("{other:?}"),
        };
        ensure!([-32002, -32602].contains(&error.code.0), "{error:?}");
        let uri = error.data.as_ref().and_then(|data| data["uri"].as_str());
        ensure!(uri == Some(MISSING), "the error does not name the URI: {error:?}");
        ensure!(self.text("matrix://item/alpha").await? == "item alpha", "another item");
        Ok(error.code.0.to_string())
    }

    async fn update(&mut self) -> Result<()> {
        self.answered = self.updated("update").await?;
        Ok(())
    }

    async fn read_again(&mut self) -> Result<()> {
        let text = self.text(WATCHED).await?;
        number(&text)?;
        ensure!(text == self.answered, "{text} instead of {}", self.answered);
        Ok(())
    }

    async fn flood(&mut self) -> Result<String> {
        let before = self.updates();
        let answered = self.updated("flood").await?;
        ensure!(number(&answered)? > FLOOD, "{answered}");
        let text = self.text(WATCHED).await?;
        ensure!(text == answered, "{text} instead of {answered}");
        let heard = self.updates() - before;
        ensure!(heard < FEW, "{heard} updates");
        ensure!(self.text("matrix://item/beta").await? == "item beta", "another item");
        Ok(format!("heard {heard} of {FLOOD}"))
    }

    async fn unsubscribe(&mut self) -> Result<()> {
        self.open()?.unsubscribe(&[WATCHED, BYSTANDER]).await?;
        // What was on its way when the server heard of it may arrive until this does.
        self.text(TEXT).await?;
        let before = self.updates();
        self.act("update").await?;
        // Told later than an update would be.
        self.listed("add", true).await?;
        ensure!(self.updates() == before, "an update arrived after the subscription ended");
        let bystander = self.heard.now(|counts| counts.updates(BYSTANDER));
        ensure!(bystander == 0, "an update of what never changed arrived");
        Ok(())
    }

    async fn list_changed(&mut self) -> Result<()> {
        let added = self.listed("add", true).await?;
        let removed = self.listed("remove", false).await?;
        ensure!(added == removed, "{removed} is gone instead of {added}");
        Ok(())
    }

    async fn died(&mut self) -> Result<()> {
        self.open()?.subscribe(&[WATCHED]).await?;
        let before = self.updates();
        let error = match self.open()?.read("matrix://do/die").await {
            Err(ServiceError::McpError(error)) => error,
            other => bail!("{other:?}"),
        };
        ensure!(error.code.0 == -32603 && error.data.as_ref().is_some_and(|data| data["kind"] == "trap"), "{error:?}");
        self.update_after(before).await?;
        self.expect_fresh().await
    }

    /// The instance is a fresh one, and what changes there is heard of.
    async fn expect_fresh(&mut self) -> Result<()> {
        let text = self.text(WATCHED).await?;
        ensure!(text == "version 1", "{text}");
        let text = self.updated("update").await?;
        ensure!(text == "version 2", "{text}");
        Ok(())
    }

    async fn restart(&mut self) -> Result<String> {
        let before = self.unlike_a_fresh_host().await?;
        self.please(Please::Restart).await?;
        self.converge(before).await
    }

    async fn killed(&mut self) -> Result<String> {
        let before = self.unlike_a_fresh_host().await?;
        let peer = self.open()?.peer().clone();
        let reading = tokio::spawn(async move { peer.read_resource(ReadResourceRequestParams::new(HANGS)).await });
        self.please(Please::Kill).await?;
        let ended = timeout(WAIT, reading).await.with_context(|| format!("the read has not ended within {} s", WAIT.as_secs()))??;
        let error = ended.err().context("the read was answered")?;
        self.please(Please::Start).await?;
        Ok(format!("{}: {error}", self.converge(before).await?))
    }

    /// Makes the host what no fresh one is, with nothing of it under way any more: gives the updates and interruptions heard so far.
    async fn unlike_a_fresh_host(&mut self) -> Result<(u64, u64)> {
        while number(&self.updated("update").await?)? < 3 {}
        // Told later than any update: none of the old server's is on its way when this has arrived.
        self.listed("add", true).await?;
        Ok(self.heard.now(|counts| (counts.updates(WATCHED), counts.interruptions)))
    }

    async fn please(&mut self, please: Please) -> Result<()> {
        self.report.send(Line::Please { please }).await?;
        timeout(STEP_LIMIT, self.done.recv()).await.with_context(|| format!("{please:?}: not done in time"))?.context("the harness is gone")
    }

    /// Ends up with what is true at the fresh host.
    async fn converge(&mut self, (updates, interruptions): (u64, u64)) -> Result<String> {
        let noticed =
            self.heard.until("anything", UNNOTICED, |counts| counts.updates(WATCHED) > updates || counts.interruptions > interruptions);
        let by_itself = noticed.await.is_ok() && self.heard.now(|counts| counts.interruptions == interruptions);
        let how = if by_itself { "reconnects by itself, and hears of the fresh content" } else { self.come_back().await? };
        self.expect_fresh().await?;
        Ok(how.into())
    }

    /// What an application does that finds its connection interrupted, or an answer missing: asks, and if that fails connects anew.
    async fn come_back(&mut self) -> Result<&'static str> {
        if self.text(WATCHED).await.is_ok() && self.open()?.subscribe(&[WATCHED]).await.is_ok() {
            return Ok("has to subscribe anew on the connection it has");
        }
        if let Some(lost) = self.connection.take() {
            // It is lost: how it closes is of no interest.
            let _ = lost.close().await;
        }
        let mut connection = Connection::open(self.protocol, &self.target, self.heard.clone()).await?;
        connection.subscribe(&[WATCHED]).await?;
        self.connection = Some(connection);
        Ok("has to connect anew")
    }
}
