//! `.gitignore`: which files of the working tree are nobody's business.
//!
//! A folder's own file comes before those of the folders above it, and `.git/info/exclude` last; in one file the last line that matches
//! decides; and below a folder that is ignored everything is. The user's own file for all repositories is outside what a provider can see.

mod pattern;

use std::{path::Path, rc::Rc};

pub use pattern::Pattern;

use crate::{error::Result, files};

/// Bytes of one `.gitignore`. Git reads larger ones; the largest collections of them have some 10 KB.
const MAX_BYTES: u64 = 256 << 10;

/// The lines of one file.
#[derive(Debug, Default)]
struct Patterns(Vec<Pattern>);

impl Patterns {
    /// A file that is too large or cannot be read ignores nothing: too many files are shown then, and none is hidden.
    fn read(path: &Path) -> Self {
        let content = files::read(path, MAX_BYTES).ok().flatten().unwrap_or_default();
        Self(content.split(|byte| *byte == b'\n').filter_map(Pattern::parse).collect())
    }

    /// What the last line that matches says.
    fn decide(&self, path: &str, is_folder: bool) -> Option<bool> {
        self.0.iter().rev().find(|pattern| pattern.matches(path.as_bytes(), is_folder)).map(|pattern| !pattern.negated)
    }
}

/// A folder of the working tree, as what is in it is ignored or not.
#[derive(Debug)]
pub struct Level {
    above: Option<Rc<Level>>,
    /// From the root, without slashes at the ends; the root's is empty.
    path: String,
    patterns: Patterns,
    ignored: bool,
}

impl Level {
    /// The root of a working tree.
    pub fn root(work: &Path, common: &Path) -> Result<Rc<Self>> {
        let exclude = Self { above: None, path: String::new(), patterns: Patterns::read(&common.join("info/exclude")), ignored: false };
        let patterns = Patterns::read(&work.join(".gitignore"));
        Ok(Rc::new(Self { above: Some(Rc::new(exclude)), path: String::new(), patterns, ignored: false }))
    }

    /// A folder in this one.
    pub fn enter(self: &Rc<Self>, work: &Path, name: &str) -> Rc<Self> {
        let path = self.join(name);
        let ignored = self.ignores(name, true);
        // Nothing below an ignored folder can be taken out again.
        let patterns = if ignored { Patterns::default() } else { Patterns::read(&work.join(&path).join(".gitignore")) };
        Rc::new(Self { above: Some(self.clone()), path, patterns, ignored })
    }

    /// Whether something in this folder is ignored.
    pub fn ignores(&self, name: &str, is_folder: bool) -> bool {
        if self.ignored {
            return true;
        }
        let full = self.join(name);
        let mut level = Some(self);
        while let Some(here) = level {
            let relative = if here.path.is_empty() { Some(&*full) } else { full.get(here.path.len() + 1..) };
            if let Some(ignored) = relative.and_then(|relative| here.patterns.decide(relative, is_folder)) {
                return ignored;
            }
            level = here.above.as_deref();
        }
        false
    }

    /// The path of something in this folder.
    pub fn join(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}/{name}", self.path) }
    }

    /// The folder itself.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether all that is in it is ignored.
    pub fn is_ignored(&self) -> bool {
        self.ignored
    }
}
