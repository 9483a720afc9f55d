//! Answers: none of them is kept by anyone, or taken for something else than it says.

use axum::{
    body::Body,
    http::{HeaderValue, Response, StatusCode, header},
};
use bytes::Bytes;
use serde::Serialize;

/// Of this media type.
pub fn typed(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::from(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // What a browser is led to shows nothing of it, and nobody frames it.
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"));
    response
}

/// For people.
pub fn text(status: StatusCode, text: String) -> Response<Body> {
    typed(status, "text/plain; charset=utf-8", text)
}

/// For programs.
pub fn json(status: StatusCode, value: &impl Serialize) -> Response<Body> {
    match serde_json::to_vec(value) {
        Ok(body) => typed(status, "application/json", body),
        // Only what has keys that are no strings cannot be written: nothing here has.
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}
