//! The pages of the lists as JSON, each written once per change of the catalog.
//!
//! Invariant: a page is known by the number of its list, so a changed list is never served from here; what is kept is bounded in bytes.

use std::collections::VecDeque;

use bytes::Bytes;
use parking_lot::Mutex;

use super::encode::{END, Each, ResourceJson, TemplateJson};
use crate::catalog::Page;

/// JSON kept, in bytes. Past it the pages written longest ago go: those of older lists come first. A page is at most some hundred
/// kilobytes, so this holds all pages of what clients page through at once.
const KEPT: usize = 8 << 20;

/// Which list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `resources/list`.
    Resources,
    /// `resources/templates/list`.
    Templates,
}

#[derive(PartialEq, Eq)]
struct Key {
    number: u64,
    kind: Kind,
    start: usize,
    end: usize,
}

#[derive(Default)]
struct Kept {
    /// In the order in which they were written. There are few: one or two for each list of the last moments.
    pages: VecDeque<(Key, Bytes)>,
    bytes: usize,
}

/// The pages.
#[derive(Default)]
pub struct Pages {
    kept: Mutex<Kept>,
}

impl Pages {
    /// The page's entries as a JSON array, with [`END`] behind it.
    pub fn json_and_end(&self, kind: Kind, page: &Page) -> Result<Bytes, serde_json::Error> {
        let key = Key { number: page.list.number, kind, start: page.range.start, end: page.range.end };
        if let Some((_, json)) = self.kept.lock().pages.iter().rev().find(|(known, _)| *known == key) {
            return Ok(json.clone());
        }
        let mut json = match kind {
            Kind::Resources => {
                let entries = page.list.resources.get(page.range.clone()).unwrap_or_default();
                serde_json::to_vec(&Each(|| entries.iter().map(|info| ResourceJson(info))))
            }
            Kind::Templates => {
                let entries = page.list.templates.get(page.range.clone()).unwrap_or_default();
                serde_json::to_vec(&Each(|| entries.iter().map(|info| TemplateJson(info))))
            }
        }?;
        json.extend_from_slice(END);
        // It is kept: the room that was left for more is given back.
        let json = Bytes::from(json.into_boxed_slice());
        self.kept.lock().keep(key, json.clone());
        Ok(json)
    }
}

impl Kept {
    fn keep(&mut self, key: Key, json: Bytes) {
        if json.len() > KEPT || self.pages.iter().any(|(known, _)| *known == key) {
            return;
        }
        self.bytes += json.len();
        self.pages.push_back((key, json));
        while self.bytes > KEPT {
            let Some((_, oldest)) = self.pages.pop_front() else { break };
            self.bytes -= oldest.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        catalog::Merged,
        provider::{ResourceInfo, TemplateInfo},
    };

    fn list(number: u64, name: &str) -> Arc<Merged> {
        let resources = (0..4).map(|n| Arc::new(ResourceInfo::new(format!("x://{n}"), name))).collect();
        let templates = vec![Arc::new(TemplateInfo::new("x://{a}", name))];
        Arc::new(Merged { number, resources, templates, ..Merged::default() })
    }

    fn page(list: &Arc<Merged>, range: std::ops::Range<usize>) -> Page {
        Page { list: list.clone(), range, next: None }
    }

    #[test]
    fn a_page_is_written_once_per_change() {
        let pages = Pages::default();
        let old = list(1, "old");
        let first = pages.json_and_end(Kind::Resources, &page(&old, 0..2)).unwrap();
        assert_eq!(&first[..], br#"[{"uri":"x://0","name":"old"},{"uri":"x://1","name":"old"}]}}"#);
        assert_eq!(pages.json_and_end(Kind::Resources, &page(&old, 0..2)).unwrap().as_ptr(), first.as_ptr());
        assert_ne!(pages.json_and_end(Kind::Resources, &page(&old, 2..4)).unwrap(), first);
        assert_eq!(&pages.json_and_end(Kind::Templates, &page(&old, 0..1)).unwrap()[..], br#"[{"uriTemplate":"x://{a}","name":"old"}]}}"#);
        let new = pages.json_and_end(Kind::Resources, &page(&list(2, "new"), 0..2)).unwrap();
        assert!(String::from_utf8_lossy(&new).contains("new"));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let pages = Pages::default();
        let name = "n".repeat(KEPT / 16);
        for number in 0..20 {
            pages.json_and_end(Kind::Resources, &page(&list(number, &name), 0..4)).unwrap();
        }
        let kept = pages.kept.lock();
        assert!(kept.bytes <= KEPT && kept.pages.len() < 5);
        assert_eq!(kept.bytes, kept.pages.iter().map(|(_, json)| json.len()).sum::<usize>());
        drop(kept);
        let huge = pages.json_and_end(Kind::Resources, &page(&list(99, &"n".repeat(KEPT)), 0..1)).unwrap();
        assert!(huge.len() > KEPT, "served, though too large to be kept");
        assert!(pages.kept.lock().pages.iter().all(|(key, _)| key.number != 99));
    }

    #[test]
    fn a_range_beyond_the_list_is_empty_not_a_panic() {
        assert_eq!(&Pages::default().json_and_end(Kind::Resources, &page(&list(1, "a"), 3..9)).unwrap()[..], b"[]}}");
    }
}
