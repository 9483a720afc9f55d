//! `pack-….pack`, version 2: many objects in one file, some as deltas of others.

use std::{
    cell::{OnceCell, RefCell},
    fs::File,
    io::{BufRead, BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    rc::Rc,
};

use flate2::bufread::ZlibDecoder;

use super::{Kind, Object, Place, cache::Cache, delta, inflate, pack_index::PackIndex};
use crate::{
    budget::Budget,
    error::{Error, Result},
    id::{Abbreviation, LENGTH, ObjectId},
};

const MAGIC: &[u8] = b"PACK";
/// Bytes before the first object.
const HEADER: u64 = 12;
/// Deltas of deltas. Git makes 50 of them, 250 with `--aggressive`, and never more than 4095.
const MAX_DELTAS: usize = 4095;
/// Bytes read at once: most commits and trees fit.
const BUFFER: usize = 4 << 10;

#[derive(Debug)]
pub struct Pack {
    index: PackIndex,
    path: PathBuf,
    data: OnceCell<File>,
}

/// How an object is stored.
enum Storage {
    Whole(Kind),
    /// A delta of the one at this place.
    At(u64),
    /// A delta of the one of this id, in the same pack.
    Of(ObjectId),
}

/// The head of an entry.
struct Entry {
    storage: Storage,
    /// Of the object, or of the delta.
    size: u64,
    /// Where the zlib stream begins.
    stream: u64,
}

impl Pack {
    /// `None` if it is not there.
    pub fn open(folder: &Path, stem: &str) -> Result<Option<Self>> {
        let index = PackIndex::open(&folder.join(format!("{stem}.idx")))?;
        Ok(index.map(|index| Self { index, path: folder.join(format!("{stem}.pack")), data: OnceCell::new() }))
    }

    /// Where the object is, if it is in this pack.
    pub fn offset(&self, id: &ObjectId) -> Result<Option<u64>> {
        self.index.offset(id)
    }

    pub fn abbreviated(&self, abbreviation: &Abbreviation, found: &mut Vec<ObjectId>) -> Result<()> {
        self.index.abbreviated(abbreviation, found)
    }

    /// The object at this place. `number` is this pack's, in `bases`.
    pub fn read(&self, offset: u64, number: usize, bases: &RefCell<Cache<Place>>, budget: &Budget) -> Result<Object> {
        let what = self.what(offset);
        // Heads only on the way down to what is whole, so that no more than a base, a delta and a result are in memory on the way up.
        let mut deltas = Vec::new();
        let mut at = offset;
        let mut object = loop {
            if let Some(base) = bases.borrow().get(&(number, at)) {
                break base;
            }
            budget.step()?;
            let entry = self.entry(at)?;
            match entry.storage {
                Storage::Whole(kind) => {
                    let data = inflate::exactly(&what, self.reader(entry.stream)?, entry.size)?;
                    break Object { kind, data: Rc::new(data) };
                }
                Storage::At(base) => {
                    deltas.push((at, entry.stream, entry.size));
                    at = base;
                }
                Storage::Of(id) => {
                    deltas.push((at, entry.stream, entry.size));
                    at = self.offset(&id)?.ok_or_else(|| Error::damaged(&*what, format!("a delta of {id}, which is not in the pack")))?;
                }
            }
            if deltas.len() > MAX_DELTAS {
                return Err(Error::damaged(what, format!("a chain of more than {MAX_DELTAS} deltas")));
            }
        };
        while let Some((place, stream, size)) = deltas.pop() {
            budget.step()?;
            bases.borrow_mut().put((number, at), object.clone());
            let delta = inflate::exactly(&what, self.reader(stream)?, size)?;
            object.data = Rc::new(delta::apply(&what, &object.data, &delta)?);
            at = place;
        }
        Ok(object)
    }

    /// The size of the object at this place.
    pub fn size(&self, offset: u64) -> Result<Option<u64>> {
        let entry = self.entry(offset)?;
        if let Storage::Whole(_) = entry.storage {
            return Ok(Some(entry.size));
        }
        // Two numbers of at most ten bytes.
        let mut begin = Vec::with_capacity(20);
        let read = ZlibDecoder::new(self.reader(entry.stream)?).take(20).read_to_end(&mut begin);
        read.map_err(|error| Error::damaged(self.what(offset), format!("it cannot be inflated: {error}")))?;
        Ok(delta::result_size(&begin))
    }

    fn entry(&self, offset: u64) -> Result<Entry> {
        let damaged = |why: &str| Error::damaged(self.what(offset), why);
        if offset < HEADER {
            return Err(damaged("an object where the pack begins"));
        }
        let mut reader = self.reader(offset)?;
        let mut length = 0;
        let mut byte = || -> Result<u8> {
            let mut byte = [0];
            reader.read_exact(&mut byte).map_err(|_| damaged("it is cut off"))?;
            length += 1;
            Ok(byte[0])
        };
        let mut head = byte()?;
        let kind = head >> 4 & 7;
        let mut size = u64::from(head & 0x0f);
        let mut shift = 4;
        while head & 0x80 != 0 {
            if shift > 56 {
                return Err(damaged("a size that no file has"));
            }
            head = byte()?;
            size |= u64::from(head & 0x7f) << shift;
            shift += 7;
        }
        let storage = match kind {
            1 => Storage::Whole(Kind::Commit),
            2 => Storage::Whole(Kind::Tree),
            3 => Storage::Whole(Kind::Blob),
            4 => Storage::Whole(Kind::Tag),
            6 => {
                let mut head = byte()?;
                let mut back = u64::from(head & 0x7f);
                while head & 0x80 != 0 {
                    if back > u64::MAX >> 8 {
                        return Err(damaged("a delta of what is before the pack"));
                    }
                    head = byte()?;
                    back = (back + 1) << 7 | u64::from(head & 0x7f);
                }
                // Only ever back, so there is no way around in a circle.
                let base = offset.checked_sub(back).filter(|base| *base >= HEADER && back > 0);
                Storage::At(base.ok_or_else(|| damaged("a delta of what is before the pack"))?)
            }
            7 => {
                let mut id = [0; LENGTH];
                for to in &mut id {
                    *to = byte()?;
                }
                Storage::Of(ObjectId::from_bytes(&id).ok_or_else(|| damaged("it is cut off"))?)
            }
            _ => return Err(damaged("an object of no known kind")),
        };
        Ok(Entry { storage, size, stream: offset + length })
    }

    fn reader(&self, offset: u64) -> Result<impl BufRead + '_> {
        let mut file = match self.data.get() {
            Some(file) => file,
            None => {
                let file = self.open_data()?;
                self.data.get_or_init(|| file)
            }
        };
        file.seek(SeekFrom::Start(offset)).map_err(|error| Error::io(&self.path, error))?;
        Ok(BufReader::with_capacity(BUFFER, file))
    }

    fn open_data(&self) -> Result<File> {
        let mut file = File::open(&self.path).map_err(|error| Error::io(&self.path, error))?;
        let mut header = [0; 8];
        file.read_exact(&mut header).map_err(|error| Error::io(&self.path, error))?;
        if header.get(..4) != Some(MAGIC) || !matches!(header.get(4..), Some([0, 0, 0, 2 | 3])) {
            return Err(Error::damaged(self.path.display().to_string(), "it is no pack of version 2"));
        }
        Ok(file)
    }

    fn what(&self, offset: u64) -> String {
        format!("{} at {offset}", self.path.display())
    }
}
