//! What a resource holds at one moment.

pub use crate::bindings::types::{Body, Contents, Icon, IconTheme, Reuse, Role};

/// What a resource holds. `"text"`, a `String`, bytes (`Vec<u8>`), [`Contents`] and several of them become one by themselves: a handler
/// gives `Ok("text")`.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// `None`: unchanged.
    pub(crate) contents: Option<Vec<Contents>>,
    pub(crate) version: Option<String>,
    pub(crate) reuse: Option<Reuse>,
}

impl Reading {
    /// One or more contents: text, bytes, or [`Contents`] in a list; at most 16 MiB together.
    pub fn new(contents: impl Into<Self>) -> Self {
        contents.into()
    }

    /// The content still is of the version that `if_none_match` named.
    pub fn unchanged() -> Self {
        Self { contents: None, version: None, reuse: None }
    }

    /// Any string that differs whenever the contents differ, for a live provider within the life of its instance, else always. At most
    /// 1024 bytes. If it is the one that the request names in `if_none_match`, the contents are not sent again.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// The host may answer from it for so many milliseconds, or until it is announced as changed. Unless said, it asks each time.
    pub fn reuse_ms(mut self, ms: u32) -> Self {
        self.reuse = Some(Reuse::ForMs(ms));
        self
    }

    /// The host may answer from it until it is announced as changed, while somebody is subscribed.
    pub fn until_announced(mut self) -> Self {
        self.reuse = Some(Reuse::UntilAnnounced);
        self
    }
}

impl Contents {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Body::Text(text.into()).into()
    }

    /// Text that is bytes already. Bytes that are not UTF-8 make the read fail.
    pub fn utf8(bytes: impl Into<Vec<u8>>) -> Self {
        Body::Utf8(bytes.into()).into()
    }

    /// Anything that is no text.
    pub fn blob(bytes: impl Into<Vec<u8>>) -> Self {
        Body::Blob(bytes.into()).into()
    }

    /// A value as JSON, of the type `application/json`.
    #[cfg(feature = "json")]
    pub fn json(value: &impl serde::Serialize) -> crate::Result<Self> {
        Ok(Self::utf8(serde_json::to_vec(value)?).mime_type("application/json"))
    }

    /// The absolute URI of a part of what was asked for. Unless said: the URI asked for.
    pub fn uri(mut self, uri: impl Into<String>) -> Self {
        self.uri = Some(uri.into());
        self
    }

    /// Unless said: what the resource or template says.
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// A JSON object, as text, for MCP's `_meta`.
    pub fn meta(mut self, json: impl Into<String>) -> Self {
        self.meta_json = Some(json.into());
        self
    }
}

/// A value as JSON, of the type `application/json`.
#[cfg(feature = "json")]
pub fn json(value: &impl serde::Serialize) -> crate::Result<Reading> {
    Contents::json(value).map(Into::into)
}

impl From<Body> for Contents {
    fn from(body: Body) -> Self {
        Self { uri: None, mime_type: None, body, meta_json: None }
    }
}

impl From<Vec<Contents>> for Reading {
    fn from(contents: Vec<Contents>) -> Self {
        Self { contents: Some(contents), version: None, reuse: None }
    }
}

impl<const N: usize> From<[Contents; N]> for Reading {
    fn from(contents: [Contents; N]) -> Self {
        Vec::from(contents).into()
    }
}

impl From<Contents> for Reading {
    fn from(contents: Contents) -> Self {
        vec![contents].into()
    }
}

impl From<Body> for Reading {
    fn from(body: Body) -> Self {
        Contents::from(body).into()
    }
}

impl From<String> for Reading {
    fn from(text: String) -> Self {
        Contents::text(text).into()
    }
}

impl From<&str> for Reading {
    fn from(text: &str) -> Self {
        Contents::text(text).into()
    }
}

impl From<Vec<u8>> for Reading {
    fn from(bytes: Vec<u8>) -> Self {
        Contents::blob(bytes).into()
    }
}

impl From<&[u8]> for Reading {
    fn from(bytes: &[u8]) -> Self {
        Contents::blob(bytes).into()
    }
}

impl Icon {
    /// An `https:` URL, or a `data:` URI with the image in base64.
    pub fn new(src: impl Into<String>) -> Self {
        Self { src: src.into(), mime_type: None, sizes: None, theme: None }
    }

    /// Overrides the type that the server of the image gives.
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// A size it is good for: `48x48`, or `any`. Say it once for each.
    pub fn size(mut self, size: impl Into<String>) -> Self {
        self.sizes.get_or_insert_default().push(size.into());
        self
    }

    /// The background it is drawn for.
    pub fn theme(mut self, theme: IconTheme) -> Self {
        self.theme = Some(theme);
        self
    }
}

/// Suggestions for a variable, best first. A list of strings becomes one by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestions {
    pub(crate) values: Vec<String>,
    pub(crate) total: usize,
}

impl Suggestions {
    /// Those that begin with what is typed.
    pub fn beginning_with<T: Into<String> + AsRef<str>>(typed: &str, all: impl IntoIterator<Item = T>) -> Self {
        all.into_iter().filter(|value| value.as_ref().starts_with(typed)).collect()
    }
}

impl<T: Into<String>> FromIterator<T> for Suggestions {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let values: Vec<String> = values.into_iter().map(Into::into).collect();
        Self { total: values.len(), values }
    }
}

impl<T: Into<String>> From<Vec<T>> for Suggestions {
    fn from(values: Vec<T>) -> Self {
        values.into_iter().collect()
    }
}
