//! Which resource a URI names.
//!
//! A revision with a slash, as branches have it, is one variable in `log` and `commit`. In `tree` and `file`, where a path follows, the
//! template's `{revision}` ends at the first slash, and so revision and path are told apart only in the repository: by what exists.
//! Git has no branch `a` beside a branch `a/b`, so there is one way to read it.

use git_repository::{Error, ObjectId, Repository, Result};

/// The templates, below a repository's prefix.
pub const LOG: &str = "log/{+revision}{?limit,path}";
pub const COMMIT: &str = "commit/{+revision}";
pub const COMPARE: &str = "compare/{+range}";
pub const TREE: &str = "tree/{revision}";
pub const TREE_BELOW: &str = "tree/{revision}/{+path}";
pub const FILE: &str = "file/{revision}/{+path}";

/// The resources that are listed, below a repository's prefix.
pub const BRANCHES: &str = "branches";
pub const TAGS: &str = "tags";
pub const STATUS: &str = "status";
pub const DIFF: &str = "diff";
pub const HEAD_LOG: &str = "log/HEAD";
pub const HEAD_TREE: &str = "tree/HEAD";

pub const DEFAULT_LIMIT: usize = 30;
pub const MAX_LIMIT: usize = 1000;

/// What can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resource {
    Branches,
    Tags,
    /// What is not committed: names.
    Status,
    /// What is not committed: contents.
    Diff,
    Log {
        revision: String,
        path: Option<String>,
        limit: usize,
    },
    Commit {
        revision: String,
    },
    /// From one revision to another.
    Compare {
        from: String,
        to: String,
        /// From where they parted, as of three dots; not from what `from` is now.
        parted: bool,
    },
    /// Of revision and path, with slashes between.
    Tree {
        place: String,
    },
    File {
        place: String,
    },
}

impl Resource {
    /// What is listed under this path.
    pub fn listed(path: &str) -> Result<Self> {
        match path {
            BRANCHES => Ok(Self::Branches),
            TAGS => Ok(Self::Tags),
            STATUS => Ok(Self::Status),
            DIFF => Ok(Self::Diff),
            HEAD_LOG => Ok(Self::Log { revision: "HEAD".into(), path: None, limit: DEFAULT_LIMIT }),
            HEAD_TREE => Ok(Self::Tree { place: "HEAD".into() }),
            _ => Err(Error::NotFound(format!("resource {path:?}"))),
        }
    }

    /// What a template and its variables name.
    pub fn from_template(template: &str, variables: &[(String, String)]) -> Result<Self> {
        let variable = |name: &str| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let revision = variable("revision").unwrap_or_default();
        let place = || match variable("path") {
            Some(path) => format!("{revision}/{path}"),
            None => revision.clone(),
        };
        match template {
            LOG => {
                let limit = match variable("limit") {
                    None => DEFAULT_LIMIT,
                    Some(limit) => limit
                        .parse()
                        .ok()
                        .filter(|limit| (1..=MAX_LIMIT).contains(limit))
                        .ok_or_else(|| Error::Invalid(format!("limit={limit:?}: it takes 1 to {MAX_LIMIT}")))?,
                };
                let path = variable("path").map(|path| path.trim_matches('/').to_owned()).filter(|path| !path.is_empty());
                Ok(Self::Log { revision, path, limit })
            }
            COMMIT => Ok(Self::Commit { revision }),
            COMPARE => {
                let range = variable("range").unwrap_or_default();
                // No revision has two dots in a row.
                let (from, to) = range.split_once("..").ok_or_else(|| {
                    Error::Invalid(format!(
                        "{range:?} is no range: main...feature/x says what feature/x changed since it left main, a..b how b differs from a"
                    ))
                })?;
                let (to, parted) = to.strip_prefix('.').map_or((to, false), |to| (to, true));
                // As in git, what is left out is what is checked out.
                let or_head = |revision: &str| if revision.is_empty() { "HEAD".to_owned() } else { revision.to_owned() };
                Ok(Self::Compare { from: or_head(from), to: or_head(to), parted })
            }
            TREE | TREE_BELOW => Ok(Self::Tree { place: place() }),
            FILE => Ok(Self::File { place: place() }),
            _ => Err(Error::NotFound(format!("template {template:?}"))),
        }
    }

    /// Whether it is about an object by its whole id, so that it never changes.
    pub fn is_fixed(&self) -> bool {
        let id = |text: &str| ObjectId::from_hex(text).is_some();
        match self {
            Self::Log { revision, .. } | Self::Commit { revision } => id(revision),
            Self::Compare { from, to, .. } => id(from) && id(to),
            Self::Tree { place } | Self::File { place } => id(place.split('/').next().unwrap_or_default()),
            Self::Branches | Self::Tags | Self::Status | Self::Diff => false,
        }
    }

    /// Whether it depends on the working tree.
    pub fn is_of_work(&self) -> bool {
        matches!(self, Self::Status | Self::Diff)
    }
}

/// The commit and the path that a place names: the shortest beginning that is a revision, and the rest.
pub fn split<'a>(repository: &Repository, place: &'a str) -> Result<(ObjectId, &'a str)> {
    let mut failure = None;
    // A reference has few parts; a path may have many, and each costs a look into the repository.
    for (at, _) in place.match_indices('/').chain([(place.len(), "")]).take(16) {
        let (revision, path) = place.split_at(at);
        match repository.revision(revision) {
            // A remote's name alone means its HEAD, but there is `remote/branch`.
            Ok(id) if is_remote(repository, revision)? && !path.is_empty() => {
                failure.get_or_insert(Ok((id, path)));
            }
            Ok(id) => return Ok((repository.peel(&id)?, path.trim_start_matches('/'))),
            Err(Error::NotFound(text)) => {
                failure.get_or_insert(Err(Error::NotFound(text)));
            }
            Err(error) => return Err(error),
        }
    }
    match failure {
        Some(Ok((id, path))) => Ok((repository.peel(&id)?, path.trim_start_matches('/'))),
        Some(Err(error)) => Err(error),
        None => Err(Error::NotFound(format!("revision {place:?}"))),
    }
}

fn is_remote(repository: &Repository, revision: &str) -> Result<bool> {
    let full = repository.reference(revision)?;
    Ok(full.is_some_and(|full| full.starts_with("refs/remotes/") && full.ends_with("/HEAD")))
}

/// Percent-encoded, as `{+path}` expands: slashes stay.
pub fn encode(path: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/!$&'()*+,;=:@".contains(&byte);
    path.bytes().map(|byte| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}
