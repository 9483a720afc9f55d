//! A provider for unit tests: what it holds and how it answers is set from outside.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};

use futures_util::{FutureExt, future::BoxFuture};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::{
    Announcer, Answer, Body, Completion, CompletionRequest, Contents, Error, EventQueue, Offers, Provider, ReadRequest, Reading,
    ResourceInfo, ResourcePage, Reuse, Source, TemplateInfo, TemplateMatch,
};

#[derive(Default)]
pub(crate) struct Shelf {
    pub pages: Vec<Vec<ResourceInfo>>,
    pub templates: Vec<TemplateInfo>,
    pub reuse: Option<Reuse>,
    pub list_error: Option<Error>,
    /// What reads answer; a URI that is not here is not found.
    pub readings: HashMap<String, Result<Reading, Error>>,
    /// What `subscribe` answers where it is not Ok.
    pub refusals: HashMap<String, Error>,
    /// What `complete` answers where it is not `not-found`.
    pub completion: Option<Result<Completion, Error>>,
    pub watched: HashSet<Arc<str>>,
    /// The calls it got, in order.
    pub calls: Vec<String>,
}

pub(crate) struct Memory {
    pub shelf: Mutex<Shelf>,
    pub announcer: Announcer,
    /// Calls go on only while there are permits.
    gate: Semaphore,
    /// Calls never end.
    pub stuck: AtomicBool,
    offers: Offers,
}

impl Memory {
    pub fn new(slot: u32, queue: &Arc<EventQueue>, offers: Offers) -> Arc<Self> {
        Self::generation(Source { slot, generation: 1 }, queue, offers)
    }

    pub fn generation(source: Source, queue: &Arc<EventQueue>, offers: Offers) -> Arc<Self> {
        let announcer = Announcer::new(source, queue.clone());
        Arc::new(Self {
            shelf: Mutex::default(),
            announcer,
            gate: Semaphore::new(Semaphore::MAX_PERMITS),
            stuck: AtomicBool::new(false),
            offers,
        })
    }

    /// Lists a URI with this text behind it.
    pub fn put(&self, uri: &str, text: &str) {
        let mut shelf = self.shelf.lock();
        if shelf.pages.is_empty() {
            shelf.pages.push(Vec::new());
        }
        if !shelf.pages[0].iter().any(|resource| &*resource.uri == uri) {
            shelf.pages[0].push(ResourceInfo::new(uri, uri));
        }
        shelf.readings.insert(uri.to_owned(), Ok(reading(text)));
    }

    /// Only closes the gate: calls that came before pass.
    pub fn shut(&self) {
        self.gate.forget_permits(Semaphore::MAX_PERMITS);
    }

    pub fn open(&self) {
        self.gate.add_permits(Semaphore::MAX_PERMITS / 2);
    }

    pub fn calls(&self) -> Vec<String> {
        self.shelf.lock().calls.clone()
    }

    async fn call<T>(&self, call: String, answer: impl FnOnce(&mut Shelf) -> Result<T, Error>) -> Result<T, Error> {
        self.shelf.lock().calls.push(call);
        let _permit = self.gate.acquire().await;
        if self.stuck.load(SeqCst) {
            std::future::pending::<()>().await;
        }
        answer(&mut self.shelf.lock())
    }
}

pub(crate) fn reading(text: &str) -> Reading {
    let contents = vec![Contents { uri: None, mime_type: None, body: Body::Text(text.to_owned()), meta: None }];
    Reading { contents, version: None, reuse: None }
}

pub(crate) fn live() -> Offers {
    Offers { subscriptions: true, completions: false, live: true }
}

impl Provider for Memory {
    fn offers(&self) -> Offers {
        self.offers
    }

    fn list(&self, cursor: Option<String>) -> Answer<'_, ResourcePage> {
        self.call("list".into(), move |shelf| {
            if let Some(error) = &shelf.list_error {
                return Err(error.clone());
            }
            let at = cursor.map_or(Ok(0), |cursor| cursor.parse().map_err(|_| Error::Invalid("no such cursor".into())))?;
            let next_cursor = (at + 1 < shelf.pages.len()).then(|| (at + 1).to_string());
            Ok(ResourcePage { resources: shelf.pages.get(at).cloned().unwrap_or_default(), next_cursor, reuse: shelf.reuse })
        })
        .boxed()
    }

    fn templates(&self) -> Answer<'_, Vec<TemplateInfo>> {
        async { Ok(self.shelf.lock().templates.clone()) }.boxed()
    }

    fn read(&self, request: ReadRequest) -> Answer<'_, Option<Reading>> {
        let call = match &request.if_none_match {
            Some(version) => format!("read {} unless {version}", request.uri),
            None => format!("read {}", request.uri),
        };
        self.call(call, move |shelf| {
            let reading = shelf.readings.get(&*request.uri).cloned().unwrap_or(Err(Error::NotFound))?;
            let same = request.if_none_match.is_some() && request.if_none_match == reading.version;
            Ok((!same).then_some(reading))
        })
        .boxed()
    }

    fn subscribe(&self, uri: Arc<str>, _matched: Option<Arc<TemplateMatch>>) -> Answer<'_, ()> {
        self.call(format!("subscribe {uri}"), move |shelf| match shelf.refusals.get(&*uri) {
            Some(Error::Failed(text)) if text == "panic" => panic!("as the test wants it"),
            Some(error) => Err(error.clone()),
            None => {
                assert!(shelf.watched.insert(uri.clone()), "subscribed twice in a row: {uri}");
                Ok(())
            }
        })
        .boxed()
    }

    fn unsubscribe(&self, uri: Arc<str>) -> Answer<'_, ()> {
        self.call(format!("unsubscribe {uri}"), move |shelf| {
            assert!(shelf.watched.remove(&uri), "unsubscribed without being subscribed: {uri}");
            Ok(())
        })
        .boxed()
    }

    fn complete(&self, request: CompletionRequest) -> Answer<'_, Completion> {
        self.call(format!("complete {}", request.uri_template), |shelf| shelf.completion.clone().unwrap_or(Err(Error::NotFound))).boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }
}
