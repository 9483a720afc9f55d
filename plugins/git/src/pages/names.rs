//! Branches and tags.

use git_repository::{Head, Kind, ObjectId, Reference, Repository, Result};

use super::{Page, ran_out, shown};

/// Lines of one list.
const MAX_SHOWN: usize = 2000;
const LOCAL: &str = "refs/heads/";
const REMOTE: &str = "refs/remotes/";
const TAGS: &str = "refs/tags/";

pub fn branches_version(repository: &Repository) -> Result<String> {
    let mut head = format!("{:?}", repository.head()?);
    let local = repository.references(LOCAL)?;
    local.iter().filter_map(|branch| repository.upstream(&branch.name)).for_each(|upstream| head.extend([&upstream, "\n"]));
    version(&head, local.iter().chain(&repository.references(REMOTE)?))
}

pub fn tags_version(repository: &Repository) -> Result<String> {
    version("", repository.references(TAGS)?.iter())
}

fn version<'a>(head: &str, references: impl Iterator<Item = &'a Reference>) -> Result<String> {
    let mut all = head.to_owned();
    references.for_each(|reference| all.extend([&reference.name, " ", &reference.id.to_string(), "\n"]));
    Ok(super::hash(all.as_bytes()))
}

pub fn branches(repository: &Repository) -> Result<Page> {
    let head = repository.head()?;
    let mut lines = Lines::new(repository);
    if let Head::Detached(id) = &head {
        lines.add("* (no branch)", id, "")?;
    }
    let current = match &head {
        Head::Branch { name, .. } => name.as_str(),
        Head::Detached(_) => "",
    };
    if let Head::Branch { name, id: None } = &head {
        lines.text.push_str(&format!("* {} (no commits yet)\n", short(name, LOCAL)));
    }
    for reference in repository.references(LOCAL)? {
        let mark = if reference.name == current { '*' } else { ' ' };
        let upstream = repository.upstream(&reference.name).map(|upstream| format!(" [{}]", short(&upstream, REMOTE))).unwrap_or_default();
        lines.add(&format!("{mark} {}", short(&reference.name, LOCAL)), &reference.id, &upstream)?;
    }
    for reference in repository.references(REMOTE)? {
        // Only a name for another one in the list.
        if !reference.name.ends_with("/HEAD") {
            lines.add(&format!("  remotes/{}", short(&reference.name, REMOTE)), &reference.id, "")?;
        }
    }
    Ok(lines.page("no branches yet"))
}

pub fn tags(repository: &Repository) -> Result<Page> {
    let mut lines = Lines::new(repository);
    // The latest versions sort last; they are what is asked for.
    for reference in repository.references(TAGS)?.iter().rev() {
        lines.add(&short(&reference.name, TAGS), &reference.id, "")?;
    }
    Ok(lines.page("no tags"))
}

fn short(name: &str, prefix: &str) -> String {
    shown(name.strip_prefix(prefix).unwrap_or(name).as_bytes())
}

struct Lines<'a> {
    repository: &'a Repository,
    text: String,
    number: usize,
    whole: bool,
}

impl<'a> Lines<'a> {
    fn new(repository: &'a Repository) -> Self {
        Self { repository, text: String::new(), number: 0, whole: true }
    }

    /// A name, and what it leads to: id, date and subject, if there is time for it.
    fn add(&mut self, name: &str, id: &ObjectId, note: &str) -> Result<()> {
        self.number += 1;
        if self.number > MAX_SHOWN {
            return Ok(());
        }
        let what = if self.whole { ran_out(self.what(id))? } else { None };
        self.whole &= what.is_some();
        let what = what.unwrap_or_else(|| id.short());
        self.text.push_str(&format!("{name} {what}{note}\n"));
        Ok(())
    }

    fn what(&self, id: &ObjectId) -> Result<String> {
        match self.repository.object(id)?.kind {
            Kind::Commit | Kind::Tag => {
                let id = self.repository.peel(id)?;
                let commit = self.repository.commit(&id)?;
                Ok(format!("{} {} {}", id.short(), commit.committer.when(), shown(commit.subject().as_bytes())))
            }
            kind => Ok(format!("{} ({})", id.short(), kind.name())),
        }
    }

    fn page(mut self, none: &str) -> Page {
        if self.number == 0 && self.text.is_empty() {
            self.text = format!("{none}\n");
        }
        if self.number > MAX_SHOWN {
            self.text.push_str(&format!("({} more are not shown)\n", self.number - MAX_SHOWN));
        }
        if !self.whole {
            self.text.push_str("(there was no time to read all of them)\n");
        }
        Page { whole: self.whole, ..Page::text(self.text) }
    }
}
