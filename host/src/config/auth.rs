//! `[server] auth`: who is let in, and how that is proven.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use url::{Host, Url};

use super::{Server, check_name};

/// The name that stands for all providers in a view.
pub const ALL_PROVIDERS: &str = "*";
/// The file of tokens, beside wharf.toml.
pub const TOKENS_FILE: &str = "tokens.toml";

/// `auth` of `[server]`: what a client has to prove over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Auth {
    /// Nothing: whoever reaches the host is let in.
    None,
    /// A token of the file that `wharf token` writes.
    Tokens,
    /// An access token of an authorization server, as `[server.oauth]` has it.
    #[serde(rename = "oauth")]
    OAuth,
}

/// `[server.tokens]`: for `auth = "tokens"`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TokenSettings {
    /// The file that `wharf token` writes; `tokens.toml` beside this file if it is not set. It is followed, unless
    /// `watch` is `off`.
    pub file: Option<PathBuf>,
}

/// `[server.oauth]`: for `auth = "oauth"`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct OAuthSettings {
    /// The authorization server, exactly as its tokens have it in `iss`: an `https:` URL, or an `http:` one of this machine.
    pub issuer: String,
    /// What tokens for this host have in `aud`; best the URL by which clients reach it, such as `https://wharf.example.com/mcp`.
    pub audience: String,
    /// The URL by which clients reach this host; if it is not set, `audience` where that is a URL, else what a request was sent to.
    pub resource: Option<String>,
    /// Scopes that a token must have, all of them.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// Where the keys of the authorization server are; what its metadata say if it is not set (RFC 8414, or OpenID Connect Discovery).
    pub jwks: Option<String>,
    /// Which providers a scope lets see: a token sees those of all its scopes, and `"*"` is all. Without any, every token sees all.
    #[serde(default)]
    pub views: BTreeMap<String, Vec<String>>,
}

impl Server {
    /// Where the tokens are, for `auth = "tokens"`. `folder` is that of wharf.toml.
    pub fn tokens_file(&self, folder: &Path) -> PathBuf {
        self.tokens.as_ref().and_then(|tokens| tokens.file.clone()).unwrap_or_else(|| folder.join(TOKENS_FILE))
    }

    /// Whether what is said of it fits together.
    pub(super) fn check_auth(&self) -> Result<(), String> {
        match (&self.oauth, self.auth) {
            (None, Some(Auth::OAuth)) => Err("auth = \"oauth\" needs a table [server.oauth] with issuer and audience\n".into()),
            // Else a host would be open that somebody meant to close.
            (Some(_), other) if other != Some(Auth::OAuth) => {
                Err("[server.oauth] is without effect: add auth = \"oauth\" to [server], or take the table out\n".into())
            }
            (oauth, auth) => {
                if self.tokens.is_some() && auth != Some(Auth::Tokens) {
                    return Err("[server.tokens] is without effect: add auth = \"tokens\" to [server], or take the table out\n".into());
                }
                oauth.as_ref().map_or(Ok(()), OAuthSettings::check)
            }
        }
    }
}

impl OAuthSettings {
    fn check(&self) -> Result<(), String> {
        let wrong = |key: &str, reason: &str| Err(format!("[server.oauth] {key}: {reason}\n"));
        if let Err(reason) = guarded_url(&self.issuer) {
            return wrong("issuer", reason);
        }
        // RFC 8414 §2.
        if self.issuer.contains(['?', '#']) {
            return wrong("issuer", "an issuer has neither a query nor a fragment");
        }
        if self.audience.is_empty() {
            return wrong("audience", "say what tokens for this host have in `aud`, such as the URL by which clients reach it");
        }
        if let Some(Err(reason)) = self.jwks.as_deref().map(guarded_url) {
            return wrong("jwks", reason);
        }
        if let Some(resource) = &self.resource
            && !is_resource(resource)
        {
            return wrong("resource", "it is a URL without a fragment, such as https://wharf.example.com/mcp");
        }
        for scope in self.scopes.iter().chain(self.views.keys()) {
            // RFC 6749 §3.3.
            if scope.is_empty() || !scope.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e)) {
                return wrong("scopes", &format!("{scope:?} is no scope: neither spaces, nor quotes, nor backslashes"));
            }
        }
        for provider in self.views.values().flatten().filter(|name| *name != ALL_PROVIDERS) {
            check_name(provider).or_else(|reason| wrong("views", &reason))?;
        }
        Ok(())
    }

    /// The URL that this host is known by, if that is said.
    pub fn resource(&self) -> Option<&str> {
        self.resource.as_deref().or_else(|| Some(&*self.audience).filter(|audience| is_resource(audience)))
    }
}

/// RFC 8707 §2: absolute, without a fragment.
fn is_resource(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.fragment().is_none() && url.host().is_some())
}

/// Whether what is read there comes from who it says: over HTTPS, or from this machine. The reason is for people.
pub(crate) fn guarded_url(text: &str) -> Result<Url, &'static str> {
    let url = Url::parse(text).map_err(|_| "it is no URL")?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("a URL with a password is not taken");
    }
    let local = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => return Err("it is no URL of a server"),
    };
    match url.scheme() {
        "https" => Ok(url),
        "http" if local => Ok(url),
        _ => Err("it has to begin with https:// (http:// is for a server on this machine)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    const OAUTH: &str = "[server]\nauth = \"oauth\"\n[server.oauth]\naudience = \"https://wharf.example.com/mcp\"\n";

    fn parse(text: &str) -> Result<Server, String> {
        Config::parse(text, Path::new("/etc/wharf")).map(|config| config.server)
    }

    #[test]
    fn what_would_be_without_effect_is_refused() {
        for (text, says) in [
            ("[server]\nauth = \"oauth\"", "needs a table [server.oauth]"),
            ("[server.oauth]\nissuer = \"https://a.example\"\naudience = \"a\"", "add auth = \"oauth\""),
            ("[server]\nauth = \"none\"\n[server.oauth]\nissuer = \"https://a.example\"\naudience = \"a\"", "without effect"),
            ("[server.tokens]\nfile = \"a\"", "add auth = \"tokens\""),
            ("[server]\nauth = \"token\"", "unknown variant"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn keys_come_over_https_or_from_this_machine() {
        let with = |line: &str| parse(&format!("{OAUTH}{line}\n"));
        for fine in ["issuer = \"https://a.example/tenant\"", "issuer = \"http://127.0.0.1:9\"", "issuer = \"http://localhost:9\""] {
            assert!(with(fine).is_ok(), "{fine}");
        }
        for line in [
            "issuer = \"http://a.example\"",
            "issuer = \"a.example\"",
            "issuer = \"https://a:b@a.example\"",
            "issuer = \"https://a.example?x\"",
            "issuer = \"https://a.example\"\njwks = \"http://a.example/keys\"",
            "issuer = \"https://a.example\"\nresource = \"wharf\"",
            "issuer = \"https://a.example\"\nscopes = [\"a b\"]",
            "issuer = \"https://a.example\"\nviews = { a = [\"no name\"] }",
        ] {
            assert!(with(line).unwrap_err().contains("[server.oauth]"), "{line}");
        }
    }

    #[test]
    fn tokens_are_beside_the_file_unless_it_says_otherwise() {
        let folder = Path::new("/etc/wharf");
        assert_eq!(parse("[server]\nauth = \"tokens\"").unwrap().tokens_file(folder), folder.join("tokens.toml"));
        let named = parse("[server]\nauth = \"tokens\"\ntokens = { file = \"../t.toml\" }").unwrap();
        assert_eq!(named.tokens_file(folder), folder.join("../t.toml"));
    }
}
