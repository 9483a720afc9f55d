//! The crates that are in the binary: those that it is linked with, at the features that it is built with. Not those that only build or test.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    path::PathBuf,
    time::Duration,
};

use anyhow::{Context, Result};
use serde_json::Value;

use super::contents::NAME;
use crate::{repo::Repo, run};

/// A first time it downloads what other commands had no use for.
const ASK_LIMIT: Duration = Duration::from_secs(300);

/// Name and version: cargo links no two crates that have both in common.
pub type Key = (String, String);

/// One of them.
pub struct Crate {
    /// As SPDX has it.
    pub licence: Option<String>,
    pub repository: Option<String>,
    /// Its sources.
    pub folder: PathBuf,
    /// SHA-256 of what a registry gave, in hexadecimal; none for the project's own.
    pub checksum: Option<String>,
    /// Those of the others that it uses.
    pub uses: BTreeSet<Key>,
}

/// All of them, with the project's own, sorted.
pub struct Crates(pub BTreeMap<Key, Crate>);

impl Crates {
    /// For a target, at default features.
    pub fn linked(repo: &Repo, target: &str) -> Result<Self> {
        let mut tree = repo.cargo();
        tree.args(["tree", "--locked", "--package", NAME, "--edges", "normal", "--target", target]);
        let tree = run::output(tree.args(["--prefix", "none", "--no-dedupe", "--format", "{p}"]), ASK_LIMIT)?;
        let mut metadata = repo.cargo();
        metadata.args(["metadata", "--locked", "--format-version", "1", "--filter-platform", target]);
        let metadata: Value = serde_json::from_str(&run::output(&mut metadata, ASK_LIMIT)?)?;
        let lock = fs::read_to_string(repo.root.join("Cargo.lock"))?;
        Self::read(&tree, &metadata, &lock)
    }

    fn read(tree: &str, metadata: &Value, lock: &str) -> Result<Self> {
        let linked: BTreeSet<Key> = tree.lines().filter_map(key_of_line).collect();
        let checksums = checksums(lock);
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let keys: HashMap<String, Key> = list(&metadata["packages"])
            .iter()
            .filter_map(|package| {
                let text = |key: &str| package[key].as_str().map(str::to_owned);
                Some((text("id")?, (text("name")?, text("version")?)))
            })
            .collect();
        let mut uses: HashMap<&Key, BTreeSet<Key>> = HashMap::new();
        let nodes = list(&metadata["resolve"]["nodes"]);
        for node in &nodes {
            let Some(key) = node["id"].as_str().and_then(|id| keys.get(id)) else { continue };
            // Of a kind without a name are the normal ones.
            let normal = list(&node["deps"]).into_iter().filter(|dep| list(&dep["dep_kinds"]).iter().any(|kind| kind["kind"].is_null()));
            let used = normal.filter_map(|dep| keys.get(dep["pkg"].as_str()?)).filter(|key| linked.contains(key)).cloned();
            uses.insert(key, used.collect());
        }
        let mut crates = BTreeMap::new();
        for package in list(&metadata["packages"]) {
            let Some(key) = package["id"].as_str().and_then(|id| keys.get(id)).filter(|key| linked.contains(key)) else { continue };
            let manifest = package["manifest_path"].as_str().context("a package without a manifest")?;
            let folder = PathBuf::from(manifest).parent().context("a manifest without a folder")?.to_owned();
            let one = Crate {
                // Before SPDX expressions, a slash meant "or".
                licence: package["license"].as_str().map(|licence| licence.replace(" / ", " OR ").replace('/', " OR ")),
                repository: package["repository"].as_str().map(str::to_owned),
                folder,
                checksum: checksums.get(key).cloned(),
                uses: uses.remove(key).unwrap_or_default(),
            };
            crates.insert(key.clone(), one);
        }
        let missing: Vec<&Key> = linked.iter().filter(|key| !crates.contains_key(key)).collect();
        anyhow::ensure!(missing.is_empty(), "`cargo metadata` says nothing of {missing:?}");
        Ok(Self(crates))
    }

    /// The version of the one of this name.
    pub fn version(&self, name: &str) -> Result<String> {
        let key = self.0.keys().find(|(known, _)| known == name);
        Ok(key.with_context(|| format!("there is no crate {name}"))?.1.clone())
    }
}

/// Such as `serde v1.0.0`, with a folder or "(proc-macro)" behind it.
fn key_of_line(line: &str) -> Option<Key> {
    // A procedural macro is run by the compiler.
    if line.ends_with("(proc-macro)") {
        return None;
    }
    let mut words = line.split(' ');
    let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
    Some((name.into(), version.into()))
}

fn checksums(lock: &str) -> HashMap<Key, String> {
    let value = |block: &str, key: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"'));
        line.map(str::to_owned)
    };
    let blocks = lock.split("[[package]]").skip(1);
    blocks.filter_map(|block| Some(((value(block, "name")?, value(block, "version")?), value(block, "checksum")?))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_is_linked_counts_with_what_it_uses() {
        let package = |id: &str, name: &str, licence: &str| json!({ "id": id, "name": name, "version": "1.0.0", "license": licence, "manifest_path": format!("/c/{name}/Cargo.toml") });
        let metadata = json!({
            "packages": [package("1", "wharf", "Apache-2.0"), package("2", "a", "MIT/Apache-2.0"), package("3", "macro", "MIT"), package("4", "cc", "MIT")],
            "resolve": { "nodes": [
                { "id": "1", "deps": [
                    { "pkg": "2", "dep_kinds": [{ "kind": null }] },
                    { "pkg": "3", "dep_kinds": [{ "kind": null }] },
                    { "pkg": "4", "dep_kinds": [{ "kind": "build" }] },
                ] },
                { "id": "2", "deps": [] },
            ] },
        });
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"registry\"\nchecksum = \"abc\"\n";
        let Crates(crates) = Crates::read("wharf v1.0.0 (/w)\na v1.0.0\nmacro v1.0.0 (proc-macro)\na v1.0.0\n", &metadata, lock).unwrap();
        let key = |name: &str| (name.to_owned(), "1.0.0".to_owned());
        assert_eq!(crates.keys().cloned().collect::<Vec<_>>(), [key("a"), key("wharf")]);
        assert_eq!(crates[&key("wharf")].uses, BTreeSet::from([key("a")]));
        assert_eq!(crates[&key("a")].licence.as_deref(), Some("MIT OR Apache-2.0"));
        assert_eq!(crates[&key("a")].checksum.as_deref(), Some("abc"));
        assert!(crates[&key("wharf")].checksum.is_none());
    }

    #[test]
    fn a_crate_of_which_nothing_is_known_is_no_small_matter() {
        let error = Crates::read("b v2.0.0\n", &json!({}), "").err().unwrap().to_string();
        assert!(error.contains("(\"b\", \"2.0.0\")"), "{error}");
    }
}
