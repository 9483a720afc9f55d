//! `handbook`: text, JSON, an image and a family of chapters, as the model of a provider that only answers.

mod bindings {
    wit_bindgen::generate!({
        path: "../../wit",
        // The world `provider` as it is, and one export more.
        inline: "
            package wharf:handbook;
            world handbook {
                include wharf:provider/provider@0.1.0;
                export wharf:provider/completions@0.1.0;
            }
        ",
        generate_all,
    });
}

use bindings::{
    exports::wharf::provider::{
        completions::{self, Completion, CompletionRequest},
        resources::{self, ReadRequest, Reading},
    },
    wharf::provider::types::{Annotations, Body, Contents, Error, ResourceInfo, ResourcePage, Reuse, Role, TemplateInfo},
};

/// 2026-11-30T00:00:00Z, when the texts were last edited.
const LAST_MODIFIED: f64 = 1_795_996_800_000.0;
const CHAPTER_TEMPLATE: &str = "handbook://wharf/chapters/{name}";

/// One resource that `list` gives.
struct Page {
    uri: &'static str,
    name: &'static str,
    title: &'static str,
    description: &'static str,
    mime_type: &'static str,
    bytes: &'static [u8],
    audience: &'static [Role],
    priority: f64,
}

const PAGES: [Page; 3] = [
    Page {
        uri: "handbook://wharf/welcome",
        name: "welcome",
        title: "Welcome to Wharf",
        description: "What Wharf is, and which chapters this handbook has.",
        mime_type: "text/markdown",
        bytes: include_bytes!("../assets/welcome.md"),
        audience: &[Role::User, Role::Assistant],
        priority: 0.9,
    },
    Page {
        uri: "handbook://wharf/facts",
        name: "facts",
        title: "Facts about Wharf",
        description: "Names, addresses and limits, as JSON.",
        mime_type: "application/json",
        bytes: include_bytes!("../assets/facts.json"),
        audience: &[Role::Assistant],
        priority: 0.5,
    },
    Page {
        uri: "handbook://wharf/logo",
        name: "logo",
        title: "Wharf's logo",
        description: "A bollard on a wharf, 96 x 96 pixels.",
        mime_type: "image/png",
        bytes: include_bytes!("../assets/logo.png"),
        audience: &[Role::User],
        priority: 0.1,
    },
];

/// Name and text of each chapter.
const CHAPTERS: [(&str, &str); 4] = [
    ("concepts", include_str!("../chapters/concepts.md")),
    ("subscriptions", include_str!("../chapters/subscriptions.md")),
    ("wharf-toml", include_str!("../chapters/wharf-toml.md")),
    ("writing-a-provider", include_str!("../chapters/writing-a-provider.md")),
];

struct Handbook;

impl resources::Guest for Handbook {
    fn list(_cursor: Option<String>) -> Result<ResourcePage, Error> {
        let resources = PAGES.iter().map(info).collect();
        Ok(ResourcePage { resources, next_cursor: None, reuse: Some(Reuse::UntilAnnounced) })
    }

    fn templates() -> Result<Vec<TemplateInfo>, Error> {
        Ok(vec![TemplateInfo {
            uri_template: CHAPTER_TEMPLATE.into(),
            name: "chapter".into(),
            title: Some("A chapter of the handbook".into()),
            description: Some("Chapters: concepts, subscriptions, wharf-toml, writing-a-provider.".into()),
            mime_type: Some("text/markdown".into()),
            icons: None,
            annotations: Some(annotations(&[Role::User, Role::Assistant], 0.6)),
            meta_json: None,
        }])
    }

    fn read(request: ReadRequest) -> Result<Option<Reading>, Error> {
        // The host has matched the template already, and hands over the variables, decoded.
        if let Some(matched) = request.matched {
            let name = matched.variables.iter().find(|(name, _)| name == "name").map(|(_, value)| value.as_str());
            let (_, text) = CHAPTERS.iter().find(|(chapter, _)| Some(*chapter) == name).ok_or(Error::NotFound)?;
            return Ok(Some(fixed("text/markdown", Body::Text((*text).into()))));
        }
        let page = PAGES.iter().find(|page| page.uri == request.uri).ok_or(Error::NotFound)?;
        let body = if page.mime_type == "image/png" { Body::Blob(page.bytes.into()) } else { Body::Utf8(page.bytes.into()) };
        Ok(Some(fixed(page.mime_type, body)))
    }
}

impl completions::Guest for Handbook {
    fn complete(request: CompletionRequest) -> Result<Completion, Error> {
        if request.uri_template != CHAPTER_TEMPLATE || request.argument != "name" {
            return Err(Error::NotFound);
        }
        let values = CHAPTERS.iter().map(|(name, _)| name.to_string()).filter(|name| name.starts_with(&request.value)).collect();
        Ok(Completion { values, total: None, has_more: None })
    }
}

fn info(page: &Page) -> ResourceInfo {
    ResourceInfo {
        uri: page.uri.into(),
        name: page.name.into(),
        title: Some(page.title.into()),
        description: Some(page.description.into()),
        mime_type: Some(page.mime_type.into()),
        size: Some(page.bytes.len() as f64),
        icons: None,
        annotations: Some(annotations(page.audience, page.priority)),
        meta_json: None,
    }
}

fn annotations(audience: &[Role], priority: f64) -> Annotations {
    Annotations { audience: Some(audience.to_vec()), priority: Some(priority), last_modified: Some(LAST_MODIFIED) }
}

fn fixed(mime_type: &str, body: Body) -> Reading {
    let contents = Contents { uri: None, mime_type: Some(mime_type.into()), body, meta_json: None };
    // It is part of this file and cannot change before the file does: the host may keep it for a day, and asks again after a reload.
    Reading { contents: vec![contents], version: None, reuse: Some(Reuse::ForMs(86_400_000)) }
}

bindings::export!(Handbook with_types_in bindings);
