//! From spans of `tracing` to a collector that says what it is told to.

use std::{collections::VecDeque, convert::Infallible, sync::Arc};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    sync::mpsc,
    time::{Instant, timeout},
};
use tokio_rustls::TlsAcceptor;
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::{Layer, layer::SubscriberExt, util::SubscriberInitExt};

use super::*;
use crate::{
    config::Endpoint,
    trace::{Export, TARGET, TraceContext, Trail},
};

/// More than anything here takes.
const LIMIT: Duration = Duration::from_secs(30);
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// A status, a header, a body.
type Said = (u16, Option<(&'static str, &'static str)>, &'static str);
const WELL: Said = (200, None, "{}");

struct Collector {
    port: u16,
    heard: mpsc::UnboundedReceiver<(HeaderMap, Value)>,
}

impl Collector {
    /// Says this, and then that all is well.
    async fn start(says: &[Said], tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (hears, heard) = mpsc::unbounded_channel();
        let says = Arc::new(Mutex::new(VecDeque::from(says.to_vec())));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (hears, says) = (hears.clone(), says.clone());
                match tls.clone() {
                    None => drop(tokio::spawn(serve(stream, hears, says))),
                    Some(tls) => drop(tokio::spawn(async move { serve(tls.accept(stream).await.unwrap(), hears, says).await })),
                }
            }
        });
        Self { port, heard }
    }

    fn endpoint(&self) -> Option<Endpoint> {
        Endpoint::parse(&format!("http://127.0.0.1:{}", self.port)).ok()
    }

    /// The next request.
    async fn request(&mut self) -> (HeaderMap, Value) {
        timeout(LIMIT, self.heard.recv()).await.unwrap().unwrap()
    }

    async fn spans(&mut self) -> Vec<Value> {
        let (_, request) = self.request().await;
        request["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone()
    }
}

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    hears: mpsc::UnboundedSender<(HeaderMap, Value)>,
    says: Arc<Mutex<VecDeque<Said>>>,
) {
    let answer = |request: Request<Incoming>| {
        let (hears, says) = (hears.clone(), says.clone());
        async move {
            assert_eq!(request.uri().path(), "/v1/traces");
            let headers = request.headers().clone();
            let body = request.into_body().collect().await.unwrap().to_bytes();
            let _ = hears.send((headers, serde_json::from_slice(&body).unwrap()));
            let (status, header, body) = says.lock().pop_front().unwrap_or(WELL);
            let mut response = Response::builder().status(status);
            if let Some((name, value)) = header {
                response = response.header(name, value);
            }
            Ok::<_, Infallible>(response.body(Full::new(Bytes::from(body))).unwrap())
        }
    };
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer)).await;
}

/// Spans of this thread go to this collector, as long as what comes with them is kept.
fn exporting(server: &Server) -> (Arc<Exporter>, DefaultGuard) {
    let (spans, wanted, tap) = layer();
    let guard = tracing_subscriber::registry().with(spans.with_filter(wanted)).set_default();
    (tap.start(server).unwrap().unwrap(), guard)
}

fn to(collector: &Collector) -> Server {
    Server { otlp: collector.endpoint(), ..Server::default() }
}

async fn finished(exporter: &Exporter) -> (u64, u64) {
    exporter.finish(Instant::now() + LIMIT).await;
    (exporter.counts().exported(), exporter.counts().dropped())
}

fn request_span(parent: Option<&str>, link: Option<&str>) -> tracing::Span {
    tracing::info_span!(
        target: TARGET,
        "mcp.request",
        otel.name = "resources/read",
        otel.kind = "server",
        otel.status_code = tracing::field::Empty,
        trace.parent = parent,
        trace.state = parent.map(|_| "a=1"),
        trace.link = link,
        mcp.resource.uri = "x://a",
    )
}

fn attribute<'a>(span: &'a Value, key: &str) -> &'a Value {
    let attributes = span["attributes"].as_array().unwrap();
    attributes.iter().find(|attribute| attribute["key"] == key).map_or(&Value::Null, |attribute| &attribute["value"])
}

#[tokio::test]
async fn spans_go_out_as_otlp_has_them() {
    let mut collector = Collector::start(&[], None).await;
    let headers = BTreeMap::from([("x-key".to_owned(), OtlpHeader::Text("k".into()))]);
    let (exporter, _guard) = exporting(&Server { otlp_headers: headers, ..to(&collector) });
    let link = PARENT.replace("4bf9", "0af7");
    let request = request_span(Some(PARENT), Some(&link));
    request.in_scope(|| {
        let trail = Trail::new("basic", 3, "read", Some("x://a"));
        trail.begins().in_scope(|| trail.ended("trap", true));
    });
    drop(request);
    let (headers, sent) = collector.request().await;
    assert_eq!((&headers["content-type"], &headers["x-key"]), (&"application/json".parse().unwrap(), &"k".parse().unwrap()));
    let of_resource = &sent["resourceSpans"][0]["resource"];
    assert_eq!(attribute(of_resource, "service.name")["stringValue"], "wharf");
    let spans = sent["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    let [call, request] = &spans[..] else { panic!("{sent}") };
    assert_eq!((&request["name"], &request["kind"], &request["flags"]), (&json!("resources/read"), &json!(2), &json!(0x301)));
    assert_eq!((&request["traceId"], &request["parentSpanId"]), (&json!(PARENT[3..35]), &json!(PARENT[36..52])));
    assert_eq!((&request["traceState"], &request["links"][0]["traceId"]), (&json!("a=1"), &json!(link[3..35])));
    assert_eq!(request["attributes"], json!([{ "key": "mcp.resource.uri", "value": { "stringValue": "x://a" } }]));
    assert_eq!(request["status"], Value::Null);
    assert_eq!((&call["traceId"], &call["parentSpanId"], &call["flags"]), (&request["traceId"], &request["spanId"], &json!(0x101)));
    assert_eq!((&call["status"]["code"], &call["kind"]), (&json!(2), &json!(1)));
    assert_eq!(attribute(call, "wharf.provider.generation")["intValue"], "3");
    assert_eq!(attribute(call, "wharf.call.outcome")["stringValue"], "trap");
    assert!(attribute(call, "wharf.call.wait_us")["intValue"].is_string());
    let nanos = |span: &Value, field: &str| span[field].as_str().unwrap().parse::<u128>().unwrap();
    assert!(nanos(request, "startTimeUnixNano") <= nanos(request, "endTimeUnixNano"));
    assert_eq!(finished(&exporter).await, (2, 0));
}

#[tokio::test]
async fn a_span_ends_with_its_work_though_one_below_it_goes_on() {
    let mut collector = Collector::start(&[], None).await;
    let (exporter, _guard) = exporting(&to(&collector));
    let request = request_span(None, None);
    let below = request.in_scope(|| Trail::new("basic", 1, "read", None));
    drop(request);
    let between = Instant::now();
    while between.elapsed() < Duration::from_millis(2) {
        tokio::task::yield_now().await;
    }
    drop(below);
    assert_eq!(finished(&exporter).await, (2, 0));
    let spans = collector.spans().await;
    let end =
        |name: &str| spans.iter().find(|span| span["name"] == name).unwrap()["endTimeUnixNano"].as_str().unwrap().parse::<u128>().unwrap();
    assert!(end("resources/read") + 1_000_000 < end("read"), "{spans:?}");
}

#[tokio::test]
async fn whoever_sent_the_request_decides_whether_it_is_recorded_and_else_the_ratio_does() {
    let mut collector = Collector::start(&[], None).await;
    let (exporter, _guard) = exporting(&Server { otlp_ratio: Some(0.0), ..to(&collector) });
    for parent in [None, Some(PARENT.replace("-01", "-00")), Some("00-nonsense".to_owned()), Some(PARENT.to_owned())] {
        request_span(parent.as_deref(), None).in_scope(|| drop(Trail::new("basic", 1, "read", None)));
    }
    assert_eq!(finished(&exporter).await, (2, 0));
    let spans = collector.spans().await;
    assert!(spans.iter().all(|span| span["traceId"] == PARENT[3..35]), "{spans:?}");
}

#[tokio::test]
async fn each_trace_that_begins_here_has_an_id_of_its_own() {
    let mut collector = Collector::start(&[], None).await;
    let (exporter, _guard) = exporting(&to(&collector));
    drop((request_span(None, None), request_span(None, None)));
    assert_eq!(finished(&exporter).await, (2, 0));
    let spans = collector.spans().await;
    assert_ne!(spans[0]["traceId"], spans[1]["traceId"]);
    assert_eq!(spans[0]["parentSpanId"], Value::Null);
    let context = format!("00-{}-{}-01", spans[0]["traceId"].as_str().unwrap(), spans[0]["spanId"].as_str().unwrap());
    assert!(context.parse::<TraceContext>().is_ok(), "{context}");
}

#[tokio::test]
async fn what_is_asked_to_come_later_comes_again_and_what_is_refused_does_not() {
    let says = [(429, Some(("retry-after", "0")), ""), (503, Some(("retry-after", "0")), ""), WELL, (400, None, "no")];
    let mut collector = Collector::start(&says, None).await;
    let (exporter, _guard) = exporting(&to(&collector));
    drop(request_span(None, None));
    let first = collector.spans().await;
    assert_eq!((collector.spans().await, collector.spans().await), (first.clone(), first));
    drop(request_span(None, None));
    collector.spans().await;
    drop(request_span(None, None));
    assert_eq!(finished(&exporter).await, (2, 1));
}

#[tokio::test]
async fn what_is_taken_in_part_is_counted_so() {
    let says = [(200, None, r#"{"partialSuccess":{"rejectedSpans":"1","errorMessage":"too old"}}"#)];
    let collector = Collector::start(&says, None).await;
    let (exporter, _guard) = exporting(&to(&collector));
    drop((request_span(None, None), request_span(None, None)));
    assert_eq!(finished(&exporter).await, (1, 1));
}

#[tokio::test]
async fn past_the_queue_spans_are_dropped_and_nothing_waits() {
    // It takes connections, and says nothing.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = Endpoint::parse(&format!("http://{}", listener.local_addr().unwrap())).ok();
    let (exporter, _guard) = exporting(&Server { otlp: endpoint, ..Server::default() });
    let made = QUEUE + 10;
    for _ in 0..made {
        drop(request_span(None, None));
    }
    assert_eq!(exporter.counts().dropped(), 10);
    let _taken = timeout(LIMIT, listener.accept()).await.unwrap().unwrap();
    for _ in 0..BATCH {
        drop(request_span(None, None));
    }
    assert_eq!(exporter.counts().dropped(), 10, "a batch is under way");
    exporter.finish(Instant::now()).await;
    assert_eq!((exporter.counts().exported(), exporter.counts().dropped()), (0, (made + BATCH) as u64));
    let unwanted = async {
        while crate::trace::is_wanted() {
            // Another test that ends its own at this moment may have looked before this one had ended.
            tracing::callsite::rebuild_interest_cache();
            tokio::task::yield_now().await;
        }
    };
    timeout(LIMIT, unwanted).await.expect("spans are still collected");
}

#[tokio::test]
async fn a_collector_may_be_reached_by_tls() {
    let key = rcgen::generate_simple_self_signed(["localhost".into()]).unwrap();
    let (certificate, private) = (key.cert.der().clone(), key.signing_key.serialize_der().try_into().unwrap());
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], private)
        .unwrap();
    let mut collector = Collector::start(&[], Some(TlsAcceptor::from(Arc::new(config)))).await;
    let endpoint = Endpoint::parse(&format!("https://localhost:{}", collector.port)).unwrap();
    let client = Client::new(endpoint.clone(), HeaderMap::new(), Some(client_config(vec![certificate]).unwrap()));
    let answer = client.send(Bytes::from_static(b"{}")).await;
    assert_eq!(answer, client::Answer::Taken { rejected: 0, why: String::new() });
    assert_eq!(collector.request().await.1, json!({}));
    let distrusting = Client::new(endpoint, HeaderMap::new(), Some(client_config(Vec::new()).unwrap()));
    let answer = distrusting.send(Bytes::from_static(b"{}")).await;
    assert!(matches!(&answer, client::Answer::Later(why, None) if why.starts_with("no TLS")), "{answer:?}");
}

#[test]
fn a_header_that_cannot_be_read_is_named() {
    let refused = |name: &str, value: OtlpHeader| headers(&BTreeMap::from([(name.to_owned(), value)])).unwrap_err().to_string();
    let error = refused("authorization", OtlpHeader::Secret(crate::config::grants::Secret::Env("WHARF_NOT_SET".into())));
    assert_eq!(error, "[server] otlp-headers: authorization: the variable WHARF_NOT_SET is not set where the host was started");
    assert!(refused("a b", OtlpHeader::Text("x".into())).contains("no name for a header"));
    assert!(refused("a", OtlpHeader::Text("x\ny".into())).contains("its value"));
}
