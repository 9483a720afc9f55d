//! What wharf.toml sets for this provider, in `[provider.settings]`. It stays as it is for the life of an instance.

/// The setting of this name: a string as it is, anything else as its JSON text. One in a table has a dotted name, `db.host`.
pub fn get(name: &str) -> Option<String> {
    crate::host::setting(name)
}

/// All of them, names and values, sorted by name.
pub fn all() -> Vec<(String, String)> {
    crate::host::settings()
}
