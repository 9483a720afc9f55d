//! A feed as it is once it has been read, whatever it was written in.

use jiff::{Timestamp, fmt::rfc2822};

/// Items that are kept of a feed. A feed that has more is an archive.
pub const MAX_ITEMS: usize = 200;
/// Bytes of any text in a feed that are kept.
pub const MAX_TEXT: usize = 256 << 10;

#[derive(Debug, Default, Clone, PartialEq)]
pub struct Feed {
    pub title: String,
    pub link: String,
    pub description: String,
    /// As the feed has them, which is newest first by custom.
    pub items: Vec<Item>,
}

#[derive(Debug, Default, Clone, PartialEq)]
pub struct Item {
    /// What the feed itself tells its items apart by.
    pub guid: String,
    pub title: String,
    pub link: String,
    pub author: String,
    pub date: Option<Timestamp>,
    /// Both are plain text by now.
    pub summary: String,
    pub content: String,
}

impl Item {
    /// Part of a URI, and the same as long as the feed means the same item: FNV-1a of 64 bits. Whoever makes two alike only deceives his own feed.
    pub fn id(&self) -> String {
        let text = [&self.guid, &self.link, &self.title].into_iter().find(|text| !text.is_empty());
        let bytes = text.map_or(&[][..], |text| text.as_bytes());
        let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
        format!("{hash:016x}")
    }
}

/// Reads RSS, Atom or JSON Feed.
pub fn parse(bytes: &[u8]) -> Result<Feed, String> {
    let start = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let feed = match start.first() {
        Some(b'{') => crate::json::parse(start),
        Some(b'<') => crate::xml::parse(start),
        Some(_) => Err("it is neither XML nor JSON".into()),
        None => Err("it is empty".into()),
    };
    feed.map(|mut feed| {
        feed.items.retain(|item| *item != Item::default());
        feed
    })
}

/// RFC 3339 as Atom and JSON Feed have it, RFC 2822 as RSS has it.
pub fn date(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    text.parse().ok().or_else(|| rfc2822::DateTimeParser::new().parse_timestamp(text).ok())
}

/// Adds as much as there is room for.
pub fn push(text: &mut String, more: &str) {
    let room = MAX_TEXT.saturating_sub(text.len());
    text.push_str(&more[..more.floor_char_boundary(room)]);
}
