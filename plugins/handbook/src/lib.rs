//! `handbook`: text, JSON, an image and a family of chapters, as the model of a provider that only answers.

use wharf_provider::{Contents, Error, Provide, Provider, Reading, Result, Role, Suggestions, export};

/// 2026-11-30T00:00:00Z, when the texts were last edited.
const LAST_MODIFIED: f64 = 1_795_996_800_000.0;
/// All of it is part of this file and cannot change before the file does: the host may keep it for a day, and asks again after a reload.
const KEPT_MS: u32 = 86_400_000;

/// One resource that `list` gives.
struct Page {
    uri: &'static str,
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
        title: "Welcome to Wharf",
        description: "What Wharf is, and which chapters this handbook has.",
        mime_type: "text/markdown",
        bytes: include_bytes!("../assets/welcome.md"),
        audience: &[Role::User, Role::Assistant],
        priority: 0.9,
    },
    Page {
        uri: "handbook://wharf/facts",
        title: "Facts about Wharf",
        description: "Names, addresses and limits, as JSON.",
        mime_type: "application/json",
        bytes: include_bytes!("../assets/facts.json"),
        audience: &[Role::Assistant],
        priority: 0.5,
    },
    Page {
        uri: "handbook://wharf/logo",
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

impl Provide for Handbook {
    fn provider() -> Result<Provider<Self>> {
        let mut provider = Provider::new(Handbook);
        for page in &PAGES {
            provider
                .resource(page.uri)
                .title(page.title)
                .describe(page.description)
                .mime_type(page.mime_type)
                .size(page.bytes.len())
                .audience(page.audience)
                .priority(page.priority)
                .last_modified(LAST_MODIFIED)
                .read(|_, _| {
                    let is_text = !page.mime_type.starts_with("image/");
                    let contents = if is_text { Contents::utf8(page.bytes) } else { Contents::blob(page.bytes) };
                    Ok(Reading::new(contents).reuse_ms(KEPT_MS))
                });
        }
        provider
            .template("handbook://wharf/chapters/{name}")
            .name("chapter")
            .title("A chapter of the handbook")
            .describe("Chapters: concepts, subscriptions, wharf-toml, writing-a-provider.")
            .mime_type("text/markdown")
            .audience([Role::User, Role::Assistant])
            .priority(0.6)
            .last_modified(LAST_MODIFIED)
            .complete("name", |_, typed, _| Ok(Suggestions::beginning_with(typed, CHAPTERS.map(|(name, _)| name))))
            .read(|_, request| {
                let (_, text) = CHAPTERS.iter().find(|(name, _)| *name == request.variable("name")).ok_or(Error::NotFound)?;
                Ok(Reading::new(*text).reuse_ms(KEPT_MS))
            });
        Ok(provider)
    }
}

export!(Handbook: completions);
