//! Says in everything which version of it answers. A test makes another version by writing another text over [`VERSION`] in the built file.
//!
//! - `version://now`, whose title is the version: three contents that say it.
//! - `version://only/<version>`, listed: so each version lists another.
//! - `version://same/{name}`: says the same in each version.
//! - `version://slow`, listed: says the version after 20 ms, spent computing.
//!
//! A version whose name begins with `trap` traps when it is asked for its list. Everything can be watched, and nothing is ever announced.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

wit_bindgen::generate!({ path: ["../../../wit", "wit"], world: "test:versioned/versioned", generate_all });

use exports::wharf::provider::{
    resources::{self, ReadRequest, Reading},
    subscriptions,
};
use wharf::provider::types::{Body, Contents, Error, ResourceInfo, ResourcePage, TemplateInfo, TemplateMatch};

static VERSION: [u8; 16] = *b"@@version-0000@@";

fn version() -> String {
    // So that the compiler does not know what it is.
    String::from_utf8_lossy(black_box(&VERSION)).trim_matches('@').to_owned()
}

struct Versioned;
export!(Versioned);

impl resources::Guest for Versioned {
    fn list(_cursor: Option<String>) -> Result<ResourcePage, Error> {
        let version = version();
        assert!(!version.starts_with("trap"), "as the test wants it");
        let info = |uri: String, title: &str| ResourceInfo {
            name: uri.clone(),
            uri,
            title: Some(title.into()),
            description: None,
            mime_type: Some("text/plain".into()),
            size: None,
            icons: None,
            annotations: None,
            meta_json: None,
        };
        let only = info(format!("version://only/{version}"), "only");
        let resources = vec![info("version://now".into(), &version), only, info("version://slow".into(), "slow")];
        Ok(ResourcePage { resources, next_cursor: None, reuse: None })
    }

    fn templates() -> Result<Vec<TemplateInfo>, Error> {
        Ok(vec![TemplateInfo {
            uri_template: "version://same/{name}".into(),
            name: "same".into(),
            title: None,
            description: None,
            mime_type: None,
            icons: None,
            annotations: None,
            meta_json: None,
        }])
    }

    fn read(request: ReadRequest) -> Result<Option<Reading>, Error> {
        let texts = match request.uri.strip_prefix("version://").ok_or(Error::NotFound)? {
            "now" => vec![version(); 3],
            "slow" => {
                let end = Instant::now() + Duration::from_millis(20);
                while Instant::now() < end {
                    std::hint::spin_loop();
                }
                vec![version()]
            }
            what if what.starts_with("same/") => vec!["the same".into()],
            what if what.strip_prefix("only/") == Some(&version()) => vec![version()],
            _ => return Err(Error::NotFound),
        };
        let contents = texts.into_iter().map(|text| Contents { uri: None, mime_type: None, body: Body::Text(text), meta_json: None });
        Ok(Some(Reading { contents: contents.collect(), version: None, reuse: None }))
    }
}

impl subscriptions::Guest for Versioned {
    fn subscribe(uri: String, _matched: Option<TemplateMatch>) -> Result<(), Error> {
        match uri.strip_prefix("version://only/") {
            Some(other) if other != version() => Err(Error::NotFound),
            _ => Ok(()),
        }
    }

    fn unsubscribe(_uri: String) {}
}
