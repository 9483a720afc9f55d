//! `[server] otlp…`: where spans go.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Deserializer, de::Error};

use super::grants::Secret;

/// Where OTLP/HTTP puts traces below a collector's URL.
const TRACES: &str = "/v1/traces";

/// A collector's URL: OTLP over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// `https`, else `http`.
    pub https: bool,
    /// A name, or an address without brackets.
    pub host: String,
    /// The scheme's own, where the URL has none.
    pub port: u16,
    /// Host and port as the header Host has them.
    pub authority: String,
    /// Where traces are posted.
    pub path: String,
}

impl Endpoint {
    /// That of a URL, such as `http://127.0.0.1:4318`; `/v1/traces` is added if it is not there (OpenTelemetry Protocol Exporter,
    /// "Endpoint URLs for OTLP/HTTP").
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("{text:?} is no collector's URL: {why}; write \"http://127.0.0.1:4318\"");
        let url = url::Url::parse(text).map_err(|error| wrong(&error.to_string()))?;
        let https = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return Err(wrong("it is neither http: nor https:")),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err("a collector's URL has no user and no password: send them by otlp-headers".into());
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(wrong("it has a query or a fragment"));
        }
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else { return Err(wrong("it has no host")) };
        let authority = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let path = url.path().trim_end_matches('/');
        let path = if path.ends_with(TRACES) { path.to_owned() } else { format!("{path}{TRACES}") };
        Ok(Self { https, host: host.trim_matches(['[', ']']).to_owned(), port, authority, path })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", if self.https { "https" } else { "http" }, self.authority, self.path)
    }
}

/// What a header of `otlp-headers` says: this text, or what is somewhere else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OtlpHeader {
    /// This.
    Text(String),
    /// What is there.
    Secret(Secret),
}

/// The same as it is written.
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
enum Written {
    Text(String),
    Elsewhere(Elsewhere),
}

/// In a variable of the host's environment, or in a file.
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Elsewhere {
    Env(String),
    File(PathBuf),
}

/// As JSON schema has them.
pub(super) type HeadersSchema = BTreeMap<String, WrittenSchema>;

/// See [`OtlpHeader`].
#[derive(schemars::JsonSchema)]
#[schemars(transparent)]
#[allow(dead_code)]
pub(super) struct WrittenSchema(Written);

pub(super) fn endpoint<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Endpoint>, D::Error> {
    Endpoint::parse(&String::deserialize(deserializer)?).map(Some).map_err(D::Error::custom)
}

pub(super) fn ratio<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let ratio = f64::deserialize(deserializer)?;
    if !(0.0..=1.0).contains(&ratio) {
        return Err(D::Error::custom("a ratio is from 0.0 to 1.0"));
    }
    Ok(Some(ratio))
}

pub(super) fn headers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, OtlpHeader>, D::Error> {
    let wrong = |_| D::Error::custom("a header is text, { env = \"NAME\" } or { file = \"path\" }");
    let written = BTreeMap::<String, Written>::deserialize(deserializer).map_err(wrong)?;
    let header = |written| match written {
        Written::Text(text) => OtlpHeader::Text(text),
        Written::Elsewhere(Elsewhere::Env(name)) => OtlpHeader::Secret(Secret::Env(name)),
        Written::Elsewhere(Elsewhere::File(path)) => OtlpHeader::Secret(Secret::File(path)),
    };
    Ok(written.into_iter().map(|(name, written)| (name, header(written))).collect())
}

/// With paths from this folder on.
pub(super) fn below(headers: &mut BTreeMap<String, OtlpHeader>, folder: &Path) {
    for header in headers.values_mut() {
        if let OtlpHeader::Secret(Secret::File(path)) = header {
            *path = folder.join(&*path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        Endpoint::parse(text).map_or_else(|error| error, |endpoint| endpoint.to_string())
    }

    #[test]
    fn the_path_of_traces_is_added_once() {
        assert_eq!(shown("http://127.0.0.1:4318"), "http://127.0.0.1:4318/v1/traces");
        assert_eq!(shown("https://c.example/otlp/"), "https://c.example/otlp/v1/traces");
        assert_eq!(shown("https://c.example/v1/traces"), "https://c.example/v1/traces");
        let six = Endpoint::parse("http://[::1]:4318").unwrap();
        assert_eq!((&*six.host, six.port, &*six.authority), ("::1", 4318, "[::1]:4318"));
        assert_eq!(Endpoint::parse("https://c.example").unwrap().port, 443);
    }

    #[test]
    fn what_is_no_collectors_url_says_why() {
        for (wrong, why) in [
            ("127.0.0.1:4318", "write \"http://127.0.0.1:4318\""),
            ("grpc://c.example:4317", "neither http: nor https:"),
            ("https://user:secret@c.example", "otlp-headers"),
            ("https://c.example/?key=1", "query"),
        ] {
            let error = Endpoint::parse(wrong).unwrap_err();
            assert!(error.contains(why), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
