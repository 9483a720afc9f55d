//! The merged list with who owns what, and what a resource holds: for the page.

use std::sync::Arc;

use axum::{
    body::Body,
    http::{Response, StatusCode},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::{Admin, answer, caller};
use crate::{
    catalog::{Answered, ReadError, Snapshot},
    provider::{self, Contents, Error},
};

/// Who lists this, and whom that goes before.
fn owner<'a>(mut listers: impl Iterator<Item = &'a Arc<str>>) -> (Option<&'a str>, Vec<&'a str>) {
    (listers.next().map(|name| &**name), listers.map(|name| &**name).collect())
}

impl Admin {
    pub(super) async fn resources(&self) -> Response<Body> {
        // Without a cursor it cannot be refused; what it waits for is in the snapshot.
        let _ = self.catalog.all_resources(&caller(), None).await;
        answer::json(StatusCode::OK, &listed(&self.catalog.snapshot()))
    }

    pub(super) async fn read(&self, uri: Option<&str>) -> Response<Body> {
        let Some(uri) = uri else {
            return refused(StatusCode::BAD_REQUEST, "invalid-uri", "name the resource: /read?uri=…", None, None);
        };
        match self.catalog.read(&caller(), uri).await {
            Ok(Answered { contents, reuse, .. }) => {
                let ttl = u64::try_from(reuse.as_millis()).unwrap_or(u64::MAX);
                let contents: Vec<_> = contents.iter().map(of_contents).collect();
                answer::json(StatusCode::OK, &json!({ "uri": uri, "ttlMs": ttl, "contents": contents }))
            }
            Err(error @ ReadError::NotFound) => refused(StatusCode::NOT_FOUND, "not-found", &error.to_string(), None, None),
            Err(error @ ReadError::InvalidUri(_)) => refused(StatusCode::BAD_REQUEST, "invalid-uri", &error.to_string(), None, None),
            Err(ReadError::Provider { provider, error }) => {
                let (status, retry_after) = match &error {
                    Error::Unavailable { retry_after, .. } => (StatusCode::SERVICE_UNAVAILABLE, *retry_after),
                    _ => (StatusCode::BAD_GATEWAY, None),
                };
                let retry_after = retry_after.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
                refused(status, error.kind(), &error.to_string(), Some(&provider), retry_after)
            }
        }
    }
}

fn refused(status: StatusCode, kind: &str, message: &str, provider: Option<&str>, retry_after: Option<u64>) -> Response<Body> {
    let error = json!({ "kind": kind, "message": message, "provider": provider, "retryAfterMs": retry_after });
    answer::json(status, &json!({ "error": error }))
}

fn of_contents(contents: &Contents) -> Value {
    let mut value = json!({ "uri": contents.uri.as_deref(), "mimeType": contents.mime_type });
    match &contents.body {
        provider::Body::Text(text) => value["text"] = text.as_str().into(),
        provider::Body::Blob(bytes) => value["blob"] = BASE64_STANDARD.encode(bytes).into(),
    }
    value
}

fn listed(snapshot: &Snapshot) -> Value {
    let resources = snapshot.merged.resources.iter().map(|info| {
        let (provider, shadowed) = owner(snapshot.listers(&info.uri));
        json!({
            "uri": &*info.uri, "name": info.name, "title": info.title, "description": info.description, "mimeType": info.mime_type,
            "size": info.size, "provider": provider, "shadowed": shadowed,
        })
    });
    let templates = snapshot.merged.templates.iter().map(|info| {
        let (provider, shadowed) = owner(snapshot.template_listers(&info.uri_template));
        json!({
            "uriTemplate": &*info.uri_template, "name": info.name, "title": info.title, "description": info.description,
            "mimeType": info.mime_type, "provider": provider, "shadowed": shadowed,
        })
    });
    json!({
        "catalog": snapshot.number, "resources": resources.collect::<Vec<_>>(), "templates": templates.collect::<Vec<_>>(),
    })
}
