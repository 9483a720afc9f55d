//! A component's file.

use bytes::Bytes;
use wharf::provider::wasm::{Compilation, Runtime, Strategy};

thread_local! {
    static RUNTIME: Option<(std::sync::Arc<Runtime>, tokio::runtime::Runtime)> = {
        let compilation = Compilation { strategy: Strategy::Quick, ..Compilation::default() };
        let threads = tokio::runtime::Builder::new_current_thread().enable_all().build().ok();
        Runtime::with(compilation).ok().zip(threads)
    };
}

pub fn run(data: &[u8]) {
    RUNTIME.with(|runtime| {
        let Some((runtime, threads)) = runtime else { panic!("WebAssembly does not work on this machine") };
        if let Err(refused) = threads.block_on(runtime.compile("fuzzed", Bytes::copy_from_slice(data))) {
            assert!(!refused.to_string().trim().is_empty(), "it is refused without a reason");
        }
    });
}
