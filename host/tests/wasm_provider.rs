//! Components as providers: what they are refused for, what they may do, and what becomes of those that misbehave.
//!
//! Needs the fixtures of tests/guests.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{
    future::{Future, poll_fn},
    path::PathBuf,
    pin::Pin,
    sync::{Arc, Mutex, Once, OnceLock},
    task::Poll,
    time::Duration,
};

use bytes::Bytes;
use tokio::{sync::OnceCell, task::yield_now};
use wharf::provider::{
    Announcer, Body, Contents, Error, EventQueue, Icon, IconTheme, Provider, ProviderEvent, ReadRequest, Reading, Reuse, Role, Source,
    TemplateMatch, Updated,
    wasm::{Compiled, Limits, LoadError, MAX_FILE_BYTES, Runtime, Spec, WasmProvider},
};

const SOURCE: Source = Source { slot: 1, generation: 1 };
/// For guests that are meant to overrun it: long enough for a busy machine to get there, short enough to wait for.
const SHORT: Duration = Duration::from_millis(200);

fn guest(name: &str) -> Bytes {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../tests/guests/{name}.wasm"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}: run `cargo xtask guests`", path.display())).into()
}

fn runtime() -> Arc<Runtime> {
    static RUNTIME: OnceLock<Arc<Runtime>> = OnceLock::new();
    RUNTIME.get_or_init(|| Runtime::new().unwrap()).clone()
}

async fn compiled(name: &'static str) -> Compiled {
    static BASIC: OnceCell<Compiled> = OnceCell::const_new();
    static HOSTILE: OnceCell<Compiled> = OnceCell::const_new();
    static LIVE: OnceCell<Compiled> = OnceCell::const_new();
    let cell = match name {
        "basic" => &BASIC,
        "hostile" => &HOSTILE,
        _ => &LIVE,
    };
    cell.get_or_init(|| async { runtime().compile(name, guest(name)).await.unwrap() }).await.clone()
}

struct Running {
    provider: Arc<WasmProvider>,
    events: Arc<EventQueue>,
    announcer: Announcer,
}

async fn run(name: &'static str, settings: &[(&str, &str)], limits: Limits) -> Running {
    let mut spec = Spec::new(name);
    spec.settings = settings.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    spec.limits = limits;
    let events = Arc::new(EventQueue::default());
    let announcer = Announcer::new(SOURCE, events.clone());
    let provider = compiled(name).await.start(spec, announcer.clone()).await.unwrap();
    Running { provider, events, announcer }
}

async fn basic() -> Running {
    run("basic", &[], Limits::default()).await
}

async fn hostile() -> Running {
    run("hostile", &[], Limits { deadline: SHORT, ..Limits::default() }).await
}

async fn live(settings: &[(&str, &str)]) -> Running {
    run("live", settings, Limits::default()).await
}

fn request(uri: &str) -> ReadRequest {
    ReadRequest { uri: uri.into(), matched: None, if_none_match: None }
}

impl Running {
    async fn read(&self, uri: &str) -> Result<Reading, Error> {
        self.provider.read(request(uri)).await.map(|reading| reading.expect("it is modified"))
    }

    async fn text(&self, uri: &str) -> String {
        text(&self.read(uri).await.unwrap())
    }

    async fn event(&self, wanted: impl Fn(&ProviderEvent) -> bool) -> ProviderEvent {
        loop {
            let event = self.events.recv().await;
            if wanted(&event) {
                return event;
            }
        }
    }

    /// Reads once the provider has an instance again.
    async fn back(&self, uri: &str) -> String {
        self.event(|event| event.up).await;
        self.text(uri).await
    }
}

fn text(reading: &Reading) -> String {
    match &reading.contents[0].body {
        Body::Text(text) => text.clone(),
        Body::Blob(_) => panic!("a blob"),
    }
}

async fn refusal(bytes: impl Into<Bytes>) -> LoadError {
    runtime().compile("test", bytes.into()).await.unwrap_err()
}

async fn is_pending<T>(mut future: Pin<&mut (impl Future<Output = T> + ?Sized)>) -> bool {
    poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_pending())).await
}

// What is refused.

#[tokio::test]
async fn a_core_module_is_refused_with_the_way_to_make_a_component_of_it() {
    let error = refusal(&b"\0asm\x01\0\0\0"[..]).await;
    assert_eq!(error, LoadError::CoreModule);
    assert!(error.to_string().contains("wasm32-wasip2"), "{error}");
}

#[tokio::test]
async fn an_empty_component_is_refused() {
    assert_eq!(refusal(&b"\0asm\x0d\0\x01\0"[..]).await, LoadError::Empty);
}

#[tokio::test]
async fn a_file_cut_off_anywhere_is_refused_without_a_panic() {
    let whole = guest("basic");
    for length in [0, 3, 4, 7, 9, 100, 1000, whole.len() / 2, whole.len() - 1] {
        let error = refusal(whole.slice(..length)).await;
        assert!(matches!(error, LoadError::NotWasm(_) | LoadError::Invalid(_)), "{length} bytes: {error:?}");
    }
}

#[tokio::test]
async fn a_file_over_64_mib_is_refused() {
    assert_eq!(refusal(vec![0; MAX_FILE_BYTES + 1]).await, LoadError::TooLarge(MAX_FILE_BYTES + 1));
}

#[tokio::test]
async fn a_component_that_is_no_provider_is_refused_with_what_it_exports() {
    let error = refusal(renamed("wharf:provider/resources@0.1.0", "wharf:provider/recources@0.1.0")).await;
    assert!(matches!(error, LoadError::NoResources(_)), "{error:?}");
    assert!(error.to_string().contains("wharf:provider/recources@0.1.0"), "{error}");
}

#[tokio::test]
async fn a_component_of_another_version_of_the_contract_is_refused() {
    let error = refusal(renamed("wharf:provider/resources@0.1.0", "wharf:provider/resources@0.2.0")).await;
    assert!(matches!(error, LoadError::NeedsNewer(_)), "{error:?}");
    assert!(error.to_string().contains("wharf:provider/resources@0.2.0"), "{error}");
}

#[tokio::test]
async fn an_import_that_is_not_served_is_named() {
    let error = refusal(guest("fetcher")).await;
    assert_eq!(error, LoadError::NeedsNewer("wharf:provider/fetch@0.1.0".into()));
    let error = refusal(renamed("wasi:cli/stderr@", "acme:cli/stderr@")).await;
    assert!(matches!(&error, LoadError::Import(reason) if reason.contains("acme:cli/stderr@")), "{error:?}");
}

/// A component with exports of the right names and the type of `func()`, around a core module that starts with this.
fn shaped(start: &str) -> Vec<u8> {
    wat::parse_str(format!(
        r#"(component
            (core module $module (func $start {start}) (start $start) (func (export "f")))
            (core instance $core (instantiate $module))
            (func $f (canon lift (core func $core "f")))
            (instance $resources (export "list" (func $f)) (export "templates" (func $f)) (export "read" (func $f)))
            (export "wharf:provider/resources@0.1.0" (instance $resources)))"#
    ))
    .unwrap()
}

async fn start_error(bytes: Vec<u8>, limits: Limits) -> LoadError {
    let spec = Spec { limits, ..Spec::new("test") };
    let compiled = runtime().compile("test", bytes.into()).await.unwrap();
    compiled.start(spec, Announcer::new(SOURCE, Arc::default())).await.err().unwrap()
}

#[tokio::test]
async fn an_export_of_the_right_name_and_the_wrong_type_is_refused_by_name() {
    let error = start_error(shaped("nop"), Limits::default()).await;
    assert!(matches!(error, LoadError::WrongType { interface: "resources", .. }), "{error:?}");
    assert!(error.to_string().contains("wharf:provider/resources"), "{error}");
}

#[tokio::test]
async fn a_component_that_traps_or_loops_at_its_start_is_refused() {
    let error = start_error(shaped("unreachable"), Limits::default()).await;
    assert!(matches!(&error, LoadError::Start(how) if how.contains("unreachable")), "{error:?}");
    let error = start_error(shaped("loop br 0 end"), Limits { deadline: SHORT, ..Limits::default() }).await;
    assert!(matches!(&error, LoadError::Start(how) if how.contains("200ms")), "{error:?}");
}

#[tokio::test]
async fn a_component_that_wants_more_memory_than_it_may_have_is_refused_with_the_setting() {
    let mut spec = Spec::new("basic");
    spec.limits.memory = 1 << 20;
    let error = compiled("basic").await.start(spec, Announcer::new(SOURCE, Arc::default())).await.err().unwrap();
    assert!(matches!(&error, LoadError::Start(how) if how.contains("[provider.limits] memory")), "{error:?}");
}

/// The basic fixture, with a name in it replaced by another of the same length.
fn renamed(old: &str, new: &str) -> Vec<u8> {
    assert_eq!(old.len(), new.len());
    let mut bytes = guest("basic").to_vec();
    let mut found = 0;
    for at in 0..=bytes.len() - old.len() {
        if &bytes[at..at + old.len()] == old.as_bytes() {
            bytes[at..at + old.len()].copy_from_slice(new.as_bytes());
            found += 1;
        }
    }
    assert!(found > 0, "{old} is not in it");
    bytes
}

// What a provider may do.

#[tokio::test]
async fn what_a_component_offers_is_seen_from_its_type() {
    let basic = compiled("basic").await.offers();
    assert!(!basic.subscriptions && !basic.completions && !basic.live);
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
    let basic = run("basic", &[("db.host", "example.org"), ("a", "1")], Limits::default()).await;
    assert_eq!(basic.text("basic://settings").await, "a=1\ndb.host=example.org\n");
    let matched = TemplateMatch { uri_template: "basic://settings/{name}".into(), variables: vec![("name".into(), "db.host".into())] };
    let request = ReadRequest { matched: Some(Arc::new(matched)), ..request("basic://settings/db.host") };
    assert_eq!(text(&basic.provider.read(request).await.unwrap().unwrap()), "example.org");
}

#[tokio::test]
async fn a_provider_sees_nothing_of_the_machine() {
    assert_eq!(basic().await.text("basic://world").await, "arguments 0, variables 0, root closed, stdin closed");
}

#[tokio::test]
async fn a_provider_that_calls_out_is_denied_and_the_log_says_what_would_allow_it() {
    capture();
    let compiled = runtime().compile("caller", guest("caller")).await.unwrap();
    let provider = compiled.start(Spec::new("caller"), Announcer::new(SOURCE, Arc::default())).await.unwrap();
    let error = provider.read(request("caller://127.0.0.1:1")).await.unwrap_err();
    assert!(matches!(&error, Error::Failed(how) if how.contains("HttpRequestDenied")), "{error:?}");
    let logged = logged("caller");
    assert!(logged.iter().any(|line| line.contains(r#"hosts = ["127.0.0.1:1"]"#)), "{logged:?}");
}

/// What reached the host's log, as `provider|stream|line`.
static LOGGED: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Capture;

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Capture {
    fn on_event(&self, event: &tracing::Event<'_>, _context: tracing_subscriber::layer::Context<'_, S>) {
        struct Fields([String; 3]);
        impl tracing::field::Visit for Fields {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                if let Some(at) = ["provider", "stream", "message"].iter().position(|name| *name == field.name()) {
                    self.0[at] = format!("{value:?}").trim_matches('"').to_owned();
                }
            }
        }
        let mut fields = Fields(Default::default());
        event.record(&mut fields);
        LOGGED.lock().unwrap().push(fields.0.join("|"));
    }
}

fn capture() {
    use tracing_subscriber::layer::SubscriberExt;
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(tracing_subscriber::registry().with(Capture)).unwrap());
}

fn logged(provider: &str) -> Vec<String> {
    LOGGED.lock().unwrap().iter().filter_map(|line| line.strip_prefix(provider).map(str::to_owned)).collect()
}

#[tokio::test]
async fn what_a_guest_prints_is_logged_under_its_name() {
    capture();
    let provider = compiled("basic").await.start(Spec::new("talker"), Announcer::new(SOURCE, Arc::default())).await.unwrap();
    provider.read(request("basic://log")).await.unwrap();
    assert_eq!(logged("talker"), ["|stdout|a line on stdout", "|stderr|a line on stderr"]);
}

// Live providers.

#[tokio::test]
async fn a_timer_fires_and_what_the_guest_announces_arrives() {
    let live = live(&[]).await;
    live.provider.subscribe("live://a".into(), None).await.unwrap();
    for _ in 0..2 {
        let event = live.event(|event| !event.updated.is_empty()).await;
        assert_eq!(event.updated, Updated::These(["live://a".into()].into()));
    }
    assert!(live.text("live://ticks").await.parse::<u64>().unwrap() >= 2);
}

#[tokio::test]
async fn after_unsubscribe_the_timer_is_silent() {
    let live = live(&[]).await;
    live.provider.subscribe("live://a".into(), None).await.unwrap();
    live.event(|event| !event.updated.is_empty()).await;
    live.provider.unsubscribe("live://a".into()).await.unwrap();
    while live.events.try_recv().is_some() {}
    // Three periods of another timer: the first one, were it still there, would have fired in between.
    live.provider.subscribe("live://b".into(), None).await.unwrap();
    for _ in 0..3 {
        let event = live.event(|event| !event.updated.is_empty()).await;
        assert_eq!(event.updated, Updated::These(["live://b".into()].into()));
    }
}

#[tokio::test]
async fn timers_that_are_due_together_come_together_in_their_order() {
    let live = live(&[]).await;
    live.text("live://start/x:b/30/0").await;
    live.text("live://start/x:a/40/0").await;
    live.text("live://start/x:c/50/0").await;
    live.text("live://cancel/x:c").await;
    // They fall due while the guest computes.
    live.text("live://slow/100").await;
    // Timers have their turn before the next read, or the one after it.
    live.text("live://ticks").await;
    assert_eq!(live.text("live://log").await, "slow 100\nfired x:b x:a");
}

#[tokio::test]
async fn a_subscribe_is_answered_as_the_guest_says() {
    let live = live(&[]).await;
    let refused = |case: &str| live.provider.subscribe(format!("live://refuse/{case}").into(), None);
    assert_eq!(refused("not-found").await, Err(Error::NotFound));
    assert_eq!(refused("invalid").await, Err(Error::Invalid("refused".into())));
    assert_eq!(refused("denied").await, Err(Error::Denied("refused".into())));
    assert_eq!(refused("unavailable").await, Err(Error::unavailable("refused")));
    assert_eq!(refused("failed").await, Err(Error::Failed("refused".into())));
    assert!(matches!(basic().await.provider.subscribe("x://a".into(), None).await, Err(Error::Failed(_))));
}

#[tokio::test]
async fn an_announcement_counts_before_the_call_that_makes_it_has_ended() {
    let live = live(&[]).await;
    let then = live.announcer.ledger().now("live://other");
    live.text("live://touch/other").await;
    assert!(!live.announcer.ledger().still("live://other", &then));
    assert_eq!(live.events.try_recv().unwrap().updated, Updated::These(["live://other".into()].into()));
    live.text("live://touch-list").await;
    assert!(live.events.try_recv().unwrap().list_changed);
    assert_eq!(live.provider.list(None).await.unwrap().resources.len(), 3);
}

#[tokio::test]
async fn calls_reach_the_guest_in_the_order_in_which_they_were_made() {
    let live = live(&[("timers", "false")]).await;
    // None of these is polled before all are made.
    let calls = [
        live.provider.subscribe("live://a".into(), None),
        live.provider.unsubscribe("live://a".into()),
        live.provider.subscribe("live://b".into(), None),
        live.provider.unsubscribe("live://b".into()),
    ];
    for call in calls {
        call.await.unwrap();
    }
    assert_eq!(live.text("live://log").await, "subscribe live://a\nunsubscribe live://a\nsubscribe live://b\nunsubscribe live://b");
}

// Those that misbehave.

#[tokio::test]
async fn a_trap_costs_the_instance_and_a_fresh_one_follows() {
    let hostile = hostile().await;
    assert_eq!(hostile.text("hostile://count").await, "1");
    assert_eq!(hostile.text("hostile://count").await, "2");
    let error = hostile.read("hostile://trap").await.unwrap_err();
    assert!(matches!(&error, Error::Trapped(how) if how.contains("unreachable")), "{error:?}");
    let event = hostile.events.try_recv();
    assert!(event.as_ref().is_some_and(|event| event.down), "its death is announced before it is answered");
    if event.is_some_and(|event| !event.up) {
        hostile.event(|event| event.up).await;
    }
    assert_eq!(hostile.text("hostile://count").await, "1");
    let error = hostile.read("hostile://exit").await.unwrap_err();
    assert!(matches!(&error, Error::Trapped(how) if how.contains("exit status")), "{error:?}");
}

#[tokio::test]
async fn a_loop_and_an_endless_sleep_end_at_the_deadline() {
    for uri in ["hostile://loop", "hostile://sleep"] {
        let hostile = hostile().await;
        assert_eq!(hostile.read(uri).await, Err(Error::DeadlineExceeded(SHORT)), "{uri}");
        assert_eq!(hostile.back("hostile://ok").await, "ok");
    }
}

#[tokio::test]
async fn a_list_that_traps_or_loops_says_so() {
    let looping = run("hostile", &[("list", "loop")], Limits { deadline: SHORT, ..Limits::default() }).await;
    assert_eq!(looping.provider.list(None).await, Err(Error::DeadlineExceeded(SHORT)));
    let trapping = run("hostile", &[("list", "trap")], Limits::default()).await;
    assert!(matches!(trapping.provider.list(None).await, Err(Error::Trapped(_))));
}

#[tokio::test]
async fn a_subscribe_that_traps_or_loops_says_so() {
    let hostile = hostile().await;
    assert!(matches!(hostile.provider.subscribe("hostile://trap".into(), None).await, Err(Error::Trapped(_))));
    hostile.event(|event| event.up).await;
    assert_eq!(hostile.provider.subscribe("hostile://loop".into(), None).await, Err(Error::DeadlineExceeded(SHORT)));
}

#[tokio::test]
async fn a_guest_that_keeps_dying_is_unavailable_for_a_while_and_says_for_how_long() {
    let hostile = hostile().await;
    // Each pause is twice the one before it, so in the end a read meets one, however slow the machine.
    let left = loop {
        match hostile.read("hostile://trap").await {
            Err(Error::Trapped(_)) => {}
            Err(Error::Unavailable { retry_after, .. }) => break retry_after.unwrap(),
            other => panic!("{other:?}"),
        }
    };
    assert!(left <= Duration::from_secs(30));
    assert_eq!(hostile.back("hostile://ok").await, "ok");
}

#[tokio::test]
async fn endless_allocation_ends_at_the_memory_limit_which_the_error_names() {
    let hostile = run("hostile", &[], Limits { memory: 32 << 20, ..Limits::default() }).await;
    let error = hostile.read("hostile://allocate").await.unwrap_err();
    assert!(matches!(&error, Error::Trapped(how) if how.contains("32 MiB") && how.contains("[provider.limits] memory")), "{error:?}");
    assert_eq!(hostile.back("hostile://ok").await, "ok");
}

#[tokio::test]
async fn an_answer_over_16_mib_fails_and_costs_nothing_else() {
    let hostile = run("hostile", &[], Limits::default()).await;
    assert_eq!(text(&hostile.read("hostile://big/16777216").await.unwrap()).len(), 16 << 20);
    let too_large = Err(Error::Failed("the provider's answer is larger than 16 MiB".into()));
    assert_eq!(hostile.read("hostile://big/16777217").await, too_large);
    assert_eq!(hostile.read("hostile://big/33554432").await, too_large);
    assert_eq!(hostile.text("hostile://count").await, "4", "it is still the same instance");
    assert!(hostile.events.try_recv().is_none());
    assert_eq!(hostile.read("hostile://huge").await, too_large);
}

#[tokio::test]
async fn an_import_given_too_much_costs_the_instance() {
    let hostile = run("hostile", &[], Limits::default()).await;
    let error = hostile.read("hostile://announce-huge").await.unwrap_err();
    assert!(matches!(error, Error::Trapped(_)), "{error:?}");
    assert_eq!(hostile.back("hostile://count").await, "1");
}

#[tokio::test]
async fn a_text_that_is_not_utf8_fails_and_costs_nothing_else() {
    let hostile = hostile().await;
    assert!(matches!(hostile.read("hostile://bad-utf8").await, Err(Error::Failed(_))));
    assert_eq!(hostile.text("hostile://count").await, "2");
}

#[tokio::test]
async fn a_list_of_100_000_on_one_page_is_too_large_and_costs_nothing_else() {
    let hostile = run("hostile", &[("list", "huge")], Limits::default()).await;
    assert_eq!(hostile.provider.list(None).await, Err(Error::Failed("the provider's answer is larger than 16 MiB".into())));
    assert_eq!(hostile.text("hostile://count").await, "1");
    assert!(hostile.events.try_recv().is_none());
}

#[tokio::test]
async fn a_log_flood_and_an_endless_line_hold_nobody_up() {
    let hostile = run("hostile", &[], Limits::default()).await;
    assert_eq!(hostile.text("hostile://flood").await, "flooded");
    assert_eq!(hostile.text("hostile://long-line").await, "written");
}

#[tokio::test]
async fn what_is_announced_and_is_no_uri_is_dropped() {
    let hostile = hostile().await;
    hostile.text("hostile://announce").await;
    let event = hostile.events.try_recv().unwrap();
    assert_eq!(event.updated, Updated::These(["other://thing".into(), "wharf://state/x".into(), "hostile://ok".into()].into()));
}

#[tokio::test]
async fn timers_past_the_limit_and_names_out_of_bounds_are_refused() {
    let hostile = run("hostile", &[], Limits::default()).await;
    let names = hostile.text("hostile://timer-names").await;
    assert_eq!((names.matches("Invalid").count(), names.matches("Ok").count()), (2, 1), "{names}");
    assert_eq!(hostile.text("hostile://timers").await, "1023");
}

#[tokio::test]
async fn a_trap_in_a_timer_costs_the_instance_and_its_timers() {
    let hostile = run("hostile", &[], Limits::default()).await;
    hostile.text("hostile://timer-trap").await;
    let event = hostile.event(|event| event.down).await;
    if !event.up {
        hostile.event(|event| event.up).await;
    }
    assert_eq!(hostile.text("hostile://timers").await, "1024");
}

// Calls and those who wait for them.

#[tokio::test]
async fn a_guest_that_computes_delays_no_other_on_the_same_thread() {
    let hostile = run("hostile", &[], Limits::default()).await;
    let mut looping = hostile.provider.read(request("hostile://loop"));
    yield_now().await;
    let basic = basic().await;
    for _ in 0..100 {
        assert_eq!(basic.text("basic://text").await, "text");
    }
    assert!(is_pending(looping.as_mut()).await, "it still runs");
}

#[tokio::test]
async fn giving_up_on_a_call_does_not_interrupt_it() {
    let live = live(&[("timers", "false")]).await;
    let slow = live.provider.read(request("live://slow/50"));
    yield_now().await;
    drop(slow);
    assert_eq!(live.text("live://log").await, "slow 50");
    assert!(live.events.try_recv().is_none());
}

#[tokio::test]
async fn a_read_that_nobody_waits_for_any_more_is_not_begun() {
    let live = live(&[("timers", "false")]).await;
    let slow = live.provider.read(request("live://slow/50"));
    yield_now().await;
    drop(live.provider.read(request("live://slow/60")));
    slow.await.unwrap();
    assert_eq!(live.text("live://log").await, "slow 50");
}

#[tokio::test]
async fn closing_answers_those_who_wait_and_lets_the_running_call_end() {
    let live = live(&[("timers", "false")]).await;
    let running = live.provider.read(request("live://slow/100"));
    yield_now().await;
    let waiting = live.provider.read(request("live://ticks"));
    let mut closed = live.provider.close();
    assert!(matches!(waiting.await, Err(Error::Unavailable { .. })));
    assert!(is_pending(closed.as_mut()).await);
    closed.await;
    assert_eq!(text(&running.await.unwrap().unwrap()), "100");
    assert!(matches!(live.read("live://ticks").await, Err(Error::Unavailable { .. })));
}

#[tokio::test]
async fn closing_waits_for_a_stuck_call_no_longer_than_its_deadline() {
    let hostile = hostile().await;
    let running = hostile.provider.read(request("hostile://sleep"));
    yield_now().await;
    hostile.provider.close().await;
    assert_eq!(running.await, Err(Error::DeadlineExceeded(SHORT)));
}

#[tokio::test]
async fn one_read_more_than_may_wait_is_refused_at_once_and_control_calls_pass_the_reads() {
    let live = live(&[("timers", "false")]).await;
    let slow = live.provider.read(request("live://slow/100"));
    yield_now().await;
    let mut reads: Vec<_> = (0..257).map(|_| live.provider.read(request("live://log"))).collect();
    let subscribed = live.provider.subscribe("live://a".into(), None);
    assert!(matches!(reads.pop().unwrap().await, Err(Error::Unavailable { retry_after: None, .. })));
    slow.await.unwrap();
    subscribed.await.unwrap();
    let mut seen = Vec::new();
    for read in reads {
        seen.push(text(&read.await.unwrap().unwrap()).contains("subscribe live://a"));
    }
    let before = seen.iter().position(|subscribed| *subscribed).unwrap();
    assert!(before <= 1, "{before} reads came before it");
}
