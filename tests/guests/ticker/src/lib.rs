//! Announces every URI that is subscribed to, ten times a second. Its text is the number of ticks so far. A read prints a line to stdout.

mod bindings {
    wit_bindgen::generate!({ path: "../../../wit", world: "live-provider" });
}

use std::{cell::RefCell, collections::BTreeSet};

use bindings::{
    exports::wharf::provider::{
        resources::{self, ReadRequest, Reading},
        subscriptions, timer_handler,
    },
    wharf::provider::{
        announce, timers,
        types::{Body, Contents, Error, ResourcePage, TemplateInfo, TemplateMatch},
    },
};

const TICK_MS: u32 = 100;

#[derive(Default)]
struct State {
    ticks: u64,
    watched: BTreeSet<String>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

struct Ticker;

impl resources::Guest for Ticker {
    fn list(_cursor: Option<String>) -> Result<ResourcePage, Error> {
        Ok(ResourcePage { resources: Vec::new(), next_cursor: None, reuse: None })
    }

    fn templates() -> Result<Vec<TemplateInfo>, Error> {
        Ok(vec![TemplateInfo {
            uri_template: "ticker://count/{name}".into(),
            name: "count".into(),
            title: None,
            description: None,
            mime_type: Some("text/plain".into()),
            icons: None,
            annotations: None,
            meta_json: None,
        }])
    }

    fn read(_request: ReadRequest) -> Result<Option<Reading>, Error> {
        println!("{{\"read\":true}}");
        let body = Body::Text(STATE.with_borrow(|state| state.ticks.to_string()));
        let contents = vec![Contents { uri: None, mime_type: None, body, meta_json: None }];
        Ok(Some(Reading { contents, version: None, reuse: None }))
    }
}

impl subscriptions::Guest for Ticker {
    fn subscribe(uri: String, _matched: Option<TemplateMatch>) -> Result<(), Error> {
        if STATE.with_borrow_mut(|state| state.watched.insert(uri) && state.watched.len() == 1) {
            timers::start("tick", TICK_MS, Some(TICK_MS))?;
        }
        Ok(())
    }

    fn unsubscribe(uri: String) {
        if STATE.with_borrow_mut(|state| state.watched.remove(&uri) && state.watched.is_empty()) {
            timers::cancel("tick");
        }
    }
}

impl timer_handler::Guest for Ticker {
    fn fired(_names: Vec<String>) {
        let watched: Vec<String> = STATE.with_borrow_mut(|state| {
            state.ticks += 1;
            state.watched.iter().cloned().collect()
        });
        announce::updated(&watched);
    }
}

bindings::export!(Ticker with_types_in bindings);
