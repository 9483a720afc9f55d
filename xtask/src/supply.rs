//! What the host is made of: licences and sources of its dependencies, none that nothing uses, the oldest compiler, no `unsafe`.

use std::{process::Command, time::Duration};

use anyhow::{Context, Result};

use crate::{cargo_tools, repo::Repo, run};

const LOOK_LIMIT: Duration = Duration::from_secs(300);
/// It compiles everything once more, if the compiler is another one.
const CHECK_LIMIT: Duration = Duration::from_secs(3600);
const ASK_LIMIT: Duration = Duration::from_secs(60);

/// Holds the dependencies to deny.toml, and finds those that nothing uses. Advisories come from a database that is downloaded: only if asked.
pub fn deny(repo: &Repo, advisories: bool) -> Result<()> {
    let mut command = cargo_tools::DENY.command(repo)?;
    command.args(["--workspace", "--all-features", "--locked", "check", "--hide-inclusion-graph", "bans", "licenses", "sources"]);
    if advisories {
        command.arg("advisories");
    }
    run::quietly(&mut command, LOOK_LIMIT)?;
    let mut unused = cargo_tools::MACHETE.command(repo)?;
    run::quietly(unused.args(["fuzz", "host", "tests", "xtask"]), LOOK_LIMIT)
}

/// Checks the workspace with the oldest compiler that Cargo.toml promises, unless that is the one everything else is built with.
pub fn oldest_compiler(repo: &Repo) -> Result<()> {
    let metadata = repo.metadata(&repo.root.join("Cargo.toml"))?;
    let oldest = metadata["packages"][0]["rust_version"].as_str().context("Cargo.toml has no rust-version")?;
    let active = run::output(repo.rustc().arg("--version"), ASK_LIMIT)?;
    if is_of(&active, oldest) {
        eprintln!("  {} is the oldest there may be, and has checked everything already", active.trim());
        return Ok(());
    }
    // A folder of its own: in that of the other compiler, each would compile everything anew after the other.
    let mut check = Command::new("rustup");
    check.args(["run", "--install", oldest, "cargo", "check", "--workspace", "--locked", "--all-targets"]).current_dir(&repo.root);
    run::run(check.env_remove("RUSTUP_TOOLCHAIN").env("CARGO_TARGET_DIR", repo.target()?.join("oldest")), CHECK_LIMIT)
}

/// Whether `rustc --version` says a version of this release, such as 1.95.
fn is_of(said: &str, release: &str) -> bool {
    let version = said.split(' ').nth(1).unwrap_or_default();
    version.strip_prefix(release).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    #[test]
    fn a_compiler_is_of_a_release_whatever_its_patch_is() {
        assert!(is_of("rustc 1.95.0 (59807616e 2026-04-14)", "1.95"));
        assert!(!is_of("rustc 1.950.0 (59807616e 2026-04-14)", "1.95") && !is_of("rustc 1.96.0-nightly (a)", "1.95") && !is_of("", "1.95"));
    }

    #[test]
    fn code_without_guarantees_stands_in_one_module_and_is_denied_everywhere_else() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
        // The lint's name in two, so that this file is none that names it.
        let lint = concat!("unsafe", "_code");
        assert!(read("Cargo.toml").contains(&format!("[workspace.lints.rust]\n{lint} = \"deny\"\n")));
        let mut allowed = Vec::new();
        for member in ["fuzz", "host", "tests", "xtask"] {
            assert!(read(&format!("{member}/Cargo.toml")).contains("[lints]\nworkspace = true\n"), "{member} has lints of its own");
            look(&root.join(member), lint, &mut allowed);
        }
        let allowed: Vec<&Path> = allowed.iter().map(|path| path.strip_prefix(root).unwrap()).collect();
        assert_eq!(allowed, [Path::new("host/src/provider/wasm/precompiled.rs")]);
        assert_eq!(read("host/src/provider/wasm/precompiled.rs").matches(lint).count(), 1);
    }

    /// The sources that name a lint: nobody does but to change its level.
    fn look(folder: &Path, lint: &str, found: &mut Vec<std::path::PathBuf>) {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                let no_sources = ["target", "node_modules", ".venv", "guests", "languages", "templates"];
                if !no_sources.iter().any(|name| entry.file_name() == *name) {
                    look(&path, lint, found);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") && fs::read_to_string(&path).unwrap().contains(lint) {
                found.push(path);
            }
        }
    }
}
