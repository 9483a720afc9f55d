//! What the answers of a server have in common: what it says of itself, written once when it is made, and how long they may be used.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};

use super::{Info, era};

/// What is the same in all answers, as fields of a result.
pub(super) struct Texts {
    /// Of `initialize`, after the version.
    pub initialize: String,
    /// Of `server/discover`.
    pub discover: String,
    /// Of the `_meta` of every modern result.
    pub server: Arc<str>,
}

impl Texts {
    pub fn new(info: Info) -> Self {
        let Info { name, title, version, instructions } = info;
        let mut server = json!({ "name": name, "version": version });
        if let (Some(title), Some(server)) = (title, server.as_object_mut()) {
            server.insert("title".into(), title.into());
        }
        // Some clients drop a whole server whose tools or prompts they cannot list, so both are there, and empty.
        let capabilities =
            json!({ "resources": { "subscribe": true, "listChanged": true }, "completions": {}, "tools": {}, "prompts": {} });
        let instructions = instructions.map(|text| format!(",\"instructions\":{}", Value::from(text))).unwrap_or_default();
        Self {
            initialize: format!("\"capabilities\":{capabilities},\"serverInfo\":{server}{instructions}"),
            discover: format!("\"supportedVersions\":{},\"capabilities\":{capabilities}{instructions}", json!([era::MODERN])),
            server: format!("\"io.modelcontextprotocol/serverInfo\":{server}").into(),
        }
    }
}

/// How long a modern client may use an answer, and whether it may share it (2026-07-28, Caching).
pub(super) struct Cache {
    pub reuse: Duration,
    pub scope: &'static str,
}

impl Cache {
    /// Private, and for so long.
    pub fn private(reuse: Duration) -> Self {
        Self::of(reuse, false)
    }

    pub fn of(reuse: Duration, public: bool) -> Self {
        Self { reuse, scope: if public { "public" } else { "private" } }
    }
}
