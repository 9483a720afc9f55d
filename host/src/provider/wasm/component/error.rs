//! Why a file is not loaded, and what to do about it.

use std::time::Duration;

use super::{
    header::MAX_FILE_BYTES,
    names::{PACKAGE, VERSION},
};

/// Why a file is not loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// It cannot be read; in the system's words.
    #[error("{0}")]
    File(String),
    /// It is a folder, a pipe or a device.
    #[error("it is not a file")]
    NotAFile,
    /// It is larger than [`MAX_FILE_BYTES`].
    #[error("the file has {0} bytes, and at most {max} are loaded: build it for size, and strip it", max = MAX_FILE_BYTES)]
    TooLarge(usize),
    /// It does not begin as a WebAssembly binary does.
    #[error("it is not a WebAssembly file{0}")]
    NotWasm(&'static str),
    /// It is a module without the component model around it.
    #[error(
        "it is a core WebAssembly module, not a component. This makes one of it: wharf componentize CORE.wasm -o COMPONENT.wasm (Rust makes one by itself for wasm32-wasip2)"
    )]
    CoreModule,
    /// It was compiled before; the host trusts only what it compiles itself.
    #[error("it is precompiled code (.cwasm), which is never loaded from a file: use the .wasm file it was made of")]
    Precompiled,
    /// It is a component of nothing but a header.
    #[error("it is an empty component")]
    Empty,
    /// It is cut off or broken, or uses what this host has switched off.
    #[error("it is not a valid component, or still being written: {0}")]
    Invalid(String),
    /// Compiling it takes longer than it may.
    #[error("compiling it took longer than {0:?} and was stopped: build it for size, and strip it")]
    CompileTime(Duration),
    /// Compiling it takes more computing time than it may.
    #[error("compiling it took more than {0:?} of computing time and was stopped: build it for size, and strip it")]
    CompileWork(Duration),
    /// Compiling it takes more memory than it may, in bytes.
    #[error("compiling it took more memory than the {mib} MiB that it may: build it for size, and strip it", mib = .0 >> 20)]
    CompileMemory(u64),
    /// The compiler ended without a result; says how.
    #[error("it could not be compiled: {0}")]
    Compile(String),
    /// The compiler panicked, or the process is ending.
    #[error("the compiler failed on it: please report this, with the file")]
    CompilerFailed,
    /// It does not export `resources`; says what it exports instead.
    #[error("it is no provider: it does not export {PACKAGE}resources@{VERSION}{0}. `wharf new` makes a project of a provider")]
    NoResources(String),
    /// It exports an interface of the contract in another form than the contract has.
    #[error("its export wharf:provider/{interface} is not as the contract has it (see `wit/`): {reason}")]
    WrongType {
        /// Which.
        interface: &'static str,
        /// In wasmtime's words.
        reason: String,
    },
    /// It was built against a later version of the contract, and uses what this host does not have.
    #[error(
        "it uses {0}, and this host has an earlier contract, wharf:provider@{VERSION}: take a newer Wharf, or build it against the contract that `wharf wit` writes"
    )]
    NeedsNewer(String),
    /// It was built against an earlier version of the contract, which is not served any more.
    #[error(
        "it uses {0}, and this host has a later contract, wharf:provider@{VERSION}: build it anew against the one that `wharf wit` writes"
    )]
    TooOld(String),
    /// It uses what is in no version of the contract that this host knows of.
    #[error("it uses {0}, which is not in the contract, wharf:provider@{VERSION}: `wharf wit` writes all that is")]
    NotInContract(String),
    /// It imports what this host does not have.
    #[error("it imports what this host does not have: {0}")]
    Import(String),
    /// It traps, waits or takes too much memory while it is instantiated.
    #[error("it does not start: it {0}")]
    Start(String),
}
