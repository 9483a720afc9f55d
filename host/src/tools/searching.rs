//! `search_resources`.
//!
//! Invariants: a resource is found if each word is in one of its fields, or in its text where that is searched; what is read for it is
//! bounded in number, bytes and time, and the result says if something was not looked at.

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use serde_json::{Value, json, value::RawValue};
use tokio::time::{Instant, timeout_at};

use super::{
    Link, ToolResult, Tools,
    arguments::{Arguments, Wrong},
    entry, find_folded, line, listing, template_entry, template_line,
};
use crate::{
    catalog::Caller,
    provider::{Body, ResourceInfo, TemplateInfo},
};

/// What is given, if the caller says nothing.
pub(super) const FOUND: usize = 20;
/// Resources read for one search.
pub const IN_TEXT_READS: usize = 200;
/// Bytes of a text that is searched. A larger one is no small resource.
pub const IN_TEXT_SIZE: usize = 64 << 10;
/// Bytes of all texts of one search.
pub const IN_TEXT_BYTES: usize = 4 << 20;
/// How long reading may take.
pub const IN_TEXT_TIME: std::time::Duration = std::time::Duration::from_secs(5);
/// Reads at a time.
const WIDTH: usize = 8;
/// Words of a query. What comes after them is not a query any more.
const WORDS: usize = 16;
/// Characters of text around what was found, on each side.
const AROUND: usize = 60;
/// Entries looked at before others get their turn.
const TURN: usize = 256;

/// How much a word in each field counts.
mod weight {
    pub const NAME: u32 = 8;
    pub const TITLE: u32 = 8;
    pub const URI: u32 = 4;
    pub const DESCRIPTION: u32 = 2;
    pub const TEXT: u32 = 1;
}

struct Found {
    score: u32,
    info: Arc<ResourceInfo>,
    snippet: Option<String>,
}

/// The fields of an entry, with what a word in them counts.
type Fields<'a> = [(Option<&'a str>, u32); 4];

fn resource_fields(info: &ResourceInfo) -> Fields<'_> {
    let ResourceInfo { uri, name, title, description, .. } = info;
    fields(name, title.as_deref(), uri, description.as_deref())
}

fn template_fields(info: &TemplateInfo) -> Fields<'_> {
    let TemplateInfo { uri_template, name, title, description, .. } = info;
    fields(name, title.as_deref(), uri_template, description.as_deref())
}

fn fields<'a>(name: &'a str, title: Option<&'a str>, uri: &'a str, description: Option<&'a str>) -> Fields<'a> {
    [(Some(name), weight::NAME), (title, weight::TITLE), (Some(uri), weight::URI), (description, weight::DESCRIPTION)]
}

/// What the words in the fields count, and the words that are in none.
fn score<'w>(fields: &Fields<'_>, words: &'w [String]) -> (u32, Vec<&'w str>) {
    let (mut score, mut missing) = (0, Vec::new());
    for word in words {
        let counts = fields.iter().filter(|(field, _)| field.is_some_and(|field| find_folded(field, word).is_some()));
        match counts.map(|(_, weight)| weight).max() {
            Some(weight) => score += weight,
            None => missing.push(&**word),
        }
    }
    (score, missing)
}

/// Whether it may be a text small enough, as far as the list says.
fn may_be_searched(info: &ResourceInfo) -> bool {
    let textual = |mime_type: &String| {
        let essence = mime_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let named = ["json", "xml", "yaml", "toml", "javascript", "sql"].iter().any(|name| essence.ends_with(name));
        essence.starts_with("text/") || named
    };
    info.mime_type.as_ref().is_none_or(textual) && info.size.is_none_or(|size| size <= IN_TEXT_SIZE as u64)
}

/// The text around this place, on one line.
fn snippet(text: &str, at: usize) -> String {
    let from = text[..at].char_indices().rev().nth(AROUND - 1).map_or(0, |(from, _)| from);
    let to = text[at..].char_indices().nth(AROUND).map_or(text.len(), |(to, _)| at + to);
    text[from..to].split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What came of reading.
#[derive(Default)]
struct Texts {
    read: usize,
    complete: bool,
    found: Vec<Found>,
}

impl Tools {
    pub(super) async fn search_resources(&self, caller: &Caller, raw: Option<&RawValue>) -> Result<ToolResult, Wrong> {
        let arguments = Arguments::read(raw, &["query", "in_text", "limit"])?;
        let words: Vec<_> = arguments.text("query")?.to_lowercase().split_whitespace().take(WORDS).map(str::to_owned).collect();
        let in_text = arguments.flag("in_text")?;
        let limit = listing::limit(&arguments, FOUND)?;
        // Without a cursor there is nothing to refuse.
        let (list, _) = self.catalog.all_resources(caller, None).await.map_err(|error| Wrong(error.to_string()))?;
        let (mut found, mut others) = (Vec::new(), Vec::new());
        for (at, info) in list.resources.iter().enumerate() {
            let (score, missing) = score(&resource_fields(info), &words);
            if missing.is_empty() {
                found.push(Found { score, info: info.clone(), snippet: None });
            } else if in_text && may_be_searched(info) {
                others.push((score, missing, info.clone()));
            }
            if at % TURN == TURN - 1 {
                tokio::task::yield_now().await;
            }
        }
        let mut templates: Vec<_> = list
            .templates
            .iter()
            .filter_map(|info| {
                let (score, missing) = score(&template_fields(info), &words);
                missing.is_empty().then_some((score, info))
            })
            .collect();
        let texts = if in_text { self.search_texts(caller, others).await } else { Texts { complete: true, ..Texts::default() } };
        found.extend(texts.found);
        // Stable, so that of equals the one that is listed first comes first.
        found.sort_by_key(|found| std::cmp::Reverse(found.score));
        templates.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        let complete = texts.complete && found.len() <= limit && templates.len() <= limit;
        found.truncate(limit);
        templates.truncate(limit);

        let snapshot = self.catalog.seen_in(caller.view());
        let entries: Vec<Value> = found
            .iter()
            .map(|Found { info, snippet, .. }| {
                let mut entry = entry(info, snapshot.lister(&info.uri));
                if let Some(snippet) = snippet {
                    entry.insert("snippet".into(), snippet.as_str().into());
                }
                entry.into()
            })
            .collect();
        let families: Vec<Value> =
            templates.iter().map(|(_, info)| template_entry(info, snapshot.template_lister(&info.uri_template)).into()).collect();
        let mut text: String = found
            .iter()
            .map(|Found { info, snippet, .. }| line(info) + &snippet.as_ref().map(|snippet| format!("  …{snippet}…\n")).unwrap_or_default())
            .collect();
        if !templates.is_empty() {
            text += "Templates:\n";
            text.extend(templates.iter().map(|(_, info)| template_line(info)));
        }
        let note = match (found.is_empty() && templates.is_empty(), complete) {
            (true, true) if in_text => Some("Nothing was found: try fewer words, or list_resources."),
            (true, true) => Some("Nothing was found: try fewer words, or in_text: true."),
            (_, false) if !texts.complete => {
                Some("Not all texts were searched: they are too many, or took too long. Narrow it with more words.")
            }
            (_, false) => Some("There is more: narrow it with more words, or raise limit."),
            (false, true) => None,
        };
        let mut structured = json!({ "resources": entries, "templates": families, "complete": complete });
        if in_text {
            structured["textsRead"] = texts.read.into();
        }
        if let Some(note) = note {
            text += note;
            structured["note"] = note.into();
        }
        Ok(ToolResult::new(text, structured).with_links(found.iter().map(|found| Link::from(&*found.info))))
    }

    /// Searches the texts of these for the words that their fields lack.
    async fn search_texts(&self, caller: &Caller, others: Vec<(u32, Vec<&str>, Arc<ResourceInfo>)>) -> Texts {
        let deadline = Instant::now() + IN_TEXT_TIME;
        let mut texts = Texts { complete: others.len() <= IN_TEXT_READS, ..Texts::default() };
        let reads: Vec<_> = others
            .into_iter()
            .take(IN_TEXT_READS)
            .map(|(score, missing, info)| async move {
                let read = self.catalog.read(caller, &info.uri).await;
                (score, missing, info, read)
            })
            .collect();
        // In order, so that what the bounds leave out is what is listed last.
        let mut reads = stream::iter(reads).buffered(WIDTH);
        let mut bytes = 0;
        loop {
            let Ok(next) = timeout_at(deadline, reads.next()).await else {
                texts.complete = false;
                return texts;
            };
            let Some((score, missing, info, read)) = next else { return texts };
            // What cannot be read cannot be searched; reading it says why.
            let Ok(read) = read else { continue };
            texts.read += 1;
            let all = read.contents.iter().filter_map(|part| match &part.body {
                Body::Text(text) if text.len() <= IN_TEXT_SIZE => Some(text),
                Body::Text(_) | Body::Blob(_) => None,
            });
            let all: Vec<_> = all.collect();
            bytes += all.iter().map(|text| text.len()).sum::<usize>();
            if bytes > IN_TEXT_BYTES {
                texts.complete = false;
                return texts;
            }
            let place = |word: &&str| all.iter().find_map(|text| find_folded(text, word).map(|at| (*text, at)));
            let places: Option<Vec<_>> = missing.iter().map(place).collect();
            if let Some((text, at)) = places.as_ref().and_then(|places| places.first()) {
                let score = score + weight::TEXT * u32::try_from(missing.len()).unwrap_or(u32::MAX);
                texts.found.push(Found { score, info, snippet: Some(snippet(text, *at)) });
            }
            tokio::task::yield_now().await;
        }
    }
}
