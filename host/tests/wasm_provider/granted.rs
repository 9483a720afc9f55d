//! What grants give: a store, an environment, webhooks; and shared state, which needs none.

use std::{sync::Arc, time::Duration};

use tempfile::TempDir;
use tokio::sync::OnceCell;
use wharf::{
    config::{
        Expose, Grants,
        grants::{Secret, Variable, Webhook},
    },
    provider::{
        Announcer, Body, Error, EventQueue, Provider, Updated, WebhookRequest,
        grants::store::Stores,
        wasm::{Compilation, Compiled, Limits, Runtime, Spec, WasmProvider},
    },
};

use super::support::{LONG, Running, SOURCE, guest, text};

const HOOKS: &str = "grants://hooks";
/// A deadline in which a busy machine gets to publish something anew, and that can be waited for.
const ITS_TIME: Duration = Duration::from_secs(3);
const BUILD: &str = "wharf://state/grants/build";

/// A runtime with a store of its own.
struct World {
    folder: TempDir,
    compiled: Compiled,
}

async fn world() -> World {
    let folder = tempfile::tempdir().unwrap();
    let compiled = compile(&folder).await;
    World { folder, compiled }
}

async fn compile(folder: &TempDir) -> Compiled {
    let stores = Stores::new(Some(folder.path().join("state")), "/srv/wharf.toml");
    let runtime = Runtime::keeping(Compilation::default(), stores).unwrap();
    runtime.compile("grants", guest("grants")).await.unwrap()
}

impl World {
    /// As another process would.
    async fn again(&self) -> Compiled {
        compile(&self.folder).await
    }

    fn secret(&self, name: &str, value: &str) -> Variable {
        let path = self.folder.path().join(name);
        std::fs::write(&path, value).unwrap();
        Variable { name: name.into(), value: Secret::File(path) }
    }
}

/// Those of tests that end no instance by its deadline share what takes long to make.
async fn shared() -> &'static World {
    static WORLD: OnceCell<World> = OnceCell::const_new();
    WORLD.get_or_init(world).await
}

fn spec(name: &str) -> Spec {
    Spec { limits: LONG, ..Spec::new(name) }
}

fn keeping(name: &str, bytes: u64) -> Spec {
    Spec { grants: Grants { state: Some(bytes), ..Grants::default() }.into(), ..spec(name) }
}

async fn start(compiled: &Compiled, spec: Spec) -> Running {
    let events = Arc::new(EventQueue::default());
    let announcer = Announcer::new(SOURCE, events.clone());
    let provider = compiled.start(spec, announcer.clone()).await.unwrap();
    Running { provider, events, announcer }
}

fn updated(uri: &str) -> Updated {
    Updated::These([uri.into()].into())
}

/// Waits until this and nothing else was announced as changed, and the list with it: in one event or in two.
async fn came_or_went(one: &Running, uri: &str) {
    let mut event = one.event(|event| event.list_changed || !event.updated.is_empty()).await;
    if event.updated.is_empty() {
        event.updated = one.event(|event| !event.updated.is_empty()).await.updated;
    } else if !event.list_changed {
        event.list_changed = one.event(|event| event.list_changed).await.list_changed;
    }
    assert_eq!((event.updated, event.list_changed), (updated(uri), true));
}

fn hook(path_and_query: &str, body: &str) -> WebhookRequest {
    WebhookRequest {
        name: "push".into(),
        method: "POST".into(),
        path_and_query: path_and_query.into(),
        headers: vec![("x-own".into(), "1".into())],
        body: body.to_owned().into(),
    }
}

// The store.

#[tokio::test]
async fn what_a_provider_keeps_is_there_after_a_crash_a_reload_and_a_restart_of_the_host() {
    let world = world().await;
    let first = start(&world.compiled, keeping("one", 1 << 20)).await;
    assert_eq!(first.text("grants://get/a").await, "-");
    first.text("grants://set/a/1").await;
    assert_eq!(first.text("grants://replace/a/0/2").await, "false");
    assert_eq!(first.text("grants://replace/a/1/2").await, "true");
    first.text("grants://set/b/x").await;
    assert!(matches!(first.read("grants://panic/none").await, Err(Error::NotFound)));
    assert!(first.provider.receive(hook("/trap", ""), false).await.is_err());
    assert_eq!(first.back("grants://get/a").await, "2");
    let other = start(&world.compiled, keeping("other", 1 << 20)).await;
    assert_eq!((other.text("grants://get/a").await, other.text("grants://keys/").await), ("-".into(), String::new()));
    let again = start(&world.again().await, keeping("one", 1 << 20)).await;
    assert_eq!((again.text("grants://get/a").await, again.text("grants://keys/").await), ("2".into(), "a,b".into()));
    again.text("grants://remove/a").await;
    assert_eq!(first.text("grants://get/a").await, "-", "two hosts see the same");
}

#[tokio::test]
async fn without_the_grant_and_past_it_the_store_is_denied_with_the_line_that_would_allow_it() {
    let world = shared().await;
    let denied = |error: Result<_, Error>, line: &str| match error {
        Err(Error::Denied(message)) => assert!(message.contains(line), "{message}"),
        other => panic!("{other:?}"),
    };
    let none = start(&world.compiled, spec("none")).await;
    for what in ["get/a", "set/a/1", "remove/a", "replace/a/-/1", "keys/"] {
        denied(none.read(&format!("grants://{what}")).await, "[provider.grants] state = \"1MiB\"");
    }
    let small = start(&world.compiled, keeping("small", 1 << 20)).await;
    small.text(&format!("grants://fill/a/{}", (1 << 20) - 1)).await;
    denied(small.read("grants://fill/bb/0").await, "[provider.grants] state = \"2MiB\"");
    assert!(matches!(small.read("grants://get/").await, Err(Error::Invalid(_))));
    assert_eq!(small.text("grants://keys/").await, "a");
}

#[tokio::test]
async fn a_store_that_another_host_holds_costs_a_moment_and_no_instance() {
    let world = world().await;
    let one = start(&world.compiled, keeping("one", 1 << 20)).await;
    one.text("grants://set/a/1").await;
    let other = rusqlite::Connection::open(world.folder.path().join("state/store.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(matches!(one.read("grants://set/a/2").await, Err(Error::Unavailable { .. })));
    assert_eq!(one.text("grants://get/a").await, "1");
    other.execute_batch("ROLLBACK").unwrap();
    one.text("grants://set/a/2").await;
}

// Shared state.

#[tokio::test]
async fn what_is_published_is_read_and_watched_without_the_guest_even_while_it_is_busy() {
    let one = start(&shared().await.compiled, spec("grants")).await;
    one.text("grants://publish/build/green").await;
    came_or_went(&one, BUILD).await;
    // Not while this is computed.
    let slow = one.read("grants://slow/3000");
    tokio::pin!(slow);
    assert!(futures_util::poll!(&mut slow).is_pending());
    assert_eq!(one.text(BUILD).await, "green");
    one.provider.subscribe(BUILD.into(), None).await.unwrap();
    one.provider.subscribe("wharf://state/grants/not-yet".into(), None).await.unwrap();
    one.provider.unsubscribe(BUILD.into()).await.unwrap();
    assert!(matches!(one.read("wharf://state/grants/none").await, Err(Error::NotFound)));
    assert!(futures_util::poll!(&mut slow).is_pending(), "all of that came before it");
    assert_eq!(text(&slow.await.unwrap()), "slow");
    let shared = one.provider.shared_state().unwrap();
    assert_eq!(shared.entries().iter().map(|entry| &*entry.uri).collect::<Vec<_>>(), [BUILD]);
    one.text("grants://publish/build/green").await;
    assert!(one.events.try_recv().is_none(), "it is what it was");
    one.text("grants://unpublish/build").await;
    came_or_went(&one, BUILD).await;
    assert!(matches!(one.read(BUILD).await, Err(Error::NotFound)));
}

#[tokio::test]
async fn a_provider_without_subscriptions_can_be_watched_in_what_it_publishes_and_in_nothing_else() {
    let one = start(&shared().await.compiled, spec("grants")).await;
    assert!(one.provider.offers().subscriptions);
    one.provider.subscribe(BUILD.into(), None).await.unwrap();
    // As with one that has neither (law 10): it is its own, and cannot be watched; or it is not its own.
    assert!(matches!(one.provider.subscribe(HOOKS.into(), None).await, Err(Error::Failed(_))));
    let matched = |uri: &str| {
        let what = vec![("what".into(), uri.trim_start_matches("grants://").into())];
        Some(Arc::new(wharf::provider::TemplateMatch { uri_template: "grants://{+what}".into(), variables: what }))
    };
    assert!(matches!(one.provider.subscribe(HOOKS.into(), matched(HOOKS)).await, Err(Error::Failed(_))));
    assert!(matches!(one.provider.subscribe("grants://no".into(), matched("grants://no")).await, Err(Error::NotFound)));
    one.provider.unsubscribe(HOOKS.into()).await.unwrap();
}

#[tokio::test]
async fn what_an_instance_published_that_died_stays_until_the_next_one_had_a_deadline_to_publish_it_anew() {
    let world = shared().await;
    let one = start(&world.compiled, Spec { limits: Limits { deadline: ITS_TIME, ..LONG }, ..spec("grants") }).await;
    one.text("grants://publish/build/green").await;
    one.text("grants://publish/tests/3").await;
    while one.events.try_recv().is_some() {}
    assert!(one.provider.receive(hook("/trap", ""), false).await.is_err());
    assert_eq!(one.text(BUILD).await, "green", "nobody is there who could have answered");
    assert_eq!(one.back(BUILD).await, "green");
    one.text("grants://publish/build/red").await;
    one.event(|event| event.updated == updated(BUILD)).await;
    came_or_went(&one, "wharf://state/grants/tests").await;
    assert_eq!(one.text(BUILD).await, "red");
    assert!(matches!(one.read("wharf://state/grants/tests").await, Err(Error::NotFound)));
}

#[tokio::test]
async fn keys_that_wharf_toml_hides_are_as_those_that_are_not_there() {
    let one = start(&shared().await.compiled, Spec { expose: Expose::None, ..spec("grants") }).await;
    one.text("grants://publish/build/green").await;
    assert!(one.events.try_recv().is_none());
    assert!(matches!(one.read(BUILD).await, Err(Error::NotFound)));
    assert!(one.provider.shared_state().unwrap().entries().is_empty());
}

#[tokio::test]
async fn a_key_of_no_length_is_invalid_and_too_many_bytes_are_denied() {
    let one = start(&shared().await.compiled, spec("grants")).await;
    assert!(matches!(one.read("grants://publish//x").await, Err(Error::Invalid(_))));
    assert!(matches!(one.read(&format!("grants://publish/{}/x", "k".repeat(1025))).await, Err(Error::Invalid(_))));
    let large = "x".repeat(4 << 20);
    let publish = async |key: &str| one.provider.receive(hook(&format!("/publish/{key}"), &large), false).await.unwrap().status;
    for key in ["a", "b", "c"] {
        assert_eq!(publish(key).await, 200);
    }
    assert_eq!(publish("d").await, 500, "16 MiB with the keys is too much");
}

// Webhooks.

#[tokio::test]
async fn a_webhook_reaches_the_guest_and_its_answer_the_sender() {
    let one = start(&shared().await.compiled, spec("grants")).await;
    let answer = one.provider.receive(hook("/status/418?x=1", "{}"), false).await;
    assert_eq!(answer.map(|answer| answer.status), Ok(500), "the query is part of the path, as it came");
    let answer = one.provider.receive(hook("/status/418", "{}"), false).await.unwrap();
    assert_eq!((answer.status, &*answer.body), (418, &b"{}"[..]));
    assert!(matches!(one.provider.receive(hook("/status/101", ""), false).await, Err(Error::Failed(_))));
    assert_eq!(
        one.text(HOOKS).await,
        "push POST /status/418?x=1 2 x-own=1\npush POST /status/418 2 x-own=1\npush POST /status/101 0 x-own=1"
    );
    assert_eq!(one.events.recv().await.updated, updated(HOOKS));
}

#[tokio::test]
async fn queued_webhooks_survive_a_crash_of_the_guest_and_are_handed_to_its_successor() {
    let one = start(&shared().await.compiled, spec("grants")).await;
    assert!(one.provider.offers().webhooks);
    drop(one.provider.receive(hook("/trap", ""), true));
    for n in 0..3 {
        drop(one.provider.receive(hook(&format!("/{n}"), ""), true));
    }
    one.event(|event| event.up).await;
    // They go before what was asked after them, or do so while it is asked: each is made in the end.
    while one.text(HOOKS).await.lines().count() < 3 {}
    assert_eq!(one.text(HOOKS).await, "push POST /0 0 x-own=1\npush POST /1 0 x-own=1\npush POST /2 0 x-own=1");

    let slow = one.provider.receive(hook("/slow/1000", ""), false);
    tokio::pin!(slow);
    assert!(futures_util::poll!(&mut slow).is_pending());
    drop(one.provider.receive(hook("/later", ""), true));
    let taken: Vec<String> = one.provider.take_queued().into_iter().map(|request| request.path_and_query).collect();
    assert_eq!(taken, ["/later"]);
    assert_eq!(slow.await.unwrap().status, 200);
}

#[tokio::test]
async fn only_so_many_webhooks_and_so_many_of_their_bytes_wait() {
    let one = start(&shared().await.compiled, spec("grants")).await;
    let slow = one.read("grants://slow/2000");
    tokio::pin!(slow);
    assert!(futures_util::poll!(&mut slow).is_pending());
    let queue = |body: &str| {
        use futures_util::FutureExt;
        tokio::task::unconstrained(one.provider.receive(hook("", body), true)).now_or_never().is_none()
    };
    let large = "x".repeat(4 << 20);
    assert_eq!((0..20).filter(|_| queue(&large)).count(), 16, "64 MiB");
    one.provider.take_queued();
    assert_eq!((0..2000).filter(|_| queue("")).count(), 1000);
    slow.await.unwrap();
}

#[tokio::test]
async fn a_webhook_that_is_not_granted_is_a_denial() {
    let webhooks = vec![Webhook { name: "push".into(), signed: None, queue: true }];
    let spec = Spec { grants: Grants { webhooks, ..Grants::default() }.into(), ..spec("hooked") };
    let one = start(&shared().await.compiled, spec).await;
    assert!(one.provider.gate("push").is_some_and(|gate| gate.queues()));
    assert!(one.provider.gate("other").is_none());
}

// The environment, and what is secret of it.

const SECRET: &str = "hunter22-and-more";

async fn with_secret(name: &str) -> Running {
    let world = shared().await;
    let env = vec![world.secret("TOKEN", &format!("{SECRET}\n"))];
    start(&world.compiled, Spec { grants: Grants { env, ..Grants::default() }.into(), ..spec(name) }).await
}

#[tokio::test]
async fn a_provider_has_the_variables_that_it_is_granted_and_no_others() {
    let one = with_secret("variables").await;
    assert_eq!((one.text("grants://env").await, one.text("grants://env/TOKEN").await), ("TOKEN".into(), SECRET.into()));
    assert!(matches!(one.read("grants://env/PATH").await, Err(Error::NotFound)));
}

#[tokio::test]
async fn a_secret_is_in_no_line_of_the_log_and_in_no_error_whatever_the_guest_does_with_it() {
    super::rights::capture();
    let one = with_secret("leaky").await;
    let read = async |what: &str| match one.read(&format!("grants://{what}")).await {
        Ok(reading) => text(&reading),
        Err(error) => format!("{error:?} {error}"),
    };
    let cut = format!("fail/TOKEN/{}", "é".repeat(2043));
    let mut said = Vec::new();
    for what in ["say/TOKEN", "halves/TOKEN", "fail/TOKEN", &cut, "announce/TOKEN", "fetch/TOKEN", "list/TOKEN", "key/TOKEN"] {
        said.push((what, read(what).await));
    }
    let listed = one.provider.list(None).await.unwrap();
    said.push(("list", format!("{listed:?}")));
    while let Some(event) = one.events.try_recv() {
        said.push(("event", format!("{event:?}")));
    }
    said.push(("panic/TOKEN", read("panic/TOKEN").await));
    one.event(|event| event.up).await;
    let log = super::rights::logged("leaky");
    for (what, said) in &said {
        assert!(!said.contains("hunter"), "{what}: {said}");
    }
    assert!(log.iter().all(|line| !line.contains("hunter")), "{log:?}");
    for wanted in [
        "|stdout|it is [redacted]",
        "|stderr|it is [redacted]!",
        "|stderr|half: [redacted]",
        "left out of the list",
        "which has a secret in it",
        "to ask [redacted].example over HTTP",
    ] {
        assert!(log.iter().any(|line| line.contains(wanted)), "{wanted}: {log:#?}");
    }
    assert!(
        log.iter().any(|line| line.contains("it is [redacted]") && line.contains("panicked") || line == "|stderr|it is [redacted]"),
        "{log:#?}"
    );
    assert!(said.iter().any(|(what, said)| *what == "fail/TOKEN" && said.contains("it is [redacted]")));
}

#[tokio::test]
async fn a_variable_that_is_not_there_is_named_in_the_log_and_left_out() {
    super::rights::capture();
    let env = vec![Variable { name: "TOKEN".into(), value: Secret::Env("WHARF_NO_SUCH_VARIABLE".into()) }];
    let spec = Spec { grants: Grants { env, ..Grants::default() }.into(), ..spec("lacking") };
    let one = start(&shared().await.compiled, spec).await;
    assert_eq!(one.text("grants://env").await, "");
    let log = super::rights::logged("lacking");
    assert!(log.iter().any(|line| line.contains("the variable WHARF_NO_SUCH_VARIABLE is not set")), "{log:?}");
}

#[tokio::test]
async fn what_a_generation_published_is_its_successors_for_a_deadline() {
    let world = shared().await;
    let one = start(&world.compiled, spec("grants")).await;
    one.text("grants://publish/build/green").await;
    one.text("grants://publish/tests/3").await;
    let settings = [("publish".to_owned(), "build=green".to_owned())].into();
    let two = start(&world.compiled, Spec { settings, limits: Limits { deadline: ITS_TIME, ..LONG }, ..spec("grants") }).await;
    two.provider.inherit(&*one.provider);
    two.provider.list(None).await.unwrap();
    let entries = |provider: &WasmProvider| provider.shared_state().unwrap().entries().len();
    assert_eq!((entries(&two.provider), two.text("wharf://state/grants/tests").await), (2, "3".into()));
    // And build is as it was.
    came_or_went(&two, "wharf://state/grants/tests").await;
    assert_eq!((entries(&two.provider), entries(&one.provider)), (1, 2));
    assert!(matches!(two.read(BUILD).await.unwrap().contents[0].body, Body::Text(_)));
}
