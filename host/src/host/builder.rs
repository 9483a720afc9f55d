//! How a host is made: what it may be told, and how its parts are wired.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{
    Host, Notice, SHUTDOWN_TIME, Task,
    direct::Direct,
    ending,
    following::{self, Following, OwnFiles},
    pump,
};
use crate::{
    admin::{Admin, Feed, Parts},
    auth::Authority,
    catalog::Catalog,
    config::{Config, ConfigFile, Watch},
    mcp::{
        Info, Server,
        observe::{Both, Observer},
    },
    plugins::{
        Loader, Plan, Report, guarded,
        watch::{View, Watching},
    },
    provider::{
        EventQueue,
        fixed::RegisterError,
        grants::{
            http::{CaFileError, Client, Settings},
            store::Stores,
        },
        wasm::{Compilation, Runtime, RuntimeError},
    },
    subscriptions::Subscriptions,
    tools::Tools,
    trace::Export,
    transport::http::Tls,
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
    #[error("[fetch] ca-file: {0}")]
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
    tls: Option<Arc<Tls>>,
    authority: Option<Arc<Authority>>,
    spans: Option<Arc<dyn Export>>,
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

    /// What [`Host::serve`] serves HTTPS with, in place of HTTP; its files are followed. `[server] tls` of wharf.toml is for the program to
    /// read, as the address is: a host that serves over stdio has no use for it.
    #[must_use]
    pub fn tls(mut self, tls: Arc<Tls>) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Who is let in over HTTP; without this, everybody. Its file is followed, and who is let in no more loses what is open. `[server] auth` of
    /// wharf.toml is for the program to read ([`Authority::of`]), as the address is.
    #[must_use]
    pub fn authority(mut self, authority: Arc<Authority>) -> Self {
        self.authority = Some(authority);
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

    /// What brings the spans of this process out: the metrics tell of it, and it is given time to finish when the host ends.
    #[must_use]
    pub fn spans(mut self, export: Arc<dyn Export>) -> Self {
        self.spans = Some(export);
        self
    }

    /// Starts it. It answers at once, and loads its providers meanwhile. Needs a tokio runtime, multi-threaded if there are components.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start(self) -> Result<Host, StartError> {
        let mut mark = [0; 8];
        getrandom::fill(&mut mark).map_err(StartError::Random)?;
        let Self {
            config,
            plugins,
            loading_time,
            compilation,
            file,
            watch,
            report,
            notice,
            observer,
            tools,
            state_folder,
            tls,
            authority,
            spans,
        } = self;
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
        let guarded = guarded(plugins.as_deref().unwrap_or(Path::new("")), &config);
        let direct = Direct::start(catalog.clone(), queue.clone(), (&config.resources, guarded)).await?;
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
        let admin = Admin::new(&Parts {
            catalog: &catalog,
            subscriptions: &subscriptions,
            queue: &queue,
            server: &server,
            loader: &loader,
            runtime: &runtime,
            feed: &feed,
        });
        spans.clone().inspect(|spans| admin.tells_of(spans.clone()));
        let file = file.filter(ConfigFile::can_be_followed);
        let configured = direct.configured().clone();
        let watching = match mode {
            Watch::Off => None,
            // From here on no change is missed.
            mode => {
                let own = OwnFiles { tls: tls.clone(), authority: authority.clone() };
                let followed = following::followed(plugins.as_deref(), file.as_ref(), &config, &configured, &own);
                Some(Watching::start(followed, mode).await)
            }
        };
        let view = watching.as_ref().map_or_else(View::default, |watching| watching.view().borrow().clone());
        let plan = plugins.as_deref().map_or_else(|| Plan::of_config(&config), |folder| Plan::new(folder, &config));
        loader.follow(&plan.providers, |planned| following::rests(&view, planned));
        let (told, notice) = (feed.clone(), notice.unwrap_or_else(|| Arc::new(log)));
        let notice = Arc::new(move |said: Notice| {
            told.notice(&said);
            notice(said);
        });
        if let Some(tls) = tls.as_deref().filter(|tls| tls.is_exposed()) {
            notice(Notice::KeyExposed(tls.files().key.clone()));
        }
        let shutdown_time = config.server.shutdown_time.unwrap_or(SHUTDOWN_TIME);
        let following = watching.map(|watching| {
            let own = OwnFiles { tls: tls.clone(), authority: authority.clone() };
            let mut following = Following::new(loader.clone(), configured, (plugins, file), config, (watching, notice), (own, &server));
            following.said_of(&plan);
            Task(tokio::spawn(following.run()))
        });
        let ending = authority.clone().map(|authority| Task(tokio::spawn(ending::run(authority, Arc::downgrade(&server)))));
        Ok(Host {
            catalog,
            subscriptions,
            server,
            direct,
            loader,
            runtime,
            admin,
            plan,
            loading_time,
            tls,
            authority,
            shutdown_time,
            spans,
            _pump: pump,
            following,
            _ending: ending,
        })
    }
}

fn log(notice: Notice) {
    if notice.is_warning() {
        tracing::warn!("{notice}");
    } else {
        tracing::info!("{notice}");
    }
}
