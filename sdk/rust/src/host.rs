//! The imports. In a component they are the host's; on the machine that runs an author's tests there is no host, and `testing` stands in.

#[cfg(not(target_family = "wasm"))]
pub(crate) use crate::testing::host::*;
#[cfg(target_family = "wasm")]
pub(crate) use component::*;

#[cfg(target_family = "wasm")]
mod component {
    use crate::{
        bindings::imports::wharf::provider::{
            announce,
            fetch::{self, FetchRequest},
            file_watch, settings,
            shared_state::{self, SharedValue},
            store, timers,
        },
        error::{Result, from_host},
    };

    pub fn updated(uris: &[String]) {
        announce::updated(uris);
    }

    pub fn list_changed() {
        announce::list_changed();
    }

    pub fn setting(name: &str) -> Option<String> {
        settings::get(name)
    }

    pub fn settings() -> Vec<(String, String)> {
        settings::all()
    }

    pub fn start_timer(name: &str, after_ms: u32, every_ms: Option<u32>) -> Result<()> {
        timers::start(name, after_ms, every_ms).map_err(from_host)
    }

    pub fn cancel_timer(name: &str) {
        timers::cancel(name);
    }

    pub fn watch(name: &str, path: &str, recursive: bool) -> Result<()> {
        file_watch::watch(name, path, recursive).map_err(from_host)
    }

    pub fn unwatch(name: &str) {
        file_watch::unwatch(name);
    }

    pub fn fetch(name: &str, request: &FetchRequest) -> Result<()> {
        fetch::start(name, request).map_err(from_host)
    }

    pub fn poll(name: &str, request: &FetchRequest, every_ms: u32) -> Result<()> {
        fetch::poll(name, request, every_ms).map_err(from_host)
    }

    pub fn cancel_fetch(name: &str) {
        fetch::cancel(name);
    }

    pub fn store_get(key: &str) -> Result<Option<Vec<u8>>> {
        store::get(key).map_err(from_host)
    }

    pub fn store_set(key: &str, value: &[u8]) -> Result<()> {
        store::set(key, value).map_err(from_host)
    }

    pub fn store_remove(key: &str) -> Result<()> {
        store::remove(key).map_err(from_host)
    }

    pub fn store_replace(key: &str, expected: Option<&[u8]>, value: Option<&[u8]>) -> Result<bool> {
        store::replace(key, expected, value).map_err(from_host)
    }

    pub fn store_keys(prefix: &str) -> Result<Vec<String>> {
        store::keys(prefix).map_err(from_host)
    }

    pub fn share(key: &str, value: &SharedValue) -> Result<()> {
        shared_state::set(key, value).map_err(from_host)
    }

    pub fn unshare(key: &str) {
        shared_state::remove(key);
    }
}
