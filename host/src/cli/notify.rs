//! What a service manager is told, as sd_notify(3) has it: datagrams to the socket that `NOTIFY_SOCKET` names.
//!
//! Invariants: without a socket nothing is done; what cannot be told holds nothing up. The watchdog is told that all is well only as long as
//! the one task that everything live goes through answers.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::task::AbortHandle;
use wharf::{
    plugins::{Fate, Report},
    subscriptions::Subscriptions,
};

use super::output::count;

/// systemd takes what it is told at once.
#[cfg(unix)]
const PATIENCE: Duration = Duration::from_secs(1);

/// A service manager, if there is one. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Notify {
    #[cfg(unix)]
    socket: Option<Arc<std::os::unix::net::UnixDatagram>>,
}

/// Ends what it stands for when it is dropped.
pub(super) struct Beat(AbortHandle);

impl Drop for Beat {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Notify {
    /// The one that the environment names.
    #[cfg(unix)]
    pub(super) fn from_environment() -> Self {
        let Some(name) = std::env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()) else { return Self::default() };
        let socket =
            connect(&name).inspect_err(|error| tracing::warn!("NOTIFY_SOCKET {} cannot be told anything: {error}", name.display()));
        Self { socket: socket.ok().map(Arc::new) }
    }

    /// There is none.
    #[cfg(not(unix))]
    pub(super) fn from_environment() -> Self {
        Self::default()
    }

    /// Tells it assignments, one a line, such as `READY=1`.
    #[cfg(unix)]
    pub(super) fn tell(&self, state: &str) {
        if let Some(socket) = &self.socket
            && let Err(error) = socket.send(state.as_bytes())
        {
            tracing::debug!(%error, "the service manager was not told {state:?}");
        }
    }

    #[cfg(not(unix))]
    pub(super) fn tell(&self, _: &str) {}

    /// Tells the watchdog that all is well, if it wants to hear it, as long as this is kept.
    pub(super) fn beat(&self, subscriptions: Subscriptions) -> Option<Beat> {
        let variable = |name: &str| std::env::var_os(name);
        let period = period(variable("WATCHDOG_USEC"), variable("WATCHDOG_PID"), std::process::id())?;
        let this = self.clone();
        let beating = tokio::spawn(async move {
            let mut ticks = tokio::time::interval(period);
            loop {
                ticks.tick().await;
                // Through the task that all subscriptions go through.
                subscriptions.counts().await;
                this.tell("WATCHDOG=1");
            }
        });
        Some(Beat(beating.abort_handle()))
    }
}

#[cfg(unix)]
fn connect(name: &OsString) -> io::Result<std::os::unix::net::UnixDatagram> {
    use std::os::unix::{ffi::OsStrExt, net::SocketAddr};

    let address = match name.as_bytes() {
        #[cfg(target_os = "linux")]
        [b'@', name @ ..] => <SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(name)?,
        [b'/', ..] => SocketAddr::from_pathname(name)?,
        _ => return Err(io::Error::new(io::ErrorKind::Unsupported, "it is neither a path nor an abstract name")),
    };
    let socket = std::os::unix::net::UnixDatagram::unbound()?;
    socket.connect_addr(&address)?;
    socket.set_write_timeout(Some(PATIENCE))?;
    Ok(socket)
}

/// How often the watchdog is told: twice as often as it wants it (sd_watchdog_enabled(3)). None if it wants nothing of this process.
fn period(microseconds: Option<OsString>, process: Option<OsString>, own: u32) -> Option<Duration> {
    let number = |text: OsString| text.to_str().and_then(|text| text.parse::<u64>().ok());
    if let Some(process) = process
        && number(process) != Some(own.into())
    {
        return None;
    }
    number(microseconds?).filter(|microseconds| *microseconds > 1).map(|microseconds| Duration::from_micros(microseconds / 2))
}

/// The status of a host, for whoever looks at its service.
#[derive(Clone)]
pub(super) struct Status {
    url: Arc<str>,
    /// Which providers there are, and whether they serve.
    serving: Arc<Mutex<BTreeMap<Arc<str>, bool>>>,
}

impl Status {
    pub(super) fn new(url: &str) -> Self {
        Self { url: url.into(), serving: Arc::default() }
    }

    /// These are to be loaded.
    pub(super) fn expect<'a>(&self, names: impl IntoIterator<Item = &'a Arc<str>>) {
        let mut serving = self.serving.lock().unwrap_or_else(PoisonError::into_inner);
        for name in names {
            serving.entry(name.clone()).or_insert(false);
        }
    }

    /// What became of one.
    pub(super) fn report(&self, report: &Report) {
        let mut all = self.serving.lock().unwrap_or_else(PoisonError::into_inner);
        match &report.fate {
            Fate::Removed => drop(all.remove(&report.name)),
            Fate::Refused { serving, .. } => drop(all.insert(report.name.clone(), *serving)),
            Fate::Loaded(_) | Fate::Restored => drop(all.insert(report.name.clone(), true)),
        }
    }

    /// As an assignment.
    pub(super) fn line(&self) -> String {
        let all = self.serving.lock().unwrap_or_else(PoisonError::into_inner);
        let serving = all.values().filter(|serving| **serving).count();
        format!("STATUS=serving at {}: {serving} of {}", self.url, count(all.len(), "provider"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watchdog_hears_of_the_process_it_asked_twice_as_often_as_it_wants() {
        let period = |microseconds: &str, process: Option<&str>| period(Some(microseconds.into()), process.map(Into::into), 7);
        assert_eq!(period("20000000", None), Some(Duration::from_secs(10)));
        assert_eq!(period("20000000", Some("7")), Some(Duration::from_secs(10)));
        for (microseconds, process) in [("20000000", Some("8")), ("20000000", Some("")), ("0", None), ("1", None), ("", None), ("-1", None)]
        {
            assert_eq!(period(microseconds, process), None, "{microseconds} {process:?}");
        }
        assert_eq!(super::period(None, None, 7), None);
    }

    #[test]
    fn the_status_counts_those_that_serve() {
        let status = Status::new("http://a/mcp");
        let names: Vec<Arc<str>> = vec!["a".into(), "b".into()];
        let report = |name: &str, fate| status.report(&Report { name: name.into(), path: "a.wasm".into(), fate });
        status.expect(&names);
        assert_eq!(status.line(), "STATUS=serving at http://a/mcp: 0 of 2 providers");
        report("a", Fate::Restored);
        report("b", Fate::Refused { reason: "no".into(), serving: false });
        assert_eq!(status.line(), "STATUS=serving at http://a/mcp: 1 of 2 providers");
        report("b", Fate::Removed);
        assert_eq!(status.line(), "STATUS=serving at http://a/mcp: 1 of 1 provider");
    }
}
