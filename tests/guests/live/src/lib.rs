//! Watches, has timers, announces, and keeps a log of what it was told.
//!
//! - `subscribe` of `live://refuse/<case>` answers that error; of any other URI it starts a timer of that name (every 100 ms, or as the
//!   setting `every-ms` says; with `timers = false` none), which announces the URI each time it fires. `unsubscribe` ends it.
//! - `live://ticks`: how often a timer has fired; listed, as is `live://log`: what it was told, a line each.
//! - `live://touch/<name>`: announces `live://<name>` from inside the read; `live://touch-list`: that the list changed, which from then on
//!   has one entry more.
//! - `live://start/<name>/<after>/<every>` and `live://cancel/<name>`: timers of any name, `every` 0 for none.
//! - `live://together/<name>,<name>`: starts timers that all fall due before the read ends, the last name first.
//! - `live://slow/<ms>`: answers after so long, spent computing.

use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

wit_bindgen::generate!({ path: "../../../wit", world: "wharf:provider/live-provider" });

use exports::wharf::provider::{
    resources::{self, ReadRequest, Reading},
    subscriptions, timer_handler,
};
use wharf::provider::{
    announce, settings, timers,
    types::{Body, Contents, Error, ResourceInfo, ResourcePage, TemplateInfo, TemplateMatch},
};

#[derive(Default)]
struct State {
    log: Vec<String>,
    ticks: u64,
    more: usize,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

fn log(line: String) {
    STATE.with_borrow_mut(|state| state.log.push(line));
}

fn compute(ms: u32) {
    let end = Instant::now() + Duration::from_millis(ms.into());
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}

struct Live;
export!(Live);

impl resources::Guest for Live {
    fn list(_cursor: Option<String>) -> Result<ResourcePage, Error> {
        let more = STATE.with_borrow(|state| state.more);
        let info = |uri: String| ResourceInfo {
            name: uri.clone(),
            uri,
            title: None,
            description: None,
            mime_type: Some("text/plain".into()),
            size: None,
            icons: None,
            annotations: None,
            meta_json: None,
        };
        let uris = ["live://ticks".into(), "live://log".into()].into_iter().chain((0..more).map(|n| format!("live://more/{n}")));
        Ok(ResourcePage { resources: uris.map(info).collect(), next_cursor: None, reuse: None })
    }

    fn templates() -> Result<Vec<TemplateInfo>, Error> {
        Ok(Vec::new())
    }

    fn read(request: ReadRequest) -> Result<Option<Reading>, Error> {
        let Some(what) = request.uri.strip_prefix("live://") else { return Err(Error::NotFound) };
        let parts: Vec<&str> = what.split('/').collect();
        let number = |text: &str| text.parse::<u32>().map_err(|error| Error::Invalid(error.to_string()));
        let text = match parts[..] {
            ["ticks"] => STATE.with_borrow(|state| state.ticks.to_string()),
            ["log"] => STATE.with_borrow(|state| state.log.join("\n")),
            ["touch", name] => {
                announce::updated(&[format!("live://{name}")]);
                name.into()
            }
            ["touch-list"] => {
                STATE.with_borrow_mut(|state| state.more += 1);
                announce::list_changed();
                String::new()
            }
            ["start", name, after, every] => {
                let every = number(every)?;
                timers::start(name, number(after)?, (every > 0).then_some(every))?;
                name.into()
            }
            ["cancel", name] => {
                timers::cancel(name);
                name.into()
            }
            ["slow", ms] => {
                compute(number(ms)?);
                log(format!("slow {ms}"));
                ms.into()
            }
            ["together", names] => {
                for (n, name) in (1..).zip(names.split(',').rev()) {
                    timers::start(name, n, None)?;
                }
                compute(50);
                names.into()
            }
            ["more", _] => what.into(),
            _ => return Err(Error::NotFound),
        };
        let contents = vec![Contents { uri: None, mime_type: None, body: Body::Text(text), meta_json: None }];
        Ok(Some(Reading { contents, version: None, reuse: None }))
    }
}

impl subscriptions::Guest for Live {
    fn subscribe(uri: String, _matched: Option<TemplateMatch>) -> Result<(), Error> {
        log(format!("subscribe {uri}"));
        match uri.strip_prefix("live://refuse/") {
            Some("not-found") => return Err(Error::NotFound),
            Some("invalid") => return Err(Error::Invalid("refused".into())),
            Some("denied") => return Err(Error::Denied("refused".into())),
            Some("unavailable") => return Err(Error::Unavailable("refused".into())),
            Some("failed") => return Err(Error::Failed("refused".into())),
            _ => {}
        }
        if settings::get("timers").as_deref() != Some("false") {
            let every = settings::get("every-ms").and_then(|every| every.parse().ok()).unwrap_or(100);
            timers::start(&uri, every, Some(every))?;
        }
        Ok(())
    }

    fn unsubscribe(uri: String) {
        log(format!("unsubscribe {uri}"));
        timers::cancel(&uri);
    }
}

impl timer_handler::Guest for Live {
    fn fired(names: Vec<String>) {
        log(format!("fired {}", names.join(" ")));
        STATE.with_borrow_mut(|state| state.ticks += 1);
        announce::updated(&names.into_iter().filter(|name| name.contains("://")).collect::<Vec<_>>());
    }
}
