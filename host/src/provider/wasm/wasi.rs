//! WASI as a provider finds it: all of it is there to be imported, since the runtimes of some languages import all of it always, and
//! nothing is granted but clocks, random numbers, output that goes to the log, and variables that wharf.toml names.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime::component::{Linker, ResourceTable};
use wasmtime_wasi::{
    WasiCtx, WasiCtxView, WasiView, async_trait,
    cli::{IsTerminal, StdoutStream},
    p2::{OutputStream, Pollable, StreamResult},
};
use wasmtime_wasi_config::WasiConfig;
use wasmtime_wasi_http::{RequestOptions, WasiBody, WasiHttpCtxView, WasiHttpHooks, WasiHttpView};

use super::{
    instance::HostState,
    log::{From, GuestLog},
};

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
    wasmtime_wasi_config::add_to_linker(linker, |state| WasiConfig::from(&state.config))
}

/// A context without arguments, folders, network or stdin, and with this environment.
pub(super) fn context(log: &GuestLog, environment: &[(String, String)]) -> WasiCtx {
    WasiCtx::builder()
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
        WasiHttpCtxView { hooks: &mut self.no_http, table: &mut self.table, ctx: &mut self.http }
    }
}

/// Refuses every request, and says in the log what would allow it.
pub(super) struct NoHttp(pub GuestLog);

type Exchange = (hyper::Response<WasiBody>, Box<dyn Future<Output = Result<(), wasmtime_wasi_http::Error>> + Send>);

impl WasiHttpHooks for NoHttp {
    fn send_request(
        &mut self,
        request: hyper::Request<WasiBody>,
        _options: Option<RequestOptions>,
        _done: Box<dyn Future<Output = Result<(), wasmtime_wasi_http::Error>> + Send>,
    ) -> Box<dyn Future<Output = wasmtime_wasi_http::Result<Exchange>> + Send> {
        let host = request.uri().authority().map_or("", |authority| authority.as_str());
        self.0.warn(&format!(
            "an HTTP request to {host:?} was refused: the provider has no grant for it. A Wharf that grants hosts needs in wharf.toml: \
             [provider.grants] hosts = [{host:?}]"
        ));
        Box::new(std::future::ready(Err(wasmtime_wasi_http::Error::HttpRequestDenied)))
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
