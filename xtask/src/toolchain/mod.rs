//! Which Rust toolchain compiles the guests: rustup's target where it is there or can be had, else one put together from packages.

mod packages;

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Result, bail};
pub use packages::apt_get;

use crate::{repo::Repo, run};

/// What guests are compiled for: components, with WASI 0.2.
pub const TARGET: &str = "wasm32-wasip2";
/// Sets the choice for all tasks, for the use of CI.
const VARIABLE: &str = "WHARF_GUEST_TOOLCHAIN";
/// A download of 20 MB. Where it takes longer there is another way.
const RUSTUP_LIMIT: Duration = Duration::from_secs(60);
/// Asking a compiler for its version.
const ASK_LIMIT: Duration = Duration::from_secs(30);

/// What the user wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Whatever works, the quickest first.
    Auto,
    /// rustup's target, or an error.
    Installed,
    /// The one put together from packages, also where rustup has the target.
    Packages,
}

impl Choice {
    /// From the flag, else from the environment, else `Auto`.
    pub fn from_user(flag: Option<&str>) -> Result<Self> {
        Self::from_flag_or_variable(flag, env::var(VARIABLE).ok().as_deref())
    }

    fn from_flag_or_variable(flag: Option<&str>, variable: Option<&str>) -> Result<Self> {
        let variable = variable.filter(|value| !value.is_empty());
        match flag.or(variable) {
            None | Some("auto") => Ok(Self::Auto),
            Some("installed") => Ok(Self::Installed),
            Some("packages") => Ok(Self::Packages),
            Some(other) => bail!("`{other}` is no guest toolchain: --toolchain and {VARIABLE} take auto, installed or packages"),
        }
    }
}

/// A toolchain that compiles for [`TARGET`].
pub struct Toolchain {
    /// Differs between any two whose outputs do not fit together. Cargo tells compilers apart by their version only, and does not see
    /// that a standard library was compiled anew: so each needs a target folder of its own, of this name.
    pub name: String,
    /// Another compiler than the one cargo would take.
    rustc: Option<PathBuf>,
}

impl Toolchain {
    /// The host's own, with rustup's target.
    fn installed() -> Self {
        Self { name: "installed".into(), rustc: None }
    }

    /// What to set so that cargo compiles guests with it, in a target folder of its own.
    pub fn environment(&self, repo: &Repo) -> Result<Vec<(&'static str, PathBuf)>> {
        let target = ("CARGO_TARGET_DIR", repo.target()?.join("guests-dev").join(&self.name));
        Ok(self.rustc.iter().map(|rustc| ("RUSTC", rustc.clone())).chain([target]).collect())
    }

    /// Makes a cargo command compile guests with it.
    pub fn apply(&self, cargo: &mut Command) {
        if let Some(rustc) = &self.rustc {
            // What is set for the host's compiler does not hold for this one.
            cargo.env("RUSTC", rustc).env_remove("RUSTC_WRAPPER").env_remove("RUSTC_WORKSPACE_WRAPPER");
        }
    }
}

/// A way to come by a toolchain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    UseInstalled,
    AddTarget,
    Packages,
}

/// The ways to try, in order.
fn ways(choice: Choice, installed: bool, packaged: bool) -> &'static [Way] {
    match choice {
        Choice::Installed => &[Way::UseInstalled],
        Choice::Packages => &[Way::Packages],
        Choice::Auto if installed => &[Way::UseInstalled],
        // rustup failed here once: nobody waits for that again.
        Choice::Auto if packaged => &[Way::Packages],
        Choice::Auto => &[Way::AddTarget, Way::Packages],
    }
}

/// Finds or makes the toolchain.
pub fn prepare(repo: &Repo, choice: Choice) -> Result<Toolchain> {
    let installed = is_installed(repo)?;
    let packaged = choice == Choice::Auto && !installed && packages::is_there(repo);
    let mut failure = None;
    for way in ways(choice, installed, packaged) {
        if let Some(error) = failure.take() {
            eprintln!("  {error:#}; there is another way");
        }
        match attempt(repo, *way, installed) {
            Ok(toolchain) => return Ok(toolchain),
            Err(error) => failure = Some(error),
        }
    }
    let error = failure.unwrap_or_else(|| anyhow::anyhow!("there is no way"));
    Err(error
        .context(format!("no toolchain for {TARGET}; where rustup can reach its server, `rustup target add {TARGET}` is all it takes")))
}

fn attempt(repo: &Repo, way: Way, installed: bool) -> Result<Toolchain> {
    match way {
        Way::UseInstalled if installed => Ok(Toolchain::installed()),
        Way::UseInstalled => bail!("the target {TARGET} is not installed"),
        Way::AddTarget => {
            let mut rustup = Command::new("rustup");
            rustup.args(["target", "add", TARGET]).current_dir(&repo.root);
            run::step(&format!("add the target {TARGET} with rustup"), || run::quietly(&mut rustup, RUSTUP_LIMIT))?;
            if !is_installed(repo)? {
                bail!("rustup has added {TARGET} to another toolchain than the one in use");
            }
            Ok(Toolchain::installed())
        }
        Way::Packages => packages::prepare(repo),
    }
}

/// Whether the host's own compiler has the target's standard library.
fn is_installed(repo: &Repo) -> Result<bool> {
    Ok(sysroot(repo)?.join("lib/rustlib").join(TARGET).join("lib").is_dir())
}

fn sysroot(repo: &Repo) -> Result<PathBuf> {
    Ok(Path::new(run::output(repo.rustc().args(["--print", "sysroot"]), ASK_LIMIT)?.trim()).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_wins_over_the_environment() {
        let choice = Choice::from_flag_or_variable;
        assert_eq!(choice(None, None).unwrap(), Choice::Auto);
        assert_eq!(choice(None, Some("")).unwrap(), Choice::Auto);
        assert_eq!(choice(None, Some("packages")).unwrap(), Choice::Packages);
        assert_eq!(choice(Some("installed"), Some("packages")).unwrap(), Choice::Installed);
        assert_eq!(choice(Some("auto"), Some("packages")).unwrap(), Choice::Auto);
    }

    #[test]
    fn an_unknown_toolchain_is_refused_with_the_known_ones() {
        let error = Choice::from_flag_or_variable(Some("package"), None).unwrap_err().to_string();
        assert!(error.contains("auto, installed or packages"), "{error}");
    }

    #[test]
    fn the_network_is_used_only_where_nothing_is_there() {
        assert_eq!(ways(Choice::Auto, true, false), [Way::UseInstalled]);
        assert_eq!(ways(Choice::Auto, false, true), [Way::Packages]);
        assert_eq!(ways(Choice::Auto, false, false), [Way::AddTarget, Way::Packages]);
    }

    #[test]
    fn a_forced_toolchain_is_the_only_one_tried() {
        assert_eq!(ways(Choice::Packages, true, false), [Way::Packages]);
        assert_eq!(ways(Choice::Installed, false, true), [Way::UseInstalled]);
    }
}
