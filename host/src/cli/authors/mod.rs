//! What authors need whose language makes core WebAssembly modules (C, C++, Zig, Go, AssemblyScript): bindings for it before the compiler
//! has run, and a component of its output afterwards. Both by crates that are in this program, so that nothing else is to be installed.
//!
//! Invariant: a file is written whole or not at all, and none is written before all that can be wrong has been looked at.

pub(super) mod bindings;
pub(super) mod componentize;
mod contract;
mod core_module;
mod fit;

use std::{fs, io::Write, path::Path};

use anyhow::{Context, Result};

/// Puts a file where it belongs by renaming it, and makes its folder where there is none.
fn write_whole(path: &Path, content: &[u8]) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".wharf-");
    // As any other file that a build makes: the user's umask decides.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let written = builder.tempfile_in(folder).and_then(|mut file| {
        file.write_all(content)?;
        file.persist(path).map_err(|error| error.error)
    });
    written.map(drop).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_nothing_else_is_left_in_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("build/a.wasm");
        for content in ["1", "2"] {
            write_whole(&path, content.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        assert!(write_whole(&path.join("b"), b"").unwrap_err().to_string().contains("a.wasm"));
    }
}
