//! `fetch`: what a guest asks for is asked for by the host, and the answer goes to the instance's inbox.

use std::{sync::Arc, time::Duration};

use crate::provider::{
    grants::http::{Arrived, Failure, Fetches, Hold, MAX_BODY_BYTES, MAX_FETCHES, Outgoing, Refused, Sink},
    wasm::{
        bindings::{
            exports::wharf::provider::fetch_handler::{FetchError, FetchOutcome, FetchResponse},
            wharf::provider::{
                fetch::{self, FetchRequest},
                types::Error,
            },
        },
        inbox::Inbox,
        state::HostState,
    },
};

impl fetch::Host for HostState {
    fn start(&mut self, name: String, request: FetchRequest) -> Result<(), Error> {
        let request = self.outgoing(request)?;
        self.fetches().start(&name, request).map_err(refused)
    }

    fn poll(&mut self, name: String, request: FetchRequest, every_ms: u32) -> Result<(), Error> {
        let request = self.outgoing(request)?;
        self.fetches().poll(&name, request, Duration::from_millis(every_ms.into())).map_err(refused)
    }

    fn cancel(&mut self, name: String) {
        if let Some(fetches) = &self.fetches {
            fetches.cancel(&name);
        }
    }
}

impl HostState {
    fn outgoing(&self, request: FetchRequest) -> Result<Outgoing, Error> {
        if !self.handlers.fetches {
            return Err(Error::Failed("a component that fetches must export wharf:provider/fetch-handler".into()));
        }
        let FetchRequest { method, url, headers, body, timeout_ms } = request;
        let time = timeout_ms.map(|ms| Duration::from_millis(ms.into()));
        Outgoing::new(method.as_deref(), &url, &headers.unwrap_or_default(), body, time).map_err(Error::Invalid)
    }

    /// Made when the first one is asked for.
    fn fetches(&mut self) -> &Fetches {
        let Self { fetches, inbox, net, rights, .. } = self;
        fetches.get_or_insert_with(|| Fetches::new(net.client().clone(), rights.clone(), net.home.clone(), Arc::new(inbox.clone())))
    }
}

impl Sink for Inbox {
    fn arrived(&self, arrived: Arrived, hold: Hold) {
        self.fetched(outcome(arrived), hold);
    }

    fn forget(&self, name: &str) {
        self.forget_fetch(name);
    }
}

fn refused(refused: Refused) -> Error {
    match refused {
        Refused::Name => Error::Invalid("a fetch's name has 1 to 2048 bytes".into()),
        Refused::Denied(message) => Error::Denied(message),
        Refused::TooMany => Error::Denied(format!(
            "at most {MAX_FETCHES} fetches and polls, with 16 MiB in all their requests: cancel some, or wait for answers"
        )),
    }
}

fn outcome(arrived: Arrived) -> FetchOutcome {
    let answer = match arrived.answer {
        Ok(answer) => Ok(FetchResponse {
            status: answer.status,
            headers: answer
                .headers
                .iter()
                .filter_map(|(name, value)| Some((name.as_str().to_owned(), String::from_utf8(value.as_bytes().to_vec()).ok()?)))
                .collect(),
            body: answer.body,
        }),
        Err(Failure::Denied(origin)) => Err(FetchError::Denied(origin)),
        Err(Failure::TimedOut) => Err(FetchError::TimedOut),
        Err(Failure::TooLarge) => Err(FetchError::TooLarge(u32::try_from(MAX_BODY_BYTES).unwrap_or(u32::MAX))),
        Err(Failure::Failed(reason)) => Err(FetchError::Failed(reason)),
    };
    FetchOutcome { name: arrived.name.to_string(), answer }
}
