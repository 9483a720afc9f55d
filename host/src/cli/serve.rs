//! `wharf serve`.

use std::{
    collections::HashSet,
    io,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use tokio::{net::TcpListener, sync::oneshot, time::Instant};
use wharf::{
    config::{Auth, Config},
    host::{Builder, Host, Notice},
    plugins::Report,
    trace::Export,
    transport::http::{self, HttpSettings, Limits, PATH, Plain, Tls},
};

use super::{
    access::{self, Place},
    attach,
    authorities::CaArgs,
    compile,
    headers::HeaderArgs,
    logging,
    notify::{Notify, Status},
    signals::Signals,
    sources::{SourceArgs, Sources},
    voice::Voice,
};

/// Where it listens if nothing else is said.
pub(super) const DEFAULT_HTTP: &str = "127.0.0.1:8089";
/// How long a request over stdio waits for providers that load: the process has only begun, and its client gives it a while.
const STDIO_LOADING_TIME: Duration = Duration::from_secs(5);
/// Connections at the address for status and metrics: those who run the host and their programs, and nothing taken from the clients.
const ADMIN_CONNECTIONS: usize = 256;
/// After so long the user is told what is still being loaded.
const PATIENCE: Duration = Duration::from_secs(1);
/// A service manager is told that the end takes so much longer than everything in the host may.
const SLACK: Duration = Duration::from_secs(2);

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
    headers: HeaderArgs,
    #[command(flatten)]
    ca: CaArgs,
    #[command(flatten)]
    sources: SourceArgs,
}

impl Args {
    /// Whether stdin and stdout are the client's.
    pub(super) fn is_stdio(&self) -> bool {
        self.stdio
    }
}

pub(super) fn run(args: Args, json: bool) -> Result<()> {
    let headers = args.headers.read(args.attach.is_some())?;
    if args.attach.is_none() && args.ca.ca_file.is_some() {
        bail!("--ca-file is for --attach; whom providers trust stands in wharf.toml: [fetch] ca-file");
    }
    args.ca.trust()?;
    if let Some(url) = args.attach {
        return attach::run(&url, headers);
    }
    let voice = Voice { json, quiet: args.stdio };
    let sources = args.sources.read()?;
    if args.stdio {
        return run_to_end(serve_stdio(sources, args.tools, voice));
    }
    let address = address(args.http, &sources.config)?;
    run_to_end(serve(sources, args.tools, address, voice))
}

/// Where to listen.
pub(super) fn address(asked: Option<SocketAddr>, config: &Config) -> Result<SocketAddr> {
    match asked.or(config.server.http) {
        Some(address) => Ok(address),
        None => DEFAULT_HTTP.parse().context("the default address"),
    }
}

/// Listens there.
pub(super) async fn bind(address: SocketAddr, config: &Config) -> Result<(TcpListener, HttpSettings)> {
    access::check(address, Place::Http, config)?;
    let listener = match TcpListener::bind(address).await {
        Ok(listener) => listener,
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            bail!("{address} is in use: is another wharf running? Choose another with --http, such as --http 127.0.0.1:0 for any free port")
        }
        Err(error) => return Err(error).with_context(|| format!("cannot listen on {address}")),
    };
    let settings = HttpSettings {
        bind: Some(listener.local_addr().context("cannot tell the address listened on")?),
        allowed_origins: config.server.allowed_origins.clone(),
        allowed_hosts: config.server.allowed_hosts.clone(),
    };
    Ok((listener, settings))
}

/// What HTTPS is served with, if wharf.toml says so.
pub(super) fn tls(config: &Config) -> Result<Option<Arc<Tls>>> {
    let Some(files) = &config.server.tls else { return Ok(None) };
    Ok(Some(Arc::new(Tls::read(files)?)))
}

/// Where clients reach a host that listens there: with HTTPS by a name that its certificate is for, if one is known. The warning is for the
/// person who started it.
pub(super) fn url(address: SocketAddr, config: &Config, tls: Option<&Tls>) -> (String, Option<String>) {
    let Some(tls) = tls else { return (format!("http://{address}{PATH}"), None) };
    let mut names: Vec<String> = Vec::new();
    if !address.ip().is_unspecified() {
        names.push(address.ip().to_string());
    }
    if address.ip().is_loopback() || address.ip().is_unspecified() {
        names.extend(["localhost", "127.0.0.1", "::1"].map(String::from));
    }
    // With a port or without.
    names.extend(config.server.allowed_hosts.iter().map(|host| match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name.trim_matches(['[', ']']).to_owned(),
        _ => host.clone(),
    }));
    names.dedup();
    if let Some(name) = names.iter().find(|name| tls.is_for(name)) {
        let name = if name.parse::<IpAddr>().is_ok_and(|address| address.is_ipv6()) { format!("[{name}]") } else { name.clone() };
        return (format!("https://{name}:{}{PATH}", address.port()), None);
    }
    let warning = format!(
        "the certificate {} is for none of {}: clients refuse it unless they reach the host by a name it is for; add that name to [server] allowed-hosts",
        tls.files().certificate.display(),
        names.join(", ")
    );
    (format!("https://{address}{PATH}"), Some(warning))
}

/// Listens where status and metrics have an address of their own.
async fn bind_admin(config: &Config) -> Result<Option<(TcpListener, HttpSettings)>> {
    let Some(address) = config.server.admin else { return Ok(None) };
    access::check(address, Place::Admin, config)?;
    let listener = TcpListener::bind(address);
    let listener = listener.await.with_context(|| format!("cannot listen on {address} (wharf.toml: [server] admin)"))?;
    let settings = HttpSettings {
        bind: Some(listener.local_addr().context("cannot tell the address listened on")?),
        allowed_origins: Vec::new(),
        allowed_hosts: config.server.allowed_hosts.clone(),
    };
    Ok(Some((listener, settings)))
}

/// Ends with whoever has it.
struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
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

/// A host of these files, which follows them.
fn builder(Sources { config, plugins, file }: Sources, tools: bool, voice: Voice, notify: Notify) -> Builder {
    let builder = Host::builder().config(config).tools(tools).config_file(file).plugins(plugins).compilation(compile::compilation());
    builder.on_notice(move |notice| {
        voice.notice(&notice);
        if let Notice::ConfigRead(_) | Notice::CertificateRead(_) | Notice::TokensRead(..) = notice {
            // It has happened already, and without a moment in which nothing was served.
            notify.tell("RELOADING=1");
            notify.tell("READY=1");
        }
    })
}

/// With its spans brought out, if they are.
fn traced(builder: Builder, spans: Option<Arc<dyn Export>>) -> Builder {
    match spans {
        Some(spans) => builder.spans(spans),
        None => builder,
    }
}

/// Serves one client until it closes stdin, or a signal comes.
async fn serve_stdio(sources: Sources, tools: bool, voice: Voice) -> Result<()> {
    let mut signals = Signals::new().context("cannot listen for signals")?;
    let report = move |report: Report| voice.report(&report);
    let plugins = sources.plugins.clone();
    let spans = logging::export(&sources.config.server)?;
    let builder = builder(sources, tools, voice, Notify::default()).loading_time(STDIO_LOADING_TIME).on_report(report);
    let host = traced(builder, spans).start().await?;
    voice.plan(&plugins, host.plan());
    let mut told = None;
    let shutdown = async {
        signals.next().await;
        told = Some(Instant::now());
        host.end_streams();
    };
    let served = host.stdio(tokio::io::stdin(), tokio::io::stdout(), shutdown).await;
    host.end_streams();
    let deadline = told.unwrap_or_else(Instant::now) + host.shutdown_time();
    let ending = async {
        host.close_by(deadline).await;
        served.context("cannot read stdin")
    };
    tokio::select! {
        ended = ending => ended,
        again = signals.again() => Err(again),
    }
}

async fn serve(sources: Sources, tools: bool, address: SocketAddr, voice: Voice) -> Result<()> {
    let mut signals = Signals::new().context("cannot listen for signals")?;
    let notify = Notify::from_environment();
    let (tls, authority) = (tls(&sources.config)?, access::authority(&sources.config)?);
    let (listener, settings) = bind(address, &sources.config).await?;
    let address = listener.local_addr().context("cannot tell the address listened on")?;
    let admin = bind_admin(&sources.config).await?;
    let spans = logging::export(&sources.config.server)?;
    let (url, warning) = url(address, &sources.config, tls.as_deref());
    voice.greet(address, &url, sources.config.server.auth == Some(Auth::Tokens));
    warning.into_iter().for_each(|warning| voice.warn(&warning));
    let (how, beware) = access::words(address, &sources.config, authority.as_deref());
    how.into_iter().for_each(|how| voice.say(&how));
    beware.into_iter().for_each(|beware| voice.warn(&beware));
    if let Some((_, settings)) = &admin {
        voice.admin(settings.bind, authority.is_some());
    }

    let done: Arc<Mutex<HashSet<Arc<str>>>> = Arc::default();
    let status = Status::new(&url);
    let report = {
        let (done, status, notify) = (done.clone(), status.clone(), notify.clone());
        move |report: Report| {
            voice.report(&report);
            status.report(&report);
            notify.tell(&status.line());
            done.lock().unwrap_or_else(PoisonError::into_inner).insert(report.name);
        }
    };
    let plugins = sources.plugins.clone();
    let mut builder = builder(sources, tools, voice, notify.clone()).on_report(report);
    if let Some(tls) = tls {
        builder = builder.tls(tls);
    }
    if let Some(authority) = authority {
        builder = builder.authority(authority);
    }
    let host = traced(builder, spans).start().await?;
    voice.plan(&plugins, host.plan());

    let planned: Vec<_> = host.plan().providers.iter().map(|planned| planned.spec.name.clone()).collect();
    status.expect(&planned);
    let ending_time = host.shutdown_time() + SLACK;
    let _beat = notify.beat(host.subscriptions().clone());
    let admin = admin.map(|(listener, settings)| {
        let limits = Limits { connections: ADMIN_CONNECTIONS, ..Limits::default() };
        // Until the very end it says how things are.
        let serving = http::serve(listener, host.admin_service(settings), Plain, limits, std::future::pending());
        AbortOnDrop(tokio::spawn(serving))
    });
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = host.serve(listener, settings, async { drop(stopped.await) });
    tokio::pin!(serving);
    // It answers whatever its providers do (the socket takes connections already): those who wait for it need not wait for them.
    notify.tell(&format!("READY=1\n{}", status.line()));
    let impatient = async {
        tokio::time::sleep(PATIENCE).await;
        let done = done.lock().unwrap_or_else(PoisonError::into_inner).clone();
        voice.still_loading(planned.iter().filter(|name| !done.contains(*name)));
        std::future::pending().await
    };
    tokio::select! {
        () = signals.next() => {}
        () = impatient => {}
        // It ends by itself only if nothing can be accepted any more.
        () = &mut serving => bail!("the host has ended by itself"),
    }
    // It lives as long as the host.
    let _admin = admin;
    voice.say("ending; once more ends it at once");
    notify.tell(&format!("STOPPING=1\nSTATUS=ending\nEXTEND_TIMEOUT_USEC={}", ending_time.as_micros()));
    let _ = stop.send(());
    tokio::select! {
        () = &mut serving => Ok(()),
        again = signals.again() => Err(again),
    }
}
