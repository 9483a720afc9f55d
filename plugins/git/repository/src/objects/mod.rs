//! The objects of a repository: in packs, loose, and in its alternates.
//!
//! Invariants: an object handed out has the id it was asked for (it is hashed); none is larger than [`MAX_OBJECT_BYTES`], and that is known
//! before it is inflated; what is kept in memory is bounded whatever the repository has. A pack is never read whole.

mod cache;
mod delta;
mod inflate;
mod loose;
mod pack;
mod pack_index;

use std::{
    cell::{Cell, RefCell},
    fs,
    path::{Path, PathBuf},
    rc::Rc,
    time::SystemTime,
};

use cache::Cache;
use pack::Pack;

use crate::{
    budget::Budget,
    error::{Error, Result},
    files,
    id::{Abbreviation, ObjectId},
};

/// Bytes of one object: as much as a reading may have. A repository may have larger ones; they cannot be read here.
pub const MAX_OBJECT_BYTES: u64 = 16 << 20;
/// Packs of one repository. Git makes one of them all past 50; each takes two of the files that a provider may have open.
const MAX_PACKS: usize = 1000;
/// Folders of alternates, of alternates of alternates, and so on, together.
const MAX_ALTERNATES: usize = 16;
/// Bytes of `objects/info/alternates`.
const MAX_ALTERNATES_BYTES: u64 = 64 << 10;
/// Bytes of objects that are kept because they are likely to be asked for again: commits and trees.
const KEPT_OBJECTS: usize = 16 << 20;
/// Bytes of an object worth keeping.
const KEPT_OBJECT: usize = 256 << 10;
/// Bytes of the objects that deltas in packs were built on.
const KEPT_BASES: usize = 24 << 20;

/// What an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A commit.
    Commit,
    /// A folder.
    Tree,
    /// A file.
    Blob,
    /// An annotated tag.
    Tag,
}

impl Kind {
    /// As git writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Tree => "tree",
            Self::Blob => "blob",
            Self::Tag => "tag",
        }
    }

    fn named(name: &[u8]) -> Option<Self> {
        [Self::Commit, Self::Tree, Self::Blob, Self::Tag].into_iter().find(|kind| kind.name().as_bytes() == name)
    }
}

/// An object.
#[derive(Debug, Clone)]
pub struct Object {
    /// What it is.
    pub kind: Kind,
    /// Its content.
    pub data: Rc<Vec<u8>>,
}

/// Where a pack's entry is: the pack's number, and the offset in it.
type Place = (usize, u64);

#[derive(Debug)]
pub struct Objects {
    folders: Vec<PathBuf>,
    /// When the folder of packs last changed, for each of `folders`, as of the last scan.
    scanned: RefCell<Vec<Option<SystemTime>>>,
    packs: RefCell<Rc<Vec<Pack>>>,
    kept: RefCell<Cache<ObjectId>>,
    bases: RefCell<Cache<Place>>,
    /// Whether a miss has led to a scan in this question already.
    missed: Cell<bool>,
    budget: Budget,
}

impl Objects {
    /// Those of this folder and its alternates.
    pub fn open(folder: &Path, budget: Budget) -> Result<Self> {
        Ok(Self {
            folders: with_alternates(folder)?,
            scanned: RefCell::default(),
            packs: RefCell::default(),
            kept: RefCell::new(Cache::new(KEPT_OBJECTS)),
            bases: RefCell::new(Cache::new(KEPT_BASES)),
            missed: Cell::new(false),
            budget,
        })
    }

    /// Looks whether there are other packs than before. To be called at each question.
    pub fn refresh(&self) -> Result<()> {
        self.missed.set(false);
        let now: Vec<Option<SystemTime>> =
            self.folders.iter().map(|folder| fs::metadata(folder.join("pack")).and_then(|pack| pack.modified()).ok()).collect();
        if *self.scanned.borrow() != now {
            self.scan()?;
            *self.scanned.borrow_mut() = now;
        }
        Ok(())
    }

    fn scan(&self) -> Result<()> {
        let mut packs = Vec::new();
        for folder in self.folders.iter().map(|folder| folder.join("pack")) {
            let mut names = files::names(&folder, MAX_PACKS * 8)?;
            names.sort_by(|a, b| a.0.cmp(&b.0));
            for (name, _) in names {
                if let Some(stem) = name.strip_suffix(".idx") {
                    if packs.len() == MAX_PACKS {
                        return Err(Error::Unsupported(format!(
                            "the repository has more than {MAX_PACKS} packs: `git gc` makes one of them"
                        )));
                    }
                    // One that went since, as `git gc` makes them go, is not there.
                    packs.extend(Pack::open(&folder, stem)?);
                }
            }
        }
        // Places name packs by number.
        self.bases.borrow_mut().clear();
        *self.packs.borrow_mut() = Rc::new(packs);
        Ok(())
    }

    /// The object of this id.
    pub fn read(&self, id: &ObjectId) -> Result<Object> {
        self.find(id)?.ok_or_else(|| {
            Error::damaged(format!("object {id}"), "it is not there; a partial clone, or an alternate out of reach, lacks objects")
        })
    }

    /// The object of this id, if there is one.
    pub fn find(&self, id: &ObjectId) -> Result<Option<Object>> {
        self.budget.step()?;
        if let Some(object) = self.kept.borrow().get(id) {
            return Ok(Some(object));
        }
        let mut found = self.look(id)?;
        if found.is_none() && !self.missed.replace(true) {
            // Git may have packed what was loose a moment ago.
            self.scan()?;
            found = self.look(id)?;
        }
        let Some(object) = found else { return Ok(None) };
        if ObjectId::of(object.kind.name(), &object.data) != *id {
            return Err(Error::damaged(format!("object {id}"), "its content is another one's"));
        }
        if object.data.len() <= KEPT_OBJECT && object.kind != Kind::Blob {
            self.kept.borrow_mut().put(*id, object.clone());
        }
        Ok(Some(object))
    }

    fn look(&self, id: &ObjectId) -> Result<Option<Object>> {
        let packs = self.packs.borrow().clone();
        for (number, pack) in packs.iter().enumerate() {
            if let Some(offset) = pack.offset(id)? {
                return pack.read(offset, number, &self.bases, &self.budget).map(Some);
            }
        }
        for folder in &self.folders {
            if let Some(object) = loose::read(folder, id)? {
                return Ok(Some(object));
            }
        }
        Ok(None)
    }

    /// Size of the object of this id without reading it, where that can be had without undoing deltas.
    pub fn size(&self, id: &ObjectId) -> Result<Option<u64>> {
        self.budget.step()?;
        let packs = self.packs.borrow().clone();
        for pack in packs.iter() {
            if let Some(offset) = pack.offset(id)? {
                return pack.size(offset);
            }
        }
        for folder in &self.folders {
            if let Some(size) = loose::size(folder, id)? {
                return Ok(Some(size));
            }
        }
        Ok(None)
    }

    /// The ids that an abbreviation may stand for; not more than two, since two are too many.
    pub fn abbreviated(&self, abbreviation: &Abbreviation) -> Result<Vec<ObjectId>> {
        let mut found = Vec::new();
        let packs = self.packs.borrow().clone();
        for pack in packs.iter() {
            pack.abbreviated(abbreviation, &mut found)?;
        }
        for folder in &self.folders {
            loose::abbreviated(folder, abbreviation, &mut found)?;
        }
        found.sort();
        found.dedup();
        found.truncate(2);
        Ok(found)
    }
}

/// The folder, and those that `info/alternates` of any of them names.
fn with_alternates(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut folders = vec![folder.to_owned()];
    let mut at = 0;
    while let Some(folder) = folders.get(at).cloned() {
        at += 1;
        let Some(text) = files::read_text(&folder.join("info/alternates"), MAX_ALTERNATES_BYTES)? else { continue };
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            // Relative to the folder whose file it is.
            let other = folder.join(line);
            // They may name each other.
            if folders.len() <= MAX_ALTERNATES && !folders.contains(&other) {
                folders.push(other);
            }
        }
    }
    Ok(folders)
}
