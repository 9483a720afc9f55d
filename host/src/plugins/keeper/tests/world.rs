//! A host of providers that are Rust values: the files are a map, and loading one takes as long as the test says.

use std::{collections::HashMap, path::Path};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::sync::Semaphore;

use crate::{
    catalog::{Caller, ReadError, Rules},
    plugins::{Loader, keeper::*},
    provider::{
        Body,
        memory::{Memory, live},
    },
};

pub const URI: &str = "x://a";
pub const LOADING: Duration = Duration::from_secs(3);

/// The files, and what is made of them.
#[derive(Default)]
pub struct Shop {
    pub files: Mutex<HashMap<&'static str, String>>,
    /// Raised when a file is touched.
    pub touched: Mutex<u64>,
    /// What each version that was made lists and says, by its text.
    pub made: Mutex<Vec<(String, Arc<Memory>)>>,
    pub queue: Arc<EventQueue>,
    /// Loading waits for permits, if it is there.
    pub gate: Mutex<Option<Arc<Semaphore>>>,
    /// Called while a file is being loaded.
    pub meanwhile: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

#[derive(Clone)]
pub struct Workshop(pub Arc<Shop>);

impl Workshop {
    fn text(&self, path: &Path) -> Option<String> {
        self.0.files.lock().get(path.to_str().unwrap()).cloned()
    }
}

impl Factory for Workshop {
    fn fingerprint(&self, path: &Path) -> BoxFuture<'static, Fingerprint> {
        let content = self.text(path).ok_or_else(|| LoadError::File("no such file".into()));
        let content = content.map(|text| blake3::hash(text.as_bytes()));
        let touched = *self.0.touched.lock();
        async move { Fingerprint::stamped(content, touched) }.boxed()
    }

    fn glance(&self, _path: &Path) -> BoxFuture<'static, Fingerprint> {
        let touched = *self.0.touched.lock();
        async move { Fingerprint::stamped(Err(LoadError::Empty), touched) }.boxed()
    }

    fn make(&self, planned: Planned, announcer: Announcer) -> BoxFuture<'static, Result<Made, LoadError>> {
        let this = self.clone();
        async move {
            let text = this.text(&planned.path).ok_or_else(|| LoadError::File("no such file".into()))?;
            let gate = this.0.gate.lock().clone();
            if let Some(gate) = gate {
                gate.acquire().await.unwrap().forget();
            }
            let meanwhile = this.0.meanwhile.lock().take();
            meanwhile.into_iter().for_each(|meanwhile| meanwhile());
            if text.starts_with("bad") {
                return Err(LoadError::Invalid(text));
            }
            let provider = Memory::made(announcer, live());
            provider.put(URI, &text);
            if text.starts_with("unlisted") {
                provider.shelf.lock().list_error = Some(Error::unavailable(text.clone()));
            }
            this.0.made.lock().push((text, provider.clone()));
            Ok(Made { provider, load: Duration::ZERO, compile: None, start: Duration::ZERO })
        }
        .boxed()
    }
}

pub struct World {
    pub shop: Arc<Shop>,
    pub catalog: Arc<Catalog>,
    pub loader: Loader,
    pub plan: Vec<Planned>,
    revisions: u64,
    pub rests: HashMap<Arc<str>, Resting>,
    pub reports: Arc<Mutex<Vec<Report>>>,
}

pub fn planned(name: &str) -> Planned {
    Planned { spec: Spec::new(name), rules: Rules::default(), path: name.into(), required: false }
}

impl World {
    /// A host that serves these files.
    pub async fn new(files: &[(&'static str, &str)]) -> Self {
        let shop = Arc::<Shop>::default();
        for (name, text) in files {
            shop.files.lock().insert(name, (*text).to_owned());
        }
        let catalog = Catalog::new(LOADING, [0; 8]);
        let reports = Arc::<Mutex<Vec<Report>>>::default();
        let loader = Loader::with(Workshop(shop.clone()), catalog.clone(), shop.queue.clone(), {
            let reports = reports.clone();
            move |report| reports.lock().push(report)
        });
        let plan = files.iter().map(|(name, _)| planned(name)).collect();
        let mut world = Self { shop, catalog, loader, plan, revisions: 0, rests: HashMap::new(), reports };
        world.follow().await;
        world
    }

    pub async fn follow(&mut self) {
        self.followed();
        self.loader.tried().await;
        self.rest().await;
    }

    pub fn followed(&self) {
        let there = Resting { there: true, revision: 0 };
        self.loader.follow(&self.plan, |planned| self.rests.get(&planned.spec.name).copied().unwrap_or(there));
    }

    /// Another content of a file, which has come to rest.
    pub fn write(&mut self, name: &'static str, text: &str) {
        self.shop.files.lock().insert(name, text.to_owned());
        self.touch(name, true);
    }

    pub fn remove(&mut self, name: &'static str) {
        self.shop.files.lock().remove(name);
        self.touch(name, false);
    }

    pub fn touch(&mut self, name: &str, there: bool) {
        self.revisions += 1;
        *self.shop.touched.lock() += 1;
        self.rests.insert(name.into(), Resting { there, revision: self.revisions });
        self.followed();
    }

    /// Lets everybody do what is to be done now.
    pub async fn rest(&self) {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
    }

    pub async fn read(&self) -> Result<String, ReadError> {
        self.catalog.read(&Caller::anyone(), URI).await.map(|answered| match &answered.contents[0].body {
            Body::Text(text) => text.clone(),
            Body::Blob(_) => unreachable!("only texts here"),
        })
    }

    pub fn made(&self) -> Vec<String> {
        self.shop.made.lock().iter().map(|(text, _)| text.clone()).collect()
    }

    /// The provider that was made of this text; only looked at, so that it can end.
    pub fn calls(&self, text: &str) -> Vec<String> {
        self.shop.made.lock().iter().find(|(of, _)| of == text).map(|(_, provider)| provider.calls()).unwrap_or_default()
    }

    pub fn fates(&self) -> Vec<String> {
        let fate = |report: Report| match report.fate {
            Fate::Loaded(loaded) if loaded.replaced => format!("replaced {}", report.name),
            Fate::Loaded(_) => format!("loaded {}", report.name),
            Fate::Refused { reason, serving } => format!("refused {} ({serving}): {reason}", report.name),
            Fate::Restored => format!("restored {}", report.name),
            Fate::Removed => format!("removed {}", report.name),
        };
        std::mem::take(&mut *self.reports.lock()).into_iter().map(fate).collect()
    }
}
