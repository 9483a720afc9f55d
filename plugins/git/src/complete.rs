//! Suggestions while someone types: branches, tags, paths.

use git_repository::{EntryKind, Repository, Result};

use crate::{
    bindings::exports::wharf::provider::completions::{Completion, CompletionRequest},
    source::Source,
    uri,
};

/// The host passes on no more.
const SUGGESTIONS: usize = 100;
/// Of commits.
const LIMITS: [&str; 3] = ["10", "100", "1000"];

/// Answers for one template of the repository.
pub fn complete(source: &Source, template: &str, request: &CompletionRequest) -> Result<Completion> {
    let repository = source.open()?;
    let known = |name: &str| request.known.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let mut values = match request.argument.as_str() {
        "revision" => revisions(&repository, &request.value, template.contains("{revision}"))?,
        "path" => paths(&repository, known("revision").unwrap_or("HEAD"), &request.value, template == uri::TREE_BELOW)?,
        "range" => ranges(&repository, &request.value)?,
        "limit" => LIMITS.iter().filter(|limit| limit.starts_with(&request.value)).map(|limit| (*limit).to_owned()).collect(),
        _ => Vec::new(),
    };
    let total = u32::try_from(values.len()).ok();
    values.truncate(SUGGESTIONS);
    Ok(Completion { values, total, has_more: None })
}

/// HEAD, branches and tags; those that begin with what is typed first. One segment can hold no name with a slash.
fn revisions(repository: &Repository, typed: &str, one_segment: bool) -> Result<Vec<String>> {
    let mut names = vec!["HEAD".to_owned()];
    for prefix in ["refs/heads/", "refs/tags/", "refs/remotes/"] {
        let references = repository.references(prefix)?;
        names.extend(references.into_iter().filter_map(|reference| reference.name.strip_prefix(prefix).map(str::to_owned)));
    }
    let lower = typed.to_lowercase();
    names.retain(|name| name.to_lowercase().contains(&lower) && !(one_segment && name.contains('/')) && !name.ends_with("/HEAD"));
    // The order of the list stays within each part.
    names.sort_by_key(|name| !name.to_lowercase().starts_with(&lower));
    Ok(names)
}

/// A revision, then three dots, then another one.
fn ranges(repository: &Repository, typed: &str) -> Result<Vec<String>> {
    let Some((_, to)) = typed.split_once("..") else {
        return Ok(revisions(repository, typed, false)?.into_iter().map(|name| format!("{name}...")).collect());
    };
    let to = to.strip_prefix('.').unwrap_or(to);
    let begun = typed.strip_suffix(to).unwrap_or(typed);
    Ok(revisions(repository, to, false)?.into_iter().map(|name| format!("{begun}{name}")).collect())
}

/// What is in the folder typed so far; a folder ends with `/`, so that typing can go on.
fn paths(repository: &Repository, revision: &str, typed: &str, folders_only: bool) -> Result<Vec<String>> {
    let (folder, begin) = typed.rsplit_once('/').unwrap_or(("", typed));
    let tree = repository.commit(&repository.revision_commit(revision)?)?.tree;
    let Some(entry) = repository.entry(&tree, folder.as_bytes())?.filter(|entry| entry.kind == EntryKind::Tree) else {
        return Ok(Vec::new());
    };
    let above = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let entries = repository.tree(&entry.id)?.into_iter().filter(|entry| entry.kind != EntryKind::Submodule);
    let values = entries.filter(|entry| !folders_only || entry.kind == EntryKind::Tree).filter_map(|entry| {
        let name = String::from_utf8(entry.name).ok().filter(|name| name.starts_with(begin))?;
        // A folder is a value of its own where folders are asked for.
        let end = if entry.kind == EntryKind::Tree && !folders_only { "/" } else { "" };
        Some(format!("{above}{name}{end}"))
    });
    Ok(values.collect())
}
