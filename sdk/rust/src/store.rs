//! A small store that the host keeps for the provider: kept over reloads, crashes and restarts, shared by all hosts of one wharf.toml, which
//! grants its size. Keys have 1 to 1024 bytes. Each call is atomic.

use crate::{error::Result, host};

/// The value, if there is one.
pub fn get(key: &str) -> Result<Option<Vec<u8>>> {
    host::store_get(key)
}

/// `denied`: no state is granted, or this would go over the limit.
pub fn set(key: &str, value: impl AsRef<[u8]>) -> Result<()> {
    host::store_set(key, value.as_ref())
}

/// Fine if there is none.
pub fn remove(key: &str) -> Result<()> {
    host::store_remove(key)
}

/// `true`, and `value` is stored (`None`: the key is removed), if what is stored is `expected` (`None`: nothing is); else `false`, and nothing
/// is changed.
pub fn replace(key: &str, expected: Option<&[u8]>, value: Option<&[u8]>) -> Result<bool> {
    host::store_replace(key, expected, value)
}

/// All keys that begin with this, in byte order.
pub fn keys(prefix: &str) -> Result<Vec<String>> {
    host::store_keys(prefix)
}
