//! How long components take to load, with an empty compile cache and with a full one.
//!
//! The components of interpreted languages are built once, in the user's cache folder. The host is the one of the dev profile, whose
//! dependencies are optimised, as in `cargo xtask demo`.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use crate::{guests, repo, repo::Repo, run, toolchain::Choice};

const BUILD_LIMIT: Duration = Duration::from_secs(3600);
/// 400 MB of npm packages.
const INSTALL_LIMIT: Duration = Duration::from_secs(600);
const COMPONENTIZE_LIMIT: Duration = Duration::from_secs(300);
/// The newest that were tried.
const COMPONENTIZE_JS: &str = "@bytecodealliance/componentize-js@0.23.0";
const COMPONENTIZE_PY: &str = "componentize-py==0.25.1";
/// So many starts with a full cache; the fastest counts, since the others show what else the machine does.
pub(super) const WARM_STARTS: usize = 5;
/// A file is read again as long as it may still change unseen.
pub(super) const SETTLED: Duration = Duration::from_secs(3);
/// How many small components start together.
const MANY: usize = 100;

/// Builds what is missing, measures, and prints a table.
pub fn measure_all(repo: &Repo) -> Result<()> {
    guests::build(repo, Choice::from_user(None)?)?;
    run::run(repo.cargo().args(["build", "--workspace", "--bin", "wharf"]), BUILD_LIMIT)?;
    let host = repo.target()?.join("debug").join(format!("wharf{}", std::env::consts::EXE_SUFFIX));
    let folder = repo::cache()?.join("bench");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let rust = repo.root.join("tests/guests/live.wasm");
    let (javascript, python) = (javascript(repo, &folder)?, python(repo, &folder)?);

    println!("{:24} {:>10} {:>12} {:>12} {:>12}", "", "size", "cold load", "warm load", "warm start");
    for (name, file) in [("Rust", &rust), ("JavaScript", &javascript), ("Python", &python)] {
        measure(&host, name, &[fs::read(file)?])?;
    }
    let one = fs::read(&rust)?;
    measure(&host, &format!("{MANY} × Rust"), &(0..MANY).map(|n| marked(&one, n)).collect::<Vec<_>>())
}

/// The same component as another content: with a custom section at its end (Binary.md: id 0, size, name, content).
fn marked(component: &[u8], number: usize) -> Vec<u8> {
    let mark = format!("{number:08}");
    let section = [&[0, 14, 5][..], b"bench", mark.as_bytes()].concat();
    [component, &section].concat()
}

fn measure(host: &Path, name: &str, components: &[Vec<u8>]) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (plugins, cache) = (folder.path().join("plugins"), folder.path().join("cache"));
    fs::create_dir(&plugins)?;
    for (number, component) in components.iter().enumerate() {
        fs::write(plugins.join(format!("p{number}.wasm")), component)?;
    }
    let cold = start(host, &plugins, &cache, components.len())?;
    std::thread::sleep(SETTLED);
    start(host, &plugins, &cache, components.len())?;
    let warm = (0..WARM_STARTS).map(|_| start(host, &plugins, &cache, components.len())).collect::<Result<Vec<_>>>()?;
    let least = |of: fn(&Took) -> f64| warm.iter().map(of).fold(f64::INFINITY, f64::min);
    let size: usize = components.iter().map(Vec::len).sum();
    println!(
        "{name:24} {:>6} KiB {:>9.0} ms {:>9.1} ms {:>9.0} ms",
        size >> 10,
        cold.load,
        least(|took| took.load),
        least(|took| took.start)
    );
    Ok(())
}

/// In milliseconds.
pub(super) struct Took {
    /// From the greeting to the last provider that is loaded, on this side.
    pub load: f64,
    /// From the start of the process to the same.
    pub start: f64,
}

pub(super) fn start(host: &Path, plugins: &Path, cache: &Path, components: usize) -> Result<Took> {
    let began = Instant::now();
    let mut command = Command::new(host);
    command.args(["serve", "--http", "127.0.0.1:0", "--plugins"]).arg(plugins).env("WHARF_CACHE_DIR", cache);
    command.current_dir(plugins).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = Ended(command.spawn().with_context(|| format!("cannot run {}", host.display()))?);
    let mut lines = BufReader::new(child.0.stderr.take().context("the host has no stderr")?).lines();
    let (mut greeted, mut loaded) = (None, 0);
    while loaded < components {
        let line = lines.next().context("the host ended")??;
        if line.starts_with("refused") {
            bail!("{line}");
        }
        greeted = greeted.or(Some(began.elapsed()));
        loaded += usize::from(line.starts_with("loaded"));
    }
    let start = began.elapsed();
    let load = start.saturating_sub(greeted.unwrap_or_default());
    let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
    Ok(Took { load: milliseconds(load), start: milliseconds(start) })
}

/// A process that does not outlive this.
pub(super) struct Ended(pub Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn javascript(repo: &Repo, folder: &Path) -> Result<PathBuf> {
    componentized(repo, folder, "javascript.wasm", &repo.root.join("xtask/bench/provider.js"))
}

/// Two versions of one provider: the second lists and reads something else.
pub(super) fn javascript_pair(repo: &Repo, folder: &Path) -> Result<[PathBuf; 2]> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let source = fs::read_to_string(repo.root.join("xtask/bench/provider.js")).context("cannot read the provider in JavaScript")?;
    let other = folder.join("javascript-2.js");
    fs::write(&other, source.replace("'js'", "'JS'"))?;
    Ok([javascript(repo, folder)?, componentized(repo, folder, "javascript-2.wasm", &other)?])
}

fn componentized(repo: &Repo, folder: &Path, to: &str, source: &Path) -> Result<PathBuf> {
    let component = folder.join(to);
    if !component.exists() {
        let tool = folder.join("node_modules/.bin/componentize-js");
        run::step("install componentize-js", || {
            let mut npm = Command::new("npm");
            npm.args(["install", "--no-audit", "--no-fund", "--prefix", ".", COMPONENTIZE_JS]).current_dir(folder);
            run::quietly(&mut npm, INSTALL_LIMIT)
        })?;
        run::step("build a JavaScript provider", || {
            let mut build = Command::new(tool);
            build.arg("--wit").arg(repo.root.join("wit/provider.wit")).args(["-n", "provider", "-d", "http", "-d", "fetch-event"]);
            build.args(["-o", to]).arg(source).current_dir(folder);
            run::quietly(&mut build, COMPONENTIZE_LIMIT)
        })?;
    }
    Ok(component)
}

fn python(repo: &Repo, folder: &Path) -> Result<PathBuf> {
    let component = folder.join("python.wasm");
    if !component.exists() {
        run::step("install componentize-py", || {
            run::quietly(Command::new("python3").args(["-m", "venv", "--clear", "venv"]).current_dir(folder), INSTALL_LIMIT)?;
            let mut pip = Command::new(folder.join("venv/bin/python"));
            pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", COMPONENTIZE_PY]).current_dir(folder);
            run::quietly(&mut pip, INSTALL_LIMIT)
        })?;
        run::step("build a Python provider", || {
            let mut build = Command::new(folder.join("venv/bin/componentize-py"));
            build.arg("-d").arg(repo.root.join("wit")).args(["-w", "provider", "componentize", "-p"]);
            build.arg(repo.root.join("xtask/bench")).args(["app", "-o", "python.wasm"]).current_dir(folder);
            run::quietly(&mut build, COMPONENTIZE_LIMIT)
        })?;
    }
    Ok(component)
}
