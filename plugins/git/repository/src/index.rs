//! `.git/index`, versions 2 to 4: what the next commit would hold, and what git knew of each file when it last looked.

use std::{collections::HashMap, path::Path};

use crate::{
    error::{Error, Result},
    files,
    id::{LENGTH, ObjectId},
    tree::{EntryKind, MAX_PATH_BYTES, is_path},
};

/// Bytes of an index: some 300,000 files.
const MAX_BYTES: u64 = 32 << 20;
/// The fixed part of an entry.
const ENTRY: usize = 62;
const STAT: usize = 40;
const ASSUME_VALID: u16 = 0x8000;
const EXTENDED: u16 = 0x4000;
const SKIP_WORKTREE: u16 = 0x4000;
const INTENT_TO_ADD: u16 = 0x2000;

/// What git knew of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry {
    pub path: Vec<u8>,
    pub kind: EntryKind,
    pub id: ObjectId,
    /// Seconds and nanoseconds.
    pub modified: (u32, u32),
    /// The lower 32 bits.
    pub size: u32,
    /// 0, or which side of a conflict: base, ours, theirs.
    pub stage: u8,
    /// The user has said that the file does not count.
    pub skipped: bool,
    /// Only its name is there yet.
    pub intent: bool,
}

#[derive(Debug, Default)]
pub struct Index {
    /// By path, then by stage.
    pub entries: Vec<IndexEntry>,
    /// Folders whose entries are those of a tree: how many they are, and which tree.
    pub trees: HashMap<Vec<u8>, (usize, ObjectId)>,
}

impl Index {
    /// The index in this file; an empty one if there is none, as before the first `git add`.
    pub fn read(path: &Path) -> Result<Self> {
        match files::read(path, MAX_BYTES)? {
            Some(content) => Reader { content: &content, at: 0, path }.index(),
            None => Ok(Self::default()),
        }
    }

    /// The entries at and below a folder, `""` for all.
    pub fn below(&self, folder: &[u8]) -> std::ops::Range<usize> {
        if folder.is_empty() {
            return 0..self.entries.len();
        }
        let mut prefix = folder.to_vec();
        prefix.push(b'/');
        let start = self.entries.partition_point(|entry| entry.path < prefix);
        let end = self.entries.partition_point(|entry| entry.path < prefix || entry.path.starts_with(&prefix));
        start..end
    }

    /// The first entry of this path, whatever its stage.
    pub fn position(&self, path: &[u8]) -> Option<usize> {
        let at = self.entries.partition_point(|entry| entry.path.as_slice() < path);
        self.entries.get(at).is_some_and(|entry| entry.path == path).then_some(at)
    }
}

struct Reader<'a> {
    content: &'a [u8],
    at: usize,
    path: &'a Path,
}

impl<'a> Reader<'a> {
    fn index(mut self) -> Result<Index> {
        let body = self.content.len().checked_sub(LENGTH).ok_or_else(|| self.damaged("it is too short"))?;
        let (content, checksum) = self.content.split_at(body);
        // All zeros where index.skipHash is set.
        if checksum.iter().any(|byte| *byte != 0) && ObjectId::sha1(content).bytes() != checksum {
            return Err(self.damaged("its checksum is another one's"));
        }
        self.content = content;
        if self.take(4)? != b"DIRC" {
            return Err(self.damaged("it is no index"));
        }
        let version = self.number()?;
        if !(2..=4).contains(&version) {
            return Err(Error::Unsupported(format!("an index of version {version}; 2 to 4 are supported")));
        }
        let count = self.number()? as usize;
        if count > content.len() / (ENTRY + 1) + 1 {
            return Err(self.damaged("it is too short for what it says it holds"));
        }
        let mut index = Index { entries: Vec::with_capacity(count), trees: HashMap::new() };
        let mut path = Vec::new();
        for _ in 0..count {
            let entry = self.entry(version, &mut path)?;
            if index.entries.last().is_some_and(|last| (&last.path, last.stage) >= (&entry.path, entry.stage)) {
                return Err(self.damaged("its entries are not in order"));
            }
            index.entries.push(entry);
        }
        while self.at < content.len() {
            let name = self.take(4)?;
            let size = self.number()? as usize;
            let data = self.take(size)?;
            match name {
                b"TREE" => index.trees = trees(data),
                b"link" => return Err(split()),
                b"sdir" => return Err(sparse()),
                // A capital: it may be passed over.
                [b'A'..=b'Z', ..] => {}
                name => return Err(Error::Unsupported(format!("an index with the extension {:?}", String::from_utf8_lossy(name)))),
            }
        }
        Ok(index)
    }

    fn entry(&mut self, version: u32, path: &mut Vec<u8>) -> Result<IndexEntry> {
        let begin = self.at;
        let stat = self.take(STAT)?;
        let field = |at: usize| stat.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_be_bytes);
        let (modified, mode, size) = ((field(8), field(12)), field(24), field(36));
        let id = ObjectId::from_bytes(self.take(LENGTH)?).ok_or_else(|| self.damaged("it is cut off"))?;
        let flags = self.short()?;
        let more = if flags & EXTENDED != 0 { self.short()? } else { 0 };
        if version == 4 {
            let cut = self.varint()?;
            let kept = path.len().checked_sub(cut).ok_or_else(|| self.damaged("a path that cannot be made from the one before"))?;
            path.truncate(kept);
        } else {
            path.clear();
        }
        let rest = self.content.get(self.at..).unwrap_or_default();
        let end =
            rest.iter().take(MAX_PATH_BYTES + 1).position(|byte| *byte == 0).ok_or_else(|| self.damaged("a path that does not end"))?;
        path.extend_from_slice(self.take(end)?);
        if version == 4 {
            self.take(1)?;
        } else {
            // One to eight, so that the next begins at a multiple of eight.
            self.take(8 - (self.at - begin) % 8)?;
        }
        let shown = String::from_utf8_lossy(path).into_owned();
        let kind = EntryKind::of(mode).ok_or_else(|| self.damaged(&format!("{shown:?} has a mode that does not exist")))?;
        if kind == EntryKind::Tree {
            return Err(sparse());
        }
        // How a split index changes an entry of the file that it shares.
        if path.is_empty() {
            return Err(split());
        }
        if !is_path(path) || path.len() > MAX_PATH_BYTES {
            return Err(self.damaged(&format!("a path that leads elsewhere, {shown:?}")));
        }
        Ok(IndexEntry {
            path: path.clone(),
            kind,
            id,
            modified,
            size,
            stage: u8::try_from(flags >> 12 & 3).unwrap_or_default(),
            skipped: flags & ASSUME_VALID != 0 || more & SKIP_WORKTREE != 0,
            intent: more & INTENT_TO_ADD != 0,
        })
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(length);
        let Some(bytes) = end.and_then(|end| self.content.get(self.at..end)) else { return Err(self.damaged("it is cut off")) };
        self.at += length;
        Ok(bytes)
    }

    fn number(&mut self) -> Result<u32> {
        Ok(self.take(4)?.try_into().map_or(0, u32::from_be_bytes))
    }

    fn short(&mut self) -> Result<u16> {
        Ok(self.take(2)?.try_into().map_or(0, u16::from_be_bytes))
    }

    fn varint(&mut self) -> Result<usize> {
        let mut value = 0usize;
        loop {
            let byte = self.take(1)?.first().copied().unwrap_or_default();
            value = value << 7 | usize::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
            value += 1;
            if value > MAX_PATH_BYTES {
                return Err(self.damaged("a path that cannot be made from the one before"));
            }
        }
    }

    fn damaged(&self, why: &str) -> Error {
        Error::damaged(self.path.display().to_string(), why)
    }
}

fn split() -> Error {
    Error::Unsupported("a split index: `git update-index --no-split-index` joins it".into())
}

fn sparse() -> Error {
    Error::Unsupported("a sparse index: `git sparse-checkout reapply --no-sparse-index` makes a full one".into())
}

/// The extension `TREE`. It only saves work, so what cannot be read of it is left out.
fn trees(data: &[u8]) -> HashMap<Vec<u8>, (usize, ObjectId)> {
    let mut trees = HashMap::new();
    // Folders whose subfolders follow, and how many.
    let mut open: Vec<(Vec<u8>, usize)> = Vec::new();
    let mut rest = data;
    while let Some((path, after, count, below, id)) = tree(rest) {
        rest = after;
        while open.last().is_some_and(|(_, missing)| *missing == 0) {
            open.pop();
        }
        let full = match open.last_mut() {
            Some((folder, missing)) => {
                *missing -= 1;
                let mut full = folder.clone();
                if !full.is_empty() {
                    full.push(b'/');
                }
                full.extend_from_slice(path);
                full
            }
            None => path.to_vec(),
        };
        if full.len() > MAX_PATH_BYTES {
            break;
        }
        if let (Ok(count), Some(id)) = (usize::try_from(count), id) {
            trees.insert(full.clone(), (count, id));
        }
        open.push((full, below));
    }
    trees
}

type TreeEntry<'a> = (&'a [u8], &'a [u8], i64, usize, Option<ObjectId>);

fn tree(data: &[u8]) -> Option<TreeEntry<'_>> {
    let end = data.iter().position(|byte| *byte == 0)?;
    let (path, rest) = (data.get(..end)?, data.get(end + 1..)?);
    let line = rest.iter().position(|byte| *byte == b'\n')?;
    let (count, below) = std::str::from_utf8(rest.get(..line)?).ok()?.split_once(' ')?;
    let (count, below) = (count.parse().ok()?, below.parse().ok()?);
    let rest = rest.get(line + 1..)?;
    if count < 0 {
        return Some((path, rest, count, below, None));
    }
    let (id, rest) = rest.split_at_checked(LENGTH)?;
    Some((path, rest, count, below, ObjectId::from_bytes(id)))
}
