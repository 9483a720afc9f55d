//! Fetches what its reads name, and keeps a log of what arrived.
//!
//! - `fetch://start/<name>/<url>`: once, with an Authorization header; `fetch://post/<name>/<url>`: with a body; `fetch://host/<name>/<url>`:
//!   with a header that is the host's.
//! - `fetch://poll/<name>/<every-ms>/<url>`, `fetch://cancel/<name>`.
//! - `fetch://polls/<count>/<every-ms>/<url>`: so many, named by their number.
//! - `fetch://log`: what arrived, a line each, as `<name> <status> <body>` or `<name> <error>`; a long body as its length. It is announced
//!   at each arrival.
//! - `fetch://headers`: the headers of the last answer. `fetch://trap`: traps. `fetch://slow`: text, as a reader of it wants it.

use std::cell::RefCell;

wit_bindgen::generate!({ path: ["../../../wit", "wit"], world: "test:fetcher/fetcher", generate_all });

use exports::wharf::provider::{
    fetch_handler::{self, FetchOutcome},
    resources::{self, ReadRequest, Reading},
};
use wharf::provider::{
    announce,
    fetch::{self, FetchRequest},
    types::{Body, Contents, Error, ResourcePage, TemplateInfo},
};

/// Longer bodies are logged as their length.
const SHOWN: usize = 100;

thread_local! {
    static LOG: RefCell<Vec<String>> = RefCell::default();
    static HEADERS: RefCell<String> = RefCell::default();
}

struct Fetcher;
export!(Fetcher);

fn get(url: &str) -> FetchRequest {
    let headers = Some(vec![("Authorization".into(), "Bearer secret".into())]);
    FetchRequest { method: None, url: url.into(), headers, body: None, timeout_ms: Some(10_000) }
}

fn number(text: &str) -> Result<u32, Error> {
    text.parse().map_err(|_| Error::Invalid(format!("{text} is no number")))
}

fn act(what: &str) -> Result<String, Error> {
    let (verb, rest) = what.split_once('/').unwrap_or((what, ""));
    let (name, url) = rest.split_once('/').unwrap_or((rest, ""));
    match verb {
        "start" => fetch::start(name, &get(url))?,
        "post" => fetch::start(name, &FetchRequest { method: Some("POST".into()), body: Some(b"posted".into()), ..get(url) })?,
        "host" => fetch::start(name, &FetchRequest { headers: Some(vec![("Host".into(), "b.example".into())]), ..get(url) })?,
        "poll" => {
            let (every, url) = url.split_once('/').unwrap_or((url, ""));
            fetch::poll(name, &get(url), number(every)?)?;
        }
        "polls" => {
            let (every, url) = url.split_once('/').unwrap_or((url, ""));
            for n in 0..number(name)? {
                fetch::poll(&n.to_string(), &get(url), number(every)?)?;
            }
        }
        "cancel" => fetch::cancel(name),
        "log" => return Ok(LOG.with_borrow(|log| log.join("\n"))),
        "headers" => return Ok(HEADERS.with_borrow(Clone::clone)),
        "slow" => return Ok("x".repeat(256)),
        "trap" => panic!("as it was told to"),
        _ => return Err(Error::NotFound),
    }
    Ok("done".into())
}

impl resources::Guest for Fetcher {
    fn list(_cursor: Option<String>) -> Result<ResourcePage, Error> {
        let info = |uri: &str| wharf::provider::types::ResourceInfo {
            uri: uri.into(),
            name: uri.into(),
            title: None,
            description: None,
            mime_type: None,
            size: None,
            icons: None,
            annotations: None,
            meta_json: None,
        };
        Ok(ResourcePage { resources: vec![info("fetch://log"), info("fetch://slow")], next_cursor: None, reuse: None })
    }

    fn templates() -> Result<Vec<TemplateInfo>, Error> {
        let template = TemplateInfo {
            uri_template: "fetch://{+what}".into(),
            name: "what".into(),
            title: None,
            description: None,
            mime_type: None,
            icons: None,
            annotations: None,
            meta_json: None,
        };
        Ok(vec![template])
    }

    fn read(request: ReadRequest) -> Result<Option<Reading>, Error> {
        let text = act(request.uri.strip_prefix("fetch://").ok_or(Error::NotFound)?)?;
        let contents = vec![Contents { uri: None, mime_type: None, body: Body::Text(text), meta_json: None }];
        Ok(Some(Reading { contents, version: None, reuse: None }))
    }
}

impl fetch_handler::Guest for Fetcher {
    fn fetched(outcomes: Vec<FetchOutcome>) {
        for FetchOutcome { name, answer } in outcomes {
            let line = match answer {
                Ok(answer) => {
                    let body = match answer.body.len() {
                        0..=SHOWN => String::from_utf8_lossy(&answer.body).into_owned(),
                        more => format!("{more} bytes"),
                    };
                    HEADERS.set(answer.headers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect());
                    format!("{name} {} {body}", answer.status)
                }
                Err(error) => format!("{name} {error:?}"),
            };
            LOG.with_borrow_mut(|log| log.push(line));
        }
        announce::updated(&["fetch://log".into()]);
    }
}
