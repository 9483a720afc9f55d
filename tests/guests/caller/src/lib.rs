//! Sends an HTTP request through wasi:http to the host that the URI names (`caller://example.org`), and answers with how that ended.

use wasi::http::{
    outgoing_handler,
    types::{Fields, OutgoingRequest, Scheme},
};

wit_bindgen::generate!({ path: "../../../wit", world: "wharf:provider/provider" });

use exports::wharf::provider::resources::{Guest, ReadRequest, Reading};
use wharf::provider::types::{Error, ResourcePage, TemplateInfo};

struct Caller;
export!(Caller);

fn call(host: &str) -> String {
    let request = OutgoingRequest::new(Fields::new());
    let set = request.set_scheme(Some(&Scheme::Http)).and(request.set_authority(Some(host))).and(request.set_path_with_query(Some("/")));
    if set.is_err() {
        return "no such host".into();
    }
    match outgoing_handler::handle(request, None) {
        Err(code) => format!("{code:?}"),
        Ok(response) => {
            response.subscribe().block();
            format!("{:?}", response.get().map(|ended| ended.map(|answer| answer.map(|answer| answer.status()))))
        }
    }
}

impl Guest for Caller {
    fn list(_cursor: Option<String>) -> Result<ResourcePage, Error> {
        Ok(ResourcePage { resources: Vec::new(), next_cursor: None, reuse: None })
    }

    fn templates() -> Result<Vec<TemplateInfo>, Error> {
        Ok(Vec::new())
    }

    fn read(request: ReadRequest) -> Result<Option<Reading>, Error> {
        let host = request.uri.strip_prefix("caller://").ok_or(Error::NotFound)?;
        Err(Error::Failed(call(host)))
    }
}
