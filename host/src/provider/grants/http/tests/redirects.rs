//! Redirects: each hop is a request of its own, and takes along what it may.

use super::{
    web::{Web, answer, ok},
    *,
};
use crate::provider::grants::http::MAX_REDIRECTS;

fn to(status: &str, location: &str) -> super::web::Reply {
    answer(status, &[&format!("Location: {location}")], b"elsewhere")
}

/// With everything that a request may have.
fn request(method: &str, url: &str) -> Outgoing {
    let headers =
        [("Authorization", "Bearer s"), ("Cookie", "s=1"), ("Private-Token", "s"), ("Accept", "text/x"), ("Content-Type", "text/y")];
    let headers: Vec<_> = headers.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    Outgoing::new(Some(method), url, &headers, Some(b"body".to_vec()), None).unwrap()
}

#[tokio::test]
async fn a_redirect_to_a_metadata_address_or_a_host_that_is_not_granted_is_denied_by_its_origin() {
    let web = Web::http(|seen| match seen.target() {
        "/metadata" => to("302 Found", "http://169.254.169.254/latest/"),
        "/mapped" => to("302 Found", "http://[::ffff:127.0.0.1]:1/"),
        "/named" => to("302 Found", "//inside.example/"),
        _ => to("301 Moved", "https://evil.example:8443/x"),
    })
    .await;
    let world = world(&[&web.address.to_string(), "inside.example"], &["inside.example=10.0.0.1"]);
    for (path, origin) in [
        ("/metadata", "http://169.254.169.254"),
        ("/mapped", "http://[::ffff:7f00:1]:1"),
        ("/named", "http://inside.example"),
        ("/other", "https://evil.example:8443"),
    ] {
        let failure = world.get(&format!("http://{}{path}", web.address)).await.unwrap_err();
        assert_eq!(failure, Failure::Denied(origin.into()));
    }
    assert_eq!(world.rights.denied().0.len(), 4);
}

#[tokio::test]
async fn ten_redirects_are_followed_and_no_more() {
    let web = Web::http(|seen| match seen.target().trim_start_matches("/a/").parse::<usize>() {
        Ok(0) => ok("arrived"),
        Ok(left) => to("307 Temporary Redirect", &format!("{}", left - 1)),
        Err(_) => to("302 Found", "/circle"),
    })
    .await;
    let world = world(&[&web.address.to_string()], &[]);
    let url = |path: &str| format!("http://{}{path}", web.address);
    assert_eq!(world.text(&url(&format!("/a/{MAX_REDIRECTS}"))).await, "arrived");
    assert!(world.failure(&url(&format!("/a/{}", MAX_REDIRECTS + 1))).await.contains("more than 10 redirects"));
    let before = web.count();
    assert!(world.failure(&url("/circle")).await.contains("more than 10 redirects"));
    assert_eq!(web.count() - before, MAX_REDIRECTS + 1);
}

#[tokio::test]
async fn credentials_stay_with_their_origin_under_whatever_name() {
    let other = Web::http(|_| ok("other")).await;
    let there = format!("http://{}/", other.address);
    let web = Web::http(move |seen| match seen.target() {
        "/away" => to("307 Temporary Redirect", &there),
        "/here" => to("307 Temporary Redirect", "/end#fragment"),
        _ => ok("end"),
    })
    .await;
    let world = world(&[&web.address.to_string(), &other.address.to_string()], &[]);
    world.send(&request("PUT", &format!("http://{}/here", web.address))).await.unwrap();
    let here = &web.seen()[1];
    assert_eq!((here.target(), here.header("authorization"), here.header("private-token")), ("/end", Some("Bearer s"), Some("s")));
    world.send(&request("PUT", &format!("http://{}/away", web.address))).await.unwrap();
    let away = &other.seen()[0];
    for name in ["authorization", "cookie", "private-token"] {
        assert_eq!(away.header(name), None, "{name}");
    }
    assert_eq!((away.header("accept"), away.header("content-type")), (Some("text/x"), Some("text/y")));
    assert_eq!((away.method(), away.body.as_slice(), away.header("host")), ("PUT", b"body".as_slice(), Some(&*other.address.to_string())));
}

#[tokio::test]
async fn the_method_changes_as_the_status_says() {
    let web = Web::http(|seen| match seen.target().strip_prefix("/") {
        Some("end") => ok("end"),
        Some(status) => to(&format!("{status} Elsewhere"), "/end"),
        None => ok("none"),
    })
    .await;
    let world = world(&[&web.address.to_string()], &[]);
    for (method, status, then, body) in [
        ("POST", 301, "GET", ""),
        ("POST", 302, "GET", ""),
        ("POST", 303, "GET", ""),
        ("PUT", 303, "GET", ""),
        ("PUT", 301, "PUT", "body"),
        ("POST", 307, "POST", "body"),
        ("POST", 308, "POST", "body"),
        ("HEAD", 303, "HEAD", "body"),
    ] {
        world.send(&request(method, &format!("http://{}/{status}", web.address))).await.unwrap();
        let seen = web.seen().pop().unwrap();
        assert_eq!((seen.method(), seen.body.as_slice()), (then, body.as_bytes()), "{method} {status}");
        assert_eq!(seen.header("content-type").is_some(), !body.is_empty(), "{method} {status}");
    }
}

#[tokio::test]
async fn what_leads_from_https_to_http_or_to_nowhere_is_not_followed() {
    let plain = Web::http(|_| ok("plain")).await;
    let authority = Authority::new();
    let there = format!("http://{}/", plain.address);
    let web = Web::https(authority.server(&["127.0.0.1"]), move |seen| match seen.target() {
        "/down" => to("302 Found", &there),
        "/scheme" => to("302 Found", "file:///etc/passwd"),
        "/user" => to("302 Found", "https://user:pass@a.example/"),
        "/broken" => to("302 Found", "https://["),
        _ => answer("302 Found", &[], b"no location"),
    })
    .await;
    let hosts = [web.address.to_string(), plain.address.to_string()];
    let world = configured(&[&hosts[0], &hosts[1]], &[], vec![authority.certificate.clone()], Proxies::default());
    let url = |path: &str| format!("https://{}{path}", web.address);
    for path in ["/down", "/scheme", "/user", "/broken"] {
        assert!(world.failure(&url(path)).await.contains("cannot be followed"), "{path}");
    }
    assert_eq!(plain.count(), 0);
    assert_eq!(world.get(&url("/none")).await.unwrap().status, 302, "whoever leads nowhere is the answer");
}
