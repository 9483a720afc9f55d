//! Reading files that a configuration names: whatever stands at a path, it takes neither a thread for ever nor all memory.
//!
//! Invariants: opening waits for nobody (a pipe without a writer would keep the thread, and with it the end of the runtime); at most one
//! byte more than the cap is read, however the file grows.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read},
    path::Path,
};

/// The content of a regular file of at most `cap` bytes. Blocks.
pub(crate) fn read_regular(path: &Path, cap: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    read_capped(file, cap)
}

/// As [`read_regular`], of a path that has no links: if the file that was opened is at another by now, it is not read.
pub(crate) fn read_regular_at(real: &Path, cap: u64) -> io::Result<Vec<u8>> {
    let file = open(real)?;
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;

        if std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).is_ok_and(|opened| opened != real) {
            return Err(io::Error::new(io::ErrorKind::NotFound, "something else has taken its place"));
        }
    }
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    read_capped(file, cap)
}

/// All that comes from here, if it is at most `cap` bytes. Blocks until its end.
pub(crate) fn read_capped(from: impl Read, cap: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(cap + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > cap {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {cap} bytes")));
    }
    Ok(bytes)
}

/// Opens it for reading, and waits for nobody.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;

        // Has no effect on a regular file. NOCTTY: a terminal must not become this process's own.
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        options.custom_flags(i32::try_from(flags.bits()).map_err(io::Error::other)?);
    }
    options.open(path)
}

#[cfg(all(test, unix))]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use super::*;

    #[test]
    fn a_pipe_without_a_writer_a_folder_and_a_device_are_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
        for path in [pipe, folder.path().to_owned(), "/dev/zero".into()] {
            let (done, refused) = mpsc::channel();
            let shown = path.display().to_string();
            // On a thread of its own, so that a fault here is a failure and no hang.
            std::thread::spawn(move || done.send(read_regular(&path, 10).map_err(|error| error.to_string())));
            let read = refused.recv_timeout(Duration::from_secs(60)).unwrap_or_else(|_| panic!("{shown} keeps its reader waiting"));
            assert!(read.unwrap_err().contains("not a file"), "{shown}");
        }
    }

    #[test]
    fn a_file_may_have_as_many_bytes_as_the_cap_and_no_more() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "12345").unwrap();
        assert_eq!(read_regular(file.path(), 5).unwrap(), b"12345");
        assert_eq!(read_regular(file.path(), 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }
}
