//! Folders that are looked into by what was opened, and not by their path once more.
//!
//! A provider that may write a folder can put a link in the place of a folder below it at any moment, also between a look at what there is and
//! a look into it. So a folder is opened, the system is asked where that is which was opened, and only then is it read. (Where the system
//! cannot be asked, on others than Linux or without `/proc`, its path has to do.)

use std::{
    fs::{File, Metadata, ReadDir},
    io,
    path::{Path, PathBuf},
};

/// An open folder.
pub(super) struct Pinned {
    /// Leads to what was opened, as long as this is.
    path: PathBuf,
    real: PathBuf,
    _file: Option<File>,
}

impl Pinned {
    /// Opens a folder that has to be in this one, whose path has no links. One that is not is as one that is not there. Blocks.
    pub fn inside(root: &Path, folder: &Path) -> io::Result<Self> {
        let pinned = Self::open(folder)?;
        if pinned.real.starts_with(root) { Ok(pinned) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    /// Opens a folder, wherever it is. Blocks.
    #[cfg(target_os = "linux")]
    pub fn open(folder: &Path) -> io::Result<Self> {
        use std::os::{fd::AsRawFd, unix::fs::OpenOptionsExt};

        // PATH: one that may be entered and not read is a folder as well.
        let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::NOFOLLOW;
        let file = File::options().read(true).custom_flags(i32::try_from(flags.bits()).map_err(io::Error::other)?).open(folder)?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        Ok(match std::fs::read_link(&path) {
            Ok(real) => Self { path, real, _file: Some(file) },
            Err(_) => Self { path: folder.to_owned(), real: folder.to_owned(), _file: None },
        })
    }

    /// Takes its path to be what is there. Blocks.
    #[cfg(not(target_os = "linux"))]
    pub fn open(folder: &Path) -> io::Result<Self> {
        let metadata = std::fs::symlink_metadata(folder)?;
        if !metadata.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { path: folder.to_owned(), real: folder.to_owned(), _file: None })
    }

    /// A path for whoever opens by paths, good as long as this is there.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where it really is.
    pub fn real(&self) -> &Path {
        &self.real
    }

    /// What is in it.
    pub fn read(&self) -> io::Result<ReadDir> {
        std::fs::read_dir(&self.path)
    }
}

/// Of a path that is this folder, which has no links in its path, or has to be in it; of a link itself. Blocks.
pub(super) fn metadata(root: &Path, path: &Path) -> io::Result<Metadata> {
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) if path != root => std::fs::symlink_metadata(Pinned::inside(root, folder)?.path.join(name)),
        _ => std::fs::symlink_metadata(path),
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;
    use crate::provider::grants::files::{MAX_CHANGES, MAX_ENTRIES, system, tree};

    #[test]
    fn only_what_really_is_inside_is_looked_into() {
        let world = tempfile::tempdir().unwrap();
        let outer = world.path().canonicalize().unwrap();
        let root = outer.join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir_all(outer.join("outside/inner")).unwrap();
        symlink("../outside", root.join("link")).unwrap();
        symlink("a", root.join("within")).unwrap();
        assert!(Pinned::inside(&root, &root).is_ok() && metadata(&root, &root).is_ok());
        assert_eq!(Pinned::inside(&root, &root.join("a/b")).unwrap().real(), root.join("a/b"));
        assert_eq!(Pinned::inside(&root, &root.join("within/b")).unwrap().real(), root.join("a/b"));
        for path in ["link", "link/inner", "within", "none"] {
            assert!(Pinned::inside(&root, &root.join(path)).is_err(), "{path}");
        }
        assert!(metadata(&root, &root.join("link")).unwrap().is_symlink());
        for path in ["link/inner", "link/inner/none", "none/x"] {
            let kind = metadata(&root, &root.join(path)).unwrap_err().kind();
            assert!(matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory), "{path}: {kind}");
        }
        // Whatever takes its place afterwards, what was opened is what is read.
        let pinned = Pinned::inside(&root, &root.join("a")).unwrap();
        fs::rename(root.join("a"), root.join("moved")).unwrap();
        symlink("../outside", root.join("a")).unwrap();
        let names: Vec<_> = pinned.read().unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["b"]);
    }

    #[test]
    fn a_folder_that_becomes_a_link_while_it_is_looked_at_tells_nothing_of_where_it_leads() {
        let world = tempfile::tempdir().unwrap();
        let outer = world.path().canonicalize().unwrap();
        let root = outer.join("root");
        fs::create_dir_all(root.join("a")).unwrap();
        fs::create_dir_all(outer.join("outside")).unwrap();
        fs::write(outer.join("outside/secret"), "").unwrap();
        let mut tree = tree::Tree::new(root.clone(), "".into(), true);
        let mut ears = system::Deaf;
        tree.look(&mut ears, MAX_ENTRIES).unwrap();
        // Its owner swaps it between two looks, and an event speaks of what is in it as if it were still a folder.
        fs::remove_dir(root.join("a")).unwrap();
        symlink("../outside", root.join("a")).unwrap();
        let touch = tree::Touch { content: true, moved: true };
        assert!(tree.touch(&root.join("a/secret"), touch, MAX_CHANGES));
        let changes = tree.look(&mut ears, MAX_ENTRIES).unwrap();
        assert!(changes.is_empty(), "{changes:?}");
    }
}
