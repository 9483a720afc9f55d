//! What the host keeps for one instance, besides its store: its rights, and what it has under way.

use std::sync::Arc;

use tokio::time::Instant;
use wasmtime::{ResourceLimiter, component::ResourceTable};
use wasmtime_wasi::WasiCtx;
use wasmtime_wasi_config::WasiConfigVariables;
use wasmtime_wasi_http::WasiHttpCtx;

use super::{
    Spec,
    component::Maker,
    imports::files::Folders,
    inbox::Inbox,
    limits::Meter,
    log::GuestLog,
    timers::Timers,
    wasi,
    wasi_http::{Calls, Net},
};
use crate::provider::{
    Announcer,
    grants::{Rights, http::Fetches, store::Stores},
    shared_state::SharedState,
};

/// What the host keeps for one instance.
pub(super) struct HostState {
    pub spec: Arc<Spec>,
    pub announcer: Announcer,
    pub log: GuestLog,
    pub timers: Timers,
    pub inbox: Inbox,
    pub rights: Rights,
    pub folders: Folders,
    pub stores: Arc<Stores>,
    pub shared: Arc<SharedState>,
    /// What it can be told: who asks for something must be able to hear of it.
    pub handlers: Handlers,
    /// The way out.
    pub net: Net,
    /// Those it has asked for, if it has asked for any.
    pub fetches: Option<Fetches>,
    pub wasi: WasiCtx,
    pub http: WasiHttpCtx,
    pub calls: Calls,
    pub table: ResourceTable,
    /// The settings once more, as wasi:config wants them.
    pub config: WasiConfigVariables,
    meter: Meter,
    /// Ticks that this call has spent computing.
    ticks: u64,
}

/// Which handlers a component exports.
#[derive(Clone, Copy)]
pub(super) struct Handlers {
    pub timers: bool,
    pub files: bool,
    pub fetches: bool,
}

impl HostState {
    /// As an instance begins.
    pub async fn new(maker: Maker) -> Self {
        let runtime = maker.runtime().clone();
        let exports = maker.exports();
        let handlers = Handlers {
            timers: exports.timer_handler.is_some(),
            files: exports.file_handler.is_some(),
            fetches: exports.fetch_handler.is_some(),
        };
        let (net, stores) = (Net { runtime: runtime.clone(), home: maker.home.clone() }, runtime.stores().clone());
        let Maker { spec, rights, announcer, log, wake, shared, tally, .. } = maker;
        let log = log.apart();
        let (folders, wasi) = Folders::open(&runtime, &rights, &spec.guarded, &log, &wake, spec.limits.deadline).await;
        Self {
            announcer,
            timers: Timers::new(Instant::now()),
            inbox: Inbox::new(wake),
            folders,
            stores,
            shared,
            handlers,
            wasi,
            http: WasiHttpCtx::new(),
            calls: Calls::new(net.clone(), rights.clone()),
            net,
            fetches: None,
            table: wasi::table(),
            config: spec.settings.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
            meter: Meter::new(&spec.limits, tally),
            ticks: 0,
            rights,
            spec,
            log,
        }
    }

    /// A call begins.
    pub fn begin(&mut self) {
        self.ticks = 0;
        self.meter.refused = false;
    }

    /// One more tick was spent computing; how many this call has had.
    pub fn tick(&mut self) -> u64 {
        self.ticks += 1;
        self.ticks
    }

    /// What limits its memory.
    pub fn meter(&mut self) -> &mut dyn ResourceLimiter {
        &mut self.meter
    }

    /// Whether this call wanted more memory than it may have.
    pub fn was_refused_memory(&self) -> bool {
        self.meter.refused
    }
}
