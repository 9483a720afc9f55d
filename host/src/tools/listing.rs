//! `list_resources` and `list_resource_templates`.
//!
//! Invariant: paging goes through one snapshot of the catalog, so with the same filter it shows no entry twice and misses none; a page
//! has a cursor exactly if another entry follows.

use std::sync::Arc;

use serde_json::{Map, Value, value::RawValue};

use super::{
    Link, ToolResult, Tools,
    arguments::{Arguments, Wrong},
    entry, find_folded, line, template_entry, template_line,
};
use crate::{
    catalog::{Caller, Snapshot},
    provider::ResourceInfo,
};

/// Entries on a page, if the caller says nothing: some thousand tokens for a model.
pub const ENTRIES: usize = 50;
/// Entries on a page at most.
pub const MOST_ENTRIES: usize = 200;
/// Entries looked at before others get their turn.
const TURN: usize = 512;

/// Which resources are wanted.
struct Filter<'a> {
    /// In lower case.
    text: Option<String>,
    mime_type: Option<&'a str>,
    provider: Option<&'a str>,
}

impl Filter<'_> {
    fn takes(&self, info: &ResourceInfo, snapshot: &Snapshot) -> bool {
        let ResourceInfo { uri, name, title, description, mime_type, .. } = info;
        let said = |text: &str| {
            let mut fields = [Some(&**uri), Some(&**name), title.as_deref(), description.as_deref()].into_iter().flatten();
            fields.any(|field| find_folded(field, text).is_some())
        };
        self.mime_type.is_none_or(|wanted| mime_type.as_ref().is_some_and(|own| is_of(own, wanted)))
            && self.provider.is_none_or(|wanted| snapshot.lister(uri).is_some_and(|own| **own == *wanted))
            && self.text.as_ref().is_none_or(|text| said(text))
    }
}

/// Whether a media type is this one, or in this range (RFC 9110 §12.5.1), whatever its parameters.
fn is_of(own: &str, wanted: &str) -> bool {
    let essence = |text: &str| text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let (own, wanted) = (essence(own), essence(wanted));
    let family = wanted.strip_suffix("/*").or((!wanted.contains('/')).then_some(&*wanted));
    own == wanted || wanted == "*/*" || family.is_some_and(|family| own.split('/').next() == Some(family))
}

impl Tools {
    pub(super) async fn list_resources(&self, caller: &Caller, raw: Option<&RawValue>) -> Result<ToolResult, Wrong> {
        let arguments = Arguments::read(raw, &["text", "mime_type", "provider", "limit", "cursor"])?;
        let filter = Filter {
            text: arguments.optional_text("text")?.map(str::to_lowercase),
            mime_type: arguments.optional_text("mime_type")?,
            provider: arguments.optional_text("provider")?,
        };
        let limit = limit(&arguments, ENTRIES)?;
        let page = self.catalog.all_resources(caller, arguments.optional_text("cursor")?).await;
        let (list, start) = page.map_err(|error| Wrong(format!("`cursor`: {error}: call {} without it.", super::LIST_RESOURCES)))?;
        let snapshot = self.catalog.seen_in(caller.view());
        if let Some(provider) = filter.provider
            && !snapshot.places.iter().any(|place| *place.name == *provider)
        {
            return Err(Wrong(format!("There is no provider {provider:?}; there is {}.", providers(&snapshot))));
        }
        let (mut found, mut next) = (Vec::new(), None);
        for (at, info) in list.resources.iter().enumerate().skip(start) {
            if filter.takes(info, &snapshot) {
                if found.len() == limit {
                    next = Some(at);
                    break;
                }
                found.push(info);
            }
            if at % TURN == TURN - 1 {
                tokio::task::yield_now().await;
            }
        }
        let next = next.map(|at| self.catalog.resources_cursor(&list, at));
        let entries = found.iter().map(|info| entry(info, snapshot.lister(&info.uri)).into()).collect();
        let text = found.iter().map(|info| line(info)).collect();
        let none = match (&filter, start) {
            (Filter { text: None, mime_type: None, provider: None }, 0) => "There are no resources; list_resource_templates may have some.",
            _ => "No resource is like that: try search_resources, or list_resources without a filter.",
        };
        Ok(page_of("resources", entries, text, next, none).with_links(found.iter().map(|info| Link::from(&***info))))
    }

    pub(super) async fn list_templates(&self, caller: &Caller, raw: Option<&RawValue>) -> Result<ToolResult, Wrong> {
        let arguments = Arguments::read(raw, &["limit", "cursor"])?;
        let limit = limit(&arguments, ENTRIES)?;
        let page = self.catalog.all_templates(caller, arguments.optional_text("cursor")?).await;
        let (list, start) = page.map_err(|error| Wrong(format!("`cursor`: {error}: call {} without it.", super::LIST_TEMPLATES)))?;
        let snapshot = self.catalog.seen_in(caller.view());
        let found: Vec<_> = list.templates.iter().skip(start).take(limit).collect();
        let next = (start + found.len() < list.templates.len()).then(|| self.catalog.templates_cursor(&list, start + found.len()));
        let entries = found.iter().map(|info| template_entry(info, snapshot.template_lister(&info.uri_template)).into()).collect();
        let text = found.iter().map(|info| template_line(info)).collect();
        Ok(page_of("templates", entries, text, next, "There are no templates; see list_resources."))
    }
}

/// How many entries are wanted.
pub(super) fn limit(arguments: &Arguments, default: usize) -> Result<usize, Wrong> {
    match arguments.whole("limit", default, MOST_ENTRIES)? {
        0 => Err(Wrong("`limit` must be 1 or more.".into())),
        limit => Ok(limit),
    }
}

fn page_of(field: &str, entries: Vec<Value>, mut text: String, next: Option<String>, none: &str) -> ToolResult {
    let mut structured = Map::new();
    let note = if entries.is_empty() {
        Some(none.to_owned())
    } else {
        next.as_ref().map(|cursor| format!("There are more: call again with the same filter and cursor {cursor}"))
    };
    structured.insert(field.into(), entries.into());
    if let Some(cursor) = next {
        structured.insert("nextCursor".into(), cursor.into());
    }
    if let Some(note) = note {
        text += &note;
        structured.insert("note".into(), note.into());
    }
    ToolResult::new(text, structured.into())
}

fn providers(snapshot: &Snapshot) -> String {
    let names: Vec<Arc<str>> = snapshot.places.iter().map(|place| place.name.clone()).collect();
    if names.is_empty() { "none at all".into() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_media_type_is_compared_without_case_and_parameters_and_may_be_a_range() {
        for (own, wanted, takes) in [
            ("text/markdown", "Text/Markdown", true),
            ("text/markdown; charset=utf-8", "text/markdown", true),
            ("image/png", "image/*", true),
            ("image/png", "image", true),
            ("image/png", "*/*", true),
            ("text/plain", "text/markdown", false),
            ("imagery/x", "image", false),
        ] {
            assert_eq!(is_of(own, wanted), takes, "{own} {wanted}");
        }
    }
}
