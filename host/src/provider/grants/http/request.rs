//! A provider's request, checked.

use std::time::Duration;

use hyper::{
    HeaderMap, Method,
    body::Bytes,
    header::{self, HeaderName, HeaderValue},
};
use url::Url;

use super::{MAX_REQUEST_BYTES, MAX_TIME, gate::Origin};

/// Bytes of a URL: as many as one of a resource may have.
const MAX_URL_BYTES: usize = 8 << 10;
/// Bytes of all headers that a provider sets.
const MAX_HEADER_BYTES: usize = 64 << 10;

/// Headers that are the host's: what the connection needs (RFC 9110 §7.6.1), and where it leads.
const OF_THE_HOST: [HeaderName; 13] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::EXPECT,
    header::HOST,
    HeaderName::from_static("http2-settings"),
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// A request that can be sent, again and again.
#[derive(Debug, Clone)]
pub struct Outgoing {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) origin: Origin,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) time: Duration,
    /// Whether the host asks for compression, and so unpacks: not where the provider itself says what it takes.
    pub(super) unpacks: bool,
}

impl Outgoing {
    /// Checks it. No method is GET; no time is [`MAX_TIME`], and more is as well.
    ///
    /// # Errors
    /// What is wrong, for the author.
    pub fn new(
        method: Option<&str>,
        url: &str,
        headers: &[(String, String)],
        body: Option<Vec<u8>>,
        time: Option<Duration>,
    ) -> Result<Self, String> {
        let method = self::method(method.unwrap_or("GET"))?;
        if url.len() > MAX_URL_BYTES {
            return Err(format!("a URL has at most {MAX_URL_BYTES} bytes"));
        }
        let url = Url::parse(url).map_err(|error| format!("the URL cannot be read: {error}"))?;
        if url.fragment().is_some() {
            return Err("a URL that is fetched has no fragment (what follows #)".into());
        }
        let origin = Origin::of(&url)?;
        let mut map = HeaderMap::new();
        let mut bytes = 0;
        for (name, value) in headers {
            bytes += name.len() + value.len();
            if bytes > MAX_HEADER_BYTES {
                return Err(format!("the headers of a request have at most {MAX_HEADER_BYTES} bytes"));
            }
            let known = HeaderName::from_bytes(name.as_bytes()).map_err(|_| format!("{name:?} is no name of a header"))?;
            if OF_THE_HOST.contains(&known) {
                return Err(format!("the header {known} is the host's to set"));
            }
            let value =
                HeaderValue::from_str(value).map_err(|_| format!("the value of the header {known} has characters that none may have"))?;
            map.try_append(known, value).map_err(|_| "there are too many headers".to_owned())?;
        }
        let body = Bytes::from(body.unwrap_or_default());
        if body.len() > MAX_REQUEST_BYTES {
            return Err(format!("the body of a request has at most {MAX_REQUEST_BYTES} bytes"));
        }
        let unpacks = !map.contains_key(header::ACCEPT_ENCODING);
        let own = [
            (header::ACCEPT, "*/*"),
            (header::ACCEPT_ENCODING, "gzip"),
            (header::USER_AGENT, concat!("wharf/", env!("CARGO_PKG_VERSION"))),
        ];
        for (name, value) in own {
            map.entry(name).or_insert(HeaderValue::from_static(value));
        }
        let time = time.unwrap_or(MAX_TIME).min(MAX_TIME);
        Ok(Self { method, url, origin, headers: map, body, time, unpacks })
    }

    /// Whom it asks.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Bytes that it takes while it is under way.
    pub(super) fn size(&self) -> usize {
        self.url.as_str().len()
            + self.body.len()
            + self.headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum::<usize>()
    }
}

/// A method that a provider may use: any but CONNECT, which makes a tunnel, and TRACE, which gives away what proxies add.
///
/// # Errors
/// What is wrong with it.
pub fn method(name: &str) -> Result<Method, String> {
    let method = Method::from_bytes(name.as_bytes()).map_err(|_| format!("{name:?} is no method"))?;
    if method == Method::CONNECT || method == Method::TRACE {
        return Err(format!("{method} cannot be fetched"));
    }
    Ok(method)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(url: &str, headers: &[(&str, &str)]) -> Result<Outgoing, String> {
        let headers: Vec<_> = headers.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        Outgoing::new(None, url, &headers, None, None)
    }

    #[test]
    fn what_no_request_may_have_is_refused() {
        let long = format!("https://a.example/{}", "x".repeat(MAX_URL_BYTES));
        for url in ["", "a.example", "//a.example/", "ftp://a.example/", "https://", "https://a.example/#x", "https://u@a.example/", &long]
        {
            assert!(with(url, &[]).is_err(), "{url}");
        }
        let large = "x".repeat(MAX_HEADER_BYTES);
        for header in [
            ("Host", "b.example"),
            ("content-length", "3"),
            ("Transfer-Encoding", "chunked"),
            ("Connection", "close"),
            ("Proxy-Authorization", "x"),
            ("a b", "c"),
            ("", "c"),
            ("a", "b\r\nHost: c"),
            ("a", "b\0"),
            ("a", &large),
        ] {
            assert!(with("https://a.example/", &[header]).is_err(), "{}", header.0);
        }
        for name in ["CONNECT", "TRACE", "GET /", ""] {
            assert!(method(name).is_err(), "{name}");
        }
        let body = Some(vec![0; MAX_REQUEST_BYTES + 1]);
        assert!(Outgoing::new(Some("POST"), "https://a.example/", &[], body, None).is_err());
    }

    #[test]
    fn the_host_asks_for_compression_unless_the_provider_says_what_it_takes() {
        let plain = with("https://a.example/", &[]).unwrap();
        assert!(plain.unpacks && plain.headers[header::ACCEPT_ENCODING] == "gzip" && plain.headers.contains_key(header::USER_AGENT));
        let own = with("https://a.example/", &[("Accept-Encoding", "br"), ("User-Agent", "mine"), ("x", "1"), ("x", "2")]).unwrap();
        assert!(!own.unpacks && own.headers[header::USER_AGENT] == "mine" && own.headers.get_all("x").iter().count() == 2);
        let hour = Outgoing::new(None, "https://a.example/", &[], None, Some(MAX_TIME * 120)).unwrap();
        let short = Outgoing::new(None, "https://a.example/", &[], None, Some(Duration::from_millis(1))).unwrap();
        assert_eq!((own.time, hour.time, short.time), (MAX_TIME, MAX_TIME, Duration::from_millis(1)));
    }
}
