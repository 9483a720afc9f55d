//! A provider that is a Rust value: a test sets what it has, and makes it announce.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use futures_util::{FutureExt, future::BoxFuture};
use parking_lot::Mutex;
use tokio::sync::watch;
use wharf::{
    catalog::{Catalog, Position, Rules},
    provider::{
        Announcer, Answer, Body, Completion, CompletionRequest, Contents, Error, EventQueue, Occurrence, Offers, Provider, ReadRequest,
        Reading, ResourceInfo, ResourcePage, Source, TemplateInfo, TemplateMatch,
    },
    subscriptions::Subscriptions,
};

#[derive(Default)]
struct State {
    resources: BTreeMap<Arc<str>, (ResourceInfo, Result<Body, Error>)>,
    templates: Vec<TemplateInfo>,
    subscribed: HashSet<Arc<str>>,
    completion: Option<Result<Completion, Error>>,
    completions_asked: Vec<CompletionRequest>,
}

/// The provider, and the test's handle to it.
pub struct Memory {
    state: Mutex<State>,
    announcer: Announcer,
    /// Whether reads wait, and how many do.
    held: watch::Sender<bool>,
    reading: watch::Sender<usize>,
    /// How often what is subscribed changed.
    subscribed: watch::Sender<u64>,
}

impl Memory {
    fn new(announcer: Announcer) -> Self {
        Self {
            state: Mutex::default(),
            announcer,
            held: watch::Sender::new(false),
            reading: watch::Sender::new(0),
            subscribed: watch::Sender::new(0),
        }
    }

    /// Sets a resource's text, and says nothing.
    pub fn set(&self, uri: &str, text: &str) {
        self.put(ResourceInfo::new(uri, name(uri)), Ok(Body::Text(text.into())));
    }

    /// Sets a resource, and says nothing.
    pub fn put(&self, info: ResourceInfo, body: Result<Body, Error>) {
        self.state.lock().resources.insert(info.uri.clone(), (info, body));
    }

    /// Adds a template; a URI that matches it reads as the values of its variables.
    pub fn template(&self, info: TemplateInfo) {
        self.state.lock().templates.push(info);
    }

    /// What it suggests from now on, whatever is asked.
    pub fn suggest(&self, completion: Result<Completion, Error>) {
        self.state.lock().completion = Some(completion);
    }

    /// The requests for suggestions since this was called last.
    pub fn completions_asked(&self) -> Vec<CompletionRequest> {
        std::mem::take(&mut self.state.lock().completions_asked)
    }

    /// Sets a resource's text, and announces it.
    pub fn update(&self, uri: &str, text: &str) {
        self.set(uri, text);
        self.announcer.updated(uri);
    }

    /// Announces that the lists changed.
    pub fn announce_list(&self) {
        self.announcer.announce(Occurrence::ListChanged);
    }

    /// From now on reads wait, or wait no longer.
    pub fn hold(&self, held: bool) {
        self.held.send_replace(held);
    }

    /// Waits until so many reads are under way.
    pub async fn reads_under_way(&self, count: usize) {
        let _ = self.reading.subscribe().wait_for(|reading| *reading == count).await;
    }

    /// Waits until exactly these are subscribed.
    pub async fn subscribed(&self, uris: &[&str]) {
        let wanted: HashSet<Arc<str>> = uris.iter().map(|&uri| uri.into()).collect();
        let _ = self.subscribed.subscribe().wait_for(|_| self.state.lock().subscribed == wanted).await;
    }

    fn find(&self, request: &ReadRequest) -> Result<Body, Error> {
        if let Some((_, body)) = self.state.lock().resources.get(&request.uri) {
            return body.clone();
        }
        let matched = request.matched.as_ref().ok_or(Error::NotFound)?;
        Ok(Body::Text(matched.variables.iter().map(|(name, value)| format!("{name}={value}\n")).collect()))
    }
}

fn name(uri: &str) -> &str {
    uri.rsplit('/').next().unwrap_or(uri)
}

impl Provider for Memory {
    fn offers(&self) -> Offers {
        Offers { subscriptions: true, completions: true, live: true }
    }

    fn list(&self, _cursor: Option<String>) -> Answer<'_, ResourcePage> {
        let resources = self.state.lock().resources.values().map(|(info, _)| info.clone()).collect();
        async { Ok(ResourcePage { resources, next_cursor: None, reuse: None }) }.boxed()
    }

    fn templates(&self) -> Answer<'_, Vec<TemplateInfo>> {
        let templates = self.state.lock().templates.clone();
        async { Ok(templates) }.boxed()
    }

    fn read(&self, request: ReadRequest) -> Answer<'_, Option<Reading>> {
        async move {
            self.reading.send_modify(|reading| *reading += 1);
            let _ = self.held.subscribe().wait_for(|held| !held).await;
            self.reading.send_modify(|reading| *reading -= 1);
            let body = self.find(&request)?;
            let contents = vec![Contents { uri: None, mime_type: None, body, meta: None }];
            Ok(Some(Reading { contents, version: None, reuse: None }))
        }
        .boxed()
    }

    fn subscribe(&self, uri: Arc<str>, _matched: Option<Arc<TemplateMatch>>) -> Answer<'_, ()> {
        async move {
            let mut state = self.state.lock();
            if !state.resources.contains_key(&uri) {
                return Err(Error::NotFound);
            }
            state.subscribed.insert(uri);
            drop(state);
            self.subscribed.send_modify(|changes| *changes += 1);
            Ok(())
        }
        .boxed()
    }

    fn unsubscribe(&self, uri: Arc<str>) -> Answer<'_, ()> {
        async move {
            self.state.lock().subscribed.remove(&uri);
            self.subscribed.send_modify(|changes| *changes += 1);
            Ok(())
        }
        .boxed()
    }

    fn complete(&self, request: CompletionRequest) -> Answer<'_, Completion> {
        async move {
            let mut state = self.state.lock();
            state.completions_asked.push(request);
            state.completion.clone().unwrap_or(Err(Error::NotFound))
        }
        .boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }
}

/// A catalog with one provider, `memory`, and its subscriptions.
pub struct World {
    pub memory: Arc<Memory>,
    pub catalog: Arc<Catalog>,
    pub subscriptions: Subscriptions,
}

impl World {
    /// One whose provider has what `fill` puts there.
    pub async fn new(fill: impl FnOnce(&Memory)) -> Self {
        let queue = Arc::new(EventQueue::default());
        let announcer = Announcer::new(Source { slot: 1, generation: 1 }, queue.clone());
        let memory = Arc::new(Memory::new(announcer.clone()));
        fill(&memory);
        let catalog = Catalog::new(std::time::Duration::from_secs(3), *b"a memory");
        catalog.arrange(false, vec![Position { slot: 1, name: "memory".into(), rules: Rules::default() }]);
        catalog.load(memory.clone(), &announcer).await.expect("the memory lists");
        // What was there from the beginning is news to nobody.
        catalog.announce();
        let subscriptions = Subscriptions::new(catalog.clone());
        tokio::spawn({
            let (catalog, subscriptions) = (catalog.clone(), subscriptions.clone());
            async move {
                loop {
                    let mut event = queue.recv().await;
                    if event.take_list_changed() {
                        catalog.list_changed(event.source);
                    }
                    subscriptions.event(event).await;
                }
            }
        });
        Self { memory, catalog, subscriptions }
    }
}
