//! To be told of changes in the folders that wharf.toml grants. Needs `files` in [`export!`](crate::export). Reading is `std::fs`'s work.

pub use crate::bindings::files::exports::wharf::provider::file_handler::{Change, FileChange};
use crate::{
    callbacks::{self, Table},
    error::Result,
    host,
};

thread_local! {
    static WATCHES: Table = const { callbacks::table() };
}

/// Calls the function with what changed in a file or folder; `recursive`: in folders below it, too. It need not exist yet, the granted folder
/// must. What comes within 100 milliseconds comes in one call, a path at most once.
///
/// `denied`: it is in no granted folder, or there are 256 watches. `unavailable`: the granted folder is not there.
pub fn watch<S: 'static>(name: &str, path: &str, recursive: bool, changed: impl Fn(&mut S, Vec<FileChange>) + 'static) -> Result<()> {
    callbacks::put(&WATCHES, name, false, || host::watch(name, path, recursive), changed)
}

/// Ends a watch. Fine if there is none.
pub fn unwatch(name: &str) {
    host::unwatch(name);
    callbacks::remove(&WATCHES, name);
}

pub(crate) fn changed<S: 'static>(state: &mut S, mut changes: Vec<FileChange>) {
    // In the order in which the first of each came.
    while let Some(name) = changes.first().map(|change| change.name.clone()) {
        let (own, others) = changes.into_iter().partition(|change| change.name == name);
        changes = others;
        if let Some(changed) = callbacks::get::<S, Vec<FileChange>>(&WATCHES, &name) {
            changed(state, own);
        }
    }
}
