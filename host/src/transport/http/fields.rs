//! What the headers of a request say.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::mcp::era::Said;

/// What a header says. One that is there several times, each time with the same value, says it once: proxies and wrappers add what a client
/// sends already.
pub fn said<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Said<'a> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Said::Nothing };
    if values.any(|other| other != value) {
        return Said::Garbled;
    }
    value.to_str().map_or(Said::Garbled, |text| Said::Text(text.trim_matches([' ', '\t'])))
}

/// What all headers of this name say together, with commas between.
pub fn joined(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let texts: Vec<&str> = headers.get_all(name).iter().map(HeaderValue::to_str).collect::<Result<_, _>>().ok()?;
    (!texts.is_empty()).then(|| texts.join(","))
}

/// Whether the body says it is JSON (RFC 9110 §8.3: the type is compared without case, whatever its parameters).
pub fn is_json(headers: &HeaderMap) -> bool {
    let Said::Text(kind) = said(headers, &header::CONTENT_TYPE) else { return false };
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// Whether the body is as it is, in no content coding (RFC 9110 §8.4).
pub fn is_plain(headers: &HeaderMap) -> bool {
    match said(headers, &header::CONTENT_ENCODING) {
        Said::Nothing => true,
        Said::Text(coding) => coding.is_empty() || coding.eq_ignore_ascii_case("identity"),
        Said::Garbled => false,
    }
}

/// Whether one of these media types may be sent (RFC 9110 §12.5.1). Clients are careless with this header, so one is enough, and no header
/// takes all.
pub fn accepts(headers: &HeaderMap, types: &[&str]) -> bool {
    let mut any = false;
    for value in headers.get_all(header::ACCEPT) {
        any = true;
        let Ok(value) = value.to_str() else { continue };
        let wanted = value.split(',').any(|range| {
            let mut parts = range.split(';').map(str::trim);
            let range = parts.next().unwrap_or_default();
            let refused = parts.filter_map(|part| part.split_once('=')).any(|(name, weight)| {
                name.trim().eq_ignore_ascii_case("q") && weight.trim().parse::<f32>().is_ok_and(|weight| weight <= 0.0)
            });
            !refused && types.iter().any(|media| in_range(media, range))
        });
        if wanted {
            return true;
        }
    }
    !any
}

fn in_range(media: &str, range: &str) -> bool {
    match range.strip_suffix("/*") {
        Some("*") => true,
        Some(family) => media.split('/').next().is_some_and(|own| own.eq_ignore_ascii_case(family)),
        None => media.eq_ignore_ascii_case(range),
    }
}
