//! The composition root: makes the parts and wires them, and knows how they end.
//!
//! ```text
//! transport ── mcp ──┬── catalog ────────┐
//!                    └── subscriptions ──┴── providers
//!                              ▲                │ what they announce
//!                              └── the pump ◄───┘
//! ```
//!
//! `wharf serve` is this and nothing else, and so is a program that embeds a host:
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use wharf::host::Host;
//!
//! let host = Host::builder().plugins("plugins").start().await?;
//! let status = host.resource("status").uri("app://status").read(|_| async { Ok("all is well") })?;
//! status.notify_updated();
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8089").await?;
//! host.serve(listener, Default::default(), async { drop(tokio::signal::ctrl_c().await) }).await;
//! # Ok(())
//! # }
//! ```

mod configured;
mod direct;
mod following;
mod hooks;
mod notice;
mod pump;

use std::{io, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use axum::Router;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    task::JoinHandle,
};

pub use direct::ProviderHandle;
pub use notice::Notice;
#[cfg(test)]
pub(crate) use pump::pump;

use self::{direct::Direct, following::Following, hooks::Webhooks};
use crate::{
    admin::{Admin, AdminService, AtMain, Feed, Parts},
    catalog::{Caller, Catalog},
    config::{Config, ConfigFile, Watch},
    mcp::{
        Info, Server,
        observe::{Both, Observer},
        pipe::Local,
    },
    plugins::{
        Loader, Plan, Report,
        watch::{View, Watching},
    },
    provider::{
        Announcer, EventQueue, Provider, ResourceInfo, TemplateInfo,
        fixed::{RegisterError, ResourceBuilder, TemplateBuilder},
        grants::{
            Rights,
            http::{CaFileError, Client, Settings},
            store::Stores,
        },
        wasm::{Compilation, Runtime, RuntimeError},
    },
    subscriptions::Subscriptions,
    tools::Tools,
    transport::{
        http::{self, HttpSettings, Limits, Plain},
        stdio,
    },
};

/// How long a request waits for providers that have never been loaded yet, unless [`Builder::loading_time`] says otherwise.
pub const LOADING_TIME: Duration = Duration::from_secs(3);

/// What the model is told about this server.
const INSTRUCTIONS: &str =
    "Live context as resources: list them, read what you need, and subscribe to what you work with to be told when it changes.";

/// Likewise where there are tools: most models reach nothing else.
const TOOL_INSTRUCTIONS: &str = "Live context as resources: search_resources or list_resources, then read_resource; wait_for_update tells you when \
     what you work with changes. A client that knows resources can list, read and subscribe to them as well.";

/// Why a host cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The engine for components.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// The system has no random numbers.
    #[error("no random numbers: {0}")]
    Random(getrandom::Error),
    /// The certificates that `[fetch]` of wharf.toml names.
    #[error(transparent)]
    CaFile(#[from] CaFileError),
    /// A `[[resource]]` of wharf.toml.
    #[error(transparent)]
    Resource(#[from] RegisterError),
}

/// Makes a [`Host`].
#[derive(Default)]
pub struct Builder {
    config: Config,
    plugins: Option<PathBuf>,
    loading_time: Option<Duration>,
    compilation: Compilation,
    file: Option<ConfigFile>,
    watch: Option<Watch>,
    report: Option<Box<dyn Fn(Report) + Send + Sync>>,
    notice: Option<Arc<dyn Fn(Notice) + Send + Sync>>,
    observer: Option<Arc<dyn Observer>>,
    tools: bool,
    state_folder: Option<PathBuf>,
}

impl Builder {
    /// What wharf.toml says: resources, providers with their settings and limits.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// The wharf.toml that [`Builder::config`] was read from: it is read again when it changes.
    #[must_use]
    pub fn config_file(mut self, file: ConfigFile) -> Self {
        self.file = Some(file);
        self
    }

    /// How changes of the plugins folder, of wharf.toml and of the files it names are noticed, in place of what wharf.toml says.
    #[must_use]
    pub fn watch(mut self, watch: Watch) -> Self {
        self.watch = Some(watch);
        self
    }

    /// The plugins folder. Without it there are only the providers of the configuration, and what is registered.
    #[must_use]
    pub fn plugins(mut self, folder: impl Into<PathBuf>) -> Self {
        self.plugins = Some(folder.into());
        self
    }

    /// How long a request waits for providers that have never been loaded yet; [`LOADING_TIME`], if neither this nor wharf.toml says
    /// otherwise. wharf.toml wins.
    #[must_use]
    pub fn loading_time(mut self, time: Duration) -> Self {
        self.loading_time = Some(time);
        self
    }

    /// Whether there are tools over the resources, for clients that know tools only; see [`crate::tools`]. wharf.toml may say so too.
    #[must_use]
    pub fn tools(mut self, enabled: bool) -> Self {
        self.tools = enabled;
        self
    }

    /// Where what providers keep in their stores is kept, if they are granted to; [`Stores::folder_of_user`], if this does not say otherwise.
    /// Several hosts may use it at once. A store belongs to a provider of one wharf.toml, by the real path of [`Builder::config_file`].
    #[must_use]
    pub fn state_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.state_folder = Some(folder.into());
        self
    }

    /// How components are compiled, and where their machine code is kept. By default in this process, and nowhere.
    #[must_use]
    pub fn compilation(mut self, compilation: Compilation) -> Self {
        self.compilation = compilation;
        self
    }

    /// Called with what became of each provider of the folder and of the configuration, as soon as it is known: at the start, and whenever
    /// its file or its settings change. It must not take long.
    #[must_use]
    pub fn on_report(mut self, report: impl Fn(Report) + Send + Sync + 'static) -> Self {
        self.report = Some(Box::new(report));
        self
    }

    /// Called with what there is to be said of files while it runs; without this it goes to the log. It must not take long.
    #[must_use]
    pub fn on_notice(mut self, notice: impl Fn(Notice) + Send + Sync + 'static) -> Self {
        self.notice = Some(Arc::new(notice));
        self
    }

    /// Sees the messages of all connections.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Starts it. It answers at once, and loads its providers meanwhile. Needs a tokio runtime, multi-threaded if there are components.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start(self) -> Result<Host, StartError> {
        let mut mark = [0; 8];
        getrandom::fill(&mut mark).map_err(StartError::Random)?;
        let Self { config, plugins, loading_time, compilation, file, watch, report, notice, observer, tools, state_folder } = self;
        let tools = tools || config.tools.enabled;
        let loading_time = config.server.loading_time.or(loading_time).unwrap_or(LOADING_TIME);
        let catalog = Catalog::new(loading_time, mark);
        let subscriptions = Subscriptions::new(catalog.clone());
        let queue = Arc::<EventQueue>::default();
        let feed = Arc::<Feed>::default();
        let pump = Task(tokio::spawn(pump::run(queue.clone(), catalog.clone(), subscriptions.clone(), feed.clone())));
        let info = Info {
            name: "wharf".into(),
            title: Some("Wharf".into()),
            version: env!("CARGO_PKG_VERSION").into(),
            instructions: Some(if tools { TOOL_INSTRUCTIONS } else { INSTRUCTIONS }.into()),
        };
        let mut server = Server::new(catalog.clone(), subscriptions.clone(), info);
        if tools {
            let [a, b, c, d, ..] = mark;
            server = server.with_tools(Tools::new(catalog.clone(), &subscriptions, u32::from_be_bytes([a, b, c, d])));
        }
        let observer: Arc<dyn Observer> = match observer {
            Some(observer) => Arc::new(Both(observer, feed.clone())),
            None => feed.clone(),
        };
        let server = Arc::new(server.observed(observer));
        let direct = Direct::start(catalog.clone(), queue.clone(), &config.resources).await?;
        let mode = watch.or(config.server.watch).unwrap_or_default();
        let stores =
            Stores::new(state_folder.or_else(Stores::folder_of_user), file.as_ref().map_or_else(String::new, ConfigFile::identity));
        let runtime = Runtime::keeping(compilation, stores)?.watching(mode);
        runtime.fetch_by(Client::new(Settings::of(&config.fetch)?));
        runtime.watched_by(feed.clone());
        let (told, report) = (feed.clone(), report.unwrap_or_else(|| Box::new(|_| ())));
        let report = move |said: Report| {
            told.report(&said);
            report(said);
        };
        let loader = Arc::new(Loader::new(runtime.clone(), catalog.clone(), queue.clone(), report));
        let parts = Parts {
            catalog: &catalog,
            subscriptions: &subscriptions,
            queue: &queue,
            server: &server,
            loader: &loader,
            runtime: &runtime,
            feed: &feed,
        };
        let admin = Admin::new(&parts);
        let file = file.filter(ConfigFile::can_be_followed);
        let configured = direct.configured().clone();
        let watching = match mode {
            Watch::Off => None,
            // From here on no change is missed.
            mode => Some(Watching::start(following::followed(plugins.as_deref(), file.as_ref(), &config, &configured), mode).await),
        };
        let view = watching.as_ref().map_or_else(View::default, |watching| watching.view().borrow().clone());
        let plan = plugins.as_deref().map_or_else(|| Plan::of_config(&config), |folder| Plan::new(folder, &config));
        loader.follow(&plan.providers, |planned| following::rests(&view, planned));
        let following = watching.map(|watching| {
            let (told, notice) = (feed.clone(), notice.unwrap_or_else(|| Arc::new(log)));
            let notice = Arc::new(move |said: Notice| {
                told.notice(&said);
                notice(said);
            });
            let mut following = Following::new(loader.clone(), configured, (plugins, file), config, watching, notice);
            following.said_of(&plan);
            Task(tokio::spawn(following.run()))
        });
        Ok(Host { catalog, subscriptions, server, direct, loader, runtime, admin, plan, _pump: pump, following })
    }
}

fn log(notice: Notice) {
    if notice.is_warning() {
        tracing::warn!("{notice}");
    } else {
        tracing::info!("{notice}");
    }
}

/// Ends with whoever has it, so that a host that is dropped, or cannot be started, leaves nothing behind.
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A running host. Dropping it ends it without waiting, and tells the providers nothing: [`Host::close`] does.
pub struct Host {
    catalog: Arc<Catalog>,
    subscriptions: Subscriptions,
    server: Arc<Server>,
    direct: Direct,
    loader: Arc<Loader>,
    runtime: Arc<Runtime>,
    admin: Arc<Admin>,
    plan: Plan,
    _pump: Task,
    following: Option<Task>,
}

impl Host {
    /// A host with no providers yet.
    pub fn builder() -> Builder {
        Builder::default()
    }

    // What is registered directly. It goes before all providers, in the order of registration.

    /// Begins the registration of a resource; [`ResourceBuilder::read`] ends it. No two direct registrations may have the same name.
    pub fn resource(&self, name: impl Into<String>) -> ResourceBuilder {
        self.direct.fixed().resource(name)
    }

    /// Begins the registration of a family of resources; [`TemplateBuilder::read`] ends it.
    pub fn template(&self, name: impl Into<String>, uri_template: impl Into<Arc<str>>) -> TemplateBuilder {
        self.direct.fixed().template(name, uri_template)
    }

    /// Registers a provider of the program's own; `make` gets what it announces changes by. It comes after the resources and templates
    /// registered directly, and before all components.
    ///
    /// # Errors
    /// [`RegisterError::DuplicateName`].
    pub async fn provider(
        &self,
        name: impl Into<String>,
        make: impl FnOnce(Announcer) -> Arc<dyn Provider>,
    ) -> Result<ProviderHandle, RegisterError> {
        self.direct.provider(name.into(), make).await
    }

    // What there is.

    /// All resources. Waits for providers that still load, at most the loading time.
    pub async fn resources(&self) -> Vec<Arc<ResourceInfo>> {
        // The first page needs no cursor, and so cannot be refused.
        self.catalog.resources(&Caller, None).await.map_or_else(|_| Vec::new(), |page| page.list.resources.clone())
    }

    /// All templates, likewise.
    pub async fn templates(&self) -> Vec<Arc<TemplateInfo>> {
        self.catalog.templates(&Caller, None).await.map_or_else(|_| Vec::new(), |page| page.list.templates.clone())
    }

    /// Whether somebody lists this URI, or has a template for it.
    pub async fn has(&self, uri: &str) -> bool {
        self.catalog.loaded_for(&[uri.into()]).await;
        !self.catalog.snapshot().candidates(uri).is_empty()
    }

    /// What each component is granted, and was denied since it was first loaded; by name.
    pub fn rights(&self) -> Vec<Rights> {
        self.runtime.all_rights()
    }

    /// How many listeners each subscribed URI has, sorted by URI.
    pub async fn subscribed(&self) -> Vec<(Arc<str>, usize)> {
        self.subscriptions.counts().await
    }

    /// The catalog behind all this.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// The subscriptions behind all this.
    pub fn subscriptions(&self) -> &Subscriptions {
        &self.subscriptions
    }

    /// The protocol behind all this, for a transport of your own.
    pub fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// What was to be loaded when it started.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns when every provider there is has been loaded or refused once.
    pub async fn loaded(&self) {
        self.loader.tried().await;
    }

    // Serving, and the end.

    /// The HTTP endpoint at [`http::PATH`], and webhooks at [`http::HOOKS_PREFIX`], to be put into an axum application of your own; then end
    /// it by [`Host::end_streams`] and [`Host::close`].
    pub fn router(&self, settings: HttpSettings) -> Router {
        let hooks = format!("{}{{*rest}}", http::HOOKS_PREFIX);
        let service = self.service(settings);
        Router::new().route_service(http::PATH, service.clone()).route_service(&hooks, service)
    }

    /// Serves HTTP until `stop` resolves, and then ends: streams, requests in flight (5 s at most), providers.
    pub async fn serve(self, listener: TcpListener, settings: HttpSettings, stop: impl Future<Output = ()> + Send) {
        let stopping = async {
            stop.await;
            self.end_streams();
        };
        let service = self.service(settings);
        let each = move |peer: SocketAddr| service.clone().from_peer(peer.ip().to_canonical());
        http::serve_each(listener, each, Plain, Limits::default(), stopping).await;
        self.close().await;
    }

    /// What the host says of itself, for an address of its own; see [`crate::admin`]. `settings` has the names of that address. From then on the
    /// most of it is at the main address no more.
    pub fn admin_service(&self, settings: HttpSettings) -> AdminService {
        AdminService::new(self.admin.clone(), settings)
    }

    /// What the host says of itself.
    pub fn admin(&self) -> &Arc<Admin> {
        &self.admin
    }

    fn service(&self, settings: HttpSettings) -> http::McpService {
        let (hooks, pages) = (Webhooks { loader: Arc::downgrade(&self.loader) }, AtMain(self.admin.clone()));
        let service = http::service(self.server.clone(), settings).with_hooks(Arc::new(hooks)).with_pages(Arc::new(pages));
        service.counted(self.admin.requests().clone())
    }

    /// Serves one client over a pair of byte streams, such as stdin and stdout, as [`stdio::serve`] does, until the client is done or `stop`
    /// resolves. Then its listens end, what it asked is answered (5 s at most), and nothing else of the host ends: any number may be served
    /// at a time.
    ///
    /// # Errors
    /// Those of reading.
    pub async fn stdio(
        &self,
        input: impl AsyncRead + Unpin,
        output: impl AsyncWrite + Unpin,
        stop: impl Future<Output = ()>,
    ) -> io::Result<()> {
        stdio::serve(Local::new(self.server.clone()), input, output, stop).await
    }

    /// The first half of a shutdown: ends all streams, so that connections can end.
    pub fn end_streams(&self) {
        self.server.end_streams();
    }

    /// The second half: tells the providers that nobody listens any more, waits for them, and ends them.
    pub async fn close(mut self) {
        self.following = None;
        self.subscriptions.close().await;
        self.loader.close().await;
    }
}

#[cfg(test)]
mod tests;
