//! A message, or a batch: the first byte says as what it comes, the rest is its body.

use serde_json::Value;
use wharf::mcp::{Envelope, Reply, Said};

use crate::world::World;

pub fn run(data: &[u8]) {
    let Some((&how, body)) = data.split_first() else { return };
    World::with(|world| {
        let session = world.session();
        let version = match how % 4 {
            0 => Said::Nothing,
            1 => Said::Text("2026-07-28"),
            2 => Said::Text("2025-11-25"),
            _ => Said::Garbled,
        };
        let session = if how & 4 == 0 { Said::Nothing } else { Said::Text(&session) };
        let message: Option<Value> = serde_json::from_slice(body).ok();
        // What the modern era repeats in headers, as it is in the message; or not at all.
        let repeated = |pointer: &str| message.as_ref().and_then(|message| message.pointer(pointer)?.as_str()).filter(|_| how & 8 == 0);
        let said = |text: Option<&'static str>| text.map_or(Said::Nothing, Said::Text);
        let (method, name) = (repeated("/method").map(str::to_owned), repeated("/params/uri").map(str::to_owned));
        let (method, name) = (method.as_deref().map_or(said(None), Said::Text), name.as_deref().map_or(said(None), Said::Text));
        let envelope = Envelope { version, session, method, name, ..Envelope::default() };
        let answered = world.block_on(async {
            match world.host.server().post(body, &envelope).await {
                Reply::Message(_, message) => Some(message.whole().into_owned()),
                Reply::Session(_, message) => Some(message),
                Reply::Calling(stream) => stream.answer().await,
                Reply::Accepted | Reply::Listening(_) => None,
            }
        });
        if let Some(answered) = answered {
            check(&answered, message.as_ref());
        }
    });
}

fn check(answered: &[u8], asked: Option<&Value>) {
    let answer: Value = match serde_json::from_slice(answered) {
        Ok(answer) => answer,
        Err(error) => panic!("{error}: {}", String::from_utf8_lossy(answered)),
    };
    let (answers, asked) = match (answer, asked) {
        // Of a batch only that each is an answer.
        (Value::Array(answers), _) => (answers, None),
        (answer, asked) => (vec![answer], asked),
    };
    for answer in &answers {
        assert_eq!(answer["jsonrpc"], "2.0", "{answer}");
        assert!(answer["result"].is_object() != answer["error"].is_object(), "{answer}");
        assert!(answer["error"].is_null() || answer["error"]["code"].is_i64() && answer["error"]["message"].is_string(), "{answer}");
        if let Some(id) = asked.and_then(|asked| asked.get("id")).filter(|_| answer["result"].is_object()) {
            assert_eq!(&answer["id"], id, "{answer}");
        }
    }
}
