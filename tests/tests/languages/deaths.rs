//! How an instance dies, and that the next one goes on.

use anyhow::{Context, Result, ensure};
use serde_json::json;
use wharf_tests::{Host, Session, refused};

use super::{COUNT, FULL, count, serving, serving_with, text};

/// Long enough for an instance to be made on a busy machine, short beside the default.
const DEADLINE: &str = "limits = { deadline = \"2s\" }\n";
/// More than what the largest runtime needs.
const MEMORY: &str = "limits = { memory = \"64MiB\", deadline = \"60s\" }\n";

/// What a read that is answered by no provider's error says: its kind, and the message.
async fn dies(host: &Host, language: &str, uri: &str) -> Result<(String, String)> {
    let error = refused(host, "resources/read", json!({ "uri": uri })).await?;
    ensure!(error["code"] == -32603 && error["data"]["provider"] == language, "{error}");
    let field = |value: &serde_json::Value| value.as_str().map(str::to_owned).with_context(|| error.to_string());
    Ok((field(&error["data"]["kind"])?, field(&error["message"])?))
}

pub async fn a_crash_is_told_and_the_next_instance_goes_on(language: &str) -> Result<()> {
    let mut host = serving(language).await?;
    {
        let session = Session::open(&host).await?;
        let mut listener = session.listen().await?;
        session.subscribe(&[COUNT.into()]).await?;
        for _ in 0..3 {
            ensure!(listener.update().await? == COUNT);
        }
        session.call("resources/unsubscribe", json!({ "uri": COUNT })).await?;
        ensure!(count(&host).await? >= 3);
        let (kind, message) = dies(&host, language, "contract://do/trap").await?;
        ensure!(kind == "trap" && message.contains("crashed"), "{kind}: {message}");
        ensure!(count(&host).await? == 0, "a fresh instance, with nobody subscribed");

        session.subscribe(&[COUNT.into()]).await?;
        ensure!(listener.update().await? == COUNT);
        let (kind, message) = dies(&host, language, "contract://do/trap").await?;
        ensure!(kind == "trap", "{kind}: {message}");
        // One update may tell of the fresh instance, and one more may have been on its way: the third is of its timer.
        for _ in 0..3 {
            ensure!(listener.update().await? == COUNT);
        }
        ensure!(count(&host).await? >= 1, "subscribed again, by the host");
    }
    let log = host.wait_for_log("about to die").await?;
    let line = log.lines().find(|line| line.contains("about to die")).context("no line")?;
    ensure!(line.contains(&format!("provider={language:?}")), "{line}");
    Ok(())
}

pub async fn a_busy_loop_is_cut_at_the_deadline(language: &str) -> Result<()> {
    let host = serving_with(language, DEADLINE).await?;
    let (kind, message) = dies(&host, language, "contract://do/loop").await?;
    ensure!(kind == "deadline" && message.contains("did not answer within 2s"), "{kind}: {message}");
    ensure!(text(&host, FULL).await? == "hello");
    Ok(())
}

pub async fn an_allocation_loop_is_cut_at_the_cap(language: &str) -> Result<()> {
    let host = serving_with(language, MEMORY).await?;
    let (kind, message) = dies(&host, language, "contract://do/allocate").await?;
    // Where the language has an exception for it, the SDK catches that as any other, and the instance lives on.
    match &*kind {
        "trap" => ensure!(message.contains("more memory than its 64 MiB"), "{message}"),
        "failed" => ensure!(message.to_lowercase().contains("memory"), "{message}"),
        _ => anyhow::bail!("{kind}: {message}"),
    }
    ensure!(text(&host, FULL).await? == "hello");
    ensure!(text(&host, "contract://echo/hello").await? == "word=hello from=- to=-");
    Ok(())
}
