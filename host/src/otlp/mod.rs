//! Bringing spans to a collector: OTLP over HTTP, in its JSON encoding (OpenTelemetry Protocol 1.9, "OTLP/HTTP").
//!
//! ```text
//! tracing ── layer ── queue ── exporter ── client ── the collector
//! ```
//!
//! [`layer()`] is for the subscriber of the program, which there is one of; it collects nothing until [`Tap::start`] says where to.
//!
//! This is written on the HTTP and TLS that are here already. The crates of OpenTelemetry would be twelve more, and do not do what a host
//! needs: they neither tell how many spans they dropped, nor keep to `Retry-After`, nor end by a given time.
//!
//! Invariants:
//! - Whoever ends a span never waits: past [`QUEUE`] spans that wait, new ones are dropped and counted.
//! - A collector that is down, slow or hostile costs bounded memory, and one line in the log until it is back.
//! - Nothing of this is traced itself.

mod client;
mod encode;
mod exporter;
mod layer;
mod queue;
mod span;

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use hyper::{
    HeaderMap,
    header::{HeaderName, HeaderValue},
};

use self::{client::Client, queue::Queue};
pub use self::{
    exporter::Exporter,
    layer::{SpanFilter, SpanLayer},
};
use crate::{
    config::{OtlpHeader, Server},
    provider::grants::{http::client_config, secrets},
};

/// Spans that may wait. At a few hundred bytes each they are some megabytes, and last for seconds of many reads.
pub const QUEUE: usize = 8192;
/// Spans that go in one request; some 400 KB.
pub const BATCH: usize = 512;
/// How long a span waits for others at most.
pub const DELAY: Duration = Duration::from_secs(1);
/// How long the collector may take to answer: OTLP's default.
pub const TIMEOUT: Duration = Duration::from_secs(10);
/// What is tried again waits so long first, then twice as long, and so on.
const BACKOFF: Duration = Duration::from_secs(1);
/// But no longer than this, whatever the collector asks for: what waits behind it is lost meanwhile.
const MAX_BACKOFF: Duration = Duration::from_secs(30);
/// How often a batch is sent at most. After that it is dropped.
const TRIES: u32 = 5;

/// Why spans cannot be brought anywhere.
#[derive(Debug, thiserror::Error)]
pub enum OtlpError {
    /// A header's value cannot be read.
    #[error("[server] otlp-headers: {name}: {reason}")]
    Header {
        /// Which.
        name: String,
        /// Why.
        reason: String,
    },
    /// There is no TLS to be had.
    #[error("[server] otlp: {0}")]
    Tls(String),
    /// The system has no random numbers.
    #[error("no random numbers: {0}")]
    Random(getrandom::Error),
}

/// A layer that collects spans, its filter, and what they are collected in.
pub fn layer() -> (SpanLayer, SpanFilter, Tap) {
    let queue = Arc::new(Queue::default());
    (SpanLayer::new(queue.clone()), SpanFilter::new(queue.clone()), Tap(queue))
}

/// See [`layer()`].
#[derive(Debug, Clone)]
pub struct Tap(Arc<Queue>);

impl Tap {
    /// From now on spans are collected and brought to a collector, if wharf.toml says so. The exporter is for [`Builder::spans`], and has to be
    /// kept: without it nothing is collected any more. To be called once, inside a tokio runtime. Blocks for files with secrets and roots.
    ///
    /// # Errors
    /// [`OtlpError`].
    ///
    /// [`Builder::spans`]: crate::host::Builder::spans
    pub fn start(&self, server: &Server) -> Result<Option<Arc<Exporter>>, OtlpError> {
        let Some(endpoint) = server.otlp.clone() else { return Ok(None) };
        let tls = if endpoint.https { Some(client_config(Vec::new()).map_err(OtlpError::Tls)?) } else { None };
        let client = Client::new(endpoint, headers(&server.otlp_headers)?, tls);
        let mut instance = [0; 16];
        getrandom::fill(&mut instance).map_err(OtlpError::Random)?;
        let exporter = Exporter::start(self.0.clone(), client, encode::Resource::new(instance));
        self.0.open(server.otlp_ratio.unwrap_or(1.0));
        Ok(Some(exporter))
    }
}

fn headers(written: &BTreeMap<String, OtlpHeader>) -> Result<HeaderMap, OtlpError> {
    let mut headers = HeaderMap::new();
    for (name, value) in written {
        let wrong = |reason: String| OtlpError::Header { name: name.clone(), reason };
        let value = match value {
            OtlpHeader::Text(text) => text.clone(),
            OtlpHeader::Secret(from) => secrets::value(from).map_err(|reason| wrong(format!("{from} {reason}")))?,
        };
        let name = HeaderName::try_from(name).map_err(|_| wrong("it is no name for a header".into()))?;
        let mut value =
            HeaderValue::try_from(value.trim()).map_err(|_| wrong("its value has characters that no header may have".into()))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}
