//! What a host in this process says of itself.

use axum::{
    body::{Body, to_bytes},
    http::{Request, StatusCode},
};
use serde_json::Value;
use tower_service::Service;
use wharf::{admin::Status, catalog::Caller, host::Host, transport::http::HttpSettings};

use super::{host, updated};

/// What a GET with these headers is answered at the address of its own.
async fn get(host: &Host, path: &str, headers: &[(&str, &str)]) -> (StatusCode, String) {
    let bind = Some("127.0.0.1:9090".parse().unwrap());
    let mut service = host.admin_service(HttpSettings { bind, ..HttpSettings::default() });
    let mut request = Request::get(path);
    if !headers.iter().any(|(name, _)| *name == "host") {
        request = request.header("host", "127.0.0.1:9090");
    }
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value)).body(Body::empty()).unwrap();
    let response = service.call(request).await.unwrap();
    assert_eq!(response.headers()["cache-control"], "no-store");
    let status = response.status();
    (status, String::from_utf8(to_bytes(response.into_body(), 1 << 20).await.unwrap().to_vec()).unwrap())
}

/// The value of a metric without labels.
async fn metric(host: &Host, name: &str) -> u64 {
    // Past the time for which a text is kept.
    tokio::time::sleep(wharf::admin::metrics::KEPT).await;
    let (_, text) = get(host, "/metrics", &[]).await;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
}

#[tokio::test]
async fn a_host_without_providers_is_well_and_names_what_is_registered() {
    let host = host().await;
    host.resource("a").uri("app://a").read(|_| async { Ok("text") }).unwrap();
    host.resources().await;
    let listener = host.subscriptions().listen(Caller::anyone(), false);
    listener.subscribe(vec!["app://a".into(), "app://nobody".into()]).await.unwrap();
    assert_eq!(get(&host, "/healthz", &[]).await.0, StatusCode::OK);
    assert_eq!(get(&host, "/readyz", &[]).await.0, StatusCode::OK);
    let (status, text) = get(&host, "/status", &[]).await;
    let said: Status = serde_json::from_str(&text).unwrap();
    assert!(status == StatusCode::OK && said.ready && said.not_ready.is_empty(), "{text}");
    let [wharf] = said.providers.as_slice() else { panic!("one provider: {text}") };
    assert!(wharf.direct && wharf.name == "wharf" && (wharf.resources, wharf.subscriptions) == (1, 1), "{text}");
    let subscribed: Vec<_> = said.subscriptions.iter().map(|one| (&*one.uri, one.listeners, one.provider.as_deref())).collect();
    assert_eq!(subscribed, [("app://a", 1, Some("wharf")), ("app://nobody", 1, None)]);
    assert_eq!((said.listeners, said.sessions), (1, 0));
    let raw: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(raw["providers"][0]["lastError"], Value::Null, "what is absent is there as null");
    assert_eq!(said, host.admin().status().await);
}

#[tokio::test]
async fn updates_are_counted_as_they_are_announced_delivered_and_joined() {
    let host = host().await;
    let resource = host.resource("a").uri("app://a").read(|_| async { Ok("text") }).unwrap();
    let (slow, quick) = (host.subscriptions().listen(Caller::anyone(), false), host.subscriptions().listen(Caller::anyone(), false));
    for listener in [&slow, &quick] {
        listener.subscribe(vec!["app://a".into()]).await.unwrap();
    }
    for _ in 0..3 {
        resource.notify_updated();
        updated(&quick, "app://a").await;
    }
    assert_eq!(metric(&host, "wharf_updates_announced_total").await, 3);
    assert_eq!(metric(&host, "wharf_updates_delivered_total").await, 3, "to the one that reads");
    assert_eq!(metric(&host, "wharf_updates_coalesced_total").await, 2, "of the one that does not: one waits");
    updated(&slow, "app://a").await;
    assert_eq!(metric(&host, "wharf_updates_delivered_total").await, 4);
    assert_eq!((metric(&host, "wharf_listeners").await, metric(&host, "wharf_subscriptions").await), (2, 1));
    drop((slow, quick));
    host.subscribed().await;
    assert_eq!((metric(&host, "wharf_listeners").await, metric(&host, "wharf_subscriptions").await), (0, 0));
}

#[tokio::test]
async fn who_comes_by_another_name_or_from_another_page_or_would_change_something_gets_nothing() {
    let host = host().await;
    for (headers, allowed) in [
        (&[][..], true),
        (&[("host", "localhost:9090")], true),
        (&[("host", "evil.example.com")], false),
        (&[("host", "evil.example.com:9090")], false),
        (&[("origin", "http://127.0.0.1:9090")], true),
        (&[("origin", "http://evil.example.com")], false),
        (&[("origin", "http://localhost:3000")], false),
        (&[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")], false),
    ] {
        for path in ["/status", "/metrics", "/healthz", "/readyz", "/grants", "/nothing"] {
            let (status, text) = get(&host, path, headers).await;
            let expected = if !allowed {
                StatusCode::FORBIDDEN
            } else if path == "/nothing" {
                StatusCode::NOT_FOUND
            } else {
                StatusCode::OK
            };
            assert_eq!(status, expected, "{path} {headers:?} {text}");
        }
    }
    let mut service = host.admin_service(HttpSettings::default());
    let post = Request::post("/status").header("host", "localhost").body(Body::empty()).unwrap();
    assert_eq!(service.call(post).await.unwrap().status(), StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn a_host_that_has_ended_is_not_ready() {
    let host = host().await;
    let mut service = host.admin_service(HttpSettings::default());
    host.close().await;
    let request = Request::get("/readyz").header("host", "localhost").body(Body::empty()).unwrap();
    assert_eq!(service.call(request).await.unwrap().status(), StatusCode::SERVICE_UNAVAILABLE);
}
