//! `wharf serve --stdio --attach URL`.

use anyhow::{Context, Result};
use hyper::HeaderMap;
use wharf::transport::{attach::Remote, stdio};

use super::{authorities::added, serve::run_to_end, signals::Signals};

/// Serves the client on stdin and stdout with what the host there serves.
pub(super) fn run(url: &str, headers: HeaderMap) -> Result<()> {
    run_to_end(async {
        let mut signals = Signals::new().context("cannot listen for signals")?;
        let remote = Remote::connect_with(url, headers, added().to_vec()).await?;
        stdio::serve(remote, tokio::io::stdin(), tokio::io::stdout(), signals.next()).await.context("cannot read stdin")
    })
}
