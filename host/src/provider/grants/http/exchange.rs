//! A whole exchange: hops through the gate until there is an answer that leads nowhere else, and its body.

use http_body_util::Full;
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode, Uri,
    body::{Bytes, Incoming},
    header::{self, HeaderName, HeaderValue},
};
use tokio::{sync::OwnedSemaphorePermit, time::timeout};
use url::Url;

use super::{
    Client, MAX_REDIRECTS, Outgoing,
    body::{self, BodyError, Room},
    connect::{Connected, HopError},
    gate::Origin,
};
use crate::provider::grants::Rights;

/// All that goes along when a redirect leads to another origin. Any other header may be a credential, under whatever name.
const HARMLESS: [HeaderName; 8] = [
    header::ACCEPT,
    header::ACCEPT_ENCODING,
    header::ACCEPT_LANGUAGE,
    header::CONTENT_LANGUAGE,
    header::CONTENT_TYPE,
    header::IF_MODIFIED_SINCE,
    header::IF_NONE_MATCH,
    header::USER_AGENT,
];

/// An answer, of whatever status but one that was followed.
#[derive(Debug)]
pub struct Answer {
    /// Of 100 to 999.
    pub status: u16,
    /// In order. What the body was packed in is no longer there.
    pub headers: HeaderMap,
    /// Unpacked.
    pub body: Vec<u8>,
    /// To be kept as long as the body is.
    pub(super) large: Option<OwnedSemaphorePermit>,
}

/// Why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// A redirect to this origin, which is not granted.
    Denied(String),
    /// The time was over.
    TimedOut,
    /// The body has more than [`super::MAX_BODY_BYTES`].
    TooLarge,
    /// Anything else; says what to do about it if that is known.
    Failed(String),
}

impl From<BodyError> for Failure {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::TooLarge => Self::TooLarge,
            BodyError::Failed(reason) => Self::Failed(reason),
        }
    }
}

/// What a hop sends; a redirect changes it.
struct Hop {
    method: Method,
    url: Url,
    origin: Origin,
    headers: HeaderMap,
    body: Bytes,
}

impl Client {
    /// Sends a request, with these headers besides its own, follows where the answer leads, and takes in the body.
    pub(super) async fn exchange(
        &self,
        rights: &Rights,
        request: &Outgoing,
        conditions: &[(HeaderName, HeaderValue)],
        room: &Room,
    ) -> Result<Answer, Failure> {
        // On the heap: a poll that waits should not have room for this.
        let exchange = Box::pin(self.follow(rights, request, conditions, room));
        timeout(request.time, exchange).await.unwrap_or(Err(Failure::TimedOut))
    }

    async fn follow(
        &self,
        rights: &Rights,
        request: &Outgoing,
        conditions: &[(HeaderName, HeaderValue)],
        room: &Room,
    ) -> Result<Answer, Failure> {
        let Outgoing { method, url, origin, headers, body, .. } = request.clone();
        let mut hop = Hop { method, url, origin, headers, body };
        hop.headers.extend(conditions.iter().cloned());
        for redirects in 0..=MAX_REDIRECTS {
            let (response, connected) = self.ask(rights, &hop, redirects > 0).await?;
            match hop.after(&response)? {
                Some(next) => hop = next,
                None => return answer(response, connected, request.unpacks, room).await,
            }
        }
        Err(Failure::Failed(format!("more than {MAX_REDIRECTS} redirects, the last to {}", hop.origin)))
    }

    async fn ask(&self, rights: &Rights, hop: &Hop, redirected: bool) -> Result<(Response<Incoming>, Connected), Failure> {
        let path = match hop.url.query() {
            Some(query) => format!("{}?{query}", hop.url.path()),
            None => hop.url.path().to_owned(),
        };
        let uri = Uri::try_from(path).map_err(|error| Failure::Failed(format!("the URL cannot be asked for: {error}")))?;
        let mut request = Request::new(Full::new(hop.body.clone()));
        *request.method_mut() = hop.method.clone();
        *request.uri_mut() = uri;
        *request.headers_mut() = hop.headers.clone();
        self.hop(rights, &hop.origin, request).await.map_err(|error| match error {
            HopError::Failed(_, reason) => Failure::Failed(reason),
            HopError::Denied(need) => {
                let message = rights.deny(need);
                if redirected { Failure::Denied(hop.origin.to_string()) } else { Failure::Failed(message) }
            }
        })
    }
}

impl Hop {
    /// Where an answer leads, if it leads anywhere (RFC 9110 §15.4).
    fn after(&self, response: &Response<Incoming>) -> Result<Option<Self>, Failure> {
        let status = response.status();
        let followed = [
            StatusCode::MOVED_PERMANENTLY,
            StatusCode::FOUND,
            StatusCode::SEE_OTHER,
            StatusCode::TEMPORARY_REDIRECT,
            StatusCode::PERMANENT_REDIRECT,
        ];
        let Some(location) = response.headers().get(header::LOCATION).filter(|_| followed.contains(&status)) else { return Ok(None) };
        let wrong = |reason: String| Failure::Failed(format!("the redirect of {} cannot be followed: {reason}", self.origin));
        let location = std::str::from_utf8(location.as_bytes()).map_err(|_| wrong("its Location is not text".into()))?;
        let mut url = self.url.join(location).map_err(|error| wrong(error.to_string()))?;
        url.set_fragment(None);
        let origin = Origin::of(&url).map_err(wrong)?;
        if self.origin.https && !origin.https {
            return Err(wrong(format!("it leads from https: to {origin}, where anybody could read along")));
        }
        let (mut method, mut headers, mut body) = (self.method.clone(), self.headers.clone(), self.body.clone());
        let to_get = match status {
            StatusCode::SEE_OTHER => method != Method::HEAD,
            // What browsers have always done, and so servers expect.
            StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => method == Method::POST,
            _ => false,
        };
        if to_get {
            method = Method::GET;
            body = Bytes::new();
            for name in [header::CONTENT_TYPE, header::CONTENT_ENCODING, header::CONTENT_LANGUAGE, header::CONTENT_LOCATION] {
                headers.remove(name);
            }
        }
        if origin != self.origin {
            let others: Vec<_> = headers.keys().filter(|name| !HARMLESS.contains(name)).cloned().collect();
            for name in others {
                headers.remove(name);
            }
        }
        Ok(Some(Self { method, url, origin, headers, body }))
    }
}

async fn answer(response: Response<Incoming>, connected: Connected, unpacks: bool, room: &Room) -> Result<Answer, Failure> {
    let (mut head, body) = response.into_parts();
    let packed = |value: &HeaderValue| [b"gzip".as_slice(), b"x-gzip"].iter().any(|name| value.as_bytes().eq_ignore_ascii_case(name));
    // An answer without a body may say how that would have been packed.
    let gzip = unpacks && head.headers.get(header::CONTENT_ENCODING).is_some_and(packed) && !hyper::body::Body::is_end_stream(&body);
    let taken = body::take(body, gzip, room).await?;
    drop(connected);
    if gzip {
        head.headers.remove(header::CONTENT_ENCODING);
        head.headers.remove(header::CONTENT_LENGTH);
    }
    Ok(Answer { status: head.status.as_u16(), headers: head.headers, body: taken.bytes, large: taken.large })
}
