//! Answers that the host may give again: both eras send the same JSON of the same contents, and never that of older ones.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use wharf::provider::{Body, Error, Reading, Reuse};

use crate::{
    common::{
        http::{Response, Served, Session},
        memory::{Memory, body},
    },
    list_changed, told,
};

const URI: &str = "x://kept";
/// What goes out beside the head, and what is copied behind it.
const SIZES: [usize; 4] = [0, 300, 100 << 10, 3 << 20];

fn put(memory: &Memory, what: Body, version: Option<&str>, reuse: Option<Reuse>) {
    let reading = Reading { version: version.map(Into::into), reuse, ..body(what) };
    memory.shelf.lock().readings.insert(URI.into(), Ok::<_, Error>(reading));
}

fn text(size: usize) -> String {
    "a \"line\" of ü\\n\n".repeat(size / 16 + 1)
}

/// Its contents, which are all that comes of them: the length is that of the body.
fn contents(answer: &Response) -> Value {
    assert_eq!(answer.header("transfer-encoding"), None);
    assert_eq!(answer.header("content-length"), Some(&*answer.body.len().to_string()));
    answer.result()["contents"].clone()
}

async fn read(served: &Served, legacy: &Session<'_>) -> Value {
    let modern = served.modern("resources/read", json!({ "uri": URI })).await;
    let legacy = legacy.ask("resources/read", json!({ "uri": URI })).await;
    assert_eq!((modern.json()["id"].clone(), legacy.json()["id"].clone()), (json!(1), json!(7)));
    assert_eq!(legacy.result().as_object().unwrap().keys().collect::<Vec<_>>(), ["contents"]);
    let both = contents(&modern);
    assert_eq!(both, contents(&legacy));
    both
}

#[tokio::test]
async fn a_kept_answer_is_whole_in_both_eras_and_new_once_it_is_announced() {
    let served = Served::new(|memory| memory.put(URI, "")).await;
    let legacy = served.session("2025-11-25").await;
    let hour = Some(Reuse::For(Duration::from_secs(3600)));
    for size in SIZES {
        for (version, reuse) in [(None, hour), (Some("1"), None), (None, None)] {
            put(&served.memory, Body::Text(text(size)), version, reuse);
            served.memory.announcer.updated(URI);
            for _ in 0..2 {
                assert_eq!(read(&served, &legacy).await[0]["text"], text(size), "{size} {version:?}");
            }
            // Only a version could hide it, and a new one says that it changed.
            put(&served.memory, Body::Text(text(size) + "new"), version.map(|_| "2"), reuse);
            served.memory.announcer.updated(URI);
            assert_eq!(read(&served, &legacy).await[0]["text"], text(size) + "new", "{size} {version:?}");
        }
    }
    put(&served.memory, Body::Blob(Bytes::from(vec![7; 60 << 10])), None, hour);
    served.memory.announcer.updated(URI);
    for _ in 0..2 {
        assert_eq!(read(&served, &legacy).await[0]["blob"], "BwcH".repeat(20 << 10));
    }
}

#[tokio::test]
async fn what_remains_of_the_time_is_said_anew_around_the_same_contents() {
    let served = Served::new(|memory| memory.put(URI, "")).await;
    put(&served.memory, Body::Text(text(100 << 10)), None, Some(Reuse::For(Duration::from_secs(3600))));
    let first = served.modern("resources/read", json!({ "uri": URI })).await.result();
    // Long enough that a millisecond of the hour is over.
    while served.modern("resources/read", json!({ "uri": URI })).await.result()["ttlMs"] == first["ttlMs"] {}
    let second = served.modern("resources/read", json!({ "uri": URI })).await.result();
    assert!(second["ttlMs"].as_u64() < first["ttlMs"].as_u64(), "{}", second["ttlMs"]);
    assert_eq!((&second["contents"], &second["_meta"]), (&first["contents"], &first["_meta"]));
    let reads = served.memory.calls().iter().filter(|call| call.starts_with("read")).count();
    assert_eq!(reads, 1);
}

#[tokio::test]
async fn a_batch_holds_kept_answers_whole() {
    let served = Served::new(|memory| memory.put(URI, "")).await;
    put(&served.memory, Body::Text(text(100 << 10)), None, Some(Reuse::For(Duration::from_secs(3600))));
    let session = served.session("2025-03-26").await;
    let one = |id: u64| json!({ "jsonrpc": "2.0", "id": id, "method": "resources/read", "params": { "uri": URI } });
    let answers = session.post(json!([one(1), one(2)]).to_string().as_bytes()).await.json();
    for (at, id) in [(0, 1), (1, 2)] {
        assert_eq!((&answers[at]["id"], &answers[at]["result"]["contents"][0]["text"]), (&json!(id), &json!(text(100 << 10))));
    }
}

#[tokio::test]
async fn a_long_page_is_whole_in_both_eras_and_new_once_the_list_changed() {
    let served = Served::new(|memory| (0..1_200).for_each(|number| memory.put(&format!("x://{number}"), ""))).await;
    let legacy = served.session("2025-11-25").await;
    let mut listen = served.listen(json!({ "resourcesListChanged": true })).await;
    told(&mut listen).await;
    for count in [1_200, 1_201] {
        for _ in 0..2 {
            let modern = served.modern("resources/list", json!({})).await;
            assert_eq!(modern.header("content-length"), Some(&*modern.body.len().to_string()));
            let (modern, legacy) = (modern.result(), legacy.ask("resources/list", json!({})).await.result());
            assert_eq!((&modern["resources"], &modern["nextCursor"]), (&legacy["resources"], &legacy["nextCursor"]));
            let next = served.modern("resources/list", json!({ "cursor": legacy["nextCursor"] })).await.result();
            let uris = [&legacy, &next].map(|page| page["resources"].as_array().unwrap().clone()).concat();
            let uris: Vec<_> = uris.iter().map(|resource| resource["uri"].as_str().unwrap().to_owned()).collect();
            assert_eq!(uris, (0..count).map(|number| format!("x://{number}")).collect::<Vec<_>>());
        }
        if count == 1_200 {
            served.memory.put("x://1200", "");
            served.memory.announce_list();
            assert_eq!(told(&mut listen).await, list_changed());
        }
    }
}
