//! `cargo xtask bench`: what is fast, and how fast.
//!
//! What [`ALONE`] names measures the host's parts and providers, each in a file of its own here. The others measure the release build of the
//! host: `reload` by itself, the rest side by side with other servers. What measures them, and those servers, is the program in `bench/`, a
//! workspace of its own.

mod fetch;
mod files;
mod languages;
mod load;
mod webhook;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, bail};

use crate::{
    clients, guests,
    repo::{self, Repo},
    run,
    toolchain::{self, Choice},
};

/// The host's release build compiles all of wasmtime once more: a quarter of an hour on two slow cores.
const BUILD_LIMIT: Duration = Duration::from_secs(3600);
/// Each takes some four minutes; `reload` more the first time, when the build that `wharf dev` runs compiles a new project's dependencies.
const RUN_LIMIT: Duration = Duration::from_secs(1800);
const MEASURED: [&str; 8] = ["read", "list", "work", "memory", "fanout", "start", "all", RELOAD];
/// Not a part of `all`: no other server does that.
const RELOAD: &str = "reload";
/// The servers in other languages, too: they need Node.js and Python.
const PEERS: &str = "--peers";

type Measure = fn(&Repo) -> Result<()>;

/// How long components take to load; what the language of a provider makes of its size and speed; how soon a changed file is told of, and what idle providers cost; what polling costs those who read; how
/// soon a client hears of a webhook.
const ALONE: [(&str, Measure); 5] = [
    ("load", load::measure_all),
    ("languages", languages::measure_all),
    ("files", files::measure_all),
    ("fetch", fetch::measure),
    ("webhook", webhook::measure),
];

/// What is measured.
#[derive(Debug, PartialEq, Eq)]
pub enum Bench {
    /// One of [`ALONE`], by its place there.
    Alone(usize),
    /// One of [`MEASURED`], with the flags that the program in `bench/` gets.
    Release { what: String, flags: Vec<String> },
}

impl Bench {
    /// One of [`ALONE`], or one of [`MEASURED`] with `--quick`, `--only CASE`, `--json FILE`; `all` if nothing is named.
    pub fn parse(arguments: &[String]) -> Result<Self> {
        let (what, rest) = match arguments.split_first() {
            Some((what, rest)) if !what.starts_with("--") => (what.as_str(), rest),
            _ => ("all", arguments),
        };
        if let Some(at) = ALONE.iter().position(|(name, _)| *name == what)
            && rest.is_empty()
        {
            return Ok(Self::Alone(at));
        }
        if !MEASURED.contains(&what) {
            let alone: Vec<&str> = ALONE.iter().map(|(name, _)| *name).collect();
            bail!("there is no `bench {}`: it is {}, {}", arguments.join(" "), alone.join(", "), MEASURED.join(", "));
        }
        let mut flags = rest.iter();
        while let Some(flag) = flags.next() {
            match flag.as_str() {
                "--quick" | PEERS => {}
                "--only" | "--json" if flags.next().is_some() => {}
                _ => bail!("`bench {what}` takes --quick, --peers, --only CASE and --json FILE, not `{flag}`"),
            }
        }
        Ok(Self::Release { what: what.to_owned(), flags: rest.to_vec() })
    }

    /// Builds what is missing, measures, and prints a table.
    pub fn run(&self, repo: &Repo) -> Result<()> {
        match self {
            Self::Alone(what) => ALONE[*what].1(repo),
            Self::Release { what, flags } => release(repo, what, flags),
        }
    }
}

/// Builds the host as its users have it, and gives where it is.
fn release_host(repo: &Repo) -> Result<PathBuf> {
    eprintln!("Building the host for release (the first time takes a quarter of an hour)");
    run::run(repo.cargo().args(["build", "--release", "--package", "wharf", "--bin", "wharf"]), BUILD_LIMIT)?;
    Ok(program(&repo.target()?, "wharf"))
}

fn program(target: &Path, name: &str) -> PathBuf {
    target.join("release").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

fn release(repo: &Repo, what: &str, flags: &[String]) -> Result<()> {
    let choice = Choice::from_user(None)?;
    guests::build(repo, choice)?;
    let host = release_host(repo)?;
    eprintln!("Building the rivals");
    let target = repo.target()?;
    let rivals = target.join("bench");
    let manifest = repo.root.join("bench/Cargo.toml");
    run::run(repo.cargo().args(["build", "--release", "--manifest-path"]).arg(&manifest).arg("--target-dir").arg(&rivals), BUILD_LIMIT)?;
    let mut bench = std::process::Command::new(program(&rivals, "wharf-bench"));
    bench.arg(what).arg("--wharf").arg(host);
    for (flag, fixture) in [("--component", "texts"), ("--fanout", "fanout")] {
        bench.arg(flag).arg(repo.root.join("tests/guests").join(fixture).with_extension("wasm"));
    }
    bench.args(flags).current_dir(&repo.root);
    if flags.iter().any(|flag| flag == PEERS) {
        clients::install(repo)?;
    }
    if matches!(what, "start" | "all" | RELOAD) {
        for component in load::javascript_pair(repo, &repo::cache()?.join("bench"))? {
            bench.arg("--javascript").arg(component);
        }
    }
    if what == RELOAD {
        bench.arg("--versioned").arg(repo.root.join("tests/guests/versioned.wasm"));
        // `wharf dev` builds guests, too.
        let toolchain = toolchain::prepare(repo, choice)?;
        bench.arg("--target").arg(repo.target()?.join("bench-dev").join(&toolchain.name));
        toolchain.apply(&mut bench);
    }
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
        let release = |what: &str, flags: &[&str]| Bench::Release {
            what: what.to_owned(),
            flags: flags.iter().map(|&flag| flag.to_owned()).collect(),
        };
        for (at, (name, _)) in ALONE.iter().enumerate() {
            assert_eq!(parsed(name).unwrap(), Bench::Alone(at));
        }
        assert_eq!(parsed("").unwrap(), release("all", &[]));
        assert_eq!(parsed("reload --only dev").unwrap(), release("reload", &["--only", "dev"]));
        assert_eq!(parsed("--quick").unwrap(), release("all", &["--quick"]));
        assert_eq!(parsed("read --json a --only 256").unwrap(), release("read", &["--json", "a", "--only", "256"]));
        for wrong in ["load --quick", "write", "read --json", "read --fast", "read list"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
