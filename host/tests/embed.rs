//! The library as a program uses it: registrations come and go while clients are connected.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "embed/happening.rs"]
mod happening;
#[path = "embed/letting_in.rs"]
mod letting_in;
#[path = "embed/status.rs"]
mod status;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use futures_util::FutureExt;
use wharf::{
    catalog::{Caller, View},
    config::Config,
    host::Host,
    provider::{
        Body, Completion, CompletionRequest, Error, ResourceInfo,
        fixed::{Fixed, RegisterError},
    },
    subscriptions::{Listener, Notice},
};

async fn host() -> Host {
    Host::builder().start().await.unwrap()
}

async fn read(host: &Host, uri: &str) -> Option<String> {
    let answered = host.catalog().read(&Caller::anyone(), uri).await.ok()?;
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
    let listener = host.subscriptions().listen(Caller::anyone(), false);
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
async fn a_caller_sees_and_hears_of_the_providers_of_its_view_alone() {
    let host = host().await;
    let resource = host.resource("a").uri("app://a").read(|_| async { Ok("the program's") }).unwrap();
    let other = host.provider("other", |announcer| Fixed::new(announcer, || {})).await.unwrap();
    let view = |names: &[&str]| View::Only(Arc::new(names.iter().map(|name| Arc::from(*name)).collect()));
    // What the program registers directly is of the provider `wharf`.
    let (sees, blind) = (Caller::named("sees", view(&["wharf"])), Caller::named("blind", view(&["other"])));
    assert!(host.catalog().read(&sees, "app://a").await.is_ok());
    assert!(host.catalog().read(&blind, "app://a").await.is_err());
    assert!(host.catalog().resources(&blind, None).await.unwrap().list.resources.is_empty());
    let (told, silent) = (host.subscriptions().listen(sees, true), host.subscriptions().listen(blind, true));
    for listener in [&told, &silent] {
        listener.subscribe(vec!["app://a".into()]).await.unwrap();
    }
    resource.notify_updated();
    updated(&told, "app://a").await;
    resource.unregister();
    updated(&told, "app://a").await;
    let changed = async { while told.next().await.1 != Notice::ListChanged {} };
    tokio::time::timeout(Duration::from_secs(30), changed).await.expect("nothing is told");
    assert!(silent.next().now_or_never().is_none());
    other.unregister().await;
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
    let (one, two) = (host.subscriptions().listen(Caller::anyone(), false), host.subscriptions().listen(Caller::anyone(), false));
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
    let error = host.catalog().read(&Caller::anyone(), "app://log").await.unwrap_err().to_string();
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

/// Counts subscribes up and unsubscribes down.
fn counting(count: &Arc<AtomicUsize>) -> (impl Fn() + Clone + Send + Sync + 'static, impl Fn() + Clone + Send + Sync + 'static) {
    let (up, down) = (count.clone(), count.clone());
    let up = move || {
        up.fetch_add(1, SeqCst);
    };
    let down = move || {
        down.fetch_sub(1, SeqCst);
    };
    (up, down)
}

fn watched(host: &Host, name: &str, text: &'static str, count: &Arc<AtomicUsize>) -> wharf::provider::fixed::ResourceHandle {
    let (up, down) = counting(count);
    host.resource(name)
        .uri("app://a")
        .on_subscribe(move |_, _| {
            up();
            async { Ok(()) }
        })
        .on_unsubscribe(move |_| {
            down();
            async {}
        })
        .read(move |_| async move { Ok(text) })
        .unwrap()
}

async fn becomes(count: &AtomicUsize, wanted: usize) {
    let reached = async {
        while count.load(SeqCst) != wanted {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), reached).await.unwrap_or_else(|_| panic!("{} and not {wanted}", count.load(SeqCst)));
}

#[tokio::test]
async fn a_registration_that_goes_while_it_is_watched_is_told_that_nobody_watches() {
    let host = host().await;
    let count = Arc::default();
    let handle = watched(&host, "a", "", &count);
    host.resources().await;
    let listener = host.subscriptions().listen(Caller::anyone(), false);
    listener.subscribe(vec!["app://a".into()]).await.unwrap();
    becomes(&count, 1).await;
    handle.unregister();
    updated(&listener, "app://a").await;
    becomes(&count, 0).await;
}

#[tokio::test]
async fn a_uri_that_another_registration_gets_is_watched_there_and_no_longer_here() {
    let host = host().await;
    let counts: [Arc<AtomicUsize>; 3] = Default::default();
    let first = watched(&host, "first", "first", &counts[0]);
    let second = watched(&host, "second", "second", &counts[1]);
    let (up, down) = counting(&counts[2]);
    host.template("family", "app://{x}")
        .on_subscribe(move |_, matched| {
            assert_eq!(matched.unwrap().variables[0].1, "a");
            up();
            async { Ok(()) }
        })
        .on_unsubscribe(move |_| {
            down();
            async {}
        })
        .read(|_| async { Ok("family") })
        .unwrap();
    host.resources().await;
    let listener = host.subscriptions().listen(Caller::anyone(), false);
    listener.subscribe(vec!["app://a".into()]).await.unwrap();
    becomes(&counts[0], 1).await;
    assert_eq!(read(&host, "app://a").await.as_deref(), Some("first"));

    for (handle, text, before, after) in [(first, "second", 0, 1), (second, "family", 1, 2)] {
        handle.unregister();
        updated(&listener, "app://a").await;
        assert_eq!(read(&host, "app://a").await.as_deref(), Some(text));
        becomes(&counts[after], 1).await;
        becomes(&counts[before], 0).await;
    }
    drop(listener);
    becomes(&counts[2], 0).await;
}

#[tokio::test]
async fn a_family_whose_list_fails_panics_or_never_ends_takes_no_other_with_it() {
    let host = host().await;
    host.template("panics", "app://p/{x}").list(|| async { panic!("as the test wants it") }).read(|_| async { Ok("") }).unwrap();
    host.template("panics at once", "app://q/{x}")
        .list(|| -> std::future::Ready<Result<Vec<ResourceInfo>, Error>> { panic!("as the test wants it") })
        .read(|_| async { Ok("") })
        .unwrap();
    let fails = Arc::new(AtomicUsize::new(0));
    let asked = fails.clone();
    let moody = host
        .template("fails later", "app://f/{x}")
        .list(move || {
            let first = asked.fetch_add(1, SeqCst) == 0;
            async move { if first { Ok(vec![ResourceInfo::new("app://f/1", "one")]) } else { Err(Error::Failed("so".into())) } }
        })
        .read(|_| async { Ok("") })
        .unwrap();
    host.template("hangs", "app://h/{x}").list(std::future::pending).read(|_| async { Ok("") }).unwrap();
    host.resource("a").uri("app://a").read(|_| async { Ok("") }).unwrap();
    assert_eq!(uris(&host).await, ["app://f/1", "app://a"]);
    moody.notify_changed();
    let later = host.resource("b").uri("app://b").read(|_| async { Ok("") }).unwrap();
    assert_eq!(uris(&host).await, ["app://f/1", "app://a", "app://b"], "the last good list stays");
    assert!(fails.load(SeqCst) > 1);
    later.unregister();
    assert_eq!(uris(&host).await, ["app://f/1", "app://a"]);
}

#[tokio::test]
async fn a_host_that_is_dropped_leaves_nothing_behind() {
    let held = Arc::new(AtomicUsize::new(0));
    let gone = async {
        while Arc::strong_count(&held) > 1 {
            tokio::task::yield_now().await;
        }
    };
    let host = host().await;
    let kept = held.clone();
    host.resource("a").read(move |_| std::future::ready(Ok(kept.load(SeqCst).to_string()))).unwrap();
    host.resources().await;
    drop(host);
    tokio::time::timeout(Duration::from_secs(30), gone).await.expect("its registrations live on");
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_that_is_a_pipe_is_an_error_and_keeps_no_thread() {
    let folder = tempfile::tempdir().unwrap();
    let made = std::process::Command::new("mkfifo").arg(folder.path().join("pipe")).status().unwrap();
    assert!(made.success());
    let config = Config::parse("[[resource]]\nname = \"p\"\nuri = \"app://p\"\nfile = \"pipe\"\n", folder.path()).unwrap();
    let host = Host::builder().config(config).start().await.unwrap();
    let anyone = Caller::anyone();
    let reading = tokio::time::timeout(Duration::from_secs(30), host.catalog().read(&anyone, "app://p"));
    let error = reading.await.expect("it waits for a writer").unwrap_err().to_string();
    assert!(error.contains("not a file"), "{error}");
}

#[tokio::test]
async fn a_hook_that_panics_at_once_fails_its_call_alone() {
    use std::future::Ready;

    let host = host().await;
    let handle = host
        .template("t", "app://{x}")
        .on_subscribe(|_, _| -> Ready<Result<(), Error>> { panic!("as the test wants it") })
        .complete(|_| -> Ready<Result<Completion, Error>> { panic!("as the test wants it") })
        .read(|_| -> Ready<Result<String, Error>> { panic!("as the test wants it") })
        .unwrap();
    host.templates().await;
    let error = host.catalog().read(&Caller::anyone(), "app://a").await.unwrap_err().to_string();
    assert!(error.contains("panicked"), "{error}");
    assert!(host.catalog().complete(&Caller::anyone(), "app://{x}", "x", "", &[]).await.is_err());
    let listener = host.subscriptions().listen(Caller::anyone(), false);
    listener.subscribe(vec!["app://a".into()]).await.unwrap();
    handle.notify_updated("app://a").unwrap();
    updated(&listener, "app://a").await;
    host.close().await;
}
