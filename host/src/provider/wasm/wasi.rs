//! WASI as a provider finds it: all of it is there to be imported, since the runtimes of some languages import all of it always, and
//! nothing is granted by itself but clocks, random numbers, and output that goes to the log.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime::component::{Linker, ResourceTable};
use wasmtime_wasi::{
    FsPerms, WasiCtx, WasiCtxView, WasiView, async_trait,
    cli::{IsTerminal, StdoutStream},
    p2::{OutputStream, Pollable, StreamResult},
};
use wasmtime_wasi_config::WasiConfig;
use wasmtime_wasi_http::{WasiHttpCtxView, WasiHttpView};

mod names;

use super::{
    log::{From, GuestLog},
    state::HostState,
};
use crate::provider::grants::files::Places;

/// Bytes of random numbers for one call; each is made while the guest waits.
const MAX_RANDOM_BYTES: u64 = 64 << 10;
/// Streams, pollables, requests and the like that a guest may hold.
const MAX_RESOURCES: usize = 4096;
/// Bytes a guest may write to its log at once; it is never made to wait.
const LOG_PERMIT: usize = 64 << 10;

/// Links all of WASI 0.2: cli, clocks, filesystem, io, random, sockets, http; and config, which has the provider's settings.
pub(super) fn link(linker: &mut Linker<HostState>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(linker)?;
    wasmtime_wasi_config::add_to_linker(linker, |state| WasiConfig::from(&state.config))?;
    names::link(linker)
}

/// A context with these folders and this environment, and without arguments, network or stdin. Blocks if there are any folders.
///
/// What a guest does with files runs on tokio's threads for blocking calls, though it costs some 10 µs each time: its deadline holds so also
/// where a mount does not answer, or a pipe is opened to which nobody writes.
pub(super) fn context(log: &GuestLog, places: &Places, environment: &[(String, String)]) -> WasiCtx {
    let mut builder = WasiCtx::builder();
    for place in places.there() {
        let perms = if place.write { FsPerms::ReadWrite } else { FsPerms::ReadOnly };
        let opened = place.open(|path| builder.preopened_dir(path, &place.guest, perms).map(|_| ()).map_err(|error| format!("{error:#}")));
        if let Err(error) = opened.map_err(|error| error.to_string()).and_then(|opened| opened) {
            log.warn(&format!(
                "the folder {}, which wharf.toml grants as {}, cannot be opened: {error}",
                place.host.display(),
                place.guest
            ));
        }
    }
    builder
        .envs(environment)
        .stdout(Output { log: log.clone(), from: From::Stdout })
        .stderr(Output { log: log.clone(), from: From::Stderr })
        .max_random_size(MAX_RANDOM_BYTES)
        .build()
}

pub(super) fn table() -> ResourceTable {
    let mut table = ResourceTable::new();
    table.set_max_capacity(MAX_RESOURCES);
    table
}

impl WasiView for HostState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for HostState {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { hooks: &mut self.calls, table: &mut self.table, ctx: &mut self.http }
    }
}

/// stdout or stderr. It has a `p2_stream` of its own: the default one, over `async_stream`, lets a guest grow the host's memory by empty
/// writes (GHSA-5m8g-xhq4-4h93, wasmtime before 48.0.9).
#[derive(Clone)]
struct Output {
    log: GuestLog,
    from: From,
}

impl IsTerminal for Output {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Output {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[async_trait]
impl Pollable for Output {
    async fn ready(&mut self) {}
}

#[async_trait]
impl OutputStream for Output {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.log.write(self.from, &bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(LOG_PERMIT)
    }
}

impl AsyncWrite for Output {
    fn poll_write(self: Pin<&mut Self>, _context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.log.write(self.from, bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
