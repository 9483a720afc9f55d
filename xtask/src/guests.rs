//! Builds the guests in Rust: the providers of `plugins/`, the fixtures of `tests/guests/` and that of `tests/languages/`, each into a `.wasm`
//! file beside its folder.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::{
    languages::RUST,
    repo::{RUST_FIXTURE, Repo},
    run,
    toolchain::{self, Choice, TARGET, Toolchain},
};

/// The first build downloads and compiles some 30 crates.
pub const BUILD_LIMIT: Duration = Duration::from_secs(1800);

/// Builds them all.
pub fn build(repo: &Repo, choice: Choice) -> Result<()> {
    let toolchain = toolchain::prepare(repo, choice)?;
    // Apart from the host's: another compiler, another target, and cargo locks a target folder while it builds.
    let target = repo.target()?.join("guests").join(&toolchain.name);
    for workspace in repo.guest_workspaces() {
        if workspace.ends_with(RUST_FIXTURE) {
            let into = workspace.parent().context("a fixture without a folder")?;
            build_into(repo, &toolchain, &workspace, into, Some(RUST), &target)?;
        } else {
            build_into(repo, &toolchain, &workspace, &workspace, None, &target)?;
        }
    }
    Ok(())
}

/// Builds one provider from anywhere, and puts it into this folder, else into the example providers', from which the demo serves.
pub fn build_one(repo: &Repo, choice: Choice, folder: &Path, to: Option<&Path>) -> Result<()> {
    let toolchain = toolchain::prepare(repo, choice)?;
    let folder = folder.canonicalize().with_context(|| format!("there is no folder {}", folder.display()))?;
    let target = repo.target()?.join("guests").join(&toolchain.name);
    build_into(repo, &toolchain, &folder, to.unwrap_or(&repo.root.join("plugins")), None, &target)
}

/// Each component is called after its package, or as is said.
fn build_into(repo: &Repo, toolchain: &Toolchain, workspace: &Path, into: &Path, name: Option<&str>, target: &Path) -> Result<()> {
    let manifest = workspace.join("Cargo.toml");
    let mut cargo = repo.cargo();
    cargo.args(["build", "--release", "--target", TARGET, "--manifest-path"]).arg(&manifest).arg("--target-dir").arg(target);
    toolchain.apply(&mut cargo);
    run::run(&mut cargo, BUILD_LIMIT).with_context(|| format!("could not build the guests in {}", workspace.display()))?;

    let built = target.join(TARGET).join("release");
    for (package, file) in components(&repo.metadata(&manifest)?) {
        let to = into.join(format!("{}.wasm", name.unwrap_or(&package)));
        if put(&built.join(file), &to)? {
            eprintln!("  {}", to.strip_prefix(&repo.root).unwrap_or(&to).display());
        }
    }
    Ok(())
}

/// Name of each package that is a component, and of the file cargo makes of it: that one has underscores for dashes.
fn components(metadata: &Value) -> Vec<(String, PathBuf)> {
    let texts =
        |value: &Value| -> Vec<String> { value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect() };
    let mut found = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        for target in package["targets"].as_array().into_iter().flatten() {
            if let (Some(package), Some(target), true) =
                (package["name"].as_str(), target["name"].as_str(), texts(&target["crate_types"]).contains(&"cdylib".to_owned()))
            {
                found.push((package.to_owned(), format!("{}.wasm", target.replace('-', "_")).into()));
            }
        }
    }
    found
}

/// Copies a file unless the same content is there already: a host that watches the folder would load it again for nothing.
pub fn put(from: &Path, to: &Path) -> Result<bool> {
    let new = fs::read(from).with_context(|| format!("there is no {}", from.display()))?;
    if fs::read(to).is_ok_and(|old| old == new) {
        return Ok(false);
    }
    // By a rename, so that such a host never sees half of it.
    let partial = to.with_extension("wasm.partial");
    fs::write(&partial, new).with_context(|| format!("cannot write {}", partial.display()))?;
    fs::rename(&partial, to).with_context(|| format!("cannot write {}", to.display()))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_is_named_after_its_package() {
        let metadata = serde_json::json!({ "packages": [
            { "name": "review-status", "targets": [{ "name": "review_status", "crate_types": ["cdylib"] }] },
            { "name": "shared-code", "targets": [{ "name": "shared_code", "crate_types": ["lib"] }] },
        ] });
        assert_eq!(components(&metadata), [("review-status".to_owned(), PathBuf::from("review_status.wasm"))]);
    }

    #[test]
    fn the_same_content_is_not_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("a"), folder.path().join("b.wasm"));
        fs::write(&from, "1").unwrap();
        assert!(put(&from, &to).unwrap());
        assert!(!put(&from, &to).unwrap());
        fs::write(&from, "2").unwrap();
        assert!(put(&from, &to).unwrap());
        assert_eq!(fs::read(&to).unwrap(), b"2");
    }
}
