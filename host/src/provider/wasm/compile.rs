//! From a file to a component: the compile cache first, then the compiler.
//!
//! Invariants kept here:
//! - One component is compiled at a time, the smallest that waits first; files that wait to be compiled are not kept in memory.
//! - Components that are in the cache wait for none that is not.
//! - What the compiler does, runs out of, or dies of, is one file that does not load. In a process of its own ([`Compiler::Process`]) that
//!   holds for memory, time and crashes as well; in this one only for panics.

#[cfg(unix)]
pub(crate) mod child;
mod settings;
mod source;
mod turns;
#[cfg(unix)]
pub mod worker;

use std::{
    fmt::Write,
    hash::Hash,
    io,
    path::Path,
    sync::{Arc, OnceLock},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use tokio::sync::Semaphore;
use wasmtime::{Engine, component::Component};

pub(super) use self::source::Stamp;
pub use self::{
    settings::{CacheFolder, Compilation, Compiler, Limits, Strategy},
    source::Fingerprint,
};
use self::{
    source::Source,
    turns::{Turn, Turns},
};
#[cfg(unix)]
use super::cache::{Cache, Claim, Key};
use super::component::{LoadError, Made, check_header};

/// The format of the cache's files. Raised with each change of it.
const CACHE_FORMAT: u32 = 1;
/// Files that are read and hashed at a time, or loaded from the cache: as many as keep a disk and two cores busy.
const READERS: usize = 4;
/// How often it is looked whether another host is done with a component.
const CLAIM_RETRY: Duration = Duration::from_millis(50);

/// What there is for compiling, once per engine.
pub(super) struct Compiling {
    engine: Engine,
    settings: Compilation,
    /// What the machine code is for.
    digest: String,
    turns: Arc<Turns>,
    readers: Semaphore,
    #[cfg(unix)]
    cache: OnceLock<Option<Cache>>,
}

/// A component that is not in the cache.
struct Missing {
    /// In bytes.
    size: u64,
    #[cfg(unix)]
    key: Option<Key>,
}

enum Found {
    Ready(Component),
    Missing(Missing),
}

impl Compiling {
    pub fn new(engine: Engine, settings: Compilation) -> Arc<Self> {
        let digest = digest(&engine, settings.strategy);
        Arc::new(Self {
            engine,
            settings,
            digest,
            turns: Arc::default(),
            readers: Semaphore::new(READERS),
            #[cfg(unix)]
            cache: OnceLock::new(),
        })
    }

    /// A component from a file.
    pub async fn file(self: &Arc<Self>, name: &str, path: &Path) -> Result<Made, LoadError> {
        let path: Arc<Path> = path.into();
        let found = {
            let _reader = self.readers.acquire().await;
            let path = path.clone();
            self.blocking(move |this| this.look_up_file(&path)).await??
        };
        match found {
            Found::Ready(component) => Ok((component, None)),
            // It may have changed since it was looked up. What is compiled, and under which hash it is kept, is what is read then.
            Found::Missing(missing) => self.missing(name, missing, move || Source::open(&path)?.read()).await,
        }
    }

    /// A component from memory.
    pub async fn bytes(self: &Arc<Self>, name: &str, bytes: Bytes) -> Result<Made, LoadError> {
        let found = {
            let bytes = bytes.clone();
            self.blocking(move |this| this.look_up(&bytes)).await??
        };
        match found {
            Found::Ready(component) => Ok((component, None)),
            Found::Missing(missing) => self.missing(name, missing, move || Ok(bytes)).await,
        }
    }

    fn look_up(&self, bytes: &Bytes) -> Result<Found, LoadError> {
        check_header(bytes)?;
        let size = bytes.len() as u64;
        #[cfg(unix)]
        if let Some(cache) = self.cache() {
            let key = cache.key(&blake3::hash(bytes));
            return Ok(cache.load(&self.engine, &key).map_or(Found::Missing(Missing { size, key: Some(key) }), Found::Ready));
        }
        Ok(Found::Missing(Missing {
            size,
            #[cfg(unix)]
            key: None,
        }))
    }

    fn look_up_file(&self, path: &Path) -> Result<Found, LoadError> {
        let mut source = Source::open(path)?;
        #[cfg(unix)]
        if let Some(cache) = self.cache() {
            // One name for one file, wherever the host was started.
            let path = std::path::absolute(path).map_err(|error| LoadError::File(error.to_string()))?;
            let known = source.stamp.as_ref().and_then(|stamp| cache.recall(&path, stamp)).map(|content| cache.key(&content));
            if let Some(component) = known.and_then(|key| cache.load(&self.engine, &key)) {
                return Ok(Found::Ready(component));
            }
            let bytes = source.read()?;
            if let Some(stamp) = &source.stamp {
                cache.remember(&path, stamp, &blake3::hash(&bytes), SystemTime::now());
            }
            return self.look_up(&bytes);
        }
        self.look_up(&source.read()?)
    }

    async fn missing<R>(self: &Arc<Self>, name: &str, missing: Missing, read: R) -> Result<Made, LoadError>
    where
        R: FnOnce() -> Result<Bytes, LoadError> + Send + 'static,
    {
        #[cfg(unix)]
        let _claim = self.claim(missing.key.as_ref()).await;
        let turn = self.turns.take(missing.size).await;
        let began = std::time::Instant::now();
        let found = self.blocking(move |this| {
            let bytes = read()?;
            // Another host may have compiled it meanwhile, or this one as a file of another name.
            Ok((this.look_up(&bytes)?, bytes))
        });
        let (missing, bytes) = match found.await?? {
            (Found::Ready(component), _) => return Ok((component, None)),
            (Found::Missing(missing), bytes) => (missing, bytes),
        };
        let component = self.compile(name, missing, bytes, turn).await?;
        tracing::debug!(provider = name, took = ?began.elapsed(), "compiled");
        Ok((component, Some(began.elapsed())))
    }

    async fn compile(self: &Arc<Self>, name: &str, missing: Missing, bytes: Bytes, turn: Turn) -> Result<Component, LoadError> {
        #[cfg(unix)]
        if let Compiler::Process { program } = &self.settings.compiler {
            match child::compile(program, (&self.digest, self.settings.strategy), &self.settings.limits, bytes.clone()).await {
                Ok(code) => {
                    let key = missing.key.clone();
                    match self.blocking(move |this| this.take_in(key.as_ref(), &code)).await? {
                        Ok(component) => return Ok(component),
                        Err(error) => {
                            tracing::warn!(provider = name, "cannot take over what was compiled, so it is compiled here: {error}")
                        }
                    }
                }
                Err(child::Failure::Component(error)) => return Err(error),
                Err(child::Failure::NoCompiler(reason)) => {
                    tracing::warn!(provider = name, "cannot compile in a process of its own, so it is compiled here: {reason}");
                }
            }
        }
        self.blocking(move |this| {
            // Held until it is done, also where whoever asked has gone: here, a compilation cannot be stopped.
            let _turn = turn;
            this.compile_here(&missing, &bytes)
        })
        .await?
    }

    fn compile_here(&self, missing: &Missing, bytes: &[u8]) -> Result<Component, LoadError> {
        let component = Component::from_binary(&self.engine, bytes).map_err(|error| LoadError::Invalid(format!("{error:#}")))?;
        #[cfg(unix)]
        if let (Some(cache), Some(key)) = (self.cache(), &missing.key)
            && let Ok(code) = component.serialize()
        {
            // What there is to be said about an error is said.
            let _ = cache.store(key, &code);
        }
        #[cfg(not(unix))]
        let _ = missing;
        Ok(component)
    }

    /// On a thread that may wait. A panic of the compiler is one file that does not load: wasmtime counts it as a bug, and not as a
    /// vulnerability.
    async fn blocking<T: Send + 'static>(self: &Arc<Self>, work: impl FnOnce(&Self) -> T + Send + 'static) -> Result<T, LoadError> {
        let this = self.clone();
        tokio::task::spawn_blocking(move || work(&this)).await.map_err(|_| LoadError::CompilerFailed)
    }
}

#[cfg(unix)]
impl Compiling {
    /// Opened at the first use, which is not on the way to the first answer.
    fn cache(&self) -> Option<&Cache> {
        let open = || {
            let CacheFolder::At(path) = &self.settings.cache else { return None };
            Cache::open(path, &self.digest)
                .inspect_err(|reason| {
                    tracing::warn!(
                        "no compile cache, so every start compiles all components: {reason}; WHARF_CACHE_DIR names another folder, or is `off`"
                    );
                })
                .ok()
        };
        self.cache.get_or_init(open).as_ref()
    }

    /// Waits for another host that compiles the same, but no longer than that may take.
    async fn claim(self: &Arc<Self>, key: Option<&Key>) -> Option<Claim> {
        let key = key?.clone();
        let claiming = async {
            loop {
                let key = key.clone();
                match self.blocking(move |this| this.cache().map(|cache| cache.claim(&key))).await {
                    Ok(Some(None)) => tokio::time::sleep(CLAIM_RETRY).await,
                    Ok(Some(claim)) => return claim,
                    Ok(None) | Err(_) => return None,
                }
            }
        };
        tokio::time::timeout(self.settings.limits.time, claiming).await.unwrap_or_default()
    }

    /// Makes a component of what the compiler process wrote.
    fn take_in(&self, key: Option<&Key>, code: &[u8]) -> io::Result<Component> {
        let stored = self.cache().zip(key).and_then(|(cache, key)| cache.store(key, code).ok());
        let file = stored.map_or_else(|| nameless(code), Ok)?;
        super::precompiled::load(&self.engine, &file).map_err(|error| io::Error::other(format!("{error:#}")))
    }
}

/// A file that no one else can open, since it has no name.
#[cfg(unix)]
fn nameless(content: &[u8]) -> io::Result<std::fs::File> {
    use std::{io::Write, os::unix::fs::OpenOptionsExt};

    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    let path = std::env::temp_dir().join(format!("wharf-{:032x}", u128::from_ne_bytes(random)));
    let mut file = std::fs::OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(&path)?;
    file.write_all(content)?;
    Ok(file)
}

/// Stands for all that machine code depends on: wasmtime, its settings, the processor; and this version of Wharf, which may have come for a
/// fault that was mended in the compiler.
fn digest(engine: &Engine, strategy: Strategy) -> String {
    struct Digest(blake3::Hasher);

    // The standard library's own hashers may differ from one compiler to the next.
    impl std::hash::Hasher for Digest {
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }

        fn finish(&self) -> u64 {
            let mut first = [0; 8];
            self.0.finalize_xof().fill(&mut first);
            u64::from_le_bytes(first)
        }
    }

    let mut hasher = Digest(blake3::Hasher::new());
    (CACHE_FORMAT, env!("CARGO_PKG_VERSION"), strategy).hash(&mut hasher);
    engine.precompile_compatibility_hash().hash(&mut hasher);
    let mut text = String::new();
    for byte in &hasher.0.finalize().as_bytes()[..16] {
        // Writing to a String does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_tells_engines_apart_that_compile_differently() {
        let digest = |engine: &Engine| digest(engine, Strategy::Thorough);
        let default = digest(&Engine::default());
        assert_eq!(default, digest(&Engine::default()));
        assert_ne!(default, digest(&Engine::new(wasmtime::Config::new().epoch_interruption(true)).unwrap()));
        assert_ne!(default, super::digest(&Engine::default(), Strategy::Quick));
    }
}
