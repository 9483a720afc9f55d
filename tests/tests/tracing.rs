//! Tracing: whose traces are continued, what is below a request, what a collector that fails costs, and what it never gets.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use wharf_tests::{Answer, Collector, Hooks, Host, Pipe, Session, Setup, Spans, attribute, call, refused, within};

const URI: &str = "live://ticks";
/// Of many spans a queue is full: the host keeps 8,192, and has a batch of 512 under way.
const MORE_THAN_FITS: usize = 10_000;
/// Entries of a batch, each a request.
const BATCH: usize = 64;

/// `n` tells traces apart.
fn traceparent(n: u8) -> String {
    format!("00-4bf92f3577b34da6a3ce929d0e0e47{n:02x}-00f067aa0ba902b7-01")
}

fn read(uri: &str, meta: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": "r", "method": "resources/read", "params": { "uri": uri, "_meta": meta } })
}

/// `_meta` of the modern era, and what there is to add to it.
fn modern(more: &Value) -> Value {
    let mut meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} });
    for (key, value) in more.as_object().into_iter().flatten() {
        meta[key] = value.clone();
    }
    meta
}

async fn post(host: &Host, headers: &[(&str, &str)], message: &Value) -> Result<Answer> {
    let always = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
    let answer = Hooks::connect(host).await?.send("POST", "/mcp", &[&always, headers].concat(), message.to_string()).await?;
    ensure!(answer.status == 200, "{answer:?}");
    Ok(answer)
}

async fn post_modern(host: &Host, headers: &[(&str, &str)], uri: &str, meta: &Value) -> Result<()> {
    let modern_headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "resources/read"), ("mcp-name", uri)];
    let answer = post(host, &[&modern_headers, headers].concat(), &read(uri, &modern(meta))).await?;
    ensure!(answer.body.contains("\"contents\""), "{answer:?}");
    Ok(())
}

async fn loaded(setup: Setup, name: &str) -> Result<Host> {
    let mut host = setup.start().await?;
    host.wait_for_log(&format!("loaded   {name}")).await?;
    Ok(host)
}

/// The read in this trace, below the span that the client names, with its call below it.
fn continued(spans: &Spans, n: u8, parent: bool) -> Option<(Value, Value)> {
    let context = traceparent(n);
    let reads = spans.with("resources/read", "mcp.resource.uri", URI);
    let read = reads.into_iter().find(|read| read["traceId"] == context[3..35] && (read["parentSpanId"] == context[36..52]) == parent)?;
    let call = spans.below(&read, "read")?;
    Some((read, call))
}

#[tokio::test]
async fn a_trace_is_continued_over_http_and_pipes_and_attached_in_both_eras() -> Result<()> {
    let mut collector = Collector::start().await?;
    let host = loaded(Setup::new().guest("live").config(&collector.config()), "live").await?;
    let given = |n: u8| json!({ "traceparent": traceparent(n), "tracestate": format!("n={n}"), "baggage": "secret=1" });
    post_modern(&host, &[], URI, &given(1)).await?;
    let session = Session::open(&host).await?;
    session.call("resources/read", json!({ "uri": URI, "_meta": given(2) })).await?;

    let mut pipe = Pipe::run(host.folder(), &["--config", "wharf.toml"])?;
    pipe.call("m", "resources/read", json!({ "uri": URI, "_meta": modern(&given(3)) })).await?;
    let initialize = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    pipe.call("i", "initialize", initialize.clone()).await?;
    pipe.call("l", "resources/read", json!({ "uri": URI, "_meta": given(4) })).await?;
    pipe.end().await?;

    let mut attached = Pipe::run(host.folder(), &["--attach", &host.url()])?;
    attached.call("m", "resources/read", json!({ "uri": URI, "_meta": modern(&given(5)) })).await?;
    attached.call("i", "initialize", initialize).await?;
    attached.call("l", "resources/read", json!({ "uri": URI, "_meta": given(6) })).await?;

    for n in 1..=6 {
        let (read, call) = collector.wait(&format!("the trace {n}"), |spans| continued(spans, n, true)).await?;
        let piped = n == 3 || n == 4;
        ensure!(read["kind"] == 2 && read["traceState"] == format!("n={n}"), "{read:#}");
        ensure!(attribute(&read, "mcp.method.name") == "resources/read", "{read:#}");
        ensure!(attribute(&read, "network.transport") == if piped { "pipe" } else { "tcp" }, "{read:#}");
        ensure!(attribute(&read, "client.address") == if piped { "" } else { "127.0.0.1" }, "{read:#}");
        ensure!(attribute(&read, "mcp.protocol.version") == if n % 2 == 1 { "2026-07-28" } else { "2025-11-25" }, "{read:#}");
        ensure!(attribute(&read, "mcp.session.id").len() == if n % 2 == 1 { 0 } else { 16 }, "{read:#}");
        ensure!(attribute(&call, "wharf.provider.name") == "live" && attribute(&call, "wharf.provider.generation") == "1", "{call:#}");
        ensure!(attribute(&call, "wharf.call.outcome") == "ok" && !attribute(&call, "wharf.call.wait_us").is_empty(), "{call:#}");
        ensure!(read["status"] == Value::Null && call["status"] == Value::Null, "{read:#} {call:#}");
    }
    let text = collector.spans()?.text;
    ensure!(!text.contains("secret") && !text.contains("baggage"), "{text}");
    Ok(())
}

#[tokio::test]
async fn a_header_names_the_trace_where_meta_does_not_and_what_is_malformed_names_none() -> Result<()> {
    let mut collector = Collector::start().await?;
    let host = loaded(Setup::new().guest("live").config(&collector.config()), "live").await?;
    let header = traceparent(1);
    let beside = [("traceparent", &*header), ("tracestate", "a=1"), ("tracestate", "b=2")];
    post_modern(&host, &beside, URI, &json!({})).await?;
    let (read, _) = collector.wait("the header's trace", |spans| continued(spans, 1, true)).await?;
    ensure!(read["traceState"] == "a=1,b=2" && read["links"] == Value::Null, "{read:#}");
    // The message's own goes first, and the other is a link.
    post_modern(&host, &beside, URI, &json!({ "traceparent": traceparent(2) })).await?;
    let (read, _) = collector.wait("the message's trace", |spans| continued(spans, 2, true)).await?;
    ensure!(read["links"][0]["traceId"] == header[3..35] && read["traceState"] == Value::Null, "{read:#}");
    let zeros = format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32));
    for wrong in [&traceparent(3).to_uppercase(), &traceparent(3)[1..], &zeros, "", "ü"] {
        post_modern(&host, &[("traceparent", "00-nonsense")], URI, &json!({ "traceparent": wrong, "tracestate": "a=1" })).await?;
    }
    post_modern(&host, &[], URI, &json!({ "traceparent": ["not", "text"] })).await?;
    let begun = |spans: &Spans| {
        let reads = spans.with("resources/read", "mcp.resource.uri", URI);
        let own: Vec<_> = reads.into_iter().filter(|read| read["parentSpanId"] == Value::Null).collect();
        (own.len() == 6).then_some(own)
    };
    let own = collector.wait("traces that begin here", begun).await?;
    ensure!(own.iter().all(|read| read["traceState"] == Value::Null), "{own:#?}");
    Ok(())
}

#[tokio::test]
async fn a_read_that_fetches_has_its_call_and_its_fetch_below_it_and_no_secret() -> Result<()> {
    let mut collector = Collector::start().await?;
    let web = Collector::answering(418).await?;
    let port = web.config().rsplit_once(':').context("no port")?.1.trim_matches(['"', '\n']).to_owned();
    let grants = format!("[[provider]]\nname = \"fetcher\"\ngrants = {{ hosts = [\"localhost:{port}\"] }}\n");
    let host = loaded(Setup::new().guest("fetcher").config(&collector.config()).config(&grants), "fetcher").await?;
    // Of the URL that is fetched nothing is told but the origin; what a client asks for is.
    let uri = format!("fetch://start/one/http://localhost:{port}/traces/hidden");
    call(&host, "resources/read", json!({ "uri": uri })).await?;
    let (call, fetch) = collector
        .wait("the fetch", |spans| {
            let read = spans.with("resources/read", "mcp.resource.uri", &uri).pop()?;
            let call = spans.below(&read, "read")?;
            let fetch = spans.below(&call, "GET")?;
            Some((call, fetch))
        })
        .await?;
    ensure!(attribute(&call, "wharf.call.uri") == uri, "{call:#}");
    ensure!(fetch["kind"] == 3 && fetch["status"]["code"] == 2, "{fetch:#}");
    for (key, value) in
        [("server.address", "localhost"), ("server.port", &*port), ("url.scheme", "http"), ("wharf.provider.name", "fetcher")]
    {
        ensure!(attribute(&fetch, key) == value, "{key}: {fetch:#}");
    }
    ensure!(attribute(&fetch, "http.response.status_code") == "404" && attribute(&fetch, "error.type") == "404", "{fetch:#}");
    ensure!(!fetch.to_string().contains("hidden") && !fetch.to_string().contains("traces"), "{fetch:#}");
    let text = collector.spans()?.text;
    ensure!(!text.contains("Bearer") && !text.contains("\"done\""), "{text}");
    // What arrived is a call of its own, in a trace of its own.
    let told = collector.wait("the handler", |spans| spans.with("fetch-handler.fetched", "wharf.provider.name", "fetcher").pop()).await?;
    ensure!(told["parentSpanId"] == Value::Null, "{told:#}");
    Ok(())
}

#[tokio::test]
async fn an_error_is_told_by_its_code_and_what_clients_make_up_names_no_span() -> Result<()> {
    let mut collector = Collector::start().await?;
    let host = loaded(Setup::new().guest("live").config(&collector.config()), "live").await?;
    let long = format!("nobody://{}", "x".repeat(2000));
    refused(&host, "resources/read", json!({ "uri": long })).await?;
    refused(&host, &"y".repeat(2000), json!({})).await?;
    let read = collector.wait("the read", |spans| spans.with("resources/read", "mcp.resource.uri", &long[..512]).pop()).await?;
    let other = collector.wait("the other", |spans| spans.with("mcp request", "mcp.method.name", &"y".repeat(64)).pop()).await?;
    for (span, code) in [(&read, "-32602"), (&other, "-32601")] {
        ensure!(span["status"] == json!({ "code": 2 }), "{span:#}");
        ensure!(attribute(span, "error.type") == code && attribute(span, "rpc.response.status_code") == code, "{span:#}");
    }
    ensure!(!collector.spans()?.text.contains("not found"), "a message");
    Ok(())
}

#[tokio::test]
async fn tools_have_spans_of_their_own_names_and_a_call_that_waits_lasts_as_long() -> Result<()> {
    let mut collector = Collector::start().await?;
    let host = loaded(Setup::new().guest("live").config(&collector.config()).config("[tools]\nenabled = true\n"), "live").await?;
    let session = Session::open(&host).await?;
    session.call("tools/call", json!({ "name": "read_resource", "arguments": { "uri": URI } })).await?;
    session.call("tools/call", json!({ "name": "read_resource", "arguments": { "uri": "nobody://x" } })).await?;
    session.refused("tools/call", json!({ "name": "rm -rf", "arguments": {} })).await?;
    let named = |name: &'static str| {
        move |spans: &Spans| {
            let calls = spans.with("tools/call read_resource", "gen_ai.tool.name", "read_resource");
            calls.into_iter().find(|span| attribute(span, "error.type") == name)
        }
    };
    let read = collector.wait("a call", named("")).await?;
    ensure!(collector.spans()?.below(&read, "read").is_some() && attribute(&read, "gen_ai.operation.name") == "execute_tool", "{read:#}");
    let failed = collector.wait("a call that fails", named("tool_error")).await?;
    ensure!(failed["status"]["code"] == 2, "{failed:#}");
    collector.wait("a call of no tool", |spans| spans.with("tools/call", "error.type", "-32602").pop()).await?;
    Ok(())
}

async fn metric(host: &Host, name: &str) -> Result<u64> {
    let metrics = Hooks::at(host.address()).await?.send("GET", "/metrics", &[], "").await?.body;
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    Ok(line.with_context(|| format!("no {name}: {metrics}"))?.parse()?)
}

#[tokio::test]
async fn reads_go_on_while_the_collector_hangs_and_what_does_not_fit_is_dropped_and_counted() -> Result<()> {
    let mut collector = Collector::hanging().await?;
    let config = collector.config() + "shutdown-time = \"2s\"\n";
    let host = loaded(Setup::new().guest("live").config(&config), "live").await?;
    let session = batching(&host).await?;
    let mut sender = Hooks::connect(&host).await?;
    let batch: Vec<Value> =
        (0..BATCH).map(|n| json!({ "jsonrpc": "2.0", "id": n, "method": "resources/read", "params": { "uri": URI } })).collect();
    let batch = Value::from(batch).to_string();
    let headers = [("content-type", "application/json"), ("accept", "application/json, text/event-stream"), ("mcp-session-id", &*session)];
    for _ in 0..MORE_THAN_FITS.div_ceil(BATCH) {
        let answer = sender.send("POST", "/mcp", &headers, batch.clone()).await?;
        ensure!(answer.body.matches("\"contents\"").count() == BATCH, "{answer:?}");
    }
    collector.wait_for_requests(1).await?;
    let dropped = metric(&host, "wharf_spans_dropped_total").await?;
    ensure!(dropped > 0 && metric(&host, "wharf_spans_exported_total").await? == 0, "{dropped}");
    let (status, log) = host.end("TERM").await?;
    ensure!(status.code() == Some(0) && log.contains("these are lost") && !log.contains("cut off"), "{status}; the host said:\n{log}");
    Ok(())
}

/// A session of 2025-03-26, which has batches.
async fn batching(host: &Host) -> Result<String> {
    let params = json!({ "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let answer = post(host, &[], &json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })).await?;
    Ok(answer.headers.get("mcp-session-id").context("no session")?.to_str()?.to_owned())
}

#[tokio::test]
async fn what_was_done_last_is_brought_out_at_sigterm() -> Result<()> {
    let collector = Collector::start().await?;
    let host = loaded(Setup::new().guest("live").config(&collector.config()), "live").await?;
    let context = traceparent(7);
    post_modern(&host, &[], URI, &json!({ "traceparent": context })).await?;
    let (status, log) = host.end("TERM").await?;
    ensure!(status.code() == Some(0), "{status}; the host said:\n{log}");
    ensure!(continued(&collector.spans()?, 7, true).is_some(), "it was lost: {}", collector.spans()?.text);
    Ok(())
}

#[tokio::test]
async fn a_collector_that_takes_nothing_is_said_once_and_that_it_takes_again_too() -> Result<()> {
    let mut collector = Collector::answering(400).await?;
    let mut host = loaded(Setup::new().guest("live").config(&collector.config()), "live").await?;
    for refused in 1..=3 {
        post_modern(&host, &[], URI, &json!({})).await?;
        collector.wait_for_requests(refused).await?;
    }
    let log = host.wait_for_log("does not take spans").await?;
    ensure!(log.matches("the collector").count() == 1 && log.contains("400"), "{log}");
    collector.answer(200);
    post_modern(&host, &[], URI, &json!({})).await?;
    let log = host.wait_for_log("takes spans again").await?;
    ensure!(log.matches("the collector").count() == 2, "{log}");
    Ok(())
}

#[tokio::test]
async fn a_host_whose_collector_is_not_there_serves_all_the_same() -> Result<()> {
    let closed = TcpListener::bind("127.0.0.1:0").await?.local_addr()?;
    let mut host = loaded(Setup::new().guest("live").config(&format!("[server]\notlp = \"http://{closed}\"\n")), "live").await?;
    post_modern(&host, &[], URI, &json!({})).await?;
    host.wait_for_log("does not take spans: no connection").await?;
    let (status, _) = host.end("TERM").await?;
    ensure!(status.code() == Some(0), "{status}");
    Ok(())
}

#[tokio::test]
async fn the_log_has_no_spans_and_metrics_tell_of_them_only_where_they_are_brought_out() -> Result<()> {
    let mut collector = Collector::start().await?;
    let folder = Setup::new().guest("live").config(&collector.config()).prepare().await?;
    let mut pipe = Pipe::run(folder.path(), &["--config", "wharf.toml", "--log", "wharf=trace"])?;
    pipe.call("m", "resources/read", json!({ "uri": URI, "_meta": modern(&json!({ "traceparent": traceparent(8) })) })).await?;
    collector.wait("the read", |spans| continued(spans, 8, true)).await?;
    let (_, log) = pipe.end().await?;
    ensure!(log.contains("read") && !log.contains("mcp.request") && !log.contains("wharf.call"), "{log}");
    let host = loaded(Setup::new().guest("live"), "live").await?;
    let metrics = within("metrics", async { Hooks::at(host.address()).await?.send("GET", "/metrics", &[], "").await }).await?.body;
    ensure!(!metrics.contains("wharf_spans"), "{metrics}");
    Ok(())
}
