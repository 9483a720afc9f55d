//! A page of JSON for the person who runs the host, and for programs of this machine alone.
//!
//! Invariant: nobody gets it who is not on this machine, or is a web page.

use std::{net::IpAddr, sync::Arc};

use axum::{
    body::Body,
    http::{Method, Request, Response, StatusCode, header},
};

use super::{JSON, empty, guard::Guard, with};

/// Makes the page's JSON anew for each request.
pub type Write = Arc<dyn Fn() -> Vec<u8> + Send + Sync>;

/// The page.
pub fn answer<B>(write: &Write, guard: &Guard, request: &Request<B>, peer: Option<IpAddr>) -> Response<Body> {
    let of_a_page = request.headers().contains_key(header::ORIGIN) || request.headers().contains_key("sec-fetch-site");
    if !peer.is_some_and(|peer| peer.is_loopback()) || of_a_page || guard.check(request).is_err() {
        return empty(StatusCode::NOT_FOUND);
    }
    if *request.method() != Method::GET {
        return with(StatusCode::METHOD_NOT_ALLOWED, header::ALLOW, header::HeaderValue::from_static("GET"));
    }
    let mut response = Response::new(Body::from(write()));
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}
