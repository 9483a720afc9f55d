//! Names for commits, as people type them: `main`, `v1.2`, `HEAD~3`, `1a2b3c4`.

use crate::{
    error::{Error, Result},
    id::{Abbreviation, ObjectId},
    objects::Kind,
    refs::is_name,
    repository::Repository,
};

/// Tags of tags.
const MAX_TAGS: usize = 16;
/// Steps back from a name.
const MAX_STEPS: usize = 100_000;
const MAX_BYTES: usize = 1024;

impl Repository {
    /// The object that a revision names: an id of 40 digits or the beginning of one, a reference by its short or full name, `@` for HEAD,
    /// and after any of these `~n` and `^n`.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is none, [`Error::Invalid`] for one that cannot be.
    pub fn revision(&self, text: &str) -> Result<ObjectId> {
        let missing = || Error::NotFound(format!("revision {text:?}"));
        if text.is_empty() || text.len() > MAX_BYTES {
            return Err(Error::Invalid("a revision is a branch, a tag or an id of a commit".into()));
        }
        let end = text.find(['~', '^']).unwrap_or(text.len());
        let (name, steps) = text.split_at(end);
        let mut id = self.named(name)?.ok_or_else(missing)?;
        for (back, number) in
            parse_steps(steps).ok_or_else(|| Error::Invalid(format!("{text:?} is no revision: after a name come ~n and ^n only")))?
        {
            id = self.peel(&id)?;
            // `^n` is the nth parent, `~n` the first parent n times.
            let (times, parent) = match back {
                '~' => (number, 1),
                _ => (usize::from(number > 0), number),
            };
            if times > MAX_STEPS {
                return Err(Error::Invalid(format!("{text:?} goes back too far")));
            }
            for _ in 0..times {
                let parents = self.parents(&id, &self.commit(&id)?)?;
                id = *parents.get(parent - 1).ok_or_else(missing)?;
            }
        }
        Ok(id)
    }

    /// The commit that a revision names.
    ///
    /// # Errors
    /// As of [`Repository::revision`]; [`Error::Invalid`] for an object that is no commit.
    pub fn revision_commit(&self, text: &str) -> Result<ObjectId> {
        let id = self.revision(text)?;
        self.peel(&id)
    }

    /// The commit that an object stands for: a tag's, or itself.
    pub fn peel(&self, id: &ObjectId) -> Result<ObjectId> {
        let mut at = *id;
        for _ in 0..MAX_TAGS {
            match self.object(&at)?.kind {
                Kind::Commit => return Ok(at),
                Kind::Tag => at = self.tag(&at)?.target,
                kind => return Err(Error::Invalid(format!("{id} is a {}, no commit", kind.name()))),
            }
        }
        Err(Error::damaged(format!("tag {id}"), "too many tags of tags"))
    }

    /// The full name of the reference that a short one means, in git's own order.
    pub fn reference(&self, name: &str) -> Result<Option<String>> {
        let name = if name == "@" { "HEAD" } else { name };
        for full in [
            name.to_owned(),
            format!("refs/{name}"),
            format!("refs/tags/{name}"),
            format!("refs/heads/{name}"),
            format!("refs/remotes/{name}"),
            format!("refs/remotes/{name}/HEAD"),
        ] {
            if is_name(&full) && self.refs.resolve(&full)?.is_some() {
                return Ok(Some(full));
            }
        }
        Ok(None)
    }

    fn named(&self, name: &str) -> Result<Option<ObjectId>> {
        if let Some(id) = ObjectId::from_hex(name) {
            return Ok(self.objects.find(&id)?.map(|_| id));
        }
        if let Some(full) = self.reference(name)? {
            return self.refs.resolve(&full);
        }
        let Some(abbreviation) = Abbreviation::new(name) else { return Ok(None) };
        match *self.objects.abbreviated(&abbreviation)? {
            [] => Ok(None),
            [id] => Ok(Some(id)),
            _ => self.only_commit(&abbreviation, name).map(Some),
        }
    }

    fn only_commit(&self, abbreviation: &Abbreviation, name: &str) -> Result<ObjectId> {
        // Two of all objects: there may be one commit among them, which is what is meant.
        let mut commits = Vec::new();
        for id in self.objects.abbreviated(abbreviation)? {
            if self.object(&id)?.kind == Kind::Commit {
                commits.push(id);
            }
        }
        match *commits {
            [id] => Ok(id),
            _ => Err(Error::Invalid(format!("{name:?} may be one of several objects: give more digits"))),
        }
    }
}

/// `~`, `^` and their numbers; `None` if there is something else.
fn parse_steps(text: &str) -> Option<Vec<(char, usize)>> {
    let mut steps = Vec::new();
    let mut rest = text;
    while let Some(back) = rest.chars().next() {
        if back != '~' && back != '^' {
            return None;
        }
        rest = rest.get(1..)?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        steps.push((back, if number.is_empty() { 1 } else { number.parse().ok()? }));
        rest = after;
    }
    Some(steps)
}
