//! The host under test: the real binary, serving a temporary folder on a free port.

use std::{
    env, fs,
    os::unix::fs::{MetadataExt, chown},
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    sync::watch,
};

use crate::{LIMIT, root, within, within_limit};

/// The largest takes 5 s by itself, and many times that when all are compiled for the first time, on a machine that has other things to do.
const COMPILE_LIMIT: Duration = Duration::from_secs(600);
/// A user who owns nothing; that of `nobody`, on most systems.
const NOBODY: u32 = 65534;

/// What a host is to serve.
#[derive(Default)]
pub struct Setup {
    guests: Vec<(String, PathBuf)>,
    files: Vec<(String, Vec<u8>)>,
    pipes: Vec<String>,
    config: String,
    without_privileges: bool,
    open_files: Option<u32>,
}

impl Setup {
    /// Nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// A component of `plugins/`, `tests/guests/` or `tests/languages/`, dropped into the plugins folder.
    #[must_use]
    pub fn guest(mut self, name: &str) -> Self {
        let file = format!("{name}.wasm");
        let path = ["plugins", "tests/guests", "tests/languages"]
            .map(|folder| root().join(folder).join(&file))
            .into_iter()
            .find(|path| path.exists());
        self.guests.push((file, path.unwrap_or_else(|| format!("{name}.wasm").into())));
        self
    }

    /// Any file in the plugins folder.
    #[must_use]
    pub fn file(mut self, name: &str, content: &[u8]) -> Self {
        self.files.push((name.into(), content.into()));
        self
    }

    /// A named pipe in the plugins folder, to which nobody writes.
    #[must_use]
    pub fn pipe(mut self, name: &str) -> Self {
        self.pipes.push(name.into());
        self
    }

    /// Lines of wharf.toml.
    #[must_use]
    pub fn config(mut self, lines: &str) -> Self {
        self.config += lines;
        self
    }

    /// Run by a user to whom the rights on files mean something: not by root.
    #[must_use]
    pub fn without_privileges(mut self) -> Self {
        self.without_privileges = true;
        self
    }

    /// Run with so many files that it may have open.
    #[must_use]
    pub fn open_files(mut self, count: u32) -> Self {
        self.open_files = Some(count);
        self
    }

    /// Starts the host, and waits until it says where it listens.
    ///
    /// # Errors
    /// A missing binary or component, with the command that makes it; a host that ends at once, with what it said.
    pub async fn start(self) -> Result<Host> {
        let (without_privileges, files) = (self.without_privileges, self.open_files);
        let folder = self.prepare().await?;
        // Whoever is not root cannot become somebody else, and need not.
        let is_root = fs::metadata(folder.path())?.uid() == 0;
        let user = (without_privileges && is_root).then_some(NOBODY);
        Host::run_with(folder, "127.0.0.1:0", user, files).await
    }

    /// Starts a host in a folder that was prepared, and changed since.
    ///
    /// # Errors
    /// As [`Setup::start`].
    pub async fn start_in(folder: TempDir) -> Result<Host> {
        Host::run(folder, "127.0.0.1:0", None).await
    }

    /// Makes the folder that a host would be started in: a wharf.toml, and the plugins folder beside it.
    ///
    /// # Errors
    /// A missing component, with the command that makes it.
    pub async fn prepare(self) -> Result<TempDir> {
        let folder = tempfile::tempdir()?;
        let plugins = folder.path().join("plugins");
        fs::create_dir(&plugins)?;
        for (name, from) in &self.guests {
            fs::copy(from, plugins.join(name)).with_context(|| format!("{name} is not built: run `cargo xtask guests --lang all`"))?;
        }
        for (name, content) in &self.files {
            fs::write(plugins.join(name), content)?;
        }
        for name in &self.pipes {
            let made = Command::new("mkfifo").arg(plugins.join(name)).status().await?;
            if !made.success() {
                bail!("mkfifo: {made}");
            }
        }
        fs::write(folder.path().join("wharf.toml"), &self.config)?;
        Ok(folder)
    }
}

/// A running host. It is killed when this is dropped.
pub struct Host {
    child: Child,
    address: String,
    said: watch::Receiver<()>,
    log: Arc<Mutex<String>>,
    folder: TempDir,
    user: Option<u32>,
}

impl Host {
    async fn run(folder: TempDir, at: &str, user: Option<u32>) -> Result<Self> {
        Self::run_with(folder, at, user, None).await
    }

    async fn run_with(folder: TempDir, at: &str, user: Option<u32>, files: Option<u32>) -> Result<Self> {
        let mut binary = binary()?;
        if let Some(user) = user {
            binary = handed_over(&binary, folder.path(), user)?;
        }
        let mut command = match files {
            None => Command::new(&binary),
            Some(files) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", &format!("ulimit -n {files} && exec \"$@\""), "sh"]).arg(&binary);
                shell
            }
        };
        if let Some(user) = user {
            // The caches of the user who runs the tests are not for this one.
            command.uid(user).gid(user).env("WHARF_CACHE_DIR", "off");
        }
        let mut child = command
            .args(["serve", "--http", at, "--config", "wharf.toml"])
            .current_dir(folder.path())
            // What providers keep.
            .env("XDG_DATA_HOME", folder.path().join("data"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot run {}", binary.display()))?;
        let stderr = child.stderr.take().context("the host has no stderr")?;
        let log = Arc::new(Mutex::new(String::new()));
        let (says, said) = watch::channel(());
        // Read to the end whatever happens: a host whose stderr is full would stand still.
        tokio::spawn({
            let log = log.clone();
            async move {
                let mut lines = BufReader::new(stderr).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
                    *log += &line;
                    log.push('\n');
                    says.send_replace(());
                }
            }
        });
        let mut host = Self { child, address: String::new(), said, log, folder, user };
        let log = host.wait_for_log("http://127.0.0.1:").await?;
        host.address = address(&log).context("the host's URL is not http://127.0.0.1:PORT/mcp")?;
        Ok(host)
    }

    /// `127.0.0.1:PORT`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Where MCP clients connect.
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// The folder with its wharf.toml and its plugins folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// All it has written to stderr so far.
    pub fn log(&self) -> String {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until its stderr has this text, and gives all of it.
    ///
    /// # Errors
    /// It ended without, or took too long; both with what it said.
    pub async fn wait_for_log(&mut self, text: &str) -> Result<String> {
        self.says(text, LIMIT).await
    }

    /// Waits until a provider has loaded, which takes long the first time: a component of 20 MB is compiled then.
    ///
    /// # Errors
    /// As [`Host::wait_for_log`].
    pub async fn wait_for_load(&mut self, provider: &str) -> Result<()> {
        self.says(&format!("loaded   {provider}: "), COMPILE_LIMIT).await.map(drop)
    }

    async fn says(&mut self, text: &str, limit: Duration) -> Result<String> {
        let (said, log) = (&mut self.said, &self.log);
        let found = within_limit("the host's log", limit, async {
            loop {
                let so_far = log.lock().unwrap_or_else(PoisonError::into_inner).clone();
                // Whole lines only, so that what follows the text is there too.
                if so_far.contains(text) {
                    return Ok(so_far);
                }
                if said.changed().await.is_err() {
                    bail!("the host ended");
                }
            }
        });
        let found = found.await;
        found.with_context(|| format!("waiting for {text:?}; the host said:\n{}", self.log()))
    }

    /// Kills it, and starts it anew at the same address.
    ///
    /// # Errors
    /// As [`Setup::start`].
    pub async fn restart(self) -> Result<Self> {
        self.kill().await?.start().await
    }

    /// Kills it.
    ///
    /// # Errors
    /// It does not die.
    pub async fn kill(mut self) -> Result<Dead> {
        within("the host's death", async { Ok(self.child.kill().await?) }).await?;
        Ok(Dead { folder: self.folder, address: self.address, user: self.user })
    }

    /// Sends a signal, as `kill` names it, and waits for the end.
    ///
    /// # Errors
    /// It does not end.
    pub async fn end(self, signal: &str) -> Result<(ExitStatus, String)> {
        self.signal(signal).await?;
        self.ended().await
    }

    /// Sends a signal, as `kill` names it.
    ///
    /// # Errors
    /// It has ended already.
    pub async fn signal(&self, signal: &str) -> Result<()> {
        let sent = Command::new("kill").args(["-s", signal, &self.id()?.to_string()]).status().await?;
        if !sent.success() {
            bail!("cannot send {signal} to the host");
        }
        Ok(())
    }

    /// Waits for its end; gives how it ended, and all it wrote to stderr.
    ///
    /// # Errors
    /// It does not end.
    pub async fn ended(mut self) -> Result<(ExitStatus, String)> {
        let status = within("the host's end", async { Ok(self.child.wait().await?) }).await.with_context(|| self.log())?;
        while within("the end of its stderr", async { Ok(self.said.changed().await.is_ok()) }).await? {}
        Ok((status, self.log()))
    }

    /// Its process id.
    ///
    /// # Errors
    /// It has ended already.
    pub fn id(&self) -> Result<u32> {
        self.child.id().context("the host has ended already")
    }
}

/// Gives a user the folder and what is in it, and a copy of the program that they can get at.
fn handed_over(binary: &Path, folder: &Path, user: u32) -> Result<PathBuf> {
    let copy = folder.join("wharf");
    if !copy.exists() {
        // A link takes no time, where it can be had.
        fs::hard_link(binary, &copy).or_else(|_| fs::copy(binary, &copy).map(drop)).context("cannot copy the program")?;
    }
    let give = |path: &Path| chown(path, Some(user), Some(user)).with_context(|| format!("cannot give {}", path.display()));
    give(folder)?;
    for folder in [folder.to_owned(), folder.join("plugins")] {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            // A link's owner is the owner of the program itself.
            if path != copy {
                give(&path)?;
            }
        }
    }
    Ok(copy)
}

/// What a host was started with that has been killed.
pub struct Dead {
    folder: TempDir,
    address: String,
    user: Option<u32>,
}

impl Dead {
    /// The folder with its wharf.toml and its plugins folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Starts it anew at the same address.
    ///
    /// # Errors
    /// As [`Setup::start`].
    pub async fn start(self) -> Result<Host> {
        Host::run(self.folder, &self.address, self.user).await
    }
}

pub(crate) fn binary() -> Result<PathBuf> {
    // Tests run as TARGET/PROFILE/deps/NAME; the binary is TARGET/PROFILE/wharf.
    let test = env::current_exe()?;
    let profile = test.ancestors().nth(2).context("a test outside of cargo's target folder")?;
    let binary = profile.join(format!("wharf{}", env::consts::EXE_SUFFIX));
    if !binary.exists() {
        bail!("there is no {}: run `cargo xtask test --only build`", binary.display());
    }
    Ok(binary)
}

fn address(log: &str) -> Option<String> {
    let rest = &log[log.find("http://127.0.0.1:")? + "http://".len()..];
    let (address, _) = rest.split_once("/mcp")?;
    address.split_once(':')?.1.parse::<u16>().ok().map(|_| address.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_found_in_what_the_host_says() {
        assert_eq!(address("Wharf 0.1.0\nMCP at http://127.0.0.1:4711/mcp\n").as_deref(), Some("127.0.0.1:4711"));
        assert_eq!(address("http://127.0.0.1:4711/\n"), None);
    }
}
