//! Who may be asked: the grants of one provider, held against a URL and the addresses that its host has.
//!
//! Invariants:
//! - A name must be granted, and then each of its addresses must be public, or lie in a granted network. Only `localhost`, written out,
//!   leads to this machine.
//! - An address in place of a name needs a granted network, or `*` if it is public.
//! - The port must be the one that the grant says, or the scheme's own if it says none.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
};

use url::{Host, Url};

use super::address::is_public;
use crate::{
    config::grants::{Grants, HostGrant, Hosts},
    provider::grants::Need,
};

/// Names that always lead to this machine (RFC 6761 §6.3): this one, and all below it.
const LOCALHOST: &str = "localhost";

/// Whom a request goes to: scheme, host and port (RFC 6454).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// `https`, else `http`.
    pub https: bool,
    /// A name in ASCII and lower case, or an address.
    pub host: Host<String>,
    /// The scheme's own, where the URL has none.
    pub port: u16,
}

impl Origin {
    /// That of a URL; nothing if it has another scheme, no host, or names a user.
    pub fn of(url: &Url) -> Result<Self, String> {
        let https = match url.scheme() {
            "https" => true,
            "http" => false,
            other => return Err(format!("{other}: cannot be fetched, only https: and http:")),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err("a URL must not have a user or a password: send them as an Authorization header".into());
        }
        match (url.host(), url.port_or_known_default()) {
            (Some(host), Some(port)) => Ok(Self { https, host: host.to_owned(), port }),
            _ => Err("the URL has no host".into()),
        }
    }

    /// The port that the scheme has by itself.
    pub fn usual_port(&self) -> u16 {
        if self.https { 443 } else { 80 }
    }

    /// As the header Host has it (RFC 9110 §7.2), and as wharf.toml would grant it.
    pub fn authority(&self) -> String {
        if self.port == self.usual_port() { self.host.to_string() } else { format!("{}:{}", self.host, self.port) }
    }

    /// The name without the dot that a full one may end with; nothing for an address.
    pub fn name(&self) -> Option<&str> {
        match &self.host {
            Host::Domain(name) => Some(name.strip_suffix('.').unwrap_or(name)),
            _ => None,
        }
    }

    /// The address, where that is what stands for the host.
    pub fn literal(&self) -> Option<IpAddr> {
        match self.host {
            Host::Domain(_) => None,
            Host::Ipv4(address) => Some(address.into()),
            Host::Ipv6(address) => Some(address.into()),
        }
    }

    /// Whether this is a name of this machine.
    pub fn is_local(&self) -> bool {
        self.name().is_some_and(|name| name == LOCALHOST || is_below(name, LOCALHOST))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.https { "https" } else { "http" }, self.authority())
    }
}

/// Whether these grants let a provider ask for this host at all. Where it leads is another question: [`reachable`].
///
/// # Errors
/// What would have to be granted.
pub fn admit(grants: &Grants, origin: &Origin) -> Result<(), Need> {
    let granted = match origin.literal() {
        Some(address) => in_network(grants, origin, address) || is_public(address) && grants.hosts.iter().any(|grant| all(grant, origin)),
        None => origin.name().is_some_and(|name| grants.hosts.iter().any(|grant| at_port(grant, origin) && names(grant, name))),
    };
    if granted { Ok(()) } else { Err(Need::Host(origin.authority())) }
}

/// Those of the addresses of an admitted host that may be connected to, in their order.
///
/// # Errors
/// What would have to be granted, if none may be.
pub fn reachable(grants: &Grants, origin: &Origin, addresses: &[IpAddr]) -> Result<Vec<SocketAddr>, Need> {
    let written_out =
        |grant: &HostGrant| grant.hosts != Hosts::All && at_port(grant, origin) && names(grant, origin.name().unwrap_or_default());
    let here = origin.is_local() && grants.hosts.iter().any(written_out);
    let may =
        |address: &&IpAddr| is_public(**address) || in_network(grants, origin, **address) || here && address.to_canonical().is_loopback();
    let found: Vec<_> = addresses.iter().filter(may).map(|address| SocketAddr::new(*address, origin.port)).collect();
    match addresses.first() {
        Some(refused) if found.is_empty() => {
            let address = Origin { host: host_of(*refused), ..origin.clone() };
            Err(Need::Address(address.authority(), origin.authority()))
        }
        _ => Ok(found),
    }
}

fn host_of(address: IpAddr) -> Host<String> {
    match address.to_canonical() {
        IpAddr::V4(address) => Host::Ipv4(address),
        IpAddr::V6(address) => Host::Ipv6(address),
    }
}

fn at_port(grant: &HostGrant, origin: &Origin) -> bool {
    grant.port.unwrap_or(origin.usual_port()) == origin.port
}

fn all(grant: &HostGrant, origin: &Origin) -> bool {
    grant.hosts == Hosts::All && at_port(grant, origin)
}

fn names(grant: &HostGrant, name: &str) -> bool {
    match &grant.hosts {
        Hosts::All => true,
        Hosts::Name(granted) => granted == name,
        Hosts::Below(granted) => is_below(name, granted),
        Hosts::Network(_) => false,
    }
}

fn is_below(name: &str, parent: &str) -> bool {
    name.strip_suffix(parent).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
}

/// In the form in which it is written, or as the address of IPv4 that is mapped into it.
fn in_network(grants: &Grants, origin: &Origin, address: IpAddr) -> bool {
    let contains = |grant: &HostGrant| match &grant.hosts {
        Hosts::Network(network) => network.contains(&address) || network.contains(&address.to_canonical()),
        _ => false,
    };
    grants.hosts.iter().any(|grant| contains(grant) && at_port(grant, origin))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(hosts: &[&str]) -> Grants {
        Grants { hosts: hosts.iter().map(|host| HostGrant::parse(host).unwrap()).collect(), ..Grants::default() }
    }

    fn origin(url: &str) -> Origin {
        Origin::of(&Url::parse(url).unwrap()).unwrap()
    }

    fn admitted(hosts: &[&str], url: &str) -> bool {
        admit(&grants(hosts), &origin(url)).is_ok()
    }

    fn led(hosts: &[&str], url: &str, addresses: &[&str]) -> Result<Vec<String>, Need> {
        let addresses: Vec<IpAddr> = addresses.iter().map(|address| address.parse().unwrap()).collect();
        reachable(&grants(hosts), &origin(url), &addresses).map(|found| found.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_name_is_granted_with_its_port_or_that_of_the_scheme() {
        assert!(admitted(&["a.example"], "https://a.example/x") && admitted(&["a.example"], "http://A.Example./x"));
        assert!(!admitted(&["a.example"], "https://a.example:8443/") && admitted(&["a.example:8443"], "https://a.example:8443/"));
        assert!(!admitted(&["a.example:8443"], "https://a.example/") && !admitted(&["a.example"], "http://a.example:443/"));
        assert!(!admitted(&["a.example"], "https://b.a.example/") && !admitted(&["a.example"], "https://xa.example/"));
        assert!(!admitted(&["a.example"], "https://a.example.evil.example/") && !admitted(&[], "https://a.example/"));
    }

    #[test]
    fn a_star_is_for_the_names_below_and_not_for_the_name_itself() {
        assert!(admitted(&["*.a.example"], "https://b.a.example/") && admitted(&["*.a.example"], "https://c.b.a.example/"));
        for other in ["https://a.example/", "https://xa.example/", "https://.a.example/", "https://a.example.evil/"] {
            assert!(Url::parse(other).is_err() || !admitted(&["*.a.example"], other), "{other}");
        }
        assert!(admitted(&["*"], "https://any.example/") && !admitted(&["*"], "https://any.example:8443/"));
    }

    #[test]
    fn an_address_needs_a_network_however_it_is_written() {
        for url in ["http://127.0.0.1/", "http://0x7f.1/", "http://2130706433/", "http://017700000001/", "http://[::ffff:127.0.0.1]/"] {
            assert!(!admitted(&["*", "localhost"], url) && admitted(&["127.0.0.0/8"], url), "{url}");
        }
        assert!(admitted(&["*"], "https://8.8.8.8/") && !admitted(&["8.8.4.4"], "https://8.8.8.8/"));
        assert!(admitted(&["[::1]:8080"], "http://[::1]:8080/") && !admitted(&["[::1]:8080"], "http://[::1]/"));
        assert_eq!(admit(&grants(&[]), &origin("http://[::1]:8080/")), Err(Need::Host("[::1]:8080".into())));
    }

    #[test]
    fn a_name_leads_to_public_addresses_and_to_granted_networks() {
        let url = "https://a.example/";
        assert_eq!(led(&["a.example"], url, &["10.0.0.1", "1.1.1.1", "::1"]), Ok(vec!["1.1.1.1:443".into()]));
        assert_eq!(led(&["a.example", "10.0.0.0/8"], url, &["10.0.0.1"]), Ok(vec!["10.0.0.1:443".into()]));
        let refused = |address: &str, url: &str| led(&["a.example", "10.0.0.0/8:8443"], url, &[address]).unwrap_err().to_string();
        assert_eq!(refused("10.0.0.1", url), r#"hosts = ["10.0.0.1"]"#, "another port than that of the network");
        assert_eq!(refused("::ffff:127.0.0.1", "https://a.example:99/"), r#"hosts = ["127.0.0.1:99"]"#);
        assert_eq!(refused("fd00::1", url), r#"hosts = ["[fd00::1]"]"#);
        assert_eq!(refused("fd00::1", "https://a.example:99/"), r#"hosts = ["[fd00::1]:99"]"#);
        assert_eq!(led(&["a.example"], url, &[]), Ok(Vec::new()));
    }

    #[test]
    fn only_localhost_written_out_leads_to_this_machine() {
        assert_eq!(led(&["localhost:80"], "http://localhost/", &["::1", "127.0.0.1"]).unwrap().len(), 2);
        assert!(led(&["localhost"], "http://localhost/", &["10.0.0.1"]).is_err());
        assert!(led(&["a.example"], "http://a.example/", &["127.0.0.1"]).is_err());
        assert!(
            led(&["*"], "http://localhost/", &["127.0.0.1"]).is_err() && led(&["localhost:81"], "http://localhost/", &["::1"]).is_err()
        );
        assert!(led(&["notlocalhost"], "http://notlocalhost/", &["127.0.0.1"]).is_err());
        assert!(led(&["*.localhost"], "http://a.localhost/", &["127.0.0.1"]).is_ok());
    }

    #[test]
    fn a_url_that_names_a_user_or_no_host_is_refused() {
        for url in
            ["https://user@a.example/", "https://a.example:p@b.example/", "ftp://a.example/", "data:text/plain,a", "file:///etc/passwd"]
        {
            assert!(Origin::of(&Url::parse(url).unwrap()).is_err(), "{url}");
        }
    }
}
