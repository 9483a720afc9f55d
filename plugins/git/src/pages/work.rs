//! What is not committed.

use std::collections::BTreeMap;

use git_repository::{Change, Changes, EntryKind, Error, Head, ObjectId, Repository, Result, Side, State, Status};

use super::{Page, patches, shown};

/// Files in one list of the status.
const MAX_SHOWN: usize = 500;
/// Bytes of a file that is read for the patch; of longer ones it says that they are.
const MAX_FILE_BYTES: u64 = 2 << 20;

pub fn status(repository: &Repository) -> Result<Page> {
    // First, so that it is there also if the working tree takes all the time.
    let mut text = head(repository)?;
    let status = repository.status()?;
    if let Some(operation) = status.operation {
        text.push_str(&format!("A {operation} is in progress\n"));
    }
    let staged = status.staged.files.iter().map(|change| match &change.renamed_from {
        Some(from) => format!("{} {} -> {}", change.letter(), shown(from), shown(&change.path)),
        None => format!("{} {}", change.letter(), shown(&change.path)),
    });
    section(&mut text, "Conflicts", status.unmerged.iter().map(|(path, letters)| format!("{letters} {}", shown(path))));
    section(&mut text, "Staged", staged);
    section(&mut text, "Changed, not staged", status.unstaged.iter().map(|(path, state)| format!("{} {}", state.letter(), shown(path))));
    section(&mut text, "Untracked", status.untracked.iter().map(|path| format!("? {}", shown(path.as_bytes()))));
    section(&mut text, "Could not be read", status.unreadable.iter().map(|path| format!("  {}", shown(path.as_bytes()))));
    if is_clean(&status) {
        text.push_str("\nNothing to commit, working tree clean\n");
    }
    notes(&mut text, &status);
    Ok(Page { whole: !status.stopped, ..Page::text(text) })
}

/// What is checked out.
fn head(repository: &Repository) -> Result<String> {
    let line = |id: &ObjectId| -> Result<String> { Ok(format!("{} {}\n", id.short(), shown(repository.commit(id)?.subject().as_bytes()))) };
    let name = match repository.head()? {
        Head::Detached(id) => return Ok(format!("HEAD detached at {}", line(&id)?)),
        Head::Branch { name, id: None } => format!("On branch {}\nNo commits yet\n", short(&name, "refs/heads/")),
        Head::Branch { name, id: Some(id) } => {
            let mut text = format!("On branch {}\nHEAD {}", short(&name, "refs/heads/"), line(&id)?);
            if let Some(upstream) = repository.upstream(&name) {
                text.push_str(&format!("Upstream {}\n", short(&upstream, "refs/remotes/")));
            }
            text
        }
    };
    Ok(name)
}

fn short(name: &str, prefix: &str) -> String {
    shown(name.strip_prefix(prefix).unwrap_or(name).as_bytes())
}

fn is_clean(status: &Status) -> bool {
    let lists = [status.unmerged.len(), status.staged.files.len(), status.unstaged.len(), status.untracked.len(), status.unreadable.len()];
    lists.iter().all(|length| *length == 0) && !status.stopped
}

fn notes(text: &mut String, status: &Status) {
    if status.more {
        text.push_str("\n(there are more changes than are listed)\n");
    }
    if status.stopped {
        text.push_str(
            "\n(time ran out before all of the working tree was looked at; a longer time-ms in [provider.settings] sees it all)\n",
        );
    }
}

fn section(text: &mut String, title: &str, lines: impl ExactSizeIterator<Item = String>) {
    let number = lines.len();
    if number == 0 {
        return;
    }
    text.push_str(&format!("\n{title} ({number}):\n"));
    lines.take(MAX_SHOWN).for_each(|line| text.push_str(&format!("  {line}\n")));
    if number > MAX_SHOWN {
        text.push_str(&format!("  ({} more)\n", number - MAX_SHOWN));
    }
}

pub fn diff(repository: &Repository) -> Result<Page> {
    let head = match repository.head()? {
        Head::Branch { id, .. } => id,
        Head::Detached(id) => Some(id),
    };
    let tree = head.map(|id| repository.commit(&id)).transpose()?.map(|commit| commit.tree);
    let status = repository.status()?;
    // Both against HEAD: what was staged and then changed again is one change.
    let mut files: BTreeMap<Vec<u8>, Change> = BTreeMap::new();
    let at_head = |path: &[u8]| -> Result<Side> {
        let entry = tree.map(|tree| repository.entry(&tree, path)).transpose()?.flatten();
        Ok(entry.map(|entry| (entry.kind, entry.id)))
    };
    for change in &status.staged.files {
        files.insert(change.path.clone(), change.clone());
    }
    let changed = status.unstaged.iter().map(|(path, state)| (path, *state));
    let conflicts = status.unmerged.iter().map(|(path, _)| (path, State::Modified));
    let mut more = status.staged.more;
    for (path, state) in changed.chain(conflicts) {
        let known = files.get(path);
        let old = match known {
            Some(change) => change.old,
            None => match at_head(path) {
                Err(Error::TooLong) => {
                    more = true;
                    break;
                }
                old => old?,
            },
        };
        // What it would be if it were staged; the content comes from the file.
        let new = match state {
            State::Deleted => None,
            _ => known.and_then(|change| change.new).or(old).or_else(|| Some((EntryKind::File, empty()))),
        };
        let renamed_from = known.and_then(|change| change.renamed_from.clone()).filter(|_| new.is_some());
        files.insert(path.clone(), Change { path: path.clone(), old, new, renamed_from });
    }
    // Staged as new, and gone again.
    files.retain(|_, change| change.old.is_some() || change.new.is_some());
    let changes = Changes { files: files.into_values().collect(), more };
    let read = |change: &Change| -> Result<patches::Pair> {
        let old = patches::blob(repository, &change.old)?;
        let new = match &change.new {
            None => patches::Content::None,
            side @ Some((EntryKind::Submodule, _)) => patches::blob(repository, side)?,
            Some(_) => match repository.work_file(&change.path, MAX_FILE_BYTES) {
                Ok(Some(bytes)) => patches::Content::Bytes(bytes),
                Ok(None) => patches::Content::None,
                Err(Error::TooLarge { .. }) => patches::Content::Large,
                Err(error) => return Err(error),
            },
        };
        Ok((old, new))
    };
    let mut text = String::from("Changes of the working tree against HEAD\n");
    let whole = patches::write(&mut text, &changes, read)?;
    section(&mut text, "Untracked, not shown", status.untracked.iter().map(|path| format!("? {}", shown(path.as_bytes()))));
    notes(&mut text, &status);
    Ok(Page { whole: whole && !status.stopped && !more, ..Page::text(text) })
}

/// The id of no content.
fn empty() -> ObjectId {
    ObjectId::sha1(b"blob 0\0")
}
