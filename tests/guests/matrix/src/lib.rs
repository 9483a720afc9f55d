//! What a client is taken through in the client matrix. All of it is driven in band, so that it works by any client and any transport:
//! reading `matrix://do/<what>` does <what>.
//!
//! - Lists `matrix://fixture/text`, `…/blob`, `…/watched`, `…/bystander` and `matrix://page/0001` … `matrix://page/2500`, then what was
//!   added. With the setting `load-seconds` the first list takes that long.
//! - `matrix://item/{name}`: "item NAME"; `name` is completed from alpha, alpine, beta and gamma.
//! - `matrix://fixture/watched`: "version N"; N is 1 in a fresh instance.
//! - `matrix://do/update`: N grows by one and is announced. `…/flood`: ten thousand times the same, in one call. `…/add` and
//!   `…/remove`: the list gains `matrix://added/K`, loses the last of them. `…/die`: traps. `…/hang`: says "this read hangs" on stderr, and answers never.

use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "
        package wharf:matrix;
        world matrix {
            include wharf:provider/provider@0.1.0;
            export wharf:provider/subscriptions@0.1.0;
            export wharf:provider/completions@0.1.0;
        }
    ",
    world: "wharf:matrix/matrix",
    generate_all,
});

use exports::wharf::provider::{
    completions::{self, Completion, CompletionRequest},
    resources::{self, ReadRequest, Reading},
    subscriptions,
};
use wharf::provider::{
    announce, settings,
    types::{Body, Contents, Error, ResourceInfo, ResourcePage, Reuse, TemplateInfo, TemplateMatch},
};

const WATCHED: &str = "matrix://fixture/watched";
const BYSTANDER: &str = "matrix://fixture/bystander";
const ITEM: &str = "matrix://item/{name}";
const ITEMS: [&str; 4] = ["alpha", "alpine", "beta", "gamma"];
const TEXT: &str = "The text of the matrix: äöü 漢字.";
const BLOB_SIZE: usize = 256;
const PAGES: usize = 2500;
/// Entries in one answer of `list`.
const PAGE_SIZE: usize = 1000;
const FLOOD: u64 = 10_000;
/// Long beside the deadline of any call.
const FOREVER: Duration = Duration::from_secs(24 * 3600);

struct State {
    version: u64,
    added: usize,
    loaded: bool,
}

thread_local! {
    static STATE: RefCell<State> = const { RefCell::new(State { version: 1, added: 0, loaded: false }) };
}

fn compute(time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}

fn entries() -> Vec<ResourceInfo> {
    let info = |uri: String, mime_type: &str, size: Option<f64>| ResourceInfo {
        name: uri["matrix://".len()..].into(),
        uri,
        title: None,
        description: None,
        mime_type: Some(mime_type.into()),
        size,
        icons: None,
        annotations: None,
        meta_json: None,
    };
    let mut entries = vec![
        info("matrix://fixture/text".into(), "text/plain", None),
        info("matrix://fixture/blob".into(), "application/octet-stream", Some(BLOB_SIZE as f64)),
        info(WATCHED.into(), "text/plain", None),
        info(BYSTANDER.into(), "text/plain", None),
    ];
    entries.extend((1..=PAGES).map(|page| info(format!("matrix://page/{page:04}"), "text/plain", None)));
    let added = STATE.with_borrow(|state| state.added);
    entries.extend((1..=added).map(|added| info(format!("matrix://added/{added}"), "text/plain", None)));
    entries
}

fn version() -> String {
    STATE.with_borrow(|state| format!("version {}", state.version))
}

fn update(times: u64) -> String {
    for _ in 0..times {
        STATE.with_borrow_mut(|state| state.version += 1);
        announce::updated(&[WATCHED.into()]);
    }
    version()
}

/// Whether a number names one of `count`, which are counted from 1.
fn has(number: &str, count: usize) -> bool {
    number.parse().is_ok_and(|number: usize| (1..=count).contains(&number))
}

fn act(what: &str) -> Result<String, Error> {
    Ok(match what {
        "update" => update(1),
        "flood" => update(FLOOD),
        "add" => {
            let added = STATE.with_borrow_mut(|state| {
                state.added += 1;
                state.added
            });
            announce::list_changed();
            format!("matrix://added/{added}")
        }
        "remove" => {
            let last = STATE.with_borrow_mut(|state| {
                let last = state.added;
                state.added = last.saturating_sub(1);
                last
            });
            if last == 0 {
                return Err(Error::Invalid("nothing was added".into()));
            }
            announce::list_changed();
            format!("matrix://added/{last}")
        }
        "die" => std::process::abort(),
        "hang" => {
            eprintln!("this read hangs");
            std::thread::sleep(FOREVER);
            return Err(Error::Failed("forever is over".into()));
        }
        _ => return Err(Error::NotFound),
    })
}

struct Matrix;
export!(Matrix);

impl resources::Guest for Matrix {
    fn list(cursor: Option<String>) -> Result<ResourcePage, Error> {
        let first = STATE.with_borrow_mut(|state| !std::mem::replace(&mut state.loaded, true));
        if let (true, Some(seconds)) = (first, settings::get("load-seconds").and_then(|seconds| seconds.parse().ok())) {
            compute(Duration::from_secs(seconds));
        }
        let from: usize = match cursor {
            Some(cursor) => cursor.parse().map_err(|_| Error::Invalid("no such cursor".into()))?,
            None => 0,
        };
        let entries = entries();
        let end = from + PAGE_SIZE;
        let next_cursor = (end < entries.len()).then(|| end.to_string());
        let resources = entries.into_iter().skip(from).take(PAGE_SIZE).collect();
        Ok(ResourcePage { resources, next_cursor, reuse: Some(Reuse::UntilAnnounced) })
    }

    fn templates() -> Result<Vec<TemplateInfo>, Error> {
        let template = |uri_template: &str, name: &str| TemplateInfo {
            uri_template: uri_template.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: Some("text/plain".into()),
            icons: None,
            annotations: None,
            meta_json: None,
        };
        Ok(vec![template(ITEM, "item"), template("matrix://do/{what}", "do")])
    }

    fn read(request: ReadRequest) -> Result<Option<Reading>, Error> {
        let path = request.uri.strip_prefix("matrix://").ok_or(Error::NotFound)?;
        let (kind, rest) = path.split_once('/').ok_or(Error::NotFound)?;
        let variable = request.matched.and_then(|matched| matched.variables.into_iter().next()).map(|(_, value)| value);
        let body = match (kind, rest) {
            ("fixture", "text") => Body::Text(TEXT.into()),
            ("fixture", "blob") => Body::Blob((0..=u8::MAX).collect()),
            ("fixture", "watched") => Body::Text(version()),
            ("fixture", "bystander") => Body::Text("bystander".into()),
            ("page", number) if number.len() == 4 && has(number, PAGES) => Body::Text(format!("page {number}")),
            ("added", number) if has(number, STATE.with_borrow(|state| state.added)) => Body::Text(format!("added {number}")),
            ("item", _) => Body::Text(format!("item {}", variable.ok_or(Error::NotFound)?)),
            ("do", what) => Body::Text(act(what)?),
            _ => return Err(Error::NotFound),
        };
        let contents = vec![Contents { uri: None, mime_type: None, body, meta_json: None }];
        Ok(Some(Reading { contents, version: None, reuse: None }))
    }
}

impl subscriptions::Guest for Matrix {
    fn subscribe(uri: String, _matched: Option<TemplateMatch>) -> Result<(), Error> {
        match uri.as_str() {
            WATCHED | BYSTANDER => Ok(()),
            _ if uri.starts_with("matrix://fixture/") || uri.starts_with("matrix://do/") => Err(Error::NotFound),
            _ => Err(Error::Failed("only what the fixture lists as watched is watched".into())),
        }
    }

    fn unsubscribe(_uri: String) {}
}

impl completions::Guest for Matrix {
    fn complete(request: CompletionRequest) -> Result<Completion, Error> {
        if request.uri_template != ITEM || request.argument != "name" {
            return Err(Error::NotFound);
        }
        let values = ITEMS.iter().filter(|item| item.starts_with(&request.value)).map(|item| (*item).to_owned()).collect();
        Ok(Completion { values, total: None, has_more: None })
    }
}
