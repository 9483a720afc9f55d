//! `wharf probe`, against `wharf lab` and against the servers of the official SDKs.

use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpListener,
    process::{Child, Command},
};
use wharf_tests::{Running, binary, root, wharf, within};

const ALL: [&str; 10] = ["connect", "list", "templates", "read", "subscribe", "update", "read again", "unsubscribe", "not found", "close"];
const DELAY: &str = "0.3";

/// The exit code and the report.
async fn probe(arguments: &[&str]) -> Result<(i32, Value)> {
    let folder = tempfile::tempdir()?;
    let output = wharf(folder.path(), &[&["probe", "--json"], arguments].concat()).await?;
    Ok((output.code, output.json()?))
}

/// The steps of this outcome.
fn steps<'a>(report: &'a Value, outcome: &str) -> Vec<&'a str> {
    let steps = report["steps"].as_array().into_iter().flatten();
    steps.filter(|step| step["outcome"] == outcome).filter_map(|step| step["step"].as_str()).collect()
}

fn passed_whole((code, report): &(i32, Value), era: &str) -> Result<()> {
    ensure!(*code == 0 && report["passed"] == true && report["era"] == era, "{report}");
    ensure!(steps(report, "ok") == ALL, "{report}");
    Ok(())
}

async fn against_lab(era: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut lab = Running::start(folder.path(), &["lab", "--port", "0", "--delay", DELAY])?;
    let log = lab.says("/mcp", 1).await?;
    let url = log.split_whitespace().find(|word| word.starts_with("http://")).context("no URL")?.trim_end_matches(';').to_owned();
    passed_whole(&probe(&["--era", era, &url]).await?, era)?;
    if era == "modern" {
        lab.says("[subscriptions/listen] ended", 1).await?;
    }
    // The lab takes it for what it is.
    let (status, log) = lab.end("INT").await?;
    ensure!(status.code() == Some(0), "{log}");
    Ok(())
}

#[tokio::test]
async fn the_lab_passes_in_the_legacy_era() -> Result<()> {
    against_lab("legacy").await
}

#[tokio::test]
async fn the_lab_passes_in_the_modern_era() -> Result<()> {
    against_lab("modern").await
}

#[tokio::test]
async fn the_lab_passes_over_stdio_in_both_eras() -> Result<()> {
    let binary = binary()?;
    let binary = binary.to_str().context("a path that is no text")?;
    for era in ["legacy", "modern"] {
        passed_whole(&probe(&["--era", era, binary, "lab", "--stdio", "--delay", DELAY]).await?, era)?;
    }
    Ok(())
}

/// The command of a server; the script may have arguments of its own.
fn server(program: &str, script: &str, transport: &str) -> Vec<String> {
    let (script, own) = script.split_once(' ').map_or((script, None), |(script, own)| (script, Some(own)));
    let script = root().join("tests/servers").join(script).to_string_lossy().into_owned();
    [program.into(), script].into_iter().chain(own.map(str::to_owned)).chain([transport.into()]).collect()
}

/// A server over HTTP, which ends with this, and its URL.
async fn serving(program: &str, script: &str) -> Result<(Child, String)> {
    let words = server(program, script, "http");
    let mut child = Command::new(&words[0]).args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
    let mut lines = BufReader::new(child.stdout.take().context("no stdout")?).lines();
    let url = within(script, async { lines.next_line().await?.context("it ended") }).await?;
    Ok((child, url))
}

async fn over_stdio(era: &str, program: &str, script: &str) -> Result<(i32, Value)> {
    let words = server(program, script, "stdio");
    let arguments: Vec<&str> = ["--era", era].into_iter().chain(words.iter().map(|word| &**word)).collect();
    probe(&arguments).await
}

/// It sends updates while somebody subscribes, so all of it passes.
#[tokio::test]
async fn a_server_of_the_typescript_sdk_passes() -> Result<()> {
    let (_server, url) = serving("node", "typescript.mjs").await?;
    passed_whole(&probe(&[&url]).await?, "legacy")?;
    passed_whole(&over_stdio("auto", "node", "typescript.mjs").await?, "legacy")
}

/// It speaks both eras, over both transports.
#[tokio::test]
async fn a_server_of_the_second_typescript_sdk_passes_in_both_eras() -> Result<()> {
    let (_server, url) = serving("node", "typescript2.mjs").await?;
    for era in ["legacy", "modern"] {
        passed_whole(&probe(&["--era", era, &url]).await?, era)?;
        passed_whole(&over_stdio(era, "node", "typescript2.mjs").await?, era)?;
    }
    passed_whole(&probe(&[&url]).await?, "modern")
}

/// It takes no subscriptions, and says so.
#[tokio::test]
async fn a_server_of_fastmcp_passes_as_far_as_it_goes() -> Result<()> {
    let (_server, url) = serving("python3", "fastmcp_server.py").await?;
    let reports =
        [probe(&["--era", "legacy", &url]).await?, probe(&[&url]).await?, over_stdio("auto", "python3", "fastmcp_server.py").await?];
    for ((code, report), era) in reports.iter().zip(["legacy", "modern", "modern"]) {
        ensure!(*code == 0 && report["era"] == era, "{report}");
        ensure!(steps(report, "skipped") == ["subscribe", "update", "read again", "unsubscribe"], "{report}");
        ensure!(steps(report, "ok") == ["connect", "list", "templates", "read", "not found", "close"], "{report}");
    }
    Ok(())
}

#[tokio::test]
async fn an_update_that_does_not_come_is_named_with_the_request() -> Result<()> {
    let binary = binary()?;
    let binary = binary.to_str().context("a path that is no text")?;
    let (code, report) = probe(&["--wait", "1", binary, "lab", "--stdio", "--delay", "3600"]).await?;
    ensure!(code == 1 && report["passed"] == false && steps(&report, "failed") == ["update"], "{report}");
    let update = report["steps"].as_array().into_iter().flatten().find(|step| step["step"] == "update").context("no step")?;
    ensure!(update["detail"].as_str().is_some_and(|detail| detail.contains("--uri") && detail.contains("--wait")), "{update}");
    Ok(())
}

/// A server without measure, over stdio and over HTTP: `list` fails, and says of what there was too much.
async fn too_much(over_stdio_it: &str, over_http_it: &str, said: &str) -> Result<()> {
    let (_server, url) = serving("node", &format!("hostile.mjs {over_http_it}")).await?;
    let reports = [probe(&["--era", "legacy", &url]).await?, over_stdio("legacy", "node", &format!("hostile.mjs {over_stdio_it}")).await?];
    for (code, report) in reports {
        let list = report["steps"].as_array().into_iter().flatten().find(|step| step["step"] == "list").context("no step")?;
        ensure!(code == 1 && list["outcome"] == "failed", "{report}");
        ensure!(list["detail"].as_str().is_some_and(|detail| detail.contains(said)), "{list}");
    }
    Ok(())
}

#[tokio::test]
async fn a_list_without_an_end_is_given_up_after_100_pages() -> Result<()> {
    too_much("pages", "pages", "more than 100 pages").await
}

#[tokio::test]
async fn a_server_that_talks_without_being_asked_is_given_up_after_10_000_messages() -> Result<()> {
    too_much("chatter", "chatter", "the server sent 10000 messages nobody asked for").await
}

#[tokio::test]
async fn an_answer_of_more_than_64_mib_is_not_kept() -> Result<()> {
    too_much("line", "body", "of more than 67108864 bytes").await
}

#[tokio::test]
async fn a_server_that_refuses_is_named_with_request_and_answer() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    let refusal = json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32603, "message": "not today" } }).to_string();
    let serving = async {
        let (mut stream, _) = listener.accept().await?;
        let mut asked = [0; 4096];
        let _ = stream.read(&mut asked).await?;
        let head =
            format!("HTTP/1.1 500 Internal Server Error\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", refusal.len());
        stream.write_all(format!("{head}{refusal}").as_bytes()).await?;
        anyhow::Ok(())
    };
    let arguments = ["--era", "modern", &url];
    let ((code, report), ()) = tokio::try_join!(probe(&arguments), serving)?;
    ensure!(code == 1, "{report}");
    let connect = &report["steps"][0];
    ensure!(connect["outcome"] == "failed" && connect["request"]["method"] == "server/discover", "{connect}");
    ensure!(connect["answer"]["error"]["message"] == "not today" && connect["detail"] == "error -32603: not today", "{connect}");
    Ok(())
}
