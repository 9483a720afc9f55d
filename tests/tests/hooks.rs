//! Webhooks and what providers publish, at the real host.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use wharf_tests::{Answer, Hooks, Host, Session, Setup, call, hook, listen, mac, within};

const SECRET: &str = "whsec-0123456789";
const BUILD: &str = "wharf://state/grants/build";
const CONFIG: &str = r#"
[[provider]]
name = "grants"
[provider.grants]
webhooks = [
    { name = "open" },
    { name = "queued", queue = true },
    { name = "github", signature = "github", secret = { file = "plugins/secret" } },
    { name = "stripe", signature = "stripe", secret = { file = "plugins/secret" } },
    { name = "gitlab", signature = "gitlab", secret = { file = "plugins/secret" } },
    { name = "own", signature = "header", header = "X-Sig", secret = { file = "plugins/secret" } },
    { name = "lost", signature = "github", secret = { env = "WHARF_NO_SUCH_VARIABLE" } },
]
"#;

async fn host() -> Result<Host> {
    let setup = Setup::new().guest("grants").file("secret", format!("{SECRET}\n").as_bytes()).config(CONFIG);
    let host = setup.start().await?;
    // It is loaded.
    hooks(&host).await?;
    Ok(host)
}

async fn read(host: &Host, uri: &str) -> Result<String> {
    let answer = call(host, "resources/read", json!({ "uri": uri })).await?;
    Ok(answer["contents"][0]["text"].as_str().unwrap_or_default().to_owned())
}

/// What the guest received, a line each.
async fn hooks(host: &Host) -> Result<String> {
    read(host, "grants://hooks").await
}

fn is(answer: &Answer, status: u16) -> Result<()> {
    ensure!(answer.status == status, "not {status}: {answer:?}");
    Ok(())
}

#[tokio::test]
async fn a_webhook_reaches_its_provider_as_it_was_sent_and_its_sender_gets_the_answer() -> Result<()> {
    let host = host().await?;
    let mut sender = Hooks::connect(&host).await?;
    let answer = sender.send("POST", "/hooks/grants/open/a%2Fb?c=%20", &[("X-Own-Name", "1"), ("x-own-name", "2")], "body").await?;
    is(&answer, 200)?;
    ensure!(answer.body == "body" && answer.headers["content-type"] == "text/plain", "{answer:?}");
    ensure!(answer.headers.get("set-cookie").is_none(), "{answer:?}");
    ensure!(answer.headers["content-security-policy"] == "sandbox; default-src 'none'", "{answer:?}");
    is(&sender.send("PUT", "/hooks/grants/open?x", &[], "").await?, 200)?;
    is(&sender.send("GET", "/hooks/grants/open/status/204", &[], "").await?, 204)?;
    let options = sender.send("OPTIONS", "/hooks/grants/open", &[], "").await?;
    is(&options, 204)?;
    ensure!(options.headers["allow"].to_str()?.contains("POST"));
    is(&sender.send("TRACE", "/hooks/grants/open", &[], "").await?, 405)?;
    is(&sender.send("POST", "/hooks/grants/open/status/101", &[], "").await?, 502)?;
    let received = hooks(&host).await?;
    let expected = "open POST /a%2Fb?c=%20 4 x-own-name=1 x-own-name=2\nopen PUT ?x 0\nopen GET /status/204 0\nopen POST /status/101 0";
    ensure!(received == expected, "{received}");
    Ok(())
}

#[tokio::test]
async fn what_is_not_there_and_what_is_not_granted_are_the_same_404() -> Result<()> {
    let host = host().await?;
    for path in
        ["/hooks/grants/none", "/hooks/none/open", "/hooks/grants", "/hooks/grants/", "/hooks/", "/hooks/grants/op%65n", "/hooks/../mcp"]
    {
        let answer = hook(&host, path, &[], "x").await?;
        is(&answer, 404)?;
        ensure!(answer.body.is_empty(), "{answer:?}");
    }
    ensure!(host.log().contains("webhooks = [{ name = \"none\" }]"), "{}", host.log());
    ensure!(hooks(&host).await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn a_web_page_reaches_no_webhook() -> Result<()> {
    let host = host().await?;
    let mut sender = Hooks::connect(&host).await?;
    for headers in [
        &[("origin", "https://evil.example.com")][..],
        &[("origin", "null")],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
        &[("host", "evil.example.com")],
    ] {
        for method in ["POST", "GET", "OPTIONS"] {
            let answer = sender.send(method, "/hooks/grants/open", headers, "").await?;
            is(&answer, 403)?;
        }
    }
    // One of this machine may, as with /mcp.
    is(
        &sender.send("POST", "/hooks/grants/open", &[("origin", "http://localhost:3000"), ("sec-fetch-site", "same-site")], "").await?,
        200,
    )?;
    ensure!(hooks(&host).await? == "open POST  0");
    Ok(())
}

#[tokio::test]
async fn a_wrong_a_missing_and_a_replayed_signature_are_refused_before_the_guest_sees_anything() -> Result<()> {
    let host = host().await?;
    let github = async |body: &str, signature: &str| {
        hook(&host, "/hooks/grants/github", &[("x-hub-signature-256", signature)], body.to_owned()).await
    };
    let right = |body: &str| format!("sha256={}", mac(SECRET, body));
    is(&hook(&host, "/hooks/grants/github", &[], "a").await?, 401)?;
    is(&github("a", "sha256=").await?, 401)?;
    is(&github("a", &right("b")).await?, 401)?;
    is(&github("a", &format!("sha256={}", mac("another", "a"))).await?, 401)?;
    ensure!(hooks(&host).await?.is_empty());
    is(&github("a", &right("a")).await?, 200)?;
    let replayed = github("a", &right("a")).await?;
    is(&replayed, 409)?;
    is(&github("b", &right("b")).await?, 200)?;

    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_secs();
    let stripe = async |time: u64| {
        let header = format!("t={time},v1={}", mac(SECRET, &format!("{time}.{{}}")));
        hook(&host, "/hooks/grants/stripe", &[("stripe-signature", &header)], "{}").await
    };
    is(&stripe(now - 400).await?, 401)?;
    is(&stripe(now).await?, 200)?;
    is(&stripe(now).await?, 409)?;
    is(&stripe(now - 1).await?, 200)?;

    is(&hook(&host, "/hooks/grants/gitlab", &[("x-gitlab-token", "guess")], "").await?, 401)?;
    is(&hook(&host, "/hooks/grants/gitlab", &[("x-gitlab-token", SECRET)], "").await?, 200)?;
    is(&hook(&host, "/hooks/grants/own", &[("x-sig", &mac(SECRET, "c"))], "c").await?, 200)?;

    let lost = hook(&host, "/hooks/grants/lost", &[("x-hub-signature-256", &right("a"))], "a").await?;
    is(&lost, 503)?;
    let log = host.log();
    ensure!(log.contains("\"github\" was refused") && log.contains("the variable WHARF_NO_SUCH_VARIABLE, is not set"), "{log}");
    ensure!(!log.contains("whsec"), "{log}");
    ensure!(hooks(&host).await?.lines().count() == 6, "{}", hooks(&host).await?);
    Ok(())
}

#[tokio::test]
async fn a_request_that_the_provider_failed_at_may_come_again() -> Result<()> {
    let host = host().await?;
    let signature = format!("sha256={}", mac(SECRET, "a"));
    for (path, status) in [("/trap", 503), ("/status/500", 500), ("", 200), ("", 409)] {
        is(&hook(&host, &format!("/hooks/grants/github{path}"), &[("x-hub-signature-256", &signature)], "a").await?, status)?;
    }
    Ok(())
}

#[tokio::test]
async fn a_body_has_four_mib_at_most() -> Result<()> {
    let host = host().await?;
    is(&hook(&host, "/hooks/grants/open", &[], vec![b'x'; 4 << 20]).await?, 502)?;
    is(&hook(&host, "/hooks/grants/open/status/204", &[], vec![b'x'; 4 << 20]).await?, 204)?;
    // It is refused before it was sent.
    let mut stream = TcpStream::connect(host.address()).await?;
    let head = format!("POST /hooks/grants/open HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n\r\n", host.address(), (4 << 20) + 1);
    stream.write_all(head.as_bytes()).await?;
    let mut answer = String::new();
    within("the refusal", async { Ok(stream.read_to_string(&mut answer).await?) }).await?;
    ensure!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    let received = hooks(&host).await?;
    ensure!(received == "open POST  4194304\nopen POST /status/204 4194304", "{received}");
    Ok(())
}

#[tokio::test]
async fn ten_thousand_webhooks_at_once_cost_the_others_nothing() -> Result<()> {
    const SENDERS: usize = 8;
    const EACH: usize = 10_000 / SENDERS;
    let host = host().await?;
    let send = async || {
        let mut sender = Hooks::connect(&host).await?;
        let mut statuses = [0, 0, 0];
        for _ in 0..EACH {
            let answer = sender.send("POST", "/hooks/grants/queued", &[], "{}").await?;
            match answer.status {
                202 => statuses[0] += 1,
                429 => {
                    ensure!(answer.headers["retry-after"] == "1", "{answer:?}");
                    statuses[1] += 1;
                }
                _ => statuses[2] += 1,
            }
        }
        Ok::<_, anyhow::Error>(statuses)
    };
    let began = std::time::Instant::now();
    let others = async {
        for _ in 0..50 {
            ensure!(read(&host, "grants://env").await?.is_empty());
        }
        Ok(())
    };
    let (a, b, c, d, e, f, g, h, others) = tokio::join!(send(), send(), send(), send(), send(), send(), send(), send(), others);
    others?;
    let [mut taken, mut refused, mut failed] = [0; 3];
    for statuses in [a?, b?, c?, d?, e?, f?, g?, h?] {
        taken += statuses[0];
        refused += statuses[1];
        failed += statuses[2];
    }
    let allowed = 200 + 50 * (began.elapsed().as_secs() as usize + 1);
    ensure!(
        failed == 0 && taken >= 200 && taken <= allowed && taken + refused == SENDERS * EACH,
        "{taken} taken, {refused} refused, {failed}"
    );
    // Each that was taken is handed over.
    while hooks(&host).await?.lines().count() < taken {}
    Ok(())
}

#[tokio::test]
async fn a_webhook_that_is_queued_is_answered_before_the_guest_was_asked() -> Result<()> {
    let host = host().await?;
    let mut listener = listen(&host, &["grants://hooks".into()]).await?;
    // The guest computes for a second before it is done with the first.
    is(&hook(&host, "/hooks/grants/queued/slow/1000", &[], "").await?, 202)?;
    let answer = hook(&host, "/hooks/grants/queued", &[], "").await?;
    is(&answer, 202)?;
    ensure!(answer.body.is_empty());
    // What it announces without being subscribed to arrives as well (law 10).
    ensure!(listener.update().await? == "grants://hooks");
    while hooks(&host).await?.lines().count() < 2 {}
    Ok(())
}

#[tokio::test]
async fn a_secret_of_the_environment_is_neither_in_the_log_nor_in_what_clients_are_told() -> Result<()> {
    let config = "[[provider]]\nname = \"grants\"\n[provider.grants]\nenv = [{ TOKEN = { file = \"plugins/secret\" } }]\n";
    let setup = Setup::new().guest("grants").file("secret", format!("{SECRET}\n").as_bytes()).config(config);
    let mut host = setup.start().await?;
    ensure!(read(&host, "grants://env/TOKEN").await? == SECRET, "it is the provider's to use");
    ensure!(read(&host, "grants://say/TOKEN").await? == "said");
    for what in ["fail/TOKEN", "fail/TOKEN/x", "fetch/TOKEN", "key/TOKEN", "panic/TOKEN"] {
        let error = format!("{:#}", read(&host, &format!("grants://{what}")).await.unwrap_err());
        ensure!(!error.contains("whsec"), "{what}: {error}");
    }
    ensure!(format!("{:#}", read(&host, "grants://fail/TOKEN").await.unwrap_err()).contains("it is [redacted]"));
    // The last thing it said before it died.
    let log = host.wait_for_log("it gets a fresh instance").await?;
    ensure!(log.contains("it is [redacted]!") && !log.contains("whsec"), "{log}");
    Ok(())
}

#[tokio::test]
async fn what_a_provider_lists_in_the_name_of_published_state_is_not_taken() -> Result<()> {
    let config = "[[provider]]\nname = \"grants\"\n[provider.grants]\nenv = [{ NAME = { file = \"plugins/name\" } }]\n";
    let mut host = Setup::new().guest("grants").file("name", b"x").config(config).start().await?;
    read(&host, "grants://publish/true/mine").await?;
    // It lists `wharf://state/grants/forged` and `wharf://state/other/x` from now on, beside one of its own.
    read(&host, "grants://list/NAME").await?;
    let uris = within("the list", async {
        loop {
            let answer = call(&host, "resources/list", json!({})).await?;
            let entries = answer["resources"].as_array().cloned().unwrap_or_default();
            let uris: Vec<String> = entries.iter().filter_map(|entry| entry["uri"].as_str().map(str::to_owned)).collect();
            if uris.iter().any(|uri| uri == "grants://x") {
                return Ok(uris);
            }
        }
    })
    .await?;
    ensure!(uris.iter().filter(|uri| uri.starts_with("wharf:")).eq(["wharf://state/grants/true"]), "{uris:?}");
    for forged in ["wharf://state/grants/forged", "wharf://state/other/x"] {
        let refused = read(&host, forged).await;
        ensure!(refused.as_ref().is_err_and(|error| format!("{error:#}").contains("-32602")), "{forged}: {refused:?}");
    }
    ensure!(read(&host, "wharf://state/grants/true").await? == "mine");
    host.wait_for_log("the scheme wharf: is the host's own").await?;
    Ok(())
}

#[tokio::test]
async fn a_webhook_that_comes_while_its_provider_is_loaded_for_the_first_time_waits_for_it() -> Result<()> {
    let setup = Setup::new().guest("grants").file("secret", SECRET.as_bytes()).config(CONFIG);
    // It answers as soon as it listens, before anything is loaded.
    let host = setup.start().await?;
    let answer = hook(&host, "/hooks/grants/open/early", &[], "body").await?;
    is(&answer, 200)?;
    ensure!(hooks(&host).await?.contains("/early"), "{answer:?}");
    Ok(())
}

#[tokio::test]
async fn what_a_webhook_publishes_is_told_and_read_and_survives_a_reload() -> Result<()> {
    let mut host = host().await?;
    let session = Session::open(&host).await?;
    session.subscribe(&[BUILD.into()]).await?;
    let mut listener = listen(&host, &[BUILD.into()]).await?;
    let publish = async |host: &Host, text: &str| is(&hook(host, "/hooks/grants/open/publish/build", &[], text.to_owned()).await?, 200);
    publish(&host, "green").await?;
    ensure!(listener.update().await? == BUILD);
    ensure!(session.listen().await?.update().await? == BUILD);
    ensure!(read(&host, BUILD).await? == "green");
    publish(&host, "red").await?;
    ensure!(listener.update().await? == BUILD);
    ensure!(read(&host, BUILD).await? == "red");
    let listed = async |host: &Host| -> Result<Vec<Value>> {
        let answer = call(host, "resources/list", json!({})).await?;
        Ok(answer["resources"].as_array().cloned().unwrap_or_default().into_iter().filter(|entry| entry["uri"] == BUILD).collect())
    };
    while listed(&host).await?.is_empty() {}
    let entry = listed(&host).await?.remove(0);
    ensure!(entry["name"] == "build" && entry["mimeType"] == "text/plain", "{entry}");

    // Another generation, which does not publish it for now; and what its guest lists in the host's own scheme is not taken.
    std::fs::write(host.folder().join("wharf.toml"), format!("{CONFIG}[provider.settings]\nx = 1\n"))?;
    host.wait_for_log("reloaded grants").await?;
    ensure!(read(&host, BUILD).await? == "red" && !listed(&host).await?.is_empty(), "for the time of a deadline");
    // Then it is gone, which is told.
    let error = loop {
        ensure!(listener.update().await? == BUILD);
        match read(&host, BUILD).await {
            Ok(text) => ensure!(text == "red"),
            Err(error) => break error,
        }
    };
    ensure!(format!("{error:#}").contains("-32602"), "{error:#}");
    Ok(())
}
