//! Pages of the merged lists, and the cursors that lead from one to the next.
//!
//! A cursor names the snapshot it was made for, so paging sees one list from beginning to end, whatever changes meanwhile; for callers of
//! another view than the list's it is none. A snapshot is kept
//! only once a cursor into it went out, for [`CURSOR_LIFE`] after it was last used, and within [`PINNED_BYTES`].

use std::{collections::HashMap, ops::Range, sync::Arc, time::Duration};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::snapshot::Merged;
use crate::provider::{ResourceInfo, TemplateInfo};

/// Entries on one page: a few hundred KiB of JSON.
pub const PAGE_ENTRIES: usize = 1_000;
/// Bytes its entries may take, the first one aside: a page is written as a whole, for each client that asks.
pub const PAGE_BYTES: usize = 4 << 20;
/// How long a cursor is good after it, or one into the same snapshot, was last used.
pub const CURSOR_LIFE: Duration = Duration::from_secs(60);
/// What all kept snapshots may take; past it the one longest unused goes. As much as the longest list of one provider.
pub const PINNED_BYTES: usize = super::lists::LIST_BYTES;
/// What an entry of a snapshot that lives on elsewhere takes.
const HANDLE_BYTES: usize = size_of::<Arc<ResourceInfo>>();

/// A cursor that is not of this host, was given to callers of another view, or whose snapshot is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no such cursor, or it has expired: start again from the first page")]
pub struct CursorError;

/// Which of the two lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(super) enum Kind {
    Resources = 1,
    Templates = 2,
    /// Steps through the list by rules of somebody else's.
    ResourceSteps = 3,
    TemplateSteps = 4,
}

/// One page of a merged list.
#[derive(Debug, Clone)]
pub struct Page {
    /// The snapshot it is a page of.
    pub list: Arc<Merged>,
    /// Which of its resources, or templates.
    pub range: Range<usize>,
    /// The cursor of the next page; absent on the last one. The same for the same page.
    pub next: Option<String>,
}

struct Pinned {
    list: Arc<Merged>,
    bytes: usize,
    used: Instant,
}

/// Where the pages of one list end, as far as somebody asked: finding out takes a look at each entry of the page.
#[derive(Default)]
struct Ends {
    /// The list's.
    number: u64,
    /// By where they begin.
    known: HashMap<(Kind, usize), usize>,
}

/// The snapshots that cursors lead into.
pub(super) struct Pins {
    /// Tells this host's cursors from those of another, or of this one before a restart.
    mark: [u8; 8],
    pinned: Mutex<HashMap<u64, Pinned>>,
    /// Of the list asked for last.
    ends: Mutex<Ends>,
}

impl Pins {
    pub(super) fn new(mark: [u8; 8]) -> Self {
        Self { mark, pinned: Mutex::default(), ends: Mutex::default() }
    }

    /// The page a cursor names, or without one the first of the current list of the caller's view.
    pub(super) fn page(&self, current: &Arc<Merged>, kind: Kind, cursor: Option<&str>) -> Result<Page, CursorError> {
        let Some(cursor) = cursor else { return Ok(self.cut(current.clone(), kind, 0)) };
        let (number, start) = self.decode(kind, cursor).ok_or(CursorError)?;
        let list = match self.pinned.lock().get_mut(&number) {
            Some(pinned) if pinned.used.elapsed() <= CURSOR_LIFE && pinned.list.view == current.view => {
                pinned.used = Instant::now();
                pinned.list.clone()
            }
            _ => return Err(CursorError),
        };
        if start >= length(&list, kind) {
            return Err(CursorError);
        }
        Ok(self.cut(list, kind, start))
    }

    /// A cursor that leads to this entry of this list.
    pub(super) fn cursor(&self, list: &Arc<Merged>, kind: Kind, start: usize) -> String {
        self.pin(list);
        self.encode(kind, list.number, start)
    }

    fn cut(&self, list: Arc<Merged>, kind: Kind, start: usize) -> Page {
        let end = self.end(&list, kind, start);
        let next = (end < length(&list, kind)).then(|| {
            self.pin(&list);
            self.encode(kind, list.number, end)
        });
        Page { list, range: start..end, next }
    }

    fn end(&self, list: &Merged, kind: Kind, start: usize) -> usize {
        let mut ends = self.ends.lock();
        if ends.number != list.number {
            *ends = Ends { number: list.number, known: HashMap::new() };
        }
        *ends.known.entry((kind, start)).or_insert_with(|| match kind {
            Kind::Resources | Kind::ResourceSteps => end_of_page(&list.resources, start, ResourceInfo::weight),
            Kind::Templates | Kind::TemplateSteps => end_of_page(&list.templates, start, TemplateInfo::weight),
        })
    }

    fn pin(&self, list: &Arc<Merged>) {
        let mut pinned = self.pinned.lock();
        let now = Instant::now();
        pinned.retain(|_, pin| now.duration_since(pin.used) <= CURSOR_LIFE);
        pinned.entry(list.number).or_insert_with(|| Pinned { list: list.clone(), bytes: weight(list), used: now }).used = now;
        while pinned.len() > 1 && pinned.values().map(|pin| pin.bytes).sum::<usize>() > PINNED_BYTES {
            let oldest =
                pinned.iter().filter(|(number, _)| **number != list.number).min_by_key(|(_, pin)| pin.used).map(|(number, _)| *number);
            oldest.map(|number| pinned.remove(&number));
        }
    }

    fn encode(&self, kind: Kind, number: u64, start: usize) -> String {
        let mut bytes = [0; 21];
        bytes[..8].copy_from_slice(&self.mark);
        bytes[8] = kind as u8;
        bytes[9..17].copy_from_slice(&number.to_be_bytes());
        bytes[17..].copy_from_slice(&u32::try_from(start).unwrap_or(u32::MAX).to_be_bytes());
        BASE64_URL_SAFE_NO_PAD.encode(bytes)
    }

    fn decode(&self, kind: Kind, cursor: &str) -> Option<(u64, usize)> {
        let mut bytes = [0; 21];
        let length = BASE64_URL_SAFE_NO_PAD.decode_slice(cursor, &mut bytes).ok()?;
        if length != bytes.len() || bytes[..8] != self.mark || bytes[8] != kind as u8 {
            return None;
        }
        let number = u64::from_be_bytes(bytes[9..17].try_into().ok()?);
        Some((number, u32::from_be_bytes(bytes[17..].try_into().ok()?) as usize))
    }
}

fn length(list: &Merged, kind: Kind) -> usize {
    match kind {
        Kind::Resources | Kind::ResourceSteps => list.resources.len(),
        Kind::Templates | Kind::TemplateSteps => list.templates.len(),
    }
}

/// Where the page ends that begins at `start`: the same for the same list, so that pages neither overlap nor leave a gap.
fn end_of_page<T>(entries: &[Arc<T>], start: usize, weight: impl Fn(&T) -> usize) -> usize {
    let mut bytes = 0;
    let fitting = entries.iter().skip(start).take(PAGE_ENTRIES).take_while(|entry| {
        let is_first = bytes == 0;
        bytes += weight(entry);
        is_first || bytes <= PAGE_BYTES
    });
    start + fitting.count()
}

/// What keeping a list costs if nobody else keeps its entries.
fn weight(list: &Merged) -> usize {
    let resources: usize = list.resources.iter().map(|resource| HANDLE_BYTES + resource.weight()).sum();
    let templates: usize = list.templates.iter().map(|template| HANDLE_BYTES + template.weight()).sum();
    resources + templates
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(number: u64, length: usize) -> Arc<Merged> {
        let resources = (0..length).map(|n| Arc::new(ResourceInfo::new(format!("x://{number}/{n}"), "n"))).collect();
        Arc::new(Merged { number, resources, ..Merged::default() })
    }

    fn pins() -> Pins {
        Pins::new(*b"this one")
    }

    #[tokio::test(start_paused = true)]
    async fn paging_sees_each_entry_of_one_snapshot_once_whatever_changes_meanwhile() {
        let pins = pins();
        let first = list(1, 2_500);
        let mut page = pins.page(&first, Kind::Resources, None).unwrap();
        let mut seen = Vec::new();
        loop {
            seen.extend(page.list.resources[page.range.clone()].iter().map(|resource| resource.uri.clone()));
            let Some(next) = page.next else { break };
            page = pins.page(&list(2, 10), Kind::Resources, Some(&next)).unwrap();
        }
        assert_eq!(seen, first.resources.iter().map(|resource| resource.uri.clone()).collect::<Vec<_>>());
    }

    #[tokio::test(start_paused = true)]
    async fn a_foreign_cursor_is_refused() {
        let pins = pins();
        let list = list(1, 2_500);
        let other = Pins::new(*b"that one").page(&list, Kind::Resources, None).unwrap().next.unwrap();
        let own = pins.page(&list, Kind::Resources, None).unwrap().next.unwrap();
        let beyond = pins.encode(Kind::Resources, 1, 3_000);
        for cursor in [other.as_str(), "", "nonsense", "AAAA", &own[1..], &beyond, &"A".repeat(1 << 20)] {
            assert_eq!(pins.page(&list, Kind::Resources, Some(cursor)).err(), Some(CursorError), "{cursor:.40}");
        }
        assert_eq!(pins.page(&list, Kind::Templates, Some(&own)).err(), Some(CursorError), "it is one of the other list");
        assert!(pins.page(&list, Kind::Resources, Some(&own)).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_cursor_expires_a_minute_after_its_last_use() {
        let pins = pins();
        let list = list(1, 2_500);
        let cursor = pins.page(&list, Kind::Resources, None).unwrap().next.unwrap();
        for _ in 0..3 {
            tokio::time::advance(CURSOR_LIFE).await;
            assert!(pins.page(&list, Kind::Resources, Some(&cursor)).is_ok());
        }
        tokio::time::advance(CURSOR_LIFE + Duration::from_millis(1)).await;
        assert_eq!(pins.page(&list, Kind::Resources, Some(&cursor)).err(), Some(CursorError));
    }

    #[tokio::test(start_paused = true)]
    async fn kept_snapshots_are_bounded_in_bytes() {
        let pins = pins();
        let big = |number| {
            let mut resource = ResourceInfo::new("x://a", "a");
            resource.description = Some("a".repeat(PINNED_BYTES / 2 / (PAGE_ENTRIES + 1)));
            let resource = Arc::new(resource);
            Arc::new(Merged { number, resources: (0..=PAGE_ENTRIES).map(|_| resource.clone()).collect(), ..Merged::default() })
        };
        let cursors: Vec<_> = (0..4).map(|number| pins.page(&big(number), Kind::Resources, None).unwrap().next.unwrap()).collect();
        assert!(pins.page(&list(9, 0), Kind::Resources, Some(&cursors[0])).is_err());
        assert!(pins.page(&list(9, 0), Kind::Resources, Some(&cursors[3])).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_of_large_entries_is_shorter_and_paging_still_sees_each_once() {
        let pins = pins();
        let resources = (0..20).map(|n| {
            let mut resource = ResourceInfo::new(format!("x://{n}"), "n");
            // The last ones take more than a page may, each.
            resource.description = Some("a".repeat(if n < 15 { PAGE_BYTES / 4 } else { PAGE_BYTES + 1 }));
            Arc::new(resource)
        });
        let all = Arc::new(Merged { number: 1, resources: resources.collect(), ..Merged::default() });
        let mut page = pins.page(&all, Kind::Resources, None).unwrap();
        let mut ranges = vec![page.range.clone()];
        while let Some(next) = page.next {
            page = pins.page(&all, Kind::Resources, Some(&next)).unwrap();
            ranges.push(page.range.clone());
        }
        assert_eq!(ranges, [0..3, 3..6, 6..9, 9..12, 12..15, 15..16, 16..17, 17..18, 18..19, 19..20]);
    }
}
