//! Providers in other languages than Rust: which there are, what their tools are, and the building of all that the repository has.
//!
//! What a language needs is data: a line of [`LANGUAGES`] and a folder of `xtask/languages/` that pins its tools. They are installed into the
//! user's cache folder, once for all checkouts. A project is built by its own command, the one that `wharf dev` runs and that its README
//! documents, in a copy that has nothing but its sources; what came of it is kept, and the same sources are not built a second time.

mod kept;
mod project;
mod tools;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, anyhow, bail};

pub use self::{project::Project, tools::Tools};
use crate::{
    clients::Packages,
    guests,
    repo::{self, Repo},
    run, toolchain,
};

/// The name under which Rust is asked for: it is built by [`guests`], in one run of cargo for all its providers.
pub const RUST: &str = "rust";
/// And that for every language there is.
const ALL: &str = "all";
/// Where a build finds the host, for the commands that make bindings and components. One that is set already is taken as it is.
const HOST: &str = "WHARF";

/// A language, and how its providers are built.
pub struct Language {
    /// As `wharf new --lang` has it.
    pub name: &'static str,
    /// The folder of `xtask/languages/` that pins its tools.
    folder: &'static str,
    packages: Packages,
    /// Programs that its packages bring along, and do not put where programs are.
    shims: &'static [Shim],
    /// Variables for its tools.
    environment: &'static [(&'static str, Value)],
    /// Whether its builds run `wharf bindings` or `wharf componentize`.
    asks_host: bool,
    /// What its projects have, and no project of a language further down.
    marks: &'static [Mark],
}

/// A program in a Python package.
struct Shim {
    name: &'static str,
    /// In `site-packages`.
    path: &'static str,
}

/// What a variable is set to.
enum Value {
    Is(&'static str),
    /// A folder of this name in the cache folder.
    Cache(&'static str),
}

/// What tells a language's projects.
enum Mark {
    File(&'static str),
    /// A file with this extension, in the project's folder or its `src`.
    Extension(&'static str),
}

const ZIG: [Shim; 1] = [Shim { name: "zig", path: "ziglang/zig" }];
/// One cache for everything that is built: most of it is the C library, the same for all.
const ZIG_CACHE: [(&str, Value); 2] = [("ZIG_GLOBAL_CACHE_DIR", Value::Cache("zig")), ("ZIG_LOCAL_CACHE_DIR", Value::Cache("zig"))];
/// Nothing is fetched: what a provider needs is in its folder.
const GO: [(&str, Value); 5] = [
    ("GOCACHE", Value::Cache("go")),
    ("GOPATH", Value::Cache("go-path")),
    ("GOPROXY", Value::Is("off")),
    ("GOTOOLCHAIN", Value::Is("local")),
    ("GOFLAGS", Value::Is("-modcacherw")),
];

/// In the order in which a project's marks are compared.
pub static LANGUAGES: [Language; 8] = [
    Language {
        name: "assemblyscript",
        folder: "assemblyscript",
        packages: Packages::Npm,
        shims: &[],
        environment: &[],
        asks_host: true,
        marks: &[Mark::File("package.json"), Mark::File("asconfig.json")],
    },
    Language {
        name: "ts",
        folder: "ts",
        packages: Packages::Npm,
        shims: &[],
        environment: &[],
        asks_host: false,
        marks: &[Mark::File("package.json"), Mark::File("tsconfig.json")],
    },
    Language {
        name: "js",
        folder: "js",
        packages: Packages::Npm,
        shims: &[],
        environment: &[],
        asks_host: false,
        marks: &[Mark::File("package.json")],
    },
    Language {
        name: "python",
        folder: "python",
        packages: Packages::Pip,
        shims: &[],
        environment: &[],
        asks_host: false,
        marks: &[Mark::File("pyproject.toml")],
    },
    Language {
        name: "go",
        folder: "go",
        packages: Packages::Pip,
        shims: &[],
        environment: &GO,
        asks_host: true,
        marks: &[Mark::File("go.mod")],
    },
    Language {
        name: "zig",
        folder: "zig",
        packages: Packages::Pip,
        shims: &ZIG,
        environment: &ZIG_CACHE,
        asks_host: true,
        marks: &[Mark::File("build.zig")],
    },
    Language {
        name: "cpp",
        folder: "zig",
        packages: Packages::Pip,
        shims: &ZIG,
        environment: &ZIG_CACHE,
        asks_host: true,
        marks: &[Mark::File("Makefile"), Mark::Extension("cpp")],
    },
    Language {
        name: "c",
        folder: "zig",
        packages: Packages::Pip,
        shims: &ZIG,
        environment: &ZIG_CACHE,
        asks_host: true,
        marks: &[Mark::File("Makefile"), Mark::Extension("c")],
    },
];

/// What providers of a language are written with, where that has tests of its own. (Rust's are cargo's.)
struct Sdk {
    folder: &'static str,
    language: &'static str,
    tests: &'static [&'static str],
}

static SDKS: [Sdk; 2] = [
    Sdk { folder: "sdk/js", language: "js", tests: &["npm", "test"] },
    Sdk { folder: "sdk/python", language: "python", tests: &["python3", "-m", "unittest", "discover", "tests"] },
];

/// Which languages are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The one that the demo needs.
    Rust,
    /// One of [`LANGUAGES`], by its name there.
    One(&'static str),
    /// Rust, and all of [`LANGUAGES`].
    All,
}

impl Choice {
    /// By name.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            RUST => Ok(Self::Rust),
            ALL => Ok(Self::All),
            _ => Ok(Self::One(Language::named(name)?.name)),
        }
    }

    /// Whether its providers are built by cargo.
    pub fn has_rust(self) -> bool {
        matches!(self, Self::Rust | Self::All)
    }

    fn has(self, language: &Language) -> bool {
        self.has_named(language.name)
    }

    fn has_named(self, language: &str) -> bool {
        match self {
            Self::Rust => false,
            Self::One(name) => language == name,
            Self::All => true,
        }
    }
}

impl Language {
    /// By name.
    pub fn named(name: &str) -> Result<&'static Self> {
        LANGUAGES.iter().find(|language| language.name == name).with_context(|| {
            let known: Vec<&str> = LANGUAGES.iter().map(|language| language.name).collect();
            format!("there is no language `{name}`: the languages are {RUST}, {}, and {ALL}", known.join(", "))
        })
    }

    fn pins(&self, repo: &Repo) -> PathBuf {
        repo.root.join("xtask/languages").join(self.folder)
    }
}

/// Whether a project's own tests are run, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tests {
    Run,
    Skip,
}

/// Builds the providers in these languages, all that are not built yet, and puts each component where the tests and the demo look.
pub fn build(repo: &Repo, choice: Choice, tests: Tests) -> Result<()> {
    let cache = cache()?;
    let projects = project::find(repo)?;
    let mut failed = Vec::new();
    for language in LANGUAGES.iter().filter(|language| choice.has(language)) {
        // To the end, so that one mistake does not hide the others.
        let tools = match Tools::install(repo, language, &cache) {
            Ok(tools) => tools,
            Err(error) => {
                eprintln!("  {error:#}");
                failed.push(language.name.to_owned());
                continue;
            }
        };
        for project in projects.iter().filter(|project| project.language.name == language.name) {
            if let Err(error) = made(repo, project, &tools, &cache, tests) {
                eprintln!("  {}: {error:#}", project.label());
                failed.push(project.label());
            }
        }
    }
    if tests == Tests::Run {
        for sdk in SDKS.iter().filter(|sdk| choice.has_named(sdk.language)) {
            let project = Project::at(repo, sdk.folder, Language::named(sdk.language)?);
            if let Err(error) = tested(repo, &project, sdk.tests, &cache) {
                eprintln!("  {}: {error:#}", project.label());
                failed.push(project.label());
            }
        }
    }
    if !failed.is_empty() {
        bail!("could not build or test {}", failed.join(", "));
    }
    Ok(())
}

fn tested(repo: &Repo, project: &Project, command: &[&str], cache: &Path) -> Result<()> {
    let sources = project.sources()?;
    let tools = Tools::install(repo, project.language, cache)?;
    let kept = kept::Kept::of(repo, project, &sources, &tools, cache)?;
    let _lock = repo::lock(&kept.lock(), "testing the same SDK")?;
    if !kept.is_tested() {
        let copied = project.copy(&sources, &tools, cache)?;
        run::step(&format!("test {}", project.label()), || project.run(command, &copied, &tools))?;
        kept.mark_tested()?;
    }
    Ok(())
}

fn made(repo: &Repo, project: &Project, tools: &Tools, cache: &Path, tests: Tests) -> Result<()> {
    let sources = project.sources()?;
    let kept = kept::Kept::of(repo, project, &sources, tools, cache)?;
    let _lock = repo::lock(&kept.lock(), "building the same project")?;
    let mut copy = None;
    if !kept.is_built() {
        let built = run::step(&format!("build {}", project.label()), || {
            let copied = project.copy(&sources, tools, cache)?;
            project.build(&copied, tools)
        })?;
        kept.keep(&built)?;
        copy = built.parent().and_then(Path::parent).map(Path::to_owned);
    }
    if tests == Tests::Run && !kept.is_tested() {
        let copied = match copy {
            Some(copied) => copied,
            None => project.copy(&sources, tools, cache)?,
        };
        if let Some(command) = project.tests(&copied)? {
            run::step(&format!("test {}", project.label()), || project.run(command, &copied, tools))?;
        }
        kept.mark_tested()?;
    }
    if guests::put(&kept.component(), &project.to)? {
        eprintln!("  {}", project.to.strip_prefix(&repo.root).unwrap_or(&project.to).display());
    }
    Ok(())
}

/// Builds the host, for the builds that ask it; gives where it is. One that `WHARF` names is taken as it is.
pub fn host(repo: &Repo, choice: Choice) -> Result<()> {
    let asked = LANGUAGES.iter().any(|language| choice.has(language) && language.asks_host);
    if !asked || std::env::var_os(HOST).is_some() {
        return Ok(());
    }
    eprintln!("Building the host, which makes bindings and components");
    // As `cargo xtask demo` builds it.
    run::run(repo.cargo().args(["build", "--workspace", "--bin", "wharf"]), guests::BUILD_LIMIT)
}

/// The folder of all this in the cache folder.
fn cache() -> Result<PathBuf> {
    let folder = repo::cache()?.join("languages");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// Installs a language's tools, and says what to set so that they are found: a line each, `NAME=VALUE`.
pub fn print_environment(repo: &Repo, choice: Choice) -> Result<()> {
    for (name, value) in environment(repo, choice)? {
        println!("{name}={}", value.into_string().map_err(|value| anyhow!("{} is not UTF-8", value.display()))?);
    }
    Ok(())
}

/// Runs a command with a language's tools.
pub fn with_tools(repo: &Repo, choice: Choice, command: &[String]) -> Result<()> {
    let (program, arguments) = command.split_first().context("there is no command")?;
    let mut command = Command::new(program);
    command.args(arguments).envs(environment(repo, choice)?);
    run::become_child(command)
}

fn environment(repo: &Repo, choice: Choice) -> Result<Vec<(&'static str, OsString)>> {
    match choice {
        Choice::Rust => {
            let toolchain = toolchain::prepare(repo, toolchain::Choice::from_user(None)?)?;
            Ok(toolchain.environment(repo)?.into_iter().map(|(name, value)| (name, value.into())).collect())
        }
        Choice::One(name) => Tools::install(repo, Language::named(name)?, &cache()?)?.environment(),
        Choice::All => bail!("the tools of one language after the other: name one"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_is_pinned_by_files_of_the_repository() {
        let repo = Repo::find().unwrap();
        for language in &LANGUAGES {
            let folder = language.pins(&repo);
            assert!(tools::pins(language, &folder).is_ok_and(|pins| !pins.is_empty()), "{}", folder.display());
        }
    }

    #[test]
    fn an_unknown_language_is_refused_with_the_known_ones() {
        let error = Choice::named("cobol").unwrap_err().to_string();
        assert!(error.contains("rust, assemblyscript, ts, js, python, go, zig, cpp, c, and all"), "{error}");
        assert_eq!(Choice::named("rust").unwrap(), Choice::Rust);
        assert_eq!(Choice::named("all").unwrap(), Choice::All);
        assert_eq!(Choice::named("go").unwrap(), Choice::One("go"));
    }

    #[test]
    fn each_language_has_a_template() {
        let templates = Repo::find().unwrap().root.join("host/templates");
        for name in LANGUAGES.iter().map(|language| language.name).chain([RUST]) {
            assert!(templates.join(name).is_dir(), "{name}");
        }
    }
}
