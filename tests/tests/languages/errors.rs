//! Each error of the contract, as the client sees it.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use wharf_tests::{Session, refused};

use super::{FULL, serving, text};

pub async fn each_error_arrives_as_mcp_has_it(language: &str) -> Result<()> {
    let host = serving(language).await?;
    let session = Session::open(&host).await?;
    let not_found = |uri: &str| (-32002, -32602, json!({ "uri": uri }));
    let invalid = |uri: &str| (-32602, -32602, json!({ "uri": uri, "reason": "as asked: invalid" }));
    let other = |kind: &str| (-32603, -32603, json!({ "kind": kind, "provider": language }));
    let error = |kind: &str| format!("contract://error/{kind}");
    let cases = [
        (error("not-found"), not_found(&error("not-found"))),
        (error("nonsense"), not_found(&error("nonsense"))),
        ("contract://do/nothing".into(), not_found("contract://do/nothing")),
        ("contract://nowhere".into(), not_found("contract://nowhere")),
        (error("invalid"), invalid(&error("invalid"))),
        (error("denied"), other("denied")),
        (error("unavailable"), other("unavailable")),
        (error("failed"), other("failed")),
    ];
    for (uri, (legacy, modern, data)) in cases {
        let params = json!({ "uri": uri });
        let answers =
            [(legacy, session.refused("resources/read", params.clone()).await?), (modern, refused(&host, "resources/read", params).await?)];
        for (code, answer) in answers {
            let expected = Value::from(code);
            ensure!(answer["code"] == expected && answer["data"] == data, "{uri}: {answer}\ninstead of {code} {data}");
            let message = answer["message"].as_str().context("no message")?;
            let kind = uri.rsplit('/').next().unwrap_or_default();
            ensure!(data["kind"].is_null() || message.contains(&format!("as asked: {kind}")), "{uri}: {answer}");
        }
    }
    // An error is an answer: the instance is the same.
    ensure!(text(&host, FULL).await? == "hello");
    ensure!(!host.log().contains("crashed"), "{}", host.log());
    Ok(())
}
