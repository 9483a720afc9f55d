//! `wharf watch`, on a plugins folder and on a server of either era.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use wharf_tests::{Host, Running, Setup, wharf};

const STATUS: &str = "test://review/status";
const UTC: &str = "clock://zone/UTC";

fn review(delay_seconds: &str) -> Setup {
    let settings = format!("[[provider]]\nname = \"review-status\"\n[provider.settings]\ndelay-seconds = {delay_seconds}\n");
    Setup::new().guest("review-status").config(&settings)
}

#[tokio::test]
async fn of_a_folder_each_update_is_a_line_and_the_content() -> Result<()> {
    let folder = review("0.1").prepare().await?;
    let mut watch = Running::start(folder.path(), &["watch", "--read", "--count", "1", STATUS])?;
    let line = watch.line().await?;
    ensure!(line.ends_with(&format!("Z updated {STATUS}")), "{line}");
    ensure!(watch.line().await? == "status: reviewed");
    let (status, log) = watch.ended().await?;
    ensure!(status.code() == Some(0) && log.contains("watching 1 resource"), "{status}: {log}");
    Ok(())
}

#[tokio::test]
async fn several_are_watched_at_once_and_ctrl_c_is_no_failure() -> Result<()> {
    let folder = Setup::new().guest("clock").prepare().await?;
    let berlin = "clock://zone/Europe/Berlin";
    let mut watch = Running::start(folder.path(), &["watch", UTC, berlin, UTC])?;
    watch.says("watching 2 resources", 1).await?;
    let told = [watch.line().await?, watch.line().await?];
    ensure!([UTC, berlin].iter().all(|uri| told.iter().any(|line| line.ends_with(uri))), "{told:?}");
    let (status, log) = watch.end("INT").await?;
    ensure!(status.code() == Some(0), "{status}: {log}");
    Ok(())
}

#[tokio::test]
async fn with_json_each_line_is_an_object() -> Result<()> {
    let host = Setup::new().guest("clock").start().await?;
    let mut watch = Running::start(host.folder(), &["watch", "--json", "--read", "--count", "1", "--url", &host.url(), UTC])?;
    let begun: Value = serde_json::from_str(&watch.line().await?)?;
    ensure!(begun["event"] == "watching" && begun["message"].as_str().is_some_and(|text| text.contains("2026-07-28")), "{begun}");
    let update: Value = serde_json::from_str(&watch.line().await?)?;
    ensure!(update["event"] == "updated" && update["uri"] == UTC && update["contents"][0]["uri"] == UTC, "{update}");
    ensure!(update["time"].as_str().is_some_and(|time| time.ends_with('Z')), "{update}");
    ensure!(watch.ended().await?.0.code() == Some(0));
    Ok(())
}

#[tokio::test]
async fn a_resource_that_comes_later_is_waited_for_if_asked() -> Result<()> {
    let folder = Setup::new().prepare().await?;
    let mut watch = Running::start(folder.path(), &["watch", "--wait", "--count", "1", UTC])?;
    watch.says("watching 1 resource", 1).await?;
    std::fs::copy(wharf_tests::root().join("plugins/clock.wasm"), folder.path().join("plugins/clock.wasm"))?;
    ensure!(watch.line().await?.ends_with(&format!("updated {UTC}")));
    ensure!(watch.ended().await?.0.code() == Some(0));
    Ok(())
}

/// Watches a host at this URL, restarts it, and sees an update of each.
async fn across_a_restart(host: Host, url: &str, era: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut watch = Running::start(folder.path(), &["watch", "--count", "2", "--url", url, STATUS])?;
    watch.says(&format!("(MCP {era})"), 1).await?;
    ensure!(watch.line().await?.ends_with(&format!("updated {STATUS}")));
    let _host = host.restart().await?;
    watch.says("connected and subscribed anew", 1).await?;
    ensure!(watch.line().await?.ends_with(&format!("updated {STATUS}")));
    let (status, log) = watch.ended().await?;
    ensure!(status.code() == Some(0) && log.contains("trying again"), "{status}: {log}");
    Ok(())
}

#[tokio::test]
async fn what_changed_while_the_server_was_away_is_shown() -> Result<()> {
    let host = review("3600").start().await?;
    let mut watch = Running::start(host.folder(), &["watch", "--read", "--count", "1", "--url", &host.url(), STATUS])?;
    watch.says("watching 1 resource", 1).await?;
    let file = host.folder().join("wharf.toml");
    std::fs::write(&file, std::fs::read_to_string(&file)? + "initial-status = \"another\"\n")?;
    let _host = host.restart().await?;
    ensure!(watch.line().await?.ends_with(&format!("updated {STATUS}")));
    ensure!(watch.line().await? == "status: another");
    ensure!(watch.ended().await?.0.code() == Some(0));
    Ok(())
}

#[tokio::test]
async fn a_server_that_restarts_is_subscribed_to_anew() -> Result<()> {
    let host = review("1").start().await?;
    let url = host.url();
    across_a_restart(host, &url, "2026-07-28").await
}

#[tokio::test]
async fn a_server_of_the_earlier_era_that_restarts_is_subscribed_to_anew() -> Result<()> {
    let host = review("1").start().await?;
    let url = Front::start(Some(host.address().to_owned()), |method| {
        (method == "server/discover").then(|| json!({ "error": { "code": -32601, "message": "Method not found" } }))
    })
    .await?;
    across_a_restart(host, &url, "2025-11-25").await
}

#[tokio::test]
async fn what_nobody_has_is_refused_with_what_comes_near() -> Result<()> {
    let host = Setup::new().guest("clock").start().await?;
    let wrong = "clock://zone/Europe/Berlim";
    for source in [&["--plugins", "plugins"][..], &["--url", &host.url()]] {
        let output = wharf(host.folder(), &[&["watch", wrong], source].concat()).await?;
        ensure!(
            output.code == 1 && output.stderr.contains(wrong) && output.stderr.contains("near: clock://zone/Europe/Berlin"),
            "{output:?}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_server_that_takes_no_subscriptions_is_named_as_such() -> Result<()> {
    let url = Front::start(None, |method| {
        Some(match method {
            "server/discover" => json!({ "result": {
                "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": { "resources": {} },
                "ttlMs": 0, "cacheScope": "private" } }),
            _ => json!({ "error": { "code": -32601, "message": "Method not found" } }),
        })
    })
    .await?;
    let folder = tempfile::tempdir()?;
    let output = wharf(folder.path(), &["watch", "--url", &url, "x://a"]).await?;
    ensure!(output.code == 1 && output.stderr.contains("takes no subscriptions"), "{output:?}");
    Ok(())
}

#[tokio::test]
async fn a_server_that_is_not_there_and_a_wrong_url_are_told_apart() -> Result<()> {
    let folder = tempfile::tempdir()?;
    // Bound and given back: nobody listens there.
    let port = TcpListener::bind("127.0.0.1:0").await?.local_addr()?.port();
    let output = wharf(folder.path(), &["watch", "--url", &format!("http://127.0.0.1:{port}/mcp"), "x://a"]).await?;
    ensure!(output.code == 1 && output.stderr.contains("is the server running"), "{output:?}");
    for wrong in [&["watch", "--url", "ftp://a/", "x://a"][..], &["watch", "no URI"], &["watch"], &["watch", "--count", "0", "x://a"]] {
        let output = wharf(folder.path(), wrong).await?;
        ensure!(output.code == 2, "{wrong:?}: {output:?}");
    }
    Ok(())
}

/// Stands before a host, or alone, and answers some methods by itself. One request a connection, as rmcp's client has it here.
struct Front;

impl Front {
    async fn start(behind: Option<String>, answer: impl Fn(&str) -> Option<Value> + Clone + Send + Sync + 'static) -> Result<String> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/mcp", listener.local_addr()?);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (behind, answer) = (behind.clone(), answer.clone());
                // How it ends shows at the client.
                tokio::spawn(async move { Self::serve(client, behind, answer).await });
            }
        });
        Ok(url)
    }

    async fn serve(mut client: TcpStream, behind: Option<String>, answer: impl Fn(&str) -> Option<Value>) -> Result<()> {
        let (mut request, mut body) = (Vec::new(), None);
        let message: Value = loop {
            if let Some((from, length)) = body
                && request.len() >= from + length
            {
                break serde_json::from_slice(&request[from..]).unwrap_or_default();
            }
            ensure!(client.read_buf(&mut request).await? > 0, "half a request");
            body = body.or_else(|| extent(&request));
        };
        if let Some(mut answered) = message["method"].as_str().and_then(answer) {
            answered["jsonrpc"] = "2.0".into();
            answered["id"] = message["id"].clone();
            let text = answered.to_string();
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", text.len());
            client.write_all((head + &text).as_bytes()).await?;
            return Ok(());
        }
        let mut host = TcpStream::connect(behind.context("nobody is behind")?).await?;
        host.write_all(&request).await?;
        tokio::io::copy_bidirectional(&mut client, &mut host).await?;
        Ok(())
    }
}

/// Where a request's body begins and how long it is, once its head is there.
fn extent(request: &[u8]) -> Option<(usize, usize)> {
    let end = request.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&request[..end]).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    Some((end, length.and_then(|length| length.trim().parse().ok()).unwrap_or(0)))
}
