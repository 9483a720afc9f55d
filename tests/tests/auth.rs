//! Who is let in: tokens through the binary, from the file to what is open by them.

use std::{fs, os::unix::fs::PermissionsExt, time::Duration};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use wharf_tests::{Answer, Hooks, Host, Running, Setup, wharf, within};

const CONFIG: &str = "[server]\nauth = \"tokens\"\n";
const WELCOME: &str = "handbook://wharf/welcome";
const MODERN: &str = "2026-07-28";

/// A folder to serve, and a token of each of these names; one with providers is made with them.
async fn prepared(tokens: &[(&str, Option<&str>)]) -> Result<(TempDir, Vec<String>)> {
    let folder = Setup::new().guest("handbook").guest("basic").config(CONFIG).prepare().await?;
    let mut made = Vec::new();
    for (name, providers) in tokens {
        let mut arguments = vec!["token", "new", name, "--config", "wharf.toml"];
        arguments.extend(providers.iter().flat_map(|providers| ["--providers", providers]));
        made.push(wharf(folder.path(), &arguments).await?.text()?.trim().to_owned());
    }
    Ok((folder, made))
}

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

async fn send(host: &Host, method: &str, path: &str, token: Option<&str>, more: &[(&str, &str)], body: String) -> Result<Answer> {
    let value = token.map(bearer);
    let mut headers = vec![("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
    headers.extend(value.as_deref().map(|value| ("authorization", value)));
    headers.extend(more);
    Hooks::at(host.address()).await?.send(method, path, &headers, body).await
}

fn message(method: &str, mut params: Value) -> String {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": { "name": "wharf-tests", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}

async fn ask(host: &Host, token: Option<&str>, method: &str, params: Value) -> Result<Answer> {
    let name = params["uri"].as_str().unwrap_or_default().to_owned();
    let mut more = vec![("mcp-protocol-version", MODERN), ("mcp-method", method)];
    more.extend((!name.is_empty()).then_some(("mcp-name", &*name)));
    send(host, "POST", "/mcp", token, &more, message(method, params)).await
}

/// The URIs that this token lists.
async fn listed(host: &Host, token: &str) -> Result<String> {
    let answer = ask(host, Some(token), "resources/list", json!({})).await?;
    ensure!(answer.status == 200, "{answer:?}");
    Ok(answer.body)
}

fn is_refused(answer: &Answer, status: u16) -> Result<()> {
    let challenge = answer.headers.get("www-authenticate").and_then(|value| value.to_str().ok()).unwrap_or_default();
    ensure!(answer.status == status && challenge.starts_with("Bearer realm=\"wharf\""), "{answer:?}");
    let body: Value = serde_json::from_str(&answer.body)?;
    ensure!(body["jsonrpc"] == "2.0" && body["error"]["message"].is_string(), "{answer:?}");
    Ok(())
}

#[tokio::test]
async fn an_address_that_others_reach_is_refused_until_it_is_said_who_is_let_in() -> Result<()> {
    let folder = Setup::new().prepare().await?;
    for (config, key) in
        [("[server]\nhttp = \"0.0.0.0:0\"\n", "http"), ("[server]\nadmin = \"0.0.0.0:0\"\nhttp = \"127.0.0.1:0\"\n", "admin")]
    {
        fs::write(folder.path().join("wharf.toml"), config)?;
        let refused = wharf(folder.path(), &["serve", "--config", "wharf.toml"]).await?;
        ensure!(refused.code == 1 && refused.stderr.contains("[server]\nauth = \"tokens\"\n"), "{key}: {refused:?}");
        ensure!(refused.stderr.contains("wharf token new NAME"), "{refused:?}");
    }
    // What comes with a folder, and was not chosen, opens nothing.
    fs::write(folder.path().join("wharf.toml"), "[server]\nauth = \"none\"\n")?;
    let found = wharf(folder.path(), &["serve", "--http", "0.0.0.0:0"]).await?;
    ensure!(found.code == 1 && found.stderr.contains("wharf trust"), "{found:?}");
    let oauth = "[server]\nauth = \"oauth\"\n[server.oauth]\nissuer = \"http://127.0.0.1:1\"\naudience = \"http://127.0.0.1:1/mcp\"\n";
    fs::write(folder.path().join("wharf.toml"), oauth)?;
    let found = wharf(folder.path(), &["serve", "--http", "127.0.0.1:0"]).await?;
    ensure!(found.code == 1 && found.stderr.contains("wharf trust"), "{found:?}");
    Ok(())
}

#[tokio::test]
async fn nothing_but_a_token_in_its_header_lets_in() -> Result<()> {
    let (folder, made) = prepared(&[("ann", None), ("bob", Some("handbook"))]).await?;
    let [ann, bob] = &made[..] else { anyhow::bail!("two tokens") };
    let mut host = Setup::start_in(folder).await?;
    host.wait_for_log("auth: 2 tokens of tokens.toml").await?;
    for provider in ["handbook", "basic"] {
        host.wait_for_load(provider).await?;
    }
    let stranger = format!("wharf_{}", "a".repeat(43));
    for token in [None, Some(&*stranger), Some("wharf_"), Some(&ann[1..])] {
        is_refused(&ask(&host, token, "resources/list", json!({})).await?, 401)?;
        for method in ["GET", "DELETE", "PUT"] {
            is_refused(&send(&host, method, "/mcp", token, &[], String::new()).await?, 401)?;
        }
    }
    for query in ["access_token", "token"] {
        let answer = send(&host, "POST", &format!("/mcp?{query}={ann}"), None, &[], message("resources/list", json!({}))).await?;
        is_refused(&answer, 401)?;
    }
    let twice = [("authorization", &*bearer(ann))];
    is_refused(&send(&host, "POST", "/mcp", Some(ann), &twice, message("resources/list", json!({}))).await?, 400)?;

    ensure!(listed(&host, ann).await?.contains("basic://") && listed(&host, ann).await?.contains(WELCOME));
    let seen = listed(&host, bob).await?;
    ensure!(seen.contains(WELCOME) && !seen.contains("basic://"), "{seen}");
    let read = async |token: &str, uri: &str| ask(&host, Some(token), "resources/read", json!({ "uri": uri })).await;
    ensure!(read(bob, WELCOME).await?.body.contains("\"contents\""));
    let hidden = read(bob, "basic://text").await?.body.replace("basic://text", "URI");
    let absent = read(bob, "x://nobody").await?.body.replace("x://nobody", "URI");
    ensure!(hidden == absent, "what may not be seen is told from what is not there: {hidden} {absent}");

    // Browsers: a preflight has no token; a refusal can be read by a page that may; a token opens nothing for others.
    let page = |origin: &'static str| [("origin", origin), ("access-control-request-method", "POST")];
    ensure!(send(&host, "OPTIONS", "/mcp", None, &page("http://localhost:3000"), String::new()).await?.status == 204);
    let refused = send(&host, "POST", "/mcp", None, &page("http://localhost:3000"), String::new()).await?;
    is_refused(&refused, 401)?;
    ensure!(refused.headers["access-control-allow-origin"] == "http://localhost:3000", "{refused:?}");
    ensure!(send(&host, "POST", "/mcp", Some(ann), &page("http://evil.example.com"), String::new()).await?.status == 403);

    for path in ["/healthz", "/readyz"] {
        ensure!(send(&host, "GET", path, None, &[], String::new()).await?.status == 200, "{path}");
    }
    for path in ["/status", "/metrics", "/grants", "/resources", "/events", "/read?uri=basic%3A%2F%2Ftext"] {
        is_refused(&send(&host, "GET", path, None, &[], String::new()).await?, 401)?;
        is_refused(&send(&host, "GET", path, Some(bob), &[], String::new()).await?, 403)?;
    }
    ensure!(send(&host, "GET", "/status", Some(ann), &[], String::new()).await?.status == 200);

    let log = host.log();
    ensure!(made.iter().all(|token| !log.contains(&token["wharf_".len()..])), "a token is in the log: {log}");
    Ok(())
}

/// A listen by this token. It resolves when the host ends it, with all that was sent.
fn listen(host: &Host, token: &str) -> JoinHandle<Result<Answer>> {
    let (address, value) = (host.address().to_owned(), bearer(token));
    tokio::spawn(async move {
        let headers = [
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", MODERN),
            ("mcp-method", "subscriptions/listen"),
            ("authorization", &value),
        ];
        let asked = message("subscriptions/listen", json!({ "notifications": { "resourceSubscriptions": [WELCOME] } }));
        Hooks::at(&address).await?.send("POST", "/mcp", &headers, asked).await
    })
}

/// Waits until so many listen.
async fn until_heard(host: &Host, operator: &str, listeners: u64) -> Result<()> {
    within("listeners", async {
        loop {
            let status: Value = serde_json::from_str(&send(host, "GET", "/status", Some(operator), &[], String::new()).await?.body)?;
            if status["listeners"] == listeners {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
}

#[tokio::test]
async fn a_token_that_is_revoked_loses_what_is_open_by_it_and_others_keep_theirs() -> Result<()> {
    let (folder, made) = prepared(&[("ann", None), ("bob", None)]).await?;
    let [ann, bob] = &made[..] else { anyhow::bail!("two tokens") };
    let mut host = Setup::start_in(folder).await?;
    host.wait_for_load("handbook").await?;
    let path = host.folder().to_owned();
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "wharf-tests", "version": "1" } } });
    let session = async |token: &str| -> Result<String> {
        let answer = send(&host, "POST", "/mcp", Some(token), &[], initialize.to_string()).await?;
        Ok(answer.headers.get("mcp-session-id").with_context(|| format!("{answer:?}"))?.to_str()?.to_owned())
    };
    let ping = async |host: &Host, token: &str, session: &str| {
        let body = json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" }).to_string();
        send(host, "POST", "/mcp", Some(token), &[("mcp-session-id", session)], body).await.map(|answer| answer.status)
    };
    let (of_ann, of_bob) = (session(ann).await?, session(bob).await?);
    ensure!(ping(&host, ann, &of_ann).await? == 200 && ping(&host, bob, &of_bob).await? == 200);
    ensure!(ping(&host, bob, &of_ann).await? == 404, "a session is its caller's");

    // A session's own listener counts as well.
    let (listen_of_ann, listen_of_bob) = (listen(&host, ann), listen(&host, bob));
    until_heard(&host, bob, 4).await?;
    let revoked = wharf(&path, &["token", "revoke", "ann", "--config", "wharf.toml"]).await?;
    ensure!(revoked.code == 0, "{revoked:?}");
    host.wait_for_log("tokens.toml was read again: auth: 1 token").await?;
    ensure!(ping(&host, ann, &of_ann).await? == 401);
    ensure!(ping(&host, bob, &of_bob).await? == 200);
    let ended = within("the end of what was open", async { listen_of_ann.await? }).await?;
    ensure!(ended.status == 200 && ended.body.contains("\"result\""), "{ended:?}");
    until_heard(&host, bob, 2).await?;
    ensure!(!listen_of_bob.is_finished(), "the other's stream has ended too");

    // Another of the same name is another.
    let again = wharf(&path, &["token", "new", "ann", "--config", "wharf.toml"]).await?.text()?;
    host.wait_for_log("tokens.toml was read again: auth: 2 tokens").await?;
    ensure!(ping(&host, again.trim(), &of_ann).await? == 404);

    // What cannot be used changes nothing, and says what to do; and without the file nobody is let in.
    let file = path.join("tokens.toml");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644))?;
    host.wait_for_log("the tokens stay as they were").await?;
    let log = host.wait_for_log("chmod 600 ").await?;
    ensure!(ping(&host, bob, &of_bob).await? == 200, "{log}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
    fs::remove_file(&file)?;
    host.wait_for_log("there is no tokens.toml: nobody is let in").await?;
    ensure!(ping(&host, bob, &of_bob).await? == 401);
    within("the end of the last", async { listen_of_bob.await? }).await?;
    Ok(())
}

#[tokio::test]
async fn a_token_that_expires_ends_what_is_open_by_it() -> Result<()> {
    let (folder, made) = prepared(&[("operator", None)]).await?;
    let mut host = Setup::start_in(folder).await?;
    host.wait_for_load("handbook").await?;
    let short = wharf(host.folder(), &["token", "new", "short", "--expires", "3s", "--config", "wharf.toml", "--json"]).await?.json()?;
    ensure!(short["expires"].is_string() && short["providers"] == Value::Null, "{short}");
    let token = short["token"].as_str().context("no token")?.to_owned();
    host.wait_for_log("tokens.toml was read again: auth: 2 tokens").await?;
    let open = listen(&host, &token);
    let ended = within("the end of what was open", async { open.await? }).await?;
    ensure!(ended.status == 200 && ended.body.contains("acknowledged"), "{ended:?}");
    is_refused(&ask(&host, Some(&token), "resources/list", json!({})).await?, 401)?;
    listed(&host, &made[0]).await?;
    let rows = wharf(host.folder(), &["token", "list", "--config", "wharf.toml"]).await?.text()?;
    ensure!(rows.contains("short\tall\t") && rows.contains("(expired)") && !rows.contains("wharf_"), "{rows}");
    Ok(())
}

#[tokio::test]
async fn the_commands_that_ask_a_host_send_a_token() -> Result<()> {
    let (folder, made) = prepared(&[("ann", None), ("bob", Some("handbook"))]).await?;
    let mut host = Setup::start_in(folder).await?;
    host.wait_for_load("handbook").await?;
    let (path, url) = (host.folder().to_owned(), host.url());
    fs::write(path.join("ann"), &made[0])?;
    fs::write(path.join("bob"), format!("{}\n", made[1]))?;
    let base = url.trim_end_matches("/mcp");
    let run = async |arguments: &[&str]| wharf(&path, arguments).await;

    ensure!(run(&["status", "--url", base, "--token-file", "ann"]).await?.code == 0);
    for arguments in [&["status", "--url", base][..], &["status", "--url", base, "--token-file", "bob"]] {
        let refused = run(arguments).await?;
        ensure!(refused.code == 1 && refused.stderr.contains("--token-file"), "{refused:?}");
    }
    let grants = ["grants", "--config", "wharf.toml", "--http", host.address(), "--json"];
    ensure!(run(&grants).await?.json()?["host"] == Value::Null);
    ensure!(run(&[&grants[..], &["--token-file", "ann"]].concat()).await?.json()?["host"] == host.address());
    let well = run(&["health", &url]).await?.text()?;
    ensure!(well.contains("serves at"), "{well}");
    ensure!(run(&["probe", "--wait", "0", "--token-file", "bob", &url]).await?.code == 0);
    ensure!(run(&["probe", "--wait", "0", &url]).await?.code == 1);
    // Its stdin is at its end.
    ensure!(run(&["serve", "--stdio", "--attach", &url, "--token-file", "bob"]).await?.code == 0);
    let connect = run(&["connect", "claude-code", "--stdio", "--url", &url, "--token-file", "bob"]).await?.text()?;
    ensure!(connect.contains("--token-file") && connect.contains("/bob\"") && !connect.contains(&made[1]), "{connect}");
    ensure!(host.log().contains(&format!("wharf connect claude-code --write --url {url} --stdio --token-file FILE")), "{}", host.log());
    let mut watch = Running::start(&path, &["watch", WELCOME, "--url", &url, "--token-file", "bob"])?;
    watch.says("watching 1 resource", 1).await?;
    ensure!(watch.end("INT").await?.0.code() == Some(0));
    Ok(())
}

#[tokio::test]
async fn a_file_of_tokens_with_wrong_rights_is_refused_before_anything_is_served() -> Result<()> {
    let (folder, _) = prepared(&[("ann", None)]).await?;
    let file = folder.path().join("tokens.toml");
    ensure!(fs::metadata(&file)?.permissions().mode() & 0o777 == 0o600);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644))?;
    let new = ["token", "new", "bob", "--config", "wharf.toml"];
    for arguments in [&["serve", "--http", "127.0.0.1:0", "--config", "wharf.toml"][..], &["config", "check", "wharf.toml"], &new] {
        let refused = wharf(folder.path(), arguments).await?;
        ensure!(refused.code == 1 && refused.stderr.contains("chmod 600 "), "{arguments:?}: {refused:?}");
    }
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
    let taken = wharf(folder.path(), &["token", "new", "ann", "--config", "wharf.toml"]).await?;
    ensure!(taken.code == 1 && taken.stdout.is_empty() && taken.stderr.contains("revoke"), "{taken:?}");
    let made = wharf(folder.path(), &[&new[..], &["--providers", "handbook,gti"]].concat()).await?;
    ensure!(
        made.stderr.contains("no provider \"gti\"") && !made.stderr.contains(String::from_utf8(made.stdout)?.trim()),
        "{}",
        made.stderr
    );
    Ok(())
}
