//! Whether a core module fits a world, and if not, what its author is to do: in better words than an encoder has, which stops at the first
//! thing that it does not find.

use std::{collections::BTreeMap, fmt::Write};

use anyhow::{Context, Error, Result, bail};
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME as PREVIEW_1, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER as ADAPTER,
};
use wit_bindgen_core::wit_parser::{Resolve, WorldId};

use super::{
    contract::{functions, name_of},
    core_module::CoreModule,
};
use crate::cli::output::inert;

/// The version before preview 1, which no adapter is for.
const PREVIEW_0: &str = "wasi_unstable";
/// Where linkers leave what they do not find.
const UNDEFINED: &str = "env";
/// Names that have other rules: of the world itself, of functions that go with exports, of the newer naming scheme. They are the encoder's.
const OTHERS: [&str; 4] = ["$root", "[export]", "cm32p2", "__main_module__"];
/// How exports of async functions begin, before the name.
const ASYNC: [&str; 2] = ["[async-lift]", "[async-lift-stackful]"];
/// What the encoder says of where it was when it found something, which says nothing to an author.
const NOISE: [&str; 2] = ["failed to decode world from module", "module was not valid"];

/// How an export is made in a language: what the names of the language begin with, and what to do.
const EXPORTING: [(&[&str], &str); 3] = [
    (
        &["C", "Zig"],
        "In C, C++ and Zig: define the `exports_…` functions that the generated header declares, and link the generated .c and _component_type.o files.",
    ),
    (
        &["Go"],
        "In Go: write these functions in the package `export_…` beside its generated bindings, and build with `-buildmode=c-shared`.",
    ),
    (&["AssemblyScript"], "In AssemblyScript: export each function, and rename the export to `interface#function`."),
];

/// Looks for all that is missing on either side.
pub(super) fn check(module: &CoreModule, resolve: &Resolve, world: WorldId) -> Result<()> {
    let world_name = name_of(resolve, world);
    check_exports(module, resolve, world, &world_name)?;
    check_imports(module, resolve, world, &world_name)
}

fn check_exports(module: &CoreModule, resolve: &Resolve, world: WorldId, world_name: &str) -> Result<()> {
    let plain = |export: &str| ASYNC.iter().find_map(|prefix| export.strip_prefix(prefix)).unwrap_or(export).to_owned();
    let exports: Vec<String> = module.exports.iter().copied().map(plain).collect();
    if exports.iter().any(|export| export.starts_with("cm32p2")) {
        return Ok(());
    }
    let mut missing = String::new();
    for (interface, names) in functions(resolve, &resolve.worlds[world].exports) {
        let export = |name: &str| interface.as_ref().map_or_else(|| name.to_owned(), |interface| format!("{interface}#{name}"));
        let names: Vec<&str> = names.into_iter().filter(|name| !exports.contains(&export(name))).collect();
        if let (Some(first), of) = (names.first(), interface.as_deref().unwrap_or("the world itself")) {
            // Writing to a String does not fail.
            let _ = write!(missing, "\n  {of}: {} (as `{}`)", names.join(", "), export(first));
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    bail!("it does not export all that the world {world_name} has:{missing}\n{}", how_to_export(&module.languages));
}

/// For the languages it was written in; for all, where it does not tell.
fn how_to_export(languages: &[String]) -> String {
    let written_in = |names: &[&str]| languages.iter().any(|language| names.iter().any(|name| language.starts_with(name)));
    let known: Vec<&str> = EXPORTING.iter().filter(|(names, _)| written_in(names)).map(|(_, how)| *how).collect();
    let all = || EXPORTING.iter().map(|(_, how)| *how).collect();
    let how: Vec<&str> = if known.is_empty() { all() } else { known };
    format!("{}\nOr take out of the world what the provider does not have.", how.join("\n"))
}

fn check_imports(module: &CoreModule, resolve: &Resolve, world: WorldId, world_name: &str) -> Result<()> {
    let known: Vec<String> = functions(resolve, &resolve.worlds[world].imports).into_iter().filter_map(|(name, _)| name).collect();
    let of_world = |module: &str| known.iter().any(|name| unversioned(name) == unversioned(module));
    let mut unknown: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (from, name) in &module.imports {
        let is_known = match *from {
            PREVIEW_1 => adapted()?.contains(name),
            UNDEFINED => name.starts_with("__wasm_"),
            other => OTHERS.iter().any(|prefix| other.starts_with(prefix)) || of_world(other),
        };
        if !is_known {
            unknown.entry(from).or_default().push(name);
        }
    }
    if unknown.is_empty() {
        return Ok(());
    }
    let mut said = format!("it imports what is neither of WASI preview 1 nor of the world {world_name}:");
    for (from, names) in unknown {
        let what = match from {
            PREVIEW_1 => "preview 1 has no such function".into(),
            PREVIEW_0 => "that is WASI preview 0: use a newer compiler or C library".into(),
            UNDEFINED => {
                "nothing that was linked defines it; if the language's runtime wants it (`abort` in AssemblyScript), give it one".into()
            }
            other => format!("if the provider needs it, add `import {other};` to the world"),
        };
        let _ = write!(said, "\n  {}: {} ({what})", inert(from), inert(&names.join(", ")), what = inert(&what));
    }
    bail!(said)
}

fn unversioned(name: &str) -> &str {
    name.split('@').next().unwrap_or(name)
}

/// The functions of preview 1.
fn adapted() -> Result<Vec<&'static str>> {
    Ok(CoreModule::parse(ADAPTER).context("the adapter for WASI preview 1 in this program is broken")?.exports)
}

/// What the encoder says, and what to do.
pub(super) fn explained(error: &Error, world_name: &str) -> Error {
    let chain: Vec<String> = error.chain().map(ToString::to_string).filter(|part| !NOISE.contains(&&**part)).collect();
    let mut said = format!("it does not fit the world {world_name}: {}", inert(&chain.join(": ")));
    if said.contains("type mismatch for function") {
        said += "\nIts bindings are of another WIT, or written by hand and wrong: make them anew with `wharf bindings`, and build again";
    }
    Error::msg(said)
}
