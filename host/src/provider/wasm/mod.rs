//! Providers that are WebAssembly components.
mod bindings;
