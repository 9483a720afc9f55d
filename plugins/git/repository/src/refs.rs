//! References: branches, tags, HEAD; loose and packed, symbolic ones followed.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    rc::Rc,
    time::SystemTime,
};

use crate::{
    budget::Budget,
    error::{Error, Result},
    files,
    id::ObjectId,
};

/// Symbolic references in a row: git's own limit.
const MAX_SYMBOLIC: usize = 5;
/// Bytes of a loose reference: a name is at most 4 KiB on any file system.
const MAX_LOOSE_BYTES: u64 = 8 << 10;
/// Bytes of `packed-refs`: some 200,000 of them.
const MAX_PACKED_BYTES: u64 = 16 << 20;
/// References listed.
const MAX_REFERENCES: usize = 100_000;
/// Names in one folder of references.
const MAX_NAMES: usize = 100_000;
/// Folders in folders.
const MAX_DEPTH: usize = 32;
const MAX_NAME_BYTES: usize = 1024;

/// A name for a commit, or another object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// In full: `refs/heads/main`.
    pub name: String,
    /// What it stands for: a tag object, where the tag is annotated.
    pub id: ObjectId,
}

/// What is checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    /// A branch.
    Branch {
        /// In full: `refs/heads/main`.
        name: String,
        /// Its commit; `None` before the first one.
        id: Option<ObjectId>,
    },
    /// A commit, on no branch.
    Detached(ObjectId),
}

#[derive(Debug)]
pub struct Refs {
    /// Where HEAD is: a worktree's own folder.
    git: PathBuf,
    /// Where branches are, for all worktrees.
    common: PathBuf,
    packed: RefCell<Packed>,
    budget: Budget,
}

/// `packed-refs`, as of the last look.
#[derive(Debug, Default)]
struct Packed {
    stamp: Option<(u64, Option<SystemTime>)>,
    references: Rc<BTreeMap<String, ObjectId>>,
}

/// What a reference's file says.
enum Value {
    Id(ObjectId),
    Symbolic(String),
}

impl Refs {
    pub fn new(git: &Path, common: &Path, budget: Budget) -> Self {
        Self { git: git.to_owned(), common: common.to_owned(), packed: RefCell::default(), budget }
    }

    /// What is checked out.
    pub fn head(&self) -> Result<Head> {
        match self.value("HEAD")? {
            Some(Value::Id(id)) => Ok(Head::Detached(id)),
            Some(Value::Symbolic(name)) => {
                let id = self.resolve(&name)?;
                Ok(Head::Branch { name, id })
            }
            None => Err(Error::damaged(self.git.join("HEAD").display().to_string(), "it is not there")),
        }
    }

    /// What a full name stands for; `None` if there is no such reference, or a symbolic one leads nowhere.
    pub fn resolve(&self, name: &str) -> Result<Option<ObjectId>> {
        let mut name = name.to_owned();
        for _ in 0..=MAX_SYMBOLIC {
            match self.value(&name)? {
                None => return Ok(None),
                Some(Value::Id(id)) => return Ok(Some(id)),
                Some(Value::Symbolic(next)) => name = next,
            }
        }
        Err(Error::damaged(name, format!("more than {MAX_SYMBOLIC} symbolic references in a row, or a circle of them")))
    }

    /// All below a prefix that ends with `/`, by name. One whose file cannot be understood is left out, as git leaves it out.
    pub fn list(&self, prefix: &str) -> Result<Vec<Reference>> {
        let packed = self.packed()?;
        let mut names: BTreeMap<String, Option<ObjectId>> = BTreeMap::new();
        let below = packed.range(prefix.to_owned()..).take_while(|(name, _)| name.starts_with(prefix));
        names.extend(below.take(MAX_REFERENCES).map(|(name, id)| (name.clone(), Some(*id))));
        self.collect(prefix.trim_end_matches('/'), 0, &mut names)?;
        let mut references = Vec::with_capacity(names.len());
        for (name, id) in names {
            let id = match id {
                Some(id) => Some(id),
                None => match self.resolve(&name) {
                    Ok(id) => id,
                    Err(Error::Damaged { .. }) => None,
                    Err(error) => return Err(error),
                },
            };
            references.extend(id.map(|id| Reference { name, id }));
        }
        Ok(references)
    }

    /// Loose references in a folder, which take the place of packed ones.
    fn collect(&self, folder: &str, depth: usize, names: &mut BTreeMap<String, Option<ObjectId>>) -> Result<()> {
        for (name, kind) in files::names(&self.common.join(folder), MAX_NAMES)? {
            self.budget.step()?;
            let name = format!("{folder}/{name}");
            if kind.is_dir() {
                if depth < MAX_DEPTH {
                    self.collect(&name, depth + 1, names)?;
                }
            } else if is_name(&name) {
                if names.len() >= MAX_REFERENCES {
                    return Err(Error::TooLarge {
                        what: "the list of references".into(),
                        bytes: names.len() as u64,
                        limit: MAX_REFERENCES as u64,
                    });
                }
                names.insert(name, None);
            }
        }
        Ok(())
    }

    fn value(&self, name: &str) -> Result<Option<Value>> {
        self.budget.step()?;
        if !is_name(name) {
            return Ok(None);
        }
        // HEAD and its like belong to the worktree.
        let own = !name.starts_with("refs/") || name.starts_with("refs/bisect/") || name.starts_with("refs/worktree/");
        let folder = if own { &self.git } else { &self.common };
        if let Some(text) = files::read_text(&folder.join(name), MAX_LOOSE_BYTES)? {
            if let Some(target) = text.strip_prefix("ref:") {
                let target = target.trim();
                return match is_name(target) {
                    true => Ok(Some(Value::Symbolic(target.to_owned()))),
                    false => Err(Error::damaged(name, format!("it leads to {target:?}, which is no reference's name"))),
                };
            }
            let id = text.get(..40).and_then(ObjectId::from_hex);
            return id.map(|id| Some(Value::Id(id))).ok_or_else(|| Error::damaged(name, "it holds no id"));
        }
        Ok(self.packed()?.get(name).map(|id| Value::Id(*id)))
    }

    fn packed(&self) -> Result<Rc<BTreeMap<String, ObjectId>>> {
        let path = self.common.join("packed-refs");
        let stamp = fs::metadata(&path).ok().map(|metadata| (metadata.len(), metadata.modified().ok()));
        let mut packed = self.packed.borrow_mut();
        if packed.stamp != stamp {
            let text = files::read_text(&path, MAX_PACKED_BYTES)?.unwrap_or_default();
            let lines = text.lines().filter(|line| !line.starts_with(['#', '^']));
            let references = lines.filter_map(|line| {
                let (id, name) = line.split_once(' ')?;
                Some((name.to_owned(), ObjectId::from_hex(id)?))
            });
            *packed = Packed { stamp, references: Rc::new(references.collect()) };
        }
        Ok(packed.references.clone())
    }
}

/// Whether a reference may have this name: `git check-ref-format`, and what is all in capitals. No such name leads out of the repository.
pub fn is_name(name: &str) -> bool {
    let top = name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_') && !name.is_empty();
    let part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock") && !part.ends_with('.');
    let allowed = |c: char| c > ' ' && c != '\x7f' && !"~^:?*[\\".contains(c);
    let full = name.starts_with("refs/") && name.len() <= MAX_NAME_BYTES && name.split('/').all(part);
    top || full && name.chars().all(allowed) && !name.contains("..") && !name.contains("@{")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_git_takes_for_one() {
        for name in ["HEAD", "FETCH_HEAD", "refs/heads/main", "refs/heads/a/b.c", "refs/tags/v1.0", "refs/heads/ü@x"] {
            assert!(is_name(name), "{name}");
        }
        for name in [
            "",
            "head",
            "refs/../x",
            "refs/heads/../../x",
            "/etc/passwd",
            "refs//x",
            "refs/heads/",
            "refs/heads/.x",
            "refs/heads/x.lock",
            "refs/heads/a b",
            "refs/heads/a\0",
        ] {
            assert!(!is_name(name), "{name}");
        }
    }
}
