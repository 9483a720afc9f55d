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

//! Everything that is asked through [`Host::catalog`] and [`Host::subscriptions`] is asked for a [`Caller`], and what its [`View`] does not take in
//! does not exist for it: a program with users of its own gives each the providers that it may see, by their names. What is registered
//! directly with the host, wharf.toml's resources among it, is of the provider `wharf`.
//!
//! ```no_run
//! # async fn example(host: wharf::host::Host) -> Result<(), Box<dyn std::error::Error>> {
//! use wharf::catalog::{Caller, View};
//!
//! let ann = Caller::named("ann", View::Only(std::sync::Arc::new(["notes".into(), "wharf".into()].into())));
//! let notes = host.catalog().resources(&ann, None).await?;
//! let listener = host.subscriptions().listen(ann, true);
//! listener.subscribe(vec!["notes://today".into()]).await?;
//! # Ok(())
//! # }
//! ```

mod builder;
mod configured;
mod direct;
mod ending;
mod following;
mod hooks;
mod notice;
mod pump;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::Router;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    task::JoinHandle,
    time::{Instant, timeout_at},
};

pub use builder::{Builder, LOADING_TIME, StartError};
pub use direct::ProviderHandle;
pub use notice::Notice;
#[cfg(test)]
pub(crate) use pump::pump;

use self::{direct::Direct, hooks::Webhooks};
use crate::{
    admin::{Admin, AdminService, AtMain},
    auth::Authority,
    catalog::{Caller, Catalog, View},
    mcp::{Server, pipe::Local},
    plugins::{Loader, Plan},
    provider::{
        Announcer, Provider, ResourceInfo, TemplateInfo,
        fixed::{RegisterError, ResourceBuilder, TemplateBuilder},
        grants::Rights,
        wasm::Runtime,
    },
    subscriptions::Subscriptions,
    trace::Export,
    transport::{
        http::{self, HttpSettings, Limits, Plain, Tls},
        stdio,
    },
};

/// How long everything may take to end, unless wharf.toml says otherwise: a call into a provider (5 s by default), what it is told, and then
/// some. Container engines kill after 10 s, systemd after 90 s.
pub const SHUTDOWN_TIME: Duration = Duration::from_secs(10);

/// What is kept of that for telling the providers, after the connections; as law 9 has it.
const FAREWELL_TIME: Duration = Duration::from_secs(2);

/// What is kept of that for bringing the last spans out, if spans are brought anywhere.
const EXPORT_TIME: Duration = Duration::from_secs(1);

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
    loading_time: Duration,
    /// What HTTP is served with.
    tls: Option<Arc<Tls>>,
    /// Who is let in over HTTP.
    authority: Option<Arc<Authority>>,
    shutdown_time: Duration,
    spans: Option<Arc<dyn Export>>,
    _pump: Task,
    following: Option<Task>,
    _ending: Option<Task>,
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
        self.catalog.resources(&Caller::anyone(), None).await.map_or_else(|_| Vec::new(), |page| page.list.resources.clone())
    }

    /// All templates, likewise.
    pub async fn templates(&self) -> Vec<Arc<TemplateInfo>> {
        self.catalog.templates(&Caller::anyone(), None).await.map_or_else(|_| Vec::new(), |page| page.list.templates.clone())
    }

    /// Whether somebody lists this URI, or has a template for it.
    pub async fn has(&self, uri: &str) -> bool {
        self.catalog.loaded_for(&View::Everything, &[uri.into()]).await;
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

    /// Serves HTTP, or HTTPS if there is a [`Builder::tls`], until `stop` resolves, and then ends: streams, requests in flight, providers.
    /// After [`Host::shutdown_time`] what is left of them is cut off.
    pub async fn serve(self, listener: TcpListener, settings: HttpSettings, stop: impl Future<Output = ()> + Send) {
        let mut deadline = None;
        let stopping = async {
            stop.await;
            deadline = Some(Instant::now() + self.shutdown_time);
            self.end_streams();
        };
        let service = self.service(settings);
        let each = move |peer: SocketAddr| service.clone().from_peer(peer.ip().to_canonical());
        let limits = Limits { shutdown_time: self.shutdown_time - FAREWELL_TIME.min(self.shutdown_time / 2), ..Limits::default() };
        match self.tls.clone() {
            None => http::serve_each(listener, each, Plain, limits, stopping).await,
            Some(tls) => http::serve_each(listener, each, tls, limits, stopping).await,
        }
        let deadline = deadline.unwrap_or_else(|| Instant::now() + self.shutdown_time);
        self.close_by(deadline).await;
    }

    /// How long everything may take to end: what `[server] shutdown-time` of wharf.toml says, or [`SHUTDOWN_TIME`].
    pub fn shutdown_time(&self) -> Duration {
        self.shutdown_time
    }

    /// What the host says of itself, for an address of its own; see [`crate::admin`]. `settings` has the names of that address. From then on the
    /// most of it is at the main address no more.
    pub fn admin_service(&self, settings: HttpSettings) -> AdminService {
        AdminService::new(self.admin.clone(), settings, self.authority.clone())
    }

    /// What the host says of itself.
    pub fn admin(&self) -> &Arc<Admin> {
        &self.admin
    }

    fn service(&self, settings: HttpSettings) -> http::McpService {
        let (hooks, pages) = (Webhooks::new(&self.loader, self.loading_time), AtMain(self.admin.clone()));
        let service = http::service(self.server.clone(), settings).with_hooks(Arc::new(hooks)).with_pages(Arc::new(pages));
        service.counted(self.admin.requests().clone()).with_authority(self.authority.clone())
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

    /// The second half: tells the providers that nobody listens any more, waits for them, at most for [`Host::shutdown_time`], and ends them.
    pub async fn close(self) {
        let deadline = Instant::now() + self.shutdown_time;
        self.close_by(deadline).await;
    }

    /// The same, where the end began before: everything ends by then.
    pub async fn close_by(mut self, deadline: Instant) {
        self.following = None;
        let closing = async {
            self.subscriptions.close().await;
            self.loader.close().await;
        };
        // What is told last would be lost otherwise.
        let kept = if self.spans.is_some() { EXPORT_TIME.min(self.shutdown_time / 5) } else { Duration::ZERO };
        if timeout_at(deadline - kept, closing).await.is_err() {
            let time = humantime::format_duration(self.shutdown_time);
            tracing::warn!("not everything had ended after {time}, as [server] shutdown-time has it: what was left is cut off");
        }
        if let Some(spans) = self.spans.take() {
            spans.finish(deadline).await;
        }
    }
}

#[cfg(test)]
mod tests;
