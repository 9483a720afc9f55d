//! The host as a client of HTTP, for providers: one gate that every request of theirs goes through, whichever import it came by.
//!
//! Invariants:
//! - Nobody is connected to but who a grant names, at an address that is public or granted ([`gate`]); exactly the addresses that were
//!   checked are connected to, and none is looked up again. Each hop of a redirect is a request of its own to the gate.
//! - What a server sends is bounded before it is kept: the head, the body as it comes, and the body as it unpacks. All has to end in time.
//! - One connection an exchange, which ends with it: nothing of one provider's is there for another. (TLS sessions are resumed.)
//!
//! It is built on hyper, which the host serves with anyway, and not on reqwest: that one has no bound for heads, and resolves
//! an address in place of a name by itself. HTTP/1.1 only.

mod address;
mod body;
mod connect;
mod exchange;
mod fetches;
pub mod gate;
mod poll;
mod proxy;
mod request;
mod resolve;
pub(crate) mod spans;
mod tls;

use std::{sync::Arc, time::Duration};

pub use address::is_public;
pub(crate) use connect::{Connected, HopError, Stage};
pub use exchange::{Answer, Failure};
pub use fetches::{Arrived, Fetches, Hold, Refused, Sink};
pub use proxy::Proxies;
pub use request::Outgoing;
pub(crate) use request::method;
pub(crate) use resolve::MAX_LOOKUPS_OF_ONE;
pub use resolve::{Resolve, System};
use rustls::pki_types::CertificateDer;
pub(crate) use tls::config as client_config;
pub use tls::{CaFileError, read_ca_file};

use crate::config::Fetch;

/// Time for a whole exchange: names, connections, redirects and the body. A provider may ask for less.
pub const MAX_TIME: Duration = Duration::from_secs(30);
/// Bytes of an answer's body, also once it is unpacked: as many as a read may have.
pub const MAX_BODY_BYTES: usize = 16 << 20;
/// Bytes of an answer's head. Large ones have some 8 KiB: that is where many servers stop.
pub const MAX_HEAD_BYTES: usize = 64 << 10;
/// Bytes of a request's body: as many as the host itself takes in one.
pub const MAX_REQUEST_BYTES: usize = 4 << 20;
/// Browsers follow twenty, and no honest server needs half of that.
pub const MAX_REDIRECTS: usize = 10;
/// Exchanges of one provider at a time; further ones wait for their turn.
pub const MAX_EXCHANGES: usize = 16;
/// Fetches and polls that one provider may have under way.
pub const MAX_FETCHES: usize = 1024;
/// A poll's period is at least this, unless wharf.toml says otherwise.
pub const MIN_PERIOD: Duration = Duration::from_secs(1);

/// How a [`Client`] works.
pub struct Settings {
    /// Trusted besides the system's own roots.
    pub authorities: Vec<CertificateDer<'static>>,
    /// What knows the addresses of names.
    pub resolver: Arc<dyn Resolve>,
    /// Which requests go through which proxy.
    pub proxies: Proxies,
    /// A poll's period is at least this.
    pub min_period: Duration,
}

impl Default for Settings {
    /// The system's resolver, the environment's proxies.
    fn default() -> Self {
        Self { authorities: Vec::new(), resolver: Arc::new(System::default()), proxies: Proxies::from_env(), min_period: MIN_PERIOD }
    }
}

impl Settings {
    /// As wharf.toml has it.
    ///
    /// # Errors
    /// [`CaFileError`].
    pub fn of(config: &Fetch) -> Result<Self, CaFileError> {
        let authorities = config.ca_file.as_deref().map(read_ca_file).transpose()?.unwrap_or_default();
        Ok(Self { authorities, min_period: config.min_period.unwrap_or(MIN_PERIOD), ..Self::default() })
    }
}

/// Asks on behalf of all providers. Costs nothing until it is used.
pub struct Client {
    resolver: Arc<dyn Resolve>,
    proxies: Proxies,
    trusted: tls::Trusted,
    min_period: Duration,
}

impl Client {
    /// With these settings, which stay as they are.
    pub fn new(settings: Settings) -> Arc<Self> {
        let Settings { authorities, resolver, proxies, min_period } = settings;
        Arc::new(Self { resolver, proxies, trusted: tls::Trusted::with(authorities), min_period })
    }
}

#[cfg(test)]
mod tests;
