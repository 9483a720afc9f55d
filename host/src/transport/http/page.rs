//! Pages for the person who runs the host, and for programs of this machine alone.
//!
//! Invariant: nobody gets one who is not on this machine, or is a web page.

use std::net::IpAddr;

use axum::{
    body::Body,
    http::{Method, Request, Response, StatusCode, header},
};
use futures_util::future::BoxFuture;

use super::{empty, guard::Guard, with};

/// What there is besides the endpoint.
pub trait Pages: Send + Sync + 'static {
    /// Whether there is a page at this path.
    fn has(&self, path: &str) -> bool;

    /// Whether the page at this path says nothing that has to be proven a right to.
    fn is_open(&self, path: &str) -> bool {
        let _ = path;
        false
    }

    /// The page, for a GET or a HEAD.
    fn page(&self, path: &str, query: Option<&str>) -> BoxFuture<'static, Response<Body>>;
}

/// Why a request does not get a page, as the answer it gets instead.
#[allow(clippy::result_large_err)]
pub fn check<B>(guard: &Guard, request: &Request<B>, peer: Option<IpAddr>) -> Result<(), Response<Body>> {
    let of_a_page = request.headers().contains_key(header::ORIGIN) || request.headers().contains_key("sec-fetch-site");
    if !peer.is_some_and(|peer| peer.to_canonical().is_loopback()) || of_a_page || guard.check(request).is_err() {
        return Err(empty(StatusCode::NOT_FOUND));
    }
    is_asked(request)
}

/// Whether it only asks.
#[allow(clippy::result_large_err)]
pub fn is_asked<B>(request: &Request<B>) -> Result<(), Response<Body>> {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return Ok(());
    }
    Err(with(StatusCode::METHOD_NOT_ALLOWED, header::ALLOW, header::HeaderValue::from_static("GET, HEAD")))
}
