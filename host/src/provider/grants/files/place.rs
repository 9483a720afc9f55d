//! Where granted folders are, on this side and on the provider's.

use std::{
    fs::Metadata,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use super::{Guarded, pinned::Pinned};
use crate::config::grants::Folder;

/// Bytes of a path: Linux's own limit.
const MAX_PATH_BYTES: usize = 4096;

/// What tells a folder from another that took its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Device and inode, where there are such.
    file: (u64, u64),
    /// When it was made, where that is known: an inode's number is soon used again.
    born: Option<std::time::SystemTime>,
}

impl Identity {
    /// Of this file. (Windows tells only when it was made.)
    pub fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let file = {
            use std::os::unix::fs::MetadataExt;
            (metadata.dev(), metadata.ino())
        };
        #[cfg(not(unix))]
        let file = (0, 0);
        Self { file, born: metadata.created().ok() }
    }

    /// Of the folder at a path, if there is one. Blocks.
    pub fn at(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().filter(Metadata::is_dir).map(|metadata| Self::of(&metadata))
    }
}

/// A granted folder that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Where the provider finds it.
    pub guest: String,
    /// Where it really is.
    pub host: PathBuf,
    /// Whether the provider may change what is in it.
    pub write: bool,
    /// Why it may not, though wharf.toml says so: this is in it.
    pub guarded: Option<PathBuf>,
    /// Which folder it is.
    pub identity: Identity,
}

impl Place {
    /// Calls this with a path by which the very folder is opened that was found, whatever has taken its place since. Blocks.
    ///
    /// # Errors
    /// It is not there any more.
    pub fn open<T>(&self, open: impl FnOnce(&Path) -> T) -> io::Result<T> {
        let pinned = Pinned::open(&self.host)?;
        if pinned.real() != self.host {
            return Err(io::Error::new(ErrorKind::NotFound, "something else has taken its place"));
        }
        Ok(open(pinned.path()))
    }
}

/// A granted folder that is not there, or is no folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Where the provider would find it.
    pub guest: String,
    /// As wharf.toml has it.
    pub host: PathBuf,
    /// What there is instead.
    pub reason: String,
}

/// Why a path is not below a granted folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unplaced {
    /// It is no path, or leads upwards; which rule it breaks.
    Invalid(&'static str),
    /// No folder above it is granted.
    NotGranted,
    /// The granted folder is not there: this one.
    Missing(PathBuf),
}

/// A path below a granted folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// The granted folder.
    pub root: PathBuf,
    /// From there on; empty for the folder itself.
    pub below: PathBuf,
    /// As the provider calls it, without slashes at the end.
    pub shown: String,
}

/// The granted folders of one instance.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    there: Vec<Place>,
    missing: Vec<Missing>,
    /// As wharf.toml has them, each with which folder it is now.
    roots: Vec<(PathBuf, Option<Identity>)>,
}

impl Places {
    /// Looks for them. What is guarded makes a folder that it is in one to be read only. Blocks.
    pub fn find(folders: &[Folder], guarded: &Guarded) -> Self {
        let mut found = Self::default();
        for Folder { host, guest, write } in folders {
            let missing = |reason: String| Missing { guest: guest.clone(), host: host.clone(), reason };
            let real = guarded.real(host);
            // One that is refused is there, and is worth another look only when it is another.
            let refused = real.as_ref().is_err_and(|error| error.kind() == ErrorKind::PermissionDenied);
            let place = real.map_err(|error| missing(error.to_string())).and_then(|real| {
                let identity = Identity::at(&real).ok_or_else(|| missing("it is no folder".into()))?;
                // As the system calls it, where that is known: names may be the same in upper and lower case.
                let real = Pinned::open(&real).map(|opened| opened.real().to_owned()).ok().filter(|_| !guarded.any()).unwrap_or(real);
                let guarded = if *write { guarded.inside(&real).map(Path::to_owned) } else { None };
                Ok(Place { guest: guest.clone(), host: real, write: *write && guarded.is_none(), guarded, identity })
            });
            let identity = place.as_ref().map(|place| place.identity).ok();
            found.roots.push((host.clone(), identity.or_else(|| Identity::at(host).filter(|_| refused))));
            match place {
                Ok(place) => found.there.push(place),
                Err(missing) => found.missing.push(missing),
            }
        }
        found
    }

    /// Those that are there.
    pub fn there(&self) -> &[Place] {
        &self.there
    }

    /// Those that are not.
    pub fn missing(&self) -> &[Missing] {
        &self.missing
    }

    /// All as wharf.toml has them, for [`Files::follow`](super::Files::follow).
    pub fn roots(&self) -> &[(PathBuf, Option<Identity>)] {
        &self.roots
    }

    /// Finds the granted folder above a path of the provider's, which is relative to `/` if it is relative; the nearest, as WASI does.
    ///
    /// # Errors
    /// [`Unplaced`].
    pub fn locate(&self, path: &str) -> Result<Located, Unplaced> {
        if path.is_empty() || path.len() > MAX_PATH_BYTES {
            return Err(Unplaced::Invalid("a path has 1 to 4096 bytes"));
        }
        if path.contains('\0') || (cfg!(windows) && path.contains(['\\', ':'])) {
            return Err(Unplaced::Invalid("a path has no such characters"));
        }
        let parts: Vec<&str> = parts(path).collect();
        if parts.contains(&"..") {
            return Err(Unplaced::Invalid("a path has no `..`"));
        }
        let there = self.there.iter().map(|place| (&place.guest, Ok(place)));
        let missing = self.missing.iter().map(|missing| (&missing.guest, Err(missing)));
        let above = |guest: &str| {
            let mut rest = parts.iter();
            self::parts(guest).all(|part| rest.next() == Some(&part)).then(|| rest.as_slice().to_vec())
        };
        let nearest = there.chain(missing).filter_map(|(guest, place)| above(guest).map(|rest| (place, rest)));
        match nearest.min_by_key(|(_, rest)| rest.len()) {
            None => Err(Unplaced::NotGranted),
            Some((Err(missing), _)) => Err(Unplaced::Missing(missing.host.clone())),
            Some((Ok(place), rest)) => {
                let shown = path.trim_end_matches('/');
                let shown = if shown.is_empty() { "/" } else { shown };
                Ok(Located { root: place.host.clone(), below: rest.iter().collect(), shown: shown.to_owned() })
            }
        }
    }
}

fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty() && *part != ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(host: &Path, guest: &str) -> Folder {
        Folder { host: host.to_owned(), guest: guest.into(), write: false }
    }

    #[test]
    fn a_path_belongs_to_the_nearest_granted_folder_above_it() {
        let world = tempfile::tempdir().unwrap();
        let root = world.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("inner")).unwrap();
        let places = Places::find(
            &[folder(&root, "/a"), folder(&root.join("inner"), "/a/b"), folder(&root.join("none"), "/a/c")],
            &Guarded::default(),
        );
        let located = |path: &str| places.locate(path).map(|located| (located.root, located.below, located.shown));
        assert_eq!(located("/a/x/y"), Ok((root.clone(), "x/y".into(), "/a/x/y".into())));
        assert_eq!(located("/a/b/x"), Ok((root.join("inner"), "x".into(), "/a/b/x".into())));
        assert_eq!(located("/a/bb"), Ok((root.clone(), "bb".into(), "/a/bb".into())), "a name that only begins so is another");
        assert_eq!(located("/a/"), Ok((root.clone(), "".into(), "/a".into())));
        assert_eq!(located("a/./x//y"), Ok((root.clone(), "x/y".into(), "a/./x//y".into())), "told as it was given");
        assert_eq!(located("/a/c/x"), Err(Unplaced::Missing(root.join("none"))));
        for path in ["/", "/b", "/aa", "b"] {
            assert_eq!(located(path), Err(Unplaced::NotGranted), "{path}");
        }
    }

    #[test]
    fn a_path_that_leads_upwards_or_is_none_is_refused_wherever_it_leads() {
        let world = tempfile::tempdir().unwrap();
        let places = Places::find(&[folder(world.path(), "/")], &Guarded::default());
        for path in ["", "/..", "/a/../b", "a\0b", &"x".repeat(MAX_PATH_BYTES + 1)] {
            assert!(matches!(places.locate(path), Err(Unplaced::Invalid(_))), "{path}");
        }
        assert!(places.locate(&"x".repeat(MAX_PATH_BYTES)).is_ok());
    }

    #[test]
    fn what_is_no_folder_is_missing_and_one_made_again_is_another() {
        let world = tempfile::tempdir().unwrap();
        let (file, made) = (world.path().join("file"), world.path().join("made"));
        std::fs::write(&file, "").unwrap();
        std::fs::create_dir(&made).unwrap();
        let places =
            Places::find(&[folder(&file, "/f"), folder(&made, "/m"), folder(&world.path().join("none"), "/n")], &Guarded::default());
        assert_eq!(places.there().len(), 1);
        assert_eq!(places.missing().iter().map(|missing| &*missing.guest).collect::<Vec<_>>(), ["/f", "/n"]);
        let before = places.roots()[1].1;
        assert_eq!(Identity::at(&made), before);
        std::fs::remove_dir(&made).unwrap();
        assert_eq!(Identity::at(&made), None);
    }
}
