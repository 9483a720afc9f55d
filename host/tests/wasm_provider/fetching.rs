//! Providers that ask over HTTP: through `fetch`, which tells them later, and through wasi:http, in which they wait.

#[path = "../common/web.rs"]
mod web;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{sync::watch, time::timeout};
use web::{Reply, Web, answer, bytes, ok};
use wharf::{
    config::{Grants, grants::HostGrant},
    provider::{
        Announcer, Error, EventQueue, Updated,
        wasm::{Limits, Spec},
    },
};

use super::support::{LONG, Running, SHORT, SOURCE, compiled};

/// A hang is a failure; nothing else depends on this.
const HANG: Duration = Duration::from_secs(30);

async fn soon<T>(awaited: impl Future<Output = T>) -> T {
    timeout(HANG, awaited).await.expect("it hangs")
}

async fn granted(name: &'static str, limits: Limits, hosts: &[&str]) -> Running {
    let hosts = hosts.iter().map(|host| HostGrant::parse(host).unwrap()).collect();
    let spec = Spec { grants: Arc::new(Grants { hosts, ..Grants::default() }), limits, ..Spec::new(name) };
    let events = Arc::new(EventQueue::default());
    let announcer = Announcer::new(SOURCE, events.clone());
    let provider = compiled(name).await.start(spec, announcer.clone()).await.unwrap();
    Running { provider, events, announcer }
}

async fn fetcher(web: &Web) -> Running {
    granted("fetcher", LONG, &[&web.address.to_string(), &format!("a.example:{}", web.port()), "metadata.example"]).await
}

/// The log, once something has arrived.
async fn arrived(running: &Running) -> String {
    let of_the_log = |updated: &Updated| *updated == Updated::These(["fetch://log".into()].into());
    soon(running.event(|event| of_the_log(&event.updated))).await;
    running.text("fetch://log").await
}

#[tokio::test]
async fn what_a_provider_asks_for_reaches_its_handler() {
    let web = Web::http(|seen| {
        answer("200 OK", &["X-One: 1", "X-Two: \u{fc}"], [seen.method().as_bytes(), b" ", &seen.body].concat().as_slice())
    })
    .await;
    let fetcher = fetcher(&web).await;
    assert_eq!(fetcher.text(&format!("fetch://start/a/http://a.example:{}/x", web.port())).await, "done");
    assert_eq!(arrived(&fetcher).await, "a 200 GET ");
    assert_eq!(fetcher.text(&format!("fetch://post/b/http://{}/", web.address)).await, "done");
    assert_eq!(arrived(&fetcher).await, "a 200 GET \nb 200 POST posted");
    assert!(fetcher.text("fetch://headers").await.starts_with("x-one: 1\nx-two: \u{fc}\n"));
    assert_eq!(web.seen()[0].header("authorization"), Some("Bearer secret"));
}

#[tokio::test]
async fn what_is_not_granted_or_cannot_be_right_is_refused_at_once() {
    let web = Web::http(|_| ok("x")).await;
    let fetcher = fetcher(&web).await;
    let denied = fetcher.read("fetch://start/a/https://b.example/").await.unwrap_err();
    assert!(matches!(&denied, Error::Denied(why) if why.contains(r#"hosts = ["b.example"]"#)), "{denied:?}");
    let long = format!("fetch://start/{}/http://{}/", "n".repeat(2049), web.address);
    for uri in [
        "fetch://start/a/nonsense",
        "fetch://poll/a/1000/ftp://b.example/",
        "fetch://start//http://a.example/",
        &long,
        &format!("fetch://host/a/http://{}/", web.address),
    ] {
        let error = fetcher.read(uri).await.unwrap_err();
        assert!(matches!(&error, Error::Invalid(_)) || matches!(&error, Error::Denied(_)) && uri.contains("a.example"), "{uri}: {error:?}");
    }
    assert_eq!(web.count(), 0);
}

#[tokio::test]
async fn a_component_without_a_handler_is_told_that_it_needs_one() {
    let caller = granted("caller", LONG, &["*"]).await;
    let error = caller.read("caller://fetch/https://a.example/").await.unwrap_err();
    assert!(matches!(&error, Error::Failed(why) if why.contains("fetch-handler")), "{error:?}");
}

#[tokio::test]
async fn what_goes_wrong_is_told_as_what_it_is() {
    let web = Web::http(|seen| match seen.target() {
        "/large" => Reply::Endless(b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), vec![b'x'; 1 << 16]),
        "/away" => answer("302 Found", &["Location: http://169.254.169.254/"], b""),
        _ => Reply::Bytes(Vec::new()),
    })
    .await;
    let fetcher = fetcher(&web).await;
    let log = async |path: &str| {
        fetcher.text(&format!("fetch://start/a/http://{}{path}", web.address)).await;
        arrived(&fetcher).await.lines().last().unwrap().to_owned()
    };
    assert_eq!(log("/large").await, "a FetchError::TooLarge(16777216)");
    assert_eq!(log("/away").await, r#"a FetchError::Denied("http://169.254.169.254")"#);
    assert!(log("/cut").await.starts_with("a FetchError::Failed("));
    fetcher.text("fetch://start/a/http://metadata.example/").await;
    assert!(arrived(&fetcher).await.lines().last().unwrap().contains("169.254.169.254, an address that is not public"));
}

#[tokio::test]
async fn a_poll_wakes_the_provider_only_for_a_change() {
    let count = Arc::new(Mutex::new(0));
    let web = Web::http(move |_| {
        let mut count = count.lock().unwrap();
        *count += 1;
        ok(if *count < 5 { "before" } else { "after" })
    })
    .await;
    let fetcher = fetcher(&web).await;
    fetcher.text(&format!("fetch://poll/a/1/http://{}/", web.address)).await;
    assert_eq!(arrived(&fetcher).await, "a 200 before");
    assert_eq!(arrived(&fetcher).await, "a 200 before\na 200 after");
    soon(web.asked(9)).await;
    fetcher.text("fetch://cancel/a").await;
    assert_eq!(fetcher.text("fetch://log").await, "a 200 before\na 200 after");
}

#[tokio::test]
async fn reads_are_answered_while_a_server_is_silent() {
    let (release, number) = watch::channel(0);
    let web = Web::http(move |_| Reply::After(number.clone(), 1, bytes("200 OK", &[], b"at last"))).await;
    let fetcher = fetcher(&web).await;
    fetcher.text(&format!("fetch://start/a/http://{}/", web.address)).await;
    soon(web.asked(1)).await;
    for _ in 0..100 {
        assert_eq!(fetcher.text("fetch://slow").await.len(), 256);
    }
    assert_eq!(fetcher.text("fetch://log").await, "");
    release.send_replace(1);
    assert_eq!(arrived(&fetcher).await, "a 200 at last");
}

#[tokio::test]
async fn the_answer_to_an_instance_that_died_does_not_reach_the_next_one() {
    let (release, number) = watch::channel(0);
    let web = Web::http(move |seen| match seen.target() {
        "/held" => Reply::After(number.clone(), 1, bytes("200 OK", &[], b"late")),
        _ => ok("new"),
    })
    .await;
    let fetcher = fetcher(&web).await;
    fetcher.text(&format!("fetch://poll/a/1/http://{}/held", web.address)).await;
    soon(web.asked(1)).await;
    assert!(matches!(fetcher.read("fetch://trap").await, Err(Error::Trapped(_))));
    soon(web.left(1)).await;
    release.send_replace(1);
    assert_eq!(soon(fetcher.back("fetch://log")).await, "");
    fetcher.text(&format!("fetch://start/b/http://{}/new", web.address)).await;
    assert_eq!(arrived(&fetcher).await, "b 200 new");
}

#[tokio::test]
async fn a_thousand_polls_are_all_answered_and_one_more_than_there_may_be_is_refused() {
    let web = Web::http(|_| ok("x")).await;
    let fetcher = fetcher(&web).await;
    assert_eq!(fetcher.text(&format!("fetch://polls/1000/3600000/http://{}/", web.address)).await, "done");
    while arrived(&fetcher).await.lines().count() < 1000 {}
    assert_eq!(web.count(), 1000);
    let error = fetcher.read(&format!("fetch://polls/1025/3600000/http://{}/", web.address)).await.unwrap_err();
    assert!(matches!(&error, Error::Denied(why) if why.contains("at most 1024")), "{error:?}");
}

#[tokio::test]
async fn wasi_http_goes_through_the_same_gate() {
    let web = Web::http(|seen| match seen.target() {
        "/large" => Reply::Endless(b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), vec![b'x'; 1 << 16]),
        "/head" => Reply::Bytes(format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(1 << 20)).into_bytes()),
        "/away" => answer("302 Found", &["Location: http://169.254.169.254/"], b"not followed"),
        _ => ok("hello"),
    })
    .await;
    let hosts = [web.address.to_string(), format!("*.example:{}", web.port()), "metadata.example".into()];
    let caller = granted("caller", LONG, &[&hosts[0], &hosts[1], &hosts[2]]).await;
    assert_eq!(caller.text(&format!("caller://http://a.example:{}/x?y", web.port())).await, "200 hello");
    let seen = &web.seen()[0];
    assert_eq!((seen.target(), seen.header("host")), ("/x?y", Some(&*format!("a.example:{}", web.port()))));
    assert_eq!(caller.text(&format!("caller://http://{}/away", web.address)).await, "302 not followed");
    let address = web.address;
    for (url, error) in [
        (format!("http://{address}/large"), "HTTP response body size exceeds limit"),
        (format!("http://{address}/head"), "HttpProtocolError"),
        ("http://metadata.example/".into(), "DestinationIpProhibited"),
        ("http://169.254.169.254/".into(), "HttpRequestDenied"),
        (format!("http://user@{address}/"), "HttpRequestUriInvalid"),
        (format!("http://nobody.example:{}/", web.port()), "DnsError"),
    ] {
        let failed = caller.read(&format!("caller://{url}")).await.unwrap_err();
        assert!(matches!(&failed, Error::Failed(how) if how.contains(error)), "{url}: {failed:?}");
    }
}

#[tokio::test]
async fn who_waits_in_wasi_http_past_the_deadline_is_ended_and_so_is_the_request() {
    let web = Web::http(|_| Reply::Never).await;
    let caller = granted("caller", Limits { deadline: SHORT, ..LONG }, &[&web.address.to_string()]).await;
    let error = soon(caller.read(&format!("caller://http://{}/", web.address))).await.unwrap_err();
    assert_eq!(error, Error::DeadlineExceeded(SHORT));
    soon(web.left(1)).await;
}
