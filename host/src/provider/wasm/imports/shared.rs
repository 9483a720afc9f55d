//! `shared-state`.

use crate::provider::wasm::{
    bindings::wharf::provider::{
        shared_state::{self, SharedValue},
        types::Error,
    },
    instance::HostState,
};

impl shared_state::Host for HostState {
    fn set(&mut self, _key: String, _value: SharedValue) -> Result<(), Error> {
        Err(Error::Unavailable("shared state is not served yet".into()))
    }

    fn remove(&mut self, _key: String) {}
}
