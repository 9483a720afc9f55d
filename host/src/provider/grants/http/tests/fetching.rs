//! Fetches and polls by name.

use tokio::{
    runtime::Handle,
    sync::{mpsc, watch},
};

use super::{
    web::{Reply, Web, answer, bytes, ok},
    *,
};
use crate::provider::grants::http::{Arrived, Fetches, Hold, MAX_EXCHANGES, MAX_FETCHES, Refused, Sink};

/// Keeps what arrives until it is taken, and its turn with it.
struct Inbox(mpsc::UnboundedSender<(Arrived, Hold)>);

impl Sink for Inbox {
    fn arrived(&self, arrived: Arrived, hold: Hold) {
        let _ = self.0.send((arrived, hold));
    }

    fn forget(&self, _name: &str) {}
}

struct Instance {
    fetches: Fetches,
    inbox: mpsc::UnboundedReceiver<(Arrived, Hold)>,
}

impl Instance {
    fn of(world: &World) -> Self {
        let (sender, inbox) = mpsc::unbounded_channel();
        Self { fetches: Fetches::new(world.client.clone(), world.rights.clone(), Handle::current(), Arc::new(Inbox(sender))), inbox }
    }

    /// `name status body`, or `name` and what went wrong.
    async fn next(&mut self) -> String {
        let (arrived, _hold) = soon(self.inbox.recv()).await.unwrap();
        match arrived.answer {
            Ok(answer) => format!("{} {} {}", arrived.name, answer.status, String::from_utf8(answer.body).unwrap()),
            Err(failure) => format!("{} {failure:?}", arrived.name),
        }
    }
}

const SOON: Duration = Duration::from_millis(1);

#[tokio::test]
async fn what_was_cancelled_or_replaced_never_arrives() {
    let (release, number) = watch::channel(0);
    let web = Web::http(move |seen| match seen.target() {
        "/held" => Reply::After(number.clone(), 1, bytes("200 OK", &[], b"held")),
        _ => ok("new"),
    })
    .await;
    let world = world(&[&web.address.to_string()], &[]);
    let mut instance = Instance::of(&world);
    let request = |path: &str| get(&format!("http://{}{path}", web.address));
    instance.fetches.start("a", request("/held")).unwrap();
    instance.fetches.start("b", request("/held")).unwrap();
    soon(web.asked(2)).await;
    instance.fetches.cancel("a");
    instance.fetches.cancel("nobody");
    instance.fetches.start("b", request("/new")).unwrap();
    assert_eq!(instance.next().await, "b 200 new");
    // The connections of both have ended, so nothing of them can come any more.
    soon(web.left(3)).await;
    release.send_replace(1);
    instance.fetches.start("c", request("/new")).unwrap();
    assert_eq!(instance.next().await, "c 200 new");
    assert!(instance.inbox.try_recv().is_err());
}

#[tokio::test]
async fn all_end_with_the_instance() {
    let web = Web::http(|_| Reply::Never).await;
    let world = world(&[&web.address.to_string()], &[]);
    let mut instance = Instance::of(&world);
    for n in 0..4 {
        instance.fetches.start(&format!("once {n}"), get(&format!("http://{}/", web.address))).unwrap();
        instance.fetches.poll(&format!("poll {n}"), get(&format!("http://{}/", web.address)), SOON).unwrap();
    }
    soon(web.asked(8)).await;
    drop(instance.fetches);
    soon(web.left(8)).await;
    assert!(soon(instance.inbox.recv()).await.is_none(), "nobody is left to bring anything");
}

#[tokio::test]
async fn a_name_a_grant_and_a_number_of_fetches_are_needed() {
    let world = world(&["a.example"], &[]);
    let instance = Instance::of(&world);
    let fetches = &instance.fetches;
    assert_eq!(fetches.start("", get("http://a.example/")), Err(Refused::Name));
    assert_eq!(fetches.start(&"x".repeat(2049), get("http://a.example/")), Err(Refused::Name));
    let denied = fetches.poll("a", get("https://b.example:8443/"), SOON);
    assert!(matches!(&denied, Err(Refused::Denied(why)) if why.contains(r#"hosts = ["b.example:8443"]"#)), "{denied:?}");
    for n in 0..MAX_FETCHES {
        fetches.poll(&n.to_string(), get("http://a.example/"), HANG).unwrap();
    }
    assert_eq!(fetches.start("one more", get("http://a.example/")), Err(Refused::TooMany));
    assert_eq!(fetches.poll("0", get("http://a.example/"), HANG), Ok(()), "replaced");
    fetches.cancel("1");
    assert_eq!(fetches.start("one more", get("http://a.example/")), Ok(()));
}

#[tokio::test]
async fn requests_that_are_kept_are_bounded_in_bytes() {
    let world = world(&["a.example"], &[]);
    let instance = Instance::of(&world);
    let large = || Outgoing::new(Some("POST"), "http://a.example/", &[], Some(vec![0; 4 << 20]), None).unwrap();
    for name in ["a", "b", "c"] {
        instance.fetches.poll(name, large(), HANG).unwrap();
    }
    assert_eq!(instance.fetches.poll("d", large(), HANG), Err(Refused::TooMany));
    assert_eq!(instance.fetches.poll("c", large(), HANG), Ok(()));
}

#[tokio::test]
async fn whoever_does_not_take_what_arrives_gets_no_more() {
    let web = Web::http(|_| ok("x")).await;
    let world = world(&[&web.address.to_string()], &[]);
    let mut instance = Instance::of(&world);
    for n in 0..2 * MAX_EXCHANGES {
        instance.fetches.start(&n.to_string(), get(&format!("http://{}/", web.address))).unwrap();
    }
    // Each took its turn, and keeps it while its answer lies there.
    soon(web.left(MAX_EXCHANGES)).await;
    while instance.inbox.len() < MAX_EXCHANGES {
        tokio::task::yield_now().await;
    }
    assert_eq!(web.count(), MAX_EXCHANGES);
    for _ in 0..2 * MAX_EXCHANGES {
        instance.next().await;
    }
    assert_eq!(web.count(), 2 * MAX_EXCHANGES);
}

#[tokio::test]
async fn a_poll_tells_only_of_a_real_change() {
    // 1: an answer with a tag; 2, 3: not modified; 4: the same bytes under another tag; 5: others; 6, 7: a failure; then the same bytes as before.
    let turn = Arc::new(Mutex::new(0));
    let web = Web::http(move |seen| {
        let mut turn = turn.lock().unwrap();
        *turn += 1;
        let tagged = |tag: &str, body: &str| answer("200 OK", &[&format!("ETag: {tag}")], body.as_bytes());
        match (*turn, seen.header("if-none-match")) {
            (1, None) => tagged("\"1\"", "one"),
            (2 | 3, Some("\"1\"")) => Reply::Bytes(b"HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n".to_vec()),
            (4, Some("\"1\"")) => tagged("\"2\"", "one"),
            (5, Some("\"2\"")) => tagged("\"3\"", "two"),
            (6 | 7, _) => Reply::Bytes(Vec::new()),
            (_, None) => tagged("\"3\"", "two"),
            (8.., Some("\"3\"")) => Reply::Bytes(b"HTTP/1.1 304 Not Modified\r\n\r\n".to_vec()),
            (turn, tag) => answer("500 Wrong", &[], format!("{turn} {tag:?}").as_bytes()),
        }
    })
    .await;
    let world = world(&[&web.address.to_string()], &[]);
    let mut instance = Instance::of(&world);
    instance.fetches.poll("a", get(&format!("http://{}/", web.address)), SOON).unwrap();
    assert_eq!(instance.next().await, "a 200 one");
    assert_eq!(instance.next().await, "a 200 two");
    assert_eq!(web.count(), 5);
    assert!(instance.next().await.starts_with("a Failed"));
    assert_eq!(instance.next().await, "a 200 two");
    soon(web.asked(11)).await;
    assert!(instance.inbox.try_recv().is_err());
}

#[tokio::test]
async fn a_cancelled_poll_asks_no_more() {
    let web = Web::http(|_| ok("x")).await;
    let world = world(&[&web.address.to_string()], &[]);
    let mut instance = Instance::of(&world);
    let url = format!("http://{}/", web.address);
    instance.fetches.poll("a", get(&url), SOON).unwrap();
    instance.next().await;
    soon(web.asked(2)).await;
    instance.fetches.cancel("a");
    // One that is under way may still get there; of those that would follow, there were dozens in the time that these take.
    let before = web.count();
    for n in 0..50 {
        instance.fetches.start(&n.to_string(), get(&url)).unwrap();
        assert_eq!(instance.next().await, format!("{n} 200 x"));
        tokio::time::sleep(SOON).await;
    }
    assert!(web.count() <= before + 51, "{}", web.count() - before);
}
