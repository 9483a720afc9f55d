//! The crate rmcp as a client of the matrix, in either era.
//!
//! The steps are those of the drivers in `tests/clients/`; what is rmcp's own is in [`Connection`].

mod heard;
mod lab;
mod steps;

use std::{sync::Arc, time::Instant};

use anyhow::{Context, Result, bail};
use rmcp::{
    ClientHandler, Peer, RoleClient,
    model::{
        Implementation, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ResourceContents,
        ResourceUpdatedNotificationParam, ServerNotification, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
    },
    service::{ClientLifecycleMode, ClientServiceExt, NotificationContext, RunningService, Subscription},
    transport::{StreamableHttpClientTransport, TokioChildProcess},
};
use tokio::{
    process::Command,
    sync::{mpsc, oneshot},
    task::JoinHandle,
    time::timeout,
};

pub(crate) use self::lab::full_round as lab_round;
use self::{heard::Heard, steps::Round};
use super::{
    STEPS,
    player::{Line, Target},
    report::{Outcome, Step},
};

/// Plays a round, and reports it as a driver does.
pub(super) async fn play(protocol: &'static str, target: Target, report: mpsc::Sender<Line>, done: mpsc::Receiver<()>) {
    let mut round = Round::new(protocol, target, report.clone(), done);
    for step in STEPS {
        let began = Instant::now();
        let ended = match timeout(steps::STEP_LIMIT, round.step(step)).await {
            Ok(ended) => ended,
            Err(_) => Err(anyhow::anyhow!("timeout in {step}: it took longer than {} s", steps::STEP_LIMIT.as_secs())),
        };
        let (outcome, detail) = match ended {
            Ok(detail) => (Outcome::Ok, detail),
            Err(error) => (Outcome::Failed, format!("{error:#}")),
        };
        let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        if report.send(Line::Step(Step::new(step, outcome, detail, ms))).await.is_err() {
            return;
        }
    }
}

struct Handler(Arc<Heard>);

impl ClientHandler for Handler {
    async fn on_resource_updated(&self, params: ResourceUpdatedNotificationParam, _context: NotificationContext<RoleClient>) {
        self.0.updated(params.uri);
    }

    async fn on_resource_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.0.list_changed();
    }
}

/// A `subscriptions/listen` that a task reads. It ends when this is dropped.
struct Listening {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<()>>,
}

impl Listening {
    fn new(mut subscription: Subscription, heard: Arc<Heard>) -> Self {
        let (stop, mut stopped) = oneshot::channel();
        let task = tokio::spawn(async move {
            loop {
                tokio::select! {
                    _ = &mut stopped => return Ok(subscription.cancel().await?),
                    next = subscription.next() => match next {
                        Ok(Some(ServerNotification::ResourceUpdatedNotification(updated))) => heard.updated(updated.params.uri),
                        Ok(Some(ServerNotification::ResourceListChangedNotification(_))) => heard.list_changed(),
                        Ok(Some(_)) => {}
                        Ok(None) | Err(_) => {
                            heard.interrupted();
                            return Ok(());
                        }
                    },
                }
            }
        });
        Self { stop, task }
    }

    async fn end(self) -> Result<()> {
        // If it has ended already, nobody hears this.
        let _ = self.stop.send(());
        self.task.await?
    }
}

struct Connection {
    service: RunningService<RoleClient, Handler>,
    heard: Arc<Heard>,
    /// Modern: one for the list and one for the updates, so that the one goes on when the other ends.
    lists: Option<Listening>,
    updates: Option<Listening>,
}

impl Connection {
    async fn open(protocol: &str, target: &Target, heard: Arc<Heard>) -> Result<Self> {
        let mode = if protocol == ProtocolVersion::V_2026_07_28.as_str() {
            ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
        } else {
            ClientLifecycleMode::Initialize
        };
        let handler = Handler(heard.clone());
        let service = match target {
            Target::Url(url) => {
                // Whether it was there already is of no interest.
                let _ = rustls::crypto::ring::default_provider().install_default();
                handler.serve_with_lifecycle(StreamableHttpClientTransport::from_uri(url.as_str()), mode).await?
            }
            Target::Command(words) => {
                let (program, arguments) = words.split_first().context("no command")?;
                let mut command = Command::new(program);
                command.args(arguments);
                let (child, _stderr) = TokioChildProcess::builder(command).stderr(std::process::Stdio::null()).spawn()?;
                handler.serve_with_lifecycle(child, mode).await?
            }
        };
        let mut this = Self { service, heard, lists: None, updates: None };
        if this.is_modern()? {
            this.lists = Some(this.listen(SubscriptionFilter::builder().resources_list_changed().build()).await?);
        }
        Ok(this)
    }

    fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    fn protocol(&self) -> Result<ProtocolVersion> {
        Ok(self.peer().peer_info().context("rmcp knows nothing of the server")?.protocol_version.clone())
    }

    fn is_modern(&self) -> Result<bool> {
        Ok(self.protocol()? == ProtocolVersion::V_2026_07_28)
    }

    async fn listen(&self, filter: SubscriptionFilter) -> Result<Listening> {
        let subscription = self.peer().listen(filter.clone()).await?;
        if *subscription.acknowledged() != filter {
            bail!("{filter:?} was acknowledged as {:?}", subscription.acknowledged());
        }
        Ok(Listening::new(subscription, self.heard.clone()))
    }

    /// All pages, as rmcp fetches them.
    async fn list(&self) -> Result<Vec<String>> {
        Ok(self.peer().list_all_resources().await?.into_iter().map(|resource| resource.uri).collect())
    }

    async fn page(&self, cursor: Option<String>) -> Result<(Vec<String>, Option<String>)> {
        let page = self.peer().list_resources(Some(PaginatedRequestParams::default().with_cursor(cursor))).await?;
        Ok((page.resources.into_iter().map(|resource| resource.uri).collect(), page.next_cursor))
    }

    async fn templates(&self) -> Result<Vec<String>> {
        Ok(self.peer().list_all_resource_templates().await?.into_iter().map(|template| template.uri_template).collect())
    }

    async fn complete(&self, template: &str, argument: &str, value: &str) -> Result<Vec<String>> {
        Ok(self.peer().complete_resource_simple(template, argument, value).await?)
    }

    /// The first content.
    async fn read(&self, uri: &str) -> Result<ResourceContents, rmcp::ServiceError> {
        let answer = self.peer().read_resource(ReadResourceRequestParams::new(uri)).await?;
        answer.contents.into_iter().next().ok_or(rmcp::ServiceError::UnexpectedResponse)
    }

    /// Also to changes of the list, where they have to be asked for; again after an interruption, too.
    #[expect(deprecated, reason = "the legacy era is tried, too")]
    async fn subscribe(&mut self, uris: &[&str]) -> Result<()> {
        if self.is_modern()? {
            self.unsubscribe(&[]).await?;
            if let Some(lists) = self.lists.take() {
                lists.end().await?;
            }
            self.lists = Some(self.listen(SubscriptionFilter::builder().resources_list_changed().build()).await?);
            self.updates = Some(self.listen(SubscriptionFilter::builder().resource_subscriptions(uris.iter().copied()).build()).await?);
            return Ok(());
        }
        for uri in uris {
            self.peer().subscribe(SubscribeRequestParams::new(*uri)).await?;
        }
        Ok(())
    }

    #[expect(deprecated, reason = "the legacy era is tried, too")]
    async fn unsubscribe(&mut self, uris: &[&str]) -> Result<()> {
        if let Some(updates) = self.updates.take() {
            updates.end().await?;
        }
        if !self.is_modern()? {
            for uri in uris {
                self.peer().unsubscribe(UnsubscribeRequestParams::new(*uri)).await?;
            }
        }
        Ok(())
    }

    async fn close(mut self) -> Result<String> {
        for listening in [self.updates.take(), self.lists.take()].into_iter().flatten() {
            listening.end().await?;
        }
        Ok(format!("{:?}", self.service.close().await?))
    }
}

/// rmcp's own name and version, as it tells servers.
fn rmcp() -> Implementation {
    Implementation::from_build_env()
}
