//! What all components share: the engine, its clock, and the threads for guests that take their time.

use std::{
    collections::{HashMap, HashSet},
    io,
    num::NonZero,
    path::Path,
    sync::{Arc, OnceLock},
    thread,
    time::Duration,
};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::OnceCell;
use wasmtime::{Config, Engine, component::Linker};

use super::{
    Spec,
    compile::{Compilation, Compiling, Strategy},
    component::{Compiled, LoadError, Made},
    imports,
    state::HostState,
    wasi,
};
use crate::{
    config::Watch,
    provider::{
        grants::{Rights, Secrets, files::Files, http, store::Stores},
        tally::{Tally, Witness},
    },
};

/// How often a guest that computes is made to yield, and so by how much a deadline may be late.
pub const TICK: Duration = Duration::from_millis(10);

/// Stack of one guest, in bytes: wasmtime's default, and enough for the interpreters that come as components.
const WASM_STACK: usize = 512 << 10;
/// Stack on which a guest and the host functions it calls run. Host code needs the difference, at least 1 MiB of it.
const FIBER_STACK: usize = 2 << 20;

/// The host cannot run components at all.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// wasmtime does not work on this machine.
    #[error("cannot set up WebAssembly on this machine: {0}")]
    Engine(String),
    /// The operating system gives no more threads.
    #[error("cannot start a thread for providers: {0}")]
    Thread(#[from] io::Error),
}

/// One compiler, and what is made for its code.
struct Core {
    engine: Engine,
    linker: Linker<HostState>,
    compiling: Arc<Compiling>,
}

impl Core {
    fn new(compilation: Compilation) -> Result<Self, RuntimeError> {
        let broken = |error: wasmtime::Error| RuntimeError::Engine(format!("{error:#}"));
        let engine = Engine::new(&config(compilation.strategy)).map_err(broken)?;
        let mut linker = Linker::new(&engine);
        wasi::link(&mut linker).map_err(broken)?;
        imports::link(&mut linker).map_err(broken)?;
        start_clock(&engine)?;
        let compiling = Compiling::new(engine.clone(), compilation);
        Ok(Self { engine, linker, compiling })
    }
}

/// The engine and what belongs to it. One is enough for a process.
pub struct Runtime {
    core: Core,
    /// Where the quick compiler is used: for what it cannot compile, made when there is such.
    thorough: Option<OnceCell<Core>>,
    compilation: Compilation,
    stores: Arc<Stores>,
    /// Of each provider there ever was: what it was denied is remembered over its generations.
    rights: Mutex<HashMap<Arc<str>, Rights>>,
    /// Of each provider there ever was, what is counted of it.
    tallies: Mutex<HashMap<Arc<str>, Arc<Tally>>>,
    witness: OnceLock<Arc<dyn Witness>>,
    /// What was said of a provider, and need not be said again.
    said: Mutex<HashSet<(Arc<str>, String)>>,
    /// Watches files for all providers.
    files: Arc<Files>,
    /// Who asks over HTTP for all providers. Made when the first of them asks, unless it was given before.
    client: OnceLock<Arc<http::Client>>,
    /// Runs what does not end at its first poll. Only `Drop` takes it.
    guests: Option<tokio::runtime::Runtime>,
    pub(super) handle: tokio::runtime::Handle,
}

impl Runtime {
    /// Sets up the engine and starts its threads. They end when the last reference is dropped. Components are compiled in this process, and
    /// their machine code is not kept.
    ///
    /// # Errors
    /// [`RuntimeError`].
    pub fn new() -> Result<Arc<Self>, RuntimeError> {
        Self::with(Compilation::default())
    }

    /// As [`Runtime::new`], with a compiler and a cache of your choice.
    ///
    /// # Errors
    /// [`RuntimeError`].
    pub fn with(compilation: Compilation) -> Result<Arc<Self>, RuntimeError> {
        Self::keeping(compilation, Stores::new(None, ""))
    }

    /// As [`Runtime::with`], with a place for what providers keep, if they are granted to.
    ///
    /// # Errors
    /// [`RuntimeError`].
    pub fn keeping(compilation: Compilation, stores: Stores) -> Result<Arc<Self>, RuntimeError> {
        let core = Core::new(compilation.clone())?;
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let guests = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).thread_name("wharf-guest").enable_all().build()?;
        let handle = guests.handle().clone();
        let thorough = (compilation.strategy == Strategy::Quick).then(OnceCell::new);
        Ok(Arc::new(Self {
            core,
            thorough,
            compilation,
            stores: stores.into(),
            rights: Mutex::default(),
            tallies: Mutex::default(),
            witness: OnceLock::new(),
            said: Mutex::default(),
            files: Arc::default(),
            client: OnceLock::new(),
            guests: Some(guests),
            handle,
        }))
    }

    /// Checks and compiles the component in a file, or takes its machine code from the compile cache, off the async threads. `name` is for
    /// the log. Takes a millisecond from the cache, up to some seconds for the components of interpreted languages, and longer where others
    /// have their turn before: one component is compiled at a time, the smallest first.
    ///
    /// # Errors
    /// Each way in which the file is no provider for this host; the text says which, and what to do.
    pub async fn load(self: &Arc<Self>, name: &str, path: &Path) -> Result<Compiled, LoadError> {
        let made = self.core.compiling.file(name, path).await;
        let made = match self.once_more(name, &made).await {
            Some(core) => core.compiling.file(name, path).await,
            None => made,
        };
        self.check(made?).await
    }

    /// As [`Runtime::load`], for a component that is in memory.
    ///
    /// # Errors
    /// As [`Runtime::load`].
    pub async fn compile(self: &Arc<Self>, name: &str, bytes: Bytes) -> Result<Compiled, LoadError> {
        let made = self.core.compiling.bytes(name, bytes.clone()).await;
        let made = match self.once_more(name, &made).await {
            Some(core) => core.compiling.bytes(name, bytes).await,
            None => made,
        };
        self.check(made?).await
    }

    /// The thorough compiler, where the quick one failed in a way in which it may do better.
    async fn once_more(&self, name: &str, made: &Result<Made, LoadError>) -> Option<&Core> {
        use LoadError::{Compile, CompileMemory, CompilerFailed, Invalid};

        let (Err(error @ (Invalid(_) | Compile(_) | CompileMemory(_) | CompilerFailed)), Some(thorough)) = (made, &self.thorough) else {
            return None;
        };
        tracing::debug!(provider = name, "compiled thoroughly, since the quick compiler cannot: {error}");
        let compilation = Compilation { strategy: Strategy::Thorough, ..self.compilation.clone() };
        // If it cannot be had, the quick one's error stands.
        thorough.get_or_try_init(|| async { Core::new(compilation) }).await.ok()
    }

    /// With changes of files that providers watch noticed by the system's events, unless this is [`Watch::Poll`].
    #[must_use]
    pub fn watching(self: Arc<Self>, mode: Watch) -> Arc<Self> {
        if mode == Watch::Poll {
            self.files.poll();
        }
        self
    }

    pub(super) fn files(&self) -> &Arc<Files> {
        &self.files
    }

    /// Warns of something about a provider, unless that was done before.
    pub(super) fn warn_once(&self, provider: &Arc<str>, line: String) {
        if let Some(line) = self.first_time(provider, line) {
            tracing::warn!(provider = &**provider, "{line}");
        }
    }

    /// Gives the line back the first time.
    pub(super) fn first_time(&self, provider: &Arc<str>, line: String) -> Option<String> {
        self.said.lock().insert((provider.clone(), line.clone())).then_some(line)
    }

    /// The rights of a provider, which are these from now on. Its secrets are read now.
    pub(super) async fn rights(&self, spec: &Spec) -> Rights {
        let secrets = if Secrets::are_granted(&spec.grants) {
            let grants = spec.grants.clone();
            tokio::task::spawn_blocking(move || Secrets::read(&grants)).await.unwrap_or_default()
        } else {
            Secrets::default()
        };
        let mut all = self.rights.lock();
        let rights = all.entry(spec.name.clone()).or_insert_with(|| {
            let rights = Rights::new(spec.name.clone(), spec.grants.clone());
            self.witness.get().map_or_else(|| rights.clone(), |witness| rights.clone().watched_by(witness.clone()))
        });
        *rights = rights.with(spec.grants.clone(), secrets.into());
        rights.clone()
    }

    /// Providers ask over HTTP by this client. It has to be given before the first of them asks: `false`, and nothing changes, after that.
    pub fn fetch_by(&self, client: Arc<http::Client>) -> bool {
        self.client.set(client).is_ok()
    }

    pub(super) fn client(&self) -> &Arc<http::Client> {
        self.client.get_or_init(|| http::Client::new(http::Settings::default()))
    }

    /// The rights of all providers there ever were, by name.
    pub fn all_rights(&self) -> Vec<Rights> {
        let mut all: Vec<_> = self.rights.lock().values().cloned().collect();
        all.sort_by(|one, other| one.provider().cmp(other.provider()));
        all
    }

    /// What providers do is told to this one from now on, of those that are loaded for the first time. There is only one: a second is not told.
    pub fn watched_by(&self, witness: Arc<dyn Witness>) {
        let _ = self.witness.set(witness);
    }

    /// What is counted of a provider, over its generations.
    pub fn tally(&self, provider: &Arc<str>) -> Arc<Tally> {
        let mut tallies = self.tallies.lock();
        tallies.entry(provider.clone()).or_insert_with(|| Tally::new(provider.clone(), self.witness.get().cloned()).into()).clone()
    }

    pub(super) fn stores(&self) -> &Arc<Stores> {
        &self.stores
    }

    async fn check(self: &Arc<Self>, made: Made) -> Result<Compiled, LoadError> {
        let runtime = self.clone();
        tokio::task::spawn_blocking(move || Compiled::new(runtime, &made)).await.map_err(|_| LoadError::CompilerFailed)?
    }

    /// The linker for code of this engine, which is one of this runtime's.
    pub(super) fn linker(&self, engine: &Engine) -> &Linker<HostState> {
        let thorough = self.thorough.as_ref().and_then(OnceCell::get).filter(|core| Engine::same(&core.engine, engine));
        &thorough.unwrap_or(&self.core).linker
    }

    #[cfg(test)]
    pub(super) fn engine(&self) -> &Engine {
        &self.core.engine
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if let Some(guests) = self.guests.take() {
            // The last reference may go away on an async thread, which must not wait.
            guests.shutdown_background();
        }
    }
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime").finish_non_exhaustive()
    }
}

pub(super) fn config(strategy: Strategy) -> Config {
    let mut config = Config::new();
    config
        .strategy(match strategy {
            Strategy::Thorough => wasmtime::Strategy::Cranelift,
            Strategy::Quick => wasmtime::Strategy::Winch,
        })
        .concurrency_support(false)
        .epoch_interruption(true)
        // No guest language here needs these, and what is off cannot be attacked. Multi-memory stays on: without it a composed component
        // makes the compiler panic.
        .wasm_gc(false)
        .wasm_function_references(false)
        .wasm_exceptions(false)
        .wasm_threads(false)
        .wasm_memory64(false)
        .wasm_tail_call(false)
        .wasm_relaxed_simd(false)
        .max_wasm_stack(WASM_STACK)
        .async_stack_size(FIBER_STACK);
    config
}

/// Epochs are what lets a guest be interrupted; they advance as long as the engine lives.
fn start_clock(engine: &Engine) -> io::Result<()> {
    let engine = engine.weak();
    thread::Builder::new().name("wharf-epoch".into()).spawn(move || {
        loop {
            thread::sleep(TICK);
            let Some(engine) = engine.upgrade() else { return };
            engine.increment_epoch();
        }
    })?;
    Ok(())
}
