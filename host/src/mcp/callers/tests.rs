//! What the host does for one caller and not for another.

use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use serde_json::{Value, json};

use super::*;
use crate::{
    catalog::{Catalog, Position, Rules, View},
    mcp::{Envelope, Info, Reply, Server, era::Said, error::Status},
    provider::{
        EventQueue, Reuse,
        memory::{Memory, live, reading},
    },
    subscriptions::Subscriptions,
    tools::Tools,
};

fn over(receiver: &watch::Receiver<bool>) -> bool {
    *receiver.borrow() || receiver.has_changed().is_err()
}

#[test]
fn what_an_ended_caller_has_open_ends_and_what_it_opens_later_too() {
    let callers = Callers::default();
    let (ann, bob) = (Caller::named("ann", View::Everything), Caller::named("bob", View::Everything));
    let open = [callers.over(&ann), callers.over(&bob), callers.over(&bob)];
    assert!(open.iter().all(|open| !over(open)));
    let only_ann: Valid = Arc::new(|caller: &Caller| caller.name().is_some_and(|name| **name == *"ann"));
    callers.end(&only_ann);
    assert_eq!(open.iter().map(over).collect::<Vec<_>>(), [false, true, true]);
    assert!(over(&callers.over(&bob)) && !over(&callers.over(&ann)));
    assert!(callers.is_valid(&ann) && !callers.is_valid(&bob));
    let all: Valid = Arc::new(|_: &Caller| true);
    callers.end(&all);
    assert!(!over(&callers.over(&bob)), "it is one again");
}

#[test]
fn callers_with_nothing_open_are_not_remembered() {
    let callers = Callers::default();
    for n in 0..100 {
        drop(callers.over(&Caller::named(n.to_string(), View::Everything)));
    }
    assert_eq!(callers.state.lock().open.len(), 1);
}

const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";
/// A hang is a failure; nothing else depends on this.
const HANG: Duration = Duration::from_secs(3_600);

/// A server of `p1` and `p2`, which both have `x://a`, with their name in it.
struct World {
    server: Server,
    providers: [Arc<Memory>; 2],
}

impl World {
    async fn new(public: bool, make: impl FnOnce(Server) -> Server) -> Self {
        let queue = Arc::<EventQueue>::default();
        let catalog = Catalog::new(Duration::from_secs(3), [0; 8]);
        let position = |slot| Position { slot, name: format!("p{slot}").into(), rules: Rules { claims: Vec::new(), public } };
        catalog.arrange(false, [1, 2].map(position).into());
        let providers = [1, 2].map(|slot| Memory::new(slot, &queue, live()));
        for (provider, name) in providers.iter().zip(["p1", "p2"]) {
            provider.put("x://a", name);
            let mut timed = reading(name);
            timed.reuse = Some(Reuse::For(Duration::from_secs(9)));
            provider.shelf.lock().readings.insert("x://a".into(), Ok(timed));
            provider.put(&format!("x://of/{name}"), name);
            catalog.load(provider.clone(), &provider.announcer).await.unwrap();
        }
        let subscriptions = Subscriptions::new(catalog.clone());
        tokio::spawn(crate::host::pump(queue, catalog.clone(), subscriptions.clone()));
        let tools = Tools::new(catalog.clone(), &subscriptions, 1);
        let info = Info { name: "t".into(), title: None, version: "1".into(), instructions: None };
        Self { server: make(Server::new(catalog, subscriptions, info).with_tools(tools)), providers }
    }

    async fn post(&self, caller: &Caller, session: Option<&str>, method: &str, params: Value) -> Reply {
        let modern = session.is_none() && method != "initialize";
        let mut params = params;
        if modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let name = params["uri"].as_str().or(params["name"].as_str()).map_or(Said::Nothing, Said::Text);
        let envelope = if modern {
            Envelope { version: Said::Text(MODERN), method: Said::Text(method), name, caller, ..Envelope::default() }
        } else {
            let session = session.map_or(Said::Nothing, Said::Text);
            Envelope { version: Said::Text(LEGACY), session, caller, ..Envelope::default() }
        };
        tokio::time::timeout(HANG, self.server.post(body.as_bytes(), &envelope)).await.expect("it hangs")
    }

    async fn ask(&self, caller: &Caller, session: Option<&str>, method: &str, params: Value) -> (Status, Value) {
        match self.post(caller, session, method, params).await {
            Reply::Message(status, message) => (status, serde_json::from_slice(&message.whole()).unwrap()),
            _ => panic!("{method} is not answered by a message"),
        }
    }

    async fn session(&self, caller: &Caller) -> String {
        match self.post(caller, None, "initialize", json!({ "protocolVersion": LEGACY })).await {
            Reply::Session(id, _) => id,
            _ => panic!("there is no session"),
        }
    }
}

fn of(name: &str, providers: &[&str]) -> Caller {
    Caller::named(name, View::Only(Arc::new(providers.iter().map(|name| Arc::from(*name)).collect())))
}

fn is_ann(caller: &Caller) -> bool {
    caller.name().is_some_and(|name| **name == *"ann")
}

fn text(answer: &Value) -> &str {
    answer["result"]["contents"][0]["text"].as_str().unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn lists_reads_and_tools_are_those_of_the_caller_in_both_eras() {
    let world = World::new(false, Server::for_callers).await;
    for (name, own, other) in [("p1", "x://of/p1", "x://of/p2"), ("p2", "x://of/p2", "x://of/p1")] {
        let caller = of("c", &[name]);
        let session = world.session(&caller).await;
        for session in [None, Some(&*session)] {
            let (_, read) = world.ask(&caller, session, "resources/read", json!({ "uri": "x://a" })).await;
            assert_eq!(text(&read), name);
            let (_, list) = world.ask(&caller, session, "resources/list", json!({})).await;
            let uris: Vec<_> = list["result"]["resources"].as_array().unwrap().iter().map(|entry| &entry["uri"]).collect();
            assert_eq!(uris, ["x://a", own]);
            let (_, unseen) = world.ask(&caller, session, "resources/read", json!({ "uri": other })).await;
            let (_, none) = world.ask(&caller, session, "resources/read", json!({ "uri": "x://none/at" })).await;
            assert_eq!(unseen.to_string().replace(other, ""), none.to_string().replace("x://none/at", ""));
            let call = json!({ "name": "search_resources", "arguments": { "query": "p", "in_text": true } });
            let (_, found) = world.ask(&caller, session, "tools/call", call).await;
            assert!(found.to_string().contains(own) && !found.to_string().contains(other), "{found}");
            let call = json!({ "name": "list_resources", "arguments": { "provider": "p3" } });
            let (_, refused) = world.ask(&caller, session, "tools/call", call).await;
            let said = refused["result"]["content"][0]["text"].as_str().unwrap();
            assert_eq!(said, format!("There is no provider \"p3\"; there is {name}."));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_of_another_caller_is_no_session() {
    let world = World::new(false, Server::for_callers).await;
    let ann = of("ann", &["p1"]);
    let session = world.session(&ann).await;
    for other in [of("bob", &["p1"]), of("ann", &["p1", "p2"]), Caller::anyone()] {
        let (status, answer) = world.ask(&other, Some(&session), "ping", json!({})).await;
        let unknown = world.ask(&other, Some(&"0".repeat(32)), "ping", json!({})).await;
        assert_eq!((status, &answer), (Status::Missing, &unknown.1));
        let envelope = Envelope { session: Said::Text(&session), caller: &other, ..Envelope::default() };
        assert_eq!(world.server.stream(&envelope, None).err().map(|(status, _)| status), Some(Status::Missing));
        assert_eq!(world.server.end_session(&envelope).err().map(|(status, _)| status), Some(Status::Missing));
    }
    assert_eq!(world.ask(&ann, Some(&session), "ping", json!({})).await.0, Status::Ok);
    let envelope = Envelope { session: Said::Text(&session), caller: &ann, ..Envelope::default() };
    assert!(world.server.stream(&envelope, None).is_ok() && world.server.end_session(&envelope).is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_is_valid_no_more_loses_its_sessions_and_streams_and_no_other_does() {
    let world = World::new(false, Server::for_callers).await;
    let callers = [of("ann", &["p1"]), of("bob", &["p1"])];
    let mut open = Vec::new();
    for caller in &callers {
        let session = world.session(caller).await;
        let envelope = Envelope { session: Said::Text(&session), caller, ..Envelope::default() };
        let stream = world.server.stream(&envelope, None).unwrap_or_else(|_| panic!("no stream"));
        let params = json!({ "notifications": { "resourceSubscriptions": ["x://a"] } });
        let Reply::Listening(mut listen) = world.post(caller, None, "subscriptions/listen", params).await else { panic!("no listen") };
        assert!(listen.next().await.is_some(), "the acknowledgement");
        let wait = json!({ "name": "wait_for_update", "arguments": { "uris": ["x://a"] } });
        let Reply::Calling(modern) = world.post(caller, None, "tools/call", wait.clone()).await else { panic!("no call") };
        let Reply::Calling(legacy) = world.post(caller, Some(&session), "tools/call", wait).await else { panic!("no call") };
        open.push((session, stream, listen, [modern, legacy]));
    }
    world.server.end_callers(is_ann);
    let (session, mut stream, mut listen, calls) = open.pop().unwrap();
    assert_eq!(world.ask(&callers[1], Some(&session), "ping", json!({})).await.0, Status::Missing);
    assert!(stream.next().now_or_never().expect("it goes on").is_none());
    let result = listen.next().now_or_never().expect("it goes on").unwrap();
    assert!(String::from_utf8(result.message).unwrap().contains("\"resultType\":\"complete\""));
    assert!(listen.next().now_or_never().expect("it goes on").is_none());
    for call in calls {
        let answer = call.answer().now_or_never().expect("it goes on").unwrap();
        assert!(String::from_utf8(answer).unwrap().contains("\"status\":\"stopping\""));
    }
    let (session, mut stream, mut listen, [mut modern, mut legacy]) = open.pop().unwrap();
    assert_eq!(world.ask(&callers[0], Some(&session), "ping", json!({})).await.0, Status::Ok);
    assert!(stream.next().now_or_never().is_none() && listen.next().now_or_never().is_none());
    assert!(modern.next().now_or_never().is_none() && legacy.next().now_or_never().is_none());
    assert_eq!(world.server.session_count(), 1);

    // One whose request had been let in before that was known.
    let session = world.session(&callers[1]).await;
    assert_eq!(world.ask(&callers[1], Some(&session), "ping", json!({})).await.0, Status::Missing);
    let params = json!({ "notifications": { "resourcesListChanged": true } });
    let Reply::Listening(listen) = world.post(&callers[1], None, "subscriptions/listen", params).await else { panic!("no listen") };
    assert_eq!(listen.count().now_or_never(), Some(2), "the acknowledgement and the result");
    drop((stream, legacy, modern));
    world.server.end_callers(|_| true);
    let session = world.session(&callers[1]).await;
    assert_eq!(world.ask(&callers[1], Some(&session), "ping", json!({})).await.0, Status::Ok, "it is one again");
}

#[tokio::test(start_paused = true)]
async fn a_listen_is_told_of_the_owner_that_its_caller_sees() {
    let world = World::new(false, Server::for_callers).await;
    let mut listens = Vec::new();
    for caller in [of("ann", &["p1"]), of("bob", &["p2"])] {
        let params = json!({ "notifications": { "resourceSubscriptions": ["x://a"] } });
        let Reply::Listening(mut listen) = world.post(&caller, None, "subscriptions/listen", params).await else { panic!("no listen") };
        assert!(listen.next().await.is_some(), "the acknowledgement");
        listens.push(listen);
    }
    world.providers[1].announcer.updated("x://a");
    let told = tokio::time::timeout(HANG, listens[1].next()).await.expect("it is not told").unwrap();
    assert!(String::from_utf8(told.message).unwrap().contains("notifications/resources/updated"));
    assert!(listens[0].next().now_or_never().is_none());
}

#[tokio::test(start_paused = true)]
async fn no_cache_may_share_what_depends_on_the_caller() {
    for (by_caller, scope) in [(false, "public"), (true, "private")] {
        let world = World::new(true, |server| if by_caller { server.for_callers() } else { server }).await;
        let (_, read) = world.ask(&of("ann", &["p1"]), None, "resources/read", json!({ "uri": "x://a" })).await;
        assert_eq!((&read["result"]["cacheScope"], &read["result"]["ttlMs"]), (&json!(scope), &json!(9_000)));
        let (_, list) = world.ask(&of("ann", &["p1"]), None, "resources/list", json!({})).await;
        assert_eq!(list["result"]["cacheScope"], "private");
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_of_another_callers_says_nothing() {
    let world = World::new(false, Server::for_callers).await;
    let wait = async |caller: &Caller, token: Option<&Value>| {
        let mut arguments = json!({ "uris": ["x://a"], "timeout": 0 });
        if let Some(token) = token {
            arguments["token"] = token.clone();
        }
        let (_, answer) = world.ask(caller, None, "tools/call", json!({ "name": "wait_for_update", "arguments": arguments })).await;
        answer["result"]["structuredContent"].clone()
    };
    let (ann, bob) = (of("ann", &["p1"]), of("bob", &["p2"]));
    let tokens = [wait(&ann, None).await["token"].clone(), wait(&bob, None).await["token"].clone()];
    world.providers[1].announcer.updated("x://a");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(wait(&ann, Some(&tokens[0])).await["status"], "timeout", "hers has not changed");
    let his = wait(&bob, Some(&tokens[1])).await;
    assert_eq!((&his["status"], his.get("unsure")), (&json!("changed"), None));
    let stolen = wait(&ann, Some(&tokens[1])).await;
    assert_eq!(stolen["unsure"], json!(["x://a"]), "for all the host knows");
}
