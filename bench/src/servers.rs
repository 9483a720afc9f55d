//! The servers as child processes. Each ends with the value that stands for it.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use tokio::sync::mpsc;

/// A host is up in milliseconds.
const STUCK: Duration = Duration::from_secs(10);

/// Servers in other languages: the lane, and what is run in the repository's root, with the folder of what it serves as one more argument.
pub const PEERS: [(&str, &[&str]); 2] = [
    ("typescript", &["node", "bench/peers/typescript.mjs", "tests/clients/typescript"]),
    ("fastmcp", &["tests/clients/python/mcp2/.venv/bin/python", "bench/peers/fastmcp_server.py"]),
];

/// A server.
pub struct Server {
    child: Child,
    pub address: SocketAddr,
}

impl Server {
    /// The host, with the component `texts`, which lists so many entries. `folder` is its own, and has to be empty.
    pub fn wharf(program: &Path, component: &Path, entries: usize, folder: &Path) -> Result<Self> {
        Self::wharf_with(program, component, entries, folder, "")
    }

    /// With these lines in the provider's table of wharf.toml, too.
    pub fn wharf_with(program: &Path, component: &Path, entries: usize, folder: &Path, lines: &str) -> Result<Self> {
        let (plugins, config) = (folder.join("plugins"), folder.join("wharf.toml"));
        fs::create_dir_all(&plugins)?;
        fs::copy(component, plugins.join("texts.wasm")).with_context(|| format!("cannot copy {}", component.display()))?;
        fs::write(&config, format!("[[provider]]\nname = \"texts\"\nsettings = {{ entries = \"{entries}\" }}\n{lines}\n"))?;
        let mut command = Command::new(program);
        command.args(["serve", "--http", "127.0.0.1:0", "--plugins"]).arg(&plugins).arg("--config").arg(&config);
        command.env("WHARF_CACHE_DIR", folder.join("cache")).current_dir(folder).stderr(Stdio::piped());
        let mut child = spawn(&mut command)?;
        let stderr = child.stderr.take().context("no stderr")?;
        let (mut address, mut loaded) = (None, false);
        let address = ready(&mut child, stderr, |line| {
            if let Some((_, url)) = line.split_once(" serves MCP at http://") {
                address = url.trim_end_matches("/mcp").parse().ok();
            }
            loaded |= line.starts_with("loaded");
            address.filter(|_| loaded)
        })?;
        Ok(Self { child, address })
    }

    /// A rival: this program once more.
    pub fn rival(name: &str, folder: &Path) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["rival", name]).arg(folder);
        Self::listening(command)
    }

    /// A server in another language, as [`PEERS`] says.
    pub fn peer(command: &[&str], folder: &Path) -> Result<Self> {
        let mut peer = Command::new(command[0]);
        peer.args(&command[1..]).arg(folder);
        Self::listening(peer)
    }

    fn listening(mut command: Command) -> Result<Self> {
        let mut child = spawn(command.stdout(Stdio::piped()))?;
        let stdout = child.stdout.take().context("no stdout")?;
        let address = ready(&mut child, stdout, |line| line.strip_prefix("listening ")?.parse().ok())?;
        Ok(Self { child, address })
    }

    /// Bytes of memory that are its own: resident, without what is shared with files (proc_pid_status(5)). None where the system does not
    /// say.
    pub fn memory(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let kib = status.lines().find_map(|line| line.strip_prefix("RssAnon:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok())?;
        Some(kib * 1024)
    }

    /// Memory maps that it has (proc_pid_maps(5)): a process may have some 65,000.
    pub fn maps(&self) -> Option<usize> {
        Some(fs::read_to_string(format!("/proc/{}/maps", self.child.id())).ok()?.lines().count())
    }

    /// Time that its threads have computed, in the kernel too (proc_pid_schedstat(5)). None where the system does not say.
    pub fn computed(&self) -> Option<Duration> {
        let threads = fs::read_dir(format!("/proc/{}/task", self.child.id())).ok()?;
        let of_thread =
            |folder: fs::DirEntry| fs::read_to_string(folder.path().join("schedstat")).ok()?.split(' ').next()?.parse::<u64>().ok();
        Some(Duration::from_nanos(threads.flatten().filter_map(of_thread).sum()))
    }
}

/// A host that goes on to say what it does, in JSON.
pub struct Talking {
    pub server: Server,
    said: mpsc::UnboundedReceiver<Value>,
}

impl Talking {
    /// Runs `wharf` with these arguments in a folder, in which its compile cache is too, and waits until it serves.
    pub async fn start(program: &Path, arguments: &[&str], folder: &Path) -> Result<Self> {
        Self::start_with(program, arguments, folder, &[]).await
    }

    /// With these variables in its environment, too.
    pub async fn start_with(program: &Path, arguments: &[&str], folder: &Path, variables: &[(&str, &str)]) -> Result<Self> {
        let mut command = Command::new(program);
        command.envs(variables.iter().copied());
        command.args(arguments).args(["--http", "127.0.0.1:0", "--log-format", "json"]);
        command.env("WHARF_CACHE_DIR", folder.join("cache")).current_dir(folder).stderr(Stdio::piped());
        let mut child = spawn(&mut command)?;
        let stderr = BufReader::new(child.stderr.take().context("no stderr")?);
        let (say, said) = mpsc::unbounded_channel();
        thread::spawn(move || {
            for line in stderr.lines().map_while(|line| line.ok()) {
                // What a compiler prints is no JSON. Whoever has heard enough is gone.
                let _ = say.send(serde_json::from_str(&line).unwrap_or(Value::from(line)));
            }
        });
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut talking = Self { server: Server { child, address: nowhere }, said };
        let serving = talking.says(&["serving"], STUCK).await?;
        let address = serving["url"].as_str().and_then(|url| url.strip_prefix("http://")?.strip_suffix("/mcp")?.parse().ok());
        talking.server.address = address.with_context(|| format!("no address in {serving}"))?;
        Ok(talking)
    }

    /// Waits for one of these messages; an error is one of its own.
    pub async fn says(&mut self, messages: &[&str], limit: Duration) -> Result<Value> {
        let mut before = String::new();
        let heard = async {
            while let Some(event) = self.said.recv().await {
                match (event["message"].as_str(), event["level"].as_str()) {
                    (Some(message), _) if messages.contains(&message) => return Ok(event),
                    (_, Some("ERROR")) => bail!("the host said: {before}{event}"),
                    _ => before += &format!("{event}\n"),
                }
            }
            bail!("the host ended")
        };
        let heard = tokio::time::timeout(limit, heard).await;
        heard.unwrap_or_else(|_| bail!("the host did not say {} in time", messages.join(" or "))).with_context(|| before)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(command: &mut Command) -> Result<Child> {
    let program = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).spawn().with_context(|| format!("cannot run {program}"))
}

/// Reads what a server says until it says where it is. The rest is read away, so that it never waits for its reader.
fn ready(child: &mut Child, said: impl Read + Send + 'static, mut address: impl FnMut(&str) -> Option<SocketAddr>) -> Result<SocketAddr> {
    let mut said = BufReader::new(said);
    let mut all = String::new();
    loop {
        let mut line = String::new();
        if said.read_line(&mut line)? == 0 {
            let _ = child.kill();
            let _ = child.wait();
            bail!("a server ended at once: {all}");
        }
        if let Some(address) = address(line.trim_end()) {
            thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
            return Ok(address);
        }
        all.push_str(&line);
    }
}
