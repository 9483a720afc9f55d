//! A host in this process that wants to know who asks.

use std::{collections::BTreeSet, path::Path, sync::Arc, time::SystemTime};

use axum::{
    body::Body,
    http::{Request, StatusCode},
};
use tower_service::Service;
use wharf::{
    auth::{
        Authority,
        tokens::{Entry, TokenFile, generate, hash},
    },
    host::Host,
    transport::http::HttpSettings,
};

/// Adds a token that sees these providers, or all.
fn token(file: &Path, name: &str, providers: Option<Vec<String>>) -> String {
    let token = generate().unwrap();
    let entry = Entry { name: name.into(), sha256: hash(&token), providers, created: SystemTime::now(), expires: None };
    TokenFile::at(file).add(entry).unwrap();
    token
}

#[tokio::test]
async fn an_admin_address_that_others_reach_wants_a_token_that_sees_everything() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens.toml");
    let (all, some) = (token(&file, "all", None), token(&file, "some", Some(vec!["git".into()])));
    let host = Host::builder().authority(Arc::new(Authority::of_tokens(file).unwrap())).start().await.unwrap();
    let get = async |bind: &str, path: &str, token: Option<&str>| {
        let settings = HttpSettings { bind: Some(bind.parse().unwrap()), ..HttpSettings::default() };
        let mut request = Request::get(path).header("host", bind);
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let response = host.admin_service(settings).call(request.body(Body::empty()).unwrap()).await.unwrap();
        let challenged = response.headers().contains_key("www-authenticate");
        (response.status(), challenged)
    };
    const LAN: &str = "192.0.2.1:9090";
    for path in ["/status", "/metrics", "/events", "/resources", "/grants", "/read?uri=x%3Aa", "/", "/none"] {
        assert_eq!(get(LAN, path, None).await, (StatusCode::UNAUTHORIZED, true), "{path}");
        assert_eq!(get(LAN, path, Some(&some)).await, (StatusCode::FORBIDDEN, true), "{path}");
    }
    assert_eq!(get(LAN, "/status", Some(&all)).await, (StatusCode::OK, false));
    assert_eq!(get(LAN, "/healthz", None).await, (StatusCode::OK, false));
    // A browser on this machine has no way to send one.
    assert_eq!(get("127.0.0.1:9090", "/status", None).await, (StatusCode::OK, false));
}

#[tokio::test]
async fn a_hosts_router_lets_in_by_the_same_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens.toml");
    let known = token(&file, "known", None);
    let host = Host::builder().authority(Arc::new(Authority::of_tokens(file).unwrap())).start().await.unwrap();
    let mut router = host.router(HttpSettings::default());
    let mut seen = BTreeSet::new();
    for token in ["Bearer none".to_owned(), format!("Bearer {known}")] {
        let request = Request::delete("/mcp").header("host", "localhost").header("authorization", token).body(Body::empty()).unwrap();
        seen.insert(router.call(request).await.unwrap().status());
    }
    // Let in, it has no session to end.
    assert_eq!(seen, [StatusCode::BAD_REQUEST, StatusCode::UNAUTHORIZED].into());
}
