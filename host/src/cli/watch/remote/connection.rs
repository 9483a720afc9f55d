//! One connection to an MCP server of either era, and how it is found to be lost.
//!
//! rmcp does not say when a session's event stream is gone for good. Its retry policy is asked then, so that is where it is heard.

use std::{
    collections::HashSet,
    error::Error,
    sync::{Arc, Once},
    time::Duration,
};

use anyhow::{Context, Result, anyhow, bail};
use hyper::HeaderMap;
use indexmap::IndexSet;
use parking_lot::Mutex;
use reqwest::{Url, redirect};
use rmcp::{
    ClientHandler, ClientLifecycleMode, ClientServiceExt, RoleClient, ServiceError,
    model::{
        ClientCapabilities, ClientConfig, ErrorData, Implementation, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
        ResourceUpdatedNotificationParam, ServerNotification, SubscribeRequestParams, SubscriptionFilter,
    },
    service::{ClientCacheConfig, ClientInitializeError, NotificationContext, RunningService, Subscription},
    transport::{
        StreamableHttpClientTransport,
        common::client_side_sse::SseRetryPolicy,
        streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError},
    },
};
use tokio::sync::Notify;

use super::{Content, Place};
use crate::cli::authorities::added;

/// Of a server that takes connections and does not answer. rmcp itself waits 10 s for an answer to its first question.
const ANSWER: Duration = Duration::from_secs(30);
/// How long a peer may say nothing before it is asked whether it is still there.
const KEEPALIVE: Duration = Duration::from_secs(15);
/// Before a session's event stream is opened again that the server ended: servers may end it at any time.
const REOPEN: Duration = Duration::from_millis(500);
/// As reqwest has it.
const REDIRECTS: usize = 10;
/// Enough to find what comes near.
const LIST_PAGES: usize = 20;
/// `resources/read` of what is not there: before 2026-07-28, and since.
const NOT_FOUND: i32 = -32002;
const INVALID_PARAMS: i32 = -32602;

/// What a session was told and has not been printed yet, and whether its stream is gone.
#[derive(Debug, Default)]
struct Inbox {
    /// What it subscribed to.
    watched: Mutex<HashSet<String>>,
    /// A set: however often one is announced, it is printed once.
    updated: Mutex<IndexSet<String>>,
    lost: Mutex<bool>,
    changed: Notify,
}

/// A session's event stream is opened again once; if that fails the session is lost.
#[derive(Debug)]
struct ReopenOnce(Arc<Inbox>);

impl SseRetryPolicy for ReopenOnce {
    fn retry(&self, failed: usize) -> Option<Duration> {
        if failed == 0 {
            return Some(REOPEN);
        }
        *self.0.lost.lock() = true;
        self.0.changed.notify_one();
        None
    }
}

struct Handler(Arc<Inbox>);

impl ClientHandler for Handler {
    async fn on_resource_updated(&self, params: ResourceUpdatedNotificationParam, _: NotificationContext<RoleClient>) {
        // What nobody asked for would be without bound.
        if self.0.watched.lock().contains(&params.uri) {
            self.0.updated.lock().insert(params.uri);
            self.0.changed.notify_one();
        }
    }

    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(ClientCapabilities::default(), Implementation::new("wharf-watch", env!("CARGO_PKG_VERSION")))
    }
}

pub(super) struct Connection {
    client: RunningService<RoleClient, Handler>,
    inbox: Arc<Inbox>,
    /// Of the modern era.
    listen: Option<Subscription>,
}

impl Connection {
    /// Finds out which era the server speaks, and begins.
    pub async fn open(Place { url, headers }: Place<'_>) -> Result<Self> {
        let inbox = Arc::<Inbox>::default();
        let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str()).reinit_on_expired_session(false);
        config.retry_config = Arc::new(ReopenOnce(inbox.clone()));
        let transport = StreamableHttpClientTransport::with_client(http_client(url, headers)?, config);
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        let lifecycle = ClientLifecycleMode::Auto { preferred_versions, legacy_version: Some(ProtocolVersion::V_2025_11_25) };
        let serving = Handler(inbox.clone()).serve_with_lifecycle(transport, lifecycle);
        let client = answered(serving).await?.map_err(|error| anyhow!(deepest(&error)))?;
        // A read after an update is for what is there now.
        client.set_response_cache_config(ClientCacheConfig::disabled()).await;
        Ok(Self { client, inbox, listen: None })
    }

    fn is_modern(&self) -> bool {
        self.client.peer_info().is_some_and(|info| !info.protocol_version.has_initialize())
    }

    /// The protocol's version.
    pub fn era(&self) -> String {
        self.client.peer_info().map_or_else(String::new, |info| info.protocol_version.to_string())
    }

    pub async fn subscribe(&mut self, uris: &[String]) -> Result<()> {
        let resources = self.client.peer_info().and_then(|info| info.capabilities.resources.clone());
        match resources {
            None => bail!("the server has no resources"),
            Some(resources) if resources.subscribe != Some(true) => {
                bail!("the server takes no subscriptions: it cannot tell when a resource changes (capability resources.subscribe)")
            }
            Some(_) => {}
        }
        if !self.is_modern() {
            self.inbox.watched.lock().extend(uris.iter().cloned());
            for uri in uris {
                #[expect(deprecated, reason = "for servers of the era before the one it is deprecated in")]
                let subscribed = self.client.subscribe(SubscribeRequestParams::new(uri));
                answered(subscribed).await?.map_err(|error| anyhow!("cannot subscribe to {uri}: {}", deepest(&error)))?;
            }
            return Ok(());
        }
        let mut filter = SubscriptionFilter::new();
        filter.resource_subscriptions = Some(uris.to_vec());
        let listen = answered(self.client.listen(filter)).await?.map_err(|error| anyhow!("cannot subscribe: {}", deepest(&error)))?;
        let taken = listen.acknowledged().resource_subscriptions.clone().unwrap_or_default();
        if let Some(refused) = uris.iter().find(|uri| !taken.contains(uri)) {
            bail!("the server takes no subscription to {refused}");
        }
        self.listen = Some(listen);
        Ok(())
    }

    /// The next URI that was announced; the error says how the connection was lost.
    pub async fn next(&mut self) -> Result<String, String> {
        let Some(listen) = &mut self.listen else { return self.inbox.next().await };
        loop {
            match listen.next().await {
                Ok(Some(ServerNotification::ResourceUpdatedNotification(updated))) => return Ok(updated.params.uri),
                Ok(Some(_)) => {}
                Ok(None) => return Err("the server has ended the subscription".into()),
                Err(error) => return Err(format!("the subscription is lost: {}", deepest(&error))),
            }
        }
    }

    /// An error is one of the connection.
    pub async fn read(&self, uri: &str) -> Result<Content> {
        match answered(self.client.read_resource(ReadResourceRequestParams::new(uri))).await? {
            Ok(result) => {
                let parts: Result<Vec<_>, _> = result.contents.iter().map(serde_json::to_value).collect();
                Ok(Content::Parts(parts.context("cannot write JSON")?))
            }
            Err(ServiceError::McpError(error)) if is_not_found(&error) => Ok(Content::NotFound),
            Err(ServiceError::McpError(error)) => Ok(Content::Failed(error.message.into_owned())),
            Err(error) => bail!("{}", deepest(&error)),
        }
    }

    /// URIs that the server lists, of its first pages.
    pub async fn list(&self) -> Result<Vec<String>> {
        let (mut listed, mut cursor) = (Vec::new(), None);
        for _ in 0..LIST_PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor);
            let page = answered(self.client.list_resources(Some(params))).await?.map_err(|error| anyhow!(deepest(&error)))?;
            listed.extend(page.resources.into_iter().map(|resource| resource.uri));
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        Ok(listed)
    }

    /// Tells the server that it is over, as far as it listens.
    pub async fn close(mut self, limit: Duration) {
        if let Some(mut listen) = self.listen.take() {
            let _ = tokio::time::timeout(limit, listen.cancel()).await;
        }
        let _ = self.client.close_with_timeout(limit).await;
    }
}

impl Inbox {
    async fn next(&self) -> Result<String, String> {
        loop {
            if let Some(uri) = self.updated.lock().shift_remove_index(0) {
                return Ok(uri);
            }
            if *self.lost.lock() {
                return Err("the session's event stream is lost".into());
            }
            self.changed.notified().await;
        }
    }
}

/// In the modern era -32602 is also for other faults of a request, but then without the URI.
fn is_not_found(error: &ErrorData) -> bool {
    let names_uri = error.data.as_ref().is_some_and(|data| data.get("uri").is_some() && data.get("reason").is_none());
    error.code.0 == NOT_FOUND || error.code.0 == INVALID_PARAMS && names_uri
}

async fn answered<T>(answer: impl Future<Output = T>) -> Result<T> {
    tokio::time::timeout(ANSWER, answer).await.with_context(|| format!("no answer within {} s", ANSWER.as_secs()))
}

/// What is at the bottom of an error: rmcp's own texts name its types, and some of its errors do not say what they come from.
fn deepest(error: &(dyn Error + 'static)) -> String {
    let mut deepest = error;
    loop {
        let below: Option<&(dyn Error + 'static)> = match deepest.downcast_ref() {
            Some(ClientInitializeError::TransportError { error, .. }) => Some(error),
            Some(ClientInitializeError::LegacyFallbackFailed { fallback, .. }) => Some(&**fallback),
            _ => match deepest.downcast_ref() {
                Some(StreamableHttpError::<reqwest::Error>::Client(error)) => Some(error),
                _ => deepest.source(),
            },
        };
        match below {
            Some(below) => deepest = below,
            None => return deepest.to_string(),
        }
    }
}

/// One for this server: past a proxy if it is on this machine, and with these headers, which go to no other server.
pub(in crate::cli) fn http_client(url: &Url, headers: &HeaderMap) -> Result<reqwest::Client> {
    static PROVIDER: Once = Once::new();
    // An error says that there is one already.
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    // Pooled connections stall for 40 ms where a body was not read to its end (rmcp's own client has none for this reason).
    let mut client = reqwest::Client::builder().tcp_keepalive(KEEPALIVE).pool_max_idle_per_host(0);
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let loopback = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    if loopback {
        client = client.no_proxy();
    }
    let authorities = added().iter().map(|certificate| reqwest::Certificate::from_der(certificate)).collect::<Result<Vec<_>, _>>();
    client = client.tls_certs_merge(authorities.context("--ca-file")?);
    if !headers.is_empty() {
        // reqwest takes those it knows to be secret from a request that is sent elsewhere, and keeps all others.
        let origin = url.origin();
        let at_home =
            redirect::Policy::custom(move |attempt| match attempt.url().origin() == origin && attempt.previous().len() < REDIRECTS {
                true => attempt.follow(),
                false => attempt.stop(),
            });
        client = client.default_headers(headers.clone()).redirect(at_home);
    }
    client.build().context("cannot make an HTTP client")
}
