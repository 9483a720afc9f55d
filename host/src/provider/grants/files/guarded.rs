//! What no provider may change, whatever folder it is granted to write: what its own rights, and those of others, rest on.
//!
//! A folder that a provider may write is in the hands of that provider. Were wharf.toml in it, it could grant itself anything; were another's
//! component or secret in it, it could have the other's rights; were a granted folder a link in it, it could turn that to any place. So
//! no tool, resource, webhook or component can widen a grant: only who writes these files by other ways can.

use std::{
    ffi::OsString,
    io,
    path::{Component, Path, PathBuf},
};

/// Links that one path may lead through; as many as Linux allows.
const MAX_LINKS: usize = 40;

/// What is guarded, and against whom.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Guarded {
    /// wharf.toml, components, secrets, certificates, and the host's own folders. They need not be there.
    pub paths: Vec<PathBuf>,
    /// The folders that some provider may write, as wharf.toml has them.
    pub written: Vec<PathBuf>,
}

impl Guarded {
    /// Whether some provider may write some folder.
    pub fn any(&self) -> bool {
        !self.written.is_empty()
    }

    /// What is guarded in this folder, which is given by its real path; the folder itself may be. Blocks.
    pub fn inside(&self, folder: &Path) -> Option<&Path> {
        // A link on the way is as good as what it leads to.
        let leads_through = |path: &&PathBuf| walk(path).steps.iter().any(|step| step.path.starts_with(folder));
        self.paths.iter().find(leads_through).map(PathBuf::as_path)
    }

    /// The real path of something that wharf.toml names. Blocks.
    ///
    /// # Errors
    /// There is nothing; or a link leads there that a provider may have made.
    pub fn real(&self, path: &Path) -> io::Result<PathBuf> {
        let walked = walk(path);
        // For the system's own words.
        let Some(end) = walked.end else { return path.canonicalize() };
        let links: Vec<&Step> = walked.steps.iter().filter(|step| step.is_link).collect();
        if !links.is_empty() {
            let written: Vec<PathBuf> = self.written.iter().filter_map(|folder| walk(folder).end).collect();
            if let Some(link) = links.iter().find(|link| written.iter().any(|folder| link.path.starts_with(folder))) {
                let text = format!("{} is a link, in a folder that a provider may write: it is not followed", link.path.display());
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
            }
        }
        Ok(end)
    }
}

/// One step of a way.
struct Step {
    /// By its real folder.
    path: PathBuf,
    is_link: bool,
}

struct Walk {
    /// In order, the last one is the end, or what is missing.
    steps: Vec<Step>,
    /// None, if something on the way is missing.
    end: Option<PathBuf>,
}

/// Goes to a path as the system does, and notes where it comes through. Blocks.
fn walk(path: &Path) -> Walk {
    let mut walk = Walk { steps: Vec::new(), end: None };
    let Ok(absolute) = std::path::absolute(path) else { return walk };
    let mut here = PathBuf::new();
    // What is still to be gone, the next one last.
    let mut ahead: Vec<OsString> = Vec::new();
    push(&mut ahead, &absolute, &mut here);
    let (mut links, mut missing) = (0, false);
    while let Some(name) = ahead.pop() {
        if name == ".." {
            here.pop();
            continue;
        }
        let next = here.join(&name);
        let metadata = std::fs::symlink_metadata(&next);
        missing |= metadata.is_err();
        let is_link = metadata.is_ok_and(|metadata| metadata.is_symlink());
        walk.steps.push(Step { path: next.clone(), is_link });
        if is_link {
            links += 1;
            match std::fs::read_link(&next) {
                Ok(target) if links <= MAX_LINKS => push(&mut ahead, &target, &mut here),
                _ => return walk,
            }
        } else {
            here = next;
        }
    }
    walk.end = (!missing).then_some(here);
    walk
}

/// Puts a path before what is still ahead. An absolute one begins at its root.
fn push(ahead: &mut Vec<OsString>, path: &Path, here: &mut PathBuf) {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::Prefix(prefix) => *here = prefix.as_os_str().into(),
            Component::RootDir => *here = here.join(std::path::MAIN_SEPARATOR_STR),
            Component::CurDir => {}
            Component::ParentDir => names.push("..".into()),
            Component::Normal(name) => names.push(name.to_owned()),
        }
    }
    ahead.extend(names.into_iter().rev());
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    struct World {
        _guard: tempfile::TempDir,
        root: PathBuf,
    }

    fn world() -> World {
        let guard = tempfile::tempdir().unwrap();
        let root = guard.path().canonicalize().unwrap();
        for folder in ["project/docs", "outside/secret", "elsewhere"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        World { _guard: guard, root }
    }

    fn guarding(paths: &[PathBuf], written: &[PathBuf]) -> Guarded {
        Guarded { paths: paths.to_vec(), written: written.to_vec() }
    }

    #[test]
    fn what_is_guarded_is_found_in_a_folder_whether_it_is_there_or_not_and_through_links() {
        let World { root, _guard } = world();
        let (project, outside) = (root.join("project"), root.join("outside"));
        fs::write(outside.join("real.toml"), "").unwrap();
        symlink("../outside/real.toml", project.join("link.toml")).unwrap();
        symlink("project", root.join("way")).unwrap();
        for (path, in_project, in_outside) in [
            (project.join("wharf.toml"), true, false),
            (project.join("docs/none/below"), true, false),
            (root.join("elsewhere/../project/x"), true, false),
            (root.join("way/x"), true, false),
            (project.join("link.toml"), true, true),
            (outside.join("real.toml"), false, true),
            (root.join("project-two"), false, false),
            (project.clone(), true, false),
        ] {
            let guarded = guarding(std::slice::from_ref(&path), &[]);
            assert_eq!((guarded.inside(&project).is_some(), guarded.inside(&outside).is_some()), (in_project, in_outside), "{path:?}");
        }
    }

    #[test]
    fn a_link_that_a_provider_may_have_made_is_not_followed_and_any_other_is() {
        let World { root, _guard } = world();
        let project = root.join("project");
        symlink("../outside/secret", project.join("sub")).unwrap();
        symlink(root.join("outside"), project.join("docs/away")).unwrap();
        symlink("outside", root.join("users-own")).unwrap();
        let guarded = guarding(&[], std::slice::from_ref(&project));
        for path in ["project/sub", "project/docs/away", "project/docs/away/secret", "users-own/../project/sub"] {
            let error = guarded.real(&root.join(path)).unwrap_err().to_string();
            assert!(error.contains("is a link, in a folder that a provider may write"), "{path}: {error}");
        }
        assert_eq!(guarded.real(&root.join("users-own/secret")).unwrap(), root.join("outside/secret"));
        assert_eq!(guarded.real(&project.join("docs")).unwrap(), project.join("docs"));
        assert_eq!(guarding(&[], &[]).real(&project.join("sub")).unwrap(), root.join("outside/secret"));
        // The written folder is named by a link, too.
        symlink("project", root.join("named")).unwrap();
        assert!(guarding(&[], &[root.join("named")]).real(&project.join("sub")).is_err());
    }

    #[test]
    fn a_circle_of_links_and_what_is_missing_are_errors_of_the_system() {
        let World { root, _guard } = world();
        symlink("two", root.join("one")).unwrap();
        symlink("one", root.join("two")).unwrap();
        assert!(guarding(&[], &[]).real(&root.join("one")).is_err());
        assert_eq!(guarding(&[], &[]).real(&root.join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
