//! What a provider may do: nothing, and speak.

use std::sync::{Arc, Mutex, Once};

use wharf::provider::{
    Announcer, Error, Provider,
    wasm::{CALLS, Spec},
};

use super::support::{SOURCE, basic, compiled, guest, hostile, request, runtime};

#[tokio::test]
async fn a_provider_sees_nothing_of_the_machine() {
    assert_eq!(basic().await.text("basic://world").await, "arguments 0, variables 0, root closed, stdin closed");
}

#[tokio::test]
async fn a_provider_that_calls_out_is_denied_and_the_log_says_what_would_allow_it() {
    capture();
    let compiled = runtime().compile("caller", guest("caller")).await.unwrap();
    let provider = compiled.start(Spec::new("caller"), Announcer::new(SOURCE, Arc::default())).await.unwrap();
    let error = provider.read(request("caller://http://127.0.0.1:1/")).await.unwrap_err();
    assert!(matches!(&error, Error::Failed(how) if how.contains("HttpRequestDenied")), "{error:?}");
    let logged = logged("caller");
    assert!(logged.iter().any(|line| line.contains(r#"hosts = ["127.0.0.1:1"]"#)), "{logged:?}");
}

/// What reached the host's log, as `provider|stream|line`.
static LOGGED: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Capture;

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Capture {
    fn on_event(&self, event: &tracing::Event<'_>, _context: tracing_subscriber::layer::Context<'_, S>) {
        // How long a call took is no word of the guest's.
        if event.metadata().target() == CALLS {
            return;
        }
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

pub fn capture() {
    use tracing_subscriber::layer::SubscriberExt;
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(tracing_subscriber::registry().with(Capture)).unwrap());
}

pub fn logged(provider: &str) -> Vec<String> {
    LOGGED.lock().unwrap().iter().filter_map(|line| line.strip_prefix(provider).map(str::to_owned)).collect()
}

#[tokio::test]
async fn what_a_guest_prints_is_logged_under_its_name() {
    capture();
    let provider = compiled("basic").await.start(Spec::new("talker"), Announcer::new(SOURCE, Arc::default())).await.unwrap();
    provider.read(request("basic://log")).await.unwrap();
    assert_eq!(logged("talker"), ["|stdout|a line on stdout", "|stderr|a line on stderr"]);
}

#[tokio::test]
async fn a_mib_of_random_numbers_at_once_is_too_much() {
    assert!(matches!(hostile().await.read("hostile://random").await, Err(Error::Trapped(_))));
}

#[tokio::test]
async fn handles_that_are_never_given_back_are_limited() {
    assert!(matches!(hostile().await.read("hostile://pollables").await, Err(Error::Trapped(_))));
}

#[tokio::test]
async fn a_provider_gets_no_socket_and_so_none_of_the_hosts_files() {
    assert_eq!(hostile().await.text("hostile://sockets").await, "0");
}
