//! What is listed, and what is suggested.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use wharf_tests::{Host, Session, call};

use super::{both, serving};

const ECHO: &str = "contract://echo/{word}{?from,to}";

/// All entries, of however many pages.
async fn all(host: &Host, legacy: bool, method: &str, field: &str) -> Result<Vec<Value>> {
    let (mut entries, mut params) = (Vec::new(), json!({}));
    loop {
        let page = if legacy { Session::open(host).await?.call(method, params).await? } else { call(host, method, params).await? };
        entries.extend(page[field].as_array().with_context(|| format!("{page}"))?.iter().cloned());
        match page["nextCursor"].as_str() {
            Some(cursor) => params = json!({ "cursor": cursor }),
            None => return Ok(entries),
        }
    }
}

/// What `full` and `echo` say besides their names.
fn fields() -> Value {
    json!({
        "icons": [{ "src": "data:image/png;base64,AAAA", "mimeType": "image/png", "sizes": ["48x48"], "theme": "dark" }],
        "annotations": { "audience": ["user", "assistant"], "priority": 0.5, "lastModified": "2023-11-14T22:13:20Z" },
        "_meta": { "contract/x": 1 },
    })
}

fn with(mut entry: Value, more: &Value) -> Value {
    for (key, value) in more.as_object().into_iter().flatten() {
        entry[key] = value.clone();
    }
    entry
}

/// The same moment is written with and without a fraction of a second.
fn plain(mut entry: Value) -> Value {
    if let Some(moment) = entry["annotations"]["lastModified"].as_str().map(|moment| moment.replace(".000Z", "Z")) {
        entry["annotations"]["lastModified"] = moment.into();
    }
    if entry["annotations"].is_null() {
        entry.as_object_mut().map(|entry| entry.remove("annotations"));
    }
    entry
}

fn same(found: Vec<Value>, expected: Vec<Value>) -> Result<()> {
    for (found, expected) in found.iter().cloned().map(plain).zip(&expected) {
        ensure!(found == *expected, "listed\n{found}\ninstead of\n{expected}");
    }
    ensure!(found.len() == expected.len(), "{} entries instead of {}", found.len(), expected.len());
    Ok(())
}

pub async fn every_listed_field_arrives_in_both_eras(language: &str) -> Result<()> {
    let host = serving(language).await?;
    let simple = |name: &str, mime: &str| json!({ "uri": format!("contract://{name}"), "name": name, "mimeType": mime });
    let full = json!({ "uri": "contract://full", "name": "full", "title": "Everything", "mimeType": "text/plain", "size": 5,
        "description": "Every field that a list can carry." });
    let resources = || {
        let mut all = vec![with(full.clone(), &fields())];
        let text = "text/plain";
        for (name, mime) in [("utf8", text), ("blob", "application/octet-stream"), ("two", text), ("count", text), ("setting", text)] {
            all.push(simple(name, mime));
        }
        all
    };
    let echo =
        json!({ "uriTemplate": ECHO, "name": "echo", "title": "Echo", "description": "What the URI says.", "mimeType": "text/plain" });
    let templates = || {
        let named = |template: &str, name: &str| json!({ "uriTemplate": template, "name": name });
        vec![
            with(echo.clone(), &fields()),
            named("contract://path/{+path}", "path"),
            named("contract://error/{kind}", "error"),
            named("contract://do/{what}", "do"),
        ]
    };
    for legacy in [true, false] {
        same(all(&host, legacy, "resources/list", "resources").await?, resources())?;
        same(all(&host, legacy, "resources/templates/list", "resourceTemplates").await?, templates())?;
    }
    Ok(())
}

pub async fn suggestions_arrive_and_know_what_is_filled_in(language: &str) -> Result<()> {
    let host = serving(language).await?;
    let ask = |template: &str, argument: &str, value: &str, known: Value| {
        json!({ "ref": { "type": "ref/resource", "uri": template }, "argument": { "name": argument, "value": value },
            "context": { "arguments": known } })
    };
    let none: [&str; 0] = [];
    let all = ["alpha", "beta", "gamma"];
    for (value, values) in [("", &all[..]), ("b", &["beta"]), ("gamma", &["gamma"]), ("x", &[])] {
        for answer in both(&host, "completion/complete", ask(ECHO, "word", value, json!({}))).await? {
            let expected = json!({ "values": values, "total": values.len(), "hasMore": false });
            ensure!(answer["completion"] == expected, "{value:?}: {answer}");
        }
    }
    for (template, argument, known, values) in [
        (ECHO, "from", json!({ "word": "grüße" }), &["grüße"][..]),
        (ECHO, "from", json!({}), &none),
        (ECHO, "to", json!({ "word": "alpha" }), &none),
        ("contract://path/{+path}", "path", json!({}), &none),
        ("contract://do/{what}", "what", json!({}), &none),
    ] {
        for answer in both(&host, "completion/complete", ask(template, argument, "", known)).await? {
            ensure!(answer["completion"]["values"] == json!(values), "{template} {argument}: {answer}");
        }
    }
    Ok(())
}
