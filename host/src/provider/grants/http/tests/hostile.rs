//! Names that lead astray, and servers that send too much, or nothing.

use std::io::Write;

use super::{
    web::{Reply, Web, answer, ok},
    *,
};
use crate::provider::grants::http::MAX_BODY_BYTES;

#[tokio::test]
async fn a_host_on_the_list_that_leads_to_this_machine_is_not_asked() {
    let web = Web::http(|_| ok("secret")).await;
    let world = world(&[&format!("a.example:{}", web.port())], &["a.example=127.0.0.1"]);
    let reason = world.failure(&format!("http://a.example:{}/", web.port())).await;
    assert!(reason.contains(&format!(r#"hosts = ["127.0.0.1:{}"]"#, web.port())), "{reason}");
    assert_eq!(web.count(), 0);
    assert_eq!(world.rights.denied().0.len(), 1, "and it is counted");
}

#[tokio::test]
async fn a_name_is_resolved_once_and_what_was_checked_is_connected_to() {
    // The second address is this machine's too, and nobody granted it: whoever resolves twice ends there.
    let web = Web::http(|_| ok("the first")).await;
    let hosts = [format!("a.example:{}", web.port()), web.address.to_string()];
    let world = world(&[&hosts[0], &hosts[1]], &["a.example=127.0.0.1|127.0.0.2"]);
    let url = format!("http://a.example:{}/", web.port());
    assert_eq!(world.text(&url).await, "the first");
    assert_eq!(world.names.asked.lock().unwrap().len(), 1);
    let reason = world.failure(&url).await;
    assert!(reason.contains("127.0.0.2"), "{reason}");
    assert_eq!(web.count(), 1);
}

#[tokio::test]
async fn of_mixed_addresses_only_those_that_are_granted_are_connected_to() {
    let web = Web::http(|_| ok("granted")).await;
    let hosts = [format!("a.example:{}", web.port()), web.address.to_string()];
    let world = world(&[&hosts[0], &hosts[1]], &["a.example=169.254.169.254,10.0.0.1,127.0.0.1,::1"]);
    assert_eq!(world.text(&format!("http://a.example:{}/", web.port())).await, "granted");
    assert!(world.rights.denied().0.is_empty());
}

#[tokio::test]
async fn metadata_is_out_of_reach_under_every_name_and_form() {
    let names =
        ["a.example=169.254.169.254", "b.example=::ffff:169.254.169.254", "c.example=fd00:ec2::254", "d.example=64:ff9b::a9fe:a9fe"];
    let world = world(&["*", "*:8080"], &names);
    for host in
        ["a.example", "b.example", "c.example", "d.example", "169.254.169.254", "0xa9fea9fe", "[::ffff:a9fe:a9fe]", "[fd00:ec2::254]"]
    {
        let reason = world.failure(&format!("http://{host}/latest/meta-data/")).await;
        assert!(reason.contains("not granted"), "{host}: {reason}");
    }
}

#[tokio::test]
async fn an_endless_answer_ends_by_its_size_or_by_time() {
    let web = Web::http(|seen| {
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        match seen.target() {
            "/fast" => Reply::Endless(chunked, [b"10000\r\n".as_slice(), &[b'x'; 0x10000], b"\r\n"].concat()),
            "/to-the-end" => Reply::Endless(b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), vec![b'x'; 0x10000]),
            "/announced" => Reply::Bytes(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", MAX_BODY_BYTES + 1).into_bytes()),
            // No more than one byte a time, and the body of the other does not come at all.
            "/slow" => Reply::Endless(chunked, b"1\r\nx\r\n".to_vec()),
            _ => Reply::Never,
        }
    })
    .await;
    let world = world(&[&web.address.to_string()], &[]);
    let url = |path: &str| format!("http://{}{path}", web.address);
    for path in ["/fast", "/to-the-end", "/announced"] {
        assert_eq!(world.get(&url(path)).await.unwrap_err(), Failure::TooLarge, "{path}");
    }
    let short = Some(Duration::from_millis(100));
    let silent = Outgoing::new(None, &url("/silent"), &[], None, short).unwrap();
    assert_eq!(world.send(&silent).await.unwrap_err(), Failure::TimedOut);
    let slow = world.send(&Outgoing::new(None, &url("/slow"), &[], None, short).unwrap()).await.unwrap_err();
    assert!(matches!(slow, Failure::TimedOut | Failure::TooLarge), "{slow:?}");
    // Nothing of any of them goes on.
    soon(web.left(5)).await;
}

#[tokio::test]
async fn a_bomb_of_gzip_goes_off_at_the_limit() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..64 {
        encoder.write_all(&vec![0; 1 << 20]).unwrap();
    }
    let bomb = encoder.finish().unwrap();
    let web = Web::http(move |_| answer("200 OK", &["Content-Encoding: gzip"], &bomb)).await;
    let world = world(&[&web.address.to_string()], &[]);
    assert_eq!(world.get(&format!("http://{}/", web.address)).await.unwrap_err(), Failure::TooLarge);
}

#[tokio::test]
async fn a_head_of_ten_megabytes_is_refused_and_so_are_thousands_of_headers() {
    let web = Web::http(|seen| {
        let start = b"HTTP/1.1 200 OK\r\n".to_vec();
        match seen.target() {
            "/one" => Reply::Bytes([start, format!("X: {}\r\n\r\n", "x".repeat(10 << 20)).into_bytes()].concat()),
            "/many" => Reply::Bytes([start, "X: y\r\n".repeat(2000).into_bytes(), b"\r\n".to_vec()].concat()),
            _ => Reply::Endless(start, b"X: y\r\n".to_vec()),
        }
    })
    .await;
    let world = world(&[&web.address.to_string()], &[]);
    for path in ["/one", "/many", "/endless"] {
        let reason = world.failure(&format!("http://{}{path}", web.address)).await;
        assert!(reason.contains("the head of the answer has more than 64 KiB"), "{path}: {reason}");
    }
    soon(web.left(3)).await;
}

#[tokio::test]
async fn what_is_no_http_and_who_is_not_there_is_a_failure() {
    let web = Web::http(|seen| match seen.target() {
        "/cut" => Reply::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello".to_vec()),
        "/nothing" => Reply::Bytes(Vec::new()),
        _ => Reply::Bytes(b"220 mail.example ESMTP\r\n".to_vec()),
    })
    .await;
    let address = web.address;
    let world = world(&[&address.to_string(), "nowhere.example"], &[]);
    for path in ["/cut", "/nothing", "/other"] {
        world.failure(&format!("http://{address}{path}")).await;
    }
    assert!(world.failure("http://nowhere.example/").await.contains("no address of nowhere.example"));
    drop(web);
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let nobody = super::world(&[&free.to_string()], &[]);
    assert!(nobody.failure(&format!("http://{free}/")).await.contains("no connection"));
}

#[tokio::test]
async fn an_address_that_does_not_answer_is_passed_over() {
    let web = Web::http(|_| ok("here")).await;
    // Nobody listens on the port at the first ones.
    let hosts = [format!("a.example:{}", web.port()), format!("127.0.0.0/8:{}", web.port())];
    let world = world(&[&hosts[0], &hosts[1]], &["a.example=127.1.1.1,127.1.1.2,127.0.0.1"]);
    assert_eq!(world.text(&format!("http://a.example:{}/", web.port())).await, "here");
}

#[tokio::test]
async fn interim_answers_without_end_are_no_answer() {
    let web = Web::http(|seen| match seen.target() {
        "/few" => Reply::Bytes(
            [b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n".repeat(50).as_slice(), b"HTTP/1.1 204 No Content\r\n\r\n"].concat(),
        ),
        _ => Reply::Endless(Vec::new(), b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n".repeat(100)),
    })
    .await;
    let world = world(&[&web.address.to_string()], &[]);
    assert_eq!(world.get(&format!("http://{}/few", web.address)).await.unwrap().status, 204);
    let url = format!("http://{}/endless", web.address);
    let flooded = Outgoing::new(None, &url, &[], None, Some(Duration::from_millis(100))).unwrap();
    assert_eq!(world.send(&flooded).await.unwrap_err(), Failure::TimedOut);
    soon(web.left(2)).await;
}

/// Names that nobody answers for, and `a.example`.
#[derive(Default)]
struct Silent(std::sync::atomic::AtomicUsize);

impl Resolve for Silent {
    fn resolve(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        if name == "a.example" {
            return Box::pin(std::future::ready(Ok(vec![[127, 0, 0, 1].into()])));
        }
        self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn names_that_nobody_answers_for_take_a_providers_own_turns_and_no_others() {
    let web = Web::http(|_| ok("here")).await;
    let silent = Arc::new(Silent::default());
    let settings =
        Settings { authorities: Vec::new(), resolver: silent.clone(), proxies: Proxies::default(), min_period: Duration::from_millis(10) };
    let client = Client::new(settings);
    let rights = |name: &str, hosts: &[String]| {
        let hosts = hosts.iter().map(|host| HostGrant::parse(host).unwrap()).collect();
        Rights::new(name.into(), Arc::new(Grants { hosts, ..Grants::default() }))
    };
    // The turns outlive what is no longer waited for, and the next generation has the same ones.
    let hostile = rights("hostile", &["*.silent.example".into()]);
    for n in 0..crate::provider::grants::http::MAX_LOOKUPS_OF_ONE + 4 {
        let short = Some(Duration::from_millis(5));
        let request = Outgoing::new(None, &format!("http://{n}.silent.example/"), &[], None, short).unwrap();
        let rights = hostile.with(hostile.grants().clone(), Arc::default());
        assert_eq!(soon(client.exchange(&rights, &request, &[], &Room::default())).await.unwrap_err(), Failure::TimedOut);
    }
    assert_eq!(silent.0.load(std::sync::atomic::Ordering::SeqCst), crate::provider::grants::http::MAX_LOOKUPS_OF_ONE);
    let other = rights("other", &[format!("a.example:{}", web.port()), web.address.to_string()]);
    let request = get(&format!("http://a.example:{}/", web.port()));
    assert_eq!(soon(client.exchange(&other, &request, &[], &Room::default())).await.unwrap().body, b"here");
}
