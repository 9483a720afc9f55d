//! JSON Web Tokens, verified (RFC 7515, RFC 7518, RFC 7519, RFC 8037; RFC 8725 for what goes wrong).
//!
//! Invariants: what an algorithm is follows from the key, which is a public one; the token only says which of those that belong to it was used.
//! So there is no `none`, and no HMAC with a public key as its secret: neither has a key here. What a header marks as critical is not
//! understood, and refused; what is there twice is refused.
//!
//! The signatures are ring's, which the host has its TLS by. The crates for this would bring a second implementation of each (RSA among them),
//! or C that takes CMake.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use ring::signature::{self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey};
use serde::Deserialize;
use serde_json::Value;

use crate::auth::Refusal;

/// `typ` of access tokens (RFC 9068 §2.1, RFC 7519 §5.1), without `application/`. Other kinds of tokens, signed by the same keys, are none.
const TYPES: [&str; 2] = ["at+jwt", "jwt"];
const MALFORMED: Refusal = Refusal::Invalid("the token is no JSON Web Token");

/// A token that has been taken apart, and not been verified.
pub struct Jwt<'a> {
    pub header: Header,
    signed: &'a str,
    payload: &'a str,
    signature: Vec<u8>,
}

/// What its header says.
#[derive(Deserialize)]
pub struct Header {
    pub alg: String,
    pub kid: Option<String>,
    typ: Option<String>,
    crit: Option<Value>,
}

/// What is signed. Its numbers are NumericDates: seconds since 1970, with a fraction or without.
#[derive(Debug, Deserialize)]
pub struct Claims {
    pub iss: String,
    pub aud: Texts,
    pub exp: f64,
    pub nbf: Option<f64>,
    pub sub: Option<String>,
    pub client_id: Option<String>,
    /// RFC 9068 §2.2.3.
    scope: Option<String>,
    /// What other servers have in its place.
    scp: Option<Texts>,
}

/// One text or several.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Texts {
    One(String),
    Many(Vec<String>),
}

impl Texts {
    pub fn has(&self, text: &str) -> bool {
        self.all().any(|own| own == text)
    }

    fn all(&self) -> impl Iterator<Item = &str> {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Many(texts) => &texts[..],
        }
        .iter()
        .map(String::as_str)
    }
}

impl Claims {
    pub fn scopes(&self) -> impl Iterator<Item = &str> {
        let others = self.scp.iter().flat_map(Texts::all);
        self.scope.as_deref().into_iter().chain(others).flat_map(|scopes| scopes.split(' ')).filter(|scope| !scope.is_empty())
    }
}

impl<'a> Jwt<'a> {
    /// Takes a token apart.
    pub fn parse(token: &'a str) -> Result<Self, Refusal> {
        let (signed, signature) = token.rsplit_once('.').ok_or(MALFORMED)?;
        let (header, payload) = signed.split_once('.').ok_or(MALFORMED)?;
        // Five parts are an encrypted token.
        if payload.contains('.') {
            return Err(Refusal::Invalid("the token is encrypted, which is not understood"));
        }
        let header: Header = serde_json::from_slice(&decode(header)?).map_err(|_| MALFORMED)?;
        if header.crit.is_some() {
            return Err(Refusal::Invalid("the token's header has something critical that is not understood"));
        }
        let typ = header.typ.as_deref().map(str::to_ascii_lowercase);
        if typ.is_some_and(|typ| !TYPES.contains(&typ.strip_prefix("application/").unwrap_or(&typ))) {
            return Err(Refusal::Invalid("the token is no access token: its typ is another"));
        }
        Ok(Self { header, signed, payload, signature: decode(signature)? })
    }

    /// Its claims, if this key has signed them.
    pub fn verified_by(&self, key: &Key) -> Option<Result<Claims, Refusal>> {
        let wrong = |_| Refusal::Invalid("the token has not the claims that it needs: iss, aud and exp");
        let is_signed = key.has_signed(&self.header.alg, self.signed.as_bytes(), &self.signature);
        is_signed.then(|| serde_json::from_slice(&decode(self.payload)?).map_err(wrong))
    }
}

fn decode(part: &str) -> Result<Vec<u8>, Refusal> {
    BASE64_URL_SAFE_NO_PAD.decode(part).map_err(|_| MALFORMED)
}

/// A public key of the authorization server.
#[derive(Debug, PartialEq, Eq)]
pub struct Key {
    kid: Option<String>,
    /// The one algorithm it is for, if it says so.
    alg: Option<String>,
    material: Material,
}

#[derive(Debug, PartialEq, Eq)]
enum Material {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// A key as a set has it (RFC 7517 §4).
#[derive(Deserialize)]
pub struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    used_for: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl Key {
    /// The key, if it is a public one, for signatures, of a kind that is known.
    pub fn of(jwk: &Jwk) -> Option<Self> {
        if jwk.used_for.as_deref().is_some_and(|used_for| used_for != "sig") {
            return None;
        }
        let bytes = |text: &Option<String>| BASE64_URL_SAFE_NO_PAD.decode(text.as_deref()?.trim_end_matches('=')).ok();
        // Uncompressed (SEC 1 §2.3.3).
        let point = |size: usize| {
            let (x, y) = (bytes(&jwk.x)?, bytes(&jwk.y)?);
            (x.len() == size && y.len() == size).then(|| [&[4][..], &x, &y].concat())
        };
        let material = match (&*jwk.kty, jwk.crv.as_deref()) {
            ("RSA", _) => {
                let number = |bytes: Vec<u8>| bytes.into_iter().skip_while(|byte| *byte == 0).collect();
                Material::Rsa { n: number(bytes(&jwk.n)?), e: number(bytes(&jwk.e)?) }
            }
            ("EC", Some("P-256")) => Material::P256(point(32)?),
            ("EC", Some("P-384")) => Material::P384(point(48)?),
            ("OKP", Some("Ed25519")) => Material::Ed25519(bytes(&jwk.x).filter(|x| x.len() == 32)?),
            _ => return None,
        };
        Some(Self { kid: jwk.kid.clone(), alg: jwk.alg.clone(), material })
    }

    /// Whether a token that says this may have been signed by it.
    pub fn may_be(&self, header: &Header) -> bool {
        let named = header.kid.is_none() || header.kid == self.kid;
        named && self.alg.as_ref().is_none_or(|alg| *alg == header.alg) && self.material.knows(&header.alg)
    }

    fn has_signed(&self, alg: &str, message: &[u8], signature: &[u8]) -> bool {
        let plain = |algorithm: &'static dyn signature::VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(algorithm, key).verify(message, signature).is_ok()
        };
        match (&self.material, alg) {
            // RFC 7518 §3.3: 2048 bits or more.
            (Material::Rsa { n, e }, alg) => {
                rsa(alg).is_some_and(|parameters| RsaPublicKeyComponents { n, e }.verify(parameters, message, signature).is_ok())
            }
            (Material::P256(point), "ES256") => plain(&signature::ECDSA_P256_SHA256_FIXED, point),
            (Material::P384(point), "ES384") => plain(&signature::ECDSA_P384_SHA384_FIXED, point),
            // RFC 8037 §3.1, and RFC 9864 §2.2 for the other name.
            (Material::Ed25519(x), "EdDSA" | "Ed25519") => plain(&signature::ED25519, x),
            _ => false,
        }
    }
}

impl Material {
    fn knows(&self, alg: &str) -> bool {
        match self {
            Self::Rsa { .. } => rsa(alg).is_some(),
            Self::P256(_) => alg == "ES256",
            Self::P384(_) => alg == "ES384",
            Self::Ed25519(_) => matches!(alg, "EdDSA" | "Ed25519"),
        }
    }
}

fn rsa(alg: &str) -> Option<&'static RsaParameters> {
    Some(match alg {
        "RS256" => &signature::RSA_PKCS1_2048_8192_SHA256,
        "RS384" => &signature::RSA_PKCS1_2048_8192_SHA384,
        "RS512" => &signature::RSA_PKCS1_2048_8192_SHA512,
        "PS256" => &signature::RSA_PSS_2048_8192_SHA256,
        "PS384" => &signature::RSA_PSS_2048_8192_SHA384,
        "PS512" => &signature::RSA_PSS_2048_8192_SHA512,
        _ => return None,
    })
}
