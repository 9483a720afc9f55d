//! `store`.

use crate::provider::{
    grants::{
        Need,
        store::{Answer, Log, Operation, StoreError},
    },
    wasm::{
        bindings::wharf::provider::{store, types::Error},
        state::HostState,
    },
};

impl HostState {
    async fn ask_store(&mut self, operation: Operation) -> Result<Answer, Error> {
        let Some(quota) = self.rights.grants().state else { return Err(Error::Denied(self.rights.deny(Need::State(None)))) };
        let owner = self.stores.owner(self.rights.provider());
        let answer = match self.stores.at_once(&owner, quota, &operation) {
            Err(StoreError::Busy) => {
                let stores = self.stores.clone();
                let patiently = tokio::task::spawn_blocking(move || stores.patiently(&owner, quota, &operation));
                patiently.await.unwrap_or_else(|_| Err(StoreError::Disk("the host failed at its store; see its log".into())))
            }
            answer => answer,
        };
        let tidy = || {
            let stores = self.stores.clone();
            tokio::task::spawn_blocking(move || stores.tidy())
        };
        match self.stores.log() {
            Log::Short => {}
            Log::Long => drop(tidy()),
            // Who fills it waits, so that it does not fill the disk.
            Log::Overdue => drop(tidy().await),
        }
        answer.map_err(|error| match error {
            StoreError::Key => Error::Invalid(error.to_string()),
            StoreError::Keys => Error::Denied(error.to_string()),
            // In whole MiB, as it is told: else each length would be a denial of its own.
            StoreError::Full(bytes) => Error::Denied(self.rights.deny(Need::State(Some(bytes.next_multiple_of(1 << 20))))),
            StoreError::Busy => Error::Unavailable(error.to_string()),
            StoreError::NoFolder | StoreError::Disk(_) => {
                self.log.warn(&format!("its store: {error}"));
                Error::Failed(error.to_string())
            }
        })
    }
}

/// Each operation has an answer of its own kind.
fn other<T>(answer: &Answer) -> Result<T, Error> {
    Err(Error::Failed(format!("the store answered {answer:?}")))
}

impl store::Host for HostState {
    async fn get(&mut self, key: String) -> Result<Option<Vec<u8>>, Error> {
        match self.ask_store(Operation::Get(key)).await? {
            Answer::Value(value) => Ok(value),
            answer => other(&answer),
        }
    }

    async fn set(&mut self, key: String, value: Vec<u8>) -> Result<(), Error> {
        self.ask_store(Operation::Set(key, value)).await.map(drop)
    }

    async fn remove(&mut self, key: String) -> Result<(), Error> {
        self.ask_store(Operation::Remove(key)).await.map(drop)
    }

    async fn replace(&mut self, key: String, expected: Option<Vec<u8>>, value: Option<Vec<u8>>) -> Result<bool, Error> {
        match self.ask_store(Operation::Replace(key, expected, value)).await? {
            Answer::Replaced(replaced) => Ok(replaced),
            answer => other(&answer),
        }
    }

    async fn keys(&mut self, prefix: String) -> Result<Vec<String>, Error> {
        match self.ask_store(Operation::Keys(prefix)).await? {
            Answer::Keys(keys) => Ok(keys),
            answer => other(&answer),
        }
    }
}
