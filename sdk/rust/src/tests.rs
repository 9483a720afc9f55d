//! A provider as the host calls it, without a host.

use crate::{
    Contents, Entry, Error, Provide, Provider, Reading, Result, Suggestions, announce,
    bindings::types::{Reuse, TemplateMatch},
    fetch::{self, FetchError, FetchRequest},
    files::{self, Change, FileChange},
    settings, store,
    testing::{self, Tested},
    timers,
    webhooks::{WebhookRequest, WebhookResponse},
};

/// A little of everything.
#[derive(Default)]
struct Sample {
    count: u32,
    heard: Vec<String>,
}

const ITEM: &str = "s://item/{+id}{?n}";

impl Provide for Sample {
    fn provider() -> Result<Provider<Self>> {
        let mut provider = Provider::new(Sample { count: 0, heard: settings::get("greeting").into_iter().collect() });
        provider.page_size(2);
        provider.resource("s://plain").read(|_, _| Ok("text"));
        provider
            .resource("s://count")
            .on_subscribe(|_, _| {
                timers::every("count", 100, |sample: &mut Sample| {
                    sample.count += 1;
                    announce::updated(["s://count"]);
                })
            })
            .on_unsubscribe(|_, _| timers::cancel("count"))
            .read(|sample, _| Ok(Reading::new(sample.count.to_string()).version(sample.count.to_string())));
        provider
            .template(ITEM)
            .mime_type("text/plain")
            .subscribable()
            .on_unsubscribe(|sample, request| sample.heard.push(format!("left {}", request.variable("id"))))
            .list(|_| Ok(["a b", "c/d"].map(|id| Entry::new([("id", id)]).title(id)).into()))
            .complete("id", |_, typed, _| Ok(Suggestions::beginning_with(typed, ["a b", "c/d", "c/e"])))
            .complete("n", |_, _, known| Ok((0..250).map(|n| format!("{}{n}", known.get("id").unwrap_or("-"))).collect::<Vec<_>>()))
            .read(Sample::item);
        provider.template("s://broken/{n}").read(|_, request| Ok(request.variable("n").parse::<u32>()?.to_string()));
        provider.webhook("own", |sample, request| {
            sample.heard.push(request.name);
            WebhookResponse::status(204)
        });
        Ok(provider)
    }
}

impl Sample {
    fn item(&mut self, request: &crate::Request) -> Result<Reading> {
        match request.variable("id") {
            "none" => Err(Error::NotFound),
            id => Ok([Contents::text(format!("{id} {}", request.given("n").unwrap_or("-")))].into()),
        }
    }
}

fn sample() -> Tested<Sample> {
    Tested::new().unwrap()
}

#[test]
fn a_long_list_is_given_in_pages_of_one_look() {
    let mut provider = Sample::provider().unwrap();
    let first = provider.list(None).unwrap();
    assert_eq!(first.resources.iter().map(|info| &*info.uri).collect::<Vec<_>>(), ["s://plain", "s://count"]);
    assert_eq!((first.next_cursor.as_deref(), first.reuse), (Some("2"), None));
    let last = provider.list(Some("2")).unwrap();
    assert_eq!(last.resources.iter().map(|info| &*info.uri).collect::<Vec<_>>(), ["s://item/a%20b", "s://item/c/d"]);
    assert_eq!(last.next_cursor, None);
    // Another instance gave the first page.
    assert_eq!(Sample::provider().unwrap().list(Some("2")).unwrap().resources, last.resources);
    for cursor in ["0", "4", "-1", "x", ""] {
        assert!(matches!(provider.list(Some(cursor)), Err(Error::Invalid(_))), "{cursor}");
    }
}

#[test]
fn a_list_without_functions_holds_until_it_is_announced() {
    let mut provider = Provider::new(());
    provider.resource("s://a").read(|_, _| Ok("a"));
    assert_eq!(provider.list(None).unwrap().reuse, Some(Reuse::UntilAnnounced));
    provider.list_reuse(Reuse::ForMs(1));
    assert_eq!(provider.list(None).unwrap().reuse, Some(Reuse::ForMs(1)));
}

#[test]
fn an_entry_has_the_fields_of_its_own_and_the_type_of_its_template() {
    let entry = sample().list().unwrap().pop().unwrap();
    assert_eq!((&*entry.name, entry.title.as_deref(), entry.mime_type.as_deref()), ("d", Some("c/d"), Some("text/plain")));
}

#[test]
fn a_listed_resource_of_a_template_is_read_with_its_variables() {
    // Without a list before it, as in an instance that did not give it.
    assert_eq!(sample().text("s://item/a%20b").unwrap(), "a b -");
    assert_eq!(sample().read("s://item/other").unwrap_err(), Error::NotFound);
}

#[test]
fn a_resource_of_a_template_is_read_with_the_variables_that_the_host_found() {
    let mut sample = sample();
    assert_eq!(sample.read_of(ITEM, [("id", "x/y"), ("n", "1")]).unwrap().text(), "x/y 1");
    assert_eq!(sample.read_of(ITEM, [("id", "none")]).unwrap_err(), Error::NotFound);
    assert_eq!(sample.read_of("s://other/{v}", [("v", "1")]).unwrap_err(), Error::NotFound);
}

#[test]
fn another_crates_error_is_a_failure_with_its_text() {
    assert_eq!(sample().read_of("s://broken/{n}", [("n", "x")]).unwrap_err(), Error::failed("invalid digit found in string"));
}

#[test]
fn a_version_that_the_host_still_holds_is_not_sent_again() {
    let mut provider = Sample::provider().unwrap();
    let mut read = |version: &str| provider.answer("s://count".into(), None, Some(version.into())).unwrap();
    assert_eq!(read("0"), None);
    assert!(read("1").is_some());
}

#[test]
fn what_does_not_tell_of_changes_says_so() {
    let mut sample = sample();
    assert_eq!(sample.subscribe("s://plain").unwrap_err(), Error::failed("s://plain does not tell of changes"));
    assert_eq!(sample.subscribe("s://none").unwrap_err(), Error::NotFound);
}

#[test]
fn a_timer_runs_from_the_first_subscriber_to_the_last() {
    let mut sample = sample();
    sample.subscribe("s://count").unwrap();
    assert_eq!(sample.running(), ["count"]);
    sample.fire("count");
    sample.fire("count");
    assert_eq!((sample.announced(), sample.text("s://count").unwrap()), (vec!["s://count".to_owned(); 2], "2".to_owned()));
    sample.unsubscribe("s://count");
    sample.fire("count");
    assert_eq!((sample.running(), sample.text("s://count").unwrap()), (vec![], "2".to_owned()));
}

#[test]
fn the_last_subscriber_leaves_with_the_variables_it_came_with() {
    let mut sample = sample();
    let uri = sample.subscribe_of(ITEM, [("id", "x")]).unwrap();
    sample.unsubscribe(&uri);
    sample.unsubscribe(&uri);
    assert_eq!(sample.state().heard, ["left x"]);
}

#[test]
fn suggestions_are_cut_to_what_the_host_passes_on_and_counted_in_full() {
    assert_eq!(sample().complete(ITEM, "id", "c", [] as [(&str, &str); 0]).unwrap(), ["c/d", "c/e"]);
    let mut provider = Sample::provider().unwrap();
    let found = provider.complete(ITEM, "n", "", vec![("id".into(), "x".into())]).unwrap();
    assert_eq!((found.values.len(), &*found.values[1], found.total), (100, "x1", 250));
    assert_eq!(provider.complete(ITEM, "other", "", Vec::new()).unwrap_err(), Error::NotFound);
}

#[test]
fn a_timer_that_fires_once_is_forgotten_and_may_start_itself_again() {
    let mut sample = sample();
    timers::after("again", 5, |sample: &mut Sample| {
        sample.count += 1;
        timers::after("again", 5, |sample: &mut Sample| sample.count += 10).unwrap();
    })
    .unwrap();
    for expected in [1, 11, 11] {
        sample.fire("again");
        assert_eq!(sample.state().count, expected);
    }
}

#[test]
fn a_function_of_another_state_is_refused_when_it_is_given() {
    let _sample = sample();
    let error = timers::after("other", 1, |_: &mut String| {}).unwrap_err();
    assert!(error.to_string().contains("another state"), "{error}");
}

#[test]
fn changes_come_to_the_function_of_their_watch_in_one_call() {
    let mut sample = sample();
    for name in ["a", "b"] {
        let changed = move |sample: &mut Sample, changes: Vec<FileChange>| {
            sample.heard.push(format!("{name}:{}", changes.iter().map(|change| &*change.path).collect::<String>()));
        };
        files::watch(name, "/", true, changed).unwrap();
    }
    let change = |name: &str, path: &str| FileChange { name: name.into(), path: path.into(), change: Change::Modified };
    sample.changed(vec![change("b", "/1"), change("a", "/2"), change("b", "/3"), change("none", "/4")]);
    assert_eq!(sample.state().heard, ["b:/1/3", "a:/2"]);
}

#[test]
fn an_answer_comes_to_the_function_of_its_request_and_a_poll_stays() {
    let mut sample = sample();
    let request = FetchRequest::get("https://example.com/").header("accept", "text/plain");
    fetch::start("once", &request, |sample: &mut Sample, answer| sample.heard.push(format!("once {}", answer.is_ok()))).unwrap();
    fetch::poll("poll", &request, 1000, |sample: &mut Sample, answer| sample.heard.push(format!("poll {}", answer.is_ok()))).unwrap();
    for name in ["once", "poll", "once", "poll"] {
        sample.fetched(name, Err(FetchError::TimedOut));
    }
    assert_eq!(sample.state().heard, ["once false", "poll false", "poll false"]);
}

#[test]
fn a_webhook_without_a_function_is_not_found() {
    let mut sample = sample();
    let request = |name: &str| WebhookRequest {
        name: name.into(),
        method: "POST".into(),
        path_and_query: String::new(),
        headers: vec![("x-a".into(), "1".into())],
        body: Vec::new(),
    };
    assert_eq!(request("own").header("x-a"), Some("1"));
    assert_eq!(sample.receive(request("own")).status, 204);
    assert_eq!(sample.receive(request("other")).status, 404);
}

#[test]
fn what_export_does_not_name_is_told_at_the_first_call() {
    let provider = Sample::provider().unwrap();
    let error = provider.check(&["completions", "webhooks"]).unwrap_err().to_string();
    assert!(error.ends_with("export! does not name: subscriptions"), "{error}");
    assert_eq!(provider.check(&["webhooks", "subscriptions", "completions"]), Ok(()));
}

#[test]
fn a_test_sets_settings_and_the_store() {
    testing::set("greeting", "hello");
    assert_eq!(sample().state().heard, ["hello"]);
    store::set("k", "1").unwrap();
    assert!(!store::replace("k", None, Some(b"2")).unwrap());
    assert!(store::replace("k", Some(b"1"), None).unwrap());
    assert_eq!(store::keys("").unwrap(), [""; 0]);
}

#[test]
fn a_template_that_the_host_names_wrongly_is_nobodys() {
    let matched = TemplateMatch { uri_template: "s://count".into(), variables: Vec::new() };
    assert_eq!(Sample::provider().unwrap().answer("s://count".into(), Some(matched), None), Err(Error::NotFound));
}
