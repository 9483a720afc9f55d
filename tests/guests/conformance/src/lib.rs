//! The resources that MCP's conformance suite lists, reads and subscribes to, with the contents it looks for.
//!
//! - `test://static-text`: one sentence; `test://static-binary`: a PNG of one pixel
//! - template `test://template/{id}/data`: a sentence that names the id; `id` is completed with those of [`IDS`]
//! - `test://watched-resource`: while it is subscribed, it changes every 100 ms

use std::cell::Cell;

wit_bindgen::generate!({ path: ["../../../wit", "wit"], world: "test:conformance/conformance", generate_all });

use exports::wharf::provider::{
    completions::{self, Completion, CompletionRequest},
    resources::{self, ReadRequest, Reading},
    subscriptions, timer_handler,
};
use wharf::provider::{
    announce, timers,
    types::{Body, Contents, Error, ResourceInfo, ResourcePage, TemplateInfo, TemplateMatch},
};

const TEXT: &str = "test://static-text";
const BINARY: &str = "test://static-binary";
const WATCHED: &str = "test://watched-resource";
const TEMPLATE: &str = "test://template/{id}/data";
/// Two begin alike, so that completing has something to choose from.
const IDS: [&str; 3] = ["123", "124", "200"];
const CHANGES_EVERY_MS: u32 = 100;
/// One transparent pixel.
const PNG: &[u8] = include_bytes!("pixel.png");

thread_local! {
    static CHANGES: Cell<u64> = const { Cell::new(0) };
}

struct Conformance;
export!(Conformance);

fn info(uri: &str, name: &str, description: &str, mime_type: &str) -> ResourceInfo {
    ResourceInfo {
        uri: uri.into(),
        name: name.into(),
        title: None,
        description: Some(description.into()),
        mime_type: Some(mime_type.into()),
        size: None,
        icons: None,
        annotations: None,
        meta_json: None,
    }
}

impl resources::Guest for Conformance {
    fn list(_cursor: Option<String>) -> Result<ResourcePage, Error> {
        let resources = vec![
            info(TEXT, "static-text", "A text that never changes", "text/plain"),
            info(BINARY, "static-binary", "An image that never changes", "image/png"),
            info(WATCHED, "watched-resource", "A text that changes while it is subscribed", "text/plain"),
        ];
        Ok(ResourcePage { resources, next_cursor: None, reuse: None })
    }

    fn templates() -> Result<Vec<TemplateInfo>, Error> {
        Ok(vec![TemplateInfo {
            uri_template: TEMPLATE.into(),
            name: "template".into(),
            title: None,
            description: Some("The data of an id".into()),
            mime_type: Some("text/plain".into()),
            icons: None,
            annotations: None,
            meta_json: None,
        }])
    }

    fn read(request: ReadRequest) -> Result<Option<Reading>, Error> {
        let body = match (request.uri.as_str(), request.matched) {
            (TEXT, _) => Body::Text("This is the content of the static text resource.".into()),
            (BINARY, _) => Body::Blob(PNG.into()),
            (WATCHED, _) => Body::Text(format!("Changed {} times.", CHANGES.get())),
            (_, Some(matched)) => Body::Text(format!("Data for ID: {}", matched.variables[0].1)),
            _ => return Err(Error::NotFound),
        };
        let contents = vec![Contents { uri: None, mime_type: None, body, meta_json: None }];
        Ok(Some(Reading { contents, version: None, reuse: None }))
    }
}

impl completions::Guest for Conformance {
    fn complete(request: CompletionRequest) -> Result<Completion, Error> {
        let values = IDS.iter().filter(|id| id.starts_with(&request.value)).map(|id| (*id).into()).collect();
        Ok(Completion { values, total: None, has_more: None })
    }
}

impl subscriptions::Guest for Conformance {
    fn subscribe(uri: String, _matched: Option<TemplateMatch>) -> Result<(), Error> {
        if uri == WATCHED {
            timers::start(WATCHED, CHANGES_EVERY_MS, Some(CHANGES_EVERY_MS))?;
        }
        Ok(())
    }

    fn unsubscribe(uri: String) {
        timers::cancel(&uri);
    }
}

impl timer_handler::Guest for Conformance {
    fn fired(names: Vec<String>) {
        CHANGES.set(CHANGES.get() + 1);
        announce::updated(&names);
    }
}
