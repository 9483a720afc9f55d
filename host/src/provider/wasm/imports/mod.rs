//! The imports of the contract. Each returns at once; what takes time comes back through the instance's inbox.

mod fetch;
pub(super) mod files;
mod shared;
mod store;

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;
use wasmtime::component::{HasSelf, Linker};

use super::{
    bindings::wharf::provider::{
        announce, fetch as fetching, file_watch, settings, shared_state, store as storing, timers,
        types::{self, Error},
    },
    state::HostState,
    timers::{MAX_NAME_BYTES, MAX_TIMERS, Refused},
};
use crate::{provider::Occurrence, uri};

/// Interfaces of `wharf:provider` that a component may import. Any other is refused at load, by name.
pub(super) const SERVED: [&str; 8] = ["types", "announce", "settings", "timers", "file-watch", "fetch", "store", "shared-state"];

pub(super) fn link(linker: &mut Linker<HostState>) -> wasmtime::Result<()> {
    types::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    announce::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    settings::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    timers::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    file_watch::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    fetching::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    storing::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    shared_state::add_to_linker::<_, HasSelf<_>>(linker, |state| state)
}

impl types::Host for HostState {}

impl announce::Host for HostState {
    fn updated(&mut self, uris: Vec<String>) {
        let mut known = Vec::with_capacity(uris.len());
        for announced in uris {
            let wrong = match uri::check(&announced) {
                Err(reason) => format!("which is no URI: {reason}"),
                // URIs are in every log.
                Ok(()) if self.log.secrets().are_in(&announced) => "which has a secret in it".into(),
                Ok(()) => {
                    known.push(Arc::from(announced));
                    continue;
                }
            };
            let shown: String = self.log.secrets().hide(&announced).chars().take(200).collect();
            self.log.warn(&format!("it announced {shown:?}, {wrong}"));
        }
        // At once, while the guest is still inside its call: a read that begins after this is not answered from before it (law 7).
        self.announcer.announce(Occurrence::Updated(known));
    }

    fn list_changed(&mut self) {
        self.announcer.announce(Occurrence::ListChanged);
    }
}

impl settings::Host for HostState {
    fn get(&mut self, name: String) -> Option<String> {
        self.spec.settings.get(&name).cloned()
    }

    fn all(&mut self) -> Vec<(String, String)> {
        self.spec.settings.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

impl timers::Host for HostState {
    fn start(&mut self, name: String, after_ms: u32, every_ms: Option<u32>) -> Result<(), Error> {
        if !self.handlers.timers {
            return Err(Error::Failed("a component that starts timers must export wharf:provider/timer-handler".into()));
        }
        let ms = |ms: u32| Duration::from_millis(ms.into());
        self.timers.start(&name, ms(after_ms), every_ms.map(ms), Instant::now()).map_err(|refused| match refused {
            Refused::Name => Error::Invalid(format!("a timer's name has 1 to {MAX_NAME_BYTES} bytes")),
            Refused::TooMany => Error::Denied(format!("at most {MAX_TIMERS} timers: cancel some, or let one do the work of several")),
        })
    }

    fn cancel(&mut self, name: String) {
        self.timers.cancel(&name);
    }
}
