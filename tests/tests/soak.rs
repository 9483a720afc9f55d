//! Mixed load: what has to stay flat stays flat, and no update is lost. For [`SECONDS`], or for as long as `cargo xtask soak` says.

use std::{
    env, fs,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use wharf_tests::{Host, LIMIT, Listener, Session, Setup, call, listen, refused, version};

/// In the normal test run: some hundred rounds.
const SECONDS: u64 = 10;
/// How long it takes instead, in seconds.
const FOR: &str = "WHARF_SOAK_SECONDS";
/// Resources that are announced in turn, each with a listener in each era.
const ITEMS: usize = 4;
/// Rounds before what is there counts as what there has to be: pools are filled, caches warm.
const WARM_UP: usize = 20;
/// Providers die, and are replaced, in each so many rounds.
const DEATHS: usize = 5;
const RELOADS: usize = 7;
/// Descriptors of connections that are just being closed.
const SPARE_FILES: usize = 16;
/// What allocators keep: a third, and some.
const SPARE_MEMORY: u64 = 24 << 20;

/// What a host takes.
#[derive(Debug, Clone, Copy)]
struct Taken {
    memory: u64,
    files: usize,
}

fn taken(host: &Host) -> Result<Taken> {
    let id = host.id()?;
    let status = fs::read_to_string(format!("/proc/{id}/status"))?;
    let kib = status.lines().find_map(|line| line.strip_prefix("RssAnon:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    let memory = kib.context("no RssAnon")? << 10;
    Ok(Taken { memory, files: fs::read_dir(format!("/proc/{id}/fd"))?.count() })
}

struct Soak<'a> {
    host: &'a Host,
    /// With their items.
    listeners: Vec<(String, Listener)>,
    version: Listener,
}

impl<'a> Soak<'a> {
    async fn begin(host: &'a Host, sessions: &[Session<'_>]) -> Result<Self> {
        let mut listeners = Vec::new();
        for (item, session) in sessions.iter().enumerate() {
            let uri = format!("fanout://item/{item}");
            session.subscribe(std::slice::from_ref(&uri)).await?;
            listeners.push((uri.clone(), session.listen().await?));
            listeners.push((uri.clone(), listen(host, std::slice::from_ref(&uri)).await?));
        }
        let version = listen(host, &["version://now".into()]).await?;
        Ok(Self { host, listeners, version })
    }

    async fn round(&mut self, round: usize) -> Result<()> {
        self.announce(round % ITEMS).await?;
        self.come_and_go(round).await?;
        if round.is_multiple_of(DEATHS) {
            refused(self.host, "resources/read", json!({ "uri": "hostile://trap" })).await?;
            let began = Instant::now();
            while text(self.host, "hostile://ok").await.is_err() {
                ensure!(began.elapsed() < LIMIT, "the provider that died does not come back");
            }
        }
        if round.is_multiple_of(RELOADS) {
            self.reload(round).await?;
        }
        Ok(())
    }

    /// Whoever listens to it is told, and then reads what was announced or something newer.
    async fn announce(&mut self, item: usize) -> Result<()> {
        let uri = format!("fanout://item/{item}");
        text(self.host, &format!("fanout://do/announce/{item}")).await?;
        let announced = number(&text(self.host, &uri).await?)?;
        for (own, listener) in self.listeners.iter_mut().filter(|(own, _)| *own == uri) {
            let told = listener.update().await?;
            ensure!(told == *own, "who listens to {own} was told of {told}");
            ensure!(number(&text(self.host, &uri).await?)? >= announced, "a stale read of {own}");
        }
        Ok(())
    }

    /// Clients that stay for a moment, in both eras; the second one leaves without a word.
    async fn come_and_go(&self, round: usize) -> Result<()> {
        let session = Session::open(self.host).await?;
        session.subscribe(&[format!("fanout://item/{}", 100 + round % 50)]).await?;
        for uri in ["texts://new/4096", "texts://same/4096", "texts://kept/65536", "texts://new/65536"] {
            session.call("resources/read", json!({ "uri": uri })).await?;
        }
        session.end().await?;
        drop(listen(self.host, &[format!("fanout://item/{}", 200 + round % 50)]).await?);
        call(self.host, "resources/list", json!({})).await?;
        Ok(())
    }

    async fn reload(&mut self, round: usize) -> Result<()> {
        let name = format!("v{round}");
        let file = self.host.folder().join("plugins/versioned.wasm");
        let fresh = file.with_extension("new");
        fs::write(&fresh, version(&name)?)?;
        fs::rename(&fresh, &file)?;
        loop {
            let told = self.version.update().await?;
            ensure!(told == "version://now", "told of {told}");
            if text(self.host, "version://now").await? == name {
                return Ok(());
            }
        }
    }
}

async fn text(host: &Host, uri: &str) -> Result<String> {
    let read = call(host, "resources/read", json!({ "uri": uri })).await?;
    let text: Option<&str> = read.pointer("/contents/0/text").and_then(Value::as_str);
    Ok(text.with_context(|| format!("{read}"))?.to_owned())
}

fn number(text: &str) -> Result<u64> {
    text.strip_prefix("version ").and_then(|number| number.parse().ok()).with_context(|| format!("{text:?} is no version"))
}

#[tokio::test]
async fn under_mixed_load_memory_and_files_stay_flat_and_no_update_is_lost() -> Result<()> {
    let time = match env::var(FOR) {
        Ok(seconds) => Duration::from_secs(seconds.parse().with_context(|| format!("{FOR} wants seconds"))?),
        Err(_) => Duration::from_secs(SECONDS),
    };
    let setup = Setup::new().guest("fanout").guest("texts").guest("hostile").file("versioned.wasm", &version("v0")?);
    let mut host = setup.start().await?;
    for provider in ["fanout", "texts", "hostile", "versioned"] {
        host.wait_for_load(provider).await?;
    }
    let host = host;
    let mut sessions = Vec::new();
    for _ in 0..ITEMS {
        sessions.push(Session::open(&host).await?);
    }
    let mut soak = Soak::begin(&host, &sessions).await?;
    let (mut rounds, mut end) = (0, None);
    let before = loop {
        rounds += 1;
        soak.round(rounds).await.with_context(|| format!("round {rounds}; the host said: {}", host.log()))?;
        if rounds == WARM_UP {
            end = Some((Instant::now() + time, taken(&host)?));
        }
        if let Some((end, before)) = end
            && Instant::now() >= end
        {
            break before;
        }
    };
    let after = taken(&host)?;
    eprintln!("{rounds} rounds: {before:?}, then {after:?}");
    if after.files > before.files + SPARE_FILES || after.memory > before.memory + before.memory / 3 + SPARE_MEMORY {
        bail!("it grew in {rounds} rounds: {before:?}, then {after:?}");
    }
    Ok(())
}
