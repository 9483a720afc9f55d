//! The files that are listed: found once, and kept up to date by what is told of changes.

use std::{
    collections::{BTreeMap, VecDeque},
    fs::Metadata,
    ops::Bound,
    time::{Duration, Instant, UNIX_EPOCH},
};

use crate::offer::{Found, Named, Offer, join};

/// A walk ends after so long with what it has: half of what a call may take by default.
const LONGEST_WALK: Duration = Duration::from_millis(2500);

/// What a list says of a file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Meta {
    pub size: u64,
    /// Milliseconds since 1970.
    pub modified_ms: Option<f64>,
}

impl Meta {
    pub fn of(metadata: &Metadata) -> Self {
        let since_1970 = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Self { size: metadata.len(), modified_ms: since_1970.map(|past| past.as_millis() as f64) }
    }
}

/// See the module's page.
pub struct Index {
    files: BTreeMap<String, Meta>,
    most: usize,
    /// There are more than are listed.
    cut: bool,
}

/// A part of the list.
pub struct Page<'a> {
    pub files: Vec<(&'a String, &'a Meta)>,
    pub more: bool,
}

impl Index {
    /// Looks into all folders, the upper ones first: of too many files those are listed that are least deep.
    pub fn new(offer: &mut Offer, most: usize) -> Self {
        let mut index = Self { files: BTreeMap::new(), most, cut: false };
        let mut ahead: VecDeque<String> = offer.folders().to_vec().into();
        let began = Instant::now();
        while let Some(folder) = ahead.pop_front() {
            for Named { name, is_folder } in offer.entries(&folder) {
                let path = join(&folder, &name);
                if is_folder {
                    ahead.push_back(path);
                } else if index.files.len() >= most || began.elapsed() > LONGEST_WALK {
                    index.cut = true;
                } else if let Ok(metadata) = std::fs::symlink_metadata(&path) {
                    index.files.insert(path, Meta::of(&metadata));
                }
            }
            if index.cut {
                eprintln!("only {} files are listed; the others can be read all the same (setting: max-files)", index.files.len());
                break;
            }
        }
        index
    }

    /// The files after one, so many at the most.
    pub fn page(&self, after: Option<&str>, most: usize) -> Page<'_> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut rest = self.files.range::<str, _>((from, Bound::Unbounded));
        let files = rest.by_ref().take(most).collect();
        Page { files, more: rest.next().is_some() }
    }

    /// Something changed at a path. Whether the list has other files now.
    pub fn update(&mut self, offer: &mut Offer, path: &str) -> bool {
        match offer.find(path) {
            Some(Found::File(meta)) if self.files.contains_key(path) => {
                self.files.insert(path.to_owned(), meta);
                false
            }
            Some(Found::File(meta)) => {
                self.cut |= self.files.len() >= self.most;
                if !self.cut {
                    self.files.insert(path.to_owned(), meta);
                }
                !self.cut
            }
            // What is in a folder is told of as well.
            Some(Found::Folder) => self.files.remove(path).is_some(),
            None => self.files.remove(path).is_some(),
        }
    }
}
