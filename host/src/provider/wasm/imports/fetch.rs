//! `fetch`.

use crate::provider::{
    grants::Need,
    wasm::{
        bindings::wharf::provider::{
            fetch::{self, FetchRequest},
            types::Error,
        },
        instance::HostState,
    },
};

impl fetch::Host for HostState {
    fn start(&mut self, _name: String, request: FetchRequest) -> Result<(), Error> {
        Err(Error::Denied(self.rights.deny(Need::Host(request.url))))
    }

    fn poll(&mut self, _name: String, request: FetchRequest, _every_ms: u32) -> Result<(), Error> {
        Err(Error::Denied(self.rights.deny(Need::Host(request.url))))
    }

    fn cancel(&mut self, name: String) {
        self.inbox.forget_fetch(&name);
    }
}
