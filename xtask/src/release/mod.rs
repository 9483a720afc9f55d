//! `cargo xtask release`: what is published of a version, made anew the same to the byte.
//!
//! A static binary, in an archive and in a Debian package, each with the manual pages, the completions, the unit and the licences; what is in
//! it (CycloneDX); and the checksums. Invariants: names follow from the version and the architecture alone; what is in the files, from the
//! commit and the compiler: times are the commit's (or `SOURCE_DATE_EPOCH`), owners are root, lists are sorted, and no path of the machine that
//! builds is in the binary.

mod archive;
mod contents;
mod crates;
mod sbom;
mod third_party;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};

use self::crates::Crates;
use crate::{cargo_tools, repo::Repo, run};

/// All of wasmtime with optimisation at link time, on two slow cores: a quarter of an hour, and more beside other work.
const BUILD_LIMIT: Duration = Duration::from_secs(3 * 3600);
/// A download of 20 MB.
const RUSTUP_LIMIT: Duration = Duration::from_secs(60);
/// Compressing 200 MB.
const PACK_LIMIT: Duration = Duration::from_secs(600);
const ASK_LIMIT: Duration = Duration::from_secs(60);
/// Times 10, of what `systemd-analyze security` finds: it calls up to 2.0 "OK".
const EXPOSURE: &str = "20";

/// This program, also where a newer one has taken its place since it started (proc_pid_exe(5)).
const OWN_PROGRAM: &str = "/proc/self/exe";

/// What one set of files is made of.
struct Job<'a> {
    repo: &'a Repo,
    version: String,
    /// Such as x86_64-unknown-linux-musl.
    target: String,
    /// Cargo's target folder, or one that looks like it: the binary is in it.
    target_folder: PathBuf,
    /// Says what the manual pages and the completions are: the binary, or one of the same source.
    program: PathBuf,
    /// Seconds since 1970.
    epoch: u64,
    crates: Crates,
    /// Where the files go.
    out: PathBuf,
}

/// Builds the binary, unless there is one to be used again, and makes the files.
pub fn make(repo: &Repo, build: bool) -> Result<()> {
    let target_folder = repo.target()?;
    let target = musl_target(repo)?;
    if build {
        run::step("build the static binary, which takes some minutes", || build_static(repo, &target))?;
    }
    let out = target_folder.join("release-files");
    let job = Job::new(repo, target, target_folder, out)?;
    ensure!(is_static(&job.binary())?, "{} asks for a loader: it is not static", job.binary().display());
    for file in job.run()? {
        println!("{}", job.out.join(file).display());
    }
    Ok(())
}

/// Makes the files twice, with what the program says that the tests use, and compares them; has systemd look at the unit where there is systemd.
pub fn check(repo: &Repo) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let debug = repo.target()?.join("debug/wharf");
    ensure!(debug.is_file(), "there is no {}: `cargo xtask test --only build` makes it", debug.display());
    check_unit(repo, folder.path(), &debug)?;
    let mut made: Vec<Vec<(String, Vec<u8>)>> = Vec::new();
    for time in ["first", "second"] {
        let target_folder = folder.path().join(time);
        let mut job = Job::new(repo, musl_target(repo)?, target_folder.clone(), target_folder.join("release-files"))?;
        job.program.clone_from(&debug);
        fs::create_dir_all(job.products())?;
        // A small program in its place: the other is for debugging, and compressing it would take minutes.
        fs::copy(OWN_PROGRAM, job.binary()).with_context(|| format!("cannot copy {OWN_PROGRAM}"))?;
        let files = run::step(&format!("make the files of a release, the {time} time"), || job.run())?;
        let contents = files.into_iter().map(|file| Ok((file.clone(), fs::read(job.out.join(file))?))).collect::<Result<_>>()?;
        made.push(contents);
    }
    for ((name, first), (_, second)) in made[0].iter().zip(&made[1]) {
        ensure!(first == second, "{name} was another file the second time");
    }
    ensure!(made[0].len() == made[1].len(), "there were more files at one time than at the other");
    Ok(())
}

/// As systemd itself sees it.
fn check_unit(repo: &Repo, folder: &Path, program: &Path) -> Result<()> {
    if run::output(Command::new("systemd-analyze").arg("--version"), ASK_LIMIT).is_err() {
        eprintln!("  There is no systemd-analyze on this machine: what it says of deploy/wharf.service is not looked at");
        return Ok(());
    }
    let unit = folder.join("wharf.service");
    let text = fs::read_to_string(repo.root.join("deploy/wharf.service"))?;
    // It wants to see a program there.
    fs::write(&unit, text.replace("/usr/bin/wharf", program.to_str().context("a path that is not UTF-8")?))?;
    run::quietly(Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&unit), ASK_LIMIT)?;
    let mut security = Command::new("systemd-analyze");
    security.args(["security", "--offline=true", "--no-pager", &format!("--threshold={EXPOSURE}")]).arg(&unit);
    run::quietly(&mut security, ASK_LIMIT)
}

impl<'a> Job<'a> {
    fn new(repo: &'a Repo, target: String, target_folder: PathBuf, out: PathBuf) -> Result<Self> {
        let crates = Crates::linked(repo, &target)?;
        let (version, epoch) = (crates.version(contents::NAME)?, epoch(repo)?);
        let mut job = Self { repo, version, target, target_folder, program: PathBuf::new(), epoch, crates, out };
        job.program = job.binary();
        Ok(job)
    }

    /// Where cargo puts what it builds.
    fn products(&self) -> PathBuf {
        self.target_folder.join(&self.target).join("release")
    }

    fn binary(&self) -> PathBuf {
        self.products().join(contents::NAME)
    }

    /// Where `[package.metadata.deb]` in host/Cargo.toml finds what is neither built by cargo nor in the repository.
    fn packaging(&self) -> PathBuf {
        self.products().join("packaging")
    }

    /// Makes all files, and gives their names.
    fn run(&self) -> Result<Vec<String>> {
        ensure!(self.binary().is_file(), "there is no {}: run it without --no-build", self.binary().display());
        // What an earlier version left is not of this one.
        for folder in [&self.out, &self.packaging()] {
            if folder.exists() {
                fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
            }
            fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        contents::generate(self)?;
        let architecture = self.target.split('-').next().unwrap_or_default();
        let name = format!("{}-{}-{architecture}-linux", contents::NAME, self.version);
        archive::write(&self.out, &name, &contents::of_archive(self)?, self.epoch)?;
        fs::write(self.out.join(format!("{name}.cdx.json")), sbom::write(self)?)?;
        self.debian_package()?;
        let mut files =
            fs::read_dir(&self.out)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect::<Result<Vec<String>>>()?;
        files.sort();
        let mut sums = Command::new("sha256sum");
        let sums = run::output(sums.args(["--binary", "--"]).args(&files).current_dir(&self.out), ASK_LIMIT)?;
        fs::write(self.out.join("SHA256SUMS"), sums)?;
        files.push("SHA256SUMS".into());
        Ok(files)
    }

    fn debian_package(&self) -> Result<()> {
        let mut command = cargo_tools::DEB.command(self.repo)?;
        command.args(["--quiet", "--no-build", "--no-strip", "--package", contents::NAME, "--target", &self.target, "--output"]);
        command.arg(&self.out).env("CARGO_TARGET_DIR", &self.target_folder).env("SOURCE_DATE_EPOCH", self.epoch.to_string());
        run::quietly(&mut command, PACK_LIMIT)
    }
}

/// The target whose binaries need nothing of the machine they run on.
fn musl_target(repo: &Repo) -> Result<String> {
    let version = run::output(repo.rustc().arg("-vV"), ASK_LIMIT)?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc does not say what it runs on")?;
    match host.split_once("-unknown-linux-") {
        Some((architecture, _)) => Ok(format!("{architecture}-unknown-linux-musl")),
        None => bail!("what is released is made on Linux, and this is {host}: in a container of rust:1.95 it works as it does there"),
    }
}

fn build_static(repo: &Repo, target: &str) -> Result<()> {
    // The C in it (SQLite, ring, mimalloc) wants a compiler that knows musl's headers.
    if run::output(Command::new("musl-gcc").arg("--version"), ASK_LIMIT).is_err() {
        bail!("there is no musl-gcc on this machine: apt-get install musl-tools");
    }
    let mut rustup = Command::new("rustup");
    rustup.args(["target", "add", target]).current_dir(&repo.root);
    run::quietly(&mut rustup, RUSTUP_LIMIT)?;
    let mut command = repo.cargo();
    command.args(["build", "--release", "--locked", "--package", contents::NAME, "--bins", "--target", target]);
    command.env("CARGO_ENCODED_RUSTFLAGS", nameless(&repo.root, &sources()?).join("\x1f"));
    run::run(&mut command, BUILD_LIMIT)
}

/// Flags by which no path of this machine gets into the binary, as places of panics would have it.
fn nameless(root: &Path, sources: &[PathBuf]) -> Vec<String> {
    let crates = sources.iter().map(|folder| format!("--remap-path-prefix={}=/crates", folder.display()));
    crates.chain([format!("--remap-path-prefix={}=/wharf", root.display())]).collect()
}

/// Where cargo unpacks what it takes from registries.
fn sources() -> Result<Vec<PathBuf>> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| env::home_dir().map(|home| home.join(".cargo")));
    let registries = home.context("neither CARGO_HOME nor HOME is set: set one of them")?.join("registry/src");
    if !registries.is_dir() {
        return Ok(Vec::new());
    }
    let mut folders = fs::read_dir(&registries)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    folders.sort();
    Ok(folders)
}

fn is_static(binary: &Path) -> Result<bool> {
    let headers = run::output(Command::new("readelf").args(["--program-headers", "--wide"]).arg(binary), ASK_LIMIT)?;
    Ok(!headers.contains("INTERP"))
}

/// When the commit was made, or what <https://reproducible-builds.org/specs/source-date-epoch/> has set.
fn epoch(repo: &Repo) -> Result<u64> {
    let said = match env::var("SOURCE_DATE_EPOCH") {
        Ok(set) => set,
        Err(_) => run::output(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(&repo.root), ASK_LIMIT)
            .context("outside of a clone, set SOURCE_DATE_EPOCH")?,
    };
    said.trim().parse().with_context(|| format!("SOURCE_DATE_EPOCH is seconds since 1970, not {said:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_of_the_machine_gets_into_the_binary() {
        let flags = nameless(Path::new("/home/me/wharf"), &["/home/me/.cargo/registry/src/a".into()]);
        assert_eq!(flags, ["--remap-path-prefix=/home/me/.cargo/registry/src/a=/crates", "--remap-path-prefix=/home/me/wharf=/wharf"]);
    }
}
