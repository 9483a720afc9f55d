//! A project in another language than Rust: where it is, what its sources are, and how it is built and tested.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};

use super::{LANGUAGES, Language, Mark, Tools};
use crate::{repo::Repo, run};

/// A compiler's first run compiles its standard library: half a minute, and much more on a machine that has other things to do.
const BUILD_LIMIT: Duration = Duration::from_secs(1800);
/// What is made by builds, and no source.
const MADE: [&str; 11] = [
    ".git",
    ".mypy_cache",
    ".pytest_cache",
    ".venv",
    ".zig-cache",
    "__pycache__",
    "node_modules",
    "target",
    "venv",
    "zig-cache",
    "zig-out",
];
/// The same, but only directly in the project's folder: deeper, it is a good name for a folder of sources.
const MADE_AT_TOP: [&str; 3] = [BUILD, "dist", "gen"];
/// Where a build leaves its component.
const BUILD: &str = "build";
/// A chain of folders so long goes in a circle, by a link.
const DEPTH: usize = 24;
/// The beginning of a component (Component Model, Binary.md): the magic number, then version 13 and layer 1.
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

/// Where projects are, and where their components are put.
const EXAMPLES: &str = "plugins";
pub(super) const FIXTURES: &str = "tests/languages";

/// A provider's folder in the repository.
pub struct Project {
    pub language: &'static Language,
    /// `plugins/table`
    place: String,
    folder: PathBuf,
    /// Where its component is put.
    pub to: PathBuf,
}

/// A file of a project: its path in there, and where it is.
pub struct Source {
    pub path: PathBuf,
    pub from: PathBuf,
}

/// All there are. A fixture of the contract's test is in the folder of its language's name; an example shows its language by its files.
pub fn find(repo: &Repo) -> Result<Vec<Project>> {
    let mut found = Vec::new();
    for place in [EXAMPLES, FIXTURES] {
        let mut folders: Vec<PathBuf> = match fs::read_dir(repo.root.join(place)) {
            Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?,
            Err(_) => continue,
        };
        folders.sort();
        // Cargo's are not built here.
        for folder in folders.into_iter().filter(|folder| folder.is_dir() && !folder.join("Cargo.toml").exists()) {
            let Some(name) = folder.file_name().and_then(|name| name.to_str()).map(str::to_owned) else { continue };
            let language = match place {
                FIXTURES => Some(Language::named(&name)?),
                _ => language(&folder),
            };
            let Some(language) = language else { continue };
            found.push(Project::at(repo, &format!("{place}/{name}"), language));
        }
    }
    Ok(found)
}

/// What its files say.
fn language(folder: &Path) -> Option<&'static Language> {
    let has = |mark: &Mark| match mark {
        Mark::File(name) => folder.join(name).is_file(),
        Mark::Extension(extension) => [folder.to_owned(), folder.join("src")].iter().any(|folder| {
            let mut entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries.any(|entry| entry.path().extension().is_some_and(|found| found == *extension))
        }),
    };
    LANGUAGES.iter().find(|language| language.marks.iter().all(has))
}

impl Project {
    /// The one in this folder of the repository.
    pub fn at(repo: &Repo, place: &str, language: &'static Language) -> Self {
        let folder = repo.root.join(place);
        Self { language, place: place.to_owned(), to: folder.with_extension("wasm"), folder }
    }

    /// How it is called in what xtask says.
    pub fn label(&self) -> String {
        format!("{} ({})", self.place, self.language.name)
    }

    /// A name for files that are about it.
    pub fn id(&self) -> String {
        self.place.replace('/', "-")
    }

    /// Its files, sorted, through links: what is beyond them is a part of it.
    pub fn sources(&self) -> Result<Vec<Source>> {
        let mut sources = Vec::new();
        collect(&self.folder, Path::new(""), DEPTH, &mut sources)?;
        sources.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(sources)
    }

    /// Copies its sources to where it is built: always the same place, which compilers remember, with nothing left of the last time.
    pub fn copy(&self, sources: &[Source], tools: &Tools, cache: &Path) -> Result<PathBuf> {
        let copy = cache.join("work").join(self.id());
        if copy.exists() {
            fs::remove_dir_all(&copy).with_context(|| format!("cannot remove {}", copy.display()))?;
        }
        for source in sources {
            let to = copy.join(&source.path);
            fs::create_dir_all(to.parent().context("a file without a folder")?)?;
            fs::copy(&source.from, &to).with_context(|| format!("cannot copy {}", source.from.display()))?;
        }
        // There in a checkout, too, where a build counts on it.
        fs::create_dir_all(copy.join(BUILD))?;
        if let Some(packages) = &tools.node_modules {
            // As if they had been installed there, for what is imported.
            symlink(packages, copy.join("node_modules"))?;
        }
        Ok(copy)
    }

    /// Builds it in a copy, and gives the component.
    pub fn build(&self, copy: &Path, tools: &Tools) -> Result<PathBuf> {
        let command = build_command(copy).with_context(|| format!("{} has neither package.json nor build.zig nor Makefile", self.place))?;
        self.run(command, copy, tools)?;
        component(&copy.join(BUILD)).with_context(|| format!("`{}` in {}", command.join(" "), self.place))
    }

    /// How its own tests are run, if it has any.
    pub fn tests(&self, copy: &Path) -> Result<Option<&'static [&'static str]>> {
        let text = |name: &str| fs::read_to_string(copy.join(name)).unwrap_or_default();
        let has_script = || -> Result<bool> {
            let manifest: serde_json::Value = serde_json::from_str(&text("package.json")).context("package.json")?;
            Ok(manifest["scripts"]["test"].is_string())
        };
        Ok(match build_command(copy) {
            Some(["npm", ..]) if has_script()? => Some(&["npm", "test"]),
            Some(["zig", ..]) if text("build.zig").contains("\"test\"") => Some(&["zig", "build", "test"]),
            Some(["make"]) if text("Makefile").lines().any(|line| line.starts_with("test:")) => Some(&["make", "test"]),
            _ => None,
        })
    }

    /// Runs a command of its in a copy.
    pub fn run(&self, command: &[&str], copy: &Path, tools: &Tools) -> Result<()> {
        let mut process = Command::new(command[0]);
        tools.apply(process.args(&command[1..]).current_dir(copy))?;
        run::quietly(&mut process, BUILD_LIMIT)
    }
}

/// As `wharf dev` builds it.
fn build_command(folder: &Path) -> Option<&'static [&'static str]> {
    const WAYS: [(&str, &[&str]); 3] =
        [("package.json", &["npm", "run", "build"]), ("build.zig", &["zig", "build"]), ("Makefile", &["make"])];
    WAYS.iter().find(|(file, _)| folder.join(file).is_file()).map(|(_, command)| *command)
}

fn collect(folder: &Path, inside: &Path, depth: usize, sources: &mut Vec<Source>) -> Result<()> {
    ensure!(depth > 0, "the links of {} go in a circle", folder.display());
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let (name, from) = (entry.file_name(), entry.path());
        let is = |extension: &str| from.extension().is_some_and(|found| found == extension);
        let at_top = || inside.as_os_str().is_empty() && MADE_AT_TOP.iter().any(|made| name == *made);
        if MADE.iter().any(|made| name == *made) || at_top() || is("wasm") || is("pyc") {
            continue;
        }
        let path = inside.join(&name);
        let kind = fs::metadata(&from).with_context(|| format!("{} leads nowhere", from.display()))?;
        if kind.is_dir() {
            collect(&from, &path, depth - 1, sources)?;
        } else {
            sources.push(Source { path, from });
        }
    }
    Ok(())
}

/// The one component of a folder, whatever core modules are beside it.
fn component(folder: &Path) -> Result<PathBuf> {
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).with_context(|| format!("the build has made no folder {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "wasm") && fs::read(&path)?.starts_with(COMPONENT) {
            found.push(path);
        }
    }
    match &found[..] {
        [one] => Ok(one.clone()),
        [] => bail!("the build has made no component in {}", folder.display()),
        _ => bail!("the build has made more than one component in {}", folder.display()),
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn a_project_s_files_tell_its_language() {
        let name = |files: &[&str]| {
            let files: Vec<(&str, &str)> = files.iter().map(|file| (*file, "")).collect();
            language(folder(&files).path()).map(|language| language.name)
        };
        assert_eq!(name(&["package.json", "provider.js"]), Some("js"));
        assert_eq!(name(&["package.json", "tsconfig.json"]), Some("ts"));
        assert_eq!(name(&["package.json", "asconfig.json", "tsconfig.json"]), Some("assemblyscript"));
        assert_eq!(name(&["pyproject.toml", "Makefile"]), Some("python"));
        assert_eq!(name(&["go.mod", "Makefile"]), Some("go"));
        assert_eq!(name(&["build.zig"]), Some("zig"));
        assert_eq!(name(&["Makefile", "src/provider.cpp", "src/test.c"]), Some("cpp"));
        assert_eq!(name(&["Makefile", "provider.c"]), Some("c"));
        assert_eq!(name(&["README.md"]), None);
    }

    fn project(folder: &Path) -> Project {
        Project { language: Language::named("c").unwrap(), place: "plugins/x".into(), folder: folder.into(), to: folder.join("x.wasm") }
    }

    #[test]
    fn sources_are_what_is_not_made_and_links_are_followed() {
        let shared = folder(&[("provider.wit", "")]);
        let of =
            folder(&[("Makefile", ""), ("build/x.wasm", ""), ("gen/x.h", ""), ("src/main.c", ""), ("src/gen/a.c", ""), ("old.wasm", "")]);
        fs::create_dir_all(of.path().join("wit/deps")).unwrap();
        symlink(shared.path(), of.path().join("wit/deps/provider")).unwrap();
        let paths: Vec<String> = project(of.path()).sources().unwrap().iter().map(|source| source.path.display().to_string()).collect();
        assert_eq!(paths, ["Makefile", "src/gen/a.c", "src/main.c", "wit/deps/provider/provider.wit"]);
        symlink(of.path(), of.path().join("circle")).unwrap();
        assert!(project(of.path()).sources().is_err());
        fs::remove_file(of.path().join("circle")).unwrap();
        symlink("nowhere", of.path().join("dangling")).unwrap();
        assert!(format!("{:#}", project(of.path()).sources().err().unwrap()).contains("leads nowhere"));
    }

    #[test]
    fn the_component_is_found_beside_a_core_module() {
        let built = folder(&[("core.wasm", "\0asm\x01\0\0\0"), ("other.wasm", "\0asm\x0d\0\x01\0")]);
        assert_eq!(component(built.path()).unwrap(), built.path().join("other.wasm"));
        fs::write(built.path().join("more.wasm"), COMPONENT).unwrap();
        assert!(component(built.path()).is_err());
        assert!(component(folder(&[("a", "")]).path()).is_err());
    }

    #[test]
    fn a_project_s_own_tests_are_found_by_the_habit_of_its_build() {
        let tests = |files: &[(&str, &str)]| {
            let folder = folder(files);
            project(folder.path()).tests(folder.path()).unwrap()
        };
        assert_eq!(tests(&[("package.json", r#"{"scripts":{"test":"node --test"}}"#)]), Some(&["npm", "test"][..]));
        assert_eq!(tests(&[("package.json", "{}")]), None);
        assert_eq!(tests(&[("Makefile", "all:\n\ttrue\ntest: all\n")]), Some(&["make", "test"][..]));
        assert_eq!(tests(&[("Makefile", "all:\n")]), None);
        assert_eq!(tests(&[("build.zig", "b.step(\"test\", \"\")")]), Some(&["zig", "build", "test"][..]));
    }
}
