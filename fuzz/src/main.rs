//! libFuzzer's loop around the target that `WHARF_FUZZ` names. `cargo xtask fuzz` builds and runs it.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use wharf_fuzz::{TARGETS, Target};

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("WHARF_FUZZ").unwrap_or_default();
    let Some(target) = TARGETS.iter().find(|target| target.name == name) else { panic!("WHARF_FUZZ names no target: {name:?}") };
    target
});

fuzz_target!(|data: &[u8]| (TARGET.run)(data));
