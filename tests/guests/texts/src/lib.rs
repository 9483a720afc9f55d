//! What `cargo xtask bench` asks for. `texts://NUMBER` is a text of so many bytes, for each number of [`SIZES`]; it says of no answer that it
//! may be kept. The list has as many entries as the setting `entries` says.

wit_bindgen::generate!({ path: "../../../wit", world: "provider" });

use exports::wharf::provider::resources::{Guest, ReadRequest, Reading};
use wharf::provider::{
    settings,
    types::{Body, Contents, Error, ResourceInfo, ResourcePage, Reuse, TemplateInfo},
};

const SIZES: [usize; 4] = [256, 4 << 10, 64 << 10, 1 << 20];
/// As in source files and Markdown: lines of some sixty characters, now and then one that JSON has to escape.
const LINE: &str = "The quick brown fox says \"jump\", and the lazy dog does it.\n";

struct Texts;
export!(Texts);

impl Guest for Texts {
    fn list(_cursor: Option<String>) -> Result<ResourcePage, Error> {
        let entries: usize = settings::get("entries").and_then(|entries| entries.parse().ok()).unwrap_or(SIZES.len());
        let others = (SIZES.len()..entries).map(|number| info(format!("texts://entry/{number:06}"), format!("entry-{number:06}")));
        let resources = SIZES.iter().map(|size| info(format!("texts://{size}"), format!("text-{size}"))).chain(others).collect();
        Ok(ResourcePage { resources, next_cursor: None, reuse: Some(Reuse::UntilAnnounced) })
    }

    fn templates() -> Result<Vec<TemplateInfo>, Error> {
        Ok(Vec::new())
    }

    fn read(request: ReadRequest) -> Result<Option<Reading>, Error> {
        let size = request.uri.strip_prefix("texts://").and_then(|size| size.parse().ok()).filter(|size| SIZES.contains(size));
        let size: usize = size.ok_or(Error::NotFound)?;
        let mut text = LINE.repeat(size / LINE.len() + 1);
        text.truncate(size);
        let contents = Contents { uri: None, mime_type: None, body: Body::Text(text), meta_json: None };
        Ok(Some(Reading { contents: vec![contents], version: None, reuse: None }))
    }
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
