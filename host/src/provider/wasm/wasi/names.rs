//! What is in a folder, without the names that WASI cannot say.
//!
//! Names in WASI are UTF-8, those of files are any bytes. wasmtime-wasi answers an error in the place of an entry whose name is not, and the
//! libraries of all languages take an error for the end of the folder: one such file would hide all that come after it. So the entry is left out.

use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::{
    filesystem::WasiFilesystemView,
    p2::bindings::filesystem::types::{DirectoryEntry, DirectoryEntryStream, ErrorCode, Host, HostDirectoryEntryStream},
};

use crate::provider::wasm::state::HostState;

/// As wasmtime-wasi has it; components that import an earlier 0.2 find this one.
const INTERFACE: &str = "wasi:filesystem/types@0.2.12";
const FUNCTION: &str = "[method]directory-entry-stream.read-directory-entry";

type Entry = Result<Option<DirectoryEntry>, ErrorCode>;

/// Takes the place of the function there was. To be called when that is linked.
pub(super) fn link(linker: &mut Linker<HostState>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    linker.instance(INTERFACE)?.func_wrap_async(FUNCTION, |mut store, (stream,): (Resource<DirectoryEntryStream>,)| {
        Box::new(async move { Ok((next(store.data_mut(), &stream).await?,)) })
    })?;
    linker.allow_shadowing(false);
    Ok(())
}

async fn next(state: &mut HostState, stream: &Resource<DirectoryEntryStream>) -> wasmtime::Result<Entry> {
    let mut files = state.filesystem();
    loop {
        match files.read_directory_entry(Resource::new_borrow(stream.rep())).await {
            Ok(entry) => return Ok(Ok(entry)),
            Err(error) => match files.convert_error_code(error)? {
                ErrorCode::IllegalByteSequence => {}
                other => return Ok(Err(other)),
            },
        }
    }
}
