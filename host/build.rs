//! Puts files into the program: `templates/`, for `wharf new`, where a folder is a language, and adding one is adding a folder; and the
//! Go module that bindings for Go import, for `wharf bindings`: the crate that generates them has it among its sources.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::Command,
};

/// What builds and tools leave in a template that was tried where it stands.
const LEFTOVERS: [&str; 11] =
    [".venv", ".zig-cache", "__pycache__", "build", "gen", "node_modules", "target", "venv", "zig-cache", "zig-out", ".DS_Store"];
/// Says of a template what it is. Alone in a folder, it is about a template that is not there yet.
const ABOUT: &str = "template.toml";
/// Generates bindings for Go, and has in this folder the module that they import.
const GENERATOR: &str = "wit-bindgen-go";
const GO_MODULE: &str = "src/pkg";
/// Of that module, what a build needs; the rest is its project's own.
const GO_PARTS: [&str; 3] = ["LICENSE", "go.mod", "wit"];
/// A link that leads back above itself would go on for ever.
const DEPTH: usize = 8;

fn main() -> io::Result<()> {
    ["build.rs", "templates"].iter().for_each(|path| println!("cargo::rerun-if-changed={path}"));
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let mut list = String::from("&[\n");
    for language in entries(&root.join("templates"))?.into_iter().filter(|path| path.is_dir()) {
        let files = files(&language, &language, DEPTH)?;
        if files.iter().any(|(path, _)| path != ABOUT) {
            list += &format!("({:?}, {}),\n", name(&language), listed(&files));
        }
    }
    list += "]\n";
    fs::write(out.join("templates.rs"), list)?;
    // What only the commands need.
    if env::var_os("CARGO_FEATURE_CLI").is_none() {
        return Ok(());
    }
    let go = source_of(GENERATOR, &root)?.join(GO_MODULE);
    let mut module = files(&go, &go, DEPTH)?;
    module.retain(|(path, _)| GO_PARTS.iter().any(|part| path.split('/').next() == Some(part)));
    fs::write(out.join("go_module.rs"), listed(&module))
}

/// Where cargo has the sources of a crate that this one depends on. Where cargo unpacks what it takes from a registry is looked at first:
/// `cargo metadata`, which knows of vendored sources too, wants more than a build has to have downloaded.
fn source_of(name: &str, root: &Path) -> io::Result<PathBuf> {
    match unpacked(name, root) {
        Some(folder) => Ok(folder),
        None => named_by_metadata(name, root),
    }
}

/// Of the version in the lock file, which is here or in the workspace above.
fn unpacked(name: &str, root: &Path) -> Option<PathBuf> {
    let lock = root.ancestors().find_map(|folder| fs::read_to_string(folder.join("Cargo.lock")).ok())?;
    let (_, rest) = lock.split_once(&format!("name = \"{name}\"\nversion = \""))?;
    let package = format!("{name}-{}", rest.split('"').next()?);
    let home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| env::home_dir().map(|home| home.join(".cargo")))?;
    let registries = entries(&home.join("registry/src")).ok()?;
    registries.into_iter().map(|registry| registry.join(&package)).find(|folder| folder.join(GO_MODULE).is_dir())
}

fn named_by_metadata(name: &str, root: &Path) -> io::Result<PathBuf> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["metadata", "--format-version", "1", "--offline", "--manifest-path"]).arg(root.join("Cargo.toml"));
    let said = cargo.output()?;
    let metadata = String::from_utf8_lossy(&said.stdout);
    // JSON in one line. A path of a package ends with its folder's name and the manifest's.
    let manifests = metadata.split("\"manifest_path\":\"").skip(1).filter_map(|rest| rest.split('"').next());
    let mut folders = manifests.map(|path| PathBuf::from(path.replace("\\\\", "\\"))).filter_map(|path| path.parent().map(Path::to_owned));
    let folder = folders.find(|folder| self::name(folder).strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-')));
    folder.ok_or_else(|| refused(&format!("cargo metadata names no {name}: {}", String::from_utf8_lossy(&said.stderr).trim())))
}

/// Rust for them: each as its path, and the macro that puts its content there.
fn listed(files: &[(String, PathBuf)]) -> String {
    let entries = files.iter().map(|(path, file)| format!("({path:?}, include_str!({file:?})),\n"));
    format!("&[\n{}]", entries.collect::<String>())
}

/// All files below, each as its path, with `/`, and where it is. Links are followed: a template has the SDK by them.
fn files(root: &Path, folder: &Path, depth: usize) -> io::Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for path in entries(folder)?.into_iter().filter(|path| !is_leftover(path)) {
        let shown = path.display();
        if path.is_dir() {
            if depth == 0 {
                return Err(refused(&format!("{shown} is too deep: does a link there lead back?")));
            }
            found.extend(files(root, &path, depth - 1)?);
            continue;
        }
        let file = path.canonicalize().map_err(|error| refused(&format!("cannot follow {shown}: {error}")))?;
        // A change of what a link leads to is one of the template.
        println!("cargo::rerun-if-changed={}", file.display());
        if fs::read_to_string(&file).is_err() {
            return Err(refused(&format!("{shown} is not text in UTF-8, and a template has nothing else")));
        }
        let relative: Vec<String> = path.strip_prefix(root).unwrap_or(&path).iter().map(|part| part.to_string_lossy().into()).collect();
        found.push((relative.join("/"), file));
    }
    Ok(found)
}

fn is_leftover(path: &Path) -> bool {
    LEFTOVERS.contains(&&*name(path)) || path.extension().is_some_and(|extension| extension == "wasm" || extension == "pyc")
}

/// Cargo shows it as the error that it is.
fn refused(reason: &str) -> io::Error {
    println!("cargo::error={reason}");
    io::Error::other(reason.to_owned())
}

/// By name, so that the same folder makes the same program.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    Ok(entries)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into()
}
