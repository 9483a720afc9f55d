//! What wasmtime generates from `wit/provider.wit` and `host/wit/host.wit`.
//!
//! Exports are called asynchronously, since a guest may yield at an epoch tick. Imports are plain functions: each returns at once, as the
//! contract promises, so none of them can block a worker thread.

wasmtime::component::bindgen!({
    path: "wit",
    world: "wharf:host/host",
    exports: { default: async },
});
