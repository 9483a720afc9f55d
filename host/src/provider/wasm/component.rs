//! From bytes to a compiled component that is known to fit this host, or to the reason why it does not.

use std::{sync::Arc, time::Duration};

use tokio::{runtime::Handle, sync::Notify};
use wasmtime::{
    Engine,
    component::{Component, InstancePre},
};

use super::{
    Spec, WasmProvider, actor,
    bindings::exports::wharf::provider::{
        completions, fetch_handler, file_handler, resources, subscriptions, timer_handler, webhook_handler,
    },
    engine::Runtime,
    imports,
    instance::{Exports, HostState, Instance},
    log::GuestLog,
    wants,
};
use crate::{
    config::Grants,
    provider::{Announcer, Offers, grants::Rights, shared_state::SharedState, tally::Tally},
};

/// A larger file is not compiled. The largest provider seen has 18 MiB (Python); compiling takes memory in proportion.
pub const MAX_FILE_BYTES: usize = 64 << 20;

/// The contract's package, and what all versions of it begin with that this host can serve: within 0.x they only gain interfaces.
const PACKAGE: &str = "wharf:provider/";
const CONTRACT: &str = "0.1.";

/// `\0asm`, then version and layer: the two headers a WebAssembly binary can have (component model, Binary.md).
const MAGIC: &[u8] = b"\0asm";
const CORE_MODULE: &[u8] = &[1, 0, 0, 0];
const COMPONENT: &[u8] = &[0x0d, 0, 1, 0];

/// Interfaces of the contract a component may export besides `resources`. Whoever has `subscriptions` or a handler is one live instance.
const LIVE: [&str; 5] = ["subscriptions", "timer-handler", "file-handler", "fetch-handler", "webhook-handler"];

/// Why a file is not loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// It cannot be read; in the system's words.
    #[error("{0}")]
    File(String),
    /// It is a folder, a pipe or a device.
    #[error("it is not a file")]
    NotAFile,
    /// It is larger than [`MAX_FILE_BYTES`].
    #[error("the file has {0} bytes, and at most {max} are loaded: build it for size, and strip it", max = MAX_FILE_BYTES)]
    TooLarge(usize),
    /// It does not begin as a WebAssembly binary does.
    #[error("it is not a WebAssembly file{0}")]
    NotWasm(&'static str),
    /// It is a module without the component model around it.
    #[error("it is a core WebAssembly module, not a component: build it for wasm32-wasip2, or wrap it with `wasm-tools component new`")]
    CoreModule,
    /// It was compiled before; the host trusts only what it compiles itself.
    #[error("it is precompiled code (.cwasm), which is never loaded from a file: use the .wasm file it was made of")]
    Precompiled,
    /// It is a component of nothing but a header.
    #[error("it is an empty component")]
    Empty,
    /// It is cut off or broken, or uses what this host has switched off.
    #[error("it is not a valid component, or still being written: {0}")]
    Invalid(String),
    /// Compiling it takes longer than it may.
    #[error("compiling it took longer than {0:?} and was stopped: build it for size, and strip it")]
    CompileTime(Duration),
    /// Compiling it takes more computing time than it may.
    #[error("compiling it took more than {0:?} of computing time and was stopped: build it for size, and strip it")]
    CompileWork(Duration),
    /// Compiling it takes more memory than it may, in bytes.
    #[error("compiling it took more memory than the {mib} MiB that it may: build it for size, and strip it", mib = .0 >> 20)]
    CompileMemory(u64),
    /// The compiler ended without a result; says how.
    #[error("it could not be compiled: {0}")]
    Compile(String),
    /// The compiler panicked, or the process is ending.
    #[error("the compiler failed on it: please report this, with the file")]
    CompilerFailed,
    /// It does not export `resources`.
    #[error("it is no provider: it does not export wharf:provider/resources{0}")]
    NoResources(String),
    /// It exports an interface of the contract in another form than the contract has.
    #[error("its export wharf:provider/{interface} is not as the contract has it (see `wit/`): {reason}")]
    WrongType {
        /// Which.
        interface: &'static str,
        /// In wasmtime's words.
        reason: String,
    },
    /// It uses a part of the contract that this host does not have.
    #[error("it needs a newer Wharf: this one does not serve {0}")]
    NeedsNewer(String),
    /// It imports what this host does not have.
    #[error("it imports what this host does not have: {0}")]
    Import(String),
    /// It traps, waits or takes too much memory while it is instantiated.
    #[error("it does not start: it {0}")]
    Start(String),
}

/// A component, and how long it took to compile; no time if its machine code was kept.
pub(super) type Made = (Component, Option<Duration>);

/// A component that fits this host. Cheap to clone.
#[derive(Clone)]
pub struct Compiled {
    runtime: Arc<Runtime>,
    pre: InstancePre<HostState>,
    exports: Exports,
    offers: Offers,
    /// Whether it imports `shared-state`.
    publishes: bool,
    names: Arc<Names>,
    compile_time: Option<Duration>,
}

impl Compiled {
    /// Checks that it fits.
    pub(super) fn new(runtime: Arc<Runtime>, (component, compile_time): &Made) -> Result<Self, LoadError> {
        let engine = component.engine();
        let names = Names::of(component, engine);
        names.check_exports()?;
        names.check_imports()?;
        let pre = runtime.linker(engine).instantiate_pre(component).map_err(|error| LoadError::Import(format!("{error:#}")))?;
        let exports = Exports {
            resources: resources::GuestIndices::new(&pre).map_err(wrong("resources"))?,
            subscriptions: names.find("subscriptions", || subscriptions::GuestIndices::new(&pre))?,
            completions: names.find("completions", || completions::GuestIndices::new(&pre))?,
            timer_handler: names.find("timer-handler", || timer_handler::GuestIndices::new(&pre))?,
            file_handler: names.find("file-handler", || file_handler::GuestIndices::new(&pre))?,
            fetch_handler: names.find("fetch-handler", || fetch_handler::GuestIndices::new(&pre))?,
            webhook_handler: names.find("webhook-handler", || webhook_handler::GuestIndices::new(&pre))?,
        };
        let publishes = names.imports("shared-state");
        let offers = Offers {
            // What it publishes can be watched, whatever else it has.
            subscriptions: exports.subscriptions.is_some() || publishes,
            completions: exports.completions.is_some(),
            webhooks: exports.webhook_handler.is_some(),
            live: LIVE.iter().any(|interface| names.exports(interface)),
        };
        Ok(Self { runtime, pre, exports, offers, publishes, names: Arc::new(names), compile_time: *compile_time })
    }

    /// What it has besides resources.
    pub fn offers(&self) -> Offers {
        self.offers
    }

    /// The names of what it imports, with versions, as its type has them.
    pub fn imports(&self) -> &[String] {
        &self.names.imports
    }

    /// The names of what it exports, likewise.
    pub fn exports(&self) -> &[String] {
        &self.names.exports
    }

    /// How long compiling it took; none if its machine code came from the cache.
    pub fn compile_time(&self) -> Option<Duration> {
        self.compile_time
    }

    /// What it imports and is of no use to it with these grants: for each, what it wants, and the lines of wharf.toml that would give it.
    pub fn ungranted(&self, grants: &Grants) -> Vec<String> {
        wants::ungranted(self.imports(), grants)
    }

    /// Makes a provider of it: one instance, and the task that owns it and makes fresh ones. To be called within a tokio runtime.
    ///
    /// # Errors
    /// [`LoadError::Start`] and [`LoadError::WrongType`], which only an instance shows.
    pub async fn start(&self, spec: Spec, announcer: Announcer) -> Result<Arc<WasmProvider>, LoadError> {
        let rights = self.runtime.rights(&spec).await;
        let log = GuestLog::new(spec.name.clone(), rights.secrets().clone());
        rights.secrets().missing().iter().for_each(|missing| log.warn(missing));
        wants::say(&self.runtime, self.imports(), &spec).await;
        if !spec.grants.webhooks.is_empty() && !self.offers.webhooks {
            log.warn("wharf.toml grants it webhooks, and it takes none: it does not export wharf:provider/webhook-handler");
        }
        let shared = Arc::new(SharedState::new(&spec.name, spec.expose.clone(), announcer.clone()));
        let (home, tally) = (Handle::current(), self.runtime.tally(&spec.name));
        let (compiled, spec, wake) = (self.clone(), Arc::new(spec), Arc::default());
        actor::start(Maker { compiled, spec, rights, announcer, log, shared, tally, wake, home }).await
    }
}

impl std::fmt::Debug for Compiled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compiled").field("offers", &self.offers).finish_non_exhaustive()
    }
}

/// All that a fresh instance is made of.
#[derive(Clone)]
pub(super) struct Maker {
    compiled: Compiled,
    pub spec: Arc<Spec>,
    pub rights: Rights,
    pub announcer: Announcer,
    pub log: GuestLog,
    /// What all of them publish together.
    pub shared: Arc<SharedState>,
    /// What is counted of them.
    pub tally: Arc<Tally>,
    /// Woken when something comes in for the instance.
    pub wake: Arc<Notify>,
    /// Where what the host does for it runs: not on the threads for guests, which they may keep busy.
    pub home: Handle,
}

impl Maker {
    pub fn make(&self) -> impl Future<Output = Result<Box<Instance>, LoadError>> + Send + 'static {
        Instance::create(self.clone())
    }

    pub fn pre(&self) -> &InstancePre<HostState> {
        &self.compiled.pre
    }

    pub fn exports(&self) -> &Exports {
        &self.compiled.exports
    }

    pub fn runtime(&self) -> &Arc<Runtime> {
        &self.compiled.runtime
    }

    pub fn offers(&self) -> Offers {
        self.compiled.offers
    }

    pub fn publishes(&self) -> bool {
        self.compiled.publishes
    }
}

fn wrong(interface: &'static str) -> impl FnOnce(wasmtime::Error) -> LoadError {
    move |error| LoadError::WrongType { interface, reason: format!("{error:#}") }
}

/// What can be told from the file's first bytes, with better words than the parser has.
pub(super) fn check_header(bytes: &[u8]) -> Result<(), LoadError> {
    if bytes.len() > MAX_FILE_BYTES {
        return Err(LoadError::TooLarge(bytes.len()));
    }
    if Engine::detect_precompiled(bytes).is_some() {
        return Err(LoadError::Precompiled);
    }
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        return Err(LoadError::NotWasm(match bytes {
            [] => ": it is empty",
            _ if bytes.trim_ascii_start().starts_with(b"(") => ": it looks like the text form; make a binary of it with `wasm-tools parse`",
            _ => "",
        }));
    };
    if rest.starts_with(CORE_MODULE) {
        return Err(LoadError::CoreModule);
    }
    if rest == COMPONENT {
        return Err(LoadError::Empty);
    }
    Ok(())
}

/// The names a component imports and exports, as `interface` and `version` where they are of the contract.
struct Names {
    imports: Vec<String>,
    exports: Vec<String>,
}

impl Names {
    fn of(component: &Component, engine: &Engine) -> Self {
        let ty = component.component_type();
        Self {
            imports: ty.imports(engine).map(|(name, _)| name.to_owned()).collect(),
            exports: ty.exports(engine).map(|(name, _)| name.to_owned()).collect(),
        }
    }

    fn exports(&self, interface: &str) -> bool {
        has(&self.exports, interface)
    }

    fn imports(&self, interface: &str) -> bool {
        has(&self.imports, interface)
    }

    /// What is found by this, if the component exports the interface.
    fn find<T>(&self, interface: &'static str, find: impl FnOnce() -> wasmtime::Result<T>) -> Result<Option<T>, LoadError> {
        self.exports(interface).then(|| find().map_err(wrong(interface))).transpose()
    }

    fn check_exports(&self) -> Result<(), LoadError> {
        if self.exports("resources") {
            return Ok(());
        }
        if let Some(other) = self.exports.iter().find(|name| contract(name).is_some_and(|(found, _)| found == "resources")) {
            return Err(LoadError::NeedsNewer(format!("{other}, but {PACKAGE}resources@{CONTRACT}x")));
        }
        Err(LoadError::NoResources(match self.exports.len() {
            0 => " (nor anything else)".into(),
            _ => format!(", only {}", self.exports.join(", ")),
        }))
    }

    fn check_imports(&self) -> Result<(), LoadError> {
        let missing: Vec<&str> = self
            .imports
            .iter()
            .filter(|name| {
                contract(name).is_some_and(|(interface, version)| !imports::SERVED.contains(&interface) || !version.starts_with(CONTRACT))
            })
            .map(String::as_str)
            .collect();
        if missing.is_empty() { Ok(()) } else { Err(LoadError::NeedsNewer(missing.join(", "))) }
    }
}

/// Whether this interface of the contract is among these names, in a version that this host serves.
fn has(names: &[String], interface: &str) -> bool {
    names.iter().any(|name| contract(name).is_some_and(|(found, version)| found == interface && version.starts_with(CONTRACT)))
}

/// Interface and version, of a name in the contract's package.
fn contract(name: &str) -> Option<(&str, &str)> {
    let name = name.strip_prefix(PACKAGE)?;
    Some(name.split_once('@').unwrap_or((name, "")))
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, task::Poll};

    use super::*;
    use crate::provider::{Source, wasm::Limits};

    fn header(version: &[u8]) -> Vec<u8> {
        [MAGIC, version].concat()
    }

    #[test]
    fn what_is_no_component_is_refused_by_its_first_bytes() {
        assert_eq!(check_header(b""), Err(LoadError::NotWasm(": it is empty")));
        assert_eq!(check_header(b"#!/bin/sh"), Err(LoadError::NotWasm("")));
        assert!(check_header(b"\n (component)").is_err_and(|error| error.to_string().contains("wasm-tools parse")));
        assert_eq!(check_header(&header(CORE_MODULE)), Err(LoadError::CoreModule));
        assert_eq!(check_header(&header(COMPONENT)), Err(LoadError::Empty));
        assert_eq!(check_header(&header(&[COMPONENT, &[0]].concat())), Ok(()));
    }

    #[test]
    fn a_file_over_the_limit_is_refused() {
        assert_eq!(check_header(&vec![0; MAX_FILE_BYTES + 1]), Err(LoadError::TooLarge(MAX_FILE_BYTES + 1)));
        assert_eq!(check_header(&vec![0; MAX_FILE_BYTES]), Err(LoadError::NotWasm("")));
    }

    #[test]
    fn a_patch_version_of_the_contract_is_served_and_another_is_not() {
        let names = |imports: &[&str], exports: &[&str]| Names {
            imports: imports.iter().map(ToString::to_string).collect(),
            exports: exports.iter().map(ToString::to_string).collect(),
        };
        let fits = names(&["wharf:provider/timers@0.1.7", "wasi:io/poll@0.2.9"], &["wharf:provider/resources@0.1.3", "exports"]);
        assert_eq!(fits.check_exports().and_then(|()| fits.check_imports()), Ok(()));
        let newer = names(&[], &["wharf:provider/resources@0.2.0"]).check_exports();
        assert!(newer.is_err_and(|error| error.to_string().contains("newer Wharf")));
        let newer = names(&["wharf:provider/timers@0.2.0", "wharf:provider/future@0.1.0"], &[]).check_imports();
        assert_eq!(newer, Err(LoadError::NeedsNewer("wharf:provider/timers@0.2.0, wharf:provider/future@0.1.0".into())));
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_ends_by_its_computing_time_where_the_clock_on_the_wall_stands_still() {
        let looping = wat::parse_str(
            r#"(component
                (core module $module (func $start loop br 0 end) (start $start) (func (export "f")))
                (core instance $core (instantiate $module))
                (func $f (canon lift (core func $core "f")))
                (instance $resources (export "list" (func $f)) (export "templates" (func $f)) (export "read" (func $f)))
                (export "wharf:provider/resources@0.1.0" (instance $resources)))"#,
        );
        let runtime = Runtime::new().unwrap();
        let component = Component::from_binary(runtime.engine(), &looping.unwrap()).unwrap();
        let compiled = Compiled::new(runtime, &(component, None)).unwrap();
        let deadline = Duration::from_millis(50);
        let spec = Spec { limits: Limits { deadline, ..Limits::default() }, ..Spec::new("loop") };
        let announcer = Announcer::new(Source { slot: 1, generation: 1 }, Arc::default());
        let rights = Rights::new("loop".into(), Arc::default());
        let log = GuestLog::new("loop".into(), Arc::default());
        let shared = Arc::new(SharedState::new("loop", spec.expose.clone(), announcer.clone()));
        let home = Handle::current();
        let tally = Arc::default();
        let maker = Maker { compiled, spec: Arc::new(spec), rights, announcer, log, shared, tally, wake: Arc::default(), home };
        let mut making = Box::pin(maker.make());
        // Polled without a pause: the runtime does not get to move its clock.
        let made = poll_fn(|context| {
            loop {
                if let Poll::Ready(made) = making.as_mut().poll(context) {
                    return Poll::Ready(made);
                }
            }
        });
        assert!(made.await.is_err_and(|error| error == LoadError::Start("did not end within 50ms".into())));
    }
}
