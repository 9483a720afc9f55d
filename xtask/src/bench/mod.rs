//! `cargo xtask bench`: what is fast, and how fast.
//!
//! `load` measures how long components take to load, `webhook` how soon a client hears of one. The others measure the release build of the host side by side with other servers; what
//! measures them, and those servers, is the program in `bench/`, a workspace of its own.

mod load;
mod webhook;

use std::{path::PathBuf, time::Duration};

use anyhow::{Context, Result, bail};

use crate::{guests, repo::Repo, run, toolchain::Choice};

/// The host's release build compiles all of wasmtime once more: a quarter of an hour on two slow cores.
const BUILD_LIMIT: Duration = Duration::from_secs(3600);
/// All of it takes some four minutes.
const RUN_LIMIT: Duration = Duration::from_secs(900);
const MEASURED: [&str; 4] = ["read", "list", "memory", "all"];

/// What is measured.
#[derive(Debug, PartialEq, Eq)]
pub enum Bench {
    /// How long components take to load.
    Load,
    /// How soon a client hears of a webhook.
    Webhook,
    /// One of [`MEASURED`], with the flags that the program in `bench/` gets.
    SideBySide { what: String, flags: Vec<String> },
}

impl Bench {
    /// `load`, `webhook`, or one of [`MEASURED`] with `--quick`, `--only CASE`, `--json FILE`; `all` if nothing is named.
    pub fn parse(arguments: &[String]) -> Result<Self> {
        let (what, rest) = match arguments.split_first() {
            Some((what, rest)) if !what.starts_with("--") => (what.as_str(), rest),
            _ => ("all", arguments),
        };
        if what == "load" && rest.is_empty() {
            return Ok(Self::Load);
        }
        if what == "webhook" && rest.is_empty() {
            return Ok(Self::Webhook);
        }
        if !MEASURED.contains(&what) {
            bail!("there is no `bench {}`: it is load, webhook, {}", arguments.join(" "), MEASURED.join(", "));
        }
        let mut flags = rest.iter();
        while let Some(flag) = flags.next() {
            match flag.as_str() {
                "--quick" => {}
                "--only" | "--json" if flags.next().is_some() => {}
                _ => bail!("`bench {what}` takes --quick, --only CASE and --json FILE, not `{flag}`"),
            }
        }
        Ok(Self::SideBySide { what: what.to_owned(), flags: rest.to_vec() })
    }

    /// Builds what is missing, measures, and prints a table.
    pub fn run(&self, repo: &Repo) -> Result<()> {
        match self {
            Self::Load => load::measure_all(repo),
            Self::Webhook => webhook::measure(repo),
            Self::SideBySide { what, flags } => side_by_side(repo, what, flags),
        }
    }
}

fn side_by_side(repo: &Repo, what: &str, flags: &[String]) -> Result<()> {
    guests::build(repo, Choice::from_user(None)?)?;
    eprintln!("Building the host for release (the first time takes a quarter of an hour)");
    run::run(repo.cargo().args(["build", "--release", "--package", "wharf", "--bin", "wharf"]), BUILD_LIMIT)?;
    eprintln!("Building the rivals");
    let target = repo.target()?;
    let rivals = target.join("bench");
    let manifest = repo.root.join("bench/Cargo.toml");
    run::run(repo.cargo().args(["build", "--release", "--manifest-path"]).arg(&manifest).arg("--target-dir").arg(&rivals), BUILD_LIMIT)?;
    let program = |folder: PathBuf, name: &str| folder.join("release").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let mut bench = std::process::Command::new(program(rivals, "wharf-bench"));
    bench.arg(what).arg("--wharf").arg(program(target, "wharf"));
    bench.arg("--component").arg(repo.root.join("tests/guests/texts.wasm")).args(flags);
    run::run(&mut bench, RUN_LIMIT).context("cannot measure")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Bench> {
        Bench::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn each_kind_takes_its_flags_and_no_others() {
        let side_by_side = |what: &str, flags: &[&str]| Bench::SideBySide {
            what: what.to_owned(),
            flags: flags.iter().map(|&flag| flag.to_owned()).collect(),
        };
        assert_eq!(parsed("load").unwrap(), Bench::Load);
        assert_eq!(parsed("webhook").unwrap(), Bench::Webhook);
        assert_eq!(parsed("").unwrap(), side_by_side("all", &[]));
        assert_eq!(parsed("--quick").unwrap(), side_by_side("all", &["--quick"]));
        assert_eq!(parsed("read --json a --only 256").unwrap(), side_by_side("read", &["--json", "a", "--only", "256"]));
        for wrong in ["load --quick", "write", "read --json", "read --fast", "read list"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
