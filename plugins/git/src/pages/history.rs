//! Log, commit, comparison.

use git_repository::{Change, Commit, Error, Kind, ObjectId, Repository, Result};

use super::{Page, patches, ran_out, shown};
use crate::{source::Source, uri};

/// Bytes of a log.
const MAX_LOG_BYTES: usize = 2 << 20;
/// Bytes of a message. In a log they are fewer: it has the first 4 KiB of each.
const MAX_MESSAGE_BYTES: usize = 256 << 10;
/// Files of a commit that are named.
const MAX_FILES: usize = 2000;

pub fn log(repository: &Repository, source: &Source, revision: &str, path: Option<&str>, limit: usize) -> Result<Page> {
    let from = match repository.revision_commit(revision) {
        // Of what is checked out before the first commit.
        Err(Error::NotFound(_)) if matches!(revision, "HEAD" | "@") => return Ok(Page::text("no commits yet\n".into())),
        from => from?,
    };
    let log = repository.log(&from, path.map(str::as_bytes), limit)?;
    let mut text = String::new();
    let mut more = log.more;
    let mut number = 0usize;
    for (id, commit) in &log.commits {
        if text.len() > MAX_LOG_BYTES {
            more = true;
            break;
        }
        if number > 0 {
            text.push('\n');
        }
        head(&mut text, id, commit);
        number += 1;
    }
    if number == 0 && log.stopped_after.is_none() {
        text.push_str("no commits\n");
    }
    let mut query = String::new();
    if let Some(path) = path {
        query = format!("&path={}", uri::encode(path).replace('&', "%26").replace('+', "%2B"));
    }
    if let Some(looked_at) = log.stopped_after {
        text.push_str(&format!(
            "\n(time ran out after {looked_at} commits: there may be more; a longer time-ms in [provider.settings] finds them)\n"
        ));
    } else if more && limit < uri::MAX_LIMIT {
        let next = (limit * 4).min(uri::MAX_LIMIT);
        text.push_str(&format!("\n(there are more: {}log/{}?limit={next}{query})\n", source.prefix(), uri::encode(revision)));
    } else if more {
        let last = log.commits.get(number.saturating_sub(1)).map_or(from, |(id, _)| *id);
        text.push_str(&format!("\n(there are more, from the last one on: {}log/{last}?limit={limit}{query})\n", source.prefix()));
    }
    Ok(Page { whole: log.stopped_after.is_none(), ..Page::text(text) })
}

pub fn commit(repository: &Repository, revision: &str) -> Result<Page> {
    let named = repository.revision(revision)?;
    let mut text = String::new();
    if repository.object(&named)?.kind == Kind::Tag {
        let tag = repository.tag(&named)?;
        text.push_str(&format!(
            "tag {}\nTagger: {} <{}>\nDate:   {}\n",
            shown(revision.as_bytes()),
            tag.tagger.name,
            tag.tagger.email,
            tag.tagger.when()
        ));
        message(&mut text, &tag.message);
        text.push('\n');
    }
    let id = repository.peel(&named)?;
    let commit = repository.commit(&id)?;
    head(&mut text, &id, &commit);
    let parents = repository.parents(&id, &commit)?;
    if parents.is_empty() && !commit.parents.is_empty() {
        text.push_str("\n(its parents are not here: the clone is shallow)\n");
        return Ok(Page::text(text));
    }
    let old = match parents.first() {
        Some(parent) => Some(repository.commit(parent)?.tree),
        None => None,
    };
    let Some(changes) = ran_out(repository.changes(old.as_ref(), Some(&commit.tree), MAX_FILES))? else {
        text.push_str("\n(there was no time to find its changes; a longer time-ms in [provider.settings] does)\n");
        return Ok(Page { whole: false, ..Page::text(text) });
    };
    if parents.len() > 1 {
        text.push_str("\nA merge; its changes against the first parent:\n");
    }
    let whole = patches::write(&mut text, &changes, |change| of_blobs(repository, change))?;
    Ok(Page { whole, ..Page::text(text) })
}

/// The commits that a comparison is of.
pub fn ends(repository: &Repository, from: &str, to: &str, parted: bool) -> Result<(ObjectId, ObjectId)> {
    let (old, new) = (repository.revision_commit(from)?, repository.revision_commit(to)?);
    if !parted {
        return Ok((old, new));
    }
    let base = repository.merge_base(&old, &new)?;
    let base =
        base.ok_or_else(|| Error::Invalid(format!("{from} and {to} have no commit in common: {from}..{to} compares what they are")))?;
    Ok((base, new))
}

pub fn compare(repository: &Repository, from: &str, to: &str, parted: bool) -> Result<Page> {
    let (old, new) = ends(repository, from, to, parted)?;
    let (from, to) = (shown(from.as_bytes()), shown(to.as_bytes()));
    let mut text = if parted {
        format!("What {to} ({}) changed since it left {from} at {}\n", new.short(), old.short())
    } else {
        format!("How {to} ({}) differs from {from} ({})\n", new.short(), old.short())
    };
    let trees = (repository.commit(&old)?.tree, repository.commit(&new)?.tree);
    let changes = repository.changes(Some(&trees.0), Some(&trees.1), MAX_FILES)?;
    let whole = patches::write(&mut text, &changes, |change| of_blobs(repository, change))?;
    Ok(Page { whole, ..Page::text(text) })
}

fn of_blobs(repository: &Repository, change: &Change) -> Result<patches::Pair> {
    Ok((patches::blob(repository, &change.old)?, patches::blob(repository, &change.new)?))
}

fn head(text: &mut String, id: &ObjectId, commit: &Commit) {
    text.push_str(&format!("commit {id}\n"));
    if commit.parents.len() > 1 {
        let parents: Vec<String> = commit.parents.iter().map(ObjectId::short).collect();
        text.push_str(&format!("Merge:  {}\n", parents.join(" ")));
    }
    let who = |person: &git_repository::Person| shown(format!("{} <{}>", person.name, person.email).as_bytes());
    text.push_str(&format!("Author: {}\n", who(&commit.author)));
    if (&commit.author.name, &commit.author.email) != (&commit.committer.name, &commit.committer.email) {
        text.push_str(&format!("Commit: {}\n", who(&commit.committer)));
    }
    text.push_str(&format!("Date:   {}\n", commit.author.when()));
    message(text, &commit.message);
}

fn message(text: &mut String, message: &str) {
    text.push('\n');
    let mut end = message.len().min(MAX_MESSAGE_BYTES);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    let (begin, rest) = message.split_at(end);
    for line in begin.trim_end().lines() {
        let line = line.trim_end();
        text.push_str(if line.is_empty() { "" } else { "    " });
        text.push_str(line);
        text.push('\n');
    }
    if !rest.is_empty() {
        text.push_str("    (the rest of the message is not shown)\n");
    }
}
