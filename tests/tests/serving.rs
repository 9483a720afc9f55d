//! The binary as a whole: what it loads and refuses, and how it ends.

use anyhow::{Result, ensure};
use serde_json::json;
use wharf_tests::{Session, Setup, call, listen};

#[tokio::test]
async fn a_file_that_is_no_component_is_refused_by_name_and_the_others_load() -> Result<()> {
    let mut host = Setup::new().guest("handbook").file("broken.wasm", b"no component").start().await?;
    host.wait_for_log("broken").await?;
    let list = call(&host, "resources/list", json!({})).await?;
    let uris: Vec<_> = list["resources"].as_array().into_iter().flatten().filter_map(|resource| resource["uri"].as_str()).collect();
    ensure!(uris == ["handbook://wharf/welcome", "handbook://wharf/facts", "handbook://wharf/logo"], "{list}");
    Ok(())
}

#[tokio::test]
async fn everything_a_provider_says_of_a_resource_reaches_the_client() -> Result<()> {
    let host = Setup::new().guest("handbook").start().await?;
    let list = Session::open(&host).await?.call("resources/list", json!({})).await?;
    let facts = &list["resources"][1];
    let expected = json!({
        "uri": "handbook://wharf/facts",
        "name": "facts",
        "title": "Facts about Wharf",
        "description": "Names, addresses and limits, as JSON.",
        "mimeType": "application/json",
        "size": facts["size"],
        "annotations": { "audience": ["assistant"], "priority": 0.5, "lastModified": facts["annotations"]["lastModified"] },
    });
    ensure!(*facts == expected, "{facts}");
    let modified = facts["annotations"]["lastModified"].as_str().unwrap_or_default();
    ensure!(modified.starts_with("2026-11-30T00:00:00") && modified.ends_with('Z'), "lastModified: {modified}");

    let read = call(&host, "resources/read", json!({ "uri": "handbook://wharf/facts" })).await?;
    let text = read["contents"][0]["text"].as_str().unwrap_or_default();
    ensure!(facts["size"] == text.len(), "listed with {} bytes, read {}", facts["size"], text.len());
    Ok(())
}

#[tokio::test]
async fn a_template_gives_its_chapters_and_an_unknown_one_is_not_found() -> Result<()> {
    let host = Setup::new().guest("handbook").start().await?;
    let templates = call(&host, "resources/templates/list", json!({})).await?;
    ensure!(templates["resourceTemplates"][0]["uriTemplate"] == "handbook://wharf/chapters/{name}", "{templates}");
    for chapter in ["concepts", "subscriptions", "wharf-toml", "writing-a-provider"] {
        let read = call(&host, "resources/read", json!({ "uri": format!("handbook://wharf/chapters/{chapter}") })).await?;
        ensure!(read["contents"][0]["mimeType"] == "text/markdown", "{read}");
    }
    let unknown = json!({ "uri": "handbook://wharf/chapters/no-such" });
    let (legacy, modern) =
        (Session::open(&host).await?.call("resources/read", unknown.clone()).await, call(&host, "resources/read", unknown).await);
    let (legacy, modern) = (format!("{:#}", legacy.unwrap_err()), format!("{:#}", modern.unwrap_err()));
    ensure!(legacy.contains("-32002"), "{legacy}");
    ensure!(modern.contains("-32602"), "{modern}");
    Ok(())
}

#[tokio::test]
async fn ctrl_c_ends_the_streams_and_then_the_host_with_exit_code_0() -> Result<()> {
    let host = Setup::new().guest("review-status").start().await?;
    let stream = listen(&host, &["test://review/status".into()]).await?;
    let (status, log) = host.end("INT").await?;
    ensure!(status.code() == Some(0), "{status}; the host said:\n{log}");
    stream.end().await
}

#[tokio::test]
async fn a_bad_setting_falls_back_to_its_default_and_the_log_says_so() -> Result<()> {
    let config = r#"
        [[provider]]
        name = "review-status"
        path = "plugins/review-status.wasm"
        [provider.settings]
        delay-seconds = "soon"
    "#;
    let mut host = Setup::new().guest("review-status").config(config).start().await?;
    let _stream = listen(&host, &["test://review/status".into()]).await?;
    let log = host.wait_for_log("delay-seconds = ").await?;
    ensure!(log.contains("review-status"), "the line does not name the provider:\n{log}");
    Ok(())
}

#[tokio::test]
async fn a_pipe_among_the_plugins_is_refused_and_holds_up_neither_the_others_nor_the_end() -> Result<()> {
    let mut host = Setup::new().guest("handbook").pipe("pipe.wasm").start().await?;
    let log = host.wait_for_log("refused  pipe").await?;
    ensure!(log.contains("it is not a file"), "{log}");
    let list = call(&host, "resources/list", json!({})).await?;
    ensure!(list["resources"].as_array().is_some_and(|list| !list.is_empty()), "{list}");
    let (status, log) = host.end("INT").await?;
    ensure!(status.code() == Some(0), "{status}; the host said:\n{log}");
    Ok(())
}
