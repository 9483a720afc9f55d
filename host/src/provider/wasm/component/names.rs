//! What a component imports and exports, by name: whether it is a provider at all, and of which version of the contract.
//!
//! Within 0.x a contract only gains interfaces, and functions in imported ones. So what counts is not the version that a component was
//! built against, but whether it uses what this host does not have. What else it exports is its own business (language runtimes have
//! exports of theirs): it is never called.

use wasmtime::{Engine, component::Component};

use super::LoadError;
use crate::provider::wasm::imports;

/// The contract's package, and its version in this host.
pub(super) const PACKAGE: &str = "wharf:provider/";
pub(super) const VERSION: &str = "0.1.0";
/// What all versions begin with that this host can serve.
const SERVED: &str = "0.1.";

/// What components of other worlds export, and what they are then. The version is left out: there are several.
const OTHER_WORLDS: [(&str, &str); 4] = [
    ("wasi:cli/run@", "as a program for the command line does (world wasi:cli/command)"),
    ("wasi:http/incoming-handler@", "as a web server does (world wasi:http/proxy)"),
    ("wasi:http/handler@", "as a web server does (world wasi:http/service)"),
    ("wasi:messaging/", "as a consumer of messages does"),
];
/// More of what it exports is not told.
const MAX_TOLD: usize = 10;

/// The names, with versions, as the component's type has them.
pub(super) struct Names {
    pub imports: Vec<String>,
    pub exports: Vec<String>,
}

impl Names {
    pub fn of(component: &Component, engine: &Engine) -> Self {
        let ty = component.component_type();
        Self {
            imports: ty.imports(engine).map(|(name, _)| name.to_owned()).collect(),
            exports: ty.exports(engine).map(|(name, _)| name.to_owned()).collect(),
        }
    }

    /// Whether it exports this interface of the contract, in a version that is served.
    pub fn exports(&self, interface: &str) -> bool {
        has(&self.exports, interface)
    }

    /// Whether it imports it, likewise.
    pub fn imports(&self, interface: &str) -> bool {
        has(&self.imports, interface)
    }

    pub fn check_exports(&self) -> Result<(), LoadError> {
        if self.exports("resources") {
            return Ok(());
        }
        if let Some(other) = self.exports.iter().find(|name| contract(name).is_some_and(|(found, _)| found == "resources")) {
            return Err(refused([other]));
        }
        let of_world = |(prefix, seems): &(&str, &str)| {
            let export = self.exports.iter().find(|name| name.starts_with(prefix))?;
            Some(format!("; it exports {export}, {seems}"))
        };
        Err(LoadError::NoResources(OTHER_WORLDS.iter().find_map(of_world).unwrap_or_else(|| match self.exports.len() {
            0 => "; it exports nothing".into(),
            1..=MAX_TOLD => format!("; it exports only {}", self.exports.join(", ")),
            more => format!("; it exports {more} other things, {} and so on", self.exports[..MAX_TOLD].join(", ")),
        })))
    }

    pub fn check_imports(&self) -> Result<(), LoadError> {
        let is_missing = |name: &&String| {
            contract(name).is_some_and(|(interface, version)| !imports::SERVED.contains(&interface) || !version.starts_with(SERVED))
        };
        let missing: Vec<&String> = self.imports.iter().filter(is_missing).collect();
        if missing.is_empty() { Ok(()) } else { Err(refused(missing)) }
    }

    /// Why a component is refused whose imports could not be linked: for a function that a later version of the contract has, or else.
    pub fn refused_import(&self, error: &wasmtime::Error) -> LoadError {
        let said = format!("{error:#}");
        let is_newer = |name: &&String| contract(name).is_some_and(|(_, version)| numbers(version) > numbers(VERSION));
        let named = self.imports.iter().filter(is_newer).find(|name| said.contains(&***name));
        named.map_or_else(|| LoadError::Import(said.clone()), |name| LoadError::NeedsNewer(format!("{name} ({said})")))
    }
}

/// Why these, of the contract's package, are not served.
fn refused<'a>(names: impl IntoIterator<Item = &'a String>) -> LoadError {
    let (mut newer, mut older, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for name in names {
        let version = contract(name).map(|(_, version)| version).unwrap_or_default();
        if numbers(version) > numbers(VERSION) {
            newer.push(&**name);
        } else if version.starts_with(SERVED) {
            unknown.push(&**name);
        } else {
            older.push(&**name);
        }
    }
    match (&*newer, &*older) {
        ([_, ..], _) => LoadError::NeedsNewer(newer.join(", ")),
        ([], [_, ..]) => LoadError::TooOld(older.join(", ")),
        ([], []) => LoadError::NotInContract(unknown.join(", ")),
    }
}

/// Whether this interface of the contract is among these names, in a version that this host serves.
fn has(names: &[String], interface: &str) -> bool {
    names.iter().any(|name| contract(name).is_some_and(|(found, version)| found == interface && version.starts_with(SERVED)))
}

/// Interface and version, of a name in the contract's package.
fn contract(name: &str) -> Option<(&str, &str)> {
    let name = name.strip_prefix(PACKAGE)?;
    Some(name.split_once('@').unwrap_or((name, "")))
}

/// A version as numbers, without what may follow them; one that cannot be read is before all others.
fn numbers(version: &str) -> Vec<u64> {
    let plain = version.split(['-', '+']).next().unwrap_or_default();
    plain.split('.').map(str::parse).collect::<Result<_, _>>().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(imports: &[&str], exports: &[&str]) -> Names {
        Names { imports: imports.iter().map(ToString::to_string).collect(), exports: exports.iter().map(ToString::to_string).collect() }
    }

    #[test]
    fn the_version_is_that_of_the_contract_in_this_host() {
        let wit = include_str!("../../../../wit/deps/provider/provider.wit");
        assert!(wit.contains(&format!("\npackage wharf:provider@{VERSION};\n")));
    }

    #[test]
    fn a_patch_version_of_the_contract_is_served_with_whatever_else_is_exported() {
        let fits = names(
            &["wharf:provider/timers@0.1.7", "wasi:io/poll@0.2.9"],
            &["wharf:provider/resources@0.1.3", "exports", "init", "wharf:provider/new-handler@0.1.3"],
        );
        assert_eq!(fits.check_exports().and_then(|()| fits.check_imports()), Ok(()));
    }

    #[test]
    fn another_version_is_refused_with_both_versions_and_what_to_do() {
        for (found, advice) in [("0.2.0", "take a newer Wharf"), ("1.0.0-rc.1", "take a newer Wharf"), ("0.0.9", "build it anew")] {
            let resources = format!("wharf:provider/resources@{found}");
            let said = names(&[], &[&resources]).check_exports().unwrap_err().to_string();
            assert!([&*resources, "wharf:provider@0.1.0", advice, "`wharf wit`"].iter().all(|part| said.contains(part)), "{said}");
        }
        let said = names(&[], &["wharf:provider/resources"]).check_exports().unwrap_err();
        assert_eq!(said, LoadError::TooOld("wharf:provider/resources".into()));
    }

    #[test]
    fn what_a_later_version_has_is_told_from_what_none_has() {
        let refusal = |imports: &[&str]| names(imports, &[]).check_imports().unwrap_err();
        let newer = LoadError::NeedsNewer("wharf:provider/future@0.1.4, wharf:provider/timers@0.2.0".into());
        assert_eq!(refusal(&["wharf:provider/future@0.1.4", "wharf:provider/typo@0.1.0", "wharf:provider/timers@0.2.0"]), newer);
        assert_eq!(refusal(&["wharf:provider/typo@0.1.0"]), LoadError::NotInContract("wharf:provider/typo@0.1.0".into()));
        let said = refusal(&["wharf:provider/future@0.1.4"]).to_string();
        assert!(said.contains("wharf:provider@0.1.0") && said.contains("newer Wharf"), "{said}");
    }

    #[test]
    fn a_component_of_another_world_is_told_what_it_seems_to_be() {
        let said = |exports: &[&str]| names(&[], exports).check_exports().unwrap_err().to_string();
        for (export, world) in [("wasi:cli/run@0.2.6", "wasi:cli/command"), ("wasi:http/incoming-handler@0.2.6", "wasi:http/proxy")] {
            let said = said(&[export]);
            assert!([export, world, "wharf:provider/resources@0.1.0"].iter().all(|part| said.contains(part)), "{said}");
        }
        assert!(said(&[]).contains("exports nothing"));
        assert!(said(&["acme:a/b"]).contains("only acme:a/b"));
        assert!(said(&["a"; MAX_TOLD + 1]).contains("11 other things"));
    }
}
