//! `wharf connect --check`: what is configured in the clients' files, and whether it answers.
//!
//! Invariants: only what [`Server::is_ours`] takes for this host's is named and asked. A command is run only if it is this very program, or
//! `wharf` as the `PATH` has it, and without the environment an entry would give it: a project from elsewhere may have written the file.

use std::{path::Path, process::Stdio, time::Duration};

use anyhow::{Context, Result, anyhow, bail};
use futures_util::future::join_all;
use hyper::HeaderMap;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::Command,
    time::timeout,
};
use wharf::transport::attach::Remote;

use super::{
    clients::{Client, Places, Scope},
    file::ClientFile,
    format,
    server::{NAME, Server},
};
use crate::cli::authorities::added;

/// A host that runs answers at once.
const HTTP_TIME: Duration = Duration::from_secs(3);
/// A host that is started reads its configuration first; clients give it 10 s and more.
const STDIO_TIME: Duration = Duration::from_secs(10);
/// How long it may take to end once its stdin is closed.
const END_TIME: Duration = Duration::from_secs(3);
/// Bytes of what a command says on stderr that are shown.
const SAID_CAP: usize = 4 << 10;
/// Bytes of an answer to `server/discover`: some hundred, and the instructions.
const ANSWER_CAP: u64 = 1 << 20;

/// What was found in a file.
pub(super) struct Finding {
    pub client: &'static Client,
    pub scope: Scope,
    pub file: std::path::PathBuf,
    /// The server's name in it; none if the file cannot be read.
    pub name: Option<String>,
    /// How the client reaches it.
    pub reach: String,
    /// What is wrong, if anything is.
    pub fault: Option<String>,
}

/// Everything that is ours in the files of these clients. All of it is asked at the same time.
pub(super) async fn run(clients: impl Iterator<Item = &'static Client>, places: &Places<'_>, url: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for client in clients {
        let mut seen = Vec::new();
        for scope in [Scope::Project, Scope::User] {
            for path in client.files(scope, places) {
                // In the home folder they can be one.
                if !seen.contains(&path) {
                    findings.extend(in_file(client, scope, &path, url));
                    seen.push(path);
                }
            }
        }
    }
    join_all(findings.into_iter().map(|(mut finding, server)| async move {
        if let Some(server) = server {
            finding.fault = ask(&server).await.err().map(|error| format!("{error:#}"));
        }
        finding
    }))
    .await
}

/// What is found in one file, with the servers to ask.
fn in_file(client: &'static Client, scope: Scope, path: &Path, url: &str) -> Vec<(Finding, Option<Server>)> {
    let finding = |name, reach, fault| Finding { client, scope, file: path.to_owned(), name, reach, fault };
    match ours(client, path, url) {
        Err(error) => vec![(finding(None, String::new(), Some(format!("{error:#}"))), None)],
        Ok(servers) => servers.into_iter().map(|(name, server)| (finding(Some(name), reach(&server), None), Some(server))).collect(),
    }
}

fn reach(server: &Server) -> String {
    match server {
        Server::Http { url } => url.clone(),
        Server::Stdio { program, arguments } => std::iter::once(program).chain(arguments).map(String::as_str).collect::<Vec<_>>().join(" "),
    }
}

/// The servers in this file that are ours, by name.
fn ours(client: &Client, path: &Path, url: &str) -> Result<Vec<(String, Server)>> {
    let file = ClientFile::read(path.to_owned())?;
    let Some(text) = file.text() else { return Ok(Vec::new()) };
    let says = client.format.parse(text)?;
    let servers = format::servers(&says, &client.path(&says)).and_then(Value::as_object);
    let all = servers.into_iter().flatten().filter_map(|(name, entry)| Some((name.clone(), Server::read(entry)?)));
    Ok(all.filter(|(name, server)| server.is_ours(name, url)).collect())
}

/// Fails if it does not answer as a host does.
async fn ask(server: &Server) -> Result<()> {
    match server {
        Server::Http { url } => {
            let asked = timeout(HTTP_TIME, Remote::connect_with(url, HeaderMap::new(), added().to_vec())).await;
            let asked = asked.with_context(|| format!("it does not answer within {} s", HTTP_TIME.as_secs()))?;
            // The rest is advice to those who use --attach.
            asked.map(drop).map_err(|away| anyhow!("{}; `wharf serve` starts one", away.0.split("; ").next().unwrap_or_default()))
        }
        Server::Stdio { program, arguments } => {
            if !is_this_program(program) {
                bail!("not started, since it is not this program: run it yourself to see whether it answers");
            }
            run_and_ask(program, arguments).await
        }
    }
}

fn is_this_program(program: &str) -> bool {
    program == NAME
        || std::env::current_exe()
            .and_then(|own| own.canonicalize())
            .is_ok_and(|own| Path::new(program).canonicalize().is_ok_and(|other| own == other))
}

async fn run_and_ask(program: &str, arguments: &[String]) -> Result<()> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().context("it cannot be started")?;
    let (mut stdin, stdout, stderr) =
        (child.stdin.take().context("no stdin")?, child.stdout.take().context("no stdout")?, child.stderr.take());
    // Read to its end: a process whose stderr is full would stand still.
    let said = tokio::spawn(async move {
        let mut said = Vec::new();
        if let Some(stderr) = stderr {
            let mut stderr = stderr;
            let mut piece = [0; 4096];
            while let Ok(read @ 1..) = stderr.read(&mut piece).await {
                let room = SAID_CAP.saturating_sub(said.len());
                said.extend_from_slice(&piece[..read.min(room)]);
            }
        }
        said
    });
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} });
    let discover = json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": { "_meta": meta } });
    let mut answer = Vec::new();
    let asked = timeout(STDIO_TIME, async {
        // One that has ended already does not answer either.
        drop(stdin.write_all(format!("{discover}\n").as_bytes()).await);
        BufReader::new(stdout.take(ANSWER_CAP)).read_until(b'\n', &mut answer).await
    });
    let asked = asked.await;
    drop(stdin);
    if timeout(END_TIME, child.wait()).await.is_err() {
        drop(child.kill().await);
    }
    asked.with_context(|| format!("it does not answer within {} s", STDIO_TIME.as_secs()))?.context("it cannot be heard")?;
    let answer: Option<Value> = serde_json::from_slice(&answer).ok();
    if answer.is_some_and(|answer| answer["result"]["supportedVersions"].is_array()) {
        return Ok(());
    }
    let said = timeout(END_TIME, said).await.ok().and_then(Result::ok).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    bail!("it does not answer as a host does{}{}", if said.is_empty() { "" } else { "; it says: " }, said.trim());
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn fault_of(program: &str, arguments: &[&str]) -> String {
        let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).into()).collect();
        run_and_ask(program, &arguments).await.unwrap_err().to_string()
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_that_takes_the_connection_and_says_nothing_is_given_up() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", silent.local_addr().unwrap());
        assert_eq!(ask(&Server::Http { url }).await.unwrap_err().to_string(), "it does not answer within 3 s");
    }

    #[cfg(unix)]
    #[tokio::test(start_paused = true)]
    async fn a_command_that_says_nothing_is_given_up_and_ended() {
        assert_eq!(fault_of("sleep", &["600"]).await, "it does not answer within 10 s");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_command_that_says_too_much_is_cut_off() {
        assert_eq!(fault_of("cat", &["/dev/zero"]).await, "it does not answer as a host does");
        let fault = fault_of("sh", &["-c", "head -c 100000 /dev/zero | tr '\\0' x >&2"]).await;
        assert!(fault.ends_with(&format!("; it says: {}", "x".repeat(SAID_CAP))), "{} bytes", fault.len());
    }

    #[tokio::test]
    async fn another_program_of_this_name_is_not_started() {
        let server = Server::Stdio { program: "./wharf".into(), arguments: vec!["serve".into()] };
        assert!(ask(&server).await.unwrap_err().to_string().starts_with("not started"));
    }
}
