//! The client against servers on this machine, which is granted to it where the test is of something else.

#[path = "../../../../../tests/common/web.rs"]
mod web;

mod fetching;
mod hostile;
mod proxied;
mod redirects;

use std::{
    collections::HashMap,
    io,
    net::IpAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::future::BoxFuture;
use hyper::header::AUTHORIZATION;
use rustls::pki_types::CertificateDer;

use self::web::{Authority, Web, answer, ok};
use super::{Answer, Client, Failure, Outgoing, Proxies, Resolve, Settings, body::Room};
use crate::{
    config::grants::{Grants, HostGrant},
    provider::grants::Rights,
};

/// A hang is a failure; nothing else depends on this.
const HANG: Duration = Duration::from_secs(20);

async fn soon<T>(awaited: impl Future<Output = T>) -> T {
    tokio::time::timeout(HANG, awaited).await.expect("it hangs")
}

/// Names, and the addresses that they have each time they are asked for; the last ones stay.
#[derive(Default)]
struct Names {
    known: HashMap<String, Vec<Vec<IpAddr>>>,
    asked: Mutex<Vec<String>>,
}

impl Resolve for Names {
    fn resolve(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let mut asked = self.asked.lock().unwrap();
        let before = asked.iter().filter(|other| *other == name).count();
        asked.push(name.to_owned());
        let found = self.known.get(name).and_then(|answers| answers.get(before).or(answers.last())).cloned();
        Box::pin(async move { found.ok_or_else(|| io::Error::other("no such name")) })
    }
}

/// A client, and a provider that it asks for.
struct World {
    client: Arc<Client>,
    names: Arc<Names>,
    rights: Rights,
}

/// `names` as `a.example=127.0.0.1,10.0.0.1|127.0.0.2`: at first these, and later those.
fn world(hosts: &[&str], names: &[&str]) -> World {
    configured(hosts, names, Vec::new(), Proxies::default())
}

fn configured(hosts: &[&str], names: &[&str], authorities: Vec<CertificateDer<'static>>, proxies: Proxies) -> World {
    let known = names.iter().map(|line| {
        let (name, answers) = line.split_once('=').unwrap();
        let answers = answers.split('|').map(|answer| answer.split(',').map(|address| address.parse().unwrap()).collect());
        (name.to_owned(), answers.collect())
    });
    let names = Arc::new(Names { known: known.collect(), asked: Mutex::default() });
    let grants = Grants { hosts: hosts.iter().map(|host| HostGrant::parse(host).unwrap()).collect(), ..Grants::default() };
    let client = Client::new(Settings { authorities, resolver: names.clone(), proxies, min_period: Duration::from_millis(10) });
    World { client, names, rights: Rights::new("test".into(), Arc::new(grants)) }
}

fn get(url: &str) -> Outgoing {
    Outgoing::new(None, url, &[], None, None).unwrap()
}

impl World {
    async fn send(&self, request: &Outgoing) -> Result<Answer, Failure> {
        soon(self.client.exchange(&self.rights, request, &[], &Room::default())).await
    }

    async fn get(&self, url: &str) -> Result<Answer, Failure> {
        self.send(&get(url)).await
    }

    async fn text(&self, url: &str) -> String {
        let answer = self.get(url).await.unwrap();
        String::from_utf8(answer.body).unwrap()
    }

    async fn failure(&self, url: &str) -> String {
        match self.get(url).await.unwrap_err() {
            Failure::Failed(reason) => reason,
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_granted_host_is_asked_by_its_name_at_the_address_it_has() {
    let web = Web::http(|_| answer("201 Created", &["X-A: 1", "X-A: 2"], b"hello")).await;
    let world = world(
        &[&format!("a.example:{}", web.port()), "127.0.0.0/8:1", "127.0.0.1:1", &format!("127.0.0.1:{}", web.port())],
        &["a.example=127.0.0.1"],
    );
    let headers = [("Authorization".to_owned(), "secret".to_owned())];
    let url = format!("http://a.example:{}/x/y?z=%20", web.port());
    let request = Outgoing::new(Some("POST"), &url, &headers, Some(b"body".to_vec()), None).unwrap();
    let answer = world.send(&request).await.unwrap();
    assert_eq!((answer.status, &*answer.body), (201, b"hello".as_slice()));
    assert_eq!(answer.headers.get_all("x-a").iter().count(), 2);
    let seen = &web.seen()[0];
    assert!(seen.head.starts_with("POST /x/y?z=%20 HTTP/1.1\r\n"), "{}", seen.head);
    assert_eq!(seen.header("host"), Some(&*format!("a.example:{}", web.port())));
    assert_eq!((seen.header(AUTHORIZATION.as_str()), seen.body.as_slice()), (Some("secret"), b"body".as_slice()));
    assert_eq!(*world.names.asked.lock().unwrap(), ["a.example"]);
}

#[tokio::test]
async fn an_own_authority_is_trusted_and_another_is_not_nor_another_name() {
    let authority = Authority::new();
    let web = Web::https(authority.server(&["a.example"]), |_| ok("safe")).await;
    let hosts = [format!("*.example:{}", web.port()), "127.0.0.1".into(), format!("127.0.0.1:{}", web.port())];
    let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
    let names = ["a.example=127.0.0.1", "b.example=127.0.0.1"];
    let trusting = configured(&hosts, &names, vec![authority.certificate.clone()], Proxies::default());
    let (a, b) = (format!("https://a.example:{}/", web.port()), format!("https://b.example:{}/", web.port()));
    assert_eq!(trusting.text(&a).await, "safe");
    assert!(trusting.failure(&b).await.contains("no TLS with https://b.example"), "another name");
    // Whether this machine has roots of its own or not: none of them has signed this.
    let other = configured(&hosts, &names, vec![Authority::new().certificate], Proxies::default());
    assert!(other.failure(&a).await.contains("no TLS with https://a.example"), "another authority");
    trusting.failure(&a.replace("https", "http")).await;
}

#[tokio::test]
async fn what_comes_packed_is_unpacked_unless_the_provider_wants_it_so() {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(b"hello").unwrap();
    let packed = encoder.finish().unwrap();
    let sent = packed.clone();
    let web = Web::http(move |_| answer("200 OK", &["Content-Encoding: gzip"], &sent)).await;
    let world = world(&[&web.address.to_string()], &[]);
    let url = format!("http://{}/", web.address);
    let plain = world.get(&url).await.unwrap();
    assert_eq!((&*plain.body, plain.headers.get("content-encoding")), (b"hello".as_slice(), None));
    let own = Outgoing::new(None, &url, &[("accept-encoding".into(), "gzip".into())], None, None).unwrap();
    let as_it_is = world.send(&own).await.unwrap();
    assert!(as_it_is.body == packed && as_it_is.headers.contains_key("content-encoding"));
}

#[tokio::test]
async fn a_head_request_and_an_answer_without_a_body_have_none() {
    let web = Web::http(|seen| match seen.method() {
        "HEAD" => web::Reply::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Encoding: gzip\r\n\r\n".to_vec()),
        _ => web::Reply::Bytes(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()),
    })
    .await;
    let world = world(&[&web.address.to_string()], &[]);
    let url = format!("http://{}/", web.address);
    let head = world.send(&Outgoing::new(Some("HEAD"), &url, &[], None, None).unwrap()).await.unwrap();
    assert_eq!((head.status, head.body.len(), &head.headers["content-length"]), (200, 0, &"5".parse().unwrap()));
    assert_eq!(world.get(&url).await.unwrap().status, 204);
}
