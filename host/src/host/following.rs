//! Keeping a running host as its files are: wharf.toml, the files it serves, the plugins folder.
//!
//! Invariants: everything is decided on the files as they rest, whatever happened on the way; a wharf.toml that cannot be used changes nothing;
//! what cannot change while the host runs is said once.

use std::{
    collections::{BTreeMap, HashSet},
    path::{Path, PathBuf},
    sync::{Arc, Weak},
};

use super::{Notice, configured::Configured, ending};
use crate::{
    auth::Authority,
    config::{Config, ConfigFile, Fetch, Server, Tools},
    mcp,
    plugins::{
        Loader, Plan, Planned, guarded, path_of,
        watch::{Folder, Followed, Resting, View, Watching},
    },
    transport::http::Tls,
};

/// See the module's page.
pub(super) struct Following {
    pub loader: Arc<Loader>,
    pub configured: Arc<Configured>,
    pub folder: Option<PathBuf>,
    pub file: Option<ConfigFile>,
    pub config: Arc<Config>,
    pub watching: Watching,
    pub notice: Arc<dyn Fn(Notice) + Send + Sync>,
    own: OwnFiles,
    server: Weak<mcp::Server>,
    /// How wharf.toml, the certificate, the tokens and the files that resources serve rested when they were last looked at.
    seen: BTreeMap<PathBuf, Resting>,
    folder_was: Folder,
    /// Files of the folder that were said not to be loaded, and why.
    not_loaded: HashSet<(PathBuf, String)>,
    /// The settings that hold, and those that were last said not to.
    runs: Fixed,
    said: Fixed,
}

/// What has files that wharf.toml may not name any more, and that are followed all the same.
#[derive(Default)]
pub(super) struct OwnFiles {
    pub tls: Option<Arc<Tls>>,
    pub authority: Option<Arc<Authority>>,
}

impl OwnFiles {
    fn of_tls(&self) -> impl Iterator<Item = &Path> {
        self.tls.iter().flat_map(|tls| [&*tls.files().certificate, &*tls.files().key])
    }

    fn tokens(&self) -> Option<&Path> {
        self.authority.as_ref()?.file()
    }

    fn all(&self) -> impl Iterator<Item = &Path> {
        self.of_tls().chain(self.tokens())
    }
}

/// What a host follows, if it does.
pub(super) fn followed(
    folder: Option<&Path>,
    file: Option<&ConfigFile>,
    config: &Config,
    configured: &Configured,
    own: &OwnFiles,
) -> Followed {
    let mut files = configured.files();
    files.extend(own.all().map(Path::to_owned));
    files.extend(config.providers.iter().map(|provider| path_of(folder.unwrap_or(Path::new("")), provider)));
    files.extend(file.map(|file| file.path().to_owned()));
    Followed { folder: folder.map(Path::to_owned), files }
}

impl Following {
    pub(super) fn new(
        loader: Arc<Loader>,
        configured: Arc<Configured>,
        (folder, file): (Option<PathBuf>, Option<ConfigFile>),
        config: Config,
        (watching, notice): (Watching, Arc<dyn Fn(Notice) + Send + Sync>),
        (own, server): (OwnFiles, &Arc<mcp::Server>),
    ) -> Self {
        let view = watching.view().borrow().clone();
        let fixed = Fixed::of(&config);
        let mut this = Self {
            loader,
            configured,
            folder,
            file,
            config: Arc::new(config),
            watching,
            notice,
            own,
            server: Arc::downgrade(server),
            seen: BTreeMap::new(),
            folder_was: view.folder.clone(),
            not_loaded: HashSet::new(),
            runs: fixed.clone(),
            said: fixed,
        };
        this.seen = this.of_interest().into_iter().map(|path| (path.clone(), view.of(&path))).collect();
        // It was read before the first look: what was written in between would go unseen.
        if let Some(file) = this.file.as_ref().filter(|file| file.has_changed()) {
            this.seen.remove(file.path());
        }
        // And so were the certificate and the tokens, which cost nothing to read once more.
        for path in this.own.all() {
            this.seen.remove(path);
        }
        this
    }

    /// What was said of these files at the start need not be said again.
    pub(super) fn said_of(&mut self, plan: &Plan) {
        self.not_loaded.extend(plan.misnamed.iter().chain(&plan.passed_over).cloned());
    }

    /// Follows until nobody wants it any more.
    pub(super) async fn run(mut self) {
        let mut views = self.watching.view();
        loop {
            let view = views.borrow_and_update().clone();
            self.take_in(&view).await;
            if views.changed().await.is_err() {
                return;
            }
        }
    }

    async fn take_in(&mut self, view: &View) {
        self.look_at_files(view).await;
        self.look_at_folder(view);
        let planning = {
            let (folder, config, view) = (self.folder.clone(), self.config.clone(), view.clone());
            // It looks where links lead.
            tokio::task::spawn_blocking(move || plan(folder.as_deref(), &config, &view))
        };
        let Ok(plan) = planning.await else { return };
        for (path, reason) in plan.misnamed.iter().chain(&plan.passed_over) {
            if self.not_loaded.insert((path.clone(), reason.clone())) {
                (self.notice)(Notice::NotLoaded(path.clone(), reason.clone()));
            }
        }
        self.loader.follow(&plan.providers, |planned| rests(view, planned));
    }

    /// The files that are no components.
    fn of_interest(&self) -> Vec<PathBuf> {
        let file = self.file.as_ref().map(|file| file.path().to_owned());
        self.configured.files().into_iter().chain(file).chain(self.own.all().map(Path::to_owned)).collect()
    }

    async fn look_at_files(&mut self, view: &View) {
        let files = self.of_interest();
        self.seen.retain(|path, _| files.contains(path));
        let mut of_certificate = None;
        for path in files {
            // One that is followed only now is not in the view yet.
            let Some(rests) = view.files.get(&path).copied() else { continue };
            if self.seen.insert(path.clone(), rests) != Some(rests) {
                self.configured.file_changed(&path);
                if self.own.of_tls().any(|file| *file == path) {
                    of_certificate = Some(path.clone());
                }
                if self.own.tokens() == Some(&path) {
                    self.tokens_changed(&path).await;
                }
                if self.file.as_ref().is_some_and(|file| file.path() == path) {
                    self.config_changed(rests).await;
                }
            }
        }
        // Once, if both files have changed.
        if let Some(path) = of_certificate {
            self.certificate_changed(path).await;
        }
    }

    async fn tokens_changed(&self, path: &Path) {
        let Some(authority) = self.own.authority.clone() else { return };
        let reading = tokio::task::spawn_blocking(move || (authority.read_again(), authority));
        let Ok((read, authority)) = reading.await else { return };
        match read {
            Err(error) => (self.notice)(Notice::TokensRefused(error.to_string())),
            Ok(None) => {}
            Ok(Some(gone)) => {
                self.server.upgrade().inspect(|server| ending::end(server, &authority, gone));
                (self.notice)(Notice::TokensRead(path.to_owned(), authority.describe()));
            }
        }
    }

    async fn certificate_changed(&self, path: PathBuf) {
        let Some(tls) = self.own.tls.clone() else { return };
        let reading = tokio::task::spawn_blocking(move || (tls.read_again(), tls.is_exposed(), tls)).await;
        let Ok((read, exposed, tls)) = reading else { return };
        match read {
            Err(error) => (self.notice)(Notice::CertificateRefused(error.to_string())),
            Ok(false) => {}
            Ok(true) => {
                (self.notice)(Notice::CertificateRead(path));
                if exposed {
                    (self.notice)(Notice::KeyExposed(tls.files().key.clone()));
                }
            }
        }
    }

    async fn config_changed(&mut self, rests: Resting) {
        let Some(file) = self.file.take() else { return };
        if !rests.there {
            (self.notice)(Notice::ConfigGone(file.path().to_owned()));
            self.file = Some(file);
            return;
        }
        let reading = tokio::task::spawn_blocking(move || (file.read(), file)).await;
        // It panicked: there is nothing to be read any more.
        let Ok((read, file)) = reading else { return };
        let path = file.path().to_owned();
        self.file = Some(file);
        match read {
            Err(error) => (self.notice)(Notice::ConfigRefused(with_cause(&error))),
            Ok(given) => {
                if !given.ungranted.is_empty() {
                    (self.notice)(Notice::NotGranted(path.clone(), given.ungranted));
                }
                if !given.unheld.is_empty() {
                    (self.notice)(Notice::NotHeld(path.clone(), given.unheld));
                }
                if given.config == *self.config {
                    return;
                }
                if let Err(error) =
                    self.configured.set(&given.config.resources, guarded(self.folder.as_deref().unwrap_or(Path::new("")), &given.config))
                {
                    return (self.notice)(Notice::ConfigRefused(format!("{}: {error}", path.display())));
                }
                self.config = Arc::new(given.config);
                let (folder, file) = (self.folder.as_deref(), self.file.as_ref());
                self.watching.follow(followed(folder, file, &self.config, &self.configured, &self.own));
                (self.notice)(Notice::ConfigRead(path));
                self.say_what_needs_a_restart();
            }
        }
    }

    fn say_what_needs_a_restart(&mut self) {
        let new = Fixed::of(&self.config);
        if new != self.said {
            let keys = differing(&self.runs, &new);
            if !keys.is_empty() {
                (self.notice)(Notice::NeedsRestart(keys));
            }
            self.said = new;
        }
    }

    fn look_at_folder(&mut self, view: &View) {
        let Some(folder) = &self.folder else { return };
        if view.folder == self.folder_was {
            return;
        }
        let notice = match &view.folder {
            Folder::None => None,
            Folder::Read => Some(Notice::FolderBack(folder.clone())),
            Folder::Missing => Some(Notice::FolderGone(folder.clone())),
            Folder::Unreadable(reason) => Some(Notice::FolderUnreadable(folder.clone(), reason.clone())),
        };
        self.folder_was = view.folder.clone();
        notice.into_iter().for_each(|notice| (self.notice)(notice));
    }
}

/// What there is to be loaded.
pub(super) fn plan(folder: Option<&Path>, config: &Config, view: &View) -> Plan {
    let Some(folder) = folder else { return Plan::of_config(config) };
    let files = view.files.iter().filter(|(path, rests)| rests.there && path.parent() == Some(folder)).map(|(path, _)| path.clone());
    Plan::of_files(folder, files.filter(|path| path.extension().is_some_and(|extension| extension == "wasm")), config)
}

/// How a provider's file rests. One that is not followed yet is taken to be there.
pub(super) fn rests(view: &View, planned: &Planned) -> Resting {
    view.files.get(&planned.path).copied().unwrap_or(Resting { there: true, revision: 0 })
}

/// The settings that cannot change while the host runs.
#[derive(Clone, PartialEq)]
struct Fixed {
    server: Server,
    tools: Tools,
    fetch: Fetch,
}

impl Fixed {
    fn of(config: &Config) -> Self {
        Self { server: config.server.clone(), tools: config.tools, fetch: config.fetch.clone() }
    }
}

/// Those that differ.
fn differing(runs: &Fixed, new: &Fixed) -> Vec<&'static str> {
    let Server {
        http,
        admin,
        plugins,
        allowed_origins,
        allowed_hosts,
        loading_time,
        watch,
        tls,
        auth,
        tokens,
        oauth,
        shutdown_time,
        otlp,
        otlp_headers,
        otlp_ratio,
    } = &runs.server;
    let server = &new.server;
    [
        ("[server] http", *http != server.http),
        ("[server] admin", *admin != server.admin),
        ("[server] plugins", *plugins != server.plugins),
        ("[server] allowed-origins", *allowed_origins != server.allowed_origins),
        ("[server] allowed-hosts", *allowed_hosts != server.allowed_hosts),
        ("[server] loading-time", *loading_time != server.loading_time),
        ("[server] watch", *watch != server.watch),
        ("[server] tls", *tls != server.tls),
        ("[server] auth", *auth != server.auth),
        ("[server.tokens] file", *tokens != server.tokens),
        ("[server.oauth]", *oauth != server.oauth),
        ("[server] shutdown-time", *shutdown_time != server.shutdown_time),
        ("[server] otlp", *otlp != server.otlp),
        ("[server] otlp-headers", *otlp_headers != server.otlp_headers),
        ("[server] otlp-ratio", *otlp_ratio != server.otlp_ratio),
        ("[tools] enabled", runs.tools != new.tools),
        ("[fetch] ca-file", runs.fetch.ca_file != new.fetch.ca_file),
        ("[fetch] min-period", runs.fetch.min_period != new.fetch.min_period),
    ]
    .into_iter()
    .filter_map(|(key, differs)| differs.then_some(key))
    .collect()
}

/// The text with what it rests on, if it does not say that itself.
fn with_cause(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
