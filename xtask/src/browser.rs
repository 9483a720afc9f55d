//! The browser of the end-to-end tests: Debian's Chromium, or another of its kind, and what drives it.
//!
//! The driver is pinned and installed as the clients are. The browser is the machine's own: it is looked for, and installed where that takes
//! no more than apt; else the user is told how to. No test is passed over for want of it.

use std::{env, path::PathBuf, time::Duration};

use anyhow::{Context, Result, bail};

use crate::{
    clients::{self, Packages, Stamp},
    repo::Repo,
    run,
    toolchain::apt_get,
};

/// Names a browser that is not in the search path. `tests/browser/harness.mjs` reads it too.
const VARIABLE: &str = "WHARF_CHROMIUM";
/// As `tests/browser/harness.mjs` looks for them.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
const UPDATE_LIMIT: Duration = Duration::from_secs(120);
/// Up to 400 MB with what it stands on, from a mirror that may be slow.
const INSTALL_LIMIT: Duration = Duration::from_secs(600);

/// Installs what is missing.
pub fn install(repo: &Repo) -> Result<()> {
    let folder = repo.root.join("tests/browser");
    let packages = Packages::Npm;
    let stamp = Stamp::of(folder.join("node_modules/.wharf-stamp"), &folder, packages.pins(), &packages.runtime()?)?;
    stamp.unless_there("install the browser's driver", || packages.install(&folder))?;
    if let Some(named) = env::var_os(VARIABLE) {
        let named = PathBuf::from(named);
        return if named.is_file() { Ok(()) } else { bail!("{VARIABLE} names {}, which is not there", named.display()) };
    }
    if is_there() {
        return Ok(());
    }
    install_chromium().with_context(|| {
        format!("the tests of the status page need Chromium: `apt-get install chromium` as root, or name one with {VARIABLE}=/path/to/it")
    })
}

fn is_there() -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| NAMES.iter().any(|name| folder.join(name).is_file()))
}

fn install_chromium() -> Result<()> {
    run::step("update apt's lists", || run::quietly(apt_get()?.args(["update", "-qq"]), UPDATE_LIMIT))?;
    run::step("install chromium", || {
        run::quietly(apt_get()?.args(["install", "-y", "-qq", "--no-install-recommends", "chromium"]), INSTALL_LIMIT)
    })?;
    if !is_there() {
        bail!("chromium is installed, and yet it is not in PATH");
    }
    Ok(())
}

/// All that the end-to-end tests start beside the host.
pub fn install_with_clients(repo: &Repo) -> Result<()> {
    clients::install(repo)?;
    install(repo)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_is_pinned_and_looks_for_the_same_browsers() {
        let folder = Repo::find().unwrap().root.join("tests/browser");
        for pin in Packages::Npm.pins() {
            assert!(folder.join(pin).is_file(), "{pin}");
        }
        let harness = std::fs::read_to_string(folder.join("harness.mjs")).unwrap();
        assert!(harness.contains(&format!("const NAMES = ['{}'];", NAMES.join("', '"))) && harness.contains(VARIABLE));
    }
}
