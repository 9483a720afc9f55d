//! One look at everything that is followed: what is at each path, and which folders have to be watched to hear of a change there.
//!
//! Blocks, so it runs on a thread of its own. A path is followed through its symbolic links, step by step: what changes may be the file, a
//! link on the way (Kubernetes swaps `..data`), or a folder that is not there yet.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ffi::{OsStr, OsString},
    fs::Metadata,
    io,
    path::{Component, Path, PathBuf},
};

use super::settling::{Look, Stamp};

/// Links that one path may lead through; as many as Linux allows.
const MAX_LINKS: usize = 40;

/// What is to be followed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Followed {
    /// Every component in this folder.
    pub folder: Option<PathBuf>,
    /// And these files, wherever they are.
    pub files: BTreeSet<PathBuf>,
}

/// How the folder was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Folder {
    /// There is none to be followed.
    #[default]
    None,
    /// Its files are known.
    Read,
    /// It is not there.
    Missing,
    /// It cannot be read; why. What is known of its files stays.
    Unreadable(String),
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub folder: Folder,
    /// The paths that were looked at. Those that could not be seen are `None`.
    pub looks: BTreeMap<PathBuf, Option<Look>>,
    /// The names under which events may speak of them, and of which.
    pub names: HashMap<PathBuf, BTreeSet<PathBuf>>,
    /// Where the folder really is.
    pub real_folder: Option<PathBuf>,
    /// The folders that have to be watched.
    pub watched: BTreeSet<PathBuf>,
}

/// Whether a file of this name is a component. Hidden ones are what editors and tools write on the way.
pub(in crate::plugins) fn is_component(name: &OsStr) -> bool {
    !name.as_encoded_bytes().starts_with(b".") && Path::new(name).extension() == Some(OsStr::new("wasm"))
}

/// Looks at everything.
pub(super) fn scan(followed: &Followed) -> Scan {
    let mut scan = Scan::default();
    if let Some(folder) = &followed.folder {
        scan.folder = scan.look_into(folder);
    }
    for path in &followed.files {
        scan.look_at(path);
    }
    scan
}

impl Scan {
    fn look_into(&mut self, folder: &Path) -> Folder {
        let way = way(folder);
        self.watched.extend(way.folders);
        for name in way.names {
            self.names.entry(name).or_default();
        }
        let Some(real) = way.end else { return Folder::Missing };
        let entries = match std::fs::read_dir(&real) {
            Ok(entries) => entries,
            Err(error) if is_absence(&error) => return Folder::Missing,
            Err(error) => return Folder::Unreadable(error.to_string()),
        };
        self.watched.insert(real.clone());
        for entry in entries {
            let Ok(entry) = entry else { return Folder::Unreadable("its list of files breaks off".into()) };
            let name = entry.file_name();
            if is_component(&name) {
                // Most are no links: no need to go their whole way.
                if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                    self.look_at_known_as(&folder.join(&name), &real.join(&name));
                } else if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    let path = folder.join(&name);
                    self.looks.insert(path.clone(), look(&real.join(&name)));
                    self.names.entry(real.join(&name)).or_default().insert(path);
                }
            }
        }
        self.real_folder = Some(real);
        Folder::Read
    }

    fn look_at(&mut self, path: &Path) {
        self.look_at_known_as(path, path);
    }

    fn look_at_known_as(&mut self, path: &Path, really: &Path) {
        let way = way(really);
        self.watched.extend(way.folders);
        for name in way.names {
            self.names.entry(name).or_default().insert(path.to_owned());
        }
        self.looks.insert(path.to_owned(), look(really));
    }
}

fn look(path: &Path) -> Option<Look> {
    match std::fs::metadata(path) {
        Ok(metadata) => Some(Look::There(stamp(&metadata))),
        Err(error) if is_absence(&error) => Some(Look::Absent),
        Err(_) => None,
    }
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(unix)]
pub(super) fn stamp(metadata: &Metadata) -> Stamp {
    use std::os::unix::fs::MetadataExt;

    let time = |seconds: i64, nanoseconds: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
    Stamp {
        file: (metadata.dev(), metadata.ino()),
        size: metadata.len(),
        times: (time(metadata.mtime(), metadata.mtime_nsec()), time(metadata.ctime(), metadata.ctime_nsec())),
    }
}

#[cfg(not(unix))]
pub(super) fn stamp(metadata: &Metadata) -> Stamp {
    let since_1970 = |time: io::Result<std::time::SystemTime>| {
        let passed = time.ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        passed.and_then(|passed| i128::try_from(passed.as_nanos()).ok()).unwrap_or_default()
    };
    Stamp { file: (0, 0), size: metadata.len(), times: (since_1970(metadata.modified()), since_1970(metadata.created())) }
}

/// The way to a path.
#[derive(Debug, Default)]
struct Way {
    /// The links on it and its end, each named by the real folder it is in; or what is missing.
    names: Vec<PathBuf>,
    /// The folders those are in.
    folders: BTreeSet<PathBuf>,
    /// Where it ends, if it does.
    end: Option<PathBuf>,
}

/// Goes a way component by component.
fn way(path: &Path) -> Way {
    let mut way = Way::default();
    let Ok(path) = std::path::absolute(path) else { return way };
    // What is still to be gone, the next one last.
    let mut ahead: Vec<OsString> = Vec::new();
    let mut here = PathBuf::new();
    push(&mut ahead, &mut here, &path);
    let mut links = 0;
    while let Some(name) = ahead.pop() {
        if name == ".." {
            here.pop();
            continue;
        }
        let next = here.join(&name);
        let Ok(metadata) = std::fs::symlink_metadata(&next) else {
            way.step(&here, next);
            return way;
        };
        if metadata.is_symlink() {
            way.step(&here, next.clone());
            links += 1;
            let Ok(target) = std::fs::read_link(&next) else { return way };
            if links > MAX_LINKS {
                return way;
            }
            push(&mut ahead, &mut here, &target);
            continue;
        }
        if ahead.is_empty() {
            way.step(&here, next.clone());
        }
        here = next;
    }
    way.end = Some(here);
    way
}

/// Puts a path before what is still ahead; an absolute one begins anew.
fn push(ahead: &mut Vec<OsString>, here: &mut PathBuf, path: &Path) {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::Prefix(prefix) => *here = prefix.as_os_str().into(),
            Component::RootDir => here.push(std::path::MAIN_SEPARATOR_STR),
            Component::CurDir => {}
            Component::ParentDir => names.push("..".into()),
            Component::Normal(name) => names.push(name.to_owned()),
        }
    }
    ahead.extend(names.into_iter().rev());
}

impl Way {
    fn step(&mut self, folder: &Path, name: PathBuf) {
        self.folders.insert(folder.to_owned());
        self.names.push(name);
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    fn temporary() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        (folder, path)
    }

    fn followed(folder: &Path) -> Followed {
        Followed { folder: Some(folder.to_owned()), files: BTreeSet::new() }
    }

    #[test]
    fn only_components_are_looked_at_however_much_else_there_is() {
        let (_guard, folder) = temporary();
        for name in ["a.wasm", ".hidden.wasm", "b.txt", "c.wasm.tmp", "wasm"] {
            fs::write(folder.join(name), "").unwrap();
        }
        fs::create_dir(folder.join("folder.wasm")).unwrap();
        let scan = scan(&followed(&folder));
        assert_eq!(scan.looks.keys().collect::<Vec<_>>(), [&folder.join("a.wasm")]);
        assert_eq!(scan.folder, Folder::Read);
        assert_eq!(scan.watched, [folder.parent().unwrap().to_owned(), folder.clone()].into(), "its parent, to hear that it is gone");
    }

    #[test]
    fn a_link_is_followed_to_its_end_and_each_step_is_watched() {
        // As Kubernetes mounts a ConfigMap.
        let (_guard, root) = temporary();
        let folder = root.join("plugins");
        fs::create_dir_all(folder.join("..one")).unwrap();
        fs::write(folder.join("..one/d.wasm"), "1").unwrap();
        symlink("..one", folder.join("..data")).unwrap();
        symlink("..data/d.wasm", folder.join("d.wasm")).unwrap();
        let scan = scan(&followed(&folder));
        assert!(matches!(scan.looks[&folder.join("d.wasm")], Some(Look::There(stamp)) if stamp.size == 1));
        for name in ["d.wasm", "..data", "..one/d.wasm"] {
            assert_eq!(scan.names[&folder.join(name)], [folder.join("d.wasm")].into(), "{name}");
        }
        assert!(scan.watched.contains(&folder.join("..one")));
    }

    #[test]
    fn what_is_missing_is_watched_for_where_it_will_appear() {
        let (_guard, root) = temporary();
        let folder = root.join("not/yet/there");
        let scan = scan(&followed(&folder));
        assert_eq!(scan.folder, Folder::Missing);
        assert!(scan.looks.is_empty());
        assert_eq!(scan.watched, [root.clone()].into());
        assert!(scan.names.contains_key(&root.join("not")));
    }

    #[test]
    fn a_link_in_a_circle_and_one_to_nowhere_are_not_there() {
        let (_guard, folder) = temporary();
        symlink("b.wasm", folder.join("a.wasm")).unwrap();
        symlink("a.wasm", folder.join("b.wasm")).unwrap();
        symlink("/nowhere/c", folder.join("c.wasm")).unwrap();
        let scan = scan(&followed(&folder));
        assert_eq!(scan.looks[&folder.join("c.wasm")], Some(Look::Absent));
        assert_eq!(scan.looks[&folder.join("a.wasm")], None, "the system calls a circle another error");
        assert!(scan.watched.contains(Path::new("/")), "where it would have to appear");
    }

    #[test]
    fn a_relative_path_is_told_as_it_was_given() {
        let scan = scan(&Followed { folder: None, files: ["Cargo.toml".into()].into() });
        assert!(matches!(scan.looks[Path::new("Cargo.toml")], Some(Look::There(_))));
    }
}
