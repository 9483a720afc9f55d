//! What can go wrong.

use std::{io, path::Path};

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The repository is fine, and has nothing of that name.
    #[error("there is no {0}")]
    NotFound(String),
    /// What was asked for has no meaning.
    #[error("{0}")]
    Invalid(String),
    /// A file or folder that the repository needs cannot be reached.
    #[error("{0}")]
    Unreachable(String),
    /// The repository says something that cannot be.
    #[error("the repository is damaged: {what}: {why}")]
    Damaged {
        /// The file or object.
        what: String,
        /// What is wrong with it.
        why: String,
    },
    /// Larger than may be read.
    #[error("{what} has {bytes} bytes, and at most {limit} are read")]
    TooLarge {
        /// The file or object.
        what: String,
        /// Its size, as far as it is known.
        bytes: u64,
        /// The cap.
        limit: u64,
    },
    /// A way to keep a repository that is not supported.
    #[error("{0}")]
    Unsupported(String),
    /// The budget of time is spent.
    #[error("this would take too long in a repository of this size")]
    TooLong,
    /// The file system.
    #[error("cannot read {path}: {source}")]
    Io {
        /// Which file.
        path: String,
        /// Why.
        source: io::Error,
    },
}

/// `Result` with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn damaged(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Damaged { what: what.into(), why: why.into() }
    }

    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.display().to_string(), source }
    }
}
