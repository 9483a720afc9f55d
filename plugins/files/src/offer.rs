//! Which files are offered: those in the granted folders that are neither hidden, nor ignored, nor behind a link.

use std::{
    collections::{BTreeSet, HashMap},
    fs,
};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::index::Meta;

/// Git's own folder is never offered.
const GIT: &str = ".git";
const GITIGNORE: &str = ".gitignore";

/// What is at an offered path.
pub enum Found {
    File(Meta),
    Folder,
}

/// See the module's page. Paths are absolute, without `.`, `..`, and slashes at the end.
pub struct Offer {
    folders: Vec<String>,
    hidden: bool,
    gitignore: bool,
    /// Of each folder that was looked into, what its `.gitignore` says, if it has one.
    rules: HashMap<String, Option<Gitignore>>,
}

/// A folder's entry.
pub struct Named {
    pub name: String,
    pub is_folder: bool,
}

/// One path below another.
pub fn join(folder: &str, name: &str) -> String {
    if folder == "/" { format!("/{name}") } else { format!("{folder}/{name}") }
}

impl Offer {
    pub fn new(folders: Vec<String>, hidden: bool, gitignore: bool) -> Self {
        Self { folders, hidden, gitignore, rules: HashMap::new() }
    }

    pub fn folders(&self) -> &[String] {
        &self.folders
    }

    /// Whether a change of this file changes what is offered.
    pub fn is_rule(&self, path: &str) -> bool {
        self.gitignore && path.ends_with("/.gitignore")
    }

    pub fn forget_rules(&mut self) {
        self.rules.clear();
    }

    /// The granted folder above a path, the nearest, and the names from there on.
    fn placed<'a>(&self, path: &'a str) -> Option<(String, Vec<&'a str>)> {
        let below = |folder: &str| match folder {
            "/" => Some(&path[1..]),
            _ => path.strip_prefix(folder).filter(|rest| rest.is_empty() || rest.starts_with('/')),
        };
        let (folder, rest) =
            self.folders.iter().filter_map(|folder| below(folder).map(|rest| (folder, rest))).min_by_key(|(_, rest)| rest.len())?;
        Some((folder.clone(), rest.split('/').filter(|name| !name.is_empty()).collect()))
    }

    /// Whether something at this path would be offered, if there were any.
    pub fn may_have(&mut self, path: &str) -> bool {
        let Some((folder, names)) = self.placed(path) else { return false };
        let mut here = folder.clone();
        let last = names.len();
        names.iter().enumerate().all(|(at, name)| {
            let next = join(&here, name);
            // Whether the last one is a folder is not known, and only a file is surely meant.
            let offered = self.offers(&folder, &next, name, at + 1 < last);
            here = next;
            offered
        })
    }

    /// What is at a path, if it is offered.
    pub fn find(&mut self, path: &str) -> Option<Found> {
        let (folder, names) = self.placed(path)?;
        let (mut here, last) = (folder.clone(), names.len());
        for (at, name) in names.iter().enumerate() {
            let next = join(&here, name);
            let metadata = fs::symlink_metadata(&next).ok()?;
            if !self.offers(&folder, &next, name, metadata.is_dir()) {
                return None;
            }
            if at + 1 == last && metadata.is_file() {
                return Some(Found::File(Meta::of(&metadata)));
            }
            if !metadata.is_dir() {
                return None;
            }
            here = next;
        }
        Some(Found::Folder)
    }

    /// What is offered in a folder that is itself offered, by name.
    pub fn entries(&mut self, folder: &str) -> Vec<Named> {
        let Some((root, _)) = self.placed(folder) else { return Vec::new() };
        let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
        let mut found = Vec::new();
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let Ok(kind) = entry.file_type() else { continue };
            if (kind.is_dir() || kind.is_file()) && self.offers(&root, &join(folder, &name), &name, kind.is_dir()) {
                found.push(Named { name, is_folder: kind.is_dir() });
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found
    }

    /// The names in a folder, folders with a slash; on the way to the granted folders, those.
    pub fn names(&mut self, folder: &str) -> Vec<String> {
        let folder = if folder.len() > 1 { folder.trim_end_matches('/') } else { folder };
        let before = if folder == "/" { "/".to_owned() } else { format!("{folder}/") };
        let towards = self.folders.iter().filter_map(|other| other.strip_prefix(&before)).filter(|rest| !rest.is_empty());
        let mut names: BTreeSet<String> = towards.map(|rest| format!("{}/", rest.split('/').next().unwrap_or(rest))).collect();
        if matches!(self.find(folder), Some(Found::Folder)) {
            names.extend(self.entries(folder).into_iter().map(|Named { name, is_folder }| if is_folder { name + "/" } else { name }));
        }
        names.into_iter().collect()
    }

    /// Whether this one step of a path is offered; `root` is the granted folder above it.
    fn offers(&mut self, root: &str, path: &str, name: &str, is_folder: bool) -> bool {
        if name == GIT || (!self.hidden && name.starts_with('.')) {
            return false;
        }
        !self.gitignore || !self.is_ignored(root, path, is_folder)
    }

    /// What the nearest `.gitignore` says counts, as git has it.
    fn is_ignored(&mut self, root: &str, path: &str, is_folder: bool) -> bool {
        let mut folder = path;
        while folder.len() > root.len() && folder != "/" {
            folder = match folder.rfind('/') {
                Some(0) | None => "/",
                Some(at) => &folder[..at],
            };
            let rules = self.rules.entry(folder.to_owned()).or_insert_with(|| rules(folder));
            if let Some(rules) = rules {
                let said = rules.matched(path, is_folder);
                if !said.is_none() {
                    return said.is_ignore();
                }
            }
        }
        false
    }
}

fn rules(folder: &str) -> Option<Gitignore> {
    let text = fs::read_to_string(join(folder, GITIGNORE)).ok()?;
    let mut builder = GitignoreBuilder::new(folder);
    for line in text.lines() {
        // A pattern that is none says nothing, as for git.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}
