//! Providers that are WebAssembly components.
