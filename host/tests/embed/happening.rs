//! What happens in a host in this process, and what its page asks for.

use std::time::Duration;

use axum::{
    body::{Body, BodyDataStream, to_bytes},
    http::{Request, StatusCode},
};
use futures_util::StreamExt;
use serde_json::{Value, json};
use tower_service::Service;
use wharf::{admin::READERS, catalog::Caller, host::Host, provider::Error, transport::http::HttpSettings};

use super::host;

/// A hang is a failure.
const HANG: Duration = Duration::from_secs(30);

async fn ask(host: &Host, path: &str) -> (StatusCode, Body) {
    let mut service = host.admin_service(HttpSettings::default());
    let request = Request::get(path).header("host", "localhost").body(Body::empty()).unwrap();
    let response = service.call(request).await.unwrap();
    (response.status(), response.into_body())
}

async fn json_at(host: &Host, path: &str) -> (u16, Value) {
    let (status, body) = ask(host, path).await;
    (status.as_u16(), serde_json::from_slice(&to_bytes(body, 1 << 20).await.unwrap()).unwrap())
}

struct Events(BodyDataStream);

impl Events {
    async fn open(host: &Host, query: &str) -> Self {
        let (status, body) = ask(host, &format!("/events{query}")).await;
        assert_eq!(status, StatusCode::OK);
        let mut events = Self(body.into_data_stream());
        let (kind, hello) = events.next().await.unwrap();
        assert!(kind == "hello" && hello["version"] == env!("CARGO_PKG_VERSION") && hello["started"].is_string(), "{kind} {hello}");
        events
    }

    /// The next one: its kind, and what it says.
    async fn next(&mut self) -> Option<(String, Value)> {
        let event = tokio::time::timeout(HANG, self.0.next()).await.expect("nothing happens")?.unwrap();
        let text = std::str::from_utf8(&event).unwrap();
        let (kind, data) = text.strip_prefix("event: ").unwrap().split_once("\ndata: ").unwrap();
        let data: Value = serde_json::from_str(data).unwrap();
        assert!(data["at"].as_str().is_some_and(|at| at.ends_with('Z')), "{data}");
        Some((kind.to_owned(), data))
    }

    /// The next of this kind.
    async fn of(&mut self, kind: &str) -> Value {
        loop {
            let (found, data) = self.next().await.expect("it has ended");
            if found == kind {
                return data;
            }
        }
    }
}

#[tokio::test]
async fn an_update_is_told_and_what_is_shown_is_watched_for_as_long_as_the_stream_is_open() {
    let host = host().await;
    let resource = host.resource("a").uri("app://a").read(|_| async { Ok("text") }).unwrap();
    let mut events = Events::open(&host, "?watch=app%3A%2F%2Fa&watch=x:other").await;
    assert_eq!(host.subscribed().await, [("app://a".into(), 1), ("x:other".into(), 1)]);
    resource.notify_updated();
    let updated = events.of("updated").await;
    assert_eq!((&updated["provider"], &updated["uri"]), (&json!("wharf"), &json!("app://a")));
    host.resource("b").read(|_| async { Ok("") }).unwrap();
    drop(events);
    assert!(host.subscribed().await.is_empty());
}

#[tokio::test]
async fn the_streams_end_with_the_host_and_only_so_many_may_be_open() {
    let host = host().await;
    let mut readers = Vec::new();
    for _ in 0..READERS {
        readers.push(Events::open(&host, "").await);
    }
    assert_eq!(ask(&host, "/events").await.0, StatusCode::SERVICE_UNAVAILABLE);
    readers.pop();
    readers.push(Events::open(&host, "").await);
    host.end_streams();
    for mut reader in readers {
        assert!(reader.next().await.is_none());
    }
}

#[tokio::test]
async fn what_cannot_be_watched_is_refused() {
    let host = host().await;
    assert_eq!(ask(&host, "/events?watch=no%20uri").await.0, StatusCode::BAD_REQUEST);
    let many = (0..101).map(|n| format!("watch=x:{n}")).collect::<Vec<_>>().join("&");
    assert_eq!(ask(&host, &format!("/events?{many}")).await.0, StatusCode::BAD_REQUEST);
    assert!(host.subscribed().await.is_empty(), "and leaves nothing behind");
}

#[tokio::test]
async fn a_resource_is_read_as_any_client_reads_it() {
    let host = host().await;
    host.resource("t").uri("app://t").mime_type("text/x-a").read(|_| async { Ok("<script>") }).unwrap();
    host.resource("b").uri("app://b").read(|_| async { Ok(vec![0_u8, 255, 1]) }).unwrap();
    let busy = |_| async { Err::<String, _>(Error::Unavailable { message: "later".into(), retry_after: Some(Duration::from_secs(2)) }) };
    host.resource("u").uri("app://u").read(busy).unwrap();
    host.resource("f").uri("app://f").read(|_| async { Err::<String, _>(Error::Failed("broken".into())) }).unwrap();
    let text = json!({ "uri": "app://t", "ttlMs": 0, "contents": [{ "uri": "app://t", "mimeType": "text/x-a", "text": "<script>" }] });
    assert_eq!(json_at(&host, "/read?uri=app%3A%2F%2Ft").await, (200, text));
    let (_, blob) = json_at(&host, "/read?uri=app://b").await;
    assert_eq!(blob["contents"][0]["blob"], "AP8B");
    for (path, status, kind, provider, retry) in [
        ("/read?uri=app://nowhere", 404, "not-found", Value::Null, Value::Null),
        ("/read?uri=no%20uri", 400, "invalid-uri", Value::Null, Value::Null),
        ("/read", 400, "invalid-uri", Value::Null, Value::Null),
        ("/read?uri=app://u", 503, "unavailable", json!("wharf"), json!(2000)),
        ("/read?uri=app://f", 502, "failed", json!("wharf"), Value::Null),
    ] {
        let (code, said) = json_at(&host, path).await;
        let error = &said["error"];
        assert_eq!((code, &error["kind"], &error["provider"], &error["retryAfterMs"]), (status, &json!(kind), &provider, &retry), "{path}");
    }
}

#[tokio::test]
async fn the_list_has_everything_with_its_owner() {
    let host = host().await;
    host.resource("a").uri("app://a").title("A & B").read(|_| async { Ok("") }).unwrap();
    host.template("t", "app://t/{x}").read(|_| async { Ok("") }).unwrap();
    let _ = host.catalog().resources(&Caller::anyone(), None).await;
    let (code, list) = json_at(&host, "/resources").await;
    let resource = &list["resources"][0];
    assert_eq!((code, &resource["uri"], &resource["title"]), (200, &json!("app://a"), &json!("A & B")));
    assert_eq!((&resource["provider"], &resource["shadowed"]), (&json!("wharf"), &json!([])));
    assert_eq!((&list["templates"][0]["uriTemplate"], &list["templates"][0]["provider"]), (&json!("app://t/{x}"), &json!("wharf")));
    let before = list["catalog"].as_u64().unwrap();
    host.resource("b").read(|_| async { Ok("") }).unwrap();
    let (_, list) = json_at(&host, "/resources").await;
    assert!(list["resources"].as_array().unwrap().len() == 2 && list["catalog"].as_u64().unwrap() > before);
}
