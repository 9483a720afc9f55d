//! `file-watch`.

use crate::provider::{
    grants::Need,
    wasm::{
        bindings::wharf::provider::{file_watch, types::Error},
        instance::HostState,
    },
};

impl file_watch::Host for HostState {
    fn watch(&mut self, _name: String, path: String, _recursive: bool) -> Result<(), Error> {
        Err(Error::Denied(self.rights.deny(Need::Folder(path))))
    }

    fn unwatch(&mut self, name: String) {
        self.inbox.forget_watch(&name);
    }
}
