//! Folders as git stores them.

use crate::{
    error::{Error, Result},
    id::{LENGTH, ObjectId},
};

/// Entries of one tree. The largest folders of real repositories have some ten thousand.
const MAX_ENTRIES: usize = 500_000;

/// Bytes of a path, as of a file system's.
pub const MAX_PATH_BYTES: usize = 4096;

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A folder.
    Tree,
    /// A file.
    File,
    /// A file that may be executed.
    Executable,
    /// A symbolic link; its content is where it leads.
    Link,
    /// A commit of another repository.
    Submodule,
}

impl EntryKind {
    pub(crate) fn of(mode: u32) -> Option<Self> {
        match mode & 0o170_000 {
            0o040_000 => Some(Self::Tree),
            0o100_000 if mode & 0o100 != 0 => Some(Self::Executable),
            0o100_000 => Some(Self::File),
            0o120_000 => Some(Self::Link),
            0o160_000 => Some(Self::Submodule),
            _ => None,
        }
    }

    /// As git writes it, with six digits.
    pub fn mode(self) -> &'static str {
        match self {
            Self::Tree => "040000",
            Self::File => "100644",
            Self::Executable => "100755",
            Self::Link => "120000",
            Self::Submodule => "160000",
        }
    }
}

/// One name in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name; any bytes but `/` and NUL.
    pub name: Vec<u8>,
    /// What it is.
    pub kind: EntryKind,
    /// Its content.
    pub id: ObjectId,
}

impl Entry {
    /// What it is sorted by: a folder as if its name ended with `/`.
    pub(crate) fn key(&self) -> impl Iterator<Item = u8> + '_ {
        self.name.iter().copied().chain((self.kind == EntryKind::Tree).then_some(b'/'))
    }
}

/// Reads a tree object.
pub fn parse(id: &ObjectId, data: &[u8]) -> Result<Vec<Entry>> {
    let damaged = |why: &str| Error::damaged(format!("tree {id}"), why);
    let mut entries = Vec::new();
    let mut rest = data;
    while !rest.is_empty() {
        let space = rest.iter().take(8).position(|byte| *byte == b' ').ok_or_else(|| damaged("an entry without a mode"))?;
        let (mode, after) = rest.split_at(space);
        let mode = std::str::from_utf8(mode).ok().and_then(|mode| u32::from_str_radix(mode, 8).ok());
        let kind = mode.and_then(EntryKind::of).ok_or_else(|| damaged("an entry with a mode that does not exist"))?;
        let after = after.get(1..).unwrap_or_default();
        let end = after.iter().position(|byte| *byte == 0).ok_or_else(|| damaged("an entry whose name does not end"))?;
        let (name, after) = after.split_at(end);
        check_name(name)
            .map_err(|why| damaged(&format!("an entry named {:?}, {why}", String::from_utf8_lossy(name.get(..100).unwrap_or(name)))))?;
        let target = after.get(1..=LENGTH).and_then(ObjectId::from_bytes).ok_or_else(|| damaged("an entry that is cut off"))?;
        if entries.len() == MAX_ENTRIES {
            return Err(Error::TooLarge { what: format!("tree {id}"), bytes: data.len() as u64, limit: (MAX_ENTRIES * LENGTH) as u64 });
        }
        entries.push(Entry { name: name.to_vec(), kind, id: target });
        rest = after.get(1 + LENGTH..).unwrap_or_default();
    }
    Ok(entries)
}

/// What git refuses to check out, since it would be written elsewhere or into the repository itself.
fn check_name(name: &[u8]) -> std::result::Result<(), &'static str> {
    match name {
        [] => Err("which is empty"),
        _ if name.len() > MAX_PATH_BYTES => Err("which is longer than any path"),
        b"." | b".." => Err("which walks up"),
        _ if name.contains(&b'/') => Err("which has a slash"),
        _ if name.eq_ignore_ascii_case(b".git") => Err("which would be the repository itself"),
        _ => Ok(()),
    }
}

/// Whether this is a path that a tree or an index may have: relative, and each of its parts a name.
pub fn is_path(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').all(|name| check_name(name).is_ok())
}
