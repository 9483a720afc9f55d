//! `wharf lab`: finds out what a client really does with resources. It serves one that changes some seconds after a client subscribes, in
//! both eras and over stdio, logs each message, and says at the end which steps of a full round each client took.
//!
//! stderr has the log; stdout has the verdicts, but over stdio, where it is the client's: then they are on stderr as well.

mod heard;
mod review;
mod round;
mod settings;
mod table;
mod verdict;

use std::{io, process::ExitCode, sync::Arc};

use anyhow::{Context, Result, bail};
use tokio::{
    net::TcpListener,
    sync::{mpsc::UnboundedReceiver, oneshot},
    time::Instant,
};
use wharf::{
    config::Watch,
    host::Host,
    transport::http::{self, HttpSettings, Limits, PATH, Plain},
};

use self::{
    heard::Event,
    review::{Review, URI},
    settings::Settings,
    table::{Table, Told},
    verdict::Verdict,
};
use super::{output, serve::run_to_end, signals::Signals};

/// Arguments of `wharf lab`.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    flags: settings::Flags,
    /// Serve the client that started this process, over stdin and stdout
    #[arg(long, conflicts_with_all = ["port", "host", "path"])]
    stdio: bool,
    /// End after the first verdict
    #[arg(long)]
    once: bool,
    /// Each verdict as a JSON object on one line
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> Result<ExitCode> {
    let Args { flags, stdio, once, json } = args;
    let settings = Settings::read(flags, |name| std::env::var(name).ok())?;
    run_to_end(async {
        let signals = Signals::new().context("cannot listen for signals")?;
        let (observer, events) = heard::channel();
        let host = Host::builder().watch(Watch::Off).observer(Arc::new(observer)).start().await?;
        let mut review = None;
        host.provider("lab", |announcer| review.insert(Review::new(announcer, &settings)).clone()).await?;
        let review = review.context("the host has no resource")?;
        let table = Table::new(settings.delay);
        let lab = Lab { table, review, events, once, json, stdio, seen: 0, all_full: true };
        if stdio { over_stdio(host, lab, signals).await } else { over_http(host, lab, signals, settings).await }
    })
}

async fn over_http(host: Host, mut lab: Lab, mut signals: Signals, settings: Settings) -> Result<ExitCode> {
    let listener = match TcpListener::bind(settings.address).await {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            bail!("{} is in use: choose another port with --port, such as --port 0 for any free one", settings.address)
        }
        bound => bound.with_context(|| format!("cannot listen on {}", settings.address))?,
    };
    let address = listener.local_addr().context("cannot tell the address listened on")?;
    let mut service = http::service(host.server().clone(), HttpSettings { bind: Some(address), ..HttpSettings::default() });
    let mut at = format!("http://{address}{PATH}");
    if let Some(path) = settings.path.as_deref().filter(|path| *path != PATH) {
        service = service.also_at(path);
        at += &format!(" and http://{address}{path}");
    }
    let delay = humantime::format_duration(settings.delay);
    output::say(&format!("serving {URI} at {at}; it changes {delay} after a client subscribes; Ctrl-C ends it with the verdicts"));
    let (stop, stopped) = oneshot::channel::<()>();
    let each = move |peer: std::net::SocketAddr| service.clone().from_peer(peer.ip().to_canonical());
    let serving = http::serve_each(listener, each, Plain, Limits::default(), async { drop(stopped.await) });
    tokio::pin!(serving);
    tokio::select! {
        // It ends by itself only if nothing can be accepted any more.
        () = &mut serving => bail!("the lab has ended by itself"),
        done = lab.run() => done?,
        () = signals.next() => {}
    }
    lab.conclude()?;
    host.end_streams();
    let _ = stop.send(());
    tokio::select! {
        () = async { serving.await; host.close().await } => Ok(lab.exit_code()),
        again = signals.again() => Err(again),
    }
}

async fn over_stdio(host: Host, mut lab: Lab, mut signals: Signals) -> Result<ExitCode> {
    let served = tokio::select! {
        served = host.stdio(tokio::io::stdin(), tokio::io::stdout(), std::future::pending()) => served,
        done = lab.run() => { done?; Ok(()) },
        () = signals.next() => Ok(()),
    };
    lab.conclude()?;
    host.end_streams();
    tokio::select! {
        () = host.close() => {}
        again = signals.again() => return Err(again),
    }
    served.context("cannot read stdin")?;
    Ok(lab.exit_code())
}

/// What happens, as it is said.
struct Lab {
    table: Table,
    review: Arc<Review>,
    events: UnboundedReceiver<Event>,
    once: bool,
    json: bool,
    stdio: bool,
    /// Verdicts said.
    seen: usize,
    all_full: bool,
}

impl Lab {
    /// Returns after the first verdict, if that is the last; else never.
    async fn run(&mut self) -> Result<()> {
        while !self.is_over() {
            let due = self.table.due();
            tokio::select! {
                event = self.events.recv() => match event {
                    Some(event) => { let told = self.table.take(event); self.say(told)?; }
                    None => std::future::pending().await,
                },
                () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    let told = self.table.tick(Instant::now());
                    self.say(told)?;
                }
            }
        }
        Ok(())
    }

    /// What has been heard and not been said yet, and the verdicts on those still open.
    fn conclude(&mut self) -> Result<()> {
        while let (false, Ok(event)) = (self.is_over(), self.events.try_recv()) {
            let told = self.table.take(event);
            self.say(told)?;
        }
        if self.is_over() {
            return Ok(());
        }
        let verdicts = self.table.conclude();
        self.say(Told { verdicts, ..Told::default() })?;
        if self.seen == 0 {
            output::say("no client has connected");
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.once && self.seen > 0
    }

    fn exit_code(&self) -> ExitCode {
        if self.seen > 0 && self.all_full { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    fn say(&mut self, Told { lines, verdicts, updates }: Told) -> Result<()> {
        lines.iter().for_each(|line| output::say(line));
        for _ in 0..updates {
            let (version, status) = self.review.update();
            output::say(&format!("[resource/update] uri={URI} status={status} version={version}"));
        }
        for verdict in verdicts {
            if self.is_over() {
                break;
            }
            self.seen += 1;
            self.all_full &= verdict.full_round;
            self.give(&verdict)?;
        }
        Ok(())
    }

    fn give(&self, verdict: &Verdict) -> Result<()> {
        let text = if self.json { serde_json::to_string(verdict).context("cannot write JSON")? + "\n" } else { verdict.text() };
        if self.stdio {
            eprint!("{text}");
            return Ok(());
        }
        output::write(text.as_bytes())
    }
}
