//! Tokens of the host's own: random, named, kept as hashes in a file.
//!
//! Invariants: nobody learns a token from the file; a file that others may change, or read where they need not, is not used
//! ([`TokenFile`]): at the start that is an error, later it leaves things as they were, and says so. One that is gone lets nobody in.
//!
//! A token is looked up by its SHA-256. How long that takes says something of the hash at most, which whoever asks cannot choose the bytes
//! of: the token behind it has 256 random bits. So nothing has to be compared in constant time.

mod file;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use arc_swap::ArcSwap;
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

pub use self::file::{Entry, TokenFile, TokensError};
use super::Refusal;
use crate::catalog::{Caller, View};

/// What tokens begin with, so that those who look for secrets in sources find them.
pub const PREFIX: &str = "wharf_";
/// Of its random part: as many as its hash has.
const SECRET_BYTES: usize = 32;
/// The prefix, and 32 bytes in base64url (RFC 4648 §5).
const TOKEN_LENGTH: usize = PREFIX.len() + 43;

const UNKNOWN: Refusal = Refusal::Invalid("the token is unknown, or revoked");
const EXPIRED: Refusal = Refusal::Invalid("the token has expired");

/// A new token.
///
/// # Errors
/// The system has no random numbers.
pub fn generate() -> Result<String, getrandom::Error> {
    let mut secret = [0; SECRET_BYTES];
    getrandom::fill(&mut secret)?;
    Ok(PREFIX.to_owned() + &BASE64_URL_SAFE_NO_PAD.encode(secret))
}

/// What is kept of a token.
pub fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// The tokens of a file, as they hold at the moment.
pub struct Tokens {
    file: TokenFile,
    table: ArcSwap<Table>,
}

#[derive(Default)]
struct Table {
    by_hash: HashMap<[u8; 32], Known>,
    by_name: HashMap<Arc<str>, [u8; 32]>,
    is_there: bool,
}

#[derive(PartialEq)]
struct Known {
    caller: Caller,
    expires: Option<SystemTime>,
}

impl Known {
    fn has_expired(&self) -> bool {
        self.expires.is_some_and(|expires| expires <= SystemTime::now())
    }
}

impl Tokens {
    pub(super) fn read(path: PathBuf) -> Result<Self, TokensError> {
        let file = TokenFile::at(path);
        let table = Table::of(file.read()?);
        Ok(Self { file, table: ArcSwap::from_pointee(table) })
    }

    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    pub(super) fn identify(&self, token: &str) -> Result<Caller, Refusal> {
        if token.len() != TOKEN_LENGTH || !token.starts_with(PREFIX) {
            return Err(UNKNOWN);
        }
        let table = self.table.load();
        let known = table.by_hash.get(&hash(token)).ok_or(UNKNOWN)?;
        if known.has_expired() { Err(EXPIRED) } else { Ok(known.caller.clone()) }
    }

    pub(super) fn is_valid(&self, name: &str, caller: &Caller) -> bool {
        let table = self.table.load();
        table.named(name).is_some_and(|known| known.caller == *caller && !known.has_expired())
    }

    pub(super) fn read_again(&self) -> Result<Option<Vec<Caller>>, TokensError> {
        let new = Table::of(self.file.read()?);
        let old = self.table.load_full();
        if new.by_hash == old.by_hash && new.is_there == old.is_there {
            return Ok(None);
        }
        let is_gone = |(hash, known): &(&[u8; 32], &Known)| new.by_hash.get(*hash).is_none_or(|new| new.caller != known.caller);
        let gone = old.by_hash.iter().filter(is_gone).map(|(_, known)| known.caller.clone()).collect();
        self.table.store(new.into());
        Ok(Some(gone))
    }

    pub(super) fn describe(&self) -> String {
        let (table, path) = (self.table.load(), self.path().display());
        match table.by_hash.len() {
            0 if !table.is_there => format!("auth: there is no {path}: nobody is let in until `wharf token new NAME`"),
            0 => format!("auth: {path} has no tokens: nobody is let in until `wharf token new NAME`"),
            1 => format!("auth: 1 token of {path}"),
            tokens => format!("auth: {tokens} tokens of {path}"),
        }
    }
}

impl Table {
    fn of(entries: Option<Vec<Entry>>) -> Self {
        let mut this = Self { is_there: entries.is_some(), ..Self::default() };
        for entry in entries.into_iter().flatten() {
            let name: Arc<str> = entry.name.into();
            let view = entry.providers.map_or(View::Everything, |names| View::Only(Arc::new(names.into_iter().map(Into::into).collect())));
            this.by_name.insert(name.clone(), entry.sha256);
            this.by_hash.insert(entry.sha256, Known { caller: Caller::named(name, view), expires: entry.expires });
        }
        this
    }

    fn named(&self, name: &str) -> Option<&Known> {
        self.by_hash.get(self.by_name.get(name)?)
    }
}

#[cfg(test)]
mod tests;
