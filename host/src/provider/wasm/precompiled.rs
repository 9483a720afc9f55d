//! The project's only `unsafe`: machine code that was compiled earlier becomes a component again.
//!
//! wasmtime checks that such a file was made by its own version with the same settings. It cannot check that the code in it is what the
//! compiler wrote: whoever writes the file decides what this process does. So only two kinds of file get here:
//! - an entry of the compile cache, opened in a folder that only this user may write, and compared with its checksum (`cache.rs`),
//! - what this program's own compiler process just wrote into a pipe, in a file without a name (`compile.rs`).
//!
//! A `.cwasm` from anywhere else is never loaded: `component.rs` refuses it by its first bytes.

use std::{fs::File, os::fd::AsRawFd};

use wasmtime::{Engine, component::Component};

/// The file is mapped, not copied, and shared with other hosts that have it open; it must never be written again.
pub(super) fn load(engine: &Engine, file: &File) -> wasmtime::Result<Component> {
    // By its descriptor and not by its name, so that what is mapped is what was verified, whatever a name leads to by now.
    let path = format!("{}/{}", if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" }, file.as_raw_fd());
    // SAFETY: the file was written by wasmtime in this program or another copy of it, for this user, and is complete: see above. Nothing
    // writes to it again: entries of the cache are replaced by renaming, and a file without a name has no other holder.
    #[allow(unsafe_code)]
    unsafe {
        Component::deserialize_file(engine, path)
    }
}
