//! Operating a host: whether it is ready, what it counts, `wharf status`, and an address of its own for them.

use std::{process::Stdio, time::Duration};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tokio::{
    fs,
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    process::Command,
};
use wharf_tests::{Answer, Hooks, Host, Session, Setup, call, listen, root, wharf, within};

const REQUIRED: &str = "[[provider]]\nname = \"basic\"\nrequired = true\n";
/// Longer than a text of the metrics is kept.
const KEPT: Duration = Duration::from_millis(150);

async fn get(address: &str, path: &str) -> Result<Answer> {
    Hooks::at(address).await?.send("GET", path, &[], "").await
}

async fn ready(host: &Host) -> Result<(u16, String)> {
    let answer = get(host.address(), "/readyz").await?;
    Ok((answer.status, answer.body))
}

async fn status(host: &Host) -> Result<Value> {
    Ok(serde_json::from_str(&get(host.address(), "/status").await?.body)?)
}

/// The samples of the metrics as Prometheus' own parser reads them.
struct Metrics(Vec<Value>);

impl Metrics {
    async fn of(host: &Host) -> Result<Self> {
        tokio::time::sleep(KEPT).await;
        let answer = get(host.address(), "/metrics").await?;
        ensure!(answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8", "{answer:?}");
        let folder = root().join("tests/clients/python/metrics");
        let mut python = Command::new(folder.join(".venv/bin/python"));
        python.arg("parse.py").current_dir(&folder).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut python = python.spawn().context("Prometheus' parser is not there: run `cargo xtask clients`")?;
        let mut stdin = python.stdin.take().context("no stdin")?;
        let parsed = within("the parser", async {
            stdin.write_all(answer.body.as_bytes()).await?;
            drop(stdin);
            Ok(python.wait_with_output().await?)
        });
        let parsed = parsed.await?;
        ensure!(parsed.status.success(), "Prometheus' parser refuses {}", answer.body);
        let families: Vec<Value> = serde_json::from_slice(&parsed.stdout)?;
        ensure!(families.iter().all(|family| family["type"] != "unknown" && family["help"] != ""), "a metric without its type or help");
        Ok(Self(families.iter().flat_map(|family| family["samples"].as_array().cloned().unwrap_or_default()).collect()))
    }

    fn value(&self, name: &str, labels: &Value) -> Result<f64> {
        let found = self.0.iter().find(|sample| sample["name"] == name && sample["labels"] == *labels);
        found.and_then(|sample| sample["value"].as_f64()).with_context(|| format!("no {name} {labels}"))
    }

    fn calls(&self, provider: &str, outcome: &str) -> Result<f64> {
        self.value("wharf_provider_calls_total", &json!({ "provider": provider, "outcome": outcome }))
    }

    fn of_provider(&self, name: &str, provider: &str) -> Result<f64> {
        self.value(name, &json!({ "provider": provider }))
    }
}

#[tokio::test]
async fn a_host_is_ready_as_long_as_what_is_required_serves() -> Result<()> {
    let mut host = Setup::new().file("basic.wasm", b"no component").guest("handbook").config(REQUIRED).start().await?;
    host.wait_for_log("refused  basic").await?;
    let (code, text) = ready(&host).await?;
    ensure!(code == 503 && text.contains("basic") && !text.contains("handbook"), "{code} {text}");
    ensure!(get(host.address(), "/healthz").await?.status == 200, "it serves all the same");
    let broken = status(&host).await?;
    ensure!(broken["ready"] == false && broken["notReady"] == json!(["basic"]), "{broken}");
    let url = format!("http://{}", host.address());
    let said = wharf(host.folder(), &["status", "--url", &url]).await?;
    ensure!(said.code == 1 && String::from_utf8_lossy(&said.stdout).contains("provider\tbasic\trefused (required)\t"), "{said:?}");

    // A good one takes its place.
    let (file, next) = (host.folder().join("plugins/basic.wasm"), host.folder().join("next"));
    fs::copy(root().join("tests/guests/basic.wasm"), &next).await?;
    fs::rename(&next, &file).await?;
    host.wait_for_log("loaded   basic").await?;
    ensure!(ready(&host).await? == (200, "ready\n".into()));
    let good = status(&host).await?;
    let basic = &good["providers"][1];
    ensure!(basic["name"] == "basic" && basic["state"] == "serving" && basic["reason"] == Value::Null, "{good}");
    ensure!(basic["hash"].as_str().is_some_and(|hash| hash.len() == 12) && basic["generation"] == 2, "{good}");
    ensure!(basic["memoryBytes"].as_u64().is_some_and(|bytes| bytes > 0), "{good}");
    ensure!(wharf(host.folder(), &["status", "--url", &url]).await?.code == 0);

    // The last good version goes on when the next one is broken.
    fs::write(&next, b"").await?;
    fs::rename(&next, &file).await?;
    host.wait_for_log("goes on serving").await?;
    ensure!(ready(&host).await?.0 == 200);
    let old = status(&host).await?;
    let old = &old["providers"][1];
    ensure!(old["state"] == "serving" && old["reason"].as_str().is_some_and(|reason| reason.contains("empty")), "{old}");
    ensure!(old["hash"] == basic["hash"], "{old}");

    fs::remove_file(&file).await?;
    host.wait_for_log("removed  basic").await?;
    ensure!(ready(&host).await?.0 == 503);
    ensure!(status(&host).await?["providers"][1]["state"] == "gone");
    Ok(())
}

/// Reads until the instance is there that takes the place of one that died.
async fn until_it_answers(host: &Host) -> Result<()> {
    within("a fresh instance", async {
        while call(host, "resources/read", json!({ "uri": "hostile://ok" })).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn metrics_count_what_was_done() -> Result<()> {
    const TRAPS: u32 = 2;
    let config = "[[provider]]\nname = \"hostile\"\n[provider.settings]\nlist = \"traps\"\n[provider.limits]\nmemory = \"32MiB\"\n";
    let mut host = Setup::new().guest("basic").guest("hostile").guest("grants").config(config).start().await?;
    for name in ["basic", "hostile", "grants"] {
        host.wait_for_log(&format!("loaded   {name}")).await?;
    }
    let before = Metrics::of(&host).await?;
    let read = async |uri: &str| call(&host, "resources/read", json!({ "uri": uri })).await;
    for _ in 0..5 {
        read("basic://text").await?;
    }
    ensure!(read("grants://get/key").await.is_err());
    let read_five = Metrics::of(&host).await?;
    ensure!(read_five.calls("basic", "ok")? - before.calls("basic", "ok")? == 5.0, "five reads, and nothing else");
    for _ in 0..TRAPS {
        ensure!(read("hostile://trap").await.is_err(), "it answers");
        until_it_answers(&host).await?;
    }
    let session = Session::open(&host).await?;
    let _listen = listen(&host, &["basic://text".into()]).await?;
    session.subscribe(&["basic://text".into(), "x://nobody".into()]).await?;

    let after = Metrics::of(&host).await?;
    for outcome in ["failed", "trap", "deadline", "memory", "queue-full", "denied", "not-found"] {
        ensure!(after.calls("basic", outcome)? == 0.0, "{outcome}");
    }
    ensure!(after.calls("hostile", "trap")? == f64::from(TRAPS) && after.calls("hostile", "deadline")? == 0.0);
    ensure!(after.of_provider("wharf_provider_restarts_total", "hostile")? == f64::from(TRAPS));
    ensure!(after.of_provider("wharf_provider_restarts_total", "basic")? == 0.0);
    ensure!(after.of_provider("wharf_provider_denials_total", "grants")? == 1.0);
    let ran = after.of_provider("wharf_provider_call_duration_seconds_count", "basic")?;
    let counted: f64 =
        ["ok", "not-modified", "unavailable", "failed"].map(|outcome| after.calls("basic", outcome)).into_iter().sum::<Result<f64>>()?;
    ensure!(ran == counted, "{ran} and {counted}");
    let (memory, limit) =
        (after.of_provider("wharf_provider_memory_bytes", "hostile")?, after.of_provider("wharf_provider_memory_limit_bytes", "hostile")?);
    ensure!(memory > 0.0 && memory <= limit && limit == f64::from(32 << 20), "{memory} of {limit}");
    let one = |name: &str| after.value(name, &json!({}));
    ensure!((one("wharf_sessions")?, one("wharf_listens")?, one("wharf_subscriptions")?) == (1.0, 1.0, 2.0));
    ensure!(one("wharf_ready")? == 1.0);

    let said = status(&host).await?;
    let hostile = said["providers"].as_array().into_iter().flatten().find(|one| one["name"] == "hostile").context("no hostile")?;
    ensure!(hostile["errors"] == TRAPS && hostile["lastError"]["kind"] == "trap" && hostile["lastError"]["call"] == "read", "{hostile}");
    let grants = said["providers"].as_array().into_iter().flatten().find(|one| one["name"] == "grants").context("no grants")?;
    ensure!(grants["denied"] == json!([{ "line": "state = \"1MiB\"", "times": 1 }]), "{grants}");
    let expected =
        json!([{ "uri": "basic://text", "listeners": 2, "provider": "basic" }, { "uri": "x://nobody", "listeners": 1, "provider": null }]);
    ensure!(said["subscriptions"] == expected && said["sessions"] == 1 && said["listeners"] == 2, "{said}");
    Ok(())
}

#[tokio::test]
async fn ten_thousand_scrapes_are_answered_and_counted() -> Result<()> {
    const CONNECTIONS: u32 = 16;
    const EACH: u32 = 625;
    let host = Setup::new().guest("basic").start().await?;
    let mut scrapers = tokio::task::JoinSet::new();
    for _ in 0..CONNECTIONS {
        let address = host.address().to_owned();
        scrapers.spawn(async move {
            let mut connection = Hooks::at(&address).await?;
            for _ in 0..EACH {
                let answer = connection.send("GET", "/metrics", &[], "").await?;
                ensure!(answer.status == 200 && answer.body.contains("\nwharf_ready "), "{answer:?}");
            }
            Ok(())
        });
    }
    scrapers.join_all().await.into_iter().collect::<Result<()>>()?;
    let metrics = Metrics::of(&host).await?;
    // The one that says so is not counted yet.
    let answered = metrics.value("wharf_http_requests_total", &json!({ "status": "200" }))?;
    ensure!(answered == f64::from(CONNECTIONS * EACH), "{answered}");
    Ok(())
}

#[tokio::test]
async fn with_an_address_of_its_own_the_main_one_says_nothing_of_the_host() -> Result<()> {
    let mut host = Setup::new().guest("basic").config("[server]\nadmin = \"127.0.0.1:0\"\n").start().await?;
    let log = host.wait_for_log("Status and metrics at http://").await?;
    let (_, rest) = log.split_once("Status and metrics at http://").context("no address")?;
    let (admin, _) = rest.split_once("/status").context("no path")?;
    for path in ["/status", "/metrics", "/healthz", "/readyz"] {
        ensure!(get(host.address(), path).await?.status == 404, "{path} at the main address");
        ensure!(get(admin, path).await?.status == 200, "{path} at its own");
    }
    ensure!(get(host.address(), "/grants").await?.status == 200, "`wharf grants` asks there");
    ensure!(get(admin, "/mcp").await?.status == 404, "the endpoint is not there");
    let mut sender = Hooks::at(admin).await?;
    for headers in [
        [("host", "evil.example.com")],
        [("host", "evil.example.com:9090")],
        [("origin", "http://evil.example.com")],
        [("origin", "http://localhost:3000")],
        [("sec-fetch-site", "cross-site")],
    ] {
        for path in ["/status", "/metrics"] {
            let answer = sender.send("GET", path, &headers, "").await?;
            ensure!(answer.status == 403 && !answer.body.contains("basic"), "{headers:?} {answer:?}");
        }
    }
    let own = format!("http://{admin}");
    ensure!(sender.send("GET", "/status", &[("origin", &own)], "").await?.status == 200, "its own page");
    ensure!(sender.send("POST", "/status", &[], "").await?.status == 405);

    let said = wharf(host.folder(), &["status", "--url", &own, "--json"]).await?;
    ensure!(said.code == 0 && said.json()?["providers"][1]["name"] == "basic", "{said:?}");
    let wrong = wharf(host.folder(), &["status", "--url", &format!("http://{}/mcp", host.address())]).await?;
    ensure!(wrong.code == 1 && wrong.stderr.contains("[server] admin"), "{wrong:?}");
    Ok(())
}

#[tokio::test]
async fn status_says_in_lines_what_there_is_and_what_to_do_where_there_is_no_host() -> Result<()> {
    let mut host = Setup::new().guest("basic").config("[[resource]]\nname = \"a\"\nuri = \"x://a\"\ntext = \"a\"\n").start().await?;
    host.wait_for_log("loaded   basic").await?;
    let _listen = listen(&host, &["x://a".into()]).await?;
    let lines = wharf(host.folder(), &["status", "--url", &format!("http://{}", host.address())]).await?.text()?;
    let rows: Vec<Vec<&str>> = lines.lines().map(|line| line.split('\t').collect()).collect();
    ensure!(rows[0][0] == "host" && rows[0][2] == "ready" && rows[0].len() == 6, "{lines}");
    ensure!(rows[1][..3] == ["provider", "wharf", "serving"] && rows[1].len() == 10, "{lines}");
    ensure!(rows[2][..3] == ["provider", "basic", "serving"] && rows[2][6] == "0", "{lines}");
    ensure!(rows[3] == ["subscription", "x://a", "1", "wharf"], "{lines}");

    let alone = wharf(host.folder(), &["status", "--url", "http://127.0.0.1:1"]).await?;
    ensure!(alone.code == 1 && alone.stderr.contains("`wharf serve`") && alone.stdout.is_empty(), "{alone:?}");
    Ok(())
}

/// The stream of what happens, as it comes.
struct Happening {
    stream: TcpStream,
    text: String,
}

impl Happening {
    async fn open(host: &Host) -> Result<Self> {
        let mut stream = TcpStream::connect(host.address()).await?;
        let request = format!("GET /events HTTP/1.1\r\nHost: {}\r\n\r\n", host.address());
        stream.write_all(request.as_bytes()).await?;
        let mut this = Self { stream, text: String::new() };
        this.until("event: hello\n", &[]).await?;
        Ok(this)
    }

    /// Waits until an event of this kind says all of these.
    async fn until(&mut self, kind: &str, says: &[&str]) -> Result<()> {
        let Self { stream, text } = self;
        let found = within(kind, async {
            loop {
                let mut events = text.split(kind).skip(1).filter_map(|event| event.split_once("\n\n"));
                if events.any(|(event, _)| says.iter().all(|said| event.contains(said))) {
                    return Ok(());
                }
                let mut piece = vec![0; 4096];
                let length = stream.read(&mut piece).await?;
                ensure!(length > 0, "it has ended");
                *text += std::str::from_utf8(&piece[..length])?;
            }
        });
        found.await.with_context(|| format!("{says:?} in {}", self.text))
    }
}

#[tokio::test]
async fn what_happens_is_told_as_it_happens() -> Result<()> {
    let config = "[[resource]]\nname = \"t\"\nuri = \"basic://text\"\ntext = \"mine\"\n";
    let mut host = Setup::new().guest("basic").guest("grants").config(config).start().await?;
    for name in ["basic", "grants"] {
        host.wait_for_log(&format!("loaded   {name}")).await?;
    }
    let mut happening = Happening::open(&host).await?;
    call(&host, "resources/read", json!({ "uri": "basic://blob" })).await?;
    let read = ["\"provider\":\"basic\"", "\"call\":\"read\"", "\"uri\":\"basic://blob\"", "\"outcome\":\"ok\"", "\"tookUs\":"];
    happening.until("event: call\n", &read).await?;
    ensure!(call(&host, "resources/read", json!({ "uri": "grants://get/key" })).await.is_err());
    happening.until("event: denied\n", &["\"provider\":\"grants\"", r#""line":"state = \"1MiB\"""#]).await?;
    let listen = listen(&host, &["basic://blob".into()]).await?;
    happening.until("event: opened\n", &["\"kind\":\"client\"", "\"peer\":\"127.0.0.1\""]).await?;
    drop(listen);
    happening.until("event: closed\n", &["\"kind\":\"client\""]).await?;
    let _session = Session::open(&host).await?;
    happening.until("event: began\n", &["\"kind\":\"session\""]).await?;
    fs::write(host.folder().join("plugins/broken.wasm"), b"no component").await?;
    happening.until("event: refused\n", &["\"provider\":\"broken\"", "\"serving\":false"]).await?;
    fs::remove_file(host.folder().join("plugins/basic.wasm")).await?;
    happening.until("event: gone\n", &["\"provider\":\"basic\""]).await?;
    Ok(())
}

#[tokio::test]
async fn the_list_names_who_is_shadowed() -> Result<()> {
    let config = "[[resource]]\nname = \"t\"\nuri = \"basic://text\"\ntext = \"mine\"\n";
    let mut host = Setup::new().guest("basic").config(config).start().await?;
    host.wait_for_log("loaded   basic").await?;
    let list: Value = serde_json::from_str(&get(host.address(), "/resources").await?.body)?;
    let text = &list["resources"][0];
    ensure!(text["uri"] == "basic://text" && text["provider"] == "wharf" && text["shadowed"] == json!(["basic"]), "{list}");
    let read: Value = serde_json::from_str(&get(host.address(), "/read?uri=basic://text").await?.body)?;
    ensure!(read["contents"][0]["text"] == "mine", "{read}");
    Ok(())
}
