//! What wasmtime generates from `wit/provider.wit` and `host/wit/host.wit`.
//!
//! Exports are called asynchronously, since a guest may yield at an epoch tick. Imports are plain functions: each returns at once, as the
//! contract promises, so none of them can block a worker thread. The store's are asynchronous: where the file is busy or not yet open, they
//! wait for it elsewhere, for a moment.

wasmtime::component::bindgen!({
    path: "wit",
    world: "wharf:host/host",
    imports: { "wharf:provider/store": async },
    exports: { default: async },
});
