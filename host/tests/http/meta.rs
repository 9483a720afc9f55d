//! `_meta` of unknown content, wherever one may stand (MCP, "`_meta`"): whatever is in it, it is passed over.

use serde_json::json;

use crate::{
    B,
    common::http::{MODERN, Response},
    served,
};

/// Fields to be put into a `_meta` that is otherwise as it should be.
fn unknown() -> Vec<String> {
    let deep = |open: &str, close: &str| format!(r#""deep":{}1{}"#, open.repeat(100_000), close.repeat(100_000));
    vec![
        r#""progressToken":1"#.into(),
        r#""progressToken":{"a":[null]}"#.into(),
        r#""":"","\u0000":null,"ü 🦀":[[],{}],"vendor.example/x":1e999"#.into(),
        r#""_meta":{"_meta":{"io.modelcontextprotocol/protocolVersion":7}}"#.into(),
        r#""io.modelcontextprotocol/clientInfo":"nobody","io.modelcontextprotocol/logLevel":{},"io.modelcontextprotocol/subscriptionId":[]"#.into(),
        r#""uri":"x://other","method":"initialize","jsonrpc":"1.0","id":null,"a":1,"a":2"#.into(),
        format!(r#""large":"{}""#, "x".repeat(3 << 20)),
        format!(r#""wide":[{}0]"#, "0,".repeat(500_000)),
        deep("[", "]"),
        deep("{\"a\":", "}"),
    ]
}

const MODERN_META: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;

#[tokio::test]
async fn unknown_meta_changes_nothing_in_either_era() {
    let served = served().await;
    let session = served.session("2025-11-25").await;
    let argument = r#""ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"b"}"#;
    for (method, params) in [
        ("resources/read", r#""uri":"x://b""#),
        ("resources/list", r#""cursor":null"#),
        ("resources/templates/list", r#""cursor":null"#),
        ("tools/list", r#""cursor":null"#),
        ("completion/complete", argument),
    ] {
        let legacy = async |meta: &str| -> Response {
            let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"_meta":{meta},{params}}}}}"#);
            session.post(body.as_bytes()).await
        };
        let modern = async |meta: &str| -> Response {
            let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params},"_meta":{{{MODERN_META}{meta}}}}}}}"#);
            served.send("POST", &[("mcp-protocol-version", MODERN), ("mcp-method", method), ("mcp-name", B)], body.as_bytes()).await
        };
        let usual = (legacy("{}").await.result(), modern("").await.result());
        for fields in unknown() {
            let odd = (legacy(&format!("{{{fields}}}")).await.result(), modern(&format!(",{fields}")).await.result());
            assert_eq!(odd, usual, "{method} with {}", &fields[..fields.len().min(80)]);
        }
        for no_object in ["null", "7", "\"a\"", "[]", "true"] {
            assert_eq!(legacy(no_object).await.result(), usual.0, "{method} with {no_object}");
        }
    }
}

#[tokio::test]
async fn unknown_meta_is_passed_over_in_what_wants_no_answer_and_in_what_opens() {
    let served = served().await;
    for fields in unknown() {
        let initialize = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","_meta":{{{fields}}},"params":{{"protocolVersion":"2025-11-25","_meta":{{{fields}}}}}}}"#
        );
        // Only the large one is past what a body may have when it is there twice.
        if initialize.len() > wharf::transport::http::BODY_CAP {
            continue;
        }
        let answer = served.send("POST", &[], initialize.as_bytes()).await;
        assert_eq!(answer.result()["protocolVersion"], "2025-11-25");
        let id = answer.header("mcp-session-id").unwrap().to_owned();
        for message in [
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/initialized","params":{{"_meta":{{{fields}}}}}}}"#),
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":9,"_meta":{{{fields}}}}}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":4,"result":{{"_meta":{{{fields}}}}}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":4,"error":{{"code":1,"message":"","data":{{{fields}}}}}}}"#),
        ] {
            let answer = served.send("POST", &[("mcp-session-id", &id)], message.as_bytes()).await;
            assert_eq!((answer.status, answer.body.len()), (202, 0));
        }
    }
}

#[tokio::test]
async fn what_the_modern_era_needs_of_meta_is_named_if_it_is_of_the_wrong_type() {
    let served = served().await;
    let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "tools/list")];
    for meta in [
        "null",
        "7",
        "[]",
        "{}",
        r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#,
        r#"{"io.modelcontextprotocol/protocolVersion":7,"io.modelcontextprotocol/clientCapabilities":{}}"#,
        r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":[]}"#,
        r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":null}"#,
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":"x","method":"tools/list","params":{{"_meta":{meta}}}}}"#);
        let answer = served.send("POST", &headers, body.as_bytes()).await;
        assert_eq!((answer.code(), &answer.json()["id"]), ((400, -32602), &json!("x")), "{meta}");
        assert!(answer.json()["error"]["message"].as_str().unwrap().contains("`_meta`"), "{meta}");
    }
}
