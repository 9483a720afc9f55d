//! Fixtures, and providers made of them.

use std::{
    collections::BTreeMap,
    future::{Future, poll_fn},
    io,
    net::{IpAddr, Ipv4Addr},
    path::PathBuf,
    pin::Pin,
    sync::{Arc, Mutex, OnceLock},
    task::Poll,
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use tokio::sync::OnceCell;
use wharf::provider::{
    Announcer, Body, Error, EventQueue, Provider, ProviderEvent, ReadRequest, Reading, Source,
    grants::http::{Client, Proxies, Resolve, Settings},
    wasm::{Compiled, Limits, Runtime, Spec, WasmProvider, limits::DEFAULT_MEMORY},
};

pub const SOURCE: Source = Source { slot: 1, generation: 1 };
/// For guests that are meant to overrun it: long enough for a busy machine to get there, short enough to wait for.
pub const SHORT: Duration = Duration::from_millis(200);

/// For all others: they end by themselves, on however busy a machine.
pub const LONG: Limits = Limits { memory: DEFAULT_MEMORY, deadline: Duration::from_secs(60), instances: 2 };

pub fn guest(name: &str) -> Bytes {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../tests/guests/{name}.wasm"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}: run `cargo xtask guests`", path.display())).into()
}

pub fn runtime() -> Arc<Runtime> {
    static RUNTIME: OnceLock<Arc<Runtime>> = OnceLock::new();
    let make = || {
        let runtime = Runtime::new().unwrap();
        let settings = Settings {
            authorities: Vec::new(),
            resolver: Arc::new(Names),
            proxies: Proxies::default(),
            min_period: Duration::from_millis(10),
        };
        assert!(runtime.fetch_by(Client::new(settings)));
        runtime
    };
    RUNTIME.get_or_init(make).clone()
}

/// The names that providers here can find.
struct Names;

impl Resolve for Names {
    fn resolve(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let found = match name {
            "a.example" => Ok(vec![Ipv4Addr::LOCALHOST.into()]),
            "metadata.example" => Ok(vec![Ipv4Addr::new(169, 254, 169, 254).into()]),
            _ => Err(io::Error::other("no such name")),
        };
        Box::pin(std::future::ready(found))
    }
}

pub async fn compiled(name: &'static str) -> Compiled {
    static COMPILED: Mutex<BTreeMap<&str, Arc<OnceCell<Compiled>>>> = Mutex::new(BTreeMap::new());
    let cell = COMPILED.lock().unwrap().entry(name).or_default().clone();
    cell.get_or_init(|| async { runtime().compile(name, guest(name)).await.unwrap() }).await.clone()
}

pub struct Running {
    pub provider: Arc<WasmProvider>,
    pub events: Arc<EventQueue>,
    pub announcer: Announcer,
}

pub async fn run(name: &'static str, settings: &[(&str, &str)], limits: Limits) -> Running {
    let mut spec = Spec::new(name);
    spec.settings = settings.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    spec.limits = limits;
    let events = Arc::new(EventQueue::default());
    let announcer = Announcer::new(SOURCE, events.clone());
    let provider = compiled(name).await.start(spec, announcer.clone()).await.unwrap();
    Running { provider, events, announcer }
}

pub async fn basic() -> Running {
    run("basic", &[], LONG).await
}

pub async fn hostile() -> Running {
    run("hostile", &[], Limits { deadline: SHORT, ..LONG }).await
}

pub async fn live(settings: &[(&str, &str)]) -> Running {
    run("live", settings, LONG).await
}

pub fn request(uri: &str) -> ReadRequest {
    ReadRequest { uri: uri.into(), matched: None, if_none_match: None }
}

impl Running {
    pub async fn read(&self, uri: &str) -> Result<Reading, Error> {
        self.provider.read(request(uri)).await.map(|reading| reading.expect("it is modified"))
    }

    pub async fn text(&self, uri: &str) -> String {
        text(&self.read(uri).await.unwrap())
    }

    pub async fn event(&self, wanted: impl Fn(&ProviderEvent) -> bool) -> ProviderEvent {
        loop {
            let event = self.events.recv().await;
            if wanted(&event) {
                return event;
            }
        }
    }

    /// Reads once the provider has an instance again.
    pub async fn back(&self, uri: &str) -> String {
        self.event(|event| event.up).await;
        self.text(uri).await
    }
}

pub fn text(reading: &Reading) -> String {
    match &reading.contents[0].body {
        Body::Text(text) => text.clone(),
        Body::Blob(_) => panic!("a blob"),
    }
}

pub async fn is_pending<T>(mut future: Pin<&mut (impl Future<Output = T> + ?Sized)>) -> bool {
    poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_pending())).await
}
