//! One client through its rounds: the host set up, the driver started, the host killed and started anew when the driver says so.

use std::{fs, path::Path, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;
use tokio::{process::Command, task::JoinSet, time::timeout};

use super::{
    CLIENTS, Client, Known, STEPS, Way,
    player::{Line, Player, Please, Target},
    report::{Outcome, Report, Step},
    told::Told,
};
use crate::{Host, Setup, binary, host::Dead};

/// Above the drivers' own limits, of 180 s at most, so that it is they who say what took so long.
const ROUND_LIMIT: Duration = Duration::from_secs(240);
/// Slow to load: a client has to be connected at once all the same, and its first list waits. No deadline ends a read that is to end with the
/// host.
const CONFIG: &str = "[limits]\ndeadline = \"60s\"\n[[provider]]\nname = \"matrix\"\npath = \"plugins/matrix.wasm\"\n[provider.settings]\nload-seconds = 1\n";

/// Takes a client through its rounds by all its ways, side by side, and writes down what became of them.
///
/// # Errors
/// A step does not hold for no known reason, or holds although it is known not to; a driver broke.
pub async fn whole_rounds(id: &str) -> Result<()> {
    let place = CLIENTS.iter().position(|client| client.id == id).with_context(|| format!("there is no client {id}"))?;
    let client = &CLIENTS[place];
    let known = Known::load()?;
    let mut rounds = JoinSet::new();
    for way in client.ways {
        rounds.spawn(round(place, *way));
    }
    let mut wrong = Vec::new();
    while let Some(ended) = rounds.join_next().await {
        match ended? {
            Err(error) => wrong.push(format!("{error:#}")),
            Ok((mut report, log)) => {
                let complaints = report.judge(client, &known);
                report.write()?;
                if !complaints.is_empty() {
                    wrong.extend(complaints);
                    wrong.push(log);
                }
            }
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// What is served, and by whom.
enum Served {
    Host(Box<Host>),
    Dead(Box<Dead>),
    /// The client starts the host, which leaves its process id in a file, and says what it says to a pipe.
    Folder(TempDir, Told),
}

const PID: &str = "pid";
const STDERR: &str = "stderr";
/// What the fixture says once a read is under way that does not end by itself.
const HANGING: &str = "this read hangs";

async fn round(place: usize, way: Way) -> Result<(Report, String)> {
    let client = &CLIENTS[place];
    let named = || format!("{} by {way:?}", client.id);
    match timeout(ROUND_LIMIT, played(place, client, way)).await {
        Ok(ended) => ended.with_context(named),
        Err(_) => bail!("{}: no end within {} s", named(), ROUND_LIMIT.as_secs()),
    }
}

async fn played(place: usize, client: &'static Client, way: Way) -> Result<(Report, String)> {
    let wharf = binary()?.to_string_lossy().into_owned();
    let setup = Setup::new().guest("matrix").config(CONFIG);
    let (mut served, target) = match way {
        Way::Http => {
            let host = setup.start().await?;
            let url = host.url();
            (Served::Host(Box::new(host)), Target::Url(url))
        }
        Way::Attached => {
            let host = setup.start().await?;
            let command = [&wharf, "serve", "--stdio", "--attach", &host.url()].map(str::to_owned).into();
            (Served::Host(Box::new(host)), Target::Command(command))
        }
        Way::Stdio => {
            let folder = setup.prepare().await?;
            let told = Told::at(&folder.path().join(STDERR)).await?;
            let command = leaving_its_pid(folder.path(), &wharf)?;
            (Served::Folder(folder, told), Target::Command(command))
        }
    };
    let mut player = Player::start(client, target)?;
    let mut report =
        Report { place, id: client.id, way, package: String::new(), version: String::new(), protocol: String::new(), steps: Vec::new() };
    while let Some(line) = player.next().await? {
        match line {
            Line::Hello { client, version, protocol } => {
                // The first time: after the restart it is the same client.
                if report.package.is_empty() {
                    (report.package, report.version, report.protocol) = (client, version, protocol.unwrap_or_default());
                }
            }
            Line::Step(step) => report.steps.push(step),
            Line::Please { please } => {
                served = match please {
                    Please::Restart => served.restart().await?,
                    Please::Kill => served.kill_under_a_read().await?,
                    Please::Start => served.start().await?,
                };
                player.done().await?;
            }
        }
    }
    player.end().await?;
    for missing in STEPS.iter().skip(report.steps.len()) {
        report.steps.push(Step::new(missing, Outcome::Failed, "not reached", 0));
    }
    Ok((report, served.log()))
}

/// `wharf serve --stdio`, as a script that leaves its process id and becomes the host. Two words, and no options among them: some clients
/// take the options of a command for their own.
fn leaving_its_pid(folder: &Path, wharf: &str) -> Result<Vec<String>> {
    let script = folder.join("serve");
    let (pid, stderr, config) = (folder.join(PID), folder.join(STDERR), folder.join("wharf.toml"));
    // The last line counts: a client may ask a first process what it speaks, and then start another.
    let text = format!(
        "echo $$ >> '{}'; exec '{wharf}' serve --stdio --log info --config '{}' 2>> '{}'\n",
        pid.display(),
        config.display(),
        stderr.display()
    );
    fs::write(&script, text)?;
    Ok(vec!["sh".into(), script.to_string_lossy().into_owned()])
}

impl Served {
    async fn restart(self) -> Result<Self> {
        match self {
            Self::Host(host) => Ok(Self::Host(Box::new(host.restart().await?))),
            Self::Dead(_) => bail!("the host is dead already"),
            Self::Folder(folder, told) => {
                kill(&folder).await?;
                Ok(Self::Folder(folder, told))
            }
        }
    }

    /// Kills it as soon as the guest says that it is in the read that does not end.
    async fn kill_under_a_read(self) -> Result<Self> {
        match self {
            Self::Host(mut host) => {
                host.wait_for_log(HANGING).await?;
                Ok(Self::Dead(Box::new(host.kill().await?)))
            }
            Self::Folder(folder, mut told) => {
                told.wait_for(HANGING).await?;
                kill(&folder).await?;
                Ok(Self::Folder(folder, told))
            }
            Self::Dead(_) => bail!("there is no host to kill"),
        }
    }

    async fn start(self) -> Result<Self> {
        match self {
            Self::Dead(dead) => Ok(Self::Host(Box::new(dead.start().await?))),
            Self::Folder(..) => Ok(self),
            Self::Host(_) => bail!("the host is alive"),
        }
    }

    fn log(&self) -> String {
        match self {
            Self::Host(host) => format!("the host said, after the restart:\n{}", host.log()),
            Self::Dead(_) => "the host was killed, and not started anew".into(),
            Self::Folder(_, told) => format!("the hosts said:\n{}", told.so_far()),
        }
    }
}

/// The host that the client started last.
async fn kill(folder: &TempDir) -> Result<()> {
    let pids = fs::read_to_string(folder.path().join(PID)).context("the client has started no host")?;
    let pid = pids.lines().last().context("no process id")?;
    let killed = Command::new("kill").args(["-s", "KILL", pid]).status().await?;
    ensure!(killed.success(), "the host that the client started is gone");
    Ok(())
}
