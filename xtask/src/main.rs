//! `cargo xtask …`: set-up, guest builds, the demo, the whole test run and benchmarks.
//!
//! Whatever a task needs it sets up by itself, once: a second run finds it done. Every child process that uses the network has a time
//! limit, so that a task fails instead of hanging.

mod bench;
mod browser;
mod cargo_tools;
mod clients;
mod compatibility;
mod conformance;
mod demo;
mod fuzz;
mod guests;
mod languages;
mod release;
mod repo;
mod run;
mod supply;
mod test;
mod toolchain;

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context, Result, bail};

use crate::{bench::Bench, fuzz::Fuzz, languages::Choice as Languages, repo::Repo, toolchain::Choice};

const USAGE: &str = "\
Usage: cargo xtask TASK

  demo [--http ADDR] [--tools]
                              build the host and the example providers, and serve them; with resources as tools too
  test [--only STEP]          everything: fmt, clippy, deny, oldest, guests, clients, build, packages, languages, test,
                              compatibility, conformance, doc
  guests [--lang LANGUAGE] [--toolchain WHICH]
                              build the providers of plugins/ and tests/ in this language into .wasm files: rust (the default), js, ts,
                              python, go, c, cpp, zig, assemblyscript, or all
  guests --dir DIR [--to DIR] build the provider in DIR, and put it into plugins/ or the folder named
  tools LANGUAGE [COMMAND]    run a command with a language's tools, which are installed first; without a command, print what to set
                              so that they are found
  clients                     install the MCP clients and the browser of the end-to-end tests
  compatibility               write COMPATIBILITY.md, from what the clients' rounds in the last test run left
  conformance                 MCP's official conformance suite against the host
  deny [--advisories]         licences and sources of what the host depends on, by deny.toml, and what of it nothing uses; with the
                              advisories of the RustSec database, which is downloaded
  release [--no-build]        what is published: archive and Debian package of a static binary, bill of materials, checksums; or made
                              anew with the binary that is there
  soak [MINUTES]              mixed load for so long (60): memory and open files stay flat, and no update is lost
  fuzz [TARGET] [--seconds N] search for input that breaks a promise (60 s for each target), from fuzz/corpus on
  bench [read|list|work|memory|fanout|start]
                              the release build beside a bare axum handler and rmcp's own server: requests a second, latencies, memory;
                              how soon many listeners are told of a change; how soon a host answers after its start;
                              --peers for servers in other languages too, --quick for a look, --only CASE for some of it, --json FILE
  bench reload                how soon a new version reaches a client, in `wharf dev` too, and what compiling does to other reads;
                              with the same flags
  bench load                  how long components take to load, with an empty compile cache and a full one
  bench languages             one and the same provider in each language: its size, how long it takes to load, to be read, what memory it has
  bench files                 how soon a client hears of one changed file among 10,000; what 50 idle providers cost
  bench fetch                 what a provider that polls a slow server costs those who read from it
  bench webhook               how soon a client hears of a webhook

WHICH is auto (the default), installed (rustup's wasm32-wasip2 target) or packages (put together from Debian and npm
packages, in the user's cache folder). WHARF_GUEST_TOOLCHAIN sets it for all tasks; the flag wins.
";

/// Long enough that what grows by little shows.
const SOAK_MINUTES: u64 = 60;

/// Wrong use, as opposed to a failure.
const WRONG_USE: u8 = 2;

enum Task {
    Help,
    Demo { http: Option<String>, tools: bool },
    Test { steps: Vec<&'static test::Step> },
    Guests { languages: Languages, toolchain: Choice },
    Guest { dir: PathBuf, to: Option<PathBuf> },
    Tools { language: Languages, command: Vec<String> },
    Clients,
    Compatibility,
    Conformance,
    Deny { advisories: bool },
    Release { build: bool },
    Bench(Bench),
    Fuzz(Fuzz),
    Soak { minutes: u64 },
}

fn parse(arguments: &[String]) -> Result<Task> {
    let Some((task, rest)) = arguments.split_first() else { return Ok(Task::Help) };
    let (tools, rest): (Vec<_>, Vec<_>) = rest.iter().cloned().partition(|flag| task == "demo" && flag == "--tools");
    let rest = rest.as_slice();
    let flag = |name: &str| -> Result<Option<String>> {
        match rest {
            [] => Ok(None),
            [flag, value] if flag == name => Ok(Some(value.clone())),
            [flag] if flag.split_once('=').is_some_and(|(flag, _)| flag == name) => Ok(flag.split_once('=').map(|(_, value)| value.into())),
            _ => bail!("`cargo xtask {task}` takes {name} VALUE and nothing else, not `{}`", rest.join(" ")),
        }
    };
    match task.as_str() {
        "demo" => Ok(Task::Demo { http: flag("--http")?, tools: !tools.is_empty() }),
        "test" => Ok(Task::Test { steps: test::chosen(flag("--only")?.as_deref())? }),
        "guests" if rest.first().is_some_and(|flag| flag.starts_with("--dir")) => match rest {
            [flag, dir, to, into] if flag == "--dir" && to == "--to" => Ok(Task::Guest { dir: dir.into(), to: Some(into.into()) }),
            _ => match flag("--dir")? {
                Some(dir) => Ok(Task::Guest { dir: dir.into(), to: None }),
                None => bail!("`cargo xtask guests --dir` wants a folder"),
            },
        },
        "guests" => guests(rest),
        "tools" => match rest {
            [language, command @ ..] => Ok(Task::Tools { language: Languages::named(language)?, command: command.to_vec() }),
            [] => bail!("`cargo xtask tools` wants a language"),
        },
        "fuzz" => Ok(Task::Fuzz(Fuzz::parse(rest)?)),
        "soak" => match rest {
            [] => Ok(Task::Soak { minutes: SOAK_MINUTES }),
            [minutes] => Ok(Task::Soak { minutes: minutes.parse().context("`cargo xtask soak` wants a number of minutes")? }),
            _ => bail!("`cargo xtask soak` takes a number of minutes, not `{}`", rest.join(" ")),
        },
        "bench" => Ok(Task::Bench(Bench::parse(rest)?)),
        "clients" if rest.is_empty() => Ok(Task::Clients),
        "compatibility" if rest.is_empty() => Ok(Task::Compatibility),
        "conformance" if rest.is_empty() => Ok(Task::Conformance),
        "deny" => match rest {
            [] => Ok(Task::Deny { advisories: false }),
            [flag] if flag == "--advisories" => Ok(Task::Deny { advisories: true }),
            _ => bail!("`cargo xtask deny` takes --advisories, not `{}`", rest.join(" ")),
        },
        "release" => match rest {
            [] => Ok(Task::Release { build: true }),
            [flag] if flag == "--no-build" => Ok(Task::Release { build: false }),
            _ => bail!("`cargo xtask release` takes --no-build, not `{}`", rest.join(" ")),
        },
        "help" | "-h" | "--help" => Ok(Task::Help),
        _ => bail!("there is no task `{}`", arguments.join(" ")),
    }
}

fn guests(flags: &[String]) -> Result<Task> {
    let (mut languages, mut toolchain) = (Languages::Rust, None);
    let mut flags = flags.iter().flat_map(|flag| match flag.split_once('=') {
        Some((flag, value)) => vec![flag, value],
        None => vec![flag.as_str()],
    });
    while let Some(flag) = flags.next() {
        match (flag, flags.next()) {
            ("--lang", Some(name)) => languages = Languages::named(name)?,
            ("--toolchain", Some(which)) => toolchain = Some(which),
            ("--lang" | "--toolchain", None) => bail!("`cargo xtask guests {flag}` wants a value"),
            _ => bail!("`cargo xtask guests` takes --lang LANGUAGE and --toolchain WHICH, not `{flag}`"),
        }
    }
    Ok(Task::Guests { languages, toolchain: Choice::from_user(toolchain)? })
}

fn perform(task: Task) -> Result<()> {
    let repo = Repo::find()?;
    match task {
        Task::Help => print!("{USAGE}"),
        Task::Demo { http, tools } => demo::serve(&repo, http.as_deref(), tools)?,
        Task::Test { steps } => test::run(&repo, &steps)?,
        Task::Guests { languages, toolchain } => {
            if languages.has_rust() {
                guests::build(&repo, toolchain)?;
            }
            languages::host(&repo, languages)?;
            languages::build(&repo, languages, languages::Tests::Skip)?;
        }
        Task::Tools { language, command } if command.is_empty() => languages::print_environment(&repo, language)?,
        Task::Tools { language, command } => languages::with_tools(&repo, language, &command)?,
        Task::Guest { dir, to } => guests::build_one(&repo, Choice::from_user(None)?, &dir, to.as_deref())?,
        Task::Clients => browser::install_with_clients(&repo)?,
        Task::Compatibility => compatibility::write(&repo)?,
        Task::Conformance => conformance::build_and_run(&repo)?,
        Task::Deny { advisories } => supply::deny(&repo, advisories)?,
        Task::Release { build } => release::make(&repo, build)?,
        Task::Bench(what) => what.run(&repo)?,
        Task::Fuzz(what) => what.run(&repo)?,
        Task::Soak { minutes } => test::soak(&repo, minutes)?,
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(compiled) = fuzz::compile(&arguments) {
        return compiled;
    }
    let task = match parse(&arguments) {
        Ok(task) => task,
        Err(error) => {
            eprintln!("error: {error}\n\n{USAGE}");
            return ExitCode::from(WRONG_USE);
        }
    };
    match perform(task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Task> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_flag_is_taken_with_a_space_or_an_equals_sign() {
        for line in ["guests --toolchain packages", "guests --toolchain=packages", "guests --lang rust --toolchain packages"] {
            assert!(matches!(parsed(line), Ok(Task::Guests { languages: Languages::Rust, toolchain: Choice::Packages })), "{line}");
        }
        assert!(matches!(parsed("guests --lang=all"), Ok(Task::Guests { languages: Languages::All, .. })));
        assert!(matches!(parsed("tools go go version"), Ok(Task::Tools { command, .. }) if command == ["go", "version"]));
        assert!(matches!(parsed("guests --dir ../hello"), Ok(Task::Guest { dir, to: None }) if dir == std::path::Path::new("../hello")));
        assert!(matches!(parsed("guests --dir a --to b"), Ok(Task::Guest { to: Some(to), .. }) if to == std::path::Path::new("b")));
        assert!(matches!(parsed("demo"), Ok(Task::Demo { http: None, tools: false })));
        let both = ["demo --tools --http 127.0.0.1:1", "demo --http=127.0.0.1:1 --tools"];
        assert!(both.iter().all(|line| matches!(parsed(line), Ok(Task::Demo { http: Some(_), tools: true }))));
    }

    #[test]
    fn an_unknown_task_or_flag_is_wrong_use() {
        for line in [
            "tset",
            "test --olny fmt",
            "test --only",
            "test --only lint",
            "guests --toolchain=gcc",
            "guests --lang",
            "guests --lang cobol",
            "tools",
            "tools cobol",
            "demo 127.0.0.1:1",
            "clients --tools",
            "release --quick",
            "deny advisories",
        ] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }
}
