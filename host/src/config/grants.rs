//! `[provider.grants]`: what a provider may do besides answering. What is not written here it may not do.

mod written;

use std::{fmt, net::IpAddr, path::PathBuf};

use ipnet::IpNet;

pub(super) use written::{ExposeValue, GrantsTable};

/// What a provider may do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    /// Folders of this machine, as it finds them through wasi:filesystem.
    pub folders: Vec<Folder>,
    /// Whom it may ask over HTTP.
    pub hosts: Vec<HostGrant>,
    /// Its environment.
    pub env: Vec<Variable>,
    /// HTTP paths of the host that reach it.
    pub webhooks: Vec<Webhook>,
    /// Bytes of all keys and values that its store may have.
    pub state: Option<u64>,
}

/// A folder of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// Where it is.
    pub host: PathBuf,
    /// Where the provider finds it: an absolute path.
    pub guest: String,
    /// Whether it may change what is in it.
    pub write: bool,
}

/// Whom a provider may ask over HTTP: `api.github.com`, `*.example.org:8443`, `10.0.0.0/8`, `[::1]:8080`, `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostGrant {
    /// Which hosts.
    pub hosts: Hosts,
    /// On which port; where none is written, 80 for `http:` and 443 for `https:`.
    pub port: Option<u16>,
}

/// Which hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hosts {
    /// All that have a public address.
    All,
    /// This name, in lower case.
    Name(String),
    /// All names below this one, in lower case; not the name itself.
    Below(String),
    /// These addresses, also where a granted name leads to one of them and it is not public.
    Network(IpNet),
}

/// A variable of a provider's environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name, for the provider.
    pub name: String,
    /// What it holds.
    pub value: Secret,
}

/// Where a value is that wharf.toml does not say itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Secret {
    /// In this variable of the host's environment.
    Env(String),
    /// In this file, without the newline at its end.
    File(PathBuf),
}

/// An HTTP path of the host that reaches a provider: `/hooks/<provider>/<name>`, and all below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// Its name.
    pub name: String,
    /// What proves that it comes from who has the secret; nothing is proved without it.
    pub signed: Option<Signed>,
    /// Whether the sender is answered before the provider was asked.
    pub queue: bool,
}

/// How a webhook's requests are signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// In which manner.
    pub signature: Signature,
    /// With which secret.
    pub secret: Secret,
}

/// Whose manner of signing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signature {
    /// GitHub's: `X-Hub-Signature-256: sha256=<hex>`, HMAC-SHA-256 of the body.
    Github,
    /// Stripe's: `Stripe-Signature: t=<seconds>,v1=<hex>`, HMAC-SHA-256 of `<seconds>.<body>`, five minutes old at the most.
    Stripe,
    /// GitLab's: `X-Gitlab-Token`, which is the secret itself.
    Gitlab,
    /// HMAC-SHA-256 of the body in hex in the header of this name, in lower case, with or without `sha256=` before it.
    Header(String),
}

/// Which keys of its shared state clients see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Expose {
    /// All.
    #[default]
    All,
    /// None.
    None,
    /// Those that match one of these patterns, in which `*` stands for any characters.
    Matching(Vec<String>),
}

impl Expose {
    /// Whether clients see this key.
    pub fn shows(&self, key: &str) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Matching(patterns) => patterns.iter().any(|pattern| matches(pattern, key)),
        }
    }
}

/// Takes the first place for each part between stars, which is enough: what follows a star may begin anywhere later.
fn matches(pattern: &str, key: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = key.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

impl Grants {
    /// Whether it grants nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl HostGrant {
    /// Reads one as wharf.toml has it.
    ///
    /// # Errors
    /// What is wrong, and how to write it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| {
            format!(
                "{text:?} is no host: {what}; write \"api.example.com\", \"*.example.com:8443\", \"10.0.0.0/8\", \"[::1]:8080\" or \"*\""
            )
        };
        // Names are looked up, and stand in certificates, in ASCII (RFC 5891).
        let ascii = if text.is_ascii() { None } else { Some(in_ascii(text).ok_or_else(|| wrong("it is no name"))?) };
        let text = ascii.as_deref().unwrap_or(text);
        if text.contains("://") {
            return Err(wrong("it has a scheme"));
        }
        let (hosts, port) = match text.rsplit_once(':') {
            // An IPv6 address has colons of its own: only behind brackets is there a port.
            Some((hosts, port)) if text.parse::<IpAddr>().is_err() && text.parse::<IpNet>().is_err() => {
                let port = port.parse::<u16>().ok().filter(|port| *port > 0);
                (hosts, Some(port.ok_or_else(|| wrong("the port is none"))?))
            }
            _ => (text, None),
        };
        let address = hosts.strip_prefix('[').and_then(|hosts| hosts.strip_suffix(']')).unwrap_or(hosts);
        let hosts = if let Ok(address) = address.parse::<IpAddr>() {
            Hosts::Network(address.into())
        } else if address.contains('/') {
            Hosts::Network(address.parse::<IpNet>().map_err(|_| wrong("a network is an address, `/`, and a number of bits"))?.trunc())
        } else if hosts == "*" {
            Hosts::All
        } else if let Some(name) = hosts.strip_prefix("*.") {
            Hosts::Below(host_name(name).ok_or_else(|| wrong("a star stands for whole labels, at the beginning"))?)
        } else {
            Hosts::Name(host_name(hosts).ok_or_else(|| wrong("it is no name"))?)
        };
        Ok(Self { hosts, port })
    }
}

/// A name with other letters as it is looked up, by what URLs are read with: `bücher.example` is `xn--bcher-kva.example` in both.
fn in_ascii(text: &str) -> Option<String> {
    let (star, rest) = text.strip_prefix("*.").map_or(("", text), |rest| ("*.", rest));
    let (name, port) = rest.split_once(':').map_or((rest, None), |(name, port)| (name, Some(port)));
    let ascii = match url::Host::parse(name).ok()? {
        url::Host::Domain(name) => name,
        // Digits of other scripts are no way to write an address.
        _ => return None,
    };
    Some(format!("{star}{ascii}{}", port.map_or(String::new(), |port| format!(":{port}"))))
}

/// A name in ASCII (RFC 1123), in lower case.
fn host_name(name: &str) -> Option<String> {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    (name.len() <= 253 && name.split('.').all(label)).then(|| name.to_ascii_lowercase())
}

impl fmt::Display for HostGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hosts {
            Hosts::All => f.write_str("*")?,
            Hosts::Name(name) => f.write_str(name)?,
            Hosts::Below(name) => write!(f, "*.{name}")?,
            Hosts::Network(network) => {
                let bare = network.addr();
                match (network.prefix_len() == network.max_prefix_len(), bare.is_ipv6() && self.port.is_some()) {
                    (true, true) => write!(f, "[{bare}]")?,
                    (true, false) => write!(f, "{bare}")?,
                    (false, true) => write!(f, "[{network}]")?,
                    (false, false) => write!(f, "{network}")?,
                }
            }
        }
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(f, "the variable {name}"),
            Self::File(path) => write!(f, "the file {}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> Hosts {
        HostGrant::parse(text).unwrap().hosts
    }

    #[test]
    fn a_host_is_a_name_a_family_of_names_or_a_network() {
        assert_eq!(host("API.github.com"), Hosts::Name("api.github.com".into()));
        assert_eq!(host("*.example.org:8443"), Hosts::Below("example.org".into()));
        assert_eq!(host("*"), Hosts::All);
        assert_eq!(host("10.1.2.3/8"), Hosts::Network("10.0.0.0/8".parse().unwrap()));
        assert_eq!(host("Bücher.example"), Hosts::Name("xn--bcher-kva.example".into()));
        assert_eq!(HostGrant::parse("*.bücher.example:8443").unwrap().to_string(), "*.xn--bcher-kva.example:8443");
        for text in
            ["１２７.0.0.1", "bü cher.example", "bücher.example:x", "bücher.example/", "https://bücher.example", "b*ü.example", "*ü"]
        {
            assert!(HostGrant::parse(text).is_err(), "{text}");
        }
        for text in ["127.0.0.1", "127.0.0.1:8080", "::1", "[::1]:8080", "fd00::/8", "[fd00::/8]:443", "a.example:1", "*:8080", "localhost"]
        {
            assert_eq!(HostGrant::parse(text).unwrap().to_string(), text, "what is shown can be written");
        }
        assert_eq!(HostGrant::parse("a.example:8443").unwrap().port, Some(8443));
        for text in [
            "",
            "https://a.example",
            "a.example:",
            "a.example:0",
            "a.example:99999",
            "a.*.example",
            "*a.example",
            "-a.example",
            "a b",
            "a/b",
            "10.0.0.0/99",
        ] {
            assert!(HostGrant::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_pattern_shows_the_keys_it_matches() {
        let shows = |patterns: &[&str], key: &str| Expose::Matching(patterns.iter().map(ToString::to_string).collect()).shows(key);
        for (pattern, key) in
            [("a", "a"), ("a*", "a"), ("a*", "abc"), ("*c", "abc"), ("a*c", "abc"), ("*", ""), ("a*b*c", "a-b-b-c"), ("*.*", "a.b")]
        {
            assert!(shows(&[pattern], key), "{pattern} {key}");
        }
        for (pattern, key) in [("a", "ab"), ("a*c", "ab"), ("ab*ba", "aba"), ("*b*", "ac"), ("", "a")] {
            assert!(!shows(&[pattern], key), "{pattern} {key}");
        }
        assert!(shows(&["x", "a*"], "ab") && Expose::All.shows("a") && !Expose::None.shows("a"));
    }
}
