//! What a provider answers arrives, as far as it keeps the rules.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use wharf::provider::{
    Body, Completion, CompletionRequest, Contents, Error, Icon, IconTheme, Provider, ReadRequest, Reuse, Role, TemplateMatch,
};

use super::support::{LONG, basic, compiled, request, run, text};

#[tokio::test]
async fn what_a_component_offers_is_seen_from_its_type() {
    let basic = compiled("basic").await.offers();
    assert!(!basic.subscriptions && basic.completions && !basic.live);
    let live = compiled("live").await.offers();
    assert!(live.subscriptions && !live.completions && live.live);
}

#[tokio::test]
async fn every_field_of_a_list_arrives() {
    let basic = basic().await;
    let page = basic.provider.list(None).await.unwrap();
    assert_eq!(page.next_cursor.as_deref(), Some("2"));
    assert_eq!(page.reuse, Some(Reuse::For(Duration::from_millis(1500))));
    let full = &page.resources[0];
    assert_eq!((&*full.uri, full.name.as_str()), ("basic://full", "full"));
    assert_eq!(full.title.as_deref(), Some("Full"));
    assert_eq!(full.description.as_deref(), Some("Has every field"));
    assert_eq!(full.mime_type.as_deref(), Some("text/plain"));
    assert_eq!(full.size, Some(4));
    let icons = full.icons.as_ref().unwrap();
    let icon = Icon {
        src: "https://example.org/icon.png".into(),
        mime_type: Some("image/png".into()),
        sizes: Some(vec!["48x48".into()]),
        theme: Some(IconTheme::Dark),
    };
    assert_eq!((icons.len(), &icons[0]), (2, &icon));
    let annotations = full.annotations.as_ref().unwrap();
    assert_eq!(annotations.audience.as_deref(), Some(&[Role::User, Role::Assistant][..]));
    assert_eq!((annotations.priority, annotations.last_modified), (Some(0.5), Some(1_700_000_000_000)));
    assert_eq!(full.meta.as_ref().unwrap()["example.org/key"], serde_json::json!([1, 2]));

    let templates = basic.provider.templates().await.unwrap();
    assert_eq!((&*templates[0].uri_template, templates[0].name.as_str()), ("basic://settings/{name}", "setting"));
    assert_eq!(templates[0].meta.as_ref().unwrap()["a"], 1);
    assert!(templates[0].annotations.is_some() && templates[0].icons.is_some() && templates[0].description.is_some());
}

#[tokio::test]
async fn what_breaks_a_rule_in_a_list_is_left_out_and_the_rest_stays() {
    let page = basic().await.provider.list(Some("2".into())).await.unwrap();
    let uris: Vec<&str> = page.resources.iter().map(|info| &*info.uri).collect();
    assert_eq!(uris, ["basic://two", "basic://sloppy"]);
    let sloppy = &page.resources[1];
    assert_eq!((sloppy.size, &sloppy.meta), (None, &None));
    assert_eq!(sloppy.icons.as_deref(), Some(&[][..]));
    let annotations = sloppy.annotations.as_ref().unwrap();
    assert_eq!((annotations.priority, annotations.last_modified), (Some(1.0), None));
}

#[tokio::test]
async fn text_utf8_and_blob_arrive() {
    let basic = basic().await;
    assert_eq!(basic.text("basic://text").await, "text");
    assert_eq!(basic.text("basic://utf8").await, "grün");
    assert_eq!(basic.read("basic://blob").await.unwrap().contents[0].body, Body::Blob(Bytes::from_static(&[0, 255, 1])));
}

#[tokio::test]
async fn every_field_of_a_reading_arrives() {
    let basic = basic().await;
    let full = basic.read("basic://full").await.unwrap();
    assert_eq!((full.version.as_deref(), full.reuse), (Some("v1"), Some(Reuse::UntilAnnounced)));
    let contents = Contents {
        uri: Some("basic://full".into()),
        mime_type: Some("text/plain".into()),
        body: Body::Text("full".into()),
        meta: serde_json::json!({"a": {"b": 1}}).as_object().cloned(),
    };
    assert_eq!(full.contents, [contents]);
    let two = basic.read("basic://two").await.unwrap().contents;
    assert_eq!((two[0].uri.as_deref(), two[1].uri.as_deref()), (None, Some("basic://two/2")));
    let sloppy = &basic.read("basic://sloppy").await.unwrap().contents[0];
    assert_eq!((&sloppy.uri, &sloppy.meta), (&None, &None));
}

#[tokio::test]
async fn each_error_arrives_as_what_it_is() {
    let basic = basic().await;
    assert_eq!(basic.read("basic://nothing").await, Err(Error::NotFound));
    assert_eq!(basic.read("basic://error/invalid").await, Err(Error::Invalid("an invalid thing".into())));
    assert_eq!(basic.read("basic://error/denied").await, Err(Error::Denied("a denied thing".into())));
    assert_eq!(basic.read("basic://error/unavailable").await, Err(Error::unavailable("an unavailable thing")));
    assert_eq!(basic.read("basic://error/failed").await, Err(Error::Failed("a failed thing".into())));
    assert_eq!(basic.provider.list(Some("3".into())).await, Err(Error::Invalid("no cursor 3".into())));
}

#[tokio::test]
async fn not_modified_is_an_answer_only_to_a_read_that_names_a_version() {
    let basic = basic().await;
    assert_eq!(basic.read("basic://version").await.unwrap().version.as_deref(), Some("v1"));
    let again = ReadRequest { if_none_match: Some("v1".into()), ..request("basic://version") };
    assert_eq!(basic.provider.read(again).await, Ok(None));
    assert!(matches!(basic.provider.read(request("basic://none")).await, Err(Error::Failed(_))));
}

#[tokio::test]
async fn a_reading_without_contents_fails_and_an_overlong_version_is_ignored() {
    let basic = basic().await;
    assert!(matches!(basic.read("basic://empty").await, Err(Error::Failed(_))));
    assert_eq!(basic.read("basic://long-version").await.unwrap().version, None);
}

#[tokio::test]
async fn settings_and_template_variables_reach_the_guest() {
    let basic = run("basic", &[("db.host", "example.org"), ("a", "1")], LONG).await;
    assert_eq!(basic.text("basic://settings").await, "a=1\ndb.host=example.org\n");
    let matched = TemplateMatch { uri_template: "basic://settings/{name}".into(), variables: vec![("name".into(), "db.host".into())] };
    let request = ReadRequest { matched: Some(Arc::new(matched)), ..request("basic://settings/db.host") };
    assert_eq!(text(&basic.provider.read(request).await.unwrap().unwrap()), "example.org");
}

#[tokio::test]
async fn settings_reach_the_guest_through_wasi_config_too() {
    let configured = run("configured", &[("db.host", "example.org"), ("a", "1")], LONG).await;
    assert_eq!(configured.text("configured://all").await, "a=1\ndb.host=example.org\n");
    assert_eq!(configured.text("configured://db.host").await, "example.org");
}

#[tokio::test]
async fn completions_reach_the_guest_and_come_back() {
    let basic = run("basic", &[("db.host", "x"), ("db.port", "y"), ("other", "z")], LONG).await;
    let request = CompletionRequest {
        uri_template: "basic://settings/{name}".into(),
        argument: "name".into(),
        value: "db.".into(),
        known: vec![("a".into(), "1".into())],
    };
    let values = vec!["db.host".into(), "db.port".into(), "a=1".into()];
    assert_eq!(basic.provider.complete(request.clone()).await, Ok(Completion { values, total: Some(3), has_more: Some(false) }));
    let other = CompletionRequest { argument: "other".into(), ..request.clone() };
    assert_eq!(basic.provider.complete(other).await, Err(Error::NotFound));
    let none = super::support::live(&[]).await;
    assert!(matches!(none.provider.complete(request).await, Err(Error::Failed(_))));
}
