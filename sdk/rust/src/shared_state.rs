//! Values that the host itself lists and serves, as `wharf://state/<provider>/<key>`, and announces when they change: read at once, whatever
//! the provider is doing. They end with the instance.

pub use crate::bindings::imports::wharf::provider::shared_state::SharedValue;
use crate::{error::Result, host, reading::Body};

impl SharedValue {
    /// Text is `application/json` unless said.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Body::Text(text.into()))
    }

    /// Bytes are `application/octet-stream` unless said.
    pub fn blob(bytes: impl Into<Vec<u8>>) -> Self {
        Self::new(Body::Blob(bytes.into()))
    }

    fn new(body: Body) -> Self {
        Self { title: None, description: None, mime_type: None, annotations: None, body }
    }

    /// Name for people. Unless said: the key.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// What it is.
    pub fn describe(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Its media type.
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }
}

/// Publishes or replaces the value of a key of 1 to 1024 bytes. `denied`: more than 1024 keys or 16 MiB.
pub fn set(key: &str, value: &SharedValue) -> Result<()> {
    host::share(key, value)
}

/// Fine if there is none.
pub fn remove(key: &str) {
    host::unshare(key);
}
