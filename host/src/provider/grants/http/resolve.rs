//! From names to addresses. Each request asks once, and connects to what it was told: nothing is resolved a second time.

use std::{io, net::IpAddr, sync::Arc};

use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

/// Lookups that the system does at a time, each on a thread of its own. One that is no longer waited for goes on until the system gives up,
/// and counts till then.
const MAX_LOOKUPS: usize = 32;

/// What finds the addresses of a name.
pub trait Resolve: Send + Sync {
    /// The addresses of a name, in the order in which they are to be tried. An error, or none: there is no such name.
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
            let turn = lookups.acquire_owned().await.map_err(io::Error::other)?;
            // A task of its own: the system's call cannot be called off, and holds its turn until it ends.
            let looking = tokio::spawn(async move {
                let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
                let addresses = found.map(|address| address.ip()).collect();
                drop(turn);
                Ok(addresses)
            });
            looking.await.map_err(io::Error::other)?
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
