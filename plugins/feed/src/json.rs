//! JSON Feed 1.1 (jsonfeed.org).

use serde_json::Value;

use crate::{
    model::{Feed, Item, MAX_ITEMS, date, push},
    text::plain,
};

pub fn parse(bytes: &[u8]) -> Result<Feed, String> {
    let json: Value = serde_json::from_slice(bytes).map_err(|error| format!("it is no JSON: {error}"))?;
    if !json["version"].as_str().is_some_and(|version| version.contains("jsonfeed.org")) {
        return Err("it is JSON, and no JSON Feed: it has no version of one".into());
    }
    let text = |value: &Value| {
        let mut text = String::new();
        push(&mut text, value.as_str().unwrap_or_default().trim());
        text
    };
    let item = |item: &Value| {
        let author = if item["authors"].is_array() { &item["authors"][0]["name"] } else { &item["author"]["name"] };
        Item {
            // Numbers are not what the specification says, and what some write.
            guid: item["id"]
                .as_str()
                .map_or_else(|| if item["id"].is_null() { String::new() } else { item["id"].to_string() }, str::to_owned),
            title: text(&item["title"]),
            link: text(if item["url"].is_string() { &item["url"] } else { &item["external_url"] }),
            author: text(author),
            date: [&item["date_published"], &item["date_modified"]].into_iter().find_map(|value| date(value.as_str()?)),
            summary: text(&item["summary"]),
            content: match item["content_html"].as_str() {
                Some(html) => plain(html),
                None => text(&item["content_text"]),
            },
        }
    };
    Ok(Feed {
        title: text(&json["title"]),
        link: text(&json["home_page_url"]),
        description: text(&json["description"]),
        items: json["items"].as_array().into_iter().flatten().take(MAX_ITEMS).map(item).collect(),
    })
}
