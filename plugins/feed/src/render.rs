//! What clients read: Markdown.

use jiff::Timestamp;

use crate::model::{Feed, Item};

/// Characters of an item's summary among others.
const SUMMARY: usize = 400;

/// The newest items of a feed, each with where the whole of it is.
pub fn feed(name: &str, feed: &Feed, count: usize) -> String {
    let mut text = format!("# {}\n", one_line(if feed.title.is_empty() { name } else { &feed.title }));
    for line in [&feed.description, &feed.link] {
        if !line.is_empty() {
            text += &format!("\n{}\n", one_line(line));
        }
    }
    if feed.items.is_empty() {
        text += "\nThere are no items in it now.\n";
    }
    for item in feed.items.iter().take(count) {
        text += &format!("\n## {}\n\n{}\n", heading(item), facts(item, &[&format!("whole: feed://{name}/{}", item.id())]));
        let summary = if item.summary.is_empty() { &item.content } else { &item.summary };
        if !summary.is_empty() {
            text += &format!("\n{}\n", shortened(&one_line(summary)));
        }
    }
    if feed.items.len() > count {
        text += &format!("\n({} older items are not shown.)\n", feed.items.len() - count);
    }
    text
}

/// One item, whole.
pub fn item(feed: &Feed, item: &Item) -> String {
    let body = if item.content.len() >= item.summary.len() { &item.content } else { &item.summary };
    format!("# {}\n\n{}\n\n{body}\n", heading(item), facts(item, &[&one_line(&feed.title)]))
}

fn heading(item: &Item) -> String {
    let title = if item.title.is_empty() {
        shortened(&one_line(if item.summary.is_empty() { &item.content } else { &item.summary }))
    } else {
        one_line(&item.title)
    };
    let title = if title.is_empty() { "Untitled".into() } else { title };
    if item.link.starts_with("https://") || item.link.starts_with("http://") {
        let link: String = item.link.chars().filter(|c| !c.is_whitespace() && !c.is_control()).collect();
        return format!("[{}]({})", title.replace('[', "(").replace(']', ")"), link.replace(')', "%29"));
    }
    title
}

fn facts(item: &Item, more: &[&str]) -> String {
    let (date, author) = (item.date.map(day_and_time), one_line(&item.author));
    let parts = [date.as_deref(), Some(author.as_str())].into_iter().flatten().chain(more.iter().copied());
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect::<Vec<_>>().join(" · ")
}

fn day_and_time(date: Timestamp) -> String {
    date.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SUMMARY) {
        Some((at, _)) => format!("{}…", text[..at].trim_end()),
        None => text.to_owned(),
    }
}

/// FNV-1a of 64 bits: it differs when the text does, but for one who makes it not to, and he deceives only himself.
pub fn version(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}-{}", text.len())
}
