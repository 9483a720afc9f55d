//! `wharf serve`.

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use tokio::{net::TcpListener, sync::oneshot};
use wharf::{
    config::Config,
    host::Host,
    plugins::{Fate, Plan, Report},
    transport::http::{HttpSettings, PATH},
};

use super::{
    attach, compile,
    output::{self, count},
    signals::Signals,
    sources::{SourceArgs, Sources},
};

/// Where it listens if nothing else is said.
const DEFAULT_HTTP: &str = "127.0.0.1:8089";
/// How long a request over stdio waits for providers that load: the process has only begun, and its client gives it a while.
const STDIO_LOADING_TIME: Duration = Duration::from_secs(5);
/// After so long the user is told what is still being loaded.
const PATIENCE: Duration = Duration::from_secs(1);

/// Arguments of `wharf serve`.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Where to listen; port 0 takes a free one [default: 127.0.0.1:8089, or what wharf.toml says]
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
    /// Serve the client that started this process, over stdin and stdout
    #[arg(long, conflicts_with = "http")]
    stdio: bool,
    /// Offer the resources as tools too, for clients that know tools only
    #[arg(long, conflicts_with = "attach")]
    tools: bool,
    /// With --stdio: serve what the host at this URL serves, such as http://127.0.0.1:8089/mcp, instead of loading providers
    #[arg(long, value_name = "URL", requires = "stdio", conflicts_with_all = ["plugins", "config"])]
    attach: Option<String>,
    #[command(flatten)]
    sources: SourceArgs,
}

impl Args {
    /// Whether stdin and stdout are the client's.
    pub(super) fn is_stdio(&self) -> bool {
        self.stdio
    }
}

/// What the user is told: lines for people, or log events.
#[derive(Clone, Copy)]
struct Voice {
    json: bool,
    /// Only what is wrong: clients keep what a server says on stderr, and show it as its faults.
    quiet: bool,
}

pub(super) fn run(args: Args, json: bool) -> Result<()> {
    if let Some(url) = args.attach {
        return attach::run(&url);
    }
    let voice = Voice { json, quiet: args.stdio };
    let Sources { mut config, plugins } = args.sources.read()?;
    config.tools.enabled |= args.tools;
    if args.stdio {
        return run_to_end(serve_stdio(config, plugins, voice));
    }
    let address = match args.http.or(config.server.http) {
        Some(address) => address,
        None => DEFAULT_HTTP.parse().context("the default address")?,
    };
    run_to_end(serve(config, plugins, address, voice))
}

/// Runs what needs a runtime.
pub(super) fn run_to_end<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start threads")?;
    let done = runtime.block_on(work);
    // What still runs now cannot be stopped, such as a compilation or a read of stdin or of a file that does not come: the process ends
    // without it.
    runtime.shutdown_background();
    done
}

/// Serves one client until it closes stdin, or a signal comes.
async fn serve_stdio(config: Config, plugins: PathBuf, voice: Voice) -> Result<()> {
    let mut signals = Signals::new().context("cannot listen for signals")?;
    let report = move |report: Report| voice.report(&report);
    let builder = Host::builder().config(config).plugins(&plugins).compilation(compile::compilation());
    let host = builder.loading_time(STDIO_LOADING_TIME).on_report(report).start().await?;
    voice.plan(&plugins, host.plan());
    let shutdown = async {
        signals.next().await;
        host.end_streams();
    };
    let served = host.stdio(tokio::io::stdin(), tokio::io::stdout(), shutdown).await;
    host.end_streams();
    let ending = async {
        host.close().await;
        served.context("cannot read stdin")
    };
    tokio::select! {
        ended = ending => ended,
        () = signals.next() => bail!("ended before everything was done"),
    }
}

async fn serve(config: Config, plugins: PathBuf, address: SocketAddr, voice: Voice) -> Result<()> {
    let mut signals = Signals::new().context("cannot listen for signals")?;
    let listener = match TcpListener::bind(address).await {
        Ok(listener) => listener,
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            bail!("{address} is in use: is another wharf running? Choose another with --http, such as --http 127.0.0.1:0 for any free port")
        }
        Err(error) => return Err(error).with_context(|| format!("cannot listen on {address}")),
    };
    let address = listener.local_addr().context("cannot tell the address listened on")?;
    let settings = HttpSettings {
        bind: Some(address),
        allowed_origins: config.server.allowed_origins.clone(),
        allowed_hosts: config.server.allowed_hosts.clone(),
    };
    voice.greet(address);

    let done: Arc<Mutex<Vec<Arc<str>>>> = Arc::default();
    let report = {
        let done = done.clone();
        move |report: Report| {
            voice.report(&report);
            done.lock().unwrap_or_else(PoisonError::into_inner).push(report.name);
        }
    };
    let host = Host::builder().config(config).plugins(&plugins).compilation(compile::compilation()).on_report(report).start().await?;
    voice.plan(&plugins, host.plan());

    let planned: Vec<_> = host.plan().providers.iter().map(|planned| planned.spec.name.clone()).collect();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = host.serve(listener, settings, async { drop(stopped.await) });
    tokio::pin!(serving);
    let impatient = async {
        tokio::time::sleep(PATIENCE).await;
        let done = done.lock().unwrap_or_else(PoisonError::into_inner).clone();
        voice.still_loading(planned.iter().filter(|name| !done.contains(name)));
        std::future::pending().await
    };
    tokio::select! {
        () = signals.next() => {}
        () = impatient => {}
        // It ends by itself only if nothing can be accepted any more.
        () = &mut serving => bail!("the host has ended by itself"),
    }
    voice.say("ending; once more ends it at once");
    let _ = stop.send(());
    tokio::select! {
        () = &mut serving => Ok(()),
        () = signals.next() => bail!("ended before everything was done"),
    }
}

impl Voice {
    fn say(self, line: &str) {
        if self.json {
            tracing::info!("{line}");
        } else {
            output::say(line);
        }
    }

    fn greet(self, address: SocketAddr) {
        let url = format!("http://{address}{PATH}");
        if self.json {
            tracing::info!(url, "serving");
            return;
        }
        eprintln!(
            "Wharf {version} serves MCP at {url}\n\n\
             Claude Code  claude mcp add --transport http wharf {url}\n\
             Codex        codex mcp add wharf --url {url}\n\
             Gemini CLI   gemini mcp add --transport http wharf {url}\n\
             VS Code      code --add-mcp '{{\"name\":\"wharf\",\"type\":\"http\",\"url\":\"{url}\"}}'\n\n\
             Ctrl-C ends it.\n",
            version = env!("CARGO_PKG_VERSION"),
        );
    }

    fn plan(self, folder: &Path, plan: &Plan) {
        if let Some(error) = &plan.unreadable {
            self.warn(&format!("the plugins folder {} cannot be read: {error}; make it, or name another with --plugins", folder.display()));
        } else if plan.providers.is_empty() {
            self.warn(&format!("there is no .wasm file in {}: nothing to serve", folder.display()));
        }
        for (path, reason) in &plan.misnamed {
            self.warn(&format!("refused {}: {reason}", path.display()));
        }
    }

    fn warn(self, line: &str) {
        if self.json {
            tracing::warn!("{line}");
        } else {
            output::say(&format!("warning: {line}"));
        }
    }

    fn report(self, Report { name, path, fate }: &Report) {
        let path = path.display();
        match fate {
            Fate::Loaded { lists: Ok(()), .. } if self.quiet => {}
            Fate::Loaded { resources, templates, subscriptions, lists, took } => {
                if self.quiet {
                } else if self.json {
                    let took = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
                    tracing::info!(provider = %name, %path, resources, templates, subscriptions, took_ms = took, "loaded");
                } else {
                    let live = if *subscriptions { ", tells of changes" } else { "" };
                    let (resources, templates) = (count(*resources, "resource"), count(*templates, "template"));
                    output::say(&format!("loaded   {name}: {resources}, {templates}{live} ({path}, {} ms)", took.as_millis()));
                }
                if let Err(error) = lists {
                    self.warn(&format!("{name} did not list: {error}; it is asked again"));
                }
            }
            Fate::Refused(reason) if self.json => tracing::error!(provider = %name, %path, reason, "refused"),
            Fate::Refused(reason) => output::say(&format!("refused  {name}: {reason} ({path})")),
        }
    }

    fn still_loading<'a>(self, names: impl Iterator<Item = &'a Arc<str>>) {
        let names: Vec<&str> = names.map(|name| &**name).collect();
        if !names.is_empty() {
            self.say(&format!("still loading: {}", names.join(", ")));
        }
    }
}
