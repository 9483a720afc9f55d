//! What can be told from a file's first bytes, with better words than the parser has.

use wasmtime::Engine;

use super::LoadError;

/// A larger file is not compiled. The largest provider seen has 18 MiB (Python); compiling takes memory in proportion.
pub const MAX_FILE_BYTES: usize = 64 << 20;

/// `\0asm`, then version and layer: the two headers a WebAssembly binary can have (component model, Binary.md).
const MAGIC: &[u8] = b"\0asm";
const CORE_MODULE: &[u8] = &[1, 0, 0, 0];
const COMPONENT: &[u8] = &[0x0d, 0, 1, 0];

/// Refuses what is no component for certain.
pub(in crate::provider::wasm) fn check_header(bytes: &[u8]) -> Result<(), LoadError> {
    if bytes.len() > MAX_FILE_BYTES {
        return Err(LoadError::TooLarge(bytes.len()));
    }
    if Engine::detect_precompiled(bytes).is_some() {
        return Err(LoadError::Precompiled);
    }
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        return Err(LoadError::NotWasm(match bytes {
            [] => ": it is empty",
            _ if bytes.trim_ascii_start().starts_with(b"(") => ": it looks like the text form; make a binary of it with `wasm-tools parse`",
            _ => "",
        }));
    };
    if rest.starts_with(CORE_MODULE) {
        return Err(LoadError::CoreModule);
    }
    if rest == COMPONENT {
        return Err(LoadError::Empty);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(version: &[u8]) -> Vec<u8> {
        [MAGIC, version].concat()
    }

    #[test]
    fn what_is_no_component_is_refused_by_its_first_bytes() {
        assert_eq!(check_header(b""), Err(LoadError::NotWasm(": it is empty")));
        assert_eq!(check_header(b"#!/bin/sh"), Err(LoadError::NotWasm("")));
        assert!(check_header(b"\n (component)").is_err_and(|error| error.to_string().contains("wasm-tools parse")));
        assert_eq!(check_header(&header(CORE_MODULE)), Err(LoadError::CoreModule));
        assert_eq!(check_header(&header(COMPONENT)), Err(LoadError::Empty));
        assert_eq!(check_header(&header(&[COMPONENT, &[0]].concat())), Ok(()));
    }

    #[test]
    fn a_file_over_the_limit_is_refused() {
        assert_eq!(check_header(&vec![0; MAX_FILE_BYTES + 1]), Err(LoadError::TooLarge(MAX_FILE_BYTES + 1)));
        assert_eq!(check_header(&vec![0; MAX_FILE_BYTES]), Err(LoadError::NotWasm("")));
    }
}
