//! `{{name}}`, a Wharf provider: what it offers, and how the host asks for it. What the resources hold is in `content.rs`.
//!
//! The contract, with a comment on every item, is `wit/deps/provider/provider.wit`.

mod content;

mod bindings {
    wit_bindgen::generate!({ path: "wit", generate_all });
}

use std::cell::RefCell;

use bindings::{
    exports::wharf::provider::{
        resources::{self, ReadRequest, Reading},
        subscriptions, timer_handler,
    },
    wharf::provider::{
        announce, timers,
        types::{Body, Contents, Error, ResourceInfo, ResourcePage, Reuse, TemplateInfo, TemplateMatch},
    },
};
use content::Seconds;

const SENTENCE: &str = "{{scheme}}://sentence";
const SECONDS: &str = "{{scheme}}://seconds";
const GREETING: &str = "{{scheme}}://greeting/{name}";
const MIME_TYPE: &str = "text/plain";
const EVERY_SECOND: u32 = 1000; // milliseconds

// Calls come one at a time, all to this one instance, which lives until the next reload: what one call leaves here is there in the next.
thread_local! {
    static COUNTED: RefCell<Seconds> = RefCell::default();
}

struct Provider;

impl resources::Guest for Provider {
    /// What is there, one by one.
    fn list(_cursor: Option<String>) -> Result<ResourcePage, Error> {
        let resources = vec![info(SENTENCE, "sentence", "A sentence"), info(SECONDS, "seconds", "How long somebody has been subscribed")];
        Ok(ResourcePage { resources, next_cursor: None, reuse: Some(Reuse::UntilAnnounced) })
    }

    /// What is there in families: every URI that matches.
    fn templates() -> Result<Vec<TemplateInfo>, Error> {
        Ok(vec![TemplateInfo {
            uri_template: GREETING.into(),
            name: "greeting".into(),
            title: Some("A greeting for anybody".into()),
            description: None,
            mime_type: Some(MIME_TYPE.into()),
            icons: None,
            annotations: None,
            meta_json: None,
        }])
    }

    fn read(request: ReadRequest) -> Result<Option<Reading>, Error> {
        let text = match (&*request.uri, &request.matched) {
            (SENTENCE, _) => content::SENTENCE.into(),
            (SECONDS, _) => COUNTED.with_borrow(Seconds::text),
            (_, Some(matched)) => content::greeting(variable(matched, "name")?),
            _ => return Err(Error::NotFound),
        };
        let contents = Contents { uri: None, mime_type: Some(MIME_TYPE.into()), body: Body::Text(text), meta_json: None };
        Ok(Some(Reading { contents: vec![contents], version: None, reuse: None }))
    }
}

impl subscriptions::Guest for Provider {
    /// Called for the first that subscribes to a URI, not for each.
    fn subscribe(uri: String, matched: Option<TemplateMatch>) -> Result<(), Error> {
        match &*uri {
            // No call may wait, so time comes from the host: it calls `fired` below.
            SECONDS => timers::start(SECONDS, EVERY_SECOND, Some(EVERY_SECOND)),
            // These change only when this file does: the host tells of that by itself.
            SENTENCE => Ok(()),
            _ if matched.is_some() => Ok(()),
            _ => Err(Error::NotFound),
        }
    }

    /// Called when nobody is left.
    fn unsubscribe(uri: String) {
        if uri == SECONDS {
            timers::cancel(SECONDS);
        }
    }
}

impl timer_handler::Guest for Provider {
    /// First change what `read` answers, then say so.
    fn fired(_names: Vec<String>) {
        COUNTED.with_borrow_mut(Seconds::tick);
        announce::updated(&[SECONDS.into()]);
    }
}

/// The value of a template's variable, which the host has decoded.
fn variable<'a>(matched: &'a TemplateMatch, name: &str) -> Result<&'a str, Error> {
    matched.variables.iter().find(|(known, _)| known == name).map(|(_, value)| &**value).ok_or(Error::NotFound)
}

fn info(uri: &str, name: &str, title: &str) -> ResourceInfo {
    ResourceInfo {
        uri: uri.into(),
        name: name.into(),
        title: Some(title.into()),
        description: None,
        mime_type: Some(MIME_TYPE.into()),
        size: None,
        icons: None,
        annotations: None,
        meta_json: None,
    }
}

bindings::export!(Provider with_types_in bindings);
