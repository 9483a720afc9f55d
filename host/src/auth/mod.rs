//! Who is let in over HTTP: bearer tokens of a file ([`tokens`]), or access tokens of an authorization server ([`oauth`]).
//!
//! Invariants: a token comes in the `Authorization` header and nowhere else (RFC 6750 §2.1), never in a URL, which ends up in logs; no error,
//! log line or event has a token in it, or a part of one; what cannot be told to be valid is not.
//!
//! To ask who somebody is takes no lock where tokens come from a file, and where they are JSON Web Tokens, a short one on what was verified
//! before.

mod bearer;
pub mod oauth;
pub mod tokens;

use std::path::{Path, PathBuf};

use axum::http::{HeaderMap, HeaderValue, StatusCode};

use self::{
    oauth::{OAuth, OAuthError},
    tokens::{Tokens, TokensError},
};
use crate::{
    catalog::{Caller, View},
    config::{Auth, Config},
};

/// Why there can be no [`Authority`].
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    /// The file of tokens.
    #[error(transparent)]
    Tokens(#[from] TokensError),
    /// What is needed to ask an authorization server.
    #[error(transparent)]
    OAuth(#[from] OAuthError),
}

/// Why somebody is not let in. The reasons are for people, and have nothing in them of what was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// There is no token.
    Missing,
    /// What there is, is none, or more than one.
    Malformed(&'static str),
    /// It is none of ours, or no more.
    Invalid(&'static str),
    /// It is one, and does not do for this.
    Insufficient(&'static str),
    /// Nobody can tell for now.
    Unknowable(&'static str),
}

impl Refusal {
    /// RFC 6750 §3.1.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Missing | Self::Invalid(_) => StatusCode::UNAUTHORIZED,
            Self::Malformed(_) => StatusCode::BAD_REQUEST,
            Self::Insufficient(_) => StatusCode::FORBIDDEN,
            Self::Unknowable(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// For people.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Missing => "this host wants a token: send the header `Authorization: Bearer TOKEN`",
            Self::Malformed(reason) | Self::Invalid(reason) | Self::Insufficient(reason) | Self::Unknowable(reason) => reason,
        }
    }

    /// RFC 6750 §3.1. Who sent no token is told of no error.
    fn error(&self) -> Option<&'static str> {
        match self {
            Self::Missing | Self::Unknowable(_) => None,
            Self::Malformed(_) => Some("invalid_request"),
            Self::Invalid(_) => Some("invalid_token"),
            Self::Insufficient(_) => Some("insufficient_scope"),
        }
    }
}

/// What tells who somebody is.
pub struct Authority(Kind);

enum Kind {
    Tokens(Tokens),
    OAuth(Box<OAuth>),
}

impl Authority {
    /// As this wharf.toml has it; none where nothing has to be proven. `folder` is where the file of tokens is, if wharf.toml does not say.
    /// Blocks.
    ///
    /// # Errors
    /// [`AuthError`].
    pub fn of(config: &Config, folder: &Path) -> Result<Option<Self>, AuthError> {
        match config.server.auth {
            None | Some(Auth::None) => Ok(None),
            Some(Auth::Tokens) => Ok(Some(Self::of_tokens(config.server.tokens_file(folder))?)),
            Some(Auth::OAuth) => match &config.server.oauth {
                Some(settings) => Ok(Some(Self(Kind::OAuth(OAuth::new(settings, config.fetch.ca_file.as_deref())?.into())))),
                // The configuration is not read without it.
                None => Ok(None),
            },
        }
    }

    /// By the tokens of this file, which need not be there yet. Blocks.
    ///
    /// # Errors
    /// [`TokensError`].
    pub fn of_tokens(file: PathBuf) -> Result<Self, TokensError> {
        Ok(Self(Kind::Tokens(Tokens::read(file)?)))
    }

    /// Who sent a request with these headers. Waits only where the keys of an authorization server have to be asked for, which is bounded.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn identify(&self, headers: &HeaderMap) -> Result<Caller, Refusal> {
        let token = bearer::token(headers)?;
        match &self.0 {
            Kind::Tokens(tokens) => tokens.identify(token),
            Kind::OAuth(oauth) => oauth.identify(token).await,
        }
    }

    /// Whether whoever sent these headers may see what the host says of itself, which is about all providers.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn admit_operator(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        match self.identify(headers).await?.view() {
            View::Everything => Ok(()),
            View::Only(_) => Err(Refusal::Insufficient("this is about all providers, and the token sees some only")),
        }
    }

    /// Whether it is still let in: by a token of its that has neither been revoked nor expired. Who has no name never came by one.
    pub fn is_valid(&self, caller: &Caller) -> bool {
        let Some(name) = caller.name() else { return true };
        match &self.0 {
            Kind::Tokens(tokens) => tokens.is_valid(name, caller),
            Kind::OAuth(oauth) => oauth.is_valid(caller),
        }
    }

    /// The file that is to be followed.
    pub fn file(&self) -> Option<&Path> {
        match &self.0 {
            Kind::Tokens(tokens) => Some(tokens.path()),
            Kind::OAuth(_) => None,
        }
    }

    /// Reads that file again; those it lets in hold from now on. Blocks. Gives those that were let in and are not any more, at least not by
    /// the same token, or nothing if all is as it was.
    ///
    /// # Errors
    /// [`TokensError`]: then all stays as it was.
    pub fn read_again(&self) -> Result<Option<Vec<Caller>>, TokensError> {
        match &self.0 {
            Kind::Tokens(tokens) => tokens.read_again(),
            Kind::OAuth(_) => Ok(None),
        }
    }

    /// How it lets in, for the person who starts the host.
    pub fn describe(&self) -> String {
        match &self.0 {
            Kind::Tokens(tokens) => tokens.describe(),
            Kind::OAuth(oauth) => oauth.describe(),
        }
    }

    /// What is to be known before the first request, such as keys. A failure is logged.
    pub async fn prepare(&self) {
        if let Kind::OAuth(oauth) = &self.0 {
            oauth.prepare().await;
        }
    }

    /// The metadata of the protected resource (RFC 9728 §3.2), if this is its path.
    pub fn metadata(&self, path: &str) -> Option<&str> {
        match &self.0 {
            Kind::OAuth(oauth) => oauth.metadata(path),
            Kind::Tokens(_) => None,
        }
    }

    /// `WWW-Authenticate` for a refusal (RFC 6750 §3, RFC 9728 §5.1).
    pub fn challenge(&self, refusal: &Refusal) -> Option<HeaderValue> {
        if matches!(refusal, Refusal::Unknowable(_)) {
            return None;
        }
        let mut challenge = String::from("Bearer realm=\"wharf\"");
        if let Kind::OAuth(oauth) = &self.0 {
            challenge += oauth.challenge(refusal);
        }
        if let Some(error) = refusal.error() {
            challenge += &format!(", error=\"{error}\", error_description=\"{}\"", described(refusal.reason()));
        }
        HeaderValue::try_from(challenge).ok()
    }
}

/// A reason in the characters that a challenge may have (RFC 6750 §3).
fn described(reason: &str) -> String {
    reason.chars().map(|c| if matches!(c, ' '..='!' | '#'..='[' | ']'..='~') { c } else { '?' }).collect()
}
