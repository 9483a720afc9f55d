//! A provider that is a Rust value: a test sets what it holds and how it answers, and makes it announce.
//!
//! The tests of the library and those over a socket share it (`tests/common/memory.rs`), so it names the host's types as its parent does.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};

use futures_util::{FutureExt, future::BoxFuture};
use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};

use super::{
    Announcer, Answer, Begun, Body, Completion, CompletionRequest, Contents, Error, EventQueue, Occurrence, Offers, Provider, ReadRequest,
    Reading, ResourceInfo, ResourcePage, Reuse, Source, TemplateInfo, TemplateMatch,
};

/// What it holds, and what was asked of it.
#[derive(Default)]
pub struct Shelf {
    /// One page after the other; the cursor is the number of the page.
    pub pages: Vec<Vec<ResourceInfo>>,
    pub templates: Vec<TemplateInfo>,
    /// What the first page says. The others say another thing, which must not count.
    pub reuse: Option<Reuse>,
    /// The cursor that follows each page, whatever there is.
    pub next_cursor: Option<String>,
    /// How many cursors are refused from now on.
    pub refused_cursors: usize,
    pub list_error: Option<Error>,
    /// Every call panics.
    pub panics: bool,
    /// What reads answer; a URI that is not here is not found.
    pub readings: HashMap<String, Result<Reading, Error>>,
    /// Whether a URI that is not in `readings` and matches a template reads as the values of its variables.
    pub reads_variables: bool,
    /// What `subscribe` answers where it is not Ok.
    pub refusals: HashMap<String, Error>,
    pub watched: HashSet<Arc<str>>,
    /// The calls it got, in order.
    pub calls: Vec<String>,
    /// What it suggests; not found if there is nothing.
    pub completion: Option<Result<Completion, Error>>,
    /// The requests for suggestions it got, in order.
    pub completions_asked: Vec<CompletionRequest>,
}

/// The provider, and the test's handle to it.
pub struct Memory {
    pub shelf: Mutex<Shelf>,
    pub announcer: Announcer,
    /// Calls go on only while there are permits.
    gate: Semaphore,
    /// Calls never end.
    pub stuck: AtomicBool,
    offers: Offers,
    /// Whether reads wait, and how many are under way.
    held: watch::Sender<bool>,
    reading: watch::Sender<usize>,
    /// It says that it is busy: reads that are held have not begun.
    pub busy: AtomicBool,
    /// How often what is watched changed.
    watches: watch::Sender<u64>,
    /// Goes with it.
    lives: watch::Sender<()>,
}

impl Memory {
    pub fn new(slot: u32, queue: &Arc<EventQueue>, offers: Offers) -> Arc<Self> {
        Self::generation(Source { slot, generation: 1 }, queue, offers)
    }

    pub fn generation(source: Source, queue: &Arc<EventQueue>, offers: Offers) -> Arc<Self> {
        Self::made(Announcer::new(source, queue.clone()), offers)
    }

    pub fn made(announcer: Announcer, offers: Offers) -> Arc<Self> {
        Arc::new(Self {
            shelf: Mutex::default(),
            announcer,
            gate: Semaphore::new(Semaphore::MAX_PERMITS),
            stuck: AtomicBool::new(false),
            offers,
            held: watch::Sender::new(false),
            reading: watch::Sender::new(0),
            busy: AtomicBool::new(false),
            watches: watch::Sender::new(0),
            lives: watch::Sender::new(()),
        })
    }

    /// Lists a URI with this text behind it, and says nothing.
    pub fn put(&self, uri: &str, text: &str) {
        self.insert(ResourceInfo::new(uri, uri.rsplit('/').next().unwrap_or(uri)), Ok(reading(text)));
    }

    /// Lists a resource with this behind it, and says nothing.
    pub fn insert(&self, info: ResourceInfo, reading: Result<Reading, Error>) {
        let mut shelf = self.shelf.lock();
        shelf.readings.insert(info.uri.to_string(), reading);
        if shelf.pages.is_empty() {
            shelf.pages.push(Vec::new());
        }
        let page = &mut shelf.pages[0];
        match page.iter_mut().find(|listed| listed.uri == info.uri) {
            Some(listed) => *listed = info,
            None => page.push(info),
        }
    }

    /// Adds a template; a URI that matches it reads as the values of its variables.
    pub fn template(&self, info: TemplateInfo) {
        let mut shelf = self.shelf.lock();
        shelf.templates.push(info);
        shelf.reads_variables = true;
    }

    /// Sets a resource's text, and announces it.
    pub fn update(&self, uri: &str, text: &str) {
        self.put(uri, text);
        self.announcer.updated(uri);
    }

    /// Announces that the lists changed.
    pub fn announce_list(&self) {
        self.announcer.announce(Occurrence::ListChanged);
    }

    /// What it suggests from now on, whatever is asked.
    pub fn suggest(&self, completion: Result<Completion, Error>) {
        self.shelf.lock().completion = Some(completion);
    }

    /// The requests for suggestions since this was called last.
    pub fn completions_asked(&self) -> Vec<CompletionRequest> {
        std::mem::take(&mut self.shelf.lock().completions_asked)
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

    /// From now on reads wait, and no other calls; or wait no longer.
    pub fn hold(&self, held: bool) {
        self.held.send_replace(held);
    }

    /// Waits until so many reads are under way.
    pub async fn reads_under_way(&self, count: usize) {
        let _ = self.reading.subscribe().wait_for(|reading| *reading == count).await;
    }

    /// Waits until exactly these are watched.
    pub async fn subscribed(&self, uris: &[&str]) {
        let wanted: HashSet<Arc<str>> = uris.iter().map(|&uri| uri.into()).collect();
        let _ = self.watches.subscribe().wait_for(|_| self.shelf.lock().watched == wanted).await;
    }

    async fn call<T>(&self, call: String, answer: impl FnOnce(&mut Shelf) -> Result<T, Error>) -> Result<T, Error> {
        self.shelf.lock().calls.push(call);
        let _permit = self.gate.acquire().await;
        if self.stuck.load(SeqCst) {
            std::future::pending::<()>().await;
        }
        assert!(!self.shelf.lock().panics, "as the test wants it");
        answer(&mut self.shelf.lock())
    }
}

pub fn reading(text: &str) -> Reading {
    body(Body::Text(text.to_owned()))
}

pub fn body(body: Body) -> Reading {
    Reading { contents: vec![Contents { uri: None, mime_type: None, body, meta: None }], version: None, reuse: None }
}

pub fn live() -> Offers {
    Offers { subscriptions: true, completions: true, webhooks: false, live: true }
}

impl Shelf {
    fn read(&self, request: &ReadRequest) -> Result<Option<Reading>, Error> {
        let found = match (self.readings.get(&*request.uri), &request.matched) {
            (Some(found), _) => found.clone()?,
            (None, Some(matched)) if self.reads_variables => {
                reading(&matched.variables.iter().map(|(name, value)| format!("{name}={value}\n")).collect::<String>())
            }
            (None, _) => return Err(Error::NotFound),
        };
        let same = request.if_none_match.is_some() && request.if_none_match == found.version;
        Ok((!same).then_some(found))
    }
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
            if cursor.is_some() && shelf.refused_cursors > 0 {
                shelf.refused_cursors -= 1;
                return Err(Error::Invalid("no such cursor".into()));
            }
            let at = cursor.map_or(Ok(0), |cursor| cursor.parse().map_err(|_| Error::Invalid("no such cursor".into())))?;
            let next_cursor = shelf.next_cursor.clone().or((at + 1 < shelf.pages.len()).then(|| (at + 1).to_string()));
            let reuse = if at == 0 { shelf.reuse } else { Some(Reuse::UntilAnnounced) };
            Ok(ResourcePage { resources: shelf.pages.get(at).cloned().unwrap_or_default(), next_cursor, reuse })
        })
        .boxed()
    }

    fn templates(&self) -> Answer<'_, Vec<TemplateInfo>> {
        async { Ok(self.shelf.lock().templates.clone()) }.boxed()
    }

    fn read(&self, request: ReadRequest) -> Answer<'_, Option<Reading>> {
        self.read_in_turn(request, Begun::default())
    }

    fn is_busy(&self) -> bool {
        self.busy.load(SeqCst)
    }

    fn read_in_turn(&self, request: ReadRequest, begun: Begun) -> Answer<'_, Option<Reading>> {
        let call = match &request.if_none_match {
            Some(version) => format!("read {} unless {version}", request.uri),
            None => format!("read {}", request.uri),
        };
        async move {
            self.reading.send_modify(|reading| *reading += 1);
            let _ = self.held.subscribe().wait_for(|held| !held).await;
            begun.set();
            let answer = self.call(call, |shelf| shelf.read(&request)).await;
            self.reading.send_modify(|reading| *reading -= 1);
            answer
        }
        .boxed()
    }

    fn subscribe(&self, uri: Arc<str>, _matched: Option<Arc<TemplateMatch>>) -> Answer<'_, ()> {
        async move {
            let call = format!("subscribe {uri}");
            self.call(call, |shelf| match shelf.refusals.get(&*uri) {
                Some(Error::Failed(text)) if text == "panic" => panic!("as the test wants it"),
                Some(error) => Err(error.clone()),
                None => {
                    assert!(shelf.watched.insert(uri.clone()), "subscribed twice in a row: {uri}");
                    Ok(())
                }
            })
            .await?;
            self.watches.send_modify(|changes| *changes += 1);
            Ok(())
        }
        .boxed()
    }

    fn unsubscribe(&self, uri: Arc<str>) -> Answer<'_, ()> {
        async move {
            self.call(format!("unsubscribe {uri}"), |shelf| {
                assert!(shelf.watched.remove(&uri), "unsubscribed without being subscribed: {uri}");
                Ok(())
            })
            .await?;
            self.watches.send_modify(|changes| *changes += 1);
            Ok(())
        }
        .boxed()
    }

    fn complete(&self, request: CompletionRequest) -> Answer<'_, Completion> {
        let call = format!("complete {}", request.uri_template);
        self.call(call, |shelf| {
            shelf.completions_asked.push(request);
            shelf.completion.clone().unwrap_or(Err(Error::NotFound))
        })
        .boxed()
    }

    fn retire(&self) -> BoxFuture<'static, ()> {
        self.shelf.lock().calls.push("retire".into());
        let mut lives = self.lives.subscribe();
        async move { while lives.changed().await.is_ok() {} }.boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.shelf.lock().calls.push("close".into());
        async {}.boxed()
    }
}
