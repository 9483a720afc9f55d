//! Proxies, as the environment names them: `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, or their names in lower case, which win.
//!
//! The one who connects to the host is then the proxy, and so nobody here can say to which address: the name is checked against the grants,
//! is refused if it is known here and leads to an address that is not granted, and is the proxy's from there on. A setting that cannot be
//! used fails every request that would have to follow it; none goes another way.

use std::{env, net::IpAddr};

use base64::{Engine, prelude::BASE64_STANDARD};
use hyper::header::HeaderValue;
use ipnet::IpNet;
use url::Url;

use super::gate::Origin;

/// A proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Proxy {
    pub origin: Origin,
    /// For the header Proxy-Authorization.
    pub authorization: Option<HeaderValue>,
}

/// Which requests go through which.
#[derive(Debug, Clone, Default)]
pub struct Proxies {
    http: Option<Result<Proxy, String>>,
    https: Option<Result<Proxy, String>>,
    except: Vec<Except>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Except {
    All,
    /// A name, and all below it; on this port, if there is one.
    Name(String, Option<u16>),
    Network(IpNet),
}

impl Proxies {
    /// Those of this process's environment.
    pub fn from_env() -> Self {
        Self::of(|name| env::var(name).ok())
    }

    /// With these variables.
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| variable(&name.to_lowercase()).or_else(|| variable(name)).filter(|value| !value.trim().is_empty());
        let proxy = |name: &str| {
            let (name, value) = set(name).map(|value| (name, value)).or_else(|| Some(("ALL_PROXY", set("ALL_PROXY")?)))?;
            Some(Proxy::parse(value.trim()).map_err(|reason| format!("the environment's {name} cannot be used: {reason}")))
        };
        let except = set("NO_PROXY").unwrap_or_default();
        Self {
            http: proxy("HTTP_PROXY"),
            https: proxy("HTTPS_PROXY"),
            except: except.split(',').map(str::trim).filter(|text| !text.is_empty()).map(Except::parse).collect(),
        }
    }

    /// The one that a request goes through, if it goes through one. This machine is always asked directly.
    pub(super) fn before(&self, origin: &Origin) -> Result<Option<&Proxy>, String> {
        let here = origin.is_local() || origin.literal().is_some_and(|address| address.to_canonical().is_loopback());
        if here || self.except.iter().any(|except| except.covers(origin)) {
            return Ok(None);
        }
        match if origin.https { &self.https } else { &self.http } {
            None => Ok(None),
            Some(Ok(proxy)) => Ok(Some(proxy)),
            Some(Err(reason)) => Err(reason.clone()),
        }
    }
}

impl Proxy {
    /// The error does not repeat the text, which may have a password.
    fn parse(text: &str) -> Result<Self, String> {
        let text = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let mut url = Url::parse(&text).map_err(|error| error.to_string())?;
        let decoded = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
        let authorization = match (url.username(), url.password()) {
            ("", None) => None,
            (user, password) => {
                let credentials = BASE64_STANDARD.encode(format!("{}:{}", decoded(user), decoded(password.unwrap_or_default())));
                let mut value = HeaderValue::from_str(&format!("Basic {credentials}")).map_err(|error| error.to_string())?;
                value.set_sensitive(true);
                Some(value)
            }
        };
        url.set_username("").and_then(|()| url.set_password(None)).map_err(|()| "it names no host".to_owned())?;
        Ok(Self { origin: Origin::of(&url).map_err(|_| "only http: and https: proxies are known".to_owned())?, authorization })
    }
}

impl Except {
    fn parse(text: &str) -> Self {
        if text == "*" {
            return Self::All;
        }
        let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        if let Some(network) = bare.parse::<IpAddr>().map(IpNet::from).ok().or_else(|| bare.parse().ok()) {
            return Self::Network(network);
        }
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port)) if port.parse::<u16>().is_ok() => (name, port.parse().ok()),
            _ => (text, None),
        };
        Self::Name(name.trim_start_matches('*').trim_start_matches('.').to_ascii_lowercase(), port)
    }

    fn covers(&self, origin: &Origin) -> bool {
        match self {
            Self::All => true,
            Self::Name(name, port) => {
                let below = |asked: &str| asked.strip_suffix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
                port.is_none_or(|port| port == origin.port) && origin.name().is_some_and(below)
            }
            Self::Network(network) => origin.literal().is_some_and(|address| network.contains(&address.to_canonical())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn before(variables: &[(&str, &str)], url: &str) -> Result<Option<String>, String> {
        let proxies = Proxies::of(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string()));
        let origin = Origin::of(&Url::parse(url).unwrap()).unwrap();
        proxies.before(&origin).map(|proxy| proxy.map(|proxy| proxy.origin.to_string()))
    }

    #[test]
    fn each_scheme_has_its_proxy_and_lower_case_wins() {
        let both = [("HTTP_PROXY", "http://p.example:3128"), ("https_proxy", "q.example"), ("HTTPS_PROXY", "r.example")];
        assert_eq!(before(&both, "http://a.example/"), Ok(Some("http://p.example:3128".into())));
        assert_eq!(before(&both, "https://a.example/"), Ok(Some("http://q.example".into())));
        assert_eq!(before(&[("ALL_PROXY", "https://p.example")], "http://a.example/"), Ok(Some("https://p.example".into())));
        assert_eq!(before(&[("HTTP_PROXY", " ")], "http://a.example/"), Ok(None));
    }

    #[test]
    fn what_no_proxy_names_and_this_machine_are_asked_directly() {
        let through = |except: &str, url: &str| before(&[("ALL_PROXY", "p.example"), ("NO_PROXY", except)], url).unwrap().is_some();
        assert!(through("", "https://a.example/") && through("b.example, 10.0.0.0/8", "https://a.example/"));
        for except in ["*", "a.example", ".a.example", "*.a.example", "x, A.Example:443"] {
            assert!(
                !through(except, "https://a.example/") && (except.contains(':') || !through(except, "https://b.a.example/")),
                "{except}"
            );
        }
        assert!(through("a.example:80", "https://a.example/") && through("a.example", "https://xa.example/"));
        assert!(!through("10.0.0.0/8", "http://10.1.2.3/") && !through("[fd00::1]", "http://[fd00::1]/"));
        assert!(!through("", "http://localhost/") && !through("", "http://127.0.0.1:8080/") && !through("", "http://[::1]/"));
    }

    #[test]
    fn a_proxy_that_cannot_be_used_is_not_passed_by() {
        for wrong in ["socks5://p.example:1080", "http://"] {
            let error = before(&[("HTTP_PROXY", wrong)], "http://a.example/").unwrap_err();
            assert!(error.contains("HTTP_PROXY"), "{error}");
        }
    }

    #[test]
    fn a_password_is_sent_and_not_shown() {
        let proxy = Proxy::parse("http://user:p%40ss@p.example").unwrap();
        assert_eq!(proxy.authorization.as_ref().unwrap().to_str().unwrap(), "Basic dXNlcjpwQHNz");
        assert!(!format!("{proxy:?}").contains("dXNlcj"), "{proxy:?}");
    }
}
