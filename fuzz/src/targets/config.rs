//! A wharf.toml.

use std::path::Path;

use wharf::config::Config;

pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Err(reason) = Config::parse(text, Path::new("/srv")) {
        assert!(!reason.trim().is_empty(), "it is refused without a reason");
    }
}
