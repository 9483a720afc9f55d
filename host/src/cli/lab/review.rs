//! The one resource the lab serves: a review's status, which changes.

use std::sync::Arc;

use futures_util::{FutureExt, future::BoxFuture};
use parking_lot::Mutex;
use serde_json::json;
use wharf::provider::{
    Announcer, Answer, Body, Completion, CompletionRequest, Contents, Error, Occurrence, Offers, Provider, ReadRequest, Reading,
    ResourceInfo, ResourcePage, Reuse, TemplateInfo, TemplateMatch,
};

use super::settings::Settings;

/// Its URI.
pub(super) const URI: &str = "test://review/status";
const MIME_TYPE: &str = "application/json";

/// The provider of it.
pub(super) struct Review {
    announcer: Announcer,
    initial: String,
    updated: String,
    list_changed: bool,
    version: Mutex<u64>,
}

impl Review {
    /// At version 1.
    pub(super) fn new(announcer: Announcer, settings: &Settings) -> Arc<Self> {
        let Settings { initial, updated, list_changed, .. } = settings.clone();
        Arc::new(Self { announcer, initial, updated, list_changed, version: Mutex::new(1) })
    }

    /// The next version, and its status.
    pub(super) fn update(&self) -> (u64, &str) {
        let version = {
            let mut version = self.version.lock();
            *version += 1;
            *version
        };
        self.announcer.updated(URI);
        if self.list_changed {
            self.announcer.announce(Occurrence::ListChanged);
        }
        (version, self.status(version))
    }

    fn status(&self, version: u64) -> &str {
        if version == 1 { &self.initial } else { &self.updated }
    }

    fn info(&self) -> ResourceInfo {
        let mut description = "The status of a review. Subscribe to it: it changes some seconds later.".to_owned();
        if self.list_changed {
            let version = *self.version.lock();
            description += &format!(" Now: {}, version {version}.", self.status(version));
        }
        ResourceInfo {
            title: Some("Review status".into()),
            description: Some(description),
            mime_type: Some(MIME_TYPE.into()),
            ..ResourceInfo::new(URI, "review-status")
        }
    }

    fn reading(&self) -> Reading {
        let version = *self.version.lock();
        let text = json!({ "status": self.status(version), "version": version }).to_string();
        let contents = Contents { uri: None, mime_type: Some(MIME_TYPE.into()), body: Body::Text(text), meta: None };
        Reading { contents: vec![contents], version: Some(version.to_string()), reuse: None }
    }
}

impl Provider for Review {
    fn offers(&self) -> Offers {
        Offers { subscriptions: true, live: true, ..Offers::default() }
    }

    fn list(&self, _cursor: Option<String>) -> Answer<'_, ResourcePage> {
        let page = ResourcePage { resources: vec![self.info()], next_cursor: None, reuse: Some(Reuse::UntilAnnounced) };
        async { Ok(page) }.boxed()
    }

    fn templates(&self) -> Answer<'_, Vec<TemplateInfo>> {
        async { Ok(Vec::new()) }.boxed()
    }

    fn read(&self, request: ReadRequest) -> Answer<'_, Option<Reading>> {
        let read = if *request.uri == *URI { Ok(Some(self.reading())) } else { Err(Error::NotFound) };
        async { read }.boxed()
    }

    fn subscribe(&self, uri: Arc<str>, _: Option<Arc<TemplateMatch>>) -> Answer<'_, ()> {
        let known = if *uri == *URI { Ok(()) } else { Err(Error::NotFound) };
        async { known }.boxed()
    }

    fn unsubscribe(&self, _: Arc<str>) -> Answer<'_, ()> {
        async { Ok(()) }.boxed()
    }

    fn complete(&self, _: CompletionRequest) -> Answer<'_, Completion> {
        async { Ok(Completion::default()) }.boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }
}
