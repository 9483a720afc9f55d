//! `pack-….idx`, version 2: where in a pack each object is.
//!
//! The ids are sorted and counted by their first byte; those of one first byte, a 256th of the file, are read at once and kept.

use std::{
    cell::RefCell,
    collections::HashMap,
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    rc::Rc,
};

use crate::{
    error::{Error, Result},
    files,
    id::{Abbreviation, LENGTH, ObjectId},
};

const MAGIC: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];
const FANOUT: usize = 256;
const HEADER: u64 = 8 + 4 * FANOUT as u64;
/// Two checksums at the end.
const TRAILER: u64 = 2 * LENGTH as u64;
/// Marks an offset that is one into the table of large ones.
const LARGE: u32 = 1 << 31;
/// Bytes of ids kept of one pack: all of them for one of 200,000 objects.
const KEPT: usize = 4 << 20;

#[derive(Debug)]
pub struct PackIndex {
    path: PathBuf,
    file: File,
    /// How many objects have an id whose first byte is this or less.
    fanout: Vec<u32>,
    size: u64,
    kept: RefCell<HashMap<u8, Rc<Vec<u8>>>>,
}

impl PackIndex {
    /// `None` if there is no such file.
    pub fn open(path: &Path) -> Result<Option<Self>> {
        let damaged = |why: &str| Error::damaged(path.display().to_string(), why);
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if files::is_absent(&error) => return Ok(None),
            Err(error) => return Err(Error::io(path, error)),
        };
        let size = file.metadata().map_err(|error| Error::io(path, error))?.len();
        let mut header = vec![0; HEADER as usize];
        file.read_exact(&mut header).map_err(|_| damaged("it is too short"))?;
        let Some(table) = header.strip_prefix(&MAGIC) else {
            return Err(Error::Unsupported(format!("{} is no pack index of version 2: `git gc` writes a new one", path.display())));
        };
        let fanout: Vec<u32> = table.chunks_exact(4).map(|bytes| bytes.try_into().map_or(0, u32::from_be_bytes)).collect();
        if !fanout.is_sorted() {
            return Err(damaged("its counts do not rise"));
        }
        let count = fanout.last().copied().unwrap_or_default();
        if HEADER + u64::from(count) * (LENGTH as u64 + 8) + TRAILER > size {
            return Err(damaged("it is too short for what it says it holds"));
        }
        Ok(Some(Self { path: path.to_owned(), file, fanout, size, kept: RefCell::default() }))
    }

    fn count(&self) -> u64 {
        self.fanout.last().copied().unwrap_or_default().into()
    }

    /// Number of the first id with this first byte, and all of them.
    fn bucket(&self, first: u8) -> Result<(u32, Rc<Vec<u8>>)> {
        let end = self.fanout.get(usize::from(first)).copied().unwrap_or_default();
        let start = usize::from(first).checked_sub(1).and_then(|before| self.fanout.get(before)).copied().unwrap_or_default();
        if let Some(ids) = self.kept.borrow().get(&first) {
            return Ok((start, ids.clone()));
        }
        let length = (end - start) as usize * LENGTH;
        let ids = Rc::new(self.bytes(HEADER + u64::from(start) * LENGTH as u64, length)?);
        let mut kept = self.kept.borrow_mut();
        if kept.values().map(|ids| ids.len()).sum::<usize>() + length > KEPT {
            kept.clear();
        }
        kept.insert(first, ids.clone());
        Ok((start, ids))
    }

    /// Where in the pack the object is, if it is there.
    pub fn offset(&self, id: &ObjectId) -> Result<Option<u64>> {
        let (start, ids) = self.bucket(id.bytes()[0])?;
        let (ids, _) = ids.as_chunks::<LENGTH>();
        let Ok(found) = ids.binary_search(id.bytes()) else { return Ok(None) };
        let number = u64::from(start) + found as u64;
        // After the ids and the CRCs.
        let at = HEADER + self.count() * (LENGTH as u64 + 4) + number * 4;
        let offset = u32::from_be_bytes(self.array(at)?);
        if offset & LARGE == 0 {
            return Ok(Some(offset.into()));
        }
        let at = HEADER + self.count() * (LENGTH as u64 + 8) + u64::from(offset & !LARGE) * 8;
        if at + 8 + TRAILER > self.size {
            return Err(self.damaged("an offset beyond its end"));
        }
        Ok(Some(u64::from_be_bytes(self.array(at)?)))
    }

    pub fn abbreviated(&self, abbreviation: &Abbreviation, found: &mut Vec<ObjectId>) -> Result<()> {
        let (_, ids) = self.bucket(abbreviation.first().0)?;
        found.extend(ids.chunks_exact(LENGTH).filter_map(ObjectId::from_bytes).filter(|id| abbreviation.fits(id)).take(2));
        Ok(())
    }

    fn bytes(&self, at: u64, length: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        let mut file = &self.file;
        file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(&mut bytes)).map_err(|error| Error::io(&self.path, error))?;
        Ok(bytes)
    }

    fn array<const N: usize>(&self, at: u64) -> Result<[u8; N]> {
        self.bytes(at, N)?.try_into().map_err(|_| self.damaged("it is cut off"))
    }

    fn damaged(&self, why: &str) -> Error {
        Error::damaged(self.path.display().to_string(), why)
    }
}
