//! `store`.

use crate::provider::{
    grants::Need,
    wasm::{
        bindings::wharf::provider::{store, types::Error},
        instance::HostState,
    },
};

impl HostState {
    fn no_store<T>(&self) -> Result<T, Error> {
        Err(Error::Denied(self.rights.deny(Need::State(None))))
    }
}

impl store::Host for HostState {
    fn get(&mut self, _key: String) -> Result<Option<Vec<u8>>, Error> {
        self.no_store()
    }

    fn set(&mut self, _key: String, _value: Vec<u8>) -> Result<(), Error> {
        self.no_store()
    }

    fn remove(&mut self, _key: String) -> Result<(), Error> {
        self.no_store()
    }

    fn replace(&mut self, _key: String, _expected: Option<Vec<u8>>, _value: Option<Vec<u8>>) -> Result<bool, Error> {
        self.no_store()
    }

    fn keys(&mut self, _prefix: String) -> Result<Vec<String>, Error> {
        self.no_store()
    }
}
