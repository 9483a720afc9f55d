//! Through a proxy.

use super::{
    web::{Reply, Web, ok},
    *,
};

fn through(proxy: &Web) -> Proxies {
    let address = format!("http://user:pass@proxy.example:{}", proxy.port());
    Proxies::of(move |name| (name == "ALL_PROXY").then(|| address.clone()))
}

#[tokio::test]
async fn a_request_goes_through_the_proxy_and_over_tls_it_sees_nothing_of_it() {
    let authority = Authority::new();
    let web = Web::https(authority.server(&["a.example"]), |_| ok("secret")).await;
    let there = web.address;
    let proxy = Web::http(move |seen| if seen.method() == "CONNECT" { Reply::Tunnel(there) } else { ok("by the proxy") }).await;
    // Where the proxy is, is the environment's to say; and what it alone knows is asked for by its name.
    let world = configured(&["a.example"], &["proxy.example=127.0.0.1"], vec![authority.certificate.clone()], through(&proxy));
    assert_eq!(world.text("http://a.example/x").await, "by the proxy");
    assert_eq!(world.text("https://a.example/y").await, "secret");
    let [plain, tunnel] = &proxy.seen()[..] else { panic!("{:?}", proxy.seen()) };
    assert_eq!((plain.target(), plain.header("host")), ("http://a.example/x", Some("a.example")));
    assert_eq!((tunnel.method(), tunnel.target()), ("CONNECT", "a.example:443"));
    for seen in [plain, tunnel] {
        assert_eq!(seen.header("proxy-authorization"), Some("Basic dXNlcjpwYXNz"));
    }
    assert_eq!(web.seen()[0].header("proxy-authorization"), None);
}

#[tokio::test]
async fn what_is_not_granted_does_not_get_to_the_proxy() {
    let proxy = Web::http(|_| ok("by the proxy")).await;
    let names = ["proxy.example=127.0.0.1", "a.example=1.1.1.1,10.0.0.1"];
    let world = configured(&["a.example", "*.internal.example"], &names, Vec::new(), through(&proxy));
    for url in ["http://b.example/", "http://10.0.0.1/", "http://169.254.169.254/", "http://a.example/"] {
        assert!(world.failure(url).await.contains("not granted"), "{url}");
    }
    assert_eq!(proxy.count(), 0);
}

#[tokio::test]
async fn a_proxy_that_refuses_or_is_not_there_is_named_without_its_password() {
    let proxy = Web::http(|_| Reply::Bytes(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n".to_vec())).await;
    let refusing = configured(&["a.example"], &["proxy.example=127.0.0.1"], Vec::new(), through(&proxy));
    let absent = configured(&["a.example"], &[], Vec::new(), through(&proxy));
    let endless = Web::http(|_| Reply::Endless(b"HTTP/1.1 200 OK\r\n".to_vec(), b"X: y\r\n".to_vec())).await;
    let talking = configured(&["a.example"], &["proxy.example=127.0.0.1"], Vec::new(), through(&endless));
    for (world, what) in [(refusing, "it answered 407"), (absent, "no address"), (talking, "does not end")] {
        let reason = world.failure("https://a.example/").await;
        assert!(
            reason.contains("through the proxy http://proxy.example:") && reason.contains(what) && !reason.contains("pass@"),
            "{reason}"
        );
    }
}
