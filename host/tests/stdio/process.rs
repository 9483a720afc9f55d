//! The binary itself.

use std::{process::Stdio, time::Duration};

use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::Command,
};

#[tokio::test]
async fn a_log_that_no_terminal_shows_has_no_colours() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("small.wasm"), wat::parse_str("(component (core module))").unwrap()).unwrap();
    let mut wharf = Command::new(env!("CARGO_BIN_EXE_wharf"))
        .args(["serve", "--stdio", "--plugins"])
        .arg(folder.path())
        // No folder can be there, which is logged.
        .env("WHARF_CACHE_DIR", "/dev/null")
        .env_remove("NO_COLOR")
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut log = BufReader::new(wharf.stderr.take().unwrap()).lines();
    let warning = async {
        loop {
            let line = log.next_line().await.unwrap().expect("it ended");
            if line.contains("no compile cache") {
                return line;
            }
        }
    };
    let line = tokio::time::timeout(Duration::from_secs(60), warning).await.expect("nothing is logged");
    assert!(line.contains("WARN") && !line.contains('\u{1b}'), "{line:?}");
}
