//! What `cargo xtask bench` asks for. For each number of [`SIZES`], three resources with a text of so many bytes:
//!
//! - `texts://new/NUMBER`: made anew at each read, and nothing is said of it.
//! - `texts://same/NUMBER`: has a version, so that all reads after the first hear that nothing changed.
//! - `texts://kept/NUMBER`: may be reused for an hour.
//!
//! And a template, `texts://work/{micros}/{number}`: computes for so many microseconds; `texts://work/trap/{number}` traps.
//!
//! The list has as many entries as the setting `entries` says.

use std::time::{Duration, Instant};

wit_bindgen::generate!({ path: "../../../wit", world: "provider" });

use exports::wharf::provider::resources::{Guest, ReadRequest, Reading};
use wharf::provider::{
    settings,
    types::{Body, Contents, Error, ResourceInfo, ResourcePage, Reuse, TemplateInfo},
};

const SIZES: [usize; 4] = [256, 4 << 10, 64 << 10, 1 << 20];
/// As in source files and Markdown: lines of some sixty characters, now and then one that JSON has to escape.
const LINE: &str = "The quick brown fox says \"jump\", and the lazy dog does it.\n";

const KINDS: [&str; 3] = ["new", "same", "kept"];
const VERSION: &str = "1";
const HOUR_MS: u32 = 3_600_000;

struct Texts;
export!(Texts);

impl Guest for Texts {
    fn list(_cursor: Option<String>) -> Result<ResourcePage, Error> {
        let texts = KINDS.iter().flat_map(|kind| SIZES.map(|size| info(format!("texts://{kind}/{size}"), format!("{kind}-{size}"))));
        let texts: Vec<_> = texts.collect();
        let entries: usize = settings::get("entries").and_then(|entries| entries.parse().ok()).unwrap_or(texts.len());
        let others = (texts.len()..entries).map(|number| info(format!("texts://entry/{number:06}"), format!("entry-{number:06}")));
        let resources = texts.into_iter().chain(others).collect();
        Ok(ResourcePage { resources, next_cursor: None, reuse: Some(Reuse::UntilAnnounced) })
    }

    fn templates() -> Result<Vec<TemplateInfo>, Error> {
        Ok(vec![TemplateInfo {
            uri_template: "texts://work/{micros}/{number}".into(),
            name: "work".into(),
            title: None,
            description: None,
            mime_type: Some("text/plain".into()),
            icons: None,
            annotations: None,
            meta_json: None,
        }])
    }

    fn read(request: ReadRequest) -> Result<Option<Reading>, Error> {
        let (kind, size) = request.uri.strip_prefix("texts://").and_then(|rest| rest.split_once('/')).ok_or(Error::NotFound)?;
        if kind == "work" {
            return Ok(Some(work(size)?));
        }
        let size = size.parse().ok().filter(|size| SIZES.contains(size)).ok_or(Error::NotFound)?;
        let (version, reuse) = match kind {
            "new" => (None, None),
            "same" if request.if_none_match.as_deref() == Some(VERSION) => return Ok(None),
            "same" => (Some(VERSION.to_owned()), None),
            "kept" => (None, Some(Reuse::ForMs(HOUR_MS))),
            _ => return Err(Error::NotFound),
        };
        let mut text = LINE.repeat(size / LINE.len() + 1);
        text.truncate(size);
        let contents = Contents { uri: None, mime_type: None, body: Body::Text(text), meta_json: None };
        Ok(Some(Reading { contents: vec![contents], version, reuse }))
    }
}

/// Computes for so long as the first part says, or traps.
fn work(what: &str) -> Result<Reading, Error> {
    let (micros, _) = what.split_once('/').ok_or(Error::NotFound)?;
    assert!(micros != "trap", "as it was asked to");
    let end = Instant::now() + Duration::from_micros(micros.parse().map_err(|_| Error::NotFound)?);
    while Instant::now() < end {
        std::hint::spin_loop();
    }
    let contents = Contents { uri: None, mime_type: None, body: Body::Text(micros.into()), meta_json: None };
    Ok(Reading { contents: vec![contents], version: None, reuse: None })
}

fn info(uri: String, name: String) -> ResourceInfo {
    ResourceInfo {
        uri,
        name,
        title: None,
        description: Some("One of many entries, with a description as long as most have.".into()),
        mime_type: Some("text/plain".into()),
        size: None,
        icons: None,
        annotations: None,
        meta_json: None,
    }
}
