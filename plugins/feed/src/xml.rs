//! RSS 2.0 and its older kin, and Atom (RFC 4287).
//!
//! Nothing that a document declares is expanded: there are no entities here but those of [`crate::text::entity`]. What is kept of a
//! document is bounded, and so is how deep it may go.

use std::borrow::Cow;

use quick_xml::{
    Reader,
    events::{BytesStart, Event},
};

use crate::{
    model::{Feed, Item, MAX_ITEMS, date, push},
    text::{entity, plain, unescaped},
};

/// Elements inside each other. A feed has five, and what HTML it has besides.
const MAX_DEPTH: usize = 128;

/// One element that is being read, with all text inside it.
struct Element {
    name: String,
    text: String,
    /// Whether elements inside are part of the text: Atom's XHTML.
    markup: bool,
    html: bool,
}

#[derive(Default)]
struct Reading {
    feed: Feed,
    item: Option<Item>,
    is_feed: bool,
    path: Vec<Element>,
}

pub fn parse(bytes: &[u8]) -> Result<Feed, String> {
    let text = decoded(bytes);
    let mut reader = Reader::from_str(&text);
    let config = reader.config_mut();
    // Feeds are written by hand and by bad programs; what can be understood is.
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    config.expand_empty_elements = true;
    let mut reading = Reading::default();
    loop {
        match reader.read_event() {
            Ok(Event::Start(element)) => reading.start(&element)?,
            Ok(Event::End(_)) => {
                if reading.end() {
                    break;
                }
            }
            Ok(Event::Text(text)) => reading.text(&text.decode().unwrap_or_default()),
            Ok(Event::CData(text)) => reading.text(&text.decode().unwrap_or_default()),
            Ok(Event::GeneralRef(name)) => {
                let name = name.decode().unwrap_or_default();
                reading.text(&entity(&name).unwrap_or_else(|| format!("&{name};")));
            }
            Ok(Event::Eof) => break,
            Ok(_) => {}
            // What came before may be all there is to know.
            Err(_) if reading.is_feed && !reading.feed.items.is_empty() => break,
            Err(error) => return Err(format!("it is no XML: {error}")),
        }
    }
    if !reading.is_feed {
        return Err("it is XML, and neither RSS nor Atom: perhaps the address is that of a page".into());
    }
    Ok(reading.feed)
}

/// UTF-8, or Latin-1 where the document says so; anything else is read as far as it can be.
fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).to_ascii_lowercase();
    let declared = head.split("?>").next().unwrap_or_default();
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) if declared.contains("8859-1") || declared.contains("1252") => {
            bytes.iter().map(|byte| char::from(*byte)).collect::<String>().into()
        }
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

impl Reading {
    fn start(&mut self, element: &BytesStart<'_>) -> Result<(), String> {
        if self.path.len() >= MAX_DEPTH {
            return Err(format!("its elements are more than {MAX_DEPTH} deep"));
        }
        let name = String::from_utf8_lossy(element.local_name().as_ref()).into_owned();
        let attribute = |name: &str| {
            let found = element.attributes().with_checks(false).flatten().find(|attribute| attribute.key.as_ref() == name.as_bytes());
            found.map(|attribute| unescaped(&String::from_utf8_lossy(&attribute.value)))
        };
        if let Some(parent) = self.path.last_mut().filter(|parent| parent.markup) {
            let href = if name == "a" { attribute("href").unwrap_or_default() } else { String::new() };
            push(&mut parent.text, &format!("<{name} href=\"{}\">", href.replace('"', "%22")));
            self.path.push(Element { name, text: String::new(), markup: true, html: true });
            return Ok(());
        }
        match name.as_str() {
            "rss" | "RDF" | "feed" if self.path.is_empty() => self.is_feed = true,
            "item" | "entry" => self.item = Some(Item::default()),
            "link" => {
                // Atom has the address in an attribute, and several of them.
                let own = matches!(attribute("rel").as_deref(), None | Some("alternate"));
                if let Some(href) = attribute("href").filter(|_| own) {
                    let link = self.item.as_mut().map_or(&mut self.feed.link, |item| &mut item.link);
                    if link.is_empty() {
                        push(link, &href);
                    }
                }
            }
            _ => {}
        }
        let kind = attribute("type").unwrap_or_default();
        let markup = kind == "xhtml";
        self.path.push(Element { name, text: String::new(), markup, html: markup || kind == "html" || kind == "text/html" });
        Ok(())
    }

    fn text(&mut self, text: &str) {
        if let Some(element) = self.path.last_mut() {
            if element.markup {
                // It will be read as HTML once more.
                push(&mut element.text, &text.replace('&', "&amp;").replace('<', "&lt;"));
            } else {
                push(&mut element.text, text);
            }
        }
    }

    /// Says whether that is enough.
    fn end(&mut self) -> bool {
        let Some(element) = self.path.pop() else { return false };
        if let Some(parent) = self.path.last_mut().filter(|parent| parent.markup) {
            push(&mut parent.text, &element.text);
            push(&mut parent.text, &format!("</{}>", element.name));
            return false;
        }
        let parent = self.path.last().map_or("", |parent| parent.name.as_str());
        let text = element.text.trim();
        let shown = || if element.html { plain(text) } else { unescaped(text) };
        let set = |field: &mut String, text: String| {
            if field.is_empty() {
                push(field, &text);
            }
        };
        let Some(item) = &mut self.item else {
            if ["channel", "feed"].contains(&parent) {
                match element.name.as_str() {
                    "title" => set(&mut self.feed.title, shown()),
                    "link" => set(&mut self.feed.link, text.into()),
                    "description" | "subtitle" => set(&mut self.feed.description, plain(text)),
                    _ => {}
                }
            }
            return false;
        };
        match (parent, element.name.as_str()) {
            (_, "item" | "entry") => {
                self.feed.items.extend(self.item.take());
                return self.feed.items.len() >= MAX_ITEMS;
            }
            ("author", "name") => set(&mut item.author, text.into()),
            ("item" | "entry", name) => match name {
                "title" => set(&mut item.title, shown()),
                "link" => set(&mut item.link, text.into()),
                "guid" | "id" => set(&mut item.guid, text.into()),
                "pubDate" | "published" | "date" => item.date = date(text).or(item.date),
                "updated" => item.date = item.date.or_else(|| date(text)),
                "author" | "creator" => set(&mut item.author, text.into()),
                "description" => set(&mut item.summary, plain(text)),
                "summary" => set(&mut item.summary, shown()),
                "encoded" => set(&mut item.content, plain(text)),
                "content" => set(&mut item.content, shown()),
                _ => {}
            },
            _ => {}
        }
        false
    }
}
