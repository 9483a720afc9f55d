//! Who may speak to the endpoint: Origin, Host, and what browsers are told of it.
//!
//! A page from anywhere can make the browser of whoever runs this host send requests to it, and by DNS rebinding read the answers. So an
//! Origin must be allowed (MCP, Transports, "Security Warning"), and on a loopback address so must the Host.
//!
//! Invariant: what cannot be told to be allowed is not.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderValue, Request, StatusCode, Version, header};

use super::{ALLOWED_METHODS, HttpSettings};

/// What browsers call the machine they run on.
const LOCAL: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];
/// How long a browser may remember what it may send.
const PREFLIGHT_SECONDS: HeaderValue = HeaderValue::from_static("86400");
const ALLOWED_HEADERS: HeaderValue = HeaderValue::from_static(
    "Accept, Authorization, Content-Type, Last-Event-ID, Mcp-Method, Mcp-Name, Mcp-Protocol-Version, Mcp-Session-Id",
);
const EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static("Mcp-Session-Id, WWW-Authenticate");

/// The status and the reason of a request that is not let in.
pub type Refusal = (StatusCode, &'static str);

const NOT_ONE_HOST: Refusal = (StatusCode::BAD_REQUEST, "a request has one Host header, and no more than one");
const HOST_REFUSED: Refusal = (StatusCode::FORBIDDEN, "this Host is not allowed; wharf.toml: [server] allowed-hosts = [\"…\"]");
const ORIGIN_REFUSED: Refusal = (StatusCode::FORBIDDEN, "this Origin is not allowed; wharf.toml: [server] allowed-origins = [\"…\"]");

pub struct Guard {
    origins: Vec<String>,
    /// `None`: any.
    hosts: Option<Vec<String>>,
}

impl Guard {
    pub fn new(settings: HttpSettings) -> Self {
        let HttpSettings { bind, allowed_origins, allowed_hosts } = settings;
        let any_host = bind.is_some_and(|bind| !bind.ip().to_canonical().is_loopback()) && allowed_hosts.is_empty();
        let origin = |origin: String| origin.trim_end_matches('/').to_ascii_lowercase();
        Self { origins: allowed_origins.into_iter().map(origin).collect(), hosts: (!any_host).then_some(allowed_hosts) }
    }

    /// For pages that say what everybody does: on every address only local names, the address itself and those allowed are taken as Host.
    pub fn strict(settings: HttpSettings) -> Self {
        let bind = settings.bind;
        let mut this = Self::new(settings);
        let hosts = this.hosts.get_or_insert_default();
        hosts.extend(bind.map(|bind| bind.ip().to_canonical()).filter(|ip| !ip.is_unspecified()).map(|ip| match ip {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        }));
        this
    }

    /// The request's Origin, if it has one, to be told that it may read the answer.
    pub fn check<B>(&self, request: &Request<B>) -> Result<Option<HeaderValue>, Refusal> {
        let headers = request.headers();
        // RFC 9112 §3.2.2: a target in absolute form replaces Host; here neither may lie.
        let target = request.uri().authority().is_none_or(|authority| self.takes_host(authority.as_str()));
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host.to_str().is_ok_and(|host| self.takes_host(host)),
            // RFC 9112 §3.2.
            (Some(_), Some(_)) => return Err(NOT_ONE_HOST),
            (None, _) => match request.version() {
                // HTTP/1.0 has no Host, and nothing that speaks it is a browser, which alone can be rebound.
                Version::HTTP_09 | Version::HTTP_10 => true,
                Version::HTTP_11 => return Err(NOT_ONE_HOST),
                // In HTTP/2 it is the target's authority.
                _ if request.uri().authority().is_some() => true,
                _ => return Err(NOT_ONE_HOST),
            },
        };
        if !target || !host {
            return Err(HOST_REFUSED);
        }
        let mut origins = headers.get_all(header::ORIGIN).iter();
        match (origins.next(), origins.next()) {
            (None, _) => Ok(None),
            (Some(origin), None) if origin.to_str().is_ok_and(|origin| self.takes_origin(origin)) => Ok(Some(origin.clone())),
            _ => Err(ORIGIN_REFUSED),
        }
    }

    fn takes_host(&self, host: &str) -> bool {
        let Some(allowed) = &self.hosts else { return true };
        let Some(name) = without_port(host) else { return false };
        let is = |known: &str, said: &str| known.eq_ignore_ascii_case(said);
        LOCAL.iter().any(|local| is(local, name)) || allowed.iter().any(|allowed| is(allowed, host) || is(allowed, name))
    }

    fn takes_origin(&self, origin: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        host.and_then(without_port).is_some_and(|host| LOCAL.contains(&host)) || self.origins.contains(&origin)
    }
}

/// The host of `host` or `host:port`; an IPv6 address keeps its brackets.
fn without_port(host: &str) -> Option<&str> {
    let end = if host.starts_with('[') { host.find(']')? + 1 } else { host.find(':').unwrap_or(host.len()) };
    let (name, port) = host.split_at(end);
    let is_port = port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok() && !port.starts_with('+'));
    (is_port && !name.is_empty()).then_some(name)
}

/// Lets the page of an allowed origin read the answer, and says what it may send (Fetch, "CORS protocol").
pub fn allow(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, ALLOWED_METHODS);
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED_HEADERS);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, PREFLIGHT_SECONDS);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(bind: &str, origins: &[&str], hosts: &[&str]) -> Guard {
        Guard::new(HttpSettings {
            bind: Some(bind.parse().unwrap()),
            allowed_origins: origins.iter().map(|&origin| origin.into()).collect(),
            allowed_hosts: hosts.iter().map(|&host| host.into()).collect(),
        })
    }

    fn takes(guard: &Guard, headers: &[(&str, &str)]) -> bool {
        let request = headers.iter().fold(Request::builder().uri("/mcp"), |request, (name, value)| request.header(*name, *value));
        guard.check(&request.body(()).unwrap()).is_ok()
    }

    #[test]
    fn local_origins_of_any_port_are_allowed_and_no_others() {
        let guard = guard("127.0.0.1:8089", &["https://App.example.com", "http://10.0.0.7:3000/"], &[]);
        for (origin, taken) in [
            ("http://localhost", true),
            ("https://localhost:1", true),
            ("http://127.0.0.1:65535", true),
            ("http://[::1]:8089", true),
            ("HTTP://LocalHost:8089", true),
            ("https://app.example.com", true),
            ("http://10.0.0.7:3000", true),
            ("http://app.example.com", false),
            ("https://app.example.com:444", false),
            ("http://10.0.0.7", false),
            ("http://evil.example.com", false),
            ("http://localhost.evil.example.com", false),
            ("http://localhost:8089.evil.example.com", false),
            ("http://localhost:", false),
            ("http://localhost:99999", false),
            ("http://user@localhost", false),
            ("http://[::1", false),
            ("http://::1", false),
            ("http://127.0.0.2", false),
            ("ftp://localhost", false),
            ("localhost", false),
            ("null", false),
            ("", false),
            ("*", false),
        ] {
            assert_eq!(takes(&guard, &[("host", "localhost"), ("origin", origin)]), taken, "{origin}");
        }
        assert!(!takes(&guard, &[("host", "localhost"), ("origin", "http://localhost"), ("origin", "http://localhost")]));
    }

    #[test]
    fn on_loopback_only_local_hosts_and_named_ones_are_allowed() {
        let guard = guard("[::1]:8089", &[], &["Wharf.example.com", "other.example.com:8089"]);
        for (host, taken) in [
            ("localhost", true),
            ("LOCALHOST:1", true),
            ("127.0.0.1:8089", true),
            ("[::1]", true),
            ("[::1]:8089", true),
            ("wharf.example.com", true),
            ("wharf.example.com:1", true),
            ("other.example.com:8089", true),
            ("other.example.com:80", false),
            ("other.example.com", false),
            ("evil.example.com", false),
            ("localhost.", false),
            ("localhost.evil.example.com", false),
            ("localhost:80:80", false),
            ("0.0.0.0:8089", false),
            ("", false),
        ] {
            assert_eq!(takes(&guard, &[("host", host)]), taken, "{host}");
        }
        let absolute = |uri: &str| Request::builder().uri(uri).header("host", "localhost").body(()).unwrap();
        assert!(guard.check(&absolute("http://localhost:8089/mcp")).is_ok());
        assert!(guard.check(&absolute("http://evil.example.com/mcp")).is_err());
    }

    #[test]
    fn a_strict_guard_takes_its_own_address_and_no_other_foreign_name() {
        let strict = |bind: &str, hosts: &[&str]| {
            let allowed_hosts = hosts.iter().map(|&host| host.into()).collect();
            Guard::strict(HttpSettings { bind: Some(bind.parse().unwrap()), allowed_hosts, ..HttpSettings::default() })
        };
        let lan = strict("192.168.1.7:9090", &[]);
        assert!(takes(&lan, &[("host", "192.168.1.7:9090")]) && takes(&lan, &[("host", "localhost:9090")]));
        assert!(!takes(&lan, &[("host", "evil.example.com")]));
        let any = strict("[::]:9090", &["wharf.lan"]);
        assert!(takes(&any, &[("host", "wharf.lan:9090")]) && !takes(&any, &[("host", "[::]:9090")]));
        assert!(takes(&strict("[fd00::7]:9090", &[]), &[("host", "[fd00::7]:9090")]));
    }

    #[test]
    fn a_request_has_one_host_unless_its_version_has_none() {
        for guard in [guard("127.0.0.1:8089", &[], &[]), guard("0.0.0.0:8089", &[], &[])] {
            let check = |version: Version, uri: &str, hosts: &[&str]| {
                let request = Request::builder().version(version).uri(uri);
                let request = hosts.iter().fold(request, |request, host| request.header("host", *host));
                guard.check(&request.body(()).unwrap()).map(drop)
            };
            assert_eq!(check(Version::HTTP_11, "/mcp", &[]), Err(NOT_ONE_HOST));
            assert_eq!(check(Version::HTTP_11, "http://localhost/mcp", &[]), Err(NOT_ONE_HOST));
            assert_eq!(check(Version::HTTP_11, "/mcp", &["localhost", "localhost"]), Err(NOT_ONE_HOST));
            assert_eq!(check(Version::HTTP_10, "/mcp", &["localhost", "localhost"]), Err(NOT_ONE_HOST));
            assert_eq!(check(Version::HTTP_10, "/mcp", &[]), Ok(()));
            assert_eq!(check(Version::HTTP_10, "/mcp", &["localhost"]), Ok(()));
            assert_eq!(check(Version::HTTP_2, "http://localhost/mcp", &[]), Ok(()));
            assert_eq!(check(Version::HTTP_2, "/mcp", &[]), Err(NOT_ONE_HOST));
        }
        let guard = guard("127.0.0.1:8089", &[], &[]);
        let evil = |version| Request::builder().version(version).uri("http://evil.example.com/mcp").body(()).unwrap();
        assert_eq!(guard.check(&evil(Version::HTTP_2)), Err(HOST_REFUSED));
        assert_eq!(guard.check(&evil(Version::HTTP_10)), Err(HOST_REFUSED));
        let page = Request::builder().version(Version::HTTP_10).uri("/mcp").header("origin", "http://evil.example.com").body(()).unwrap();
        assert_eq!(guard.check(&page), Err(ORIGIN_REFUSED));
    }

    #[test]
    fn on_another_address_any_host_is_allowed_until_some_are_named() {
        let open = guard("0.0.0.0:8089", &[], &[]);
        assert!(takes(&open, &[("host", "evil.example.com")]));
        assert!(!takes(&open, &[("host", "evil.example.com"), ("origin", "http://evil.example.com")]));
        let named = guard("192.168.1.7:8089", &[], &["wharf.lan"]);
        assert!(takes(&named, &[("host", "wharf.lan:8089")]) && takes(&named, &[("host", "localhost")]));
        assert!(!takes(&named, &[("host", "evil.example.com")]));
        assert!(!takes(&guard("[::ffff:127.0.0.1]:8089", &[], &[]), &[("host", "evil.example.com")]), "a loopback address all the same");
    }
}
