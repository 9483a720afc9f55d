//! `wharf serve --stdio` as a process: what is on its stdout, how it ends, and how it is attached to a running host.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use wharf_tests::{Host, Pipe, Setup};

const WELCOME: &str = "handbook://wharf/welcome";
const MODERN_META: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

async fn initialize(pipe: &mut Pipe) -> Result<()> {
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "wharf-tests", "version": "1" } });
    let result = pipe.call("i", "initialize", params).await?;
    ensure!(result["protocolVersion"] == "2025-11-25", "{result}");
    pipe.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await
}

fn modern(mut params: Value) -> Result<Value> {
    params["_meta"] = serde_json::from_str(MODERN_META)?;
    Ok(params)
}

/// Begins a listen, and waits for its acknowledgement.
async fn listen(pipe: &mut Pipe, id: &str, uri: &str) -> Result<()> {
    let params = modern(json!({ "notifications": { "resourcesListChanged": true, "resourceSubscriptions": [uri] } }))?;
    pipe.send(json!({ "jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params })).await?;
    loop {
        let message = pipe.message().await?;
        if message["method"] == "notifications/subscriptions/acknowledged" {
            ensure!(subscription(&message) == Some(id), "{message}");
            return Ok(());
        }
    }
}

fn subscription(message: &Value) -> Option<&str> {
    message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].as_str()
}

#[tokio::test]
async fn nothing_but_messages_is_on_stdout_whatever_a_guest_prints() -> Result<()> {
    let folder = Setup::new().guest("ticker").prepare().await?;
    let mut pipe = Pipe::run(folder.path(), &["--log", "info"])?;
    initialize(&mut pipe).await?;
    pipe.call("r", "resources/read", json!({ "uri": "ticker://count/a" })).await?;
    let (status, log) = pipe.end().await?;
    ensure!(status.success(), "{status}: {log}");
    ensure!(log.contains("read") && log.contains("true"), "{log}");
    Ok(())
}

#[tokio::test]
async fn the_end_of_stdin_ends_the_process_with_0_even_in_the_middle_of_a_message() -> Result<()> {
    let folder = Setup::new().guest("handbook").prepare().await?;
    let pipe = Pipe::run(folder.path(), &[])?;
    let (status, log) = pipe.end().await?;
    ensure!(status.success() && log.is_empty(), "a process that nobody spoke to: {status}: {log}");

    let mut pipe = Pipe::run(folder.path(), &[])?;
    listen(&mut pipe, "l", WELCOME).await?;
    pipe.send(r#"{"jsonrpc":"2.0","id""#).await?;
    let refused = loop {
        let message = pipe.message().await?;
        if message["error"].is_object() {
            break message;
        }
    };
    ensure!(refused["error"]["code"] == -32700, "{refused}");
    let (status, log) = pipe.end().await?;
    ensure!(status.success(), "{status}: {log}");
    Ok(())
}

#[tokio::test]
async fn two_processes_of_the_same_command_serve_at_the_same_time() -> Result<()> {
    let folder = Setup::new().guest("handbook").guest("ticker").prepare().await?;
    let mut pipes = [Pipe::run(folder.path(), &[])?, Pipe::run(folder.path(), &[])?];
    for pipe in &mut pipes {
        pipe.call("d", "server/discover", modern(json!({}))?).await?;
        initialize(pipe).await?;
    }
    for pipe in &mut pipes {
        let read = pipe.call("r", "resources/read", json!({ "uri": WELCOME })).await?;
        ensure!(read["contents"][0]["uri"] == WELCOME, "{read}");
    }
    for pipe in pipes {
        let (status, log) = pipe.end().await?;
        ensure!(status.success() && log.is_empty(), "{status}: {log}");
    }
    Ok(())
}

#[tokio::test]
async fn to_attach_where_no_host_is_fails_and_says_what_to_do() -> Result<()> {
    let host = Setup::new().start().await?;
    let url = host.url();
    host.end("INT").await?;
    for (url, says) in
        [(&*url, "start it with `wharf serve`"), ("https://127.0.0.1:1/mcp", "start it with"), ("nothing", "is not the URL of a host")]
    {
        let folder = Setup::new().prepare().await?;
        let (status, log) = Pipe::run(folder.path(), &["--attach", url])?.end().await?;
        ensure!(status.code() == Some(1) && log.contains(says), "{url}: {status}: {log}");
    }
    Ok(())
}

/// Reads messages until each of these was told, as (method, URI, listen).
async fn told(pipe: &mut Pipe, mut wanted: Vec<(&str, Option<&str>, Option<&str>)>) -> Result<()> {
    while !wanted.is_empty() {
        let message = pipe.message().await.with_context(|| format!("still waiting for {wanted:?}"))?;
        ensure!(message.get("method").is_some(), "nothing was asked: {message}");
        let method = message["method"].as_str().and_then(|method| method.strip_prefix("notifications/resources/")).unwrap_or_default();
        let told = (method, message["params"]["uri"].as_str(), subscription(&message));
        wanted.retain(|wanted| *wanted != told);
    }
    Ok(())
}

#[tokio::test]
async fn a_restarted_host_is_found_again_and_the_client_is_told_what_it_may_have_missed() -> Result<()> {
    let host = Setup::new().guest("handbook").guest("ticker").start().await?;
    let mut pipe = Pipe::run(host.folder(), &["--attach", &host.url()])?;
    initialize(&mut pipe).await?;
    pipe.call("s", "resources/subscribe", json!({ "uri": WELCOME })).await?;
    listen(&mut pipe, "l", WELCOME).await?;

    let host: Host = host.restart().await?;
    let wanted = vec![
        ("list_changed", None, None),
        ("updated", Some(WELCOME), None),
        ("list_changed", None, Some("l")),
        ("updated", Some(WELCOME), Some("l")),
    ];
    told(&mut pipe, wanted).await?;
    let read = pipe.call("r", "resources/read", json!({ "uri": WELCOME })).await?;
    ensure!(read["contents"][0]["uri"] == WELCOME, "{read}");
    // What is told from now on comes from the new host.
    pipe.call("s", "resources/subscribe", json!({ "uri": "ticker://count/after" })).await?;
    told(&mut pipe, vec![("updated", Some("ticker://count/after"), None)]).await?;

    // A host that stops in order ends its streams with a result first; the client is none the wiser.
    let url = host.url();
    host.end("INT").await?;
    let refused = pipe.call("r", "resources/read", json!({ "uri": WELCOME })).await.map_err(|error| error.to_string());
    let refused = refused.err().context("read from a host that is away")?;
    ensure!(refused.contains("-32603") && refused.contains(r#""kind":"unavailable""#) && refused.contains(&url), "{refused}");
    let (status, log) = pipe.end().await?;
    ensure!(status.success(), "{status}: {log}");
    Ok(())
}

#[tokio::test]
async fn a_request_that_finds_its_session_lost_is_answered_from_a_new_one() -> Result<()> {
    let host = Setup::new().guest("handbook").start().await?;
    let mut pipe = Pipe::run(host.folder(), &["--attach", &host.url()])?;
    initialize(&mut pipe).await?;
    let host = host.restart().await?;
    for id in ["a", "b"] {
        let read = pipe.call(id, "resources/read", json!({ "uri": WELCOME })).await?;
        ensure!(read["contents"][0]["uri"] == WELCOME, "{read}");
    }
    drop(host);
    Ok(())
}

#[tokio::test]
async fn an_attached_client_that_leaves_takes_its_session_and_its_listens_with_it() -> Result<()> {
    let mut host = Setup::new().guest("ticker").start().await?;
    let mut pipe = Pipe::run(host.folder(), &["--attach", &host.url()])?;
    initialize(&mut pipe).await?;
    pipe.call("s", "resources/subscribe", json!({ "uri": "ticker://count/a" })).await?;
    listen(&mut pipe, "l", "ticker://count/b").await?;
    told(&mut pipe, vec![("updated", Some("ticker://count/a"), None), ("updated", Some("ticker://count/b"), Some("l"))]).await?;
    pipe.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"l"}}"#).await?;
    pipe.call("p", "ping", json!({})).await?;
    // Nothing of the listen comes any more, while the session goes on.
    for _ in 0..5 {
        let message = pipe.message().await?;
        ensure!(subscription(&message).is_none(), "of a cancelled listen: {message}");
    }
    let (status, log) = pipe.end().await?;
    ensure!(status.success() && log.is_empty(), "{status}: {log}");
    host.wait_for_log("serves MCP").await?;
    Ok(())
}
