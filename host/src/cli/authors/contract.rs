//! The WIT that a component is made for: a folder of the author's, or the contract in this program; and the world in it.

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use wit_bindgen_core::wit_parser::{PackageId, Resolve, WorldId, WorldItem};

use crate::cli::wit;

/// Where a project keeps its WIT.
const FOLDER: &str = "wit";
/// The contract's package, and its worlds: that of providers which live from reload to reload, and that of the others.
const PACKAGE: &str = "wharf:provider";
const LIVE: &str = "live-provider";
const PLAIN: &str = "provider";

/// A WIT package and all that it refers to.
pub(super) struct Contract {
    pub resolve: Resolve,
    root: PackageId,
    /// What it was read from, for messages.
    from: String,
}

/// Reads the folder (or file); without one `./wit`, if it is there, else the contract in this program.
pub(super) fn load(folder: Option<&Path>) -> Result<Contract> {
    match folder {
        Some(folder) => read(folder),
        None if Path::new(FOLDER).is_dir() => read(Path::new(FOLDER)),
        None => built_in(),
    }
}

fn read(path: &Path) -> Result<Contract> {
    if !path.exists() {
        bail!("there is no {}: --wit names the folder with the world's .wit file", path.display());
    }
    let mut resolve = Resolve::default();
    match resolve.push_path(path) {
        Ok((root, _)) => Ok(Contract { resolve, root, from: path.display().to_string() }),
        Err(error) => {
            let rendered = resolve.render_error(&error);
            // It says twice where it was, which is said below.
            let outer = [
                format!("failed to resolve directory while parsing WIT for path [{}]: ", path.display()),
                format!("failed to parse package: {}: ", path.display()),
            ];
            let mut said = outer.iter().fold(&*rendered, |said, outer| said.strip_prefix(&**outer).unwrap_or(said)).to_owned();
            if said.contains(PACKAGE) && said.contains("not found") {
                said += &format!("\nThe contract is not among its packages. This writes it there: wharf wit -o {}", deps(path).display());
            }
            bail!("cannot use the WIT in {}: {}", path.display(), said.trim_end());
        }
    }
}

fn deps(path: &Path) -> std::path::PathBuf {
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
    folder.join("deps/provider")
}

fn built_in() -> Result<Contract> {
    let mut resolve = Resolve::default();
    let [(name, content)] = wit::FILES;
    let root = resolve.push_source(name, content)?;
    Ok(Contract { resolve, root, from: format!("the contract {PACKAGE} in this program") })
}

impl Contract {
    /// The world of this name; without a name the only one. Of the contract's own two, that one which a provider is for that lives or
    /// does not, where it is known.
    pub fn world(&self, name: Option<&str>, lives: Option<bool>) -> Result<WorldId> {
        let worlds = &self.resolve.packages[self.root].worlds;
        let names: Vec<&str> = worlds.keys().map(String::as_str).collect();
        let known = names.join(", ");
        if let Some(name) = name {
            let found = self.resolve.select_world(&[self.root], Some(name));
            return found.map_err(|_| {
                anyhow!("there is no world {name} in {}, only {}", self.from, if known.is_empty() { "none" } else { &known })
            });
        }
        match (&*names, lives) {
            ([_], _) => worlds.values().next().copied().ok_or_else(|| anyhow!("no world")),
            ([], _) => bail!(
                "there is no world in {}: write one into a .wit file there, such as\n\npackage local:hello;\nworld hello {{ include {PACKAGE}/{LIVE}@0.1.0; }}\n",
                self.from
            ),
            (_, Some(lives)) if names.contains(&LIVE) && names.contains(&PLAIN) => self.world(Some(if lives { LIVE } else { PLAIN }), None),
            _ => bail!("there are several worlds in {}: choose one with --world, of {known}", self.from),
        }
    }
}

/// How the world is called in full: `local:hello/hello`.
pub(super) fn name_of(resolve: &Resolve, world: WorldId) -> String {
    let found = &resolve.worlds[world];
    found.package.map_or_else(|| found.name.clone(), |package| resolve.id_of_name(package, &found.name))
}

/// The interfaces and functions among these items, as the world names them, each with the names of its functions. Types have none.
pub(super) fn functions<'a>(
    resolve: &'a Resolve,
    items: impl IntoIterator<Item = (&'a wit_bindgen_core::wit_parser::WorldKey, &'a WorldItem)>,
) -> Vec<(Option<String>, Vec<&'a str>)> {
    let of = |(key, item): (_, &'a WorldItem)| match item {
        WorldItem::Interface { id, .. } => {
            Some((Some(resolve.name_world_key(key)), resolve.interfaces[*id].functions.keys().map(String::as_str).collect()))
        }
        WorldItem::Function(function) => Some((None, vec![&*function.name])),
        WorldItem::Type { .. } => None,
    };
    items.into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        folder
    }

    fn name(contract: &Contract, name: Option<&str>, lives: Option<bool>) -> String {
        contract.world(name, lives).map_or_else(|error| error.to_string(), |world| name_of(&contract.resolve, world))
    }

    #[test]
    fn the_contract_in_the_program_has_two_worlds_and_what_is_exported_tells_which() {
        let contract = built_in().unwrap();
        assert_eq!(name(&contract, None, Some(true)), "wharf:provider/live-provider@0.1.0");
        assert_eq!(name(&contract, None, Some(false)), "wharf:provider/provider@0.1.0");
        assert_eq!(name(&contract, Some("provider"), Some(true)), "wharf:provider/provider@0.1.0");
        let unsaid = name(&contract, None, None);
        assert!(unsaid.contains("--world") && unsaid.contains("live-provider"), "{unsaid}");
        assert!(name(&contract, Some("prowider"), None).contains("provider, live-provider"));
    }

    #[test]
    fn the_only_world_of_a_project_is_the_one_that_is_meant() {
        let world = "package local:hello;\nworld hello { include wharf:provider/live-provider@0.1.0; }\n";
        let project = folder(&[("world.wit", world), ("deps/provider/provider.wit", wit::FILES[0].1)]);
        let contract = load(Some(project.path())).unwrap();
        assert_eq!(name(&contract, None, Some(false)), "local:hello/hello");
        assert_eq!(name(&contract, Some("wharf:provider/provider"), None), "wharf:provider/provider@0.1.0");
        let none = folder(&[("world.wit", "package local:hello;\ninterface a {}\n")]);
        assert!(name(&load(Some(none.path())).unwrap(), None, None).contains("include wharf:provider"));
        let two = folder(&[("world.wit", "package local:hello;\nworld a {}\nworld b {}\n")]);
        assert!(name(&load(Some(two.path())).unwrap(), None, Some(true)).ends_with("of a, b"));
    }

    #[test]
    fn what_is_wrong_in_the_wit_is_said_with_file_and_line() {
        let error = |files: &[(&str, &str)]| load(Some(folder(files).path())).err().unwrap().to_string();
        let broken = error(&[("world.wit", "package local:hello;\n\nworld hello { export it }\n")]);
        assert!(broken.contains("world.wit:3"), "{broken}");
        let alone = error(&[("world.wit", "package local:hello;\nworld hello { include wharf:provider/provider@0.1.0; }\n")]);
        assert!(alone.contains("world.wit:2") && alone.contains("wharf wit -o") && alone.contains("deps/provider"), "{alone}");
        assert!(load(Some(Path::new("/nowhere"))).err().unwrap().to_string().contains("--wit"));
        assert!(error(&[]).contains("cannot use the WIT"));
    }
}
