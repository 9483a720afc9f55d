//! `wharf wit`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::json;

use super::output;

/// The files of the package `wharf:provider`, as this version serves it.
pub(super) const FILES: [(&str, &str); 1] = [("provider.wit", include_str!("../../wit/deps/provider/provider.wit"))];

/// Arguments of `wharf wit`.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The folder; it is made if it is not there, and files of these names in it are replaced
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// For programs
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> Result<()> {
    let Args { output: folder, json } = args;
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let mut written = Vec::new();
    for (name, content) in FILES {
        let path = folder.join(name);
        std::fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
        written.push(path);
    }
    if json { output::json(&json!({ "files": written })) } else { output::lines(written.iter().map(|path| path.display().to_string())) }
}
