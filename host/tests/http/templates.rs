//! Reading what templates describe.

use serde_json::json;
use wharf::provider::TemplateInfo;

use crate::common::http::Served;

const FILES: &str = "x://repo/{name}{/path*}{?rev,line}{#part}";

#[tokio::test]
async fn a_provider_gets_what_its_template_finds_in_the_uri_and_nothing_smuggled() {
    let served = Served::new(|memory| {
        for template in [FILES, "x://file/{+path}", "x://refused/{a}{b}"] {
            memory.template(TemplateInfo::new(template, "t"));
        }
    })
    .await;
    let session = served.session("2025-11-25").await;
    for (uri, text) in [
        ("x://repo/w/a%20b/c?line=7&rev=main#top", "name=w\npath=a b\npath=c\nrev=main\nline=7\npart=top\n"),
        ("x://repo/w", "name=w\n"),
        ("x://file//etc/caf%C3%A9%2520", "path=/etc/café%20\n"),
    ] {
        for answer in
            [session.ask("resources/read", json!({ "uri": uri })).await, served.modern("resources/read", json!({ "uri": uri })).await]
        {
            let contents = &answer.result()["contents"][0];
            assert_eq!((contents["uri"].as_str(), contents["text"].as_str()), (Some(uri), Some(text)));
        }
    }
    for uri in [
        "x://repo/w/..",
        "x://repo/w/%2e%2E/x",
        "x://repo/a%2Fb",
        "x://repo/w/a%2F..%2Fb",
        "x://repo/w?other=1",
        "x://repo/w?rev=1&rev=2",
        "x://file/a/../b",
        "x://file/a%2F%2e%2e",
        "x://refused/ab",
    ] {
        assert_eq!(session.ask("resources/read", json!({ "uri": uri })).await.code(), (200, -32002), "{uri}");
        assert_eq!(served.modern("resources/read", json!({ "uri": uri })).await.code(), (200, -32602), "{uri}");
    }
    let listed = session.ask("resources/templates/list", json!({})).await.result();
    let listed: Vec<_> =
        listed["resourceTemplates"].as_array().unwrap().iter().map(|template| template["uriTemplate"].as_str().unwrap()).collect();
    assert_eq!(listed, [FILES, "x://file/{+path}"]);
}
