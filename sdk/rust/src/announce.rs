//! Tells the host of changes. Both return at once and never fail.

/// The contents of these resources have changed, or may have. Change first what a read answers, then say so.
pub fn updated<U: Into<String>>(uris: impl IntoIterator<Item = U>) {
    let uris: Vec<String> = uris.into_iter().map(Into::into).collect();
    if !uris.is_empty() {
        crate::host::updated(&uris);
    }
}

/// There are other resources or templates now, or what is said of them is another.
pub fn list_changed() {
    crate::host::list_changed();
}
