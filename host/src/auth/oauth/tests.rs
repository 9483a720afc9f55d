//! The attacks on access tokens, and on what an authorization server publishes.

mod server;

use std::{collections::BTreeMap, time::Duration};

use ring::hmac;
use serde_json::{Value, json};

use self::server::{Document, Issuer, encode, good, header, sign_by};
use super::*;
use crate::auth::Authority;

const AUDIENCE: &str = "https://wharf.example.com/mcp";

fn settings(issuer: &Issuer) -> OAuthSettings {
    OAuthSettings {
        issuer: issuer.url.clone(),
        audience: AUDIENCE.into(),
        resource: None,
        scopes: vec!["wharf".into()],
        jwks: None,
        views: Default::default(),
    }
}

fn oauth(settings: &OAuthSettings) -> OAuth {
    OAuth::new(settings, None).unwrap()
}

fn invalid(identified: Result<Caller, Refusal>) -> bool {
    matches!(identified, Err(Refusal::Invalid(_)))
}

fn refused(reason: &str, identified: Result<Caller, Refusal>) {
    let refusal = identified.unwrap_err();
    assert!(matches!(refusal, Refusal::Invalid(_)) && refusal.reason().contains(reason), "{reason}: {refusal:?}");
}

#[tokio::test]
async fn a_token_for_this_host_lets_its_subject_in_by_either_kind_of_key() {
    let issuer = Issuer::start().await;
    let oauth = oauth(&settings(&issuer));
    for key in ["ed", "ec"] {
        let token = issuer.token(key, good(&issuer));
        assert_eq!(oauth.identify(&token).await.unwrap(), Caller::named("ann", View::Everything));
        assert_eq!(oauth.identify(&token).await.unwrap(), Caller::named("ann", View::Everything), "as it is remembered");
    }
    let of = |name: &str| Caller::named(name, View::Everything);
    assert!(oauth.is_valid(&of("ann")) && !oauth.is_valid(&of("bob")));
    assert_eq!(issuer.asked("/keys"), 1, "they are kept");
}

#[tokio::test]
async fn claims_that_are_not_for_this_host_and_for_now_let_nobody_in() {
    let issuer = Issuer::start().await;
    let oauth = oauth(&settings(&issuer));
    let with = |change: Value| {
        let mut claims = good(&issuer);
        for (key, value) in change.as_object().unwrap() {
            claims[key] = value.clone();
        }
        issuer.token("ed", claims)
    };
    for (change, reason) in [
        (json!({ "exp": now() - LEEWAY - 1.0 }), "expired"),
        (json!({ "nbf": now() + LEEWAY + 10.0 }), "not valid yet"),
        (json!({ "aud": "https://other.example.com/mcp" }), "another audience"),
        (json!({ "aud": ["https://other.example.com/mcp"] }), "another audience"),
        (json!({ "aud": "https://wharf.example.com/mcp/" }), "another audience"),
        (json!({ "iss": "https://evil.example.com" }), "another issuer"),
        (json!({ "exp": null }), "claims that it needs"),
        (json!({ "exp": "99999999999" }), "claims that it needs"),
        (json!({ "nbf": "0" }), "claims that it needs"),
        (json!({ "aud": null }), "claims that it needs"),
        (json!({ "sub": null }), "whose it is"),
        (json!({ "sub": "a\nb" }), "no name"),
        (json!({ "sub": "a".repeat(MAX_NAME + 1) }), "no name"),
    ] {
        refused(reason, oauth.identify(&with(change)).await);
    }
    for change in [
        json!({ "exp": now() - LEEWAY + 10.0 }),
        json!({ "nbf": now() + LEEWAY - 10.0 }),
        json!({ "aud": ["https://other.example.com/mcp", AUDIENCE] }),
        json!({ "sub": null, "client_id": "robot" }),
        json!({ "sub": "a".repeat(MAX_NAME) }),
    ] {
        assert!(oauth.identify(&with(change.clone())).await.is_ok(), "{change}");
    }
}

#[tokio::test]
async fn what_is_remembered_of_a_token_ends_with_it() {
    let issuer = Issuer::start().await;
    let oauth = oauth(&settings(&issuer));
    let mut claims = good(&issuer);
    claims["exp"] = json!(now() - LEEWAY + 1.0);
    let token = issuer.token("ed", claims);
    let ann = oauth.identify(&token).await.unwrap();
    assert!(oauth.is_valid(&ann));
    let ended = async {
        while oauth.is_valid(&ann) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), ended).await.unwrap();
    assert_eq!(oauth.identify(&token).await, Err(EXPIRED));
}

#[tokio::test]
async fn what_is_not_signed_by_a_key_in_its_own_way_lets_nobody_in() {
    let issuer = Issuer::start().await;
    let oauth = oauth(&settings(&issuer));
    let claims = good(&issuer);
    let fine = issuer.token("ed", claims.clone());
    assert!(oauth.identify(&fine).await.is_ok());

    let part = |value: &Value| encode(value.to_string().as_bytes());
    let unsigned = |header: Value| format!("{}.{}", part(&header), part(&claims));
    for alg in ["none", "None", "NONE", "nOnE", ""] {
        for signature in ["", "AA"] {
            let token = format!("{}.{signature}", unsigned(json!({ "alg": alg, "kid": "ed", "typ": "at+jwt" })));
            assert!(invalid(oauth.identify(&token).await), "{alg:?}");
        }
    }
    // HMAC, with what everybody knows as its secret.
    for secret in issuer.public_bytes() {
        for alg in ["HS256", "hs256"] {
            for kid in ["ed", "ec", "oct"] {
                let signed = unsigned(header(alg, kid));
                let mac = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &secret), signed.as_bytes());
                assert!(invalid(oauth.identify(&format!("{signed}.{}", encode(mac.as_ref()))).await), "{alg} {kid}");
            }
        }
    }
    // A key under another's name, or algorithm; and one that nobody published.
    for header in [header("EdDSA", "ec"), header("ES256", "ed"), header("RS256", "ed"), header("ES256K", "ec"), header("ES512", "ec")] {
        assert!(invalid(oauth.identify(&issuer.sign("ed", &header, &claims)).await), "{header}");
    }
    let stranger = Issuer::start().await;
    assert!(invalid(oauth.identify(&stranger.sign("ed", &header("EdDSA", "ed"), &claims)).await));

    // Another's claims under this signature, one half of a token, an encrypted one, none at all.
    let [head, _, signature] = fine.split('.').collect::<Vec<_>>()[..] else { panic!("a token of three parts") };
    let mut other = claims.clone();
    other["sub"] = json!("root");
    for token in [
        format!("{head}.{}.{signature}", part(&other)),
        format!("{head}.{}", part(&claims)),
        format!("{head}.{}.", part(&claims)),
        format!("{fine}.a.b"),
        format!("{fine}="),
        "a.b.c".into(),
        "...".into(),
        "wharf_token".into(),
    ] {
        assert!(invalid(oauth.identify(&token).await), "{token}");
    }
}

#[tokio::test]
async fn a_header_that_asks_for_more_than_is_understood_is_refused() {
    let issuer = Issuer::start().await;
    let oauth = oauth(&settings(&issuer));
    let claims = good(&issuer);
    let signed = |change: Value| {
        let mut header = header("EdDSA", "ed");
        for (key, value) in change.as_object().unwrap() {
            header[key] = value.clone();
        }
        issuer.sign("ed", &header, &claims)
    };
    for (change, reason) in [
        (json!({ "crit": ["b64"], "b64": false }), "critical"),
        (json!({ "crit": [] }), "critical"),
        (json!({ "typ": "logout+jwt" }), "typ"),
        (json!({ "typ": "dpop+jwt" }), "typ"),
        (json!({ "kid": 1 }), "no JSON Web Token"),
    ] {
        refused(reason, oauth.identify(&signed(change)).await);
    }
    for fine in [json!({ "typ": "JWT" }), json!({ "typ": "application/at+jwt" }), json!({ "typ": null }), json!({ "kid": null })] {
        assert!(oauth.identify(&signed(fine.clone())).await.is_ok(), "{fine}");
    }
    // Nothing of the header leads anywhere: keys come from the issuer alone.
    let led = signed(json!({ "kid": "x", "jku": format!("{}/evil", issuer.url), "x5u": format!("{}/evil", issuer.url) }));
    assert!(invalid(oauth.identify(&led).await));
    assert_eq!(issuer.asked("/evil"), 0);
}

#[tokio::test]
async fn scopes_say_what_a_token_lets_see() {
    let issuer = Issuer::start().await;
    let mut settings = settings(&issuer);
    settings.views = [("docs", vec!["handbook", "docs"]), ("code", vec!["git"]), ("all", vec!["*"])]
        .map(|(scope, names)| (scope.to_owned(), names.into_iter().map(String::from).collect()))
        .into();
    let oauth = oauth(&settings);
    let sees = async |scopes: Value| {
        let mut claims = good(&issuer);
        claims[if scopes.is_array() { "scp" } else { "scope" }] = scopes.clone();
        oauth.identify(&issuer.token("ed", claims)).await.map(|caller| caller.view().clone())
    };
    let only = |names: &[&str]| View::Only(Arc::new(names.iter().map(|&name| name.into()).collect()));
    assert_eq!(sees(json!("wharf docs")).await.unwrap(), only(&["docs", "handbook"]));
    assert_eq!(sees(json!("wharf  code docs other")).await.unwrap(), only(&["docs", "git", "handbook"]));
    assert_eq!(sees(json!(["code"])).await.unwrap(), only(&["git"]), "besides what `scope` has");
    assert_eq!(sees(json!("wharf all code")).await.unwrap(), View::Everything);
    for lacking in ["wharf", "docs", "wharf doc", "wharf-docs", ""] {
        assert!(matches!(sees(json!(lacking)).await, Err(Refusal::Insufficient(_))), "{lacking:?}");
    }
}

#[tokio::test]
async fn an_authorization_server_that_lies_is_not_believed() {
    let other = Issuer::start().await;
    let metadata = |issuer: &Issuer, change: Value| {
        let mut metadata = json!({ "issuer": issuer.url, "jwks_uri": format!("{}/keys", issuer.url) });
        for (key, value) in change.as_object().unwrap() {
            metadata[key] = value.clone();
        }
        Document::Text(metadata.to_string())
    };
    type Lie<'a> = Box<dyn Fn(&Issuer) + 'a>;
    let meta = |change: Value| -> Lie<'_> {
        Box::new(move |issuer: &Issuer| {
            for path in server::METADATA_PATHS {
                issuer.put(path, metadata(issuer, change.clone()));
            }
        })
    };
    let keys = |document: Document| -> Lie<'_> { Box::new(move |issuer: &Issuer| issuer.put("/keys", document.clone())) };
    let oct = json!({ "keys": [{ "kty": "oct", "kid": "ed", "alg": "HS256", "k": "c2VjcmV0" }] });
    for (what, lie) in [
        ("a foreign issuer", meta(json!({ "issuer": other.url }))),
        ("another way to write it", meta(json!({ "issuer": format!("{}/", other.url) }))),
        ("keys from anywhere", meta(json!({ "jwks_uri": "http://keys.example.com/keys" }))),
        ("keys of a file", meta(json!({ "jwks_uri": "file:///etc/passwd" }))),
        ("no keys", meta(json!({ "jwks_uri": null }))),
        ("no JSON", keys(Document::Text("<html>".into()))),
        ("no set", keys(Document::Text("[]".into()))),
        ("an empty set", keys(Document::Text("{\"keys\":[]}".into()))),
        ("secrets for keys", keys(Document::Text(oct.to_string()))),
        ("10 MB", keys(Document::Text(format!("{{\"keys\":[],\"a\":\"{}\"}}", "a".repeat(10 << 20))))),
        ("10 MB without a length", keys(Document::Endless)),
        ("another place", keys(Document::Redirect(format!("{}/keys", other.url)))),
    ] {
        let issuer = Issuer::start().await;
        lie(&issuer);
        let oauth = oauth(&settings(&issuer));
        let told = oauth.identify(&issuer.token("ed", good(&issuer))).await;
        assert!(matches!(told, Err(Refusal::Unknowable(_))), "{what}: {told:?}");
    }
}

#[tokio::test]
async fn a_set_of_keys_may_have_secret_ones_and_unknown_ones_beside_public_ones() {
    let issuer = Issuer::start().await;
    let mut set = issuer.keys();
    let odd = [
        json!({ "kty": "oct", "kid": "oct", "alg": "HS256", "k": "c2VjcmV0" }),
        json!({ "kty": "EC", "crv": "secp256k1", "kid": "k", "x": "AA", "y": "AA" }),
        json!({ "kty": 1 }),
    ];
    set["keys"].as_array_mut().unwrap().extend(odd);
    issuer.put("/keys", Document::Text(set.to_string()));
    let oauth = oauth(&settings(&issuer));
    assert!(oauth.identify(&issuer.token("ed", good(&issuer))).await.is_ok());
    let signed = format!("{}.{}", encode(header("HS256", "oct").to_string().as_bytes()), encode(good(&issuer).to_string().as_bytes()));
    let mac = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, b"secret"), signed.as_bytes());
    assert!(invalid(oauth.identify(&format!("{signed}.{}", encode(mac.as_ref()))).await));
}

#[tokio::test]
async fn keys_for_encryption_or_of_another_algorithm_sign_nothing() {
    let issuer = Issuer::start().await;
    for (field, value) in [("use", "enc"), ("alg", "ES384")] {
        let mut set = issuer.keys();
        set["keys"].as_array_mut().unwrap().iter_mut().for_each(|key| key[field] = json!(value));
        issuer.put("/keys", Document::Text(set.to_string()));
        let oauth = oauth(&settings(&issuer));
        assert!(oauth.identify(&issuer.token("ed", good(&issuer))).await.is_err(), "{field}");
    }
}

/// Moves the clock that pauses between askings are measured by.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

#[tokio::test]
async fn keys_are_asked_for_again_when_one_is_unknown_and_at_most_once_a_minute() {
    let issuer = Issuer::start().await;
    let oauth = oauth(&settings(&issuer));
    let old = issuer.token("ed", good(&issuer));
    assert!(oauth.identify(&old).await.is_ok());
    for number in 0..20 {
        let unknown = issuer.sign("ed", &header("EdDSA", &format!("k{number}")), &good(&issuer));
        assert!(invalid(oauth.identify(&unknown).await));
    }
    assert_eq!(issuer.asked("/keys"), 1, "they were asked for just now");

    let new = issuer.rotate();
    pass(keys::PAUSE).await;
    assert!(oauth.identify(&sign_by(&new, &header("EdDSA", "new"), &good(&issuer))).await.is_ok());
    assert_eq!(issuer.asked("/keys"), 2);
    assert!(invalid(oauth.identify(&old).await), "its key was withdrawn, and what was remembered with it");
    assert_eq!(issuer.asked("/keys"), 2);
}

#[tokio::test]
async fn a_withdrawn_key_holds_no_longer_though_only_remembered_tokens_come() {
    let issuer = Issuer::start().await;
    let oauth = oauth(&settings(&issuer));
    let old = issuer.token("ed", good(&issuer));
    assert!(oauth.identify(&old).await.is_ok());
    issuer.rotate();
    pass(keys::MAX_AGE).await;
    let refused = async {
        // Those that come until the keys are there are let in by the old ones.
        while oauth.identify(&old).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), refused).await.expect("it is let in for ever");
    assert_eq!(issuer.asked("/keys"), 2);
}

#[tokio::test]
async fn a_token_that_lets_see_less_keeps_nothing_open_that_another_opened() {
    let issuer = Issuer::start().await;
    let views = BTreeMap::from([("wide".to_owned(), vec!["*".to_owned()]), ("narrow".to_owned(), vec!["git".to_owned()])]);
    let oauth = oauth(&OAuthSettings { scopes: Vec::new(), views, ..settings(&issuer) });
    let by = async |scope: &str, expires: f64| {
        let mut claims = good(&issuer);
        (claims["scope"], claims["exp"]) = (json!(scope), json!(expires));
        oauth.identify(&issuer.token("ed", claims)).await.unwrap()
    };
    let wide = by("wide", now() - LEEWAY + 1.0).await;
    let narrow = by("narrow", now() + 600.0).await;
    assert_eq!(wide.name(), narrow.name());
    let ended = async {
        while oauth.is_valid(&wide) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), ended).await.expect("it stays open");
    assert!(oauth.is_valid(&narrow));
}

#[tokio::test]
async fn the_last_good_keys_stay_when_the_server_lies_or_hangs() {
    let issuer = Issuer::start().await;
    let oauth = oauth(&settings(&issuer));
    let fine = async || oauth.identify(&issuer.token("ed", good(&issuer))).await.is_ok();
    assert!(fine().await);
    let unknown = issuer.sign("ed", &header("EdDSA", "unknown"), &good(&issuer));
    for lie in [Document::Text("{}".into()), Document::Status(500), Document::Text("{\"keys\":[]}".into())] {
        issuer.put("/keys", lie);
        pass(keys::PAUSE).await;
        assert!(invalid(oauth.identify(&unknown).await));
        assert!(fine().await);
    }
    assert_eq!(issuer.asked("/keys"), 4, "it was asked each time");

    issuer.put("/keys", Document::Hang);
    pass(keys::PAUSE).await;
    // Who waits for it waits for a bounded time, which passes by itself while the clock stands; and keeps nobody from the keys there are.
    let known = issuer.token("ec", good(&issuer));
    tokio::time::pause();
    let (lost, served) = tokio::join!(oauth.identify(&unknown), oauth.identify(&known));
    assert!(invalid(lost) && served.is_ok());
    tokio::time::resume();
    assert!(fine().await);
}

#[tokio::test]
async fn as_long_as_there_are_no_keys_nobody_can_tell_and_they_are_asked_for_soon_again() {
    let issuer = Issuer::start().await;
    issuer.put("/keys", Document::Status(503));
    let oauth = oauth(&settings(&issuer));
    let token = issuer.token("ed", good(&issuer));
    for _ in 0..5 {
        assert!(matches!(oauth.identify(&token).await, Err(Refusal::Unknowable(_))));
    }
    assert_eq!(issuer.asked("/keys"), 1);
    issuer.put("/keys", Document::Text(issuer.keys().to_string()));
    pass(keys::FIRST_PAUSE).await;
    assert!(oauth.identify(&token).await.is_ok());
}

#[tokio::test]
async fn the_keys_may_be_named_and_the_metadata_be_in_either_place() {
    let issuer = Issuer::start().await;
    server::METADATA_PATHS.iter().for_each(|path| issuer.put(path, Document::Status(404)));
    let named = OAuthSettings { jwks: Some(format!("{}/keys", issuer.url)), ..settings(&issuer) };
    assert!(oauth(&named).identify(&issuer.token("ed", good(&issuer))).await.is_ok());
    // OpenID Connect alone.
    let issuer = Issuer::start().await;
    issuer.put(server::METADATA_PATHS[0], Document::Status(404));
    assert!(oauth(&settings(&issuer)).identify(&issuer.token("ed", good(&issuer))).await.is_ok());
}

#[tokio::test]
async fn a_client_is_told_where_to_get_a_token_and_for_what() {
    let issuer = Issuer::start().await;
    let mut settings = settings(&issuer);
    settings.views = [("docs".to_owned(), vec!["docs".to_owned()])].into();
    let oauth = oauth(&settings);
    for path in [METADATA_PATH.to_owned(), format!("{METADATA_PATH}/mcp")] {
        let metadata: Value = serde_json::from_str(oauth.metadata(&path).unwrap()).unwrap();
        assert_eq!(metadata["resource"], AUDIENCE);
        assert_eq!(metadata["authorization_servers"], json!([issuer.url]));
        assert_eq!(metadata["scopes_supported"], json!(["wharf", "docs"]));
        assert_eq!(metadata["bearer_methods_supported"], json!(["header"]));
    }
    assert!(oauth.metadata(&format!("{METADATA_PATH}/other")).is_none() && oauth.metadata("/mcp").is_none());
    let authority = Authority(crate::auth::Kind::OAuth(oauth.into()));
    let challenge = |refusal: &Refusal| authority.challenge(refusal).map(|value| value.to_str().unwrap().to_owned());
    let common = "Bearer realm=\"wharf\", resource_metadata=\"https://wharf.example.com/.well-known/oauth-protected-resource/mcp\", \
         scope=\"wharf docs\"";
    assert_eq!(challenge(&Refusal::Missing).unwrap(), common);
    let invalid = challenge(&EXPIRED).unwrap();
    assert_eq!(invalid, format!("{common}, error=\"invalid_token\", error_description=\"the token has expired\""));
    assert!(challenge(&Refusal::Insufficient("a")).unwrap().contains("error=\"insufficient_scope\""));
    assert!(challenge(&Refusal::Invalid("a \"…\\b")).unwrap().ends_with("error_description=\"a ???b\""), "RFC 6750 has no others");
    assert_eq!(challenge(&Refusal::Unknowable("a")), None, "it is nothing that another token would help");
}
