//! Values of the contract ↔ those of the host. What the WIT says is dropped with a warning is dropped here; what it says makes a call
//! fail, fails here.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use serde_json::{Map, Value};

use super::{
    bindings::{
        exports::wharf::provider::{completions as guest_completions, resources as guest_resources, webhook_handler as guest_webhooks},
        wharf::provider::{shared_state as guest_shared, types as guest},
    },
    limits::MAX_ANSWER_BYTES,
    log::GuestLog,
};
use crate::{
    provider::{
        Annotations, Body, Completion, CompletionRequest, Contents, Error, Icon, IconTheme, ReadRequest, Reading, ResourceInfo,
        ResourcePage, Reuse, Role, TemplateInfo, TemplateMatch, WebhookRequest, WebhookResponse, grants::Secrets,
        shared_state::SharedValue,
    },
    uri,
};

/// Bytes of a `version` (`reading.version` in the WIT).
const MAX_VERSION_BYTES: usize = 1024;
/// Bytes of the reason in an error. More is no reason any more.
const MAX_REASON_BYTES: usize = 4096;
/// 2^53: below it every whole number has an exact f64 (rules at the head of the WIT package).
const NUMBERS_BELOW: f64 = 9_007_199_254_740_992.0;
/// Characters of a faulty value that a warning shows.
const SHOWN: usize = 200;

/// Takes values from one guest, and tells its log what was wrong with them.
pub(super) struct Taker<'a> {
    pub log: &'a GuestLog,
}

/// Without what is secret.
pub(super) fn error(error: guest::Error, secrets: &Secrets) -> Error {
    let shown = |mut reason: String| {
        secrets.hide_in(&mut reason);
        cut(reason)
    };
    match error {
        guest::Error::NotFound => Error::NotFound,
        guest::Error::Invalid(reason) => Error::Invalid(shown(reason)),
        guest::Error::Denied(reason) => Error::Denied(shown(reason)),
        guest::Error::Unavailable(reason) => Error::unavailable(shown(reason)),
        guest::Error::Failed(reason) => Error::Failed(shown(reason)),
    }
}

/// A reason, which goes to clients and into the log, without what is too much of it.
fn cut(mut reason: String) -> String {
    if reason.len() > MAX_REASON_BYTES {
        reason.truncate(reason.floor_char_boundary(MAX_REASON_BYTES));
        reason.push('…');
        reason.shrink_to_fit();
    }
    reason
}

/// What a client is told of an answer past the cap, wherever it was noticed.
pub(super) fn too_large() -> Error {
    Error::Failed(format!("the provider's answer is larger than {} MiB", MAX_ANSWER_BYTES >> 20))
}

pub(super) fn read_request(request: &ReadRequest) -> guest_resources::ReadRequest {
    guest_resources::ReadRequest {
        uri: request.uri.to_string(),
        matched: request.matched.as_deref().map(template_match),
        if_none_match: request.if_none_match.clone(),
    }
}

pub(super) fn template_match(matched: &TemplateMatch) -> guest::TemplateMatch {
    guest::TemplateMatch { uri_template: matched.uri_template.to_string(), variables: matched.variables.clone() }
}

pub(super) fn completion_request(request: CompletionRequest) -> guest_completions::CompletionRequest {
    guest_completions::CompletionRequest {
        uri_template: request.uri_template.to_string(),
        argument: request.argument,
        value: request.value,
        known: request.known,
    }
}

pub(super) fn completion(completion: guest_completions::Completion) -> Completion {
    Completion { values: completion.values, total: completion.total, has_more: completion.has_more }
}

fn reuse(reuse: guest::Reuse) -> Reuse {
    match reuse {
        guest::Reuse::ForMs(ms) => Reuse::For(Duration::from_millis(ms.into())),
        guest::Reuse::UntilAnnounced => Reuse::UntilAnnounced,
    }
}

pub(super) fn webhook_request(request: WebhookRequest) -> guest_webhooks::WebhookRequest {
    guest_webhooks::WebhookRequest {
        name: request.name,
        method: request.method,
        path_and_query: request.path_and_query,
        headers: request.headers,
        body: request.body.into(),
    }
}

pub(super) fn webhook_response(response: guest_webhooks::WebhookResponse) -> Result<WebhookResponse, Error> {
    let guest_webhooks::WebhookResponse { status, headers, body } = response;
    if !(200..600).contains(&status) {
        return Err(Error::Failed(format!("the provider answered a webhook with the status {status}, which is none")));
    }
    Ok(WebhookResponse { status, headers: headers.unwrap_or_default(), body: body.unwrap_or_default().into() })
}

impl Taker<'_> {
    pub fn page(&self, page: guest::ResourcePage) -> ResourcePage {
        ResourcePage {
            resources: page.resources.into_iter().filter_map(|info| self.resource(info)).collect(),
            next_cursor: page.next_cursor,
            reuse: page.reuse.map(reuse),
        }
    }

    fn resource(&self, info: guest::ResourceInfo) -> Option<ResourceInfo> {
        if let Err(reason) = uri::check(&info.uri) {
            self.warn(&info.uri, "the entry was left out of the list: its URI is none", reason);
            return None;
        }
        // URIs are in every log, and in errors.
        if self.log.secrets().are_in(&info.uri) {
            self.warn(&info.uri, "the entry was left out of the list", "there is a secret in its URI");
            return None;
        }
        let of = info.uri.as_str();
        Some(ResourceInfo {
            size: info.size.and_then(|size| self.whole(of, "size", size)),
            icons: self.icons(of, info.icons),
            annotations: self.annotations(of, info.annotations),
            meta: self.meta(of, info.meta_json),
            uri: Arc::from(of),
            name: info.name,
            title: info.title,
            description: info.description,
            mime_type: info.mime_type,
        })
    }

    pub fn template(&self, info: guest::TemplateInfo) -> TemplateInfo {
        let of = info.uri_template.as_str();
        TemplateInfo {
            icons: self.icons(of, info.icons),
            annotations: self.annotations(of, info.annotations),
            meta: self.meta(of, info.meta_json),
            uri_template: Arc::from(of),
            name: info.name,
            title: info.title,
            description: info.description,
            mime_type: info.mime_type,
        }
    }

    /// `None` is "not modified": an error unless the request named a version.
    pub fn reading(&self, request: &ReadRequest, reading: Option<guest_resources::Reading>) -> Result<Option<Reading>, Error> {
        let Some(reading) = reading else {
            return match request.if_none_match {
                Some(_) => Ok(None),
                None => Err(Error::Failed("the provider answered \"not modified\" to a read that named no version".into())),
            };
        };
        if reading.contents.is_empty() {
            return Err(Error::Failed("the provider answered without any contents".into()));
        }
        let size: usize = reading.contents.iter().map(|contents| length(&contents.body)).sum();
        if size > MAX_ANSWER_BYTES {
            return Err(too_large());
        }
        let version = reading.version.filter(|version| {
            let fits = version.len() <= MAX_VERSION_BYTES;
            if !fits {
                self.warn(&request.uri, "its version was ignored", "it is longer than 1024 bytes");
            }
            fits
        });
        let contents = reading.contents.into_iter().map(|contents| self.contents(&request.uri, contents)).collect::<Result<_, _>>()?;
        Ok(Some(Reading { contents, version, reuse: reading.reuse.map(reuse) }))
    }

    fn contents(&self, asked: &str, contents: guest::Contents) -> Result<Contents, Error> {
        let uri = contents.uri.and_then(|part| match uri::check(&part) {
            Ok(()) => Some(Arc::from(part)),
            Err(reason) => {
                self.warn(&part, "the URI of a content was ignored", reason);
                None
            }
        });
        let body = match contents.body {
            guest::Body::Text(text) => Body::Text(text),
            guest::Body::Utf8(bytes) => match String::from_utf8(bytes) {
                Ok(text) => Body::Text(text),
                Err(_) => return Err(Error::Failed("the provider answered text that is not UTF-8: such bytes are a blob".into())),
            },
            guest::Body::Blob(bytes) => Body::Blob(Bytes::from(bytes)),
        };
        Ok(Contents { uri, mime_type: contents.mime_type, body, meta: self.meta(asked, contents.meta_json) })
    }

    pub fn shared_value(&self, key: &str, value: guest_shared::SharedValue) -> Result<SharedValue, String> {
        let guest_shared::SharedValue { title, description, mime_type, annotations, body } = value;
        let body = match body {
            guest::Body::Text(text) => Body::Text(text),
            guest::Body::Utf8(bytes) => Body::Text(String::from_utf8(bytes).map_err(|_| "text that is not UTF-8 is a blob".to_owned())?),
            guest::Body::Blob(bytes) => Body::Blob(Bytes::from(bytes)),
        };
        let usual = match &body {
            Body::Text(_) => "application/json",
            Body::Blob(_) => "application/octet-stream",
        };
        let annotations = self.annotations(key, annotations);
        Ok(SharedValue { title, description, mime_type: mime_type.unwrap_or_else(|| usual.into()), annotations, body })
    }

    fn icons(&self, of: &str, icons: Option<Vec<guest::Icon>>) -> Option<Vec<Icon>> {
        icons.map(|icons| icons.into_iter().filter_map(|icon| self.icon(of, icon)).collect())
    }

    fn icon(&self, of: &str, icon: guest::Icon) -> Option<Icon> {
        if !is_icon(&icon.src) {
            self.warn(of, "an icon was left out", "its src is neither an `https:` URL nor a `data:` URI with an image in base64");
            return None;
        }
        let theme = icon.theme.map(|theme| match theme {
            guest::IconTheme::Light => IconTheme::Light,
            guest::IconTheme::Dark => IconTheme::Dark,
        });
        Some(Icon { src: icon.src, mime_type: icon.mime_type, sizes: icon.sizes, theme })
    }

    fn annotations(&self, of: &str, annotations: Option<guest::Annotations>) -> Option<Annotations> {
        let annotations = annotations?;
        let role = |role| match role {
            guest::Role::User => Role::User,
            guest::Role::Assistant => Role::Assistant,
        };
        Some(Annotations {
            audience: annotations.audience.map(|audience| audience.into_iter().map(role).collect()),
            priority: annotations.priority.and_then(|priority| {
                if priority.is_nan() {
                    self.warn(of, "its priority was left out", "it is not a number");
                    return None;
                }
                Some(priority.clamp(0.0, 1.0))
            }),
            last_modified: annotations.last_modified.and_then(|at| self.whole(of, "last-modified", at)),
        })
    }

    fn meta(&self, of: &str, json: Option<String>) -> Option<Map<String, Value>> {
        serde_json::from_str(&json?).map_err(|error| self.warn(of, "its meta-json was left out", &format!("no JSON object: {error}"))).ok()
    }

    fn whole(&self, of: &str, field: &str, number: f64) -> Option<u64> {
        if (0.0..NUMBERS_BELOW).contains(&number) && number.fract() == 0.0 {
            return Some(number as u64);
        }
        self.warn(of, &format!("its {field} was left out"), &format!("{number} is not a whole number from 0 to 2^53"));
        None
    }

    fn warn(&self, of: &str, what: &str, why: &str) {
        let of: String = self.log.secrets().hide(of).chars().take(SHOWN).collect();
        self.log.warn(&format!("{of:?}: {what}: {why}"));
    }
}

fn length(body: &guest::Body) -> usize {
    match body {
        guest::Body::Text(text) => text.len(),
        guest::Body::Utf8(bytes) | guest::Body::Blob(bytes) => bytes.len(),
    }
}

/// Schemes have no case (RFC 3986, section 3.1). The `data:` syntax is that of RFC 2397.
fn is_icon(src: &str) -> bool {
    let starts = |with: &str| src.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
    let image = || src.split_once(',').is_some_and(|(head, _)| head.to_ascii_lowercase().ends_with(";base64"));
    starts("https://") || (starts("data:image/") && image())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taker<T>(with: impl FnOnce(Taker<'_>) -> T) -> T {
        with(Taker { log: &GuestLog::new("test".into(), Arc::default()) })
    }

    #[test]
    fn numbers_are_whole_and_in_range_or_left_out() {
        taker(|taker| {
            for (given, taken) in [
                (0.0, Some(0)),
                (-0.0, Some(0)),
                (4.0, Some(4)),
                (NUMBERS_BELOW - 1.0, Some((1 << 53) - 1)),
                (NUMBERS_BELOW, None),
                (-1.0, None),
                (0.5, None),
                (f64::NAN, None),
                (f64::INFINITY, None),
                (f64::NEG_INFINITY, None),
            ] {
                assert_eq!(taker.whole("x:", "size", given), taken, "{given}");
            }
        });
    }

    #[test]
    fn icons_are_https_urls_or_images_in_base64() {
        for good in ["https://a/b.png", "HTTPS://a", "data:image/png;base64,AAAA", "data:image/svg+xml;charset=utf-8;base64,AAAA"] {
            assert!(is_icon(good), "{good}");
        }
        for bad in
            ["http://a", "", "javascript:alert(1)", "data:text/html;base64,AAAA", "data:image/png,AAAA", "file:///a", "https:a", "äää"]
        {
            assert!(!is_icon(bad), "{bad}");
        }
    }

    #[test]
    fn meta_is_a_json_object_or_left_out() {
        taker(|taker| {
            assert_eq!(taker.meta("x:", Some(r#"{"a":1}"#.into())).map(|meta| meta.len()), Some(1));
            for bad in ["", "[1]", "1", "{", "{\"a\":1} x", &"{\"a\":".repeat(100_000)] {
                assert_eq!(taker.meta("x:", Some(bad.into())), None);
            }
        });
    }

    #[test]
    fn priorities_are_clamped() {
        taker(|taker| {
            let priority = |priority| {
                taker
                    .annotations("x:", Some(guest::Annotations { audience: None, priority: Some(priority), last_modified: None }))
                    .and_then(|annotations| annotations.priority)
            };
            assert_eq!(priority(7.0), Some(1.0));
            assert_eq!(priority(-7.0), Some(0.0));
            assert_eq!(priority(0.25), Some(0.25));
            assert_eq!(priority(f64::NAN), None);
        });
    }

    #[test]
    fn a_reason_past_its_cap_is_cut_between_characters() {
        let reason = |error| match error {
            Error::Failed(reason) => reason,
            other => panic!("{other}"),
        };
        let fits = "é".repeat(MAX_REASON_BYTES / 2);
        assert_eq!(reason(error(guest::Error::Failed(fits.clone()), &Secrets::default())), fits);
        assert_eq!(reason(error(guest::Error::Failed(format!("a{fits}")), &Secrets::default())), format!("a{}…", &fits[2..]));
    }
}
