//! Answers with everything the contract has.
//!
//! - `basic://text`, `basic://utf8`, `basic://blob`: the three bodies; `basic://two`: two contents, the second with a URI of its own
//! - `basic://full`: every field of a reading; its list entry has every field too
//! - `basic://version`: version `v1`, and "not modified" if that is what the host holds; `basic://none` says so unasked
//! - `basic://error/<case>`: each error by its name; `basic://empty`: no contents at all
//! - `basic://settings`: all settings, a line each; template `basic://settings/{name}`: one of them, the name taken from the match
//! - `basic://log`: writes a line to stdout and one to stderr; `basic://world`: what it sees of the machine
//! - completes `name` of that template with the names of the settings, and with those of what is known already
//! - the list has two pages, and an entry that breaks every rule about optional fields

wit_bindgen::generate!({ path: ["../../../wit", "wit"], world: "test:basic/basic", generate_all });

use exports::wharf::provider::{
    completions::{self, Completion, CompletionRequest},
    resources::{Guest, ReadRequest, Reading},
};
use wharf::provider::{
    settings,
    types::{Annotations, Body, Contents, Error, Icon, IconTheme, ResourceInfo, ResourcePage, Reuse, Role, TemplateInfo},
};

struct Basic;
export!(Basic);

fn info(uri: &str, name: &str) -> ResourceInfo {
    ResourceInfo {
        uri: uri.into(),
        name: name.into(),
        title: None,
        description: None,
        mime_type: None,
        size: None,
        icons: None,
        annotations: None,
        meta_json: None,
    }
}

fn icon(src: &str) -> Icon {
    Icon { src: src.into(), mime_type: Some("image/png".into()), sizes: Some(vec!["48x48".into()]), theme: Some(IconTheme::Dark) }
}

fn annotations() -> Annotations {
    Annotations { audience: Some(vec![Role::User, Role::Assistant]), priority: Some(0.5), last_modified: Some(1_700_000_000_000.0) }
}

fn content(body: Body) -> Contents {
    Contents { uri: None, mime_type: None, body, meta_json: None }
}

fn text(text: impl Into<String>) -> Vec<Contents> {
    vec![content(Body::Text(text.into()))]
}

impl Guest for Basic {
    fn list(cursor: Option<String>) -> Result<ResourcePage, Error> {
        match cursor.as_deref() {
            None => Ok(ResourcePage {
                resources: vec![
                    ResourceInfo {
                        title: Some("Full".into()),
                        description: Some("Has every field".into()),
                        mime_type: Some("text/plain".into()),
                        size: Some(4.0),
                        icons: Some(vec![icon("https://example.org/icon.png"), icon("data:image/png;base64,AAAA")]),
                        annotations: Some(annotations()),
                        meta_json: Some(r#"{"example.org/key":[1,2]}"#.into()),
                        ..info("basic://full", "full")
                    },
                    info("basic://text", "text"),
                    info("basic://utf8", "utf8"),
                    info("basic://blob", "blob"),
                ],
                next_cursor: Some("2".into()),
                reuse: Some(Reuse::ForMs(1500)),
            }),
            Some("2") => Ok(ResourcePage {
                resources: vec![
                    info("basic://two", "two"),
                    ResourceInfo {
                        size: Some(-1.0),
                        icons: Some(vec![icon("http://example.org/icon.png"), icon("javascript:alert(1)")]),
                        annotations: Some(Annotations { audience: None, priority: Some(7.0), last_modified: Some(f64::NAN) }),
                        meta_json: Some("[1]".into()),
                        ..info("basic://sloppy", "sloppy")
                    },
                    info("not a uri", "dropped"),
                ],
                next_cursor: None,
                reuse: None,
            }),
            Some(other) => Err(Error::Invalid(format!("no cursor {other}"))),
        }
    }

    fn templates() -> Result<Vec<TemplateInfo>, Error> {
        Ok(vec![TemplateInfo {
            uri_template: "basic://settings/{name}".into(),
            name: "setting".into(),
            title: Some("Setting".into()),
            description: Some("One setting".into()),
            mime_type: Some("text/plain".into()),
            icons: Some(vec![icon("https://example.org/icon.png")]),
            annotations: Some(annotations()),
            meta_json: Some(r#"{"a":1}"#.into()),
        }])
    }

    fn read(request: ReadRequest) -> Result<Option<Reading>, Error> {
        let mut reading = Reading { contents: Vec::new(), version: None, reuse: None };
        reading.contents = match request.uri.as_str() {
            "basic://text" => text("text"),
            "basic://utf8" => vec![content(Body::Utf8("grün".into()))],
            "basic://blob" => vec![content(Body::Blob(vec![0, 255, 1]))],
            "basic://two" => vec![
                content(Body::Text("one".into())),
                Contents {
                    uri: Some("basic://two/2".into()),
                    mime_type: Some("application/json".into()),
                    ..content(Body::Text("2".into()))
                },
            ],
            "basic://full" => {
                reading.version = Some("v1".into());
                reading.reuse = Some(Reuse::UntilAnnounced);
                vec![Contents {
                    uri: Some("basic://full".into()),
                    mime_type: Some("text/plain".into()),
                    body: Body::Text("full".into()),
                    meta_json: Some(r#"{"a":{"b":1}}"#.into()),
                }]
            }
            "basic://version" if request.if_none_match.as_deref() == Some("v1") => return Ok(None),
            "basic://version" => {
                reading.version = Some("v1".into());
                text("version 1")
            }
            "basic://long-version" => {
                reading.version = Some("v".repeat(1025));
                text("")
            }
            "basic://none" => return Ok(None),
            "basic://empty" => Vec::new(),
            "basic://sloppy" => {
                vec![Contents { uri: Some("no uri".into()), meta_json: Some("1".into()), ..content(Body::Text("".into())) }]
            }
            "basic://error/invalid" => return Err(Error::Invalid("an invalid thing".into())),
            "basic://error/denied" => return Err(Error::Denied("a denied thing".into())),
            "basic://error/unavailable" => return Err(Error::Unavailable("an unavailable thing".into())),
            "basic://error/failed" => return Err(Error::Failed("a failed thing".into())),
            "basic://settings" => text(settings::all().iter().map(|(name, value)| format!("{name}={value}\n")).collect::<String>()),
            "basic://log" => {
                println!("a line on stdout");
                eprintln!("a line on stderr");
                text("")
            }
            "basic://world" => text(format!(
                "arguments {}, variables {}, root {}, stdin {}",
                std::env::args().count(),
                std::env::vars().count(),
                if std::fs::read_dir("/").is_ok() { "open" } else { "closed" },
                if std::io::read_to_string(std::io::stdin()).is_ok_and(|read| read.is_empty()) { "closed" } else { "open" },
            )),
            _ => match request.matched {
                Some(matched) if matched.uri_template == "basic://settings/{name}" => {
                    text(settings::get(&matched.variables[0].1).ok_or(Error::NotFound)?)
                }
                _ => return Err(Error::NotFound),
            },
        };
        Ok(Some(reading))
    }
}

impl completions::Guest for Basic {
    fn complete(request: CompletionRequest) -> Result<Completion, Error> {
        if request.uri_template != "basic://settings/{name}" || request.argument != "name" {
            return Err(Error::NotFound);
        }
        let names = settings::all().into_iter().map(|(name, _)| name).filter(|name| name.starts_with(&request.value));
        let values: Vec<String> = names.chain(request.known.into_iter().map(|(name, value)| format!("{name}={value}"))).collect();
        Ok(Completion { total: u32::try_from(values.len()).ok(), has_more: Some(false), values })
    }
}
