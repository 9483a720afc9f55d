use proptest::prelude::*;

use super::*;
use crate::mcp::error::{INVALID_REQUEST, PARSE_ERROR};

fn code(text: &str) -> (String, i32) {
    let Err(rejected) = parse(text.as_bytes()) else { panic!("{text} was taken") };
    (rejected.id.as_json().to_owned(), rejected.error.code)
}

fn request(text: &str) -> Request<'_> {
    let Ok(Incoming::One(Message::Request(request))) = parse(text.as_bytes()) else { panic!("{text} is no request") };
    request
}

#[test]
fn what_is_not_json_is_a_parse_error() {
    for text in ["", " ", "{", "nonsense", "{\"jsonrpc\":\"2.0\"", "{} {}", "[1,", "[1 2]", "\"a", "{\"id\":\"\u{1}\"}"] {
        assert_eq!(code(text), ("null".to_owned(), PARSE_ERROR), "{text}");
    }
    assert_eq!(parse(b"{\"a\":\"\xff\"}").unwrap_err().error.code, PARSE_ERROR);
}

#[test]
fn json_of_another_shape_is_an_invalid_request_and_keeps_its_id() {
    for (text, id) in [
        ("1", "null"),
        ("\"a\"", "null"),
        ("null", "null"),
        ("[]", "null"),
        ("{}", "null"),
        (r#"{"id":7,"method":"ping"}"#, "7"),
        (r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, "\"a\""),
        (r#"{"jsonrpc":2.0,"id":7,"method":"ping"}"#, "7"),
        (r#"{"jsonrpc":"2.0","id":7}"#, "7"),
        (r#"{"jsonrpc":"2.0","id":7,"method":5}"#, "7"),
        (r#"{"jsonrpc":"2.0","id":7,"method":null}"#, "7"),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, "null"),
        (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, "null"),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, "null"),
        (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, "null"),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, "null"),
    ] {
        assert_eq!(code(text), (id.to_owned(), INVALID_REQUEST), "{text}");
    }
}

#[test]
fn ids_are_kept_as_they_came() {
    for id in ["0", "-1", "1.50", "1e3", "12345678901234567890123", "\"\"", r#""a\u0041\n""#, "\"ü\""] {
        assert_eq!(request(&format!(r#"{{"method":"ping","id": {id} ,"jsonrpc":"2.0"}}"#)).id.as_json(), id);
    }
}

#[test]
fn unknown_fields_and_escaped_methods_are_taken() {
    let request = request(r#" {"jsonrpc":"2.0","x":[{}],"id":1,"method":"pi\u006eg","params":{"y":1,"_meta":{"progressToken":1}}}"#);
    assert_eq!(request.method, "ping");
    assert!(request.meta().is_some_and(|meta| meta.protocol_version.is_none()));
    assert!(request.params().is_ok());
}

#[test]
fn params_are_an_object_or_absent() {
    for (params, fits) in [("{}", true), ("null", true), ("[]", false), ("5", false), ("\"a\"", false), (r#"{"uri":1,"uri":2}"#, false)] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{params}}}"#);
        assert_eq!(request(&text).params().is_ok(), fits, "{params}");
    }
}

#[test]
fn a_field_of_the_wrong_type_is_named() {
    let text = r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"uri":5,"name":"a\ud800"}}"#;
    let request = request(text);
    let params = request.params().unwrap();
    assert!(Params::text("uri", params.uri).unwrap_err().message.contains("`uri` must be a string"));
    assert!(Params::text("name", params.name).unwrap_err().message.contains("`name` must be a string"));
    assert!(Params::text("cursor", params.cursor).unwrap_err().message.contains("`cursor` is missing"));
}

#[test]
fn a_batch_holds_so_many_messages_and_no_more() {
    let batch = |length: usize| format!("[{}]", vec!["1"; length].join(","));
    assert!(matches!(parse(batch(BATCH_CAP).as_bytes()), Ok(Incoming::Batch(entries)) if entries.len() == BATCH_CAP));
    assert_eq!(code(&batch(BATCH_CAP + 1)), ("null".to_owned(), INVALID_REQUEST));
}

#[test]
fn deep_nesting_is_no_danger() {
    let deep = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":{}{}}}}}"#, "[".repeat(500_000), "]".repeat(500_000));
    assert!(parse(deep.as_bytes()).is_ok());
    assert_eq!(code(&"[".repeat(500_000)).1, PARSE_ERROR);
    assert_eq!(code(&"{\"a\":".repeat(500_000)).1, PARSE_ERROR);
}

#[test]
fn answers_and_notifications_are_told_apart() {
    assert!(matches!(parse(br#"{"jsonrpc":"2.0","id":1,"result":null}"#), Ok(Incoming::One(Message::Response))));
    assert!(matches!(parse(br#"{"jsonrpc":"2.0","id":null,"error":{}}"#), Ok(Incoming::One(Message::Response))));
    assert!(matches!(parse(br#"{"jsonrpc":"2.0","method":"x"}"#), Ok(Incoming::One(Message::Notification(method))) if method == "x"));
}

proptest! {
    #[test]
    fn nothing_a_client_sends_is_a_panic(pieces in prop::collection::vec(piece(), 0..24)) {
        let text = pieces.concat();
        if let Ok(Incoming::One(Message::Request(request))) = parse(&text) {
            let id: serde_json::Value = serde_json::from_str(request.id.as_json()).unwrap();
            prop_assert!(id.is_string() || id.is_number());
            let _ = (request.meta(), request.params().map(|params| Params::text("uri", params.uri)));
        }
    }
}

/// A piece of something that is nearly a message.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let words = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "null",
        "1",
        "-",
        "\"jsonrpc\":\"2.0\"",
        "\"id\":",
        "\"method\":\"ping\"",
        "\"params\":{",
        "\"_meta\":{",
        "\"uri\":",
        "\"\\ud800\"",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":",
    ];
    prop_oneof![4 => prop::sample::select(words.to_vec()).prop_map(|word| word.as_bytes().to_vec()), 1 => any::<u8>().prop_map(|byte| vec![byte])]
}

#[test]
fn an_id_past_its_cap_is_refused_and_not_repeated() {
    let text = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
    let string = |bytes: usize| format!("\"{}\"", "a".repeat(bytes - 2));
    assert_eq!(request(&text(&string(ID_CAP))).id.as_json(), string(ID_CAP));
    for id in [string(ID_CAP + 1), "9".repeat(ID_CAP + 1)] {
        assert_eq!(code(&text(&id)), ("null".to_owned(), INVALID_REQUEST));
    }
}
