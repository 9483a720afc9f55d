//! The host as an OAuth 2.1 protected resource, between a real authorization server (oidc-provider) and the TypeScript SDK's client: the client
//! finds the server from the host's 401, registers there, logs in (authorization code, PKCE), and comes back with a token for this host.

use std::{fs, path::PathBuf, process::Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    net::TcpListener,
    process::{Child, ChildStdout, Command},
};
use wharf_tests::{Hooks, Running, Setup, root, within};

/// Another program may take the port that was free a moment ago.
const TRIES: usize = 5;

fn folder() -> PathBuf {
    root().join("tests/clients/oauth")
}

/// An authorization server. It ends with its stdin.
struct Issuer {
    url: String,
    /// Both are held: what it says to nobody would end it.
    _process: (Child, Lines<BufReader<ChildStdout>>),
}

impl Issuer {
    async fn start() -> Result<Self> {
        ensure!(folder().join("node_modules").exists(), "the authorization server is not there: run `cargo xtask clients`");
        let mut command = Command::new("node");
        command.arg("server.mjs").current_dir(folder()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.kill_on_drop(true).spawn().context("cannot run node")?;
        let mut lines = BufReader::new(process.stdout.take().context("no stdout")?).lines();
        let url = within("the authorization server", async { lines.next_line().await?.context("it has ended") }).await?;
        Ok(Self { url, _process: (process, lines) })
    }
}

/// A host for tokens of this server, and its address.
async fn host(issuer: &Issuer) -> Result<(Running, String, tempfile::TempDir)> {
    let folder = Setup::new().guest("handbook").guest("basic").prepare().await?;
    for _ in 0..TRIES {
        // Its URL is what tokens are for, and has to be known before it starts.
        let address = TcpListener::bind("127.0.0.1:0").await?.local_addr()?.to_string();
        let config = format!(
            "[server]\nauth = \"oauth\"\n[server.oauth]\nissuer = {:?}\naudience = \"http://{address}/mcp\"\nscopes = [\"wharf\"]\n\
             [server.oauth.views]\ndocs = [\"handbook\"]\ncode = [\"basic\"]\n",
            issuer.url
        );
        fs::write(folder.path().join("wharf.toml"), config)?;
        let mut host = Running::start(folder.path(), &["serve", "--http", &address, "--config", "wharf.toml"])?;
        if host.says("loaded   basic", 1).await.is_ok() {
            host.says("loaded   handbook", 1).await?;
            return Ok((host, address, folder));
        }
    }
    anyhow::bail!("no port is free")
}

/// What the client found, that was asked to come with these scopes.
async fn client(address: &str, scopes: &[&str]) -> Result<Value> {
    let mut command = Command::new("node");
    command
        .arg("client.mjs")
        .arg(format!("http://{address}/mcp"))
        .args(scopes)
        .current_dir(folder())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let ended = within("the client", async { Ok(command.output().await?) }).await?;
    let said = String::from_utf8_lossy(&ended.stderr);
    serde_json::from_slice(&ended.stdout).with_context(|| format!("the client said: {said}"))
}

fn uris(found: &Value) -> Result<String> {
    Ok(found["uris"].as_array().with_context(|| found.to_string())?.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "))
}

#[tokio::test]
async fn the_sdks_client_finds_the_authorization_server_and_sees_what_its_scopes_let_it() -> Result<()> {
    let issuer = Issuer::start().await?;
    let (host, address, _folder) = host(&issuer).await?;

    let all = client(&address, &[]).await?;
    let audience = format!("http://{address}/mcp");
    ensure!(all["claims"]["aud"] == audience && all["resource"] == audience && all["claims"]["iss"] == issuer.url, "{all}");
    ensure!(all["scope"].as_str().is_some_and(|scope| ["wharf", "docs", "code"].iter().all(|own| scope.contains(own))), "{all}");
    ensure!(uris(&all)?.contains("handbook://") && uris(&all)?.contains("basic://") && all["read"] == 1, "{all}");

    let docs = client(&address, &["wharf", "docs"]).await?;
    ensure!(docs["claims"]["scope"] == "wharf docs", "{docs}");
    ensure!(uris(&docs)?.contains("handbook://") && !uris(&docs)?.contains("basic://"), "{docs}");

    for lacking in [&["docs"][..], &["wharf"]] {
        let refused = client(&address, lacking).await?;
        ensure!(refused["error"].is_string() && refused["uris"] == Value::Null, "{refused}");
    }

    let mut plain = Hooks::at(&address).await?;
    let metadata = plain.send("GET", "/.well-known/oauth-protected-resource/mcp", &[], "").await?;
    ensure!(metadata.status == 200 && metadata.headers["content-type"] == "application/json", "{metadata:?}");
    let metadata: Value = serde_json::from_str(&metadata.body)?;
    ensure!(metadata["resource"] == audience && metadata["authorization_servers"] == json!([issuer.url]), "{metadata}");
    let refused = plain.send("POST", "/mcp", &[("authorization", "Bearer a.b.c")], "").await?;
    let challenge = refused.headers["www-authenticate"].to_str()?;
    ensure!(
        refused.status == 401 && challenge.contains("error=\"invalid_token\"") && challenge.contains("resource_metadata="),
        "{challenge}"
    );
    let (_, log) = host.end("TERM").await?;
    ensure!(!log.contains("eyJ"), "a token is in the log: {log}");
    Ok(())
}
