//! wasi:http, for guests whose libraries bring it: through the same gate as `fetch`, and with the same bounds.
//!
//! What it costs: a guest that waits for an answer waits inside its call, so nobody else reads from its instance meanwhile, and the
//! call's deadline goes on. `fetch` has neither price. Redirects are the guest's to follow, and bodies the guest's to unpack, since its
//! libraries do both; each request comes through the gate anew.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, Sleep, sleep_until, timeout_at},
};
use tracing::Instrument;
use url::Url;
use wasmtime_wasi::runtime::AbortOnDropJoinHandle;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

use super::Runtime;
use crate::provider::grants::{
    Rights,
    http::{
        Client, Connected, HopError, MAX_BODY_BYTES, MAX_EXCHANGES, MAX_REQUEST_BYTES, MAX_TIME, Stage, gate, gate::Origin, method, spans,
    },
};

type Ended = Box<dyn Future<Output = Result<(), Error>> + Send>;
type Exchange = (hyper::Response<WasiBody>, Ended);

/// What an instance reaches others by.
#[derive(Clone)]
pub(super) struct Net {
    pub runtime: Arc<Runtime>,
    pub home: Handle,
}

impl Net {
    pub fn client(&self) -> &Arc<Client> {
        self.runtime.client()
    }
}

/// Sends what one instance asks for.
pub(super) struct Calls {
    net: Net,
    rights: Rights,
    turns: Arc<Semaphore>,
}

impl Calls {
    pub fn new(net: Net, rights: Rights) -> Self {
        Self { net, rights, turns: Arc::new(Semaphore::new(MAX_EXCHANGES)) }
    }

    /// What can be told before anything is sent.
    fn check(&self, request: &hyper::Request<WasiBody>) -> Result<(Origin, OwnedSemaphorePermit), Error> {
        method(request.method().as_str()).map_err(|_| Error::HttpRequestMethodInvalid)?;
        let url = Url::parse(&request.uri().to_string()).map_err(|_| Error::HttpRequestUriInvalid)?;
        let origin = Origin::of(&url).map_err(|_| Error::HttpRequestUriInvalid)?;
        gate::admit(self.rights.grants(), &origin).map_err(|need| {
            self.rights.deny(need);
            Error::HttpRequestDenied
        })?;
        // Waiting for a turn could be for ever: the guest itself may have all of them.
        let turn = self.turns.clone().try_acquire_owned().map_err(|_| Error::ConnectionLimitReached)?;
        Ok((origin, turn))
    }
}

impl WasiHttpHooks for Calls {
    fn send_request(
        &mut self,
        request: hyper::Request<WasiBody>,
        options: Option<RequestOptions>,
        _done: Ended,
    ) -> Box<dyn Future<Output = wasmtime_wasi_http::Result<Exchange>> + Send> {
        let (origin, turn) = match self.check(&request) {
            Ok(checked) => checked,
            Err(error) => return Box::new(std::future::ready(Err(error))),
        };
        let (client, rights) = (self.net.client().clone(), self.rights.clone());
        let options = options.unwrap_or_default();
        let end = Instant::now() + MAX_TIME;
        let span = spans::of_exchange(&rights, request.method().as_str(), &origin);
        let seen = span.clone();
        let sending = async move {
            let (mut head, body) = request.into_parts();
            head.uri = head.uri.path_and_query().cloned().map_or_else(hyper::Uri::default, Into::into);
            let request = hyper::Request::from_parts(head, Limited::new(body, MAX_REQUEST_BYTES));
            // To connect and to be answered: they are not told apart, since both are waited for by the same guest.
            let given = options.connect_timeout.unwrap_or(MAX_TIME).saturating_add(options.first_byte_timeout.unwrap_or(MAX_TIME));
            let first = end.min(Instant::now() + given.min(MAX_TIME));
            let hop = Box::pin(client.hop(&rights, &origin, request));
            let (response, connected) = match timeout_at(first, hop).await {
                Err(_) => {
                    spans::failed(&seen, "timeout");
                    return Err(Error::ConnectionReadTimeout);
                }
                Ok(Err(error)) => {
                    spans::failed(&seen, if matches!(error, HopError::Denied(_)) { "denied" } else { "failed" });
                    return Err(told(&rights, error));
                }
                Ok(Ok(answered)) => answered,
            };
            spans::answered(&seen, response.status().as_u16());
            let between = options.between_bytes_timeout.unwrap_or(MAX_TIME);
            Ok(response.map(|body| Answer::new(body, end, between, (connected, turn)).boxed_unsync()))
        };
        let sending = AbortOnDropJoinHandle::from(self.net.home.spawn(sending.instrument(span)));
        Box::new(async move { sending.await.map(|response| (response, Box::new(std::future::ready(Ok(()))) as Ended)) })
    }
}

fn told(rights: &Rights, error: HopError) -> Error {
    match error {
        HopError::Denied(need) => {
            rights.deny(need);
            Error::DestinationIpProhibited
        }
        HopError::Failed(stage, reason) => {
            tracing::debug!(provider = &**rights.provider(), "wasi:http: {reason}");
            match stage {
                Stage::Before => Error::HttpRequestUriInvalid,
                Stage::Resolving => Error::DnsError { rcode: None, info_code: None },
                Stage::Connecting => Error::ConnectionRefused,
                Stage::Securing => Error::TlsProtocolError,
                Stage::Asking => Error::HttpProtocolError,
            }
        }
    }
}

/// An answer's body, as far as its size and its time go.
struct Answer {
    body: Incoming,
    left: usize,
    end: Instant,
    between: Duration,
    sleep: Pin<Box<Sleep>>,
    _held: (Connected, OwnedSemaphorePermit),
}

impl Answer {
    fn new(body: Incoming, end: Instant, between: Duration, held: (Connected, OwnedSemaphorePermit)) -> Self {
        let sleep = Box::pin(sleep_until(next(end, between)));
        Self { body, left: MAX_BODY_BYTES, end, between, sleep, _held: held }
    }
}

fn next(end: Instant, between: Duration) -> Instant {
    end.min(Instant::now() + between.min(MAX_TIME))
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Pending => match self.sleep.as_mut().poll(context) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(()) => Poll::Ready(Some(Err(Error::HttpResponseTimeout))),
            },
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(error.into()))),
            Poll::Ready(Some(Ok(frame))) => {
                let Some(left) = self.left.checked_sub(frame.data_ref().map_or(0, Bytes::len)) else {
                    return Poll::Ready(Some(Err(Error::HttpResponseBodySize(Some(MAX_BODY_BYTES as u64)))));
                };
                // One that sends a little again and again has no more time either.
                if Instant::now() >= self.end {
                    return Poll::Ready(Some(Err(Error::HttpResponseTimeout)));
                }
                self.left = left;
                let next = next(self.end, self.between);
                self.sleep.as_mut().reset(next);
                Poll::Ready(Some(Ok(frame)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
