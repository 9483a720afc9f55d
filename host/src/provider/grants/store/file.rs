//! The SQLite file, and what is done in it.

use std::{path::Path, time::Duration};

use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior};

use super::{Answer, BUSY, MAX_KEYS, Operation, Owner, StoreError, path};

/// The layout of the file, as `PRAGMA user_version` has it. A later one is not touched.
const LAYOUT: i64 = 1;

/// Keys are blobs, so that their order is that of their bytes, and text with a NUL in it is whole.
const TABLES: &str = "
    CREATE TABLE owner (id INTEGER PRIMARY KEY, scope TEXT NOT NULL, provider TEXT NOT NULL, bytes INTEGER NOT NULL, UNIQUE (scope, provider));
    CREATE TABLE entry (owner INTEGER NOT NULL REFERENCES owner, key BLOB NOT NULL, value BLOB NOT NULL, UNIQUE (owner, key));
    PRAGMA user_version = 1;";

#[derive(Debug)]
pub(super) struct File {
    connection: Connection,
    waits: Duration,
}

impl File {
    /// Opens it, and makes it and its folder if they are not there.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let failed = |error: std::io::Error| StoreError::Disk(format!("cannot make {}: {error}", folder.display()));
        let path = path(folder);
        private(folder, &path).map_err(failed)?;
        let shown = |error: StoreError| match error {
            StoreError::Disk(reason) => StoreError::Disk(format!("{}: {reason}", path.display())),
            other => other,
        };
        Self::prepared(&path).map_err(shown)
    }

    fn prepared(path: &Path) -> Result<Self, StoreError> {
        let mut connection = Connection::open(path)?;
        connection.busy_timeout(BUSY)?;
        // Only beside WAL is a process that dies in the middle of a write no harm to readers of other processes.
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "normal")?;
        // `Stores::tidy` does it, where nobody waits for it.
        connection.pragma_update(None, "wal_autocheckpoint", 0)?;
        // What is not said of its own structure is not believed: it is a file like any other.
        connection.pragma_update(None, "trusted_schema", false)?;
        // Two hosts may be making it.
        let making = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        match making.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))? {
            0 => making.execute_batch(TABLES)?,
            LAYOUT => {}
            _ => return Err(StoreError::Disk("it is of a newer Wharf: use that one".into())),
        }
        making.commit()?;
        Ok(Self { connection, waits: BUSY })
    }

    /// How long it waits for other hosts from now on.
    pub fn wait_for(&mut self, time: Duration) -> Result<(), StoreError> {
        if self.waits != time {
            self.connection.busy_timeout(time)?;
            self.waits = time;
        }
        Ok(())
    }

    pub fn carry_out(&mut self, owner: &Owner, quota: u64, operation: &Operation) -> Result<Answer, StoreError> {
        match operation {
            Operation::Get(key) => Ok(Answer::Value(self.get(owner, key)?)),
            Operation::Keys(prefix) => Ok(Answer::Keys(self.keys(owner, prefix)?)),
            Operation::Set(key, value) => self.write(|writing| writing.put(owner, quota, key, Some(value))).map(|()| Answer::Done),
            Operation::Remove(key) => self.write(|writing| writing.put(owner, quota, key, None)).map(|()| Answer::Done),
            Operation::Replace(key, expected, value) => self.write(|writing| {
                if writing.get(owner, key)? != *expected {
                    return Ok(Answer::Replaced(false));
                }
                writing.put(owner, quota, key, value.as_deref())?;
                Ok(Answer::Replaced(true))
            }),
        }
    }

    /// Brings the log into the file; whether all of it is there now.
    pub fn checkpoint(&self) -> Result<bool, StoreError> {
        let counted = |row: &rusqlite::Row<'_>| Ok(row.get::<_, i64>(1)? == row.get::<_, i64>(2)?);
        Ok(self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], counted)?)
    }

    fn get(&self, owner: &Owner, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        get(&self.connection, owner, key)
    }

    fn keys(&self, owner: &Owner, prefix: &str) -> Result<Vec<String>, StoreError> {
        // No key is longer: what follows the prefix has only smaller bytes than this, since no byte of UTF-8 is 0xff.
        let end = [prefix.as_bytes(), &[0xff]].concat();
        let mut statement = self.connection.prepare_cached(
            "SELECT key FROM entry JOIN owner ON owner.id = entry.owner
             WHERE scope = ?1 AND provider = ?2 AND key >= ?3 AND key < ?4 ORDER BY key LIMIT ?5",
        )?;
        let parameters = (&*owner.scope, &*owner.provider, prefix.as_bytes(), end, MAX_KEYS as i64 + 1);
        let mut keys = Vec::new();
        for key in statement.query_map(parameters, |row| row.get::<_, Vec<u8>>(0))? {
            if keys.len() == MAX_KEYS {
                return Err(StoreError::Keys);
            }
            keys.push(String::from_utf8(key?).map_err(|_| StoreError::Disk("a key in it is damaged".into()))?);
        }
        Ok(keys)
    }

    /// All or nothing, and nobody else writes meanwhile.
    fn write<T>(&mut self, write: impl FnOnce(&Writing<'_>) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let writing = Writing(self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?);
        let done = write(&writing)?;
        writing.0.commit()?;
        Ok(done)
    }
}

struct Writing<'a>(Transaction<'a>);

impl Writing<'_> {
    fn get(&self, owner: &Owner, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        get(&self.0, owner, key)
    }

    /// Another value, or none, under a key, and the owner's sum with it.
    fn put(&self, owner: &Owner, quota: u64, key: &str, value: Option<&[u8]>) -> Result<(), StoreError> {
        let names = (&*owner.scope, &*owner.provider);
        let known =
            self.0.prepare_cached("SELECT id, bytes FROM owner WHERE scope = ?1 AND provider = ?2")?.query_row(names, sum).optional()?;
        let (id, bytes) = match (known, value) {
            (Some(known), _) => known,
            (None, None) => return Ok(()),
            (None, Some(_)) => self
                .0
                .prepare_cached("INSERT INTO owner (scope, provider, bytes) VALUES (?1, ?2, 0) RETURNING id, bytes")?
                .query_row(names, sum)?,
        };
        let key = key.as_bytes();
        let before: Option<i64> = self
            .0
            .prepare_cached("SELECT length(value) FROM entry WHERE owner = ?1 AND key = ?2")?
            .query_row((id, key), |row| row.get(0))
            .optional()?;
        // Both are lengths of what was in memory.
        let size = |value: i64| value.saturating_add_unsigned(key.len() as u64);
        let new = value.map(|value| size(0).saturating_add_unsigned(value.len() as u64));
        let after = bytes.saturating_sub(before.map_or(0, size)).saturating_add(new.unwrap_or(0));
        // A smaller grant than before lets it shrink, step by step.
        if after > bytes && after.unsigned_abs() > quota {
            return Err(StoreError::Full(after.unsigned_abs()));
        }
        match value {
            Some(value) => self
                .0
                .prepare_cached("INSERT INTO entry VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET value = excluded.value")?
                .execute((id, key, value))?,
            None => self.0.prepare_cached("DELETE FROM entry WHERE owner = ?1 AND key = ?2")?.execute((id, key))?,
        };
        self.0.prepare_cached("UPDATE owner SET bytes = ?2 WHERE id = ?1")?.execute((id, after))?;
        Ok(())
    }
}

fn sum(row: &rusqlite::Row<'_>) -> rusqlite::Result<(i64, i64)> {
    Ok((row.get(0)?, row.get(1)?))
}

fn get(connection: &Connection, owner: &Owner, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let mut statement = connection
        .prepare_cached("SELECT value FROM entry JOIN owner ON owner.id = entry.owner WHERE scope = ?1 AND provider = ?2 AND key = ?3")?;
    Ok(statement.query_row((&*owner.scope, &*owner.provider, key.as_bytes()), |row| row.get(0)).optional()?)
}

/// The folder and the file, for this user alone. SQLite gives the files beside it the same rights.
fn private(folder: &Path, path: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};

        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        options.mode(0o600);
    }
    #[cfg(not(unix))]
    std::fs::create_dir_all(folder)?;
    options.open(path).map(drop)
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            Some(ErrorCode::DiskFull) => Self::Disk("the disk is full".into()),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Disk("it is damaged: move it away, and a new one is made (what providers kept is in the old one)".into())
            }
            _ => Self::Disk(error.to_string()),
        }
    }
}
