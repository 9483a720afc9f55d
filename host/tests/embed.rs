//! The library as a program uses it: registrations come and go while clients are connected.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use wharf::{
    catalog::Caller,
    config::Config,
    host::Host,
    provider::{Body, Completion, CompletionRequest, Error, ResourceInfo, fixed::RegisterError},
    subscriptions::{Listener, Notice},
};

async fn host() -> Host {
    Host::builder().start().await.unwrap()
}

async fn read(host: &Host, uri: &str) -> Option<String> {
    let answered = host.catalog().read(&Caller, uri).await.ok()?;
    match &answered.contents[0].body {
        Body::Text(text) => Some(text.clone()),
        Body::Blob(bytes) => Some(format!("{} bytes", bytes.len())),
    }
}

async fn uris(host: &Host) -> Vec<String> {
    host.resources().await.iter().map(|resource| resource.uri.to_string()).collect()
}

async fn updated(listener: &Listener, uri: &str) {
    let told = async { while listener.next().await.1 != Notice::Updated(uri.into()) {} };
    tokio::time::timeout(Duration::from_secs(30), told).await.expect("nothing is told");
}

#[tokio::test]
async fn a_resource_is_there_as_soon_as_it_is_registered_and_gone_as_soon_as_it_is_not() {
    let host = host().await;
    for round in 0..3 {
        let handle = host.resource("a").uri("app://a").read(|_| async { Ok("text") }).unwrap();
        assert_eq!(uris(&host).await, ["app://a"], "{round}");
        assert_eq!(read(&host, "app://a").await.as_deref(), Some("text"));
        assert!(host.has("app://a").await);
        handle.unregister();
        assert!(uris(&host).await.is_empty());
        assert_eq!(read(&host, "app://a").await, None);
        assert!(!host.has("app://a").await);
    }
}

#[tokio::test]
async fn without_a_uri_it_gets_one_of_the_hosts_own() {
    let host = host().await;
    let handle = host.resource("my notes/1").read(|_| async { Ok(vec![0_u8; 3]) }).unwrap();
    assert_eq!(&**handle.uri(), "wharf://resource/my%20notes%2F1");
    assert_eq!(read(&host, handle.uri()).await.as_deref(), Some("3 bytes"));
}

#[tokio::test]
async fn a_duplicate_name_and_what_is_no_uri_or_template_are_errors() {
    let host = host().await;
    let text = |_| async { Ok("") };
    host.resource("a").read(text).unwrap();
    assert_eq!(host.resource("a").uri("app://other").read(text).err(), Some(RegisterError::DuplicateName("a".into())));
    assert!(matches!(host.template("a", "app://{x}").read(text).err(), Some(RegisterError::DuplicateName(_))));
    assert!(matches!(host.resource("b").uri("no uri").read(text).err(), Some(RegisterError::InvalidUri { .. })));
    assert!(matches!(host.template("c", "app://{x}{y}").read(text).err(), Some(RegisterError::Template { .. })));
    assert_eq!(host.resources().await.len(), 1);
}

#[tokio::test]
async fn a_handle_whose_registration_is_gone_does_nothing() {
    let host = host().await;
    let old = host.resource("a").uri("app://a").read(|_| async { Ok("old") }).unwrap();
    let old_family = host.template("t", "app://t/{x}").read(|_| async { Ok("old") }).unwrap();
    old.unregister();
    old_family.unregister();
    host.resource("a").uri("app://a").read(|_| async { Ok("new") }).unwrap();
    host.template("t", "app://t/{x}").read(|_| async { Ok("new") }).unwrap();
    old.unregister();
    old_family.unregister();
    assert_eq!(read(&host, "app://a").await.as_deref(), Some("new"));
    assert_eq!(read(&host, "app://t/1").await.as_deref(), Some("new"));
    assert!(old_family.notify_updated("app://t/1").is_err());
}

#[tokio::test]
async fn whoever_subscribed_is_told_by_the_handle_and_of_the_end() {
    let host = host().await;
    let listener = host.subscriptions().listen(Caller, false);
    listener.subscribe(vec!["app://a".into(), "app://t/1".into()]).await.unwrap();
    let resource = host.resource("a").uri("app://a").read(|_| async { Ok("") }).unwrap();
    updated(&listener, "app://a").await;
    let family = host.template("t", "app://t/{x}").read(|_| async { Ok("") }).unwrap();
    updated(&listener, "app://t/1").await;

    resource.notify_updated();
    updated(&listener, "app://a").await;
    family.notify_updated("app://t/1").unwrap();
    updated(&listener, "app://t/1").await;
    assert!(family.notify_updated("app://elsewhere").is_err(), "it says when the URI is not its own");
    resource.unregister();
    updated(&listener, "app://a").await;
}

#[tokio::test]
async fn hooks_hear_of_the_first_subscriber_and_of_the_last() {
    let host = host().await;
    let watched = Arc::new(AtomicUsize::new(0));
    let (up, down) = (watched.clone(), watched.clone());
    host.template("t", "app://t/{x}")
        .on_subscribe(move |uri, matched| {
            assert_eq!(*uri, *format!("app://t/{}", matched.unwrap().variables[0].1));
            up.fetch_add(1, SeqCst);
            async { Ok(()) }
        })
        .on_unsubscribe(move |_| {
            down.fetch_sub(1, SeqCst);
            async {}
        })
        .read(|_| async { Ok("") })
        .unwrap();
    assert_eq!(host.templates().await.len(), 1);
    let (one, two) = (host.subscriptions().listen(Caller, false), host.subscriptions().listen(Caller, false));
    for listener in [&one, &two] {
        listener.subscribe(vec!["app://t/1".into()]).await.unwrap();
    }
    assert_eq!(watched.load(SeqCst), 1);
    assert_eq!(host.subscribed().await, [("app://t/1".into(), 2)]);
    drop(one);
    drop(two);
    host.close().await;
    assert_eq!(watched.load(SeqCst), 0, "closing waits for the providers");
}

#[tokio::test]
async fn a_family_lists_and_completes_and_its_listed_members_get_their_variables() {
    let host = host().await;
    let family = host
        .template("t", "app://t/{x}")
        .list(|| async { Ok(vec![ResourceInfo::new("app://t/1", "one")]) })
        .complete(|request: CompletionRequest| async move {
            Ok(Completion { values: vec![format!("{}{}", request.argument, request.value)], ..Completion::default() })
        })
        .read(|request| async move {
            match &request.matched.ok_or(Error::NotFound)?.variables[0].1 {
                x if x == "gone" => Err(Error::NotFound),
                x => Ok(format!("x = {x}")),
            }
        })
        .unwrap();
    assert_eq!(uris(&host).await, ["app://t/1"]);
    assert_eq!(read(&host, "app://t/1").await.as_deref(), Some("x = 1"));
    assert_eq!(read(&host, "app://t/2").await.as_deref(), Some("x = 2"));
    assert_eq!(read(&host, "app://t/gone").await, None);
    family.notify_changed();
    assert_eq!(uris(&host).await, ["app://t/1"]);
}

#[tokio::test]
async fn direct_registrations_go_before_those_of_a_program_s_own_provider() {
    let host = host().await;
    let inner = Host::builder().start().await.unwrap();
    inner.resource("a").uri("app://a").read(|_| async { Ok("of the provider") }).unwrap();
    inner.resources().await;
    // Another host's direct registrations, as a provider of this one.
    let candidate = inner.catalog().snapshot().candidates("app://a").remove(0);
    let provider = host.provider("inner", |_| candidate.provider.clone()).await.unwrap();
    assert!(matches!(host.provider("inner", |_| candidate.provider.clone()).await.err(), Some(RegisterError::DuplicateName(_))));
    assert_eq!(read(&host, "app://a").await.as_deref(), Some("of the provider"));
    assert!(provider.notify_updated("app://a").is_ok() && provider.notify_updated("app://b").is_err());
    let direct = host.resource("a").uri("app://a").read(|_| async { Ok("direct") }).unwrap();
    host.resources().await;
    assert_eq!(read(&host, "app://a").await.as_deref(), Some("direct"));
    direct.unregister();
    assert_eq!(read(&host, "app://a").await.as_deref(), Some("of the provider"));
    provider.unregister().await;
    assert_eq!(read(&host, "app://a").await, None);
}

#[tokio::test]
async fn the_resources_of_wharf_toml_are_served_and_a_file_is_read_at_each_request() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.txt");
    std::fs::write(&file, "one").unwrap();
    let text = "[[resource]]\nname = \"note\"\ntitle = \"Note\"\nmime-type = \"text/markdown\"\ntext = \"# hi\"\nannotations = { audience = [\"user\"] }\n\
                [[resource]]\nname = \"log\"\nuri = \"app://log\"\nfile = \"log.txt\"\n";
    let config = Config::parse(text, folder.path()).unwrap();
    let host = Host::builder().config(config).start().await.unwrap();
    assert_eq!(uris(&host).await, ["wharf://resource/note", "app://log"]);
    assert_eq!(read(&host, "wharf://resource/note").await.as_deref(), Some("# hi"));
    assert_eq!(read(&host, "app://log").await.as_deref(), Some("one"));
    std::fs::write(&file, [0xff, 0xfe]).unwrap();
    assert_eq!(read(&host, "app://log").await.as_deref(), Some("2 bytes"));
    std::fs::remove_file(&file).unwrap();
    let error = host.catalog().read(&Caller, "app://log").await.unwrap_err().to_string();
    assert!(error.contains("log.txt"), "a file that vanished is named: {error}");
}

#[tokio::test]
async fn ten_thousand_registrations_are_listed_together() {
    let host = host().await;
    for n in 0..10_000 {
        host.resource(format!("r{n}")).read(|_| async { Ok("") }).unwrap();
    }
    assert_eq!(host.resources().await.len(), 10_000);
}
