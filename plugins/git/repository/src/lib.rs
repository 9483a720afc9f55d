//! Reads a git repository through plain `std::fs`, so that it also works where there is no mmap, no process and no thread: in WASI.
//!
//! It reads; nothing here writes. What is read is not trusted: each file, object and list has a cap, each chain a length, each walk a
//! [`Budget`] of time. What is damaged, too large or not supported is an [`Error`] that names it, never a panic.
//!
//! Supported: loose objects and packs (version 2, deltas of both kinds), alternates, loose, packed and symbolic references, index versions
//! 2 to 4, linked worktrees and submodules, shallow and bare repositories. Not supported, and said so: SHA-256, reftable, split and
//! sparse indexes. Not applied: replace references, filters and line-ending conversion of working files.

mod budget;
mod changes;
mod commit;
mod config;
mod error;
mod files;
mod history;
mod id;
mod ignore;
mod index;
mod objects;
mod patch;
mod refs;
mod repository;
mod revision;
mod status;
#[cfg(test)]
mod tests;
mod tree;

pub use budget::Budget;
pub use changes::{Change, Changes, Side};
pub use commit::{Commit, Person, Tag};
pub use error::{Error, Result};
pub use history::Log;
pub use id::ObjectId;
pub use objects::{Kind, MAX_OBJECT_BYTES, Object};
pub use patch::{Patch, patch};
pub use refs::{Head, Reference};
pub use repository::Repository;
pub use status::{State, Status};
pub use tree::{Entry, EntryKind};
