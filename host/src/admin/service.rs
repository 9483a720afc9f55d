//! The address of its own.
//!
//! Invariants: no request is answered whose Host is another name than this address has, so that no page reaches it by DNS rebinding; none that
//! a page of another origin sent, whatever it wants; nothing here changes anything.

use std::{
    convert::Infallible,
    sync::{Arc, atomic::Ordering::Relaxed},
    task::{Context, Poll},
};

use axum::{
    body::Body,
    http::{HeaderMap, Request, Response, StatusCode, header},
};
use futures_util::future::{BoxFuture, ready};
use tower_service::Service;

use super::{Admin, answer, answer_of, is_open};
use crate::{
    auth::Authority,
    transport::http::{Guard, HttpSettings, challenged, is_asked},
};

/// Answers at the address of its own.
#[derive(Clone)]
pub struct AdminService {
    admin: Arc<Admin>,
    guard: Arc<Guard>,
    authority: Option<Arc<Authority>>,
}

impl AdminService {
    /// For this address and these names of it. From now on most of this is at the main address no more. Unless the address is of this machine
    /// alone, only those are let in whom `authority` lets see everything, if there is one.
    pub fn new(admin: Arc<Admin>, settings: HttpSettings, authority: Option<Arc<Authority>>) -> Self {
        admin.apart.store(true, Relaxed);
        let is_local = settings.bind.is_some_and(|bind| bind.ip().to_canonical().is_loopback());
        Self { admin, guard: Arc::new(Guard::strict(settings)), authority: authority.filter(|_| !is_local) }
    }

    #[allow(clippy::result_large_err)]
    fn check<B>(&self, request: &Request<B>) -> Result<(), Response<Body>> {
        let refuse = |status, reason: &str| Err(answer::text(status, format!("{reason}\n")));
        if let Err((status, reason)) = self.guard.check(request) {
            return refuse(status, reason);
        }
        if is_of_another_origin(request.headers()) {
            return refuse(StatusCode::FORBIDDEN, "a page of another origin may not ask this");
        }
        is_asked(request)
    }
}

/// Whether a page of another origin sent it. To be led here by a link is no harm.
fn is_of_another_origin(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    if let Some(origin) = headers.get(header::ORIGIN) {
        let authority = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, authority)| authority);
        return authority.is_none_or(|authority| !authority.eq_ignore_ascii_case(host));
    }
    match text("sec-fetch-site") {
        None | Some("same-origin" | "none") => false,
        Some(_) => text("sec-fetch-mode") != Some("navigate") || text("sec-fetch-dest") != Some("document"),
    }
}

impl<B> Service<Request<B>> for AdminService {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        match self.check(&request) {
            Err(refusal) => Box::pin(ready(Ok(refusal))),
            Ok(()) => {
                let path = request.uri().path();
                let answer = answer_of(&self.admin, path, request.uri().query());
                let Some(authority) = self.authority.clone().filter(|_| !is_open(path)) else {
                    return Box::pin(async move { Ok(answer.await) });
                };
                let headers = request.into_parts().0.headers;
                Box::pin(async move {
                    Ok(match authority.admit_operator(&headers).await {
                        Ok(()) => answer.await,
                        Err(refusal) => challenged(&authority, &refusal, answer::text(refusal.status(), format!("{}\n", refusal.reason()))),
                    })
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_another_origin_gets_nothing_and_a_link_leads_here() {
        for (headers, refused) in [
            (vec![], false),
            (vec![("origin", "http://127.0.0.1:9090")], false),
            (vec![("origin", "http://127.0.0.1:3000")], true),
            (vec![("origin", "http://evil.example.com")], true),
            (vec![("origin", "null")], true),
            (vec![("sec-fetch-site", "same-origin"), ("sec-fetch-mode", "cors")], false),
            (vec![("sec-fetch-site", "none"), ("sec-fetch-mode", "navigate")], false),
            (vec![("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "image")], true),
            (vec![("sec-fetch-site", "same-site"), ("sec-fetch-mode", "cors")], true),
            (vec![("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")], false),
            (vec![("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")], true),
        ] {
            let mut map = HeaderMap::new();
            map.insert(header::HOST, "127.0.0.1:9090".parse().unwrap());
            for (name, value) in &headers {
                map.insert(*name, value.parse().unwrap());
            }
            assert_eq!(is_of_another_origin(&map), refused, "{headers:?}");
        }
    }
}
