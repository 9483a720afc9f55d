//! The way to a watched path: where links on it lead, as long as they stay inside the granted folder.

use std::{
    ffi::OsString,
    path::{Component, Path, PathBuf},
};

/// Links that one path may lead through; as many as Linux allows.
const MAX_LINKS: usize = 40;

/// The way to a path, and its end.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Way {
    /// Every step of it, each by the real folder it is in: folders, links, and its end or what is missing. None for the granted folder itself.
    pub names: Vec<PathBuf>,
    /// Where it ends, if it does. It is in the granted folder, and no link.
    pub end: Option<PathBuf>,
}

/// Goes from a granted folder, whose own path has no links, to a path below it. Blocks.
pub(super) fn way(root: &Path, below: &Path) -> Way {
    let mut way = Way::default();
    // What is still to be gone, the next one last.
    let mut ahead: Vec<OsString> = Vec::new();
    if !push(&mut ahead, below) {
        return way;
    }
    let mut here = root.to_owned();
    let mut links = 0;
    while let Some(name) = ahead.pop() {
        if name == ".." {
            if here == root {
                return way;
            }
            here.pop();
            continue;
        }
        let next = here.join(&name);
        let Ok(metadata) = std::fs::symlink_metadata(&next) else {
            way.names.push(next);
            return way;
        };
        way.names.push(next.clone());
        if metadata.is_symlink() {
            links += 1;
            match std::fs::read_link(&next) {
                Ok(target) if links <= MAX_LINKS && push(&mut ahead, &target) => continue,
                _ => return way,
            }
        }
        here = next;
    }
    way.end = Some(here);
    way
}

/// Puts a path before what is still ahead. Not an absolute one: WASI follows none either.
fn push(ahead: &mut Vec<OsString>, path: &Path) -> bool {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::Prefix(_) | Component::RootDir => return false,
            Component::CurDir => {}
            Component::ParentDir => names.push("..".into()),
            Component::Normal(name) => names.push(name.to_owned()),
        }
    }
    ahead.extend(names.into_iter().rev());
    true
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    fn world() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("granted");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/file"), "").unwrap();
        fs::write(root.parent().unwrap().join("secret"), "").unwrap();
        (folder, root)
    }

    fn end(root: &Path, below: &str) -> Option<PathBuf> {
        way(root, Path::new(below)).end
    }

    #[test]
    fn links_are_followed_as_long_as_they_stay_inside() {
        let (_guard, root) = world();
        symlink("a/b", root.join("inner")).unwrap();
        symlink("../../a/b/file", root.join("a/b/up")).unwrap();
        assert_eq!(end(&root, "inner/file"), Some(root.join("a/b/file")));
        assert_eq!(end(&root, "inner/up"), Some(root.join("a/b/file")));
        let steps = ["inner", "a", "a/b", "a/b/file"].map(|step| root.join(step));
        assert_eq!(way(&root, Path::new("inner/file")).names, steps);
        assert_eq!(end(&root, ""), Some(root.clone()));
    }

    #[test]
    fn no_link_leads_out() {
        let (_guard, root) = world();
        symlink("../secret", root.join("out")).unwrap();
        symlink("a/../../secret", root.join("around")).unwrap();
        symlink(root.parent().unwrap().join("secret"), root.join("absolute")).unwrap();
        symlink(root.join("a"), root.join("absolute-inside")).unwrap();
        symlink("..", root.join("parent")).unwrap();
        for path in ["out", "around", "absolute", "absolute-inside/b", "parent/granted/a", "parent/secret"] {
            assert_eq!(end(&root, path), None, "{path}");
        }
    }

    #[test]
    fn a_circle_of_links_ends_and_what_is_missing_is_waited_for_where_it_will_appear() {
        let (_guard, root) = world();
        symlink("two", root.join("one")).unwrap();
        symlink("one", root.join("two")).unwrap();
        assert_eq!(end(&root, "one/x"), None);
        assert_eq!(way(&root, Path::new("a/none/file")), Way { names: vec![root.join("a"), root.join("a/none")], end: None });
    }
}
