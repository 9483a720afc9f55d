//! `cargo xtask fuzz`: libFuzzer, guided by coverage, over each target of `fuzz/`.
//!
//! It runs on the compiler that everything else is built with. Only the packages of this workspace are built with coverage (this program stands
//! before their compiler, as cargo's RUSTC_WORKSPACE_WRAPPER); their dependencies are those of the other builds. What is found goes into
//! a folder of the target folder; an input that breaks a promise stays there, and its name is printed.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::Duration,
};

use anyhow::{Context, Result, bail};

use crate::{repo::Repo, run};

/// The host is compiled once more, with coverage.
const BUILD_LIMIT: Duration = Duration::from_secs(3600);
/// For each target, if nothing else is asked for.
const SECONDS: u64 = 60;
/// What libFuzzer may take longer than it was told, for the input that it is at.
const SLACK: u64 = 60;
/// Longer inputs show nothing that these do not.
const MAX_BYTES: u64 = 16 << 10;
/// An input that takes so many seconds is a fault of its own.
const STUCK: u64 = 20;
/// MiB that a target may have.
const MEMORY: u64 = 2048;

/// Set for the compilers of a build with coverage.
const COVERED: &str = "WHARF_FUZZ_COVERED";
/// What is built with coverage.
const CRATES: [&str; 2] = ["wharf", "wharf_fuzz"];
/// What libFuzzer wants of the code it looks into: counters at edges, a table of them, and comparisons.
const COVERAGE: [&str; 8] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "-Copt-level=1",
    "-Cdebug-assertions=on",
];

/// What is fuzzed, and for how long.
#[derive(Debug, PartialEq, Eq)]
pub struct Fuzz {
    target: Option<String>,
    seconds: u64,
}

impl Fuzz {
    /// A target, `--seconds N`, both or nothing.
    pub fn parse(arguments: &[String]) -> Result<Self> {
        let (target, rest) = match arguments.split_first() {
            Some((target, rest)) if !target.starts_with("--") => (Some(target.clone()), rest),
            _ => (None, arguments),
        };
        let seconds = match rest {
            [] => SECONDS,
            [flag, seconds] if flag == "--seconds" => seconds.parse().context("`--seconds` wants a number")?,
            _ => bail!("`cargo xtask fuzz` takes a target and --seconds N, not `{}`", rest.join(" ")),
        };
        Ok(Self { target, seconds })
    }

    /// Builds, and runs one target after the other.
    pub fn run(&self, repo: &Repo) -> Result<()> {
        let corpus = repo.root.join("fuzz/corpus");
        let mut targets: Vec<String> = fs::read_dir(&corpus)
            .with_context(|| format!("cannot read {}", corpus.display()))?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| self.target.as_ref().is_none_or(|target| target == name))
            .collect();
        targets.sort();
        if targets.is_empty() {
            bail!("there is no target `{}`: they are the folders of fuzz/corpus", self.target.as_deref().unwrap_or_default());
        }
        let program = build(repo)?;
        let found = repo.target()?.join("fuzz");
        for target in targets {
            let (own, seeds) = (found.join(&target), corpus.join(&target));
            fs::create_dir_all(&own).with_context(|| format!("cannot make {}", own.display()))?;
            eprintln!("==> {target}: {} s", self.seconds);
            self.search(&program, &target, &own, &seeds).with_context(|| {
                format!("{target}: the input that broke it is named above; put it into fuzz/corpus/{target}, and fix it")
            })?;
        }
        Ok(())
    }

    fn search(&self, program: &Path, target: &str, own: &Path, seeds: &Path) -> Result<()> {
        let mut search = Command::new(program);
        search.env("WHARF_FUZZ", target).arg(own).arg(seeds);
        search.arg(format!("-artifact_prefix={}/", own.display()));
        for (flag, value) in [
            ("max_total_time", self.seconds),
            ("max_len", MAX_BYTES),
            ("timeout", STUCK),
            ("rss_limit_mb", MEMORY),
            ("print_final_stats", 1),
            ("verbosity", 0),
        ] {
            search.arg(format!("-{flag}={value}"));
        }
        run::run(&mut search, Duration::from_secs(self.seconds + SLACK))
    }
}

fn build(repo: &Repo) -> Result<PathBuf> {
    let this = env::current_exe().context("where this program is is not known")?;
    let mut cargo = repo.cargo();
    cargo.args(["build", "--workspace", "--bin", "wharf-fuzz", "--features", "wharf-fuzz/engine"]);
    cargo.env("RUSTC_WORKSPACE_WRAPPER", this).env(COVERED, "1");
    run::run(&mut cargo, BUILD_LIMIT)?;
    Ok(repo.target()?.join("debug").join(format!("wharf-fuzz{}", env::consts::EXE_SUFFIX)))
}

/// If cargo runs this program in the compiler's place: what came of it.
pub fn compile(arguments: &[String]) -> Option<ExitCode> {
    env::var_os(COVERED)?;
    let (compiler, rest) = arguments.split_first()?;
    let mut command = Command::new(compiler);
    command.args(rest);
    let name = rest.iter().skip_while(|argument| *argument != "--crate-name").nth(1);
    if name.is_some_and(|name| CRATES.contains(&name.as_str())) {
        command.args(COVERAGE);
    }
    let status = command.status();
    Some(match status.ok().and_then(|status| status.code()).and_then(|code| u8::try_from(code).ok()) {
        Some(code) => code.into(),
        None => ExitCode::FAILURE,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_and_a_time_are_taken_alone_and_together() {
        let parsed = |line: &str| Fuzz::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(parsed("").unwrap(), Fuzz { target: None, seconds: SECONDS });
        assert_eq!(parsed("http --seconds 5").unwrap(), Fuzz { target: Some("http".into()), seconds: 5 });
        assert_eq!(parsed("--seconds 5").unwrap(), Fuzz { target: None, seconds: 5 });
        for wrong in ["http config", "--seconds", "--seconds long", "--minutes 1"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
