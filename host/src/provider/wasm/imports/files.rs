//! Granted folders: those of one instance, and `file-watch` in them.
//!
//! Invariants: nothing of a watch arrives after `unwatch`, or after another has taken its name; an instance whose folders were made, or made
//! again, after it says so, since what it has open is what was there before.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

use tokio::{sync::Notify, time::timeout};
use wasmtime_wasi::WasiCtx;

use crate::provider::{
    grants::{
        Need, Rights,
        files::{Files, Guarded, Places, Unplaced, Watching},
    },
    wasm::{
        bindings::wharf::provider::{file_watch, types::Error},
        engine::Runtime,
        log::GuestLog,
        state::HostState,
        timers::MAX_NAME_BYTES,
        wasi,
    },
};

/// Watches of one instance.
const MAX_WATCHES: usize = 256;

/// The folders of one instance, and what it watches there.
pub(in crate::provider::wasm) struct Folders {
    files: Arc<Files>,
    places: Places,
    watches: HashMap<Arc<str>, Watch>,
    outdated: Arc<AtomicBool>,
    /// Ends with the instance.
    _roots: Option<Watching>,
}

struct Watch {
    ended: Arc<AtomicBool>,
    _watching: Watching,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.ended.store(true, SeqCst);
    }
}

impl Folders {
    /// Finds the granted folders, and makes the WASI context that has them. Wakes this when one of them is another than it was.
    pub async fn open(
        runtime: &Runtime,
        rights: &Rights,
        guarded: &Arc<Guarded>,
        log: &GuestLog,
        wake: &Arc<Notify>,
        patience: Duration,
    ) -> (Self, WasiCtx) {
        let grants = rights.grants().clone();
        let (places, wasi) = if grants.folders.is_empty() {
            (Places::default(), wasi::context(log, &Places::default(), rights.secrets().environment()))
        } else {
            let finding = tokio::task::spawn_blocking({
                let (grants, guarded, secrets, log) = (grants.clone(), guarded.clone(), rights.secrets().clone(), log.clone());
                move || {
                    let places = Places::find(&grants.folders, &guarded);
                    let wasi = wasi::context(&log, &places, secrets.environment());
                    (places, wasi)
                }
            });
            // A mount may not answer at all.
            match timeout(patience, finding).await {
                Ok(Ok(found)) => found,
                _ => {
                    tracing::warn!(provider = &**rights.provider(), "the folders granted to it do not answer: it runs without them");
                    (Places::default(), wasi::context(log, &Places::default(), rights.secrets().environment()))
                }
            }
        };
        for missing in places.missing() {
            let (host, guest) = (missing.host.display(), &missing.guest);
            runtime.warn_once(
                rights.provider(),
                format!(
                    "the folder {host}, which wharf.toml grants as {guest}, cannot be had ({}): it runs without, and gets it once it is there",
                    missing.reason
                ),
            );
        }
        for place in places.there() {
            let Some(guarded) = &place.guarded else { continue };
            runtime.warn_once(
                rights.provider(),
                format!(
                    "the folder {}, which wharf.toml grants as {} with write = true, is given to be read only: {} is in it, and who may write \
                     that can have more than was granted; grant a folder in which it is not",
                    place.host.display(),
                    place.guest,
                    guarded.display()
                ),
            );
        }
        let outdated = Arc::<AtomicBool>::default();
        let roots = (!places.roots().is_empty()).then(|| {
            let (outdated, wake) = (outdated.clone(), wake.clone());
            runtime.files().follow(places.roots().to_vec(), move || {
                outdated.store(true, SeqCst);
                wake.notify_one();
            })
        });
        let roots = roots.and_then(|roots| {
            roots.inspect_err(|error| tracing::warn!("granted folders that are made again go unnoticed: no thread for it: {error}")).ok()
        });
        (Self { files: runtime.files().clone(), places, watches: HashMap::new(), outdated, _roots: roots }, wasi)
    }

    /// Whether one of the granted folders is another than when this was made.
    pub fn is_outdated(&self) -> bool {
        self.outdated.load(SeqCst)
    }
}

impl HostState {
    fn start_watching(&mut self, name: String, path: &str, recursive: bool) -> Result<(), Error> {
        if !self.handlers.files {
            return Err(Error::Failed("a component that watches files must export wharf:provider/file-handler".into()));
        }
        if name.is_empty() || name.len() > MAX_NAME_BYTES {
            return Err(Error::Invalid(format!("the name of a watch has 1 to {MAX_NAME_BYTES} bytes")));
        }
        let located = self.folders.places.locate(path).map_err(|unplaced| match unplaced {
            Unplaced::Invalid(why) => Error::Invalid(why.into()),
            Unplaced::NotGranted => Error::Denied(self.rights.deny(Need::Folder(path.to_owned()))),
            Unplaced::Missing(folder) => Error::Unavailable(not_there(&folder)),
        })?;
        let watches = &mut self.folders.watches;
        if !watches.contains_key(&*name) && watches.len() >= MAX_WATCHES {
            return Err(Error::Denied(format!("at most {MAX_WATCHES} watches: watch a folder in place of its files")));
        }
        self.stop_watching(&name);
        let (name, ended) = (Arc::<str>::from(name), Arc::<AtomicBool>::default());
        let sink = {
            let (inbox, name, shown, ended) = (self.inbox.clone(), name.clone(), located.shown.clone(), ended.clone());
            Arc::new(move |changes| inbox.changed(&name, &shown, &ended, changes))
        };
        let watching = self.folders.files.watch(self.rights.provider(), &located, recursive, sink);
        let watching = watching.map_err(|error| Error::Failed(format!("the host has no thread to watch files with: {error}")))?;
        self.folders.watches.insert(name, Watch { ended, _watching: watching });
        Ok(())
    }

    fn stop_watching(&mut self, name: &str) {
        drop(self.folders.watches.remove(name));
        self.inbox.forget_watch(name);
    }
}

fn not_there(folder: &std::path::Path) -> String {
    format!("the granted folder {} is not there: make it, and the provider is started anew with it", folder.display())
}

impl file_watch::Host for HostState {
    fn watch(&mut self, name: String, path: String, recursive: bool) -> Result<(), Error> {
        self.start_watching(name, &path, recursive)
    }

    fn unwatch(&mut self, name: String) {
        self.stop_watching(&name);
    }
}
