//! Runs a build. What the compiler prints goes to the terminal as it is.
//!
//! Invariant: a build and all it has started ends with this program, or with the value that stands for it.

use std::{
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context, Result};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

use super::project::Project;

/// What a build started in the background may hold its stdout open; what it has made is known by then.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Between being asked to end and being made to.
const GRACE: Duration = Duration::from_secs(2);
const TARGET: &str = "wasm32-wasip2";
/// A shell's exit code for a command that it does not find (POSIX, Shell Command Language 2.8.2).
const NOT_FOUND: i32 = 127;

/// How a build ended.
pub(super) struct Built {
    pub took: Duration,
    /// The component; else why there is none.
    pub component: Result<PathBuf, String>,
}

/// Builds once. To be dropped only to end the build at once.
pub(super) async fn build(project: &Project) -> Result<Built> {
    let (clock, began) = (Instant::now(), SystemTime::now());
    let mut command = project.command();
    command.stdin(Stdio::null());
    if project.is_cargo() {
        command.stdout(Stdio::piped());
    } else {
        // stdout is for answers.
        command.stdout(std::io::stderr());
    }
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let program = command.get_program().to_string_lossy().into_owned();
    let child = Command::from(command).kill_on_drop(true).spawn().with_context(|| format!("cannot run {program}: is it installed?"))?;
    let mut running = Running { child };
    let stdout = running.child.stdout.take();
    let reading = async {
        let mut made = None;
        if let Some(stdout) = stdout {
            let mut lines = BufReader::new(stdout).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                made = component_of(&line, &project.folder).or(made);
            }
        }
        made
    };
    tokio::pin!(reading);
    let (status, made) = tokio::select! {
        status = running.child.wait() => (status, tokio::time::timeout(LAST_WORDS, reading).await.unwrap_or_default()),
        made = &mut reading => (running.child.wait().await, made),
    };
    let status = status.context("cannot tell how the build ended")?;
    let component = match status.success() {
        true => project.output(made.as_deref(), began).map_err(|error| format!("{error:#}")),
        false => Err(failure(project, status).await),
    };
    Ok(Built { took: clock.elapsed(), component })
}

async fn failure(project: &Project, status: ExitStatus) -> String {
    let mut reason = format!("the build failed ({status})");
    if status.code() == Some(NOT_FOUND) {
        reason += ": a program it runs is not installed; the lines above name it, and README.md what to install";
    }
    if project.is_cargo() && !has_target(&project.folder).await {
        reason += &format!(
            ", and the Rust compiler has no {TARGET}. To get it: `rustup target add {TARGET}`. Where that cannot be had, `cargo xtask guests --dir {}` in a clone of Wharf builds it with a toolchain made of packages",
            project.folder.display()
        );
        if let Some(rustc) = toolchain_of_packages() {
            reason += &format!("; it is there already, so this does it too: RUSTC={} wharf dev …", rustc.display());
        }
    }
    reason
}

/// Whether the compiler that cargo takes in this folder has the target's standard library.
async fn has_target(folder: &Path) -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let asked = Command::new(rustc).args(["--print", "sysroot"]).current_dir(folder).stdin(Stdio::null()).kill_on_drop(true).output();
    // Where it cannot be asked, the build's own words are better than a guess.
    let Ok(Ok(answer)) = tokio::time::timeout(Duration::from_secs(10), asked).await else { return true };
    let sysroot = PathBuf::from(String::from_utf8_lossy(&answer.stdout).trim());
    !answer.status.success() || sysroot.join("lib/rustlib").join(TARGET).join("lib").is_dir()
}

/// The one that `cargo xtask guests` has put together in the user's cache folder.
fn toolchain_of_packages() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))?;
    let entries = std::fs::read_dir(caches.join("wharf")).ok()?.flatten();
    let compilers = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("guest-toolchain-"));
    compilers.map(|entry| entry.path().join("bin/rustc")).find(|rustc| rustc.is_file())
}

/// The component that a line of cargo's messages names, if it is one of this folder's own package.
fn component_of(line: &str, folder: &Path) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message["reason"] != "compiler-artifact" || !Path::new(message["manifest_path"].as_str()?).starts_with(folder) {
        return None;
    }
    let files = message["filenames"].as_array()?.iter().filter_map(Value::as_str).map(PathBuf::from);
    files.into_iter().find(|file| file.extension().is_some_and(|extension| extension == "wasm"))
}

struct Running {
    child: Child,
}

impl Running {
    #[cfg(unix)]
    fn signal(&self, signal: rustix::process::Signal) {
        let id = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
        if let Some(group) = id {
            // It may have ended.
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The id is known only as long as it has not been waited for; it cannot be another's by now.
        #[cfg(unix)]
        if self.child.id().is_some() {
            self.signal(rustix::process::Signal::TERM);
            let deadline = Instant::now() + GRACE;
            while Instant::now() < deadline && matches!(self.child.try_wait(), Ok(None)) {
                std::thread::sleep(Duration::from_millis(10));
            }
            self.signal(rustix::process::Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(build: &str) -> (tempfile::TempDir, Project) {
        let folder = tempfile::tempdir().unwrap();
        let settings = format!("[dev]\nbuild = {build:?}\noutput = \"a.wasm\"\n");
        std::fs::write(folder.path().join(super::super::project::FILE), settings).unwrap();
        let project = Project::find(folder.path()).unwrap();
        (folder, project)
    }

    #[tokio::test]
    async fn a_build_runs_in_its_folder_and_gives_what_it_made() {
        let (_folder, project) = project("echo built > a.wasm");
        let built = build(&project).await.unwrap();
        assert_eq!(std::fs::read_to_string(built.component.unwrap()).unwrap(), "built\n");
    }

    #[tokio::test]
    async fn a_build_that_fails_says_how() {
        let (_folder, project) = project("exit 3");
        assert!(build(&project).await.unwrap().component.unwrap_err().contains('3'));
        let (_folder, project) = self::project("no-such-program");
        assert!(build(&project).await.unwrap().component.unwrap_err().contains("not installed"));
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_build_that_is_dropped_ends_with_all_it_started() {
        let (folder, project) = project("sleep 1000 & echo $! > child; wait");
        let child = folder.path().join("child");
        let id = {
            let building = build(&project);
            tokio::pin!(building);
            let started = async {
                loop {
                    match std::fs::read_to_string(&child) {
                        Ok(id) if id.ends_with('\n') => return id,
                        _ => tokio::time::sleep(Duration::from_millis(5)).await,
                    }
                }
            };
            let started = tokio::time::timeout(Duration::from_secs(60), started);
            tokio::select! {
                id = started => id.expect("it does not start"),
                _ = &mut building => panic!("it ended"),
            }
        };
        let id = rustix::process::Pid::from_raw(id.trim().parse().unwrap()).unwrap();
        let gone = async {
            // Until its parent, now another, has waited for it, it is still there by name.
            while rustix::process::test_kill_process(id).is_ok() && !is_zombie(id) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), gone).await.expect("it goes on");
    }

    #[cfg(unix)]
    fn is_zombie(id: rustix::process::Pid) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", id.as_raw_nonzero())).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z'))
    }

    #[test]
    fn cargo_says_which_component_it_made_and_which_is_another_package_s() {
        let line = |manifest: &str, file: &str| {
            serde_json::json!({ "reason": "compiler-artifact", "manifest_path": manifest, "filenames": [file] }).to_string()
        };
        let of = |line: &str| component_of(line, Path::new("/a"));
        assert_eq!(of(&line("/a/Cargo.toml", "/a/target/x/a.wasm")), Some("/a/target/x/a.wasm".into()));
        assert_eq!(of(&line("/a/Cargo.toml", "/a/target/liba.rlib")), None);
        assert_eq!(of(&line("/registry/b/Cargo.toml", "/a/target/x/b.wasm")), None);
        assert_eq!(of("no json"), None);
    }
}
