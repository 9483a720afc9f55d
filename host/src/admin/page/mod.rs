//! The page: what a host says of itself, for people. Its files are in the program; a browser asks nobody else for anything.
//!
//! Invariants: whatever a provider or a client calls itself reaches the document as text only; no script runs but those of this folder, and
//! the policy that says so goes with every file; the page asks for what [`super`] documents and changes nothing.
//!
//! The modules, each with the one thing it shows: `page.js` puts them together; `live.js` holds the stream of events; `text.js` and `dom.js`
//! make foreign text harmless and put it into the document.

use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, Response, StatusCode, header},
};

use super::answer;

/// Content Security Policy Level 3 and Trusted Types: scripts and styles of this address alone, images out of what was read, and no sink that
/// would take a text for markup. Nothing is sent by a form, and nobody frames it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data: blob:; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const HEADERS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    // After an update of the host the old page would ask the new host.
    (header::CACHE_CONTROL, "no-cache"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Its path, its media type, and what it holds.
type File = (&'static str, &'static str, &'static str);

macro_rules! files {
    ($($media_type:ident $name:literal,)*) => {
        [$((concat!("/page/", $name), $media_type, include_str!($name)),)*]
    };
}

static FILES: [File; 14] = files![
    HTML "index.html",
    CSS "style.css",
    SCRIPT "charts.js",
    SCRIPT "contents.js",
    SCRIPT "dom.js",
    SCRIPT "events.js",
    SCRIPT "live.js",
    SCRIPT "overview.js",
    SCRIPT "page.js",
    SCRIPT "providers.js",
    SCRIPT "reader.js",
    SCRIPT "resources.js",
    SCRIPT "rows.js",
    SCRIPT "text.js",
];

/// The file at this path, if there is one.
pub fn answer(path: &str) -> Option<Response<Body>> {
    let path = if path == "/" { "/page/index.html" } else { path };
    let (_, media_type, text) = FILES.iter().find(|(at, ..)| *at == path)?;
    let mut response = answer::typed(StatusCode::OK, media_type, *text);
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    Some(response)
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    #[test]
    fn every_file_of_the_folder_is_served_and_names_none_that_is_not() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/admin/page");
        let mut served = 0;
        for entry in fs::read_dir(folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if !name.ends_with(".rs") {
                assert!(answer(&format!("/page/{name}")).is_some(), "{name}");
                served += 1;
            }
        }
        assert_eq!(served, FILES.len());
        for (path, _, text) in FILES {
            let named = text.split(['"', '\'']).filter(|text| text.starts_with("./") || text.starts_with("/page/"));
            for name in named {
                assert!(answer(&name.replacen("./", "/page/", 1)).is_some(), "{path} names {name}");
            }
        }
        assert!(answer("/").is_some() && answer("/page/").is_none() && answer("/page/mod.rs").is_none());
    }

    #[test]
    fn each_file_goes_with_the_policy_and_is_taken_for_nothing_else() {
        for (path, media_type, _) in FILES {
            let response = answer(path).unwrap();
            let value = |name: &str| response.headers()[name].to_str().unwrap();
            assert_eq!(value("content-type"), media_type);
            assert_eq!(value("x-content-type-options"), "nosniff");
            assert!(value("content-security-policy").starts_with("default-src 'none'; script-src 'self'; "), "{path}");
            assert!(!value("content-security-policy").contains("unsafe"));
            assert_eq!((value("cross-origin-opener-policy"), value("referrer-policy")), ("same-origin", "no-referrer"));
        }
    }

    #[test]
    fn nothing_in_it_takes_text_for_markup_or_asks_another_server() {
        for (path, _, text) in FILES {
            for forbidden in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "srcdoc", "DOMParser"]
            {
                assert!(!text.contains(forbidden), "{path} has {forbidden}");
            }
            for (at, _) in text.match_indices("://") {
                // The name of SVG's elements is no address that anybody asks.
                assert!(text[..at].ends_with("http") && text[at..].starts_with("://www.w3.org/2000/svg"), "{path}: {}", &text[at..at + 20]);
            }
            assert!(!text.contains(" style=") && !text.contains(" onclick="), "{path} has what the policy blocks");
        }
    }
}
