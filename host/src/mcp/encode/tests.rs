use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde_json::json;

use super::*;

fn meta() -> Option<Map<String, Value>> {
    json!({ "org.example/a": [1, null] }).as_object().cloned()
}

fn icons() -> Option<Vec<Icon>> {
    Some(vec![
        Icon { src: "https://e.org/i.png".into(), mime_type: None, sizes: None, theme: Some(IconTheme::Dark) },
        Icon {
            src: "data:,".into(),
            mime_type: Some("image/png".into()),
            sizes: Some(vec!["48x48".into(), "any".into()]),
            theme: Some(IconTheme::Light),
        },
    ])
}

fn icons_json() -> Value {
    json!([
        { "src": "https://e.org/i.png", "theme": "dark" },
        { "src": "data:,", "mimeType": "image/png", "sizes": ["48x48", "any"], "theme": "light" },
    ])
}

#[test]
fn every_field_of_a_resource_reaches_the_client() {
    let info = ResourceInfo {
        uri: "x://A/../ü {a}%2f".into(),
        name: "n".into(),
        title: Some("T".into()),
        description: Some("D".into()),
        mime_type: Some("text/plain".into()),
        size: Some(u64::from(u32::MAX) + 1),
        icons: icons(),
        annotations: Some(Annotations {
            audience: Some(vec![Role::User, Role::Assistant]),
            priority: Some(0.5),
            last_modified: Some(1_736_694_058_000),
        }),
        meta: meta(),
    };
    assert_eq!(
        serde_json::to_value(ResourceJson(&info)).unwrap(),
        json!({
            "uri": "x://A/../ü {a}%2f", "name": "n", "title": "T", "description": "D", "mimeType": "text/plain", "size": 4_294_967_296_u64,
            "icons": icons_json(),
            "annotations": { "audience": ["user", "assistant"], "priority": 0.5, "lastModified": "2025-01-12T15:00:58Z" },
            "_meta": { "org.example/a": [1, null] },
        })
    );
    assert_eq!(serde_json::to_value(ResourceJson(&ResourceInfo::new("x://a", "a"))).unwrap(), json!({ "uri": "x://a", "name": "a" }));
}

#[test]
fn every_field_of_a_template_reaches_the_client() {
    let info = TemplateInfo {
        uri_template: "x://{name}".into(),
        name: "n".into(),
        title: Some("T".into()),
        description: Some("D".into()),
        mime_type: Some("text/plain".into()),
        icons: icons(),
        annotations: Some(Annotations { audience: Some(vec![]), ..Default::default() }),
        meta: meta(),
    };
    assert_eq!(
        serde_json::to_value(TemplateJson(&info)).unwrap(),
        json!({
            "uriTemplate": "x://{name}", "name": "n", "title": "T", "description": "D", "mimeType": "text/plain",
            "icons": icons_json(), "annotations": { "audience": [] }, "_meta": { "org.example/a": [1, null] },
        })
    );
    assert_eq!(
        serde_json::to_value(TemplateJson(&TemplateInfo::new("x://{a}", "a"))).unwrap(),
        json!({ "uriTemplate": "x://{a}", "name": "a" })
    );
}

/// The contents' JSON, which were asked for as `x://a`.
fn json_of(one: &Contents) -> Value {
    let json: Value = serde_json::from_slice(&contents(&[one.clone(), one.clone()], "x://a").unwrap()).unwrap();
    assert_eq!(json[0], json[1]);
    json[0].clone()
}

#[test]
fn contents_are_text_or_base64_and_have_a_uri() {
    let text = Contents { uri: None, mime_type: None, body: Body::Text("a\"\n\u{1}ü".into()), meta: None };
    assert_eq!(json_of(&text), json!({ "uri": "x://a", "text": "a\"\n\u{1}ü" }));
    let bytes: Vec<u8> = (0..=255).cycle().take(5000).collect();
    for length in [0, 1, 2, 3, 5000] {
        let body = Body::Blob(Bytes::copy_from_slice(&bytes[..length]));
        let blob = Contents { uri: Some("x://b".into()), mime_type: Some("image/png".into()), body, meta: meta() };
        let json = json_of(&blob);
        assert_eq!((&json["uri"], &json["mimeType"]), (&json!("x://b"), &json!("image/png")));
        assert_eq!(json["_meta"], json!({ "org.example/a": [1, null] }));
        assert_eq!(STANDARD.decode(json["blob"].as_str().unwrap()).unwrap(), bytes[..length]);
    }
}

#[test]
fn times_are_iso_8601_and_never_a_panic() {
    for (ms, text) in [
        (0, Some("1970-01-01T00:00:00Z")),
        (1, Some("1970-01-01T00:00:00.001Z")),
        (951_782_400_000, Some("2000-02-29T00:00:00Z")),
        (YEAR_10000 - 1, Some("9999-12-31T23:59:59.999Z")),
        (YEAR_10000, None),
        (u64::MAX, None),
    ] {
        let annotations = Annotations { last_modified: Some(ms), ..Default::default() };
        let json = serde_json::to_value(AnnotationsJson(&annotations)).unwrap();
        assert_eq!(json.get("lastModified").and_then(Value::as_str), text, "{ms}");
    }
}

#[test]
fn an_answer_is_one_line_of_json() {
    let raw: Box<serde_json::value::RawValue> = serde_json::from_str("7").unwrap();
    let text = format!(r#"{{"jsonrpc":"2.0","id":{raw},"method":"ping"}}"#);
    let Ok(super::super::message::Message::Request(request)) = super::super::message::parse_one(&text) else { panic!() };
    let mut answer = Answer::begin(request.id, 0);
    answer.raw("a", b"[1]");
    answer.field("b", "x\ny").unwrap();
    answer.fields("\"c\":1");
    assert_eq!(String::from_utf8(answer.finish()).unwrap(), r#"{"jsonrpc":"2.0","id":7,"result":{"a":[1],"b":"x\ny","c":1}}"#);
    assert_eq!(Answer::begin(request.id, 0).finish(), br#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
    let error = error(Id::NULL, &RpcError::parse("a\nb"));
    assert_eq!(String::from_utf8(error).unwrap(), r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: a\nb"}}"#);
}
