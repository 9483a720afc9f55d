//! HTML as text that a model reads easily: Markdown for what carries meaning (links, headings, lists, code), and nothing of the rest.

use crate::model::{MAX_TEXT, push};

/// Whose content is not for readers.
const SILENT: [&str; 7] = ["script", "style", "head", "template", "iframe", "object", "noscript"];
/// Before and after which a line ends.
const BLOCKS: [&str; 22] = [
    "p",
    "div",
    "br",
    "ul",
    "ol",
    "table",
    "tr",
    "blockquote",
    "section",
    "article",
    "header",
    "footer",
    "figure",
    "figcaption",
    "hr",
    "pre",
    "dl",
    "dt",
    "dd",
    "main",
    "aside",
    "nav",
];

/// Bytes of a tag: whatever opens one and does not end it is text, and is not searched to the end again and again.
const MAX_TAG: usize = 4 << 10;
/// Bytes of the longest name between `&` and `;`, likewise.
const MAX_ENTITY: usize = 32;

/// The text of a piece of HTML. Linear in its length, and no longer than [`MAX_TEXT`].
pub fn plain(html: &str) -> String {
    let mut out = Out::default();
    let mut rest = html;
    let mut links: Vec<(usize, String)> = Vec::new();
    let mut silent: Option<String> = None;
    while let Some(at) = rest.find('<') {
        if silent.is_none() {
            out.text(&unescaped(&rest[..at]));
        }
        rest = &rest[at..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
            continue;
        }
        // What does not look like a tag is text.
        let is_tag = rest[1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '!' || c == '?');
        let Some(end) = found(rest, b'>', MAX_TAG).filter(|_| is_tag) else {
            if silent.is_none() {
                out.text("<");
            }
            rest = &rest[1..];
            continue;
        };
        let (tag, after) = (&rest[1..end], &rest[end + 1..]);
        rest = after;
        let closes = tag.starts_with('/');
        let name: String =
            tag.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
        if let Some(of) = &silent {
            if closes && *of == name {
                silent = None;
            }
            continue;
        }
        match (name.as_str(), closes) {
            (name, false) if SILENT.contains(&name) && !tag.ends_with('/') => silent = Some(name.to_owned()),
            ("a", false) => links.push((out.bytes(), attribute(tag, "href"))),
            ("a", true) => {
                if let Some((start, href)) = links.pop() {
                    out.link(start, &href);
                }
            }
            ("img", false) => out.text(&attribute(tag, "alt")),
            ("li", false) => out.line("- "),
            ("h1" | "h2" | "h3" | "h4" | "h5" | "h6", false) => out.line("### "),
            ("h1" | "h2" | "h3" | "h4" | "h5" | "h6", true) => out.line(""),
            ("code", _) => out.text("`"),
            ("strong" | "b", _) => out.text("**"),
            (name, _) if BLOCKS.contains(&name) => out.line(""),
            ("td" | "th", true) => out.text(" "),
            _ => {}
        }
    }
    if silent.is_none() {
        out.text(&unescaped(rest));
    }
    out.text.trim().to_owned()
}

/// Joins white space, and ends lines no more than twice.
#[derive(Default)]
struct Out {
    text: String,
    space: bool,
}

impl Out {
    fn bytes(&self) -> usize {
        self.text.len()
    }

    fn text(&mut self, more: &str) {
        for word in more.split_inclusive(char::is_whitespace) {
            let bare = word.trim_end();
            if !bare.is_empty() {
                if self.space && !self.text.is_empty() && !self.text.ends_with(['\n', ' ']) {
                    push(&mut self.text, " ");
                }
                push(&mut self.text, bare);
                self.space = false;
            }
            self.space |= bare.len() < word.len();
        }
    }

    fn line(&mut self, start: &str) {
        while self.text.ends_with(' ') {
            self.text.pop();
        }
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            let ends = if self.text.ends_with('\n') || start == "- " { "\n" } else { "\n\n" };
            push(&mut self.text, ends);
        }
        push(&mut self.text, start);
        self.space = false;
    }

    fn link(&mut self, start: usize, href: &str) {
        let shown = self.text.get(start..).unwrap_or_default().trim();
        let is_link = href.starts_with("https://") || href.starts_with("http://");
        if !is_link
            || shown.is_empty()
            || shown.contains('\n')
            || shown == href
            || href.len() > 2000
            || self.text.len() + href.len() + 4 > MAX_TEXT
        {
            return;
        }
        let lead = self.text[start..].len() - self.text[start..].trim_start().len();
        self.text.insert(start + lead, '[');
        self.text.push_str("](");
        self.text.push_str(&href.replace(')', "%29").replace(' ', "%20"));
        self.text.push(')');
    }
}

fn attribute(tag: &str, name: &str) -> String {
    let lower = tag.to_ascii_lowercase();
    let mut from = 0;
    while let Some(at) = lower[from..].find(name).map(|at| at + from) {
        from = at + name.len();
        let own = lower[..at].ends_with(|c: char| c.is_ascii_whitespace() || c == '"' || c == '\'');
        let Some(value) = tag[from..].trim_start().strip_prefix('=').filter(|_| own) else { continue };
        let value = value.trim_start();
        let value = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => value[1..].split(quote).next(),
            _ => value.split(|c: char| c.is_ascii_whitespace()).next(),
        };
        return unescaped(value.unwrap_or_default());
    }
    String::new()
}

/// Resolves what stands between `&` and `;`; what is unknown stays.
pub fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let name = found(rest, b';', MAX_ENTITY).map(|end| &rest[1..end]);
        match name.and_then(|name| Some((name, entity(name)?))) {
            Some((name, character)) => {
                out.push_str(&character);
                rest = &rest[name.len() + 2..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// Where the first of these bytes, an ASCII character, is within so many.
fn found(text: &str, byte: u8, within: usize) -> Option<usize> {
    text.as_bytes().iter().take(within).position(|other| *other == byte)
}

/// XML's, the usual ones of HTML, and characters by number.
pub fn entity(name: &str) -> Option<String> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16),
            None => number.parse(),
        };
        return char::from_u32(code.ok()?).filter(|c| *c != '\0').map(String::from);
    }
    let text = match name {
        "amp" => "&",
        "lt" => "<",
        "gt" => ">",
        "quot" => "\"",
        "apos" => "'",
        "nbsp" => " ",
        "ndash" => "–",
        "mdash" => "—",
        "hellip" => "…",
        "lsquo" => "‘",
        "rsquo" => "’",
        "sbquo" => "‚",
        "ldquo" => "“",
        "rdquo" => "”",
        "bdquo" => "„",
        "laquo" => "«",
        "raquo" => "»",
        "bull" => "•",
        "middot" => "·",
        "copy" => "©",
        "reg" => "®",
        "trade" => "™",
        "euro" => "€",
        "pound" => "£",
        "deg" => "°",
        "times" => "×",
        "rarr" => "→",
        "larr" => "←",
        "shy" => "",
        "auml" => "ä",
        "ouml" => "ö",
        "uuml" => "ü",
        "Auml" => "Ä",
        "Ouml" => "Ö",
        "Uuml" => "Ü",
        "szlig" => "ß",
        "eacute" => "é",
        "egrave" => "è",
        "agrave" => "à",
        "ccedil" => "ç",
        "ntilde" => "ñ",
        _ => return None,
    };
    Some(text.into())
}
