//! Reads, writes and watches files, as it is told by what is read. Paths are absolute, and follow the rest of the URI.
//!
//! - `filer://read<path>`, `filer://write<path>` (writes `written`), `filer://list<path>` (names, sorted), `filer://open<path>` (opens it and
//!   reads nothing): what came of it, or the error in the system's words as `failed`.
//! - `filer://many/<n><path>`: reads the file so many times, and answers how many µs one took.
//! - `filer://watch/<name><path>`, `filer://watch-all/<name><path>` (recursively), `filer://unwatch/<name>`.
//! - `filer://changes`: what it was told, a line each: name, change, path. It announces this when it is told more. Listed.
//! - `filer://spin/<path>`: computes until that file is there.
//! - `filer://once`: how often this instance was asked this.

use std::{cell::RefCell, fs, time::Instant};

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "
        package wharf:filer;
        world filer {
            include wharf:provider/provider@0.1.0;
            import wharf:provider/file-watch@0.1.0;
            export wharf:provider/file-handler@0.1.0;
        }
    ",
    generate_all,
});

use exports::wharf::provider::{
    file_handler::{self, Change, FileChange},
    resources::{self, ReadRequest, Reading},
};
use wharf::provider::{
    announce, file_watch,
    types::{Body, Contents, Error, ResourceInfo, ResourcePage, TemplateInfo},
};

const CHANGES: &str = "filer://changes";

thread_local! {
    static CHANGED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static ASKED: RefCell<u32> = const { RefCell::new(0) };
}

struct Filer;
export!(Filer);

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Failed(error.to_string())
}

/// What is between the first slash and the second, and the rest from that on.
fn split(rest: &str) -> (&str, &str) {
    let rest = rest.strip_prefix('/').unwrap_or(rest);
    rest.split_at(rest.find('/').unwrap_or(rest.len()))
}

impl resources::Guest for Filer {
    fn list(_cursor: Option<String>) -> Result<ResourcePage, Error> {
        let info = ResourceInfo {
            uri: CHANGES.into(),
            name: "changes".into(),
            title: None,
            description: None,
            mime_type: Some("text/plain".into()),
            size: None,
            icons: None,
            annotations: None,
            meta_json: None,
        };
        Ok(ResourcePage { resources: vec![info], next_cursor: None, reuse: None })
    }

    fn templates() -> Result<Vec<TemplateInfo>, Error> {
        Ok(vec![TemplateInfo {
            uri_template: "filer://{+what}".into(),
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
        let what = request.uri.strip_prefix("filer://").ok_or(Error::NotFound)?;
        let (verb, rest) = what.split_at(what.find('/').unwrap_or(what.len()));
        let text = match verb {
            "read" => fs::read_to_string(rest).map_err(failed)?,
            "write" => fs::write(rest, "written").map(|()| "written".into()).map_err(failed)?,
            "open" => fs::File::open(rest).map(|_| "open".into()).map_err(failed)?,
            "list" => {
                let entries = fs::read_dir(rest).map_err(failed)?;
                let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
                names.sort();
                names.join(" ")
            }
            "many" => {
                let (times, path) = split(rest);
                let times: u32 = times.parse().map_err(failed)?;
                let began = Instant::now();
                for _ in 0..times {
                    fs::read(path).map_err(failed)?;
                }
                (began.elapsed().as_micros() / u128::from(times.max(1))).to_string()
            }
            "watch" | "watch-all" => {
                let (name, path) = split(rest);
                file_watch::watch(name, path, verb == "watch-all")?;
                name.into()
            }
            "unwatch" => {
                file_watch::unwatch(split(rest).0);
                String::new()
            }
            "changes" => CHANGED.with_borrow(|changed| changed.join("\n")),
            "spin" => {
                while !fs::exists(rest).map_err(failed)? {
                    std::hint::spin_loop();
                }
                String::new()
            }
            "once" => ASKED.with_borrow_mut(|asked| {
                *asked += 1;
                asked.to_string()
            }),
            _ => return Err(Error::NotFound),
        };
        let contents = vec![Contents { uri: None, mime_type: None, body: Body::Text(text), meta_json: None }];
        Ok(Some(Reading { contents, version: None, reuse: None }))
    }
}

impl file_handler::Guest for Filer {
    fn changed(changes: Vec<FileChange>) {
        for FileChange { name, path, change } in changes {
            let change = match change {
                Change::Created => "created",
                Change::Modified => "modified",
                Change::Removed => "removed",
                Change::Rescan => "rescan",
            };
            CHANGED.with_borrow_mut(|changed| changed.push(format!("{name} {change} {path}")));
        }
        announce::updated(&[CHANGES.into()]);
    }
}
