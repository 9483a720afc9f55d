//! Announces as much as it is asked to, for measuring what that costs.
//!
//! - `fanout://item/<number>`: "version N". N is how many announcements there were. Each can be subscribed to.
//! - `fanout://do/announce/<number>`: announces that item from inside the read.
//! - `fanout://do/storm/<count>/<items>`: so many announcements, each a call of its own, of the items 0 to `items` in turn.
//! - `fanout://reads`: how often an item was read.

use std::cell::Cell;

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "
        package wharf:fanout;
        world fanout {
            include wharf:provider/provider@0.1.0;
            export wharf:provider/subscriptions@0.1.0;
        }
    ",
    world: "wharf:fanout/fanout",
    generate_all,
});

use exports::wharf::provider::{
    resources::{self, ReadRequest, Reading},
    subscriptions,
};
use wharf::provider::{
    announce,
    types::{Body, Contents, Error, ResourceInfo, ResourcePage, TemplateInfo, TemplateMatch},
};

thread_local! {
    static VERSION: Cell<u64> = const { Cell::new(0) };
    static READS: Cell<u64> = const { Cell::new(0) };
}

fn announce(item: usize) {
    VERSION.set(VERSION.get() + 1);
    announce::updated(&[format!("fanout://item/{item}")]);
}

fn number(text: &str) -> Result<usize, Error> {
    text.parse().map_err(|_| Error::NotFound)
}

struct Fanout;
export!(Fanout);

impl resources::Guest for Fanout {
    fn list(_cursor: Option<String>) -> Result<ResourcePage, Error> {
        let info = |uri: &str| ResourceInfo {
            uri: uri.into(),
            name: uri.into(),
            title: None,
            description: None,
            mime_type: None,
            size: None,
            icons: None,
            annotations: None,
            meta_json: None,
        };
        Ok(ResourcePage { resources: vec![info("fanout://reads")], next_cursor: None, reuse: None })
    }

    fn templates() -> Result<Vec<TemplateInfo>, Error> {
        let template = |uri_template: &str, name: &str| TemplateInfo {
            uri_template: uri_template.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            icons: None,
            annotations: None,
            meta_json: None,
        };
        Ok(vec![template("fanout://item/{number}", "item"), template("fanout://do/{+what}", "do")])
    }

    fn read(request: ReadRequest) -> Result<Option<Reading>, Error> {
        let path: Vec<&str> = request.uri.strip_prefix("fanout://").ok_or(Error::NotFound)?.split('/').collect();
        let text = match path[..] {
            ["item", item] => {
                number(item)?;
                READS.set(READS.get() + 1);
                format!("version {}", VERSION.get())
            }
            ["reads"] => READS.get().to_string(),
            ["do", "announce", item] => {
                announce(number(item)?);
                String::new()
            }
            ["do", "storm", count, items] => {
                let (count, items) = (number(count)?, number(items)?.max(1));
                (0..count).for_each(|at| announce(at % items));
                String::new()
            }
            _ => return Err(Error::NotFound),
        };
        let contents = Contents { uri: None, mime_type: Some("text/plain".into()), body: Body::Text(text), meta_json: None };
        Ok(Some(Reading { contents: vec![contents], version: None, reuse: None }))
    }
}

impl subscriptions::Guest for Fanout {
    fn subscribe(_uri: String, _matched: Option<TemplateMatch>) -> Result<(), Error> {
        Ok(())
    }

    fn unsubscribe(_uri: String) {}
}
