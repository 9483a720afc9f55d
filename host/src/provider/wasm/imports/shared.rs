//! `shared-state`.

use crate::provider::{
    shared_state::Refused,
    wasm::{
        bindings::wharf::provider::{
            shared_state::{self, SharedValue},
            types::Error,
        },
        convert::Taker,
        state::HostState,
    },
};

impl shared_state::Host for HostState {
    fn set(&mut self, key: String, value: SharedValue) -> Result<(), Error> {
        if self.log.secrets().are_in(&key) {
            return Err(Error::Invalid("there is a secret in the key, and keys are in every log".into()));
        }
        let value = Taker { log: &self.log }.shared_value(&key, value).map_err(Error::Invalid)?;
        self.shared.set(&key, value).map_err(|refused| match refused {
            Refused::Key => Error::Invalid(refused.to_string()),
            Refused::Keys | Refused::Bytes => Error::Denied(refused.to_string()),
        })
    }

    fn remove(&mut self, key: String) {
        self.shared.remove(&key);
    }
}
