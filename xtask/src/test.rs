//! `cargo xtask test`: everything that has to hold, in steps; the quick ones come first.

use std::{
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use crate::{
    browser, compatibility, conformance, guests, languages, release,
    repo::{RUST_SDK, Repo},
    run, supply,
    toolchain::Choice,
};

/// The slowest step compiles all of wasmtime: some ten minutes on two slow cores.
const CARGO_LIMIT: Duration = Duration::from_secs(3600);
const COMPONENT_LIMIT: Duration = Duration::from_secs(120);
const ASK_LIMIT: Duration = Duration::from_secs(30);

/// One part of the run.
pub struct Step {
    name: &'static str,
    what: &'static str,
    run: fn(&Repo) -> Result<()>,
}

static STEPS: [Step; 13] = [
    Step { name: "fmt", what: "formatting of the host, the tests and the guests", run: fmt },
    Step { name: "clippy", what: "lints, each an error", run: clippy },
    Step { name: "deny", what: "licences, sources and use of the dependencies", run: deny },
    Step { name: "oldest", what: "the oldest compiler that Cargo.toml promises", run: supply::oldest_compiler },
    Step { name: "guests", what: "the components in Rust of plugins/ and tests/", run: build_guests },
    Step { name: "clients", what: "the MCP clients and the browser of the end-to-end tests", run: browser::install_with_clients },
    Step { name: "build", what: "the host that the end-to-end tests start", run: build },
    Step { name: "packages", what: "the files of a release, made twice, and its unit", run: release::check },
    Step { name: "languages", what: "the components in other languages, and their own tests", run: build_languages },
    Step { name: "test", what: "unit, property and end-to-end tests", run: test },
    Step { name: "compatibility", what: "COMPATIBILITY.md, against the rounds of the clients", run: compatibility::check },
    Step { name: "conformance", what: "MCP's official conformance suite against the host", run: conformance::build_and_run },
    Step { name: "doc", what: "documentation, each warning an error", run: doc },
];

/// Runs these steps. Stops at the first that fails.
pub fn run(repo: &Repo, steps: &[&Step]) -> Result<()> {
    let began = Instant::now();
    let mut summary = Vec::new();
    for step in steps {
        eprintln!("==> {}: {}", step.name, step.what);
        let began = Instant::now();
        (step.run)(repo).with_context(|| format!("the step {0} failed; to run it alone: cargo xtask test --only {0}", step.name))?;
        let took = format!("{} {:.0} s", step.name, began.elapsed().as_secs_f64());
        eprintln!("==> {took}");
        summary.push(took);
    }
    println!("All well in {:.0} s: {}", began.elapsed().as_secs_f64(), summary.join(", "));
    Ok(())
}

/// All steps, or the one named.
pub fn chosen(only: Option<&str>) -> Result<Vec<&'static Step>> {
    let Some(name) = only else { return Ok(STEPS.iter().collect()) };
    match STEPS.iter().find(|step| step.name == name) {
        Some(step) => Ok(vec![step]),
        None => bail!("there is no step `{name}`; the steps are {}", STEPS.each_ref().map(|step| step.name).join(", ")),
    }
}

fn fmt(repo: &Repo) -> Result<()> {
    need_component(repo, "fmt", "rustfmt")?;
    for workspace in workspaces(repo) {
        cargo(repo, &["fmt", "--all", "--check", "--manifest-path"], &workspace, &[])?;
    }
    Ok(())
}

fn clippy(repo: &Repo) -> Result<()> {
    need_component(repo, "clippy", "clippy")?;
    // The guests, too, as if they were built for this machine: clippy is of one piece with its compiler and cannot use the standard
    // library of another, which is what a guest toolchain made of packages has.
    for workspace in workspaces(repo) {
        cargo(repo, &["clippy", "--workspace", "--all-targets", "--manifest-path"], &workspace, &["--", "-D", "warnings"])?;
    }
    // As a program gets the host that embeds it: without what only the commands need.
    run::run(repo.cargo().args(["check", "--package", "wharf", "--no-default-features"]), CARGO_LIMIT)
}

fn deny(repo: &Repo) -> Result<()> {
    supply::deny(repo, false)
}

fn build_guests(repo: &Repo) -> Result<()> {
    guests::build(repo, Choice::from_user(None)?)
}

fn build(repo: &Repo) -> Result<()> {
    // With the tests, as the next step builds them: then cargo enables the same features, and compiles each dependency once.
    run::run(repo.cargo().args(["build", "--workspace", "--bins", "--tests"]), CARGO_LIMIT)
}

fn build_languages(repo: &Repo) -> Result<()> {
    languages::build(repo, languages::Choice::All, languages::Tests::Run)
}

fn test(repo: &Repo) -> Result<()> {
    // Results of an earlier run say nothing of this one.
    for results in compatibility::results(repo)?.iter().filter(|results| results.exists()) {
        std::fs::remove_dir_all(results).with_context(|| format!("cannot remove {}", results.display()))?;
    }
    // To the end, so that one failure does not hide what the later tests have to say.
    run::run(repo.cargo().args(["test", "--workspace", "--no-fail-fast"]), CARGO_LIMIT)?;
    // What the example providers and the SDK do without a host, as if they were built for this machine.
    for workspace in ["plugins", RUST_SDK] {
        cargo(repo, &["test", "--workspace", "--no-fail-fast", "--manifest-path"], &repo.root.join(workspace), &[])?;
    }
    Ok(())
}

/// The test of mixed load alone, for so long.
pub fn soak(repo: &Repo, minutes: u64) -> Result<()> {
    build_guests(repo)?;
    build(repo)?;
    let seconds = minutes.saturating_mul(60);
    let mut soak = repo.cargo();
    soak.args(["test", "--workspace", "--test", "soak", "--", "--nocapture"]).env("WHARF_SOAK_SECONDS", seconds.to_string());
    run::run(&mut soak, CARGO_LIMIT + Duration::from_secs(seconds))
}

fn doc(repo: &Repo) -> Result<()> {
    // Of the whole workspace, so that what clippy has checked of the dependencies serves here, too.
    run::run(repo.cargo().args(["doc", "--no-deps", "--workspace", "--lib"]).env("RUSTDOCFLAGS", "-D warnings"), CARGO_LIMIT)
}

/// The host's workspace, that of the benchmark, that of the SDK, and those of the guests.
fn workspaces(repo: &Repo) -> Vec<std::path::PathBuf> {
    let mut all = vec![repo.root.clone(), repo.root.join("bench"), repo.root.join(RUST_SDK)];
    all.extend(repo.guest_workspaces());
    all
}

fn cargo(repo: &Repo, arguments: &[&str], workspace: &Path, rest: &[&str]) -> Result<()> {
    let mut command = repo.cargo();
    command.args(arguments).arg(workspace.join("Cargo.toml"));
    if workspace != repo.root {
        // Lock files of their own, so a target folder of their own.
        command.env("CARGO_TARGET_DIR", repo.target()?.join("guests/clippy"));
    }
    run::run(command.args(rest), CARGO_LIMIT)
}

/// rustup's minimal profile has neither rustfmt nor clippy.
fn need_component(repo: &Repo, subcommand: &str, component: &str) -> Result<()> {
    if run::output(repo.cargo().args([subcommand, "--version"]), ASK_LIMIT).is_ok() {
        return Ok(());
    }
    let mut rustup = Command::new("rustup");
    rustup.args(["component", "add", component]).current_dir(&repo.root);
    run::step(&format!("add {component} with rustup"), || run::quietly(&mut rustup, COMPONENT_LIMIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_step_can_be_run_alone() {
        assert_eq!(chosen(None).unwrap().len(), STEPS.len());
        assert_eq!(chosen(Some("doc")).unwrap()[0].name, "doc");
    }

    #[test]
    fn an_unknown_step_is_refused_with_the_known_ones() {
        let error = chosen(Some("lint")).err().unwrap().to_string();
        assert!(
            error.contains("fmt, clippy, deny, oldest, guests, clients, build, packages, languages, test, compatibility, conformance, doc"),
            "{error}"
        );
    }

    #[test]
    fn every_test_that_security_md_names_exists() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let text = std::fs::read_to_string(root.join("SECURITY.md")).unwrap();
        // Names of tests are sentences; nothing else in there is.
        let names: Vec<&str> = text.split('`').skip(1).step_by(2).filter(|code| code.matches('_').count() >= 3).collect();
        let mut sources = String::new();
        for folder in ["fuzz", "host", "tests", "plugins", "xtask"] {
            read_sources(&root.join(folder), &mut sources);
        }
        let missing: Vec<&&str> = names.iter().filter(|name| !sources.contains(&format!("fn {name}("))).collect();
        assert!(names.len() > 30 && missing.is_empty(), "SECURITY.md names {missing:?}");
    }

    fn read_sources(folder: &Path, sources: &mut String) {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
            let path = entry.path();
            if path.is_dir() && entry.file_name() != "target" {
                read_sources(&path, sources);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                sources.push_str(&std::fs::read_to_string(&path).unwrap());
            }
        }
    }
}
