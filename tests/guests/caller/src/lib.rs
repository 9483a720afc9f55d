//! Sends an HTTP request through wasi:http to the URL that is read (`caller://http://example.org/x`), and answers with the status and the
//! body, a long one as its length, or with how it ended. `caller://fetch/<url>` asks for it through `fetch`,
//! and `caller://watch/<path>` for changes through `file-watch`: it has a handler for neither.

use wasi::{
    http::{
        outgoing_handler,
        types::{ErrorCode, Fields, IncomingResponse, OutgoingRequest, Scheme},
    },
    io::streams::StreamError,
};

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "
        package test:caller;
        world caller {
            include wharf:provider/provider@0.1.0;
            import wharf:provider/fetch@0.1.0;
            import wharf:provider/file-watch@0.1.0;
        }
    ",
    generate_all,
});

use exports::wharf::provider::resources::{Guest, ReadRequest, Reading};
use wharf::provider::{
    fetch::{self, FetchRequest},
    file_watch,
    types::{Body, Contents, Error, ResourcePage, TemplateInfo},
};

/// Longer bodies are answered as their length.
const SHOWN: usize = 100;

struct Caller;
export!(Caller);

fn call(url: &str) -> Result<String, ErrorCode> {
    let (scheme, rest) = url.split_once("://").ok_or(ErrorCode::HttpRequestUriInvalid)?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let request = OutgoingRequest::new(Fields::new());
    let scheme = if scheme == "https" { Scheme::Https } else { Scheme::Http };
    let set = request
        .set_scheme(Some(&scheme))
        .and(request.set_authority(Some(host)))
        .and(request.set_path_with_query(Some(&format!("/{path}"))));
    set.map_err(|()| ErrorCode::HttpRequestUriInvalid)?;
    let coming = outgoing_handler::handle(request, None)?;
    coming.subscribe().block();
    let response = coming.get().and_then(Result::ok).ok_or(ErrorCode::InternalError(None))??;
    let body = body(&response)?;
    let shown = if body.len() > SHOWN { format!("{} bytes", body.len()) } else { String::from_utf8_lossy(&body).into_owned() };
    Ok(format!("{} {shown}", response.status()))
}

fn body(response: &IncomingResponse) -> Result<Vec<u8>, ErrorCode> {
    let body = response.consume().map_err(|()| ErrorCode::InternalError(None))?;
    let stream = body.stream().map_err(|()| ErrorCode::InternalError(None))?;
    let mut all = Vec::new();
    loop {
        match stream.blocking_read(1 << 16) {
            Ok(bytes) => all.extend(bytes),
            Err(StreamError::Closed) => return Ok(all),
            Err(StreamError::LastOperationFailed(error)) => {
                return Err(wasi::http::types::http_error_code(&error).unwrap_or(ErrorCode::InternalError(Some(error.to_debug_string()))));
            }
        }
    }
}

impl Guest for Caller {
    fn list(_cursor: Option<String>) -> Result<ResourcePage, Error> {
        Ok(ResourcePage { resources: Vec::new(), next_cursor: None, reuse: None })
    }

    fn templates() -> Result<Vec<TemplateInfo>, Error> {
        Ok(vec![TemplateInfo {
            uri_template: "caller://{+what}".into(),
            name: "what".into(),
            title: None,
            description: None,
            mime_type: None,
            icons: None,
            annotations: None,
            meta_json: None,
        }])
    }

    fn read(request: ReadRequest) -> Result<Option<Reading>, Error> {
        let url = request.uri.strip_prefix("caller://").ok_or(Error::NotFound)?;
        if let Some(url) = url.strip_prefix("fetch/") {
            fetch::start("it", &FetchRequest { method: None, url: url.into(), headers: None, body: None, timeout_ms: None })?;
        }
        if let Some(path) = url.strip_prefix("watch") {
            file_watch::watch("it", path, true)?;
        }
        let text = call(url).map_err(|code| Error::Failed(format!("{code:?}")))?;
        let contents = vec![Contents { uri: None, mime_type: None, body: Body::Text(text), meta_json: None }];
        Ok(Some(Reading { contents, version: None, reuse: None }))
    }
}
