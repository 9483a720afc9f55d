//! Suggestions for the variables of templates, in both eras.

use std::time::Duration;

use serde_json::{Value, json};
use wharf::provider::{Completion, CompletionRequest, Error, TemplateInfo};

use crate::{
    B,
    common::http::{Response, Served},
    fill,
};

const T: &str = "x://t/{name}{?lang,year}";

async fn served() -> Served {
    Served::new(|memory| {
        fill(memory);
        memory.template(TemplateInfo::new(T, "long"));
    })
    .await
}

fn asked(uri: &str, name: &str, value: &str) -> Value {
    json!({ "ref": { "type": "ref/resource", "uri": uri }, "argument": { "name": name, "value": value } })
}

/// The answer of both eras, with what only the modern one has in it.
async fn answers(served: &Served, params: Value) -> [Response; 2] {
    let legacy = served.session("2025-11-25").await.ask("completion/complete", params.clone()).await;
    [legacy, served.modern("completion/complete", params).await]
}

async fn completion(served: &Served, params: Value) -> Value {
    let [legacy, modern] = answers(served, params).await.map(|answer| answer.result());
    assert_eq!((legacy.as_object().unwrap().len(), &modern["resultType"], modern.get("ttlMs")), (1, &json!("complete"), None));
    assert_eq!(legacy["completion"], modern["completion"]);
    modern["completion"].clone()
}

#[tokio::test]
async fn the_templates_owner_is_asked_with_what_is_known_already() {
    let served = served().await;
    served.memory.suggest(Ok(Completion { values: vec!["b\"".into(), "a".into()], total: None, has_more: None }));
    let mut params = asked(T, "name", "a\u{e9}");
    params["context"] = json!({ "arguments": { "year": "", "lang": "d\u{e9}\n", "name": "old", "foreign": "x" }, "other": 1 });
    assert_eq!(completion(&served, params).await, json!({ "values": ["b\"", "a"] }));
    let known = vec![("lang".into(), "d\u{e9}\n".into()), ("year".into(), String::new())];
    let expected = CompletionRequest { uri_template: T.into(), argument: "name".into(), value: "a\u{e9}".into(), known };
    assert_eq!(served.memory.completions_asked(), [expected.clone(), expected]);
    for context in [json!(null), json!({}), json!({ "arguments": null }), json!({ "arguments": {} })] {
        let mut params = asked(T, "lang", "");
        params["context"] = context;
        completion(&served, params).await;
        let expected = CompletionRequest { uri_template: T.into(), argument: "lang".into(), value: String::new(), known: vec![] };
        assert_eq!(served.memory.completions_asked(), [expected.clone(), expected]);
    }
}

#[tokio::test]
async fn at_most_100_values_go_out_and_whether_there_are_more() {
    let served = served().await;
    let values = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
    for (given, total, has_more, count, expected_total, expected_more) in [
        (100, None, None, 100, None, None),
        (101, None, None, 100, None, Some(true)),
        (101, Some(101), Some(false), 100, Some(101), Some(true)),
        (100, Some(100), None, 100, Some(100), Some(false)),
        (3, Some(1000), None, 3, Some(1000), Some(true)),
        (3, Some(2), None, 3, None, None),
        (3, None, Some(true), 3, None, Some(true)),
        (0, Some(0), Some(false), 0, Some(0), Some(false)),
    ] {
        served.memory.suggest(Ok(Completion { values: values(given), total, has_more }));
        let completion = completion(&served, asked(T, "name", "")).await;
        let mut expected = json!({ "values": values(count) });
        if let Some(total) = expected_total {
            expected["total"] = json!(total);
        }
        if let Some(more) = expected_more {
            expected["hasMore"] = json!(more);
        }
        assert_eq!(completion, expected, "{given} {total:?} {has_more:?}");
    }
}

#[tokio::test]
async fn nothing_to_suggest_is_an_empty_answer() {
    let served = served().await;
    let nothing = json!({ "values": [], "total": 0, "hasMore": false });
    served.memory.suggest(Err(Error::NotFound));
    assert_eq!(completion(&served, asked(T, "name", "a")).await, nothing);
    served.memory.completions_asked();
    assert_eq!(completion(&served, asked(B, "anything", "a")).await, nothing, "a listed resource has no variables");
    let prompt = json!({ "ref": { "type": "ref/prompt", "name": "p" }, "argument": { "name": "a", "value": "" } });
    assert_eq!(completion(&served, prompt).await, nothing);
    assert_eq!(served.memory.completions_asked(), []);
}

#[tokio::test]
async fn unknown_templates_and_variables_are_named_and_nobody_is_asked() {
    let served = served().await;
    for (uri, variable, named) in [
        ("x://nothing/{a}", "a", "`ref.uri`: there is no such resource or template: x://nothing/{a}"),
        ("x://t/{NAME}", "NAME", "x://t/{NAME}"),
        ("x://t/one", "name", "x://t/one"),
        ("", "name", "`ref.uri`"),
        (T, "Lang", "`argument.name`: Lang: the template has no such variable; it has name, lang, year"),
        ("x://t/{name}", "lang", "it has name"),
        (T, "", "`argument.name`"),
    ] {
        for answer in answers(&served, asked(uri, variable, "")).await {
            assert_eq!(answer.code(), (200, -32602), "{uri} {variable}");
            let error = &answer.json()["error"];
            assert!(error["message"].as_str().unwrap().contains(named), "{named}: {error}");
            assert_eq!(error["data"]["uri"], uri);
        }
    }
    for (context, named) in [
        (json!([]), "`context`"),
        (json!({ "arguments": ["a"] }), "`context.arguments`"),
        (json!({ "arguments": { "lang": 5 } }), "`context.arguments`: lang"),
    ] {
        let mut params = asked(T, "name", "");
        params["context"] = context;
        for answer in answers(&served, params.clone()).await {
            assert_eq!(answer.code(), (200, -32602), "{params}");
            assert!(answer.json()["error"]["message"].as_str().unwrap().contains(named), "{params}");
        }
    }
    assert_eq!(served.memory.completions_asked(), []);
}

#[tokio::test]
async fn what_the_owner_refuses_is_said_as_of_a_read() {
    let served = served().await;
    let busy = Error::Unavailable { message: "busy".into(), retry_after: Some(Duration::from_millis(1500)) };
    for (error, code, data) in [
        (Error::Invalid("no such year".into()), -32602, json!({ "uri": T, "reason": "no such year" })),
        (Error::Denied("no".into()), -32603, json!({ "kind": "denied", "provider": "memory" })),
        (busy, -32603, json!({ "kind": "unavailable", "provider": "memory", "retryAfterMs": 1500 })),
        (Error::DeadlineExceeded(Duration::from_secs(5)), -32603, json!({ "kind": "deadline", "provider": "memory" })),
    ] {
        served.memory.suggest(Err(error));
        for answer in answers(&served, asked(T, "name", "")).await {
            assert_eq!((answer.code(), &answer.json()["error"]["data"]), ((200, code), &data));
        }
    }
}
