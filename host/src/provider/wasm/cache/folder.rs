//! A folder that is this user's alone, and what is done in it.
//!
//! It is opened once, checked, and used by its descriptor from then on: whatever its path leads to later, these files are in the folder
//! that was checked. Names that are links are not followed.

use std::{
    fs::{DirBuilder, File},
    io,
    os::{
        fd::OwnedFd,
        unix::fs::{DirBuilderExt, MetadataExt},
    },
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use rustix::{
    fs::{AtFlags, Dir, Mode, OFlags},
    io::Errno,
};

/// What group and others may not: write.
const OTHERS_WRITE: u32 = 0o022;
const TEMPORARY: &str = "tmp-";

/// Why a folder is not used, and what to do.
#[derive(Debug, thiserror::Error)]
pub(in super::super) enum Unusable {
    /// It cannot be made or opened.
    #[error("cannot open {0}: {1}")]
    Open(PathBuf, io::Error),
    /// Whoever owns it could put code there that this process would run.
    #[error("{path} belongs to user {owner}, and this is user {user}", path = .0.display(), owner = .1, user = .2)]
    Owner(PathBuf, u32, u32),
    /// As could these.
    #[error("others may write to {path}: run `chmod 700 {path}` if you trust what is in it, or remove it", path = .0.display())]
    Shared(PathBuf),
}

/// An open folder.
#[derive(Debug)]
pub(super) struct Folder {
    directory: OwnedFd,
    /// For messages.
    pub path: PathBuf,
}

/// What is in it.
#[derive(Debug)]
pub(super) struct Entry {
    pub name: String,
    pub bytes: u64,
    pub modified: SystemTime,
}

impl Folder {
    /// Makes it if it is not there.
    pub fn open(path: &Path) -> Result<Self, Unusable> {
        let failed = |error: io::Error| Unusable::Open(path.to_owned(), error);
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = File::from(rustix::fs::open(path, flags, Mode::empty()).map_err(|error| failed(error.into()))?);
        let metadata = directory.metadata().map_err(failed)?;
        let user = rustix::process::geteuid().as_raw();
        if metadata.uid() != user {
            return Err(Unusable::Owner(path.to_owned(), metadata.uid(), user));
        }
        if metadata.mode() & OTHERS_WRITE != 0 {
            return Err(Unusable::Shared(path.to_owned()));
        }
        Ok(Self { directory: directory.into(), path: path.to_owned() })
    }

    /// A file of this user's that nobody else may write, if it is there.
    pub fn get(&self, name: &str) -> io::Result<Option<File>> {
        // Without NONBLOCK, a pipe in a file's place would hold up the start.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = match rustix::fs::openat(&self.directory, name, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let metadata = file.metadata()?;
        if !metadata.is_file() || metadata.uid() != rustix::process::geteuid().as_raw() || metadata.mode() & OTHERS_WRITE != 0 {
            return Err(io::Error::other("it is not a file that only this user may write"));
        }
        Ok(Some(file))
    }

    /// Makes a file, whole or not at all, in the place of what has its name.
    pub fn put(&self, name: &str, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<File> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
        let temporary = format!("{TEMPORARY}{:016x}", u64::from_ne_bytes(random));
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(&self.directory, &temporary, flags, Mode::RUSR | Mode::WUSR)?);
        let put = write(&mut file).and_then(|()| Ok(rustix::fs::renameat(&self.directory, &temporary, &self.directory, name)?));
        if let Err(error) = put {
            // Swept later, if not now.
            let _ = self.remove(&temporary);
            return Err(error);
        }
        Ok(file)
    }

    /// An empty file to lock, which is never removed.
    pub fn lock_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        Ok(File::from(rustix::fs::openat(&self.directory, name, flags, Mode::RUSR | Mode::WUSR)?))
    }

    pub fn has(&self, name: &str) -> bool {
        rustix::fs::statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// It may be gone already.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.directory, name, AtFlags::empty()) {
            Err(Errno::ISDIR) => Ok(rustix::fs::unlinkat(&self.directory, name, AtFlags::REMOVEDIR)?),
            Err(Errno::NOENT) | Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// All files, in no order. Those with names that this cache would not give are left out.
    pub fn list(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.directory)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            // Another host may have removed it meanwhile.
            let Ok(stat) = rustix::fs::statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            if !rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file() {
                continue;
            }
            let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(stat.st_mtime).unwrap_or_default());
            entries.push(Entry { name: name.into(), bytes: u64::try_from(stat.st_size).unwrap_or_default(), modified });
        }
        Ok(entries)
    }
}

/// Whether a file was on its way to its name.
pub(super) fn is_temporary(name: &str) -> bool {
    name.starts_with(TEMPORARY)
}
