//! Where generations come from: components in files; in tests, whatever the test makes.

use std::{path::Path, sync::Arc, time::Duration};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::time::Instant;

use super::Planned;
use crate::provider::{
    Announcer, Provider,
    wasm::{Fingerprint, LoadError, Runtime},
};

/// A provider that was made, and how long that took.
pub(super) struct Made {
    pub provider: Arc<dyn Provider>,
    pub load: Duration,
    pub compile: Option<Duration>,
    pub start: Duration,
}

/// What a file holds, as far as it matters whether it is another.
pub(super) trait Factory: Send + Sync + 'static {
    /// What the file holds now.
    fn fingerprint(&self, path: &Path) -> BoxFuture<'static, Fingerprint>;

    /// A look at the file, without reading it.
    fn glance(&self, path: &Path) -> BoxFuture<'static, Fingerprint>;

    /// Loads it, and makes its first instance.
    fn make(&self, planned: Planned, announcer: Announcer) -> BoxFuture<'static, Result<Made, LoadError>>;
}

impl Factory for Arc<Runtime> {
    fn fingerprint(&self, path: &Path) -> BoxFuture<'static, Fingerprint> {
        looked(path, Fingerprint::of)
    }

    fn glance(&self, path: &Path) -> BoxFuture<'static, Fingerprint> {
        looked(path, Fingerprint::unread)
    }

    fn make(&self, Planned { spec, path, .. }: Planned, announcer: Announcer) -> BoxFuture<'static, Result<Made, LoadError>> {
        let this = self.clone();
        async move {
            let began = Instant::now();
            let compiled = this.load(&spec.name, &path).await?;
            let load = began.elapsed();
            let provider = compiled.start(spec, announcer).await?;
            Ok(Made { provider, load, compile: compiled.compile_time(), start: began.elapsed() - load })
        }
        .boxed()
    }
}

fn looked(path: &Path, look: impl FnOnce(&Path) -> Fingerprint + Send + 'static) -> BoxFuture<'static, Fingerprint> {
    let path = path.to_owned();
    async move {
        let looked = tokio::task::spawn_blocking(move || look(&path)).await;
        looked.unwrap_or_else(|_| Fingerprint::unknown(LoadError::File("reading it failed".into())))
    }
    .boxed()
}
