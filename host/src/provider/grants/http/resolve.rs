//! From names to addresses. Each request asks once, and connects to what it was told: nothing is resolved a second time.

use std::{io, net::IpAddr, sync::Arc};

use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

/// Lookups that the system does at a time, each on a thread of its own.
const MAX_LOOKUPS: usize = 64;
/// And of those, the ones for one provider.
pub(crate) const MAX_LOOKUPS_OF_ONE: usize = 8;

/// What finds the addresses of a name.
pub trait Resolve: Send + Sync {
    /// The addresses of a name, in the order in which they are to be tried. An error, or none: there is no such name. It is driven to its
    /// end, also when nobody waits for it any more.
    fn resolve(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// What the system does for all programs: /etc/hosts, DNS, and so on.
pub struct System {
    lookups: Arc<Semaphore>,
}

impl Default for System {
    fn default() -> Self {
        Self { lookups: Arc::new(Semaphore::new(MAX_LOOKUPS)) }
    }
}

impl Resolve for System {
    fn resolve(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let (name, lookups) = (name.to_owned(), self.lookups.clone());
        Box::pin(async move {
            let _turn = lookups.acquire_owned().await.map_err(io::Error::other)?;
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_system_knows_this_machine() {
        let found = System::default().resolve("localhost").await.unwrap();
        assert!(!found.is_empty() && found.iter().all(|address| address.is_loopback()), "{found:?}");
    }
}
