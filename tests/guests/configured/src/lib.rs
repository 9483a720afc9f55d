//! Answers `configured://all` with all that wasi:config has, and `configured://NAME` with one value of it.

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "
        package wharf:configured;
        world configured {
            include wharf:provider/provider@0.1.0;
            import wasi:config/store@0.2.0-rc.1;
        }
        package wasi:config@0.2.0-rc.1 {
            interface store {
                variant error { upstream(string), io(string) }
                get: func(key: string) -> result<option<string>, error>;
                get-all: func() -> result<list<tuple<string, string>>, error>;
            }
        }
    ",
    world: "wharf:configured/configured",
    generate_all,
});

use exports::wharf::provider::resources::{Guest, ReadRequest, Reading};
use wasi::config::store;
use wharf::provider::types::{Body, Contents, Error, ResourceInfo, ResourcePage, TemplateInfo};

struct Configured;
export!(Configured);

impl Guest for Configured {
    fn list(_cursor: Option<String>) -> Result<ResourcePage, Error> {
        let all = ResourceInfo {
            uri: "configured://all".into(),
            name: "all".into(),
            title: None,
            description: None,
            mime_type: None,
            size: None,
            icons: None,
            annotations: None,
            meta_json: None,
        };
        Ok(ResourcePage { resources: vec![all], next_cursor: None, reuse: None })
    }

    fn templates() -> Result<Vec<TemplateInfo>, Error> {
        Ok(Vec::new())
    }

    fn read(request: ReadRequest) -> Result<Option<Reading>, Error> {
        let failed = |error: store::Error| Error::Failed(format!("{error:?}"));
        let text = match request.uri.strip_prefix("configured://") {
            Some("all") => {
                let mut all = store::get_all().map_err(failed)?;
                all.sort();
                all.iter().map(|(name, value)| format!("{name}={value}\n")).collect()
            }
            Some(name) => store::get(name).map_err(failed)?.ok_or(Error::NotFound)?,
            None => return Err(Error::NotFound),
        };
        let contents = Contents { uri: None, mime_type: None, body: Body::Text(text), meta_json: None };
        Ok(Some(Reading { contents: vec![contents], version: None, reuse: None }))
    }
}
