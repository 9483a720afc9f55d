//! Objects in files of their own: `objects/12/3456…`, zlib of `kind size NUL content`.

use std::{
    fs::File,
    io::{BufReader, Read},
    path::{Path, PathBuf},
    rc::Rc,
};

use flate2::bufread::ZlibDecoder;

use super::{Kind, Object, inflate};
use crate::{
    error::{Error, Result},
    files,
    id::{Abbreviation, ObjectId},
};

/// Bytes of the longest header: `commit`, a space, 20 digits, NUL.
const MAX_HEADER: usize = 32;
/// Files in one of the 256 folders. Git packs them at some 7,000 in all.
const MAX_FILES: usize = 100_000;

/// One that is being read.
struct Opened {
    kind: Kind,
    size: u64,
    /// The first bytes of the content.
    begun: Vec<u8>,
    /// Gives the others.
    decoder: ZlibDecoder<BufReader<File>>,
}

fn path(folder: &Path, id: &ObjectId) -> PathBuf {
    let hex = id.to_string();
    let (first, rest) = hex.split_at(2);
    folder.join(first).join(rest)
}

pub fn read(folder: &Path, id: &ObjectId) -> Result<Option<Object>> {
    let what = format!("object {id}");
    let Some(mut opened) = open(folder, id)? else { return Ok(None) };
    let data = inflate::rest(&what, &mut opened.decoder, opened.begun, opened.size)?;
    Ok(Some(Object { kind: opened.kind, data: Rc::new(data) }))
}

pub fn size(folder: &Path, id: &ObjectId) -> Result<Option<u64>> {
    Ok(open(folder, id)?.map(|opened| opened.size))
}

fn open(folder: &Path, id: &ObjectId) -> Result<Option<Opened>> {
    let path = path(folder, id);
    let damaged = |why: &str| Error::damaged(format!("object {id}"), why);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if files::is_absent(&error) => return Ok(None),
        Err(error) => return Err(Error::io(&path, error)),
    };
    let mut decoder = ZlibDecoder::new(BufReader::new(file));
    let mut begun = Vec::with_capacity(MAX_HEADER);
    (&mut decoder).take(MAX_HEADER as u64).read_to_end(&mut begun).map_err(|error| damaged(&format!("it cannot be inflated: {error}")))?;
    let end = begun.iter().position(|byte| *byte == 0).ok_or_else(|| damaged("it has no header"))?;
    let content = begun.split_off(end + 1);
    begun.pop();
    let space = begun.iter().position(|byte| *byte == b' ').ok_or_else(|| damaged("it has no header"))?;
    let (kind, size) = begun.split_at(space);
    let kind = Kind::named(kind).ok_or_else(|| damaged("it is of no known kind"))?;
    let size = std::str::from_utf8(size).ok().and_then(|size| size.trim_start().parse().ok()).ok_or_else(|| damaged("it has no size"))?;
    Ok(Some(Opened { kind, size, begun: content, decoder }))
}

pub fn abbreviated(folder: &Path, abbreviation: &Abbreviation, found: &mut Vec<ObjectId>) -> Result<()> {
    let (_, first) = abbreviation.first();
    for (name, _) in files::names(&folder.join(first), MAX_FILES)? {
        found.extend(ObjectId::from_hex(&format!("{first}{name}")).filter(|id| abbreviation.fits(id)));
    }
    Ok(())
}
