//! `/hooks/<provider>/<name>`, and all below it: requests of other servers, handed to whoever takes them.
//!
//! Invariants: nothing is read of a request whose Host or Origin is not allowed, or that a web page sent; a body has [`BODY_CAP`] at most, and
//! only so many arrive at a time; an answer has no header by which a provider could do to the host's own origin what the host would not.

use std::{fmt, sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes, HttpBody},
    http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header},
};
use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

use super::{body, empty, guard::Guard, with};

/// What the path of each begins with; then come the provider's name and the webhook's.
pub const PREFIX: &str = "/hooks/";

/// Requests whose body arrives at a time: a body that is there takes no time, and so many of the largest take 256 MiB.
const READING: usize = 64;
/// When it is worth another try where too many arrive.
const BUSY: Duration = Duration::from_secs(1);
/// Bytes of an answer's body. Senders look at the status.
const ANSWER_BYTES: usize = 1 << 20;
/// Headers of an answer, and their bytes: browsers and proxies take no more.
const ANSWER_HEADERS: usize = 64;
const ANSWER_HEADER_BYTES: usize = 16 << 10;
const ALLOWED_METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// A request.
#[derive(Debug)]
pub struct Hook {
    /// As in the path.
    pub provider: String,
    /// As in the path.
    pub name: String,
    /// In upper case.
    pub method: String,
    /// What follows: empty, or from `/` or `?` on.
    pub path_and_query: String,
    /// In order, names in lower case; values that are not UTF-8 are left out.
    pub headers: Vec<(String, String)>,
    /// Unchanged.
    pub body: Bytes,
}

/// An answer.
#[derive(Debug, Default)]
pub struct HookAnswer {
    /// From 200 to 599.
    pub status: u16,
    /// In order.
    pub headers: Vec<(String, String)>,
    /// Empty for many.
    pub body: Bytes,
    /// When it is worth another try.
    pub retry_after: Option<Duration>,
}

impl HookAnswer {
    /// A status, and a word for people.
    pub fn plain(status: StatusCode, text: impl Into<String>) -> Self {
        let headers = vec![("content-type".to_owned(), "text/plain; charset=utf-8".to_owned())];
        Self { status: status.as_u16(), headers, body: Bytes::from(text.into()), retry_after: None }
    }
}

/// Who takes them.
pub trait Hooks: Send + Sync + 'static {
    /// Whether there is one of this name: the body of no other is read.
    fn has(&self, provider: &str, name: &str) -> bool;

    /// Takes a request, and answers it.
    fn receive(&self, hook: Hook) -> BoxFuture<'_, HookAnswer>;
}

/// Hands requests over.
pub struct Desk {
    hooks: Arc<dyn Hooks>,
    reading: Semaphore,
}

impl Desk {
    pub fn new(hooks: Arc<dyn Hooks>) -> Self {
        Self { hooks, reading: Semaphore::new(READING) }
    }

    pub async fn handle<B>(&self, guard: &Guard, request: Request<B>) -> Response<Body>
    where
        B: HttpBody<Data = Bytes, Error: fmt::Display> + Unpin,
    {
        match guard.check(&request) {
            Err((status, reason)) => return text(status, reason),
            Ok(origin) if is_of_a_page(request.headers()) && origin.is_none() => {
                return text(StatusCode::FORBIDDEN, "a web page may not send this");
            }
            Ok(_) => {}
        }
        match *request.method() {
            Method::OPTIONS => return with(StatusCode::NO_CONTENT, header::ALLOW, ALLOWED_METHODS),
            Method::CONNECT | Method::TRACE => return with(StatusCode::METHOD_NOT_ALLOWED, header::ALLOW, ALLOWED_METHODS),
            _ => {}
        }
        let Some((provider, name, path_and_query)) = parts(request.uri()) else { return empty(StatusCode::NOT_FOUND) };
        if !self.hooks.has(&provider, &name) {
            return empty(StatusCode::NOT_FOUND);
        }
        let Ok(reading) = self.reading.try_acquire() else {
            return answer(HookAnswer {
                retry_after: Some(BUSY),
                ..HookAnswer::plain(StatusCode::SERVICE_UNAVAILABLE, "too many requests arrive at a time")
            });
        };
        let (head, body) = request.into_parts();
        let body = match body::read(&head.headers, body).await {
            Ok(body) => body,
            Err((status, error)) => {
                let mut response = text(status, &error.message);
                // What is left of the body would be taken for the next request.
                response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
                return response;
            }
        };
        drop(reading);
        let headers = head
            .headers
            .iter()
            .filter_map(|(name, value)| Some((name.as_str().to_owned(), str::from_utf8(value.as_bytes()).ok()?.to_owned())));
        let hook = Hook { provider, name, method: head.method.as_str().to_owned(), path_and_query, headers: headers.collect(), body };
        answer(self.hooks.receive(hook).await)
    }
}

/// Whether a browser sent it on behalf of a page. A page that is allowed to has an Origin that is, but for a GET, which has none: an image in
/// a hostile page is enough for one. All browsers say where a request comes from (Fetch Metadata), and nothing else does.
fn is_of_a_page(headers: &HeaderMap) -> bool {
    headers.get_all(SEC_FETCH_SITE).iter().any(|site| site != "none" && site != "same-origin")
}

/// Provider, webhook, and what follows.
fn parts(uri: &axum::http::Uri) -> Option<(String, String, String)> {
    let (provider, rest) = uri.path().strip_prefix(PREFIX)?.split_once('/')?;
    let (name, below) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let query = uri.query().map_or(String::new(), |query| format!("?{query}"));
    (!provider.is_empty() && !name.is_empty()).then(|| (provider.to_owned(), name.to_owned(), format!("{below}{query}")))
}

/// What a provider says of the connection, of cookies and of what pages may do is not for it to say: cookies and origins are the host's, which
/// serves MCP on the same one.
fn may_have(name: &HeaderName) -> bool {
    const NOT: [&str; 30] = [
        // RFC 9110 §7.6.1 and RFC 9112: the connection's.
        "connection",
        "content-length",
        "date",
        "keep-alive",
        "proxy-authenticate",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "alt-svc",
        // The origin's: what a browser keeps for it, or does on its behalf.
        "accept-ch",
        "clear-site-data",
        "content-security-policy",
        "content-security-policy-report-only",
        "critical-ch",
        "expect-ct",
        "nel",
        "origin-agent-cluster",
        "public-key-pins",
        "public-key-pins-report-only",
        "refresh",
        "report-to",
        "reporting-endpoints",
        "service-worker-allowed",
        "set-cookie",
        "set-cookie2",
        "set-login",
        "strict-transport-security",
        "use-as-dictionary",
    ];
    !NOT.contains(&name.as_str()) && !name.as_str().starts_with("access-control-")
}

fn answer(HookAnswer { status, headers, body, retry_after }: HookAnswer) -> Response<Body> {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    // RFC 9110: these have no content.
    let bare = [StatusCode::NO_CONTENT, StatusCode::RESET_CONTENT, StatusCode::NOT_MODIFIED].contains(&status);
    let body = if bare { Bytes::new() } else { body };
    let Some(headers) = headers_of(headers).filter(|_| body.len() <= ANSWER_BYTES) else {
        return text(StatusCode::BAD_GATEWAY, "the provider's answer is too large");
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    // A page that a provider answers with is nobody: not the host's own origin, which may speak MCP with it.
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox; default-src 'none'"));
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Some(after) = retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(after.as_secs().max(1)));
    }
    response
}

/// Those that it may have and that are well formed; none at all if they are too many.
fn headers_of(given: Vec<(String, String)>) -> Option<HeaderMap> {
    let bytes: usize = given.iter().map(|(name, value)| name.len() + value.len()).sum();
    if given.len() > ANSWER_HEADERS || bytes > ANSWER_HEADER_BYTES {
        return None;
    }
    let formed = given.into_iter().filter_map(|(name, value)| Some((HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?)));
    Some(formed.filter(|(name, _)| may_have(name)).fold(HeaderMap::new(), |mut headers, (name, value)| {
        headers.append(name, value);
        headers
    }))
}

fn text(status: StatusCode, text: &str) -> Response<Body> {
    answer(HookAnswer::plain(status, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_taken_apart_and_what_follows_the_name_is_as_it_came() {
        let parts = |uri: &str| parts(&uri.parse().unwrap());
        let found = |provider: &str, name: &str, rest: &str| Some((provider.to_owned(), name.to_owned(), rest.to_owned()));
        assert_eq!(parts("/hooks/ci/github"), found("ci", "github", ""));
        assert_eq!(parts("/hooks/ci/github/"), found("ci", "github", "/"));
        assert_eq!(parts("/hooks/ci/github/a%2Fb/../c?d=%20&e"), found("ci", "github", "/a%2Fb/../c?d=%20&e"));
        assert_eq!(parts("http://localhost/hooks/ci/github?x"), found("ci", "github", "?x"));
        for none in ["/hooks/", "/hooks/ci", "/hooks/ci/", "/hooks//github", "/hooks/ci//x", "/hook/ci/github", "/"] {
            assert_eq!(parts(none), None, "{none}");
        }
    }

    #[test]
    fn a_providers_answer_says_nothing_of_the_connection_and_of_the_origin() {
        let headers = [
            ("Set-Cookie", "a=b"),
            ("Set-Login", "logged-in"),
            ("Report-To", "{}"),
            ("Refresh", "0; url=https://evil.example/"),
            ("Access-Control-Allow-Origin", "*"),
            ("Content-Security-Policy", "default-src *"),
            ("Transfer-Encoding", "chunked"),
            ("Content-Length", "7"),
            ("X-Own", "1"),
            ("x-own", "2"),
            ("not a name", "1"),
            ("X-Split", "a\r\nSet-Cookie: b"),
        ];
        let headers = headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let response = answer(HookAnswer { status: 201, headers, body: "<script>".into(), retry_after: None });
        let names: Vec<&str> = response.headers().keys().map(HeaderName::as_str).collect();
        assert_eq!(names, ["x-own", "content-security-policy", "x-content-type-options"]);
        assert_eq!(response.headers()["content-security-policy"], "sandbox; default-src 'none'");
        assert_eq!((response.status().as_u16(), response.headers().get_all("x-own").iter().count()), (201, 2));
    }

    #[test]
    fn an_answer_that_is_too_large_is_a_502_and_one_without_content_has_none() {
        let status = |headers: usize, body: usize| {
            let headers = (0..headers).map(|n| (format!("x-{n}"), String::new())).collect();
            answer(HookAnswer { status: 200, headers, body: vec![0; body].into(), retry_after: None }).status().as_u16()
        };
        assert_eq!((status(ANSWER_HEADERS, ANSWER_BYTES), status(ANSWER_HEADERS + 1, 0), status(0, ANSWER_BYTES + 1)), (200, 502, 502));
        let long =
            answer(HookAnswer { headers: vec![("x".into(), "a".repeat(ANSWER_HEADER_BYTES))], status: 200, ..HookAnswer::default() });
        assert_eq!(long.status().as_u16(), 502);
        let bare = answer(HookAnswer { status: 204, body: "x".into(), ..HookAnswer::default() });
        assert!(bare.body().is_end_stream());
    }

    #[test]
    fn what_a_browser_sends_for_a_page_is_seen() {
        for (site, page) in [("cross-site", true), ("same-site", true), ("same-origin", false), ("none", false)] {
            assert_eq!(is_of_a_page(&[(SEC_FETCH_SITE, HeaderValue::from_static(site))].into_iter().collect()), page, "{site}");
        }
        assert!(!is_of_a_page(&HeaderMap::new()));
    }
}
