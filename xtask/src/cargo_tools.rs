//! Commands for cargo that are installed from their sources: each pinned, in a folder of its own in the user's cache folder, once for all
//! checkouts.

use std::{path::PathBuf, process::Command, time::Duration};

use anyhow::{Context, Result};

use crate::{
    repo::{self, Repo},
    run,
};

/// The largest compiles for six minutes on two busy cores.
const INSTALL_LIMIT: Duration = Duration::from_secs(3600);

/// One of them.
pub struct CargoTool {
    name: &'static str,
    version: &'static str,
}

/// Makes Debian packages.
pub static DEB: CargoTool = CargoTool { name: "cargo-deb", version: "3.8.0" };
/// Holds dependencies to deny.toml.
pub static DENY: CargoTool = CargoTool { name: "cargo-deny", version: "0.20.2" };
/// Finds dependencies that nothing uses.
pub static MACHETE: CargoTool = CargoTool { name: "cargo-machete", version: "0.9.2" };

impl CargoTool {
    /// The command, in the repository; installed if it is missing.
    pub fn command(&self, repo: &Repo) -> Result<Command> {
        let mut command = Command::new(self.install(repo)?);
        command.current_dir(&repo.root);
        Ok(command)
    }

    fn install(&self, repo: &Repo) -> Result<PathBuf> {
        let Self { name, version } = self;
        let root = repo::cache()?.join("cargo").join(format!("{name}-{version}"));
        let program = root.join("bin").join(name);
        std::fs::create_dir_all(&root).with_context(|| format!("cannot make {}", root.display()))?;
        let _lock = repo::lock(&root.with_added_extension("lock"), &format!("installing {name}"))?;
        // Cargo puts it there when it is whole.
        if !program.is_file() {
            let mut install = repo.cargo();
            // Not into the folder where the host is built, where it would never be found again.
            install
                .args(["install", "--quiet", "--locked", "--version", version, "--root"])
                .arg(&root)
                .arg(name)
                .env_remove("CARGO_TARGET_DIR");
            run::step(&format!("compile {name} {version}, which takes some minutes"), || run::quietly(&mut install, INSTALL_LIMIT))?;
        }
        Ok(program)
    }
}
