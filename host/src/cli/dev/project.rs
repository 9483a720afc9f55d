//! What a provider's folder is: how it is built, where the component then is, what it is called.
//!
//! `provider.toml` in it says so, if it is there:
//!
//! ```toml
//! [dev]
//! build = "make component"     # run by the shell, in this folder
//! output = "out/hello.wasm"    # where the component is then
//! ```
//!
//! Else what is there tells: see [`WAYS`].

use std::{
    env,
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
    process::Command,
    time::SystemTime,
};

use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;
use wharf::config;

use super::npm;

/// The file that says how to build, where what is there does not.
pub(super) const FILE: &str = "provider.toml";
/// What a component begins with: the magic number, then version 13 and layer 1 (Component Model, Binary.md). A core module has another.
const COMPONENT: [u8; 8] = *b"\0asm\x0d\0\x01\0";
/// Folders deeper than this hold no build output.
const DEPTH: usize = 8;
/// How a folder without a usable name is called.
const NAMELESS: &str = "provider";

/// What is there, and what builds it. Languages with no one way have a Makefile beside their manifest, which knows it.
const WAYS: [(&str, Way); 4] =
    [("Cargo.toml", Way::Cargo), ("package.json", Way::Npm), ("build.zig", Way::Shell("zig build")), ("Makefile", Way::Shell("make"))];
/// The folder that has a project's component where it has one, whatever else is left elsewhere.
const BUILD: &str = "build";
/// Where a build finds this program, for the commands that make bindings and components.
const PROGRAM: &str = "WHARF";
/// The file with the project's world, and how its package is called before the name.
const WORLD: &str = "wit/world.wit";
const PACKAGE: &str = "package local:";

/// How it is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Cargo,
    Npm,
    Shell(&'static str),
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(default)]
    dev: Dev,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Dev {
    build: Option<String>,
    output: Option<PathBuf>,
}

/// A provider's folder.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Project {
    pub folder: PathBuf,
    /// What the provider is called: its package's name, else its world's, else its folder's.
    pub name: String,
    /// Run by the shell; nothing for Cargo, which says by itself what it has made.
    build: Option<String>,
    output: Option<PathBuf>,
    /// Which file says so.
    pub because_of: &'static str,
}

impl Project {
    /// Finds out.
    pub fn find(folder: &Path) -> Result<Self> {
        let folder = folder.canonicalize().with_context(|| format!("there is no folder {}", folder.display()))?;
        if !folder.is_dir() {
            bail!("{} is a file: name the provider's folder", folder.display());
        }
        let Settings { dev } = settings(&folder)?;
        let name = name(&folder);
        let found = WAYS.into_iter().find(|(file, _)| folder.join(file).is_file());
        let (because_of, build) = match (dev.build, found) {
            (Some(build), _) => (FILE, Some(build)),
            (None, Some((file, Way::Cargo))) => (file, None),
            (None, Some((file, Way::Npm))) => (file, Some(npm::build(&folder).to_owned())),
            (None, Some((file, Way::Shell(build)))) => (file, Some(build.to_owned())),
            (None, None) => {
                let known: Vec<&str> = WAYS.iter().map(|(file, _)| *file).collect();
                return Err(anyhow!(
                    "{} tells in no way how it is built: there is no {}. Write a {FILE} there:\n\n[dev]\nbuild = \"the command\"\noutput = \"the component it makes\"\n",
                    folder.display(),
                    known.join(", ")
                ));
            }
        };
        let output = dev.output.map(|output| folder.join(output));
        Ok(Self { folder, name, build, output, because_of })
    }

    /// The same, by this name.
    pub fn called(self, name: String) -> Self {
        Self { name, ..self }
    }

    /// The command, as a person would type it.
    pub fn shown(&self) -> &str {
        self.build.as_deref().unwrap_or("cargo build --target wasm32-wasip2")
    }

    /// Whether the command says on its stdout, as JSON, what it has made.
    pub fn is_cargo(&self) -> bool {
        self.build.is_none()
    }

    pub fn command(&self) -> Command {
        let mut command = match &self.build {
            Some(build) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", build]);
                shell
            }
            None => {
                let mut cargo = Command::new("cargo");
                // The dev profile: what counts here is the time a build takes. The diagnostics go to stderr, as ever.
                cargo.args(["build", "--target", "wasm32-wasip2", "--message-format", "json-render-diagnostics"]);
                cargo
            }
        };
        command.current_dir(&self.folder);
        if let Ok(program) = env::current_exe() {
            command.env(PROGRAM, program);
        }
        command
    }

    /// The component that a build has made which began then. Where it had nothing to do, that is an older one.
    pub fn output(&self, made: Option<&Path>, began: SystemTime) -> Result<PathBuf> {
        if let Some(output) = self.output.as_deref().or(made) {
            if !output.is_file() {
                bail!("the build has not made {} (output in {FILE})", output.display());
            }
            return Ok(output.to_owned());
        }
        let mut found = Vec::new();
        components(&self.folder.join(BUILD), DEPTH, &mut found);
        if found.is_empty() {
            components(&self.folder, DEPTH, &mut found);
        }
        // Two links to one file: the one that is less deep is the one that is meant.
        found.sort_by_key(|(time, path)| (*time, std::cmp::Reverse(path.components().count())));
        let Some((time, path)) = found.pop() else {
            bail!("the build has made no component: no .wasm file below {} is one; `output` in {FILE} names it", self.folder.display())
        };
        if time < began {
            tracing::debug!(path = %path.display(), "the build has made no newer component");
        }
        Ok(path)
    }
}

fn settings(folder: &Path) -> Result<Settings> {
    let path = folder.join(FILE);
    match fs::read_to_string(&path) {
        Ok(text) => toml::from_str(&text).map_err(|error| anyhow!("{}: {error}", path.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Settings::default()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

fn name(folder: &Path) -> String {
    let toml = |file: &str, table: &str| {
        let manifest: toml::Table = toml::from_str(&fs::read_to_string(folder.join(file)).ok()?).ok()?;
        Some(manifest.get(table)?.get("name")?.as_str()?.to_owned())
    };
    let json = || {
        let manifest: serde_json::Value = serde_json::from_str(&fs::read_to_string(folder.join("package.json")).ok()?).ok()?;
        // `@scope/name`
        Some(manifest.get("name")?.as_str()?.rsplit('/').next()?.to_owned())
    };
    let world = || {
        let text = fs::read_to_string(folder.join(WORLD)).ok()?;
        let package = text.lines().find_map(|line| line.trim().strip_prefix(PACKAGE))?;
        Some(package.split([';', '@']).next()?.trim().to_owned())
    };
    let named = toml("Cargo.toml", "package").or_else(json).or_else(|| toml("pyproject.toml", "project")).or_else(world);
    let of_folder = || folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let usable = |name: &String| config::check_name(name).is_ok();
    named.filter(usable).or_else(|| of_folder().filter(usable)).unwrap_or_else(|| NAMELESS.into())
}

/// All components below, each with its time. What packages bring along is not what the build made.
fn components(folder: &Path, depth: usize, found: &mut Vec<(SystemTime, PathBuf)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else { continue };
        let skipped = || [".git", "node_modules", ".venv", "venv"].iter().any(|name| path.ends_with(name));
        if kind.is_dir() && depth > 0 && !skipped() {
            components(&path, depth - 1, found);
        } else if kind.is_file()
            && path.extension().is_some_and(|extension| extension == "wasm")
            && is_component(&path)
            && let Ok(time) = entry.metadata().and_then(|file| file.modified())
        {
            found.push((time, path));
        }
    }
}

fn is_component(path: &Path) -> bool {
    let mut header = [0; COMPONENT.len()];
    File::open(path).and_then(|mut file| file.read_exact(&mut header)).is_ok() && header == COMPONENT
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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

    const A_COMPONENT: &str = "\0asm\x0d\0\x01\0";
    const A_MODULE: &str = "\0asm\x01\0\0\0";

    #[test]
    fn the_build_command_is_found_by_what_is_there() {
        let shown = |files: &[(&str, &str)]| Project::find(folder(files).path()).unwrap().shown().to_owned();
        assert_eq!(shown(&[("Cargo.toml", "")]), "cargo build --target wasm32-wasip2");
        assert_eq!(shown(&[("package.json", "{}"), ("Makefile", "")]), "npm run build");
        assert_eq!(shown(&[("go.mod", ""), ("Makefile", "")]), "make");
        assert_eq!(shown(&[("build.zig", "")]), "zig build");
        assert_eq!(shown(&[("pyproject.toml", ""), ("Makefile", "")]), "make");
        let packages = ("package.json", r#"{ "devDependencies": { "a": "1" }, "scripts": { "build": "no-such-tool" } }"#);
        assert_eq!(shown(&[packages]), "npm install && npm run build");
        assert_eq!(shown(&[packages, ("node_modules/a/package.json", "{}")]), "npm run build");
    }

    #[test]
    fn provider_toml_wins_and_a_wrong_key_is_named() {
        let project = folder(&[("Cargo.toml", ""), (FILE, "[dev]\nbuild = \"make it\"\noutput = \"out/a.wasm\"")]);
        let found = Project::find(project.path()).unwrap();
        assert_eq!((found.shown(), found.because_of), ("make it", FILE));
        assert!(found.output(None, SystemTime::now()).unwrap_err().to_string().contains("out/a.wasm"));
        let wrong = folder(&[(FILE, "[dev]\nbiuld = \"make it\"")]);
        let error = Project::find(wrong.path()).unwrap_err().to_string();
        assert!(error.contains("biuld") && error.contains("line 2"), "{error}");
    }

    #[test]
    fn a_folder_that_does_not_tell_is_refused_with_what_to_write() {
        let error = Project::find(folder(&[("a.txt", "")]).path()).unwrap_err().to_string();
        assert!(error.contains("[dev]") && error.contains("Cargo.toml"), "{error}");
        for file in ["go.mod", "pyproject.toml"] {
            assert!(Project::find(folder(&[(file, "")]).path()).unwrap_err().to_string().contains("Makefile"));
        }
        assert!(Project::find(Path::new("/nowhere")).unwrap_err().to_string().contains("no folder"));
    }

    #[test]
    fn a_provider_is_called_as_its_package_is() {
        let name = |files: &[(&str, &str)]| Project::find(folder(files).path()).unwrap().name;
        assert_eq!(name(&[("Cargo.toml", "[package]\nname = \"my-notes\"")]), "my-notes");
        assert_eq!(name(&[("package.json", "{\"name\":\"@me/notes\"}")]), "notes");
        assert_eq!(name(&[("pyproject.toml", "[project]\nname = \"notes\""), ("Makefile", "")]), "notes");
        assert_eq!(name(&[("Makefile", ""), (WORLD, "// Mine.\npackage local:my-notes;\nworld w {}\n")]), "my-notes");
        // A temporary folder's own name begins with a dot, which no provider's may.
        assert_eq!(name(&[("Makefile", "")]), NAMELESS);
    }

    #[test]
    fn what_is_in_the_build_folder_counts_whatever_is_newer_elsewhere() {
        let project = folder(&[("Makefile", ""), ("build/a.wasm", A_COMPONENT), ("build/core.wasm", A_MODULE), ("b.wasm", A_COMPONENT)]);
        let old = File::options().append(true).open(project.path().join("build/a.wasm")).unwrap();
        old.set_modified(SystemTime::now() - Duration::from_secs(20)).unwrap();
        let found = Project::find(project.path()).unwrap().output(None, SystemTime::now()).unwrap();
        assert!(found.ends_with("build/a.wasm"), "{}", found.display());
    }

    #[test]
    fn a_build_finds_this_program_in_its_environment() {
        let project = folder(&[("Makefile", "")]);
        let command = Project::find(project.path()).unwrap().command();
        let here = env::current_exe().unwrap();
        assert!(command.get_envs().any(|(name, value)| name == PROGRAM && value == Some(here.as_os_str())));
    }

    #[test]
    fn the_output_is_the_newest_component_and_no_module_and_no_package_s() {
        let project = folder(&[
            ("Makefile", ""),
            ("out/old.wasm", A_COMPONENT),
            ("out/deps/new.wasm", A_COMPONENT),
            ("out/module.wasm", A_MODULE),
            ("node_modules/a/a.wasm", A_COMPONENT),
        ]);
        let path = |name: &str| project.path().canonicalize().unwrap().join(name);
        let age = |name: &str, seconds: u64| {
            let time = SystemTime::now() - Duration::from_secs(seconds);
            File::options().append(true).open(path(name)).unwrap().set_modified(time).unwrap();
        };
        age("out/old.wasm", 20);
        age("out/deps/new.wasm", 10);
        fs::hard_link(path("out/deps/new.wasm"), path("out/new.wasm")).unwrap();
        let found = Project::find(project.path()).unwrap();
        assert_eq!(found.output(None, SystemTime::now()).unwrap(), path("out/new.wasm"));
        let none = folder(&[("Makefile", ""), ("a.wasm", A_MODULE)]);
        let error = Project::find(none.path()).unwrap().output(None, SystemTime::now()).unwrap_err().to_string();
        assert!(error.contains("output"), "{error}");
    }
}
