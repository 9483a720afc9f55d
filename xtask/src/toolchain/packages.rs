//! A toolchain for [`TARGET`] put together from packages, for machines where rustup cannot download that target.
//!
//! It consists of Debian's rustc with the source of its own standard library, the wasi-libc that an npm package carries, and the
//! linkers for wasm that every rustup toolchain carries. The standard library is compiled once, so that no later build needs an
//! unstable flag.
//!
//! Each lives in a folder of its own in the user's cache folder, named after everything it was made of. It is made in a
//! temporary folder and renamed when it is done, under a lock: there is no half a toolchain, and two runs do not make it twice.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result, bail};

use super::{ASK_LIMIT, TARGET, Toolchain, sysroot};
use crate::{
    repo::{self, Repo, short},
    run,
};

/// Raised with every change of the recipe below.
const RECIPE: &str = "2";
/// Debian's compiler for building browsers: newer than the one for everything else, in a stable release.
const DEBIAN_PACKAGES: [&str; 2] = ["rustc-web", "rust-web-src"];
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
const DEBIAN_RUSTLIB: &str = "/usr/lib/rustlib";
/// Carries wasi-libc and its start files for `wasm32-wasip1`, which `wasm32-wasip2` links too.
const LIBC_PACKAGE: &str = "@yowasp/clang@22.0.0-git20542-10";
/// Of that package's archive, so that nothing else gets into every guest.
const LIBC_BLAKE3: &str = "aef44e6828177d1b86c8ea00a198c50768884a9bdfa6372d6e0308a903759d5f";
const LIBC_ARCHIVE: &str = "package/gen/llvm-resources.tar";
const LIBC_FOLDER: &str = "lib/wasm32-wasip1";
/// Lists of packages: some 10 MB.
const APT_UPDATE_LIMIT: Duration = Duration::from_secs(180);
/// Some 150 MB.
const APT_INSTALL_LIMIT: Duration = Duration::from_secs(900);
/// Some 50 MB.
const NPM_LIMIT: Duration = Duration::from_secs(300);
const TAR_LIMIT: Duration = Duration::from_secs(120);
/// About a minute on two slow cores, plus the download of the crates that std is made of.
const STD_LIMIT: Duration = Duration::from_secs(1800);

/// Runs Debian's compiler with this folder as its sysroot, and lets it find the linkers beside itself.
const WRAPPER: &str = "#!/bin/sh
here=$(cd \"$(dirname \"$0\")/..\" && pwd)
PATH=\"$here/bin:$PATH\" exec /usr/bin/rustc --sysroot \"$here\" \"$@\"
";

const STD_SEED: &str = "[package]
name = \"std-seed\"
version = \"0.0.0\"
edition = \"2021\"
[lib]
crate-type = [\"rlib\"]
[profile.release]
panic = \"unwind\"
[workspace]
";

/// The file that says which standard library this is.
const IDENTITY: &str = "identity";

/// Everything a toolchain is made of.
struct Inputs {
    recipe: &'static str,
    debian_rustc: String,
    libc: &'static str,
    /// Version and place of the toolchain whose linkers are linked.
    linkers: String,
}

impl Inputs {
    fn collect(repo: &Repo) -> Result<Self> {
        let debian_rustc = run::output(Command::new(DEBIAN_RUSTC).arg("-vV"), ASK_LIMIT)?;
        let linkers = format!("{}{}", run::output(repo.rustc().arg("-vV"), ASK_LIMIT)?, sysroot(repo)?.display());
        Ok(Self { recipe: RECIPE, debian_rustc, libc: LIBC_PACKAGE, linkers })
    }

    fn key(&self) -> String {
        let mut hash = blake3::Hasher::new();
        for input in [self.recipe, &self.debian_rustc, self.libc, &self.linkers] {
            // With its length, so that nothing moves from one input to the next unseen.
            hash.update(&(input.len() as u64).to_le_bytes()).update(input.as_bytes());
        }
        short(&hash)
    }
}

/// Whether it is there already, so that it costs nothing to use it.
pub fn is_there(repo: &Repo) -> bool {
    let folder = || -> Result<PathBuf> { Ok(folder(&repo::cache()?, &Inputs::collect(repo)?)) };
    is_debian_complete() && folder().is_ok_and(|folder| folder.is_dir())
}

/// Makes it if need be.
pub fn prepare(repo: &Repo) -> Result<Toolchain> {
    let cache = repo::cache()?;
    let _lock = repo::lock(&cache.join("guest-toolchain.lock"), "putting the guest toolchain together")?;
    if !is_debian_complete() {
        install_debian_packages()?;
    }
    let inputs = Inputs::collect(repo)?;
    let folder = folder(&cache, &inputs);
    if !folder.is_dir() {
        eprintln!("Putting together a toolchain for {TARGET} in {}", folder.display());
        in_place_at_once(&folder, |partial| make(repo, partial))?;
    }
    let identity = fs::read_to_string(folder.join(IDENTITY)).with_context(|| format!("remove {} and try again", folder.display()))?;
    Ok(Toolchain { name: format!("packages-{identity}"), rustc: Some(folder.join("bin/rustc")) })
}

fn folder(cache: &Path, inputs: &Inputs) -> PathBuf {
    cache.join(format!("guest-toolchain-{}", inputs.key()))
}

/// Fills a folder so that it is there whole or not at all. To be called under the lock.
fn in_place_at_once(folder: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let partial = folder.with_extension("partial");
    if partial.exists() {
        fs::remove_dir_all(&partial).with_context(|| format!("cannot remove {}", partial.display()))?;
    }
    fs::create_dir_all(&partial)?;
    fill(&partial)?;
    fs::rename(&partial, folder).with_context(|| format!("cannot rename {} to {}", partial.display(), folder.display()))
}

fn is_debian_complete() -> bool {
    Path::new(DEBIAN_RUSTC).exists() && Path::new(DEBIAN_RUSTLIB).join("src/rust/library/std").exists()
}

fn install_debian_packages() -> Result<()> {
    let by_hand = || format!("it needs Debian's compiler: `apt-get install {}` as root", DEBIAN_PACKAGES.join(" "));
    run::step("update apt's lists", || run::quietly(apt_get()?.args(["update", "-qq"]), APT_UPDATE_LIMIT)).with_context(by_hand)?;
    run::step(&format!("install {}", DEBIAN_PACKAGES.join(" and ")), || {
        run::quietly(apt_get()?.args(["install", "-y", "-qq", "--no-install-recommends"]).args(DEBIAN_PACKAGES), APT_INSTALL_LIMIT)
    })
    .with_context(by_hand)?;
    if !is_debian_complete() {
        bail!("{} are installed, and yet {DEBIAN_RUSTC} or the source in {DEBIAN_RUSTLIB}/src is missing", DEBIAN_PACKAGES.join(" and "));
    }
    Ok(())
}

/// `apt-get` as root, if this user may be that without being asked.
pub fn apt_get() -> Result<Command> {
    let root = run::output(Command::new("id").arg("-u"), ASK_LIMIT)?.trim() == "0";
    let mut command = if root {
        Command::new("apt-get")
    } else {
        // Without asking for a password: nobody may be there to give it.
        let mut sudo = Command::new("sudo");
        sudo.args(["-n", "apt-get"]);
        sudo
    };
    // A machine just started may be upgrading itself: that is waited for.
    command.args(["-o", "DPkg::Lock::Timeout=120"]).env("DEBIAN_FRONTEND", "noninteractive");
    Ok(command)
}

fn make(repo: &Repo, folder: &Path) -> Result<()> {
    let rustlib = folder.join("lib/rustlib");
    let libraries = rustlib.join(TARGET).join("lib");
    let scratch = folder.join("build");
    for made in [&folder.join("bin"), &libraries.join("self-contained"), &scratch] {
        fs::create_dir_all(made)?;
    }
    link_compiler(folder, &rustlib)?;
    link_linkers(repo, folder)?;
    run::step("fetch wasi-libc", || fetch_libc(&scratch, &libraries.join("self-contained")))?;
    run::step("compile the standard library", || compile_std(repo, folder, &scratch, &libraries))?;
    fs::remove_dir_all(&scratch)?;
    // The same recipe gives another library in another folder.
    fs::write(folder.join(IDENTITY), identity(&libraries)?)?;
    Ok(())
}

fn identity(libraries: &Path) -> Result<String> {
    let mut files: Vec<PathBuf> = fs::read_dir(libraries)?.map(|file| Ok(file?.path())).collect::<Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "rlib"));
    files.sort();
    let mut hash = blake3::Hasher::new();
    for file in &files {
        hash.update(blake3::hash(&fs::read(file)?).as_bytes());
    }
    Ok(short(&hash))
}

fn link_compiler(folder: &Path, rustlib: &Path) -> Result<()> {
    let host = host_triple(&run::output(Command::new(DEBIAN_RUSTC).arg("-vV"), ASK_LIMIT)?)?;
    for name in ["src", &host] {
        symlink(Path::new(DEBIAN_RUSTLIB).join(name), rustlib.join(name))?;
    }
    let wrapper = folder.join("bin/rustc");
    fs::write(&wrapper, WRAPPER)?;
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// `wasm-component-ld` runs `wasm-ld`, and finds it beside itself.
fn link_linkers(repo: &Repo, folder: &Path) -> Result<()> {
    let host = host_triple(&run::output(repo.rustc().arg("-vV"), ASK_LIMIT)?)?;
    let tools = sysroot(repo)?.join("lib/rustlib").join(host).join("bin");
    for linker in ["wasm-component-ld", "gcc-ld/wasm-ld"] {
        let linker = tools.join(linker);
        if !linker.exists() {
            bail!(
                "there is no {}: it comes with the Rust toolchains that rustup installs, from 1.82 on; install one from rustup.rs",
                linker.display()
            );
        }
        let name = linker.file_name().context("a linker without a name")?;
        symlink(&linker, folder.join("bin").join(name))?;
    }
    Ok(())
}

fn host_triple(version: &str) -> Result<String> {
    let line = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(line.with_context(|| format!("rustc names no host:\n{version}"))?.to_owned())
}

fn fetch_libc(scratch: &Path, into: &Path) -> Result<()> {
    let mut npm = Command::new("npm");
    npm.args(["pack", "--silent", LIBC_PACKAGE]).current_dir(scratch);
    let archive = scratch.join(run::output(&mut npm, NPM_LIMIT).context("it needs npm, which comes with Node.js 20 or later")?.trim());
    let hash = blake3::hash(&fs::read(&archive)?).to_hex();
    if hash.as_str() != LIBC_BLAKE3 {
        bail!("the archive of {LIBC_PACKAGE} is not the known one: its BLAKE3 is {hash}, not {LIBC_BLAKE3}");
    }
    let unpack = |archive: &Path, member: &str| {
        run::quietly(Command::new("tar").arg("-xf").arg(archive).arg(member).current_dir(scratch), TAR_LIMIT)
    };
    unpack(&archive, LIBC_ARCHIVE)?;
    unpack(&scratch.join(LIBC_ARCHIVE), LIBC_FOLDER)?;
    for file in fs::read_dir(scratch.join(LIBC_FOLDER))? {
        let file = file?;
        let name = file.file_name();
        let name = name.to_string_lossy();
        if name == "libc.a" || (name.starts_with("crt1") && name.ends_with(".o")) {
            fs::copy(file.path(), into.join(&*name))?;
        }
    }
    if !into.join("libc.a").exists() {
        bail!("{LIBC_PACKAGE} has no {LIBC_FOLDER}/libc.a");
    }
    Ok(())
}

fn compile_std(repo: &Repo, folder: &Path, scratch: &Path, libraries: &Path) -> Result<()> {
    let seed = scratch.join("std");
    fs::create_dir_all(seed.join("src"))?;
    fs::write(seed.join("Cargo.toml"), STD_SEED)?;
    fs::write(seed.join("src/lib.rs"), "")?;
    let target = scratch.join("target");
    let mut cargo = repo.cargo();
    cargo
        .current_dir(&seed)
        .args(["build", "--release", "--quiet", "-Zbuild-std=std,panic_abort,proc_macro", "--target", TARGET, "--target-dir"])
        .arg(&target)
        .env("RUSTC", folder.join("bin/rustc"))
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", "-Cembed-bitcode=yes");
    for set_for_the_host in ["CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"] {
        cargo.env_remove(set_for_the_host);
    }
    run::quietly(&mut cargo, STD_LIMIT)?;
    for file in fs::read_dir(target.join(TARGET).join("release/deps"))? {
        let file = file?;
        let name = file.file_name();
        let name = name.to_string_lossy();
        if name.ends_with(".rlib") && !name.starts_with("libstd_seed") {
            fs::copy(file.path(), libraries.join(&*name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs() -> Inputs {
        Inputs { recipe: "1", debian_rustc: "rustc 1".into(), libc: "libc@1", linkers: "rustc 2 /usr".into() }
    }

    #[test]
    fn each_input_changes_the_key() {
        let key = inputs().key();
        assert_eq!(key, inputs().key());
        assert_eq!(key.len(), 16);
        let others = [
            Inputs { recipe: "2", ..inputs() },
            Inputs { debian_rustc: "rustc 1.1".into(), ..inputs() },
            Inputs { libc: "libc@2", ..inputs() },
            Inputs { linkers: "rustc 3 /usr".into(), ..inputs() },
            Inputs { debian_rustc: "rustc 1l".into(), libc: "ibc@1", ..inputs() },
        ];
        for other in others {
            assert_ne!(key, other.key());
        }
    }

    #[test]
    fn another_standard_library_has_another_identity() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("libstd.rlib"), "1").unwrap();
        let first = identity(folder.path()).unwrap();
        fs::write(folder.path().join("libstd.rlib"), "2").unwrap();
        assert_ne!(first, identity(folder.path()).unwrap());
    }

    #[test]
    fn an_interrupted_build_is_no_toolchain_and_the_next_one_starts_afresh() {
        let cache = tempfile::tempdir().unwrap();
        let folder = cache.path().join("guest-toolchain-x");
        let failed = in_place_at_once(&folder, |partial| {
            fs::write(partial.join("half"), "")?;
            bail!("interrupted")
        });
        assert!(failed.is_err() && !folder.exists());
        in_place_at_once(&folder, |partial| Ok(fs::write(partial.join("whole"), "")?)).unwrap();
        assert!(folder.join("whole").exists() && !folder.join("half").exists());
    }

    #[test]
    fn the_host_is_read_from_the_compilers_version() {
        assert_eq!(host_triple("rustc 1.95.0\nbinary: rustc\nhost: x86_64-unknown-linux-gnu\n").unwrap(), "x86_64-unknown-linux-gnu");
        assert!(host_triple("rustc 1.95.0").is_err());
    }
}
