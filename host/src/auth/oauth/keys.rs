//! The keys of the authorization server: found, kept, and asked for again (RFC 8414, RFC 7517).
//!
//! Invariants: who sends tokens cannot make the host ask more often than once a minute; while it is asked, those whose keys are known do not
//! wait; what cannot be used changes nothing, so that the last good keys stay when the server hangs, lies or is gone. What was verified is
//! kept with the keys that verified it, and goes with them.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use arc_swap::ArcSwapOption;
use lru::LruCache;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::Instant;
use url::Url;

use super::{
    OAuthError,
    fetch::Client,
    jwt::{Claims, Jwk, Jwt, Key},
};
use crate::{auth::Refusal, catalog::Caller, config::guarded_url};

/// Between two askings, once there are keys.
pub const PAUSE: Duration = Duration::from_secs(60);
/// And as long as there are none: everybody waits for them.
pub const FIRST_PAUSE: Duration = Duration::from_secs(5);
/// Keys are asked for again after so long, so that one that was withdrawn holds no longer.
pub const MAX_AGE: Duration = Duration::from_secs(600);
/// Keys of a set; more are passed over.
const MAX_KEYS: usize = 64;
/// Keys that a token without `kid` is tried with: each takes some 50 µs.
const MAX_TRIED: usize = 4;
/// Tokens whose verification is remembered.
const REMEMBERED: NonZeroUsize = match NonZeroUsize::new(4096) {
    Some(number) => number,
    None => NonZeroUsize::MIN,
};

const NO_KEY: Refusal = Refusal::Invalid("the token is signed by no key of the authorization server, or in a way that is not taken");
const WRONG: Refusal = Refusal::Invalid("the token's signature is wrong");
const UNKNOWABLE: Refusal = Refusal::Unknowable("the keys of the authorization server cannot be had for now: try again");

/// What a token came to.
#[derive(Clone)]
pub struct Verified {
    pub caller: Caller,
    pub expires: f64,
}

struct Set {
    keys: Vec<Key>,
    fetched: Instant,
    verified: Mutex<LruCache<[u8; 32], Verified>>,
}

impl Set {
    fn is_old(&self) -> bool {
        self.fetched.elapsed() >= MAX_AGE
    }
}

/// Goes with the keys that it is of.
pub struct Memory(Arc<Set>);

impl Memory {
    /// Keeps that this token was verified.
    pub fn keep(&self, digest: [u8; 32], verified: Verified) {
        self.0.verified.lock().put(digest, verified);
    }
}

/// See the module's page.
pub struct Keys {
    issuer: Url,
    /// As tokens have it: URLs are written in more than one way.
    issuer_text: String,
    jwks: Option<Url>,
    client: Client,
    set: ArcSwapOption<Set>,
    /// When it was last asked; held while it is.
    asked: tokio::sync::Mutex<Option<Instant>>,
}

impl Keys {
    pub fn new(issuer: &str, jwks: Option<&str>, client: Client) -> Result<Self, OAuthError> {
        let jwks = jwks.map(guarded_url).transpose().map_err(OAuthError::Settings)?;
        Ok(Self {
            issuer: guarded_url(issuer).map_err(OAuthError::Settings)?,
            issuer_text: issuer.to_owned(),
            jwks,
            client,
            set: ArcSwapOption::empty(),
            asked: tokio::sync::Mutex::default(),
        })
    }

    /// Whether this very token was verified already, by keys that still hold.
    pub fn verified(self: &Arc<Self>, digest: &[u8; 32]) -> Option<Verified> {
        let set = self.set.load();
        let set = set.as_ref()?;
        let verified = set.verified.lock().get(digest).cloned()?;
        if set.is_old() && self.may_be_asked() {
            drop(self.renew());
        }
        Some(verified)
    }

    /// Whether it is not being asked, and was not just now.
    fn may_be_asked(&self) -> bool {
        self.asked.try_lock().is_ok_and(|asked| asked.is_none_or(|asked| asked.elapsed() >= PAUSE))
    }

    /// The claims of a token that one of the keys has signed, and where to remember what they come to.
    pub async fn verify(self: &Arc<Self>, jwt: &Jwt<'_>) -> Result<(Claims, Memory), Refusal> {
        if let Some(set) = self.set.load_full()
            && let Some(claims) = set.verify(jwt)
        {
            if set.is_old() && self.may_be_asked() {
                drop(self.renew());
            }
            return Ok((claims?, Memory(set)));
        }
        // A task of its own: a client that hangs up ends nothing that others wait for.
        let _ = self.renew().await;
        let set = self.set.load_full().ok_or(UNKNOWABLE)?;
        let claims = set.verify(jwt).unwrap_or(Err(NO_KEY))?;
        Ok((claims, Memory(set)))
    }

    /// Asks for them for the first time.
    pub async fn prepare(self: &Arc<Self>) {
        let _ = self.renew().await;
    }

    /// Asks for them, unless that was done just now.
    fn renew(self: &Arc<Self>) -> tokio::task::JoinHandle<()> {
        let this = self.clone();
        tokio::spawn(async move {
            let mut asked = this.asked.lock().await;
            let pause = if this.set.load().is_some() { PAUSE } else { FIRST_PAUSE };
            if asked.is_some_and(|asked| asked.elapsed() < pause) {
                return;
            }
            let found = this.find().await;
            // From its end on: a server that hangs is not asked all the time.
            *asked = Some(Instant::now());
            match found {
                Ok(keys) => {
                    let verified = Mutex::new(LruCache::new(REMEMBERED));
                    this.set.store(Some(Arc::new(Set { keys, fetched: Instant::now(), verified })));
                }
                Err(reason) if this.set.load().is_some() => {
                    tracing::warn!("the keys of {} stay as they were: {reason}", this.issuer_text);
                }
                Err(reason) => tracing::warn!("there are no keys of {}, and so nobody is let in: {reason}", this.issuer_text),
            }
        })
    }

    async fn find(&self) -> Result<Vec<Key>, String> {
        let jwks = match &self.jwks {
            Some(jwks) => jwks.clone(),
            None => self.published().await?,
        };
        keys(&self.client.get(&jwks).await?).map_err(|reason| format!("{jwks}: {reason}"))
    }

    /// Where the keys are, by the first metadata that are the issuer's own.
    async fn published(&self) -> Result<Url, String> {
        let mut reasons = Vec::new();
        for metadata in self.metadata_urls() {
            match self.client.get(&metadata).await.and_then(|said| self.jwks_of(&said).map_err(|reason| format!("{metadata}: {reason}"))) {
                Ok(jwks) => return Ok(jwks),
                Err(reason) => reasons.push(reason),
            }
        }
        Err(reasons.join("; "))
    }

    /// RFC 8414 §3.1, and OpenID Connect Discovery §4 (as MCP, Authorization, "Authorization Server Metadata Discovery" has them).
    fn metadata_urls(&self) -> Vec<Url> {
        let path = self.issuer.path().trim_end_matches('/');
        let mut paths = vec![format!("/.well-known/oauth-authorization-server{path}"), format!("{path}/.well-known/openid-configuration")];
        if !path.is_empty() {
            paths.insert(1, format!("/.well-known/openid-configuration{path}"));
        }
        let at = |path: String| {
            let mut url = self.issuer.clone();
            url.set_path(&path);
            url
        };
        paths.into_iter().map(at).collect()
    }

    fn jwks_of(&self, metadata: &[u8]) -> Result<Url, String> {
        #[derive(Deserialize)]
        struct Metadata {
            issuer: String,
            jwks_uri: String,
        }
        let Metadata { issuer, jwks_uri } = serde_json::from_slice(metadata).map_err(|_| "it is no metadata of an authorization server")?;
        // RFC 8414 §3.3.
        if issuer != self.issuer_text {
            return Err("it is of another issuer than wharf.toml has".into());
        }
        let jwks = guarded_url(&jwks_uri).map_err(|reason| format!("its jwks_uri: {reason}"))?;
        if self.issuer.scheme() == "https" && jwks.scheme() != "https" {
            return Err("its jwks_uri does not begin with https://".into());
        }
        Ok(jwks)
    }
}

impl Set {
    /// Nothing, if there is no key that it may have been signed by.
    fn verify(&self, jwt: &Jwt<'_>) -> Option<Result<Claims, Refusal>> {
        let mut tried = self.keys.iter().filter(|key| key.may_be(&jwt.header)).take(MAX_TRIED).peekable();
        tried.peek()?;
        match tried.find_map(|key| jwt.verified_by(key)) {
            Some(claims) => Some(claims),
            // Without a name it may be a key that has come since.
            None if jwt.header.kid.is_none() => None,
            None => Some(Err(WRONG)),
        }
    }
}

/// The keys of a set that can be used; those of other kinds, secret ones among them, are passed over (RFC 7517 §5).
fn keys(bytes: &[u8]) -> Result<Vec<Key>, String> {
    #[derive(Deserialize)]
    struct Jwks {
        keys: Vec<Value>,
    }
    let Jwks { keys } = serde_json::from_slice(bytes).map_err(|_| "it is no set of keys")?;
    let keys = keys.into_iter().filter_map(|key| Key::of(&serde_json::from_value::<Jwk>(key).ok()?));
    let keys: Vec<Key> = keys.take(MAX_KEYS).collect();
    if keys.is_empty() {
        return Err("it has no public key for signatures of a kind that is taken".into());
    }
    Ok(keys)
}
