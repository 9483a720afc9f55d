//! Keeps, publishes, reads its environment and receives webhooks, as its URIs say.
//!
//! - `grants://get/<key>`, `set/<key>/<value>`, `remove/<key>`, `replace/<key>/<expected>/<value>` (`-` for none), `keys/<prefix>`: the store.
//!   `fill/<key>/<bytes>` sets a value of so many.
//! - `grants://publish/<key>/<text>`, `unpublish/<key>`: shared state. The setting `publish` has keys and texts (`key=text,key=text`) that are
//!   published when it is first asked for its list.
//! - `grants://env`: the names of its variables; `env/<name>`: the value of one.
//! - `grants://say/<name>`, `halves/<name>`, `fail/<name>`, `panic/<name>`, `announce/<name>`, `fetch/<name>`, `list/<name>`, `key/<name>`: does with
//!   the value of that variable what it should not. What follows another slash comes before the value.
//! - `grants://slow/<ms>`: answers after so long, spent computing. `grants://hooks`: the webhooks it received, a line each.
//! - A webhook is answered as its path says: `/status/<n>`, `/trap`, `/slow/<ms>`, `/publish/<key>` (the body), else 200 and the body.

use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

mod bindings {
    wit_bindgen::generate!({
        path: "../../../wit",
        inline: "
            package wharf:grants;
            world grants {
                include wharf:provider/provider@0.1.0;
                import wharf:provider/store@0.1.0;
                import wharf:provider/shared-state@0.1.0;
                import wharf:provider/fetch@0.1.0;
                export wharf:provider/fetch-handler@0.1.0;
                export wharf:provider/webhook-handler@0.1.0;
            }
        ",
        generate_all,
    });
}

use bindings::{
    exports::wharf::provider::{
        fetch_handler,
        resources::{self, ReadRequest, Reading},
        webhook_handler::{self, WebhookRequest, WebhookResponse},
    },
    wharf::provider::{
        announce,
        fetch::{self, FetchRequest},
        settings,
        shared_state::{self, SharedValue},
        store,
        types::{Body, Contents, Error, ResourceInfo, ResourcePage, TemplateInfo},
    },
};

#[derive(Default)]
struct State {
    hooks: Vec<String>,
    listed: Vec<String>,
    asked: bool,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

struct Grants;
bindings::export!(Grants with_types_in bindings);

fn compute(ms: u32) {
    let end = Instant::now() + Duration::from_millis(ms.into());
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}

fn publish(key: &str, text: &str) -> Result<(), Error> {
    let body = Body::Text(text.into());
    shared_state::set(key, &SharedValue { title: None, description: None, mime_type: Some("text/plain".into()), annotations: None, body })
}

fn number(text: &str) -> Result<u32, Error> {
    text.parse().map_err(|_| Error::Invalid(format!("{text} is no number")))
}

fn variable(name: &str) -> Result<String, Error> {
    std::env::var(name).map_err(|_| Error::NotFound)
}

fn shown(value: Option<Vec<u8>>) -> String {
    value.map_or("-".into(), |value| String::from_utf8_lossy(&value).into_owned())
}

fn given(value: &str) -> Option<Vec<u8>> {
    (value != "-").then(|| value.as_bytes().to_vec())
}

impl resources::Guest for Grants {
    fn list(_cursor: Option<String>) -> Result<ResourcePage, Error> {
        if STATE.with_borrow_mut(|state| !std::mem::replace(&mut state.asked, true))
            && let Some(pairs) = settings::get("publish")
        {
            for (key, text) in pairs.split(',').filter_map(|pair| pair.split_once('=')) {
                publish(key, text)?;
            }
        }
        let uris = STATE.with_borrow(|state| state.listed.clone());
        let info = |uri: String| ResourceInfo {
            name: "x".into(),
            uri,
            title: None,
            description: None,
            mime_type: None,
            size: None,
            icons: None,
            annotations: None,
            meta_json: None,
        };
        let resources = ["grants://hooks".to_owned()].into_iter().chain(uris).map(info).collect();
        Ok(ResourcePage { resources, next_cursor: None, reuse: None })
    }

    fn templates() -> Result<Vec<TemplateInfo>, Error> {
        let info = TemplateInfo {
            uri_template: "grants://{+what}".into(),
            name: "x".into(),
            title: None,
            description: None,
            mime_type: Some("text/plain".into()),
            icons: None,
            annotations: None,
            meta_json: None,
        };
        Ok(vec![info])
    }

    fn read(request: ReadRequest) -> Result<Option<Reading>, Error> {
        let what = request.uri.strip_prefix("grants://").ok_or(Error::NotFound)?;
        let parts: Vec<&str> = what.split('/').collect();
        let done = |()| "done".to_owned();
        let text = match parts[..] {
            ["get", key] => shown(store::get(key)?),
            ["set", key, value] => store::set(key, value.as_bytes()).map(done)?,
            ["fill", key, bytes] => store::set(key, &vec![b'x'; number(bytes)? as usize]).map(done)?,
            ["remove", key] => store::remove(key).map(done)?,
            ["replace", key, expected, value] => store::replace(key, given(expected).as_deref(), given(value).as_deref())?.to_string(),
            ["keys", prefix] => store::keys(prefix)?.join(","),
            ["publish", key, text] => publish(key, text).map(done)?,
            ["unpublish", key] => {
                shared_state::remove(key);
                done(())
            }
            ["env"] => std::env::vars().map(|(name, _)| name).collect::<Vec<_>>().join(","),
            ["env", name] => variable(name)?,
            ["say", name] => {
                println!("it is {}", variable(name)?);
                eprintln!("it is {}!", variable(name)?);
                "said".into()
            }
            ["halves", name] => {
                let value = variable(name)?;
                let (left, right) = value.split_at(value.len() / 2);
                eprint!("half: {left}");
                eprintln!("{right}");
                "said".into()
            }
            ["fail", name] => return Err(Error::Failed(format!("it is {}", variable(name)?))),
            ["fail", name, before] => return Err(Error::Denied(format!("{before}{}", variable(name)?))),
            ["panic", name] => panic!("it is {}", variable(name)?),
            ["announce", name] => {
                announce::updated(&[format!("grants://{}", variable(name)?), format!("no uri {}", variable(name)?)]);
                "announced".into()
            }
            ["fetch", name] => {
                let url = format!("https://{}.example/", variable(name)?);
                let request = FetchRequest { method: None, url, headers: None, body: None, timeout_ms: None };
                fetch::start("x", &request).map(done)?
            }
            ["list", name] => {
                let uri = format!("grants://{}", variable(name)?);
                STATE.with_borrow_mut(|state| {
                    state.listed = vec![uri, "wharf://state/grants/forged".into(), "wharf://state/other/x".into()]
                });
                announce::list_changed();
                "listed".into()
            }
            ["key", name] => publish(&variable(name)?, "x").map(done)?,
            ["slow", ms] => {
                compute(number(ms)?);
                "slow".into()
            }
            ["hooks"] => STATE.with_borrow(|state| state.hooks.join("\n")),
            _ => return Err(Error::NotFound),
        };
        let contents = vec![Contents { uri: None, mime_type: None, body: Body::Text(text), meta_json: None }];
        Ok(Some(Reading { contents, version: None, reuse: None }))
    }
}

impl fetch_handler::Guest for Grants {
    fn fetched(_outcomes: Vec<fetch_handler::FetchOutcome>) {}
}

impl webhook_handler::Guest for Grants {
    fn receive(request: WebhookRequest) -> WebhookResponse {
        let WebhookRequest { name, method, path_and_query, headers, body } = request;
        let text = String::from_utf8_lossy(&body).into_owned();
        let own = headers.iter().filter(|(name, _)| name.starts_with("x-own")).map(|(name, value)| format!(" {name}={value}"));
        STATE.with_borrow_mut(|state| {
            state.hooks.push(format!("{name} {method} {path_and_query} {}{}", body.len(), own.collect::<String>()))
        });
        announce::updated(&["grants://hooks".into()]);
        let parts: Vec<&str> = path_and_query.split('/').collect();
        let mut status = 200;
        match parts[..] {
            ["", "status", given] => status = given.parse().unwrap_or(500),
            ["", "trap"] => panic!("as was wanted"),
            ["", "slow", ms] => compute(ms.parse().unwrap_or(0)),
            ["", "publish", key] => status = publish(key, &text).map_or(500, |()| 200),
            _ => {}
        }
        let headers = vec![("content-type".into(), "text/plain".into()), ("set-cookie".into(), "a=b".into())];
        WebhookResponse { status, headers: Some(headers), body: Some(body) }
    }
}
