//! The host under test: the dev build, serving the fixture from a temporary folder on a free port.

use std::{
    fs::{self, File},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::{repo::Repo, run};

const FIXTURE: &str = "conformance";
/// Starting takes milliseconds, and compiling the fixture less than a second on an idle machine.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How often its log is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// It is killed when this is dropped.
pub struct Host {
    child: Child,
    url: String,
    _folder: TempDir,
}

impl Host {
    /// Starts it, and waits until the fixture is loaded.
    pub fn start(repo: &Repo, log: &Path) -> Result<Self> {
        let binary = repo.target()?.join("debug").join(format!("wharf{}", std::env::consts::EXE_SUFFIX));
        let fixture = repo.root.join("tests/guests").join(FIXTURE).with_extension("wasm");
        for built in [&binary, &fixture] {
            if !built.exists() {
                bail!("there is no {}: `cargo xtask conformance` builds it", built.display());
            }
        }
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let plugins = folder.path().join("plugins");
        fs::create_dir(&plugins).and_then(|()| fs::copy(&fixture, plugins.join("conformance.wasm"))).context("cannot copy the fixture")?;
        let mut command = Command::new(&binary);
        command.args(["serve", "--http", "127.0.0.1:0", "--plugins", "plugins"]).current_dir(folder.path());
        let says = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(says);
        let child = command.spawn().with_context(|| format!("cannot run `{}`", run::line(&command)))?;
        let mut host = Self { child, url: String::new(), _folder: folder };
        host.url = host.wait(log)?;
        Ok(host)
    }

    /// Where it serves MCP.
    pub fn url(&self) -> &str {
        &self.url
    }

    fn wait(&mut self, log: &Path) -> Result<String> {
        let began = Instant::now();
        loop {
            let ended = self.child.try_wait()?;
            let said = fs::read_to_string(log).with_context(|| format!("cannot read {}", log.display()))?;
            if let Some(url) = url_once_loaded(&said) {
                return Ok(url);
            }
            match ended {
                Some(status) => bail!("the host ended ({status}); it said:\n{said}"),
                None if began.elapsed() > START_LIMIT => bail!("the host has not loaded the fixture; it said:\n{said}"),
                None => thread::sleep(LOOK_EVERY),
            }
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // It may have ended by itself, which the suite has shown by then.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Its URL, once the log says that the fixture is loaded.
fn url_once_loaded(log: &str) -> Option<String> {
    let mut words = log.split_whitespace();
    let url = words.find(|word| word.starts_with("http://127.0.0.1:") && word.ends_with("/mcp"))?;
    log.lines().any(|line| line.contains("loaded") && line.contains("conformance: ")).then(|| url.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_counts_once_the_fixture_is_loaded() {
        let started = "Wharf 0.1.0 serves MCP at http://127.0.0.1:4711/mcp\n\nCtrl-C ends it.\n";
        assert_eq!(url_once_loaded(started), None);
        let loaded = format!("{started}\nloaded   conformance: 3 resources, 1 template (plugins/conformance.wasm, 337 ms)\n");
        assert_eq!(url_once_loaded(&loaded).as_deref(), Some("http://127.0.0.1:4711/mcp"));
    }
}
