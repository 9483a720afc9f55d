//! `cargo xtask demo`: builds the host and the example providers, and serves them.

use std::{process::Command, time::Duration};

use anyhow::Result;

use crate::{guests, repo::Repo, run, toolchain::Choice};

/// The first build compiles all of wasmtime: some ten minutes on two slow cores.
const BUILD_LIMIT: Duration = Duration::from_secs(3600);

/// Serves until Ctrl-C. Comes back only if the host could not be started.
pub fn serve(repo: &Repo, http: Option<&str>, tools: bool) -> Result<()> {
    eprintln!("Building the example providers");
    guests::build(repo, Choice::from_user(None)?)?;
    eprintln!("Building the host (the first time takes some minutes)");
    // The dev profile, in which the dependencies are optimised anyway: a profile of its own would have a target folder of its own, and
    // compile wasmtime a second time for `cargo xtask test`.
    // Of the whole workspace, so that cargo enables the same features as for the tests.
    run::run(repo.cargo().args(["build", "--workspace", "--bin", "wharf"]), BUILD_LIMIT)?;

    let mut host = Command::new(repo.target()?.join("debug").join(format!("wharf{}", std::env::consts::EXE_SUFFIX)));
    host.current_dir(&repo.root).args(["serve", "--plugins", "plugins", "--config", "plugins/demo.toml"]);
    if let Some(address) = http {
        host.args(["--http", address]);
    }
    if tools {
        host.arg("--tools");
    }
    run::become_child(host)
}
