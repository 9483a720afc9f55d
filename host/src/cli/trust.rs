//! `wharf trust`.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::json;
use wharf::config::{Trust, Trusted};

use super::{
    output,
    sources::{DEFAULT_CONFIG, read_config},
};

/// Arguments of `wharf trust`.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The wharf.toml that you have read
    #[arg(default_value = DEFAULT_CONFIG)]
    file: PathBuf,
    /// Lists the files that are recorded
    #[arg(long, conflicts_with_all = ["file", "remove"])]
    list: bool,
    /// Forgets the file
    #[arg(long)]
    remove: bool,
    /// For programs
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> Result<()> {
    let Args { file, list, remove, json } = args;
    let trust = Trust::of_user()?;
    if list {
        return self::list(&trust, json);
    }
    let path = std::path::absolute(&file).with_context(|| file.display().to_string())?;
    let path = path.canonicalize().unwrap_or(path);
    let shown = path.display();
    if remove {
        if !trust.remove(&file)? {
            bail!("{shown} is not recorded; `wharf trust --list` says which files are");
        }
        return say(json, &path, "removed", &format!("removed {shown}: what it grants does not hold any more where it is found by itself"));
    }
    // What cannot be read as a wharf.toml grants nothing, and was hardly what the user meant.
    read_config(&file)?;
    trust.add(&file)?;
    let recorded =
        format!("recorded {shown} as it is now: what it grants holds in its folder without --config. Once it changes, run this again");
    say(json, &path, "recorded", &recorded)
}

fn say(json: bool, path: &std::path::Path, done: &str, words: &str) -> Result<()> {
    if json { output::json(&json!({ "file": path, "done": done })) } else { output::lines([words]) }
}

fn list(trust: &Trust, json: bool) -> Result<()> {
    let mut files = Vec::new();
    for path in trust.list()? {
        let state = match trust.check(&path) {
            Ok(Trusted::Yes) => "trusted",
            Ok(Trusted::Changed) => "changed",
            Ok(Trusted::No) | Err(_) => "unreadable",
        };
        files.push((path, state));
    }
    if json {
        return output::json(
            &json!({ "files": files.iter().map(|(path, state)| json!({ "file": path, "state": state })).collect::<Vec<_>>() }),
        );
    }
    let rows: Vec<_> = files.into_iter().map(|(path, state)| [path.display().to_string(), state.to_owned()]).collect();
    output::table(["FILE", "STATE"], &rows)
}
