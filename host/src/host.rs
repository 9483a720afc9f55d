//! The composition root: makes the parts and wires them, and knows how they end.
//!
//! ```text
//! transport ── mcp ──┬── catalog ────────┐
//!                    └── subscriptions ──┴── providers
//!                              ▲                │ what they announce
//!                              └── the pump ◄───┘
//! ```

use std::{io, path::PathBuf, sync::Arc, time::Duration};

use axum::Router;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::JoinHandle,
};

use crate::{
    catalog::Catalog,
    config::Config,
    mcp::{Info, Server, pipe::Local},
    plugins::{Loader, Plan, Report},
    provider::{
        EventQueue,
        wasm::{Runtime, RuntimeError},
    },
    subscriptions::Subscriptions,
    transport::{
        http::{self, HttpSettings},
        stdio,
    },
};

/// How long a request waits for providers that have never been loaded yet, if nothing else is said.
const LOADING_TIME: Duration = Duration::from_secs(3);

/// What the model is told about this server.
const INSTRUCTIONS: &str =
    "Live context as resources: list them, read what you need, and subscribe to what you work with to be told when it changes.";

/// Why a host cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The engine for components.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// The system has no random numbers.
    #[error("no random numbers: {0}")]
    Random(getrandom::Error),
}

/// Makes a [`Host`].
#[derive(Debug)]
pub struct Builder {
    config: Config,
    plugins: Option<PathBuf>,
    loading_time: Duration,
}

impl Default for Builder {
    fn default() -> Self {
        Self { config: Config::default(), plugins: None, loading_time: LOADING_TIME }
    }
}

impl Builder {
    /// The providers that wharf.toml names, their settings and limits.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// The plugins folder.
    #[must_use]
    pub fn plugins(mut self, folder: impl Into<PathBuf>) -> Self {
        self.plugins = Some(folder.into());
        self
    }

    /// How long a request waits for providers that have never been loaded yet; 3 s if not set.
    #[must_use]
    pub fn loading_time(mut self, time: Duration) -> Self {
        self.loading_time = time;
        self
    }

    /// Starts it: it answers at once, and loads its providers meanwhile. `report` hears what became of each. Needs a tokio runtime.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn start(self, report: impl Fn(Report) + Clone + Send + Sync + 'static) -> Result<(Host, Plan), StartError> {
        let mut mark = [0; 8];
        getrandom::fill(&mut mark).map_err(StartError::Random)?;
        let catalog = Catalog::new(self.loading_time, mark);
        let subscriptions = Subscriptions::new(catalog.clone());
        let queue = Arc::<EventQueue>::default();
        let pump = tokio::spawn(pump(queue.clone(), catalog.clone(), subscriptions.clone()));
        let info = Info {
            name: "wharf".into(),
            title: Some("Wharf".into()),
            version: env!("CARGO_PKG_VERSION").into(),
            instructions: Some(INSTRUCTIONS.into()),
        };
        let server = Arc::new(Server::new(catalog.clone(), subscriptions.clone(), info));
        let loader = Arc::new(Loader::new(Runtime::new()?, catalog.clone(), queue));
        let plan = self.plugins.map_or_else(Plan::default, |folder| Plan::new(&folder, &self.config));
        let placed = loader.arrange(&plan.providers);
        let loading = tokio::spawn({
            let loader = loader.clone();
            async move { loader.load(placed, report).await }
        });
        Ok((Host { catalog, subscriptions, server, loader, pump, loading }, plan))
    }
}

/// A running host.
pub struct Host {
    catalog: Arc<Catalog>,
    subscriptions: Subscriptions,
    server: Arc<Server>,
    loader: Arc<Loader>,
    pump: JoinHandle<()>,
    loading: JoinHandle<()>,
}

impl Host {
    /// A host with no providers yet.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// What there is.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Who listens to what.
    pub fn subscriptions(&self) -> &Subscriptions {
        &self.subscriptions
    }

    /// The HTTP endpoint at [`http::PATH`], to be served by [`http::serve`] or put into an application of your own.
    pub fn router(&self, settings: HttpSettings) -> Router {
        http::router(self.server.clone(), settings)
    }

    /// Serves one client over a pair of byte streams, such as stdin and stdout, as [`stdio::serve`] does. `shutdown` is to resolve after
    /// [`Host::end_streams`]. Any number may be served at a time.
    ///
    /// # Errors
    /// Those of reading.
    pub fn stdio(
        &self,
        input: impl AsyncRead + Unpin,
        output: impl AsyncWrite + Unpin,
        shutdown: impl Future<Output = ()>,
    ) -> impl Future<Output = io::Result<()>> {
        stdio::serve(Local::new(self.server.clone()), input, output, shutdown)
    }

    /// The first half of a shutdown: ends all streams, so that connections can end.
    pub fn end_streams(&self) {
        self.server.end_streams();
    }

    /// The second half: tells the providers that nobody listens any more, waits for them, and ends them.
    pub async fn close(self) {
        self.loading.abort();
        self.subscriptions.close().await;
        self.loader.close().await;
        self.pump.abort();
    }
}

/// Takes what providers announce to where it belongs.
async fn pump(queue: Arc<EventQueue>, catalog: Arc<Catalog>, subscriptions: Subscriptions) {
    loop {
        let mut event = queue.recv().await;
        // A fresh instance may list something else.
        if event.take_list_changed() || event.up {
            catalog.list_changed(event.source);
        }
        subscriptions.event(event);
    }
}
