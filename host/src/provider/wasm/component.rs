//! From bytes to a compiled component that is known to fit this host, or to the reason why it does not.

use std::{sync::Arc, time::Duration};

use tokio::{runtime::Handle, sync::Notify};
use wasmtime::component::{Component, InstancePre};

mod error;
mod header;
mod names;

pub(super) use self::header::check_header;
use self::names::Names;
pub use self::{error::LoadError, header::MAX_FILE_BYTES};
use super::{
    Spec, WasmProvider, actor,
    bindings::exports::wharf::provider::{
        completions, fetch_handler, file_handler, resources, subscriptions, timer_handler, webhook_handler,
    },
    engine::Runtime,
    instance::{Exports, HostState, Instance},
    log::GuestLog,
    wants,
};
use crate::{
    config::Grants,
    provider::{Announcer, Offers, grants::Rights, shared_state::SharedState, tally::Tally},
};

/// Interfaces of the contract a component may export besides `resources`. Whoever has `subscriptions` or a handler is one live instance.
const LIVE: [&str; 5] = ["subscriptions", "timer-handler", "file-handler", "fetch-handler", "webhook-handler"];

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
        let pre = runtime.linker(engine).instantiate_pre(component).map_err(|error| names.refused_import(&error))?;
        let exports = Exports {
            resources: resources::GuestIndices::new(&pre).map_err(wrong("resources"))?,
            subscriptions: found(&names, "subscriptions", || subscriptions::GuestIndices::new(&pre))?,
            completions: found(&names, "completions", || completions::GuestIndices::new(&pre))?,
            timer_handler: found(&names, "timer-handler", || timer_handler::GuestIndices::new(&pre))?,
            file_handler: found(&names, "file-handler", || file_handler::GuestIndices::new(&pre))?,
            fetch_handler: found(&names, "fetch-handler", || fetch_handler::GuestIndices::new(&pre))?,
            webhook_handler: found(&names, "webhook-handler", || webhook_handler::GuestIndices::new(&pre))?,
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

/// What is found by this, if the component exports the interface.
fn found<T>(names: &Names, interface: &'static str, find: impl FnOnce() -> wasmtime::Result<T>) -> Result<Option<T>, LoadError> {
    names.exports(interface).then(|| find().map_err(wrong(interface))).transpose()
}

fn wrong(interface: &'static str) -> impl FnOnce(wasmtime::Error) -> LoadError {
    move |error| LoadError::WrongType { interface, reason: format!("{error:#}") }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, task::Poll};

    use super::*;
    use crate::provider::{Source, wasm::Limits};

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
