//! Who a host that serves lets in: what is refused before it listens, and what the person who starts it is told.

use std::{net::SocketAddr, path::Path, sync::Arc};

use anyhow::{Result, bail};
use wharf::{
    auth::Authority,
    config::{Auth, Config},
};

/// An address of the host, by the key of `[server]` that sets it.
#[derive(Clone, Copy)]
pub(super) enum Place {
    Http,
    Admin,
}

/// Refuses an address that others reach, as long as nobody has said who is let in.
pub(super) fn check(address: SocketAddr, place: Place, config: &Config) -> Result<()> {
    if is_local(address) || config.server.auth.is_some() {
        return Ok(());
    }
    let what = match place {
        Place::Http => "whoever reaches it would get all that the providers serve",
        Place::Admin => "whoever reaches it would see all that the host does ([server] admin)",
    };
    let file = if config.unchosen { "a wharf.toml that you name by --config, or have recorded by `wharf trust`," } else { "wharf.toml" };
    bail!(
        "{address} is not for this machine alone, and {what}. Say in {file} who is let in:\n\n\
         [server]\nauth = \"tokens\"\n\n\
         and make a token by `wharf token new NAME`. (Or auth = \"oauth\", for tokens of an authorization server; \
         or auth = \"none\", if whoever reaches it may.)"
    );
}

/// What lets in, as wharf.toml has it.
pub(super) fn authority(config: &Config) -> Result<Option<Arc<Authority>>> {
    if config.unchosen && config.server.auth == Some(Auth::OAuth) {
        bail!(
            "auth = \"oauth\" names a server that would be asked for keys, and you have not chosen this wharf.toml as it is now: read it, then \
             run `wharf trust`, or name the file by --config"
        );
    }
    let folder = config.file.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
    Ok(Authority::of(config, folder)?.map(Arc::new))
}

/// What is to be said of it at the start: how somebody is let in, and what to beware of.
pub(super) fn words(address: SocketAddr, config: &Config, authority: Option<&Authority>) -> (Option<String>, Option<String>) {
    let warning = match authority {
        _ if is_local(address) => None,
        None => Some(format!(
            "auth = \"none\": whoever reaches {address} gets all that the providers serve; let only those reach it who may, or set auth = \"tokens\""
        )),
        Some(_) if config.server.tls.is_none() => Some(format!(
            "tokens come to {address} in the clear: set [server] tls, or put a proxy with TLS before it and let nothing else reach it"
        )),
        Some(_) => None,
    };
    (authority.map(Authority::describe), warning)
}

pub(super) fn is_local(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        Config::parse(text, Path::new("")).unwrap()
    }

    #[test]
    fn an_address_of_others_wants_it_said_who_is_let_in() {
        let (open, none, tokens) = (config(""), config("[server]\nauth = \"none\""), config("[server]\nauth = \"tokens\""));
        for local in ["127.0.0.1:1", "127.0.0.2:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert!(check(local.parse().unwrap(), Place::Http, &open).is_ok(), "{local}");
        }
        for address in ["0.0.0.0:1", "[::]:1", "192.168.1.7:1", "[::ffff:10.0.0.1]:1"] {
            for place in [Place::Http, Place::Admin] {
                let error = check(address.parse().unwrap(), place, &open).unwrap_err().to_string();
                assert!(error.contains("[server]\nauth = \"tokens\"\n"), "{error}");
                assert!(check(address.parse().unwrap(), place, &none).is_ok() && check(address.parse().unwrap(), place, &tokens).is_ok());
            }
        }
    }

    #[test]
    fn what_lets_everybody_in_is_said_out_loud() {
        let address = "0.0.0.0:8089".parse().unwrap();
        let (how, warning) = words(address, &config("[server]\nauth = \"none\""), None);
        assert!(how.is_none() && warning.unwrap().contains("whoever reaches 0.0.0.0:8089"));
        let authority = Authority::of_tokens("/nowhere/tokens.toml".into()).unwrap();
        let (how, warning) = words(address, &config("[server]\nauth = \"tokens\""), Some(&authority));
        assert!(how.unwrap().contains("wharf token new") && warning.unwrap().contains("in the clear"));
        assert!(words("127.0.0.1:1".parse().unwrap(), &config(""), None).1.is_none());
    }
}
