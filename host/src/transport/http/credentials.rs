//! What a request is answered that does not prove what it has to (RFC 6750 §3, RFC 9728).
//!
//! Invariant: no answer has anything in it of what was sent as a token.

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header},
};

use super::{ALLOWED_METHODS, JSON, guard, guard::Guard, is_asked, refuse, with};
use crate::{
    auth::{Authority, Refusal},
    catalog::Caller,
    mcp::error::RpcError,
};

/// How long clients and proxies may keep the metadata: they change with wharf.toml, at a restart.
const KEPT: HeaderValue = HeaderValue::from_static("max-age=3600");

/// Who sent a request with these headers, or the answer it gets.
pub async fn of(authority: Option<&Authority>, headers: &HeaderMap) -> Result<Caller, Response<Body>> {
    let Some(authority) = authority else { return Ok(Caller::anyone()) };
    authority.identify(headers).await.map_err(|refusal| refused(authority, &refusal))
}

/// Whether these headers are of someone who may see what the host says of itself.
pub async fn of_operator(authority: Option<&Authority>, headers: &HeaderMap) -> Result<(), Response<Body>> {
    let Some(authority) = authority else { return Ok(()) };
    authority.admit_operator(headers).await.map_err(|refusal| refused(authority, &refusal))
}

fn refused(authority: &Authority, refusal: &Refusal) -> Response<Body> {
    tracing::debug!(status = refusal.status().as_u16(), "not let in: {}", refusal.reason());
    challenged(authority, refusal, refuse(refusal.status(), &RpcError::invalid_request(refusal.reason())))
}

/// The same answer, with what is wanted.
pub(crate) fn challenged(authority: &Authority, refusal: &Refusal, mut response: Response<Body>) -> Response<Body> {
    if let Some(challenge) = authority.challenge(refusal) {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}

/// The metadata of the protected resource. They are for everyone, a page of an allowed origin among them.
pub fn metadata<B>(guard: &Guard, request: &Request<B>, metadata: &str) -> Response<Body> {
    let origin = match guard.check(request) {
        Ok(origin) => origin,
        Err((status, reason)) => return refuse(status, &RpcError::invalid_request(reason)),
    };
    let mut response = match is_asked(request) {
        Ok(()) => Response::new(Body::from(Bytes::copy_from_slice(metadata.as_bytes()))),
        Err(_) if *request.method() == Method::OPTIONS => with(StatusCode::NO_CONTENT, header::ALLOW, ALLOWED_METHODS),
        Err(refusal) => refusal,
    };
    if response.status() == StatusCode::OK {
        response.headers_mut().insert(header::CONTENT_TYPE, JSON);
        response.headers_mut().insert(header::CACHE_CONTROL, KEPT);
    }
    if let Some(origin) = origin {
        guard::allow(response.headers_mut(), origin);
    }
    response
}
