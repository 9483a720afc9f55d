//! The file a component comes from: reading it whole, and knowing it again without reading.

use std::{
    fs::{File, Metadata},
    io::Read,
    path::Path,
    time::{Duration, SystemTime},
};

use bytes::Bytes;

use super::super::component::{LoadError, MAX_FILE_BYTES};

/// A file that changed less than this ago may change again without a change of its times, whose steps are up to 2 s (FAT).
const SETTLING: Duration = Duration::from_secs(2);

/// What is in a file, without keeping it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    /// The hash of its content, or why it cannot be a component.
    pub content: Result<blake3::Hash, LoadError>,
    stamp: Option<Stamp>,
}

impl Fingerprint {
    /// Reads the whole file, unless it is too large to be loaded. Blocks.
    pub fn of(path: &Path) -> Self {
        match Source::open(path).and_then(|mut source| Ok((source.read()?, source.stamp))) {
            Ok((bytes, stamp)) => Self { content: Ok(blake3::hash(&bytes)), stamp },
            Err(error) => Self { content: Err(error), stamp: stamp_of(path) },
        }
    }

    /// Looks at the file without reading it: only good for [`still_holds`](Self::still_holds). Blocks, for a moment.
    pub fn unread(path: &Path) -> Self {
        Self { content: Err(LoadError::File("not read".into())), stamp: stamp_of(path) }
    }

    /// Of a file that a test plays: with another stamp each time it is touched.
    #[cfg(test)]
    pub(crate) fn stamped(content: Result<blake3::Hash, LoadError>, touched: u64) -> Self {
        Self { content, stamp: Some(Stamp { text: touched.to_string(), changed: SystemTime::UNIX_EPOCH }) }
    }

    /// Of a file of which nothing is known.
    pub fn unknown(why: LoadError) -> Self {
        Self { content: Err(why), stamp: None }
    }

    /// Whether this later one is of the same file, untouched since. Where the system has no means to tell, it counts as untouched.
    pub fn still_holds(&self, later: &Self) -> bool {
        cfg!(not(unix)) || (self.stamp.is_some() && self.stamp == later.stamp)
    }
}

fn stamp_of(path: &Path) -> Option<Stamp> {
    std::fs::metadata(path).ok().and_then(|metadata| Stamp::of(&metadata))
}

/// An open file that may be a component.
#[derive(Debug)]
pub(super) struct Source {
    file: File,
    /// In bytes.
    pub size: u64,
    /// None where the system has no such thing.
    pub stamp: Option<Stamp>,
}

/// What a file system tells of a file's content: two files with the same stamp at the same path have the same content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Stamp {
    /// Device, inode, size, and both times with nanoseconds. One line.
    pub text: String,
    /// The later of both times.
    pub changed: SystemTime,
}

impl Stamp {
    #[cfg(unix)]
    fn of(metadata: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;

        let text = format!(
            "{} {} {} {}.{:09} {}.{:09}",
            metadata.dev(),
            metadata.ino(),
            metadata.size(),
            metadata.mtime(),
            metadata.mtime_nsec(),
            metadata.ctime(),
            metadata.ctime_nsec()
        );
        let since_1970 = Duration::new(metadata.ctime().try_into().ok()?, metadata.ctime_nsec().try_into().ok()?);
        let changed = metadata.modified().ok()?.max(SystemTime::UNIX_EPOCH + since_1970);
        Some(Self { text, changed })
    }

    #[cfg(not(unix))]
    fn of(_: &Metadata) -> Option<Self> {
        None
    }

    /// Whether a later change would change the stamp too.
    pub fn is_settled(&self, now: SystemTime) -> bool {
        now.duration_since(self.changed).is_ok_and(|age| age >= SETTLING)
    }
}

impl Source {
    /// Blocks. The size is looked at before the content, and again after: a pipe or a growing file must not fill the memory.
    pub fn open(path: &Path) -> Result<Self, LoadError> {
        // Looked at before it is opened, too: opening a pipe waits for its other end.
        let not_a_file = |metadata: &Metadata| if metadata.is_file() { Ok(()) } else { Err(LoadError::NotAFile) };
        not_a_file(&std::fs::metadata(path).map_err(unreadable)?)?;
        let file = File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        not_a_file(&metadata)?;
        let size = metadata.len();
        if size > MAX_FILE_BYTES as u64 {
            return Err(LoadError::TooLarge(usize::try_from(size).unwrap_or(usize::MAX)));
        }
        Ok(Self { file, size, stamp: Stamp::of(&metadata) })
    }

    /// Blocks. The stamp is gone if it changed meanwhile.
    pub fn read(&mut self) -> Result<Bytes, LoadError> {
        let mut bytes = Vec::with_capacity(usize::try_from(self.size).unwrap_or_default() + 1);
        (&self.file).take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() > MAX_FILE_BYTES {
            return Err(LoadError::TooLarge(bytes.len()));
        }
        if self.stamp != Stamp::of(&self.file.metadata().map_err(unreadable)?) {
            self.stamp = None;
        }
        Ok(bytes.into())
    }
}

fn unreadable(error: std::io::Error) -> LoadError {
    let advice = match error.kind() {
        std::io::ErrorKind::PermissionDenied => "; let the user that the host runs as read it, and it is loaded then",
        _ => "",
    };
    LoadError::File(format!("{error}{advice}"))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_is_no_file_is_refused_without_waiting_for_it() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Source::open(folder.path()).unwrap_err(), LoadError::NotAFile);
        let pipe = folder.path().join("pipe.wasm");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
        assert_eq!(Source::open(&pipe).unwrap_err(), LoadError::NotAFile);
        assert!(matches!(Source::open(&folder.path().join("none.wasm")).unwrap_err(), LoadError::File(_)));
    }

    #[test]
    fn a_file_over_the_limit_is_not_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(MAX_FILE_BYTES as u64 + 1).unwrap();
        assert_eq!(Source::open(file.path()).unwrap_err(), LoadError::TooLarge(MAX_FILE_BYTES + 1));
    }

    #[test]
    fn a_file_that_grows_while_it_is_read_has_no_stamp_and_stays_within_the_limit() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut source = Source::open(file.path()).unwrap();
        assert!(source.stamp.is_some());
        file.write_all(b"more").unwrap();
        assert_eq!(source.read().unwrap(), "more");
        assert_eq!(source.stamp, None);
        let mut source = Source::open(file.path()).unwrap();
        file.as_file().set_len(MAX_FILE_BYTES as u64 + 7).unwrap();
        assert_eq!(source.read().unwrap_err(), LoadError::TooLarge(MAX_FILE_BYTES + 1));
    }

    #[test]
    fn a_fingerprint_holds_until_the_file_is_touched() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"one").unwrap();
        let unread = Fingerprint::unread(file.path());
        let read = Fingerprint::of(file.path());
        assert!(unread.still_holds(&read) && read.still_holds(&Fingerprint::unread(file.path())));
        file.write_all(b"two").unwrap();
        let later = Fingerprint::of(file.path());
        assert!(!read.still_holds(&later) && read.content != later.content);
        file.as_file().set_len(MAX_FILE_BYTES as u64 + 1).unwrap();
        let large = Fingerprint::of(file.path());
        assert_eq!(large.content, Err(LoadError::TooLarge(MAX_FILE_BYTES + 1)));
        assert!(large.still_holds(&Fingerprint::unread(file.path())));
    }

    #[test]
    fn a_file_that_just_changed_is_not_settled() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let stamp = Source::open(file.path()).unwrap().stamp.unwrap();
        assert!(!stamp.is_settled(stamp.changed + SETTLING - Duration::from_nanos(1)));
        assert!(stamp.is_settled(stamp.changed + SETTLING));
        assert!(!stamp.is_settled(SystemTime::UNIX_EPOCH), "a clock that went back proves nothing");
    }
}
