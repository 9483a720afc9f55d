//! Reading small files whole, with a cap, and what a file that is not there means.

use std::{
    fs::{self, File},
    io::{self, ErrorKind, Read},
    path::Path,
};

use crate::error::{Error, Result};

/// Whether the error says that there is no such file, also because a part of its path is a file or it is itself a folder.
pub fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory)
}

/// The content of a file of at most so many bytes; `None` if there is none.
pub fn read(path: &Path, limit: u64) -> Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(Error::io(path, error)),
    };
    let mut content = Vec::new();
    match file.take(limit + 1).read_to_end(&mut content) {
        Ok(_) => {}
        // A folder can be opened on some systems, and shows only now; in WASI by an error of no kind of its own.
        Err(error) if is_absent(&error) || path.is_dir() => return Ok(None),
        Err(error) => return Err(Error::io(path, error)),
    }
    if content.len() as u64 > limit {
        let bytes = fs::metadata(path).map_or(limit + 1, |metadata| metadata.len());
        return Err(Error::TooLarge { what: path.display().to_string(), bytes, limit });
    }
    Ok(Some(content))
}

/// The same as text; what is no UTF-8 is replaced.
pub fn read_text(path: &Path, limit: u64) -> Result<Option<String>> {
    Ok(read(path, limit)?.map(|content| String::from_utf8_lossy(&content).into_owned()))
}

/// Names in a folder, with their types, in no order; none if there is no such folder. At most so many.
pub fn names(folder: &Path, limit: usize) -> Result<Vec<(String, fs::FileType)>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        Err(error) => return Err(Error::io(folder, error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) if is_absent(&error) => continue,
            Err(error) => return Err(Error::io(folder, error)),
        };
        // Git can name files that are not text; nobody can ask for one here, since a URI's values are text.
        let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else { continue };
        if names.len() == limit {
            return Err(Error::TooLarge { what: format!("the folder {}", folder.display()), bytes: limit as u64 + 1, limit: limit as u64 });
        }
        names.push((name, kind));
    }
    Ok(names)
}
