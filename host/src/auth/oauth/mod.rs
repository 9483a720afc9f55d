//! Access tokens of an authorization server: this host as an OAuth 2.1 protected resource (MCP, "Authorization"; RFC 9068, RFC 9728).
//!
//! Invariants: a token is taken only if it is signed by a key of the issuer that wharf.toml names, with an algorithm that belongs to that key
//! (`jwt`), for this host (`aud`), and at its time; which providers it lets see follows from its scopes alone. What the authorization
//! server takes back before a token ends is not known here: tokens are to be short-lived.

mod fetch;
mod jwt;
mod keys;

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap},
    path::Path,
    sync::Arc,
    time::SystemTime,
};

use parking_lot::Mutex;
use serde_json::json;
use sha2::{Digest, Sha256};
use url::Url;

use self::{
    fetch::Client,
    jwt::{Claims, Jwt},
    keys::{Keys, Verified},
};
use super::Refusal;
use crate::{
    catalog::{Caller, View},
    config::{ALL_PROVIDERS, OAuthSettings},
    provider::grants::http::{CaFileError, read_ca_file},
};

/// Where the metadata of a protected resource are (RFC 9728 §3), before the path of the resource.
pub const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";
/// How far clocks may differ (RFC 7519 §4.1.4: "a few minutes" at most).
const LEEWAY: f64 = 60.0;
/// Characters of a caller's name: a subject has 255 at most (OpenID Connect Core §2).
const MAX_NAME: usize = 255;
/// After so many more callers those whose tokens have ended are forgotten.
const FORGOTTEN_EVERY: usize = 256;

const NOT_YET: Refusal = Refusal::Invalid("the token is not valid yet");
const EXPIRED: Refusal = Refusal::Invalid("the token has expired");

/// Why an authorization server cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum OAuthError {
    /// The certificates that `[fetch]` of wharf.toml names.
    #[error("[fetch] ca-file: {0}")]
    CaFile(#[from] CaFileError),
    /// Whom to trust.
    #[error("[server.oauth] issuer: {0}")]
    Tls(String),
    /// A URL of the settings.
    #[error("[server.oauth] {0}")]
    Settings(&'static str),
}

/// A protected resource.
pub struct OAuth {
    issuer: String,
    audience: String,
    scopes: Vec<String>,
    views: Vec<(String, View)>,
    /// The paths of the metadata, and the metadata.
    metadata: (Vec<String>, String),
    /// What is the same in every challenge.
    challenge: String,
    keys: Arc<Keys>,
    /// Until when each caller's longest token is good: that of another view of the same subject keeps nothing open.
    until: Mutex<HashMap<Caller, f64>>,
}

impl OAuth {
    /// With these settings, and certificates besides the system's. Blocks: it reads files.
    pub(super) fn new(settings: &OAuthSettings, ca_file: Option<&Path>) -> Result<Self, OAuthError> {
        let authorities = ca_file.map(read_ca_file).transpose()?.unwrap_or_default();
        let client = Client::new(authorities);
        if settings.issuer.starts_with("https:") {
            client.check().map_err(OAuthError::Tls)?;
        }
        let keys = Keys::new(&settings.issuer, settings.jwks.as_deref(), client)?;
        Self::with_keys(settings, keys)
    }

    fn with_keys(settings: &OAuthSettings, keys: Keys) -> Result<Self, OAuthError> {
        let OAuthSettings { issuer, audience, scopes, views, .. } = settings.clone();
        let no_url = OAuthError::Settings("resource: say the URL by which clients reach this host, since `audience` is none");
        let resource = settings.resource().and_then(|text| Url::parse(text).ok()).ok_or(no_url)?;
        let (resource_text, own_path) = (settings.resource().unwrap_or_default(), resource.path().trim_end_matches('/'));
        let mut supported = scopes.clone();
        supported.extend(views.keys().filter(|scope| !scopes.contains(scope)).cloned());
        let mut metadata = json!({
            "resource": resource_text,
            "authorization_servers": [issuer],
            "bearer_methods_supported": ["header"],
            "resource_name": "Wharf",
        });
        if let (Some(fields), false) = (metadata.as_object_mut(), supported.is_empty()) {
            fields.insert("scopes_supported".into(), json!(supported));
        }
        // RFC 9728 §3.1: the well-known part goes before the path.
        let paths = ["", crate::transport::http::PATH, own_path].map(|path| format!("{METADATA_PATH}{path}"));
        let mut challenge = format!(", resource_metadata=\"{}{METADATA_PATH}{own_path}\"", resource.origin().ascii_serialization());
        if !supported.is_empty() {
            challenge += &format!(", scope=\"{}\"", supported.join(" "));
        }
        let view = |names: Vec<String>| match names.iter().any(|name| name == ALL_PROVIDERS) {
            true => View::Everything,
            false => View::Only(Arc::new(names.into_iter().map(Into::into).collect())),
        };
        Ok(Self {
            issuer,
            audience,
            scopes,
            views: views.into_iter().map(|(scope, names)| (scope, view(names))).collect(),
            metadata: (paths.into(), metadata.to_string()),
            challenge,
            keys: Arc::new(keys),
            until: Mutex::default(),
        })
    }

    pub(super) async fn identify(&self, token: &str) -> Result<Caller, Refusal> {
        let digest: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        if let Some(Verified { caller, expires }) = self.keys.verified(&digest) {
            return if has_passed(expires) { Err(EXPIRED) } else { Ok(caller) };
        }
        let jwt = Jwt::parse(token)?;
        let (claims, memory) = self.keys.verify(&jwt).await?;
        let caller = self.judge(&claims)?;
        memory.keep(digest, Verified { caller: caller.clone(), expires: claims.exp });
        self.is_good_until(&caller, claims.exp);
        Ok(caller)
    }

    /// Who the signed claims say it is, if they are for this host and for now.
    fn judge(&self, claims: &Claims) -> Result<Caller, Refusal> {
        if claims.iss != self.issuer {
            return Err(Refusal::Invalid("the token is of another issuer"));
        }
        if !claims.aud.has(&self.audience) {
            return Err(Refusal::Invalid("the token is for another audience"));
        }
        if has_passed(claims.exp) {
            return Err(EXPIRED);
        }
        if claims.nbf.is_some_and(|begins| begins > now() + LEEWAY) {
            return Err(NOT_YET);
        }
        let granted: BTreeSet<&str> = claims.scopes().collect();
        if !self.scopes.iter().all(|scope| granted.contains(&**scope)) {
            return Err(Refusal::Insufficient("the token lacks a scope that this host wants"));
        }
        let view = self.view(&granted).ok_or(Refusal::Insufficient("none of the token's scopes lets see anything here"))?;
        // A client of that name is somebody else than a user of that name (RFC 9068 §5).
        let client = claims.client_id.as_deref().filter(|id| !id.is_empty()).map(|id| Cow::Owned(format!("client:{id}")));
        let name = claims.sub.as_deref().map(Cow::Borrowed).or(client).filter(|name| !name.is_empty());
        let name = name.ok_or(Refusal::Invalid("the token does not say whose it is"))?;
        if name.chars().count() > MAX_NAME || name.chars().any(char::is_control) {
            return Err(Refusal::Invalid("what the token says of whose it is, is no name"));
        }
        Ok(Caller::named(&*name, view))
    }

    /// What these scopes let see; nothing if that is nothing.
    fn view(&self, granted: &BTreeSet<&str>) -> Option<View> {
        if self.views.is_empty() {
            return Some(View::Everything);
        }
        let mut seen = self.views.iter().filter(|(scope, _)| granted.contains(&**scope)).map(|(_, view)| view);
        let first = seen.next()?.clone();
        Some(seen.fold(first, |all, view| match (all, view) {
            (View::Only(all), View::Only(more)) => View::Only(Arc::new(all.union(more).cloned().collect())),
            _ => View::Everything,
        }))
    }

    fn is_good_until(&self, caller: &Caller, expires: f64) {
        let mut until = self.until.lock();
        let known = until.entry(caller.clone()).or_insert(expires);
        *known = known.max(expires);
        if until.len().is_multiple_of(FORGOTTEN_EVERY) {
            until.retain(|_, expires| !has_passed(*expires));
        }
    }

    pub(super) fn is_valid(&self, caller: &Caller) -> bool {
        self.until.lock().get(caller).is_some_and(|expires| !has_passed(*expires))
    }

    pub(super) fn describe(&self) -> String {
        format!("auth: access tokens of {} for {}", self.issuer, self.audience)
    }

    pub(super) async fn prepare(&self) {
        self.keys.prepare().await;
    }

    pub(super) fn metadata(&self, path: &str) -> Option<&str> {
        let (paths, metadata) = &self.metadata;
        paths.iter().any(|known| known == path).then_some(metadata)
    }

    /// The parameters of a challenge. A client that has to ask for a token needs the scopes, and one whose token is fine does, too.
    pub(super) fn challenge(&self, _: &Refusal) -> &str {
        &self.challenge
    }
}

fn has_passed(expires: f64) -> bool {
    expires + LEEWAY <= now()
}

/// NumericDate (RFC 7519 §2).
fn now() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

#[cfg(test)]
mod tests;
