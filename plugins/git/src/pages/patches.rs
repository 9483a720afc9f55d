//! Changes as text: a list of files, then what differs in each.

use git_repository::{Change, Changes, EntryKind, Error, Patch, Repository, Result, Side, patch};

use super::shown;

/// Bytes of a file whose lines are compared.
const MAX_FILE_BYTES: usize = 1 << 20;
/// Bytes of all patches of a page.
const MAX_PATCH_BYTES: usize = 256 << 10;

/// Bytes of the list of files.
const MAX_LIST_BYTES: usize = 512 << 10;

/// A content that can be compared.
pub enum Content {
    /// There is none on this side.
    None,
    Bytes(Vec<u8>),
    /// It is too large to be compared.
    Large,
}

/// Before and after.
pub type Pair = (Content, Content);

/// The content on one side of a change.
pub fn blob(repository: &Repository, side: &Side) -> Result<Content> {
    match side {
        None => Ok(Content::None),
        // As git shows it.
        Some((EntryKind::Submodule, id)) => Ok(Content::Bytes(format!("Subproject commit {id}\n").into_bytes())),
        Some((_, id)) => {
            if repository.size(id)?.is_some_and(|size| size > MAX_FILE_BYTES as u64) {
                return Ok(Content::Large);
            }
            Ok(Content::Bytes(repository.object(id)?.data.to_vec()))
        }
    }
}

/// Writes the list and the patches. Whether there was time for all that may be shown.
pub fn write(text: &mut String, changes: &Changes, read: impl Fn(&Change) -> Result<Pair>) -> Result<bool> {
    let mut patches = String::new();
    let mut list = String::new();
    let (mut added, mut removed) = (0, 0);
    let (mut in_time, mut whole) = (true, true);
    let mut left_out = 0;
    for change in &changes.files {
        let path = shown(&change.path);
        let name = match &change.renamed_from {
            Some(from) => format!("{} -> {path}", shown(from)),
            None => path.clone(),
        };
        let mut note = String::new();
        if !in_time || patches.len() > MAX_PATCH_BYTES {
            left_out += 1;
        } else {
            match read(change) {
                Ok(pair) => {
                    let (counts, lines) = one(&mut patches, change, &pair);
                    added += counts.0;
                    removed += counts.1;
                    note = lines;
                }
                Err(Error::TooLong) => {
                    (in_time, whole) = (false, false);
                    left_out += 1;
                }
                // One file that cannot be read, too large or missing in a partial clone, hides no other.
                Err(error) => {
                    whole = false;
                    note = format!(" ({error})");
                }
            }
        }
        if list.len() < MAX_LIST_BYTES {
            list.push_str(&format!("  {} {name}{note}\n", change.letter()));
        }
    }
    let number = changes.files.len();
    let plus = if changes.more { "more than " } else { "" };
    let of = if left_out == 0 { "" } else { " in the patches below" };
    text.push_str(&format!("\n{plus}{number} {} changed, +{added} -{removed}{of}\n{list}", if number == 1 { "file" } else { "files" }));
    if !patches.is_empty() {
        text.push('\n');
        text.push_str(&patches);
    }
    if left_out > 0 {
        let why = if in_time { "the patches above are long" } else { "time ran out" };
        text.push_str(&format!("\n(the last {left_out} files are only named: {why})\n"));
    }
    Ok(whole)
}

/// One file, and what the list says of it.
fn one(text: &mut String, change: &Change, pair: &Pair) -> ((usize, usize), String) {
    let path = shown(&change.path);
    let from = change.renamed_from.as_ref().map_or(path.clone(), |from| shown(from));
    let mut head = format!("diff --git a/{from} b/{path}\n");
    match (&change.old, &change.new) {
        (None, Some((kind, _))) => head.push_str(&format!("new file mode {}\n", kind.mode())),
        (Some((kind, _)), None) => head.push_str(&format!("deleted file mode {}\n", kind.mode())),
        (Some((old, _)), Some((new, _))) if old != new => head.push_str(&format!("old mode {}\nnew mode {}\n", old.mode(), new.mode())),
        _ => {}
    }
    if change.renamed_from.is_some() {
        head.push_str(&format!("rename from {from}\nrename to {path}\n"));
    }
    let bytes = |content: &'_ Content| -> Option<Vec<u8>> {
        match content {
            Content::None => Some(Vec::new()),
            Content::Bytes(bytes) if bytes.len() <= MAX_FILE_BYTES => Some(bytes.clone()),
            Content::Bytes(_) | Content::Large => None,
        }
    };
    let (Some(old), Some(new)) = (bytes(&pair.0), bytes(&pair.1)) else {
        text.push_str(&head);
        return ((0, 0), format!(" (more than {} KiB: not compared)", MAX_FILE_BYTES >> 10));
    };
    let Patch::Text { hunks, added, removed } = patch(&old, &new) else {
        text.push_str(&format!("{head}Binary files differ\n"));
        return ((0, 0), format!(" (binary, {} -> {} bytes)", old.len(), new.len()));
    };
    text.push_str(&head);
    if !hunks.is_empty() {
        let name = |content: &Content, name: String| if matches!(content, Content::None) { "/dev/null".into() } else { name };
        text.push_str(&format!("--- {}\n+++ {}\n", name(&pair.0, format!("a/{from}")), name(&pair.1, format!("b/{path}"))));
        if hunks.len() > MAX_PATCH_BYTES {
            text.push_str(&format!("({} KiB of changes are not shown)\n", hunks.len() >> 10));
        } else {
            text.push_str(&hunks);
        }
    }
    ((added, removed), format!(" +{added} -{removed}"))
}
