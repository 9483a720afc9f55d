//! Everything that reads what comes from strangers, as functions of bytes. Each panics if a promise is broken; that a panic is the only way to
//! break one besides a wrong answer is Rust's.

mod targets;
mod world;

pub use targets::TARGETS;

/// Something that reads bytes.
pub struct Target {
    /// Its name, that of its folder in `corpus/` too.
    pub name: &'static str,
    /// What is promised.
    pub promise: &'static str,
    /// Reads them.
    pub run: fn(&[u8]),
}
