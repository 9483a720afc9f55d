//! `read_resource`.
//!
//! Invariants: a text is cut between characters, and what is left is said with the offset that goes on; the token names a point before
//! the read began, and carries the digest of all that was read, so a change after the read is news however much of it was given.

use std::sync::Arc;

use serde_json::{Map, Value, json, value::RawValue};

use super::{
    Content, LIST_RESOURCES, Link, SEARCH_RESOURCES, ToolResult, Tools, WAIT_FOR_UPDATE,
    arguments::{Arguments, Wrong},
    watches::digest,
};
use crate::{
    catalog::{Caller, ReadError},
    provider::{Body, Contents, Error},
};

/// Characters of text given, if the caller says nothing: some 5,000 tokens. Claude Code, for one, warns at 10,000 and cuts at 25,000.
pub const LENGTH: usize = 20_000;
/// Characters given at most.
pub const MOST_LENGTH: usize = 200_000;
/// Bytes of an image that is given as one: what Anthropic's API takes, 5 MB in base64. A larger one is linked.
pub const IMAGE_BYTES: usize = 3_750_000;
/// Bytes of any other blob that is given as it is: it comes as base64, which costs a model a token for two bytes or so. A larger one is linked.
pub const BLOB_BYTES: usize = 8 << 10;
/// The images that models take. Another one would make the client's request fail as a whole.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The part of all texts that is wanted, while one after the other is gone through.
struct Window {
    skip: usize,
    take: usize,
    /// Characters seen.
    total: usize,
    /// Characters given.
    given: usize,
}

impl Window {
    /// What of this text is in it; none if nothing is.
    fn cut<'a>(&mut self, text: &'a str) -> &'a str {
        let length = text.chars().count();
        self.total += length;
        let skip = self.skip.min(length);
        self.skip -= skip;
        let take = self.take.min(length - skip);
        self.take -= take;
        self.given += take;
        let from = at(text, skip);
        &text[from..from + at(&text[from..], take)]
    }
}

/// The byte at which the character of this number begins.
fn at(text: &str, characters: usize) -> usize {
    text.char_indices().nth(characters).map_or(text.len(), |(at, _)| at)
}

impl Tools {
    pub(super) async fn read_resource(&self, caller: &Caller, raw: Option<&RawValue>) -> Result<ToolResult, Wrong> {
        let arguments = Arguments::read(raw, &["uri", "offset", "length"])?;
        let uri = arguments.text("uri")?;
        let offset = arguments.whole("offset", 0, usize::MAX)?;
        let length = arguments.whole("length", LENGTH, MOST_LENGTH)?;
        let watches = self.watches.of(caller);
        let number = watches.number();
        let read = match self.catalog.read(caller, uri).await {
            Ok(read) => read,
            Err(error) => return Ok(refused(uri, &error)),
        };
        let token = watches.token(number, uri, digest(uri, &read.contents));
        Ok(render(uri, &read.contents, offset, length, &token))
    }
}

fn render(uri: &str, contents: &[Contents], offset: usize, length: usize, token: &str) -> ToolResult {
    let mut window = Window { skip: offset, take: length, total: 0, given: 0 };
    let (mut content, mut parts, mut only_text) = (Vec::new(), Vec::new(), true);
    for part in contents {
        let own: Arc<str> = part.uri.clone().unwrap_or_else(|| uri.into());
        match &part.body {
            Body::Text(text) => {
                let text = window.cut(text);
                let mut entry = Map::new();
                entry.insert("uri".into(), (*own).into());
                if let Some(mime_type) = &part.mime_type {
                    entry.insert("mimeType".into(), mime_type.as_str().into());
                }
                entry.insert("text".into(), text.into());
                parts.push(Value::Object(entry));
                // Of several parts, which is which.
                if contents.len() > 1 {
                    content.push(Content::Text(format!("{own}:")));
                }
                content.push(Content::Text(text.to_owned()));
            }
            Body::Blob(bytes) => {
                only_text = false;
                content.push(blob(own, bytes, part.mime_type.as_ref()));
            }
        }
    }
    let Window { total, given, .. } = window;
    if total > 0 && offset >= total {
        return ToolResult::error(format!("`offset` {offset} is past the end: the text of {uri} has {total} characters."));
    }
    let left = total.saturating_sub(offset + given);
    let mut note = if left > 0 {
        let next = offset + given;
        format!("Characters {offset} to {next} of {total}; {left} more: read_resource with offset {next}. ")
    } else {
        String::new()
    };
    note += &format!("Token for {WAIT_FOR_UPDATE}, if you have none of it yet: {token}");
    content.push(Content::Text(format!("[{note}]")));
    let structured = only_text.then(|| {
        let mut structured = json!({ "contents": parts, "offset": offset, "total": total, "token": token, "note": note });
        if left > 0 {
            structured["nextOffset"] = (offset + given).into();
        }
        structured
    });
    ToolResult { content, structured, is_error: false }
}

fn blob(uri: Arc<str>, bytes: &bytes::Bytes, mime_type: Option<&String>) -> Content {
    let essence = mime_type.and_then(|own| own.split(';').next()).unwrap_or_default().trim().to_ascii_lowercase();
    if IMAGES.contains(&&*essence) && bytes.len() <= IMAGE_BYTES {
        return Content::Image { data: bytes.clone(), mime_type: essence };
    }
    if bytes.len() <= BLOB_BYTES {
        return Content::Blob { uri, data: bytes.clone(), mime_type: mime_type.cloned() };
    }
    let name = uri.rsplit('/').find(|part| !part.is_empty()).unwrap_or(&uri).to_owned();
    Content::Link(Link { uri, name, title: None, mime_type: mime_type.cloned(), size: Some(bytes.len() as u64) })
}

/// Why there is nothing to be read, and what to do about it.
fn refused(uri: &str, error: &ReadError) -> ToolResult {
    let short: String = uri.chars().take(200).collect();
    let (kind, provider, message, next) = match error {
        ReadError::NotFound | ReadError::Provider { error: Error::NotFound, .. } => (
            "not-found",
            None,
            format!("no provider has {short}"),
            format!("URIs are compared letter by letter: find the right one with {SEARCH_RESOURCES} or {LIST_RESOURCES}."),
        ),
        ReadError::InvalidUri(reason) => {
            ("invalid", None, format!("{short} is no resource URI: {reason}"), format!("Take one that {LIST_RESOURCES} shows."))
        }
        ReadError::Provider { provider, error } => {
            let next = match error {
                Error::Invalid(_) => format!("Check the URI against {SEARCH_RESOURCES}; trying the same again gives the same."),
                Error::Denied(_) => "The user has to allow it; trying again does not help.".into(),
                Error::Unavailable { retry_after: Some(after), .. } => {
                    format!("Try again in {}.", humantime::format_duration(std::time::Duration::from_secs(after.as_secs().max(1))))
                }
                Error::Unavailable { .. } | Error::Trapped(_) | Error::DeadlineExceeded(_) => "Try again in a few seconds.".into(),
                Error::Failed(_) | Error::NotFound => "Trying again may not help: tell the user, who finds more in the host's log.".into(),
            };
            (error.kind(), Some(provider), error.to_string(), next)
        }
    };
    let provider = provider.map(|name| format!(", provider: {name}")).unwrap_or_default();
    ToolResult::error(format!("Not read (kind: {kind}{provider}): {message}. {next}"))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn text(text: &str) -> Contents {
        Contents { uri: None, mime_type: Some("text/plain".into()), body: Body::Text(text.into()), meta: None }
    }

    fn shown(result: &ToolResult) -> String {
        let text = |content: &Content| match content {
            Content::Text(text) => text.clone(),
            other => format!("{other:?}"),
        };
        result.content.iter().map(text).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn a_long_text_is_read_in_pieces_cut_between_characters_that_join_to_the_whole() {
        let whole = "äöü🙂".repeat(10);
        for step in 1..12 {
            let (mut joined, mut offset) = (String::new(), 0);
            loop {
                let result = render("x://a", &[text(&whole[..22]), text(&whole[22..])], offset, step, "t-1").structured.unwrap();
                for part in result["contents"].as_array().unwrap() {
                    joined += part["text"].as_str().unwrap();
                }
                assert_eq!(result["total"], 40);
                let Some(next) = result["nextOffset"].as_u64() else { break };
                offset = usize::try_from(next).unwrap();
            }
            assert_eq!(joined, whole, "{step}");
        }
    }

    #[test]
    fn what_is_left_is_said_to_whoever_sees_only_one_form_of_the_result() {
        let result = render("x://a", &[text("abcdef")], 2, 3, "t-1");
        let note =
            "Characters 2 to 5 of 6; 1 more: read_resource with offset 5. Token for wait_for_update, if you have none of it yet: t-1";
        assert_eq!(shown(&result), format!("cde|[{note}]"));
        let structured = result.structured.unwrap();
        assert_eq!((&structured["note"], &structured["nextOffset"], &structured["token"]), (&json!(note), &json!(5), &json!("t-1")));
        let past = render("x://a", &[text("abc")], 3, 3, "t-1");
        assert!(past.is_error && shown(&past).contains("`offset` 3 is past the end: the text of x://a has 3 characters"));
        assert!(!render("x://a", &[text("")], 0, 3, "t-1").is_error, "an empty text is none");
    }

    #[test]
    fn images_come_as_images_small_blobs_as_they_are_and_large_ones_as_links() {
        let of = |mime_type: &str, bytes: usize| {
            let body = Body::Blob(Bytes::from(vec![7; bytes]));
            let result = render("x://a/b", &[Contents { uri: None, mime_type: Some(mime_type.into()), body, meta: None }], 0, 9, "t-1");
            assert_eq!((result.structured, result.is_error), (None, false), "clients would show the structured part alone");
            result.content.into_iter().next().unwrap()
        };
        assert!(matches!(of("Image/PNG; x=1", IMAGE_BYTES), Content::Image { mime_type, .. } if mime_type == "image/png"));
        let link = of("image/png", IMAGE_BYTES + 1);
        assert!(matches!(&link, Content::Link(Link { size: Some(size), name, .. }) if *size == 3_750_001 && name == "b"), "{link:?}");
        assert!(matches!(of("image/tiff", 10), Content::Blob { .. }), "no model takes it as an image");
        assert!(matches!(of("application/pdf", BLOB_BYTES), Content::Blob { data, .. } if data.len() == BLOB_BYTES));
        assert!(matches!(of("application/pdf", BLOB_BYTES + 1), Content::Link(_)));
    }

    #[test]
    fn a_refusal_says_kind_and_provider_and_what_to_do() {
        let of = |error| shown(&refused("x://a", &error));
        assert!(of(ReadError::NotFound).contains("kind: not-found): no provider has x://a. URIs are compared letter by letter"));
        assert!(of(ReadError::InvalidUri("it has no scheme")).contains("x://a is no resource URI: it has no scheme. Take one that"));
        let provider = |error| of(ReadError::Provider { provider: "notes".into(), error });
        let later = Error::Unavailable { message: "busy".into(), retry_after: Some(std::time::Duration::from_millis(2500)) };
        assert!(provider(later).contains("(kind: unavailable, provider: notes): busy. Try again in 2s."));
        assert!(provider(Error::Denied("no".into())).contains("The user has to allow it"));
        assert!(provider(Error::Failed("broken".into())).contains("tell the user"));
        assert!(provider(Error::Trapped("unreachable".into())).contains("Try again in a few seconds"));
    }
}
