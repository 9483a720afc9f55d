//! Imports `wharf:provider/fetch`, and answers every read with what starting a fetch gave.

wit_bindgen::generate!({ path: ["../../../wit", "wit"], world: "test:fetcher/fetcher", generate_all });

use exports::wharf::provider::resources::{Guest, ReadRequest, Reading};
use wharf::provider::{
    fetch::{self, FetchRequest},
    types::{Error, ResourcePage, TemplateInfo},
};

struct Fetcher;
export!(Fetcher);

impl Guest for Fetcher {
    fn list(_cursor: Option<String>) -> Result<ResourcePage, Error> {
        Ok(ResourcePage { resources: Vec::new(), next_cursor: None, reuse: None })
    }

    fn templates() -> Result<Vec<TemplateInfo>, Error> {
        Ok(Vec::new())
    }

    fn read(request: ReadRequest) -> Result<Option<Reading>, Error> {
        fetch::start("it", &FetchRequest { method: None, url: request.uri, headers: None, body: None, timeout_ms: None })?;
        Err(Error::Unavailable("started".into()))
    }
}
