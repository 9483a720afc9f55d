//! Signatures of webhooks, in the manner of who sends them.

use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::TOLERANCE;
use crate::{config::grants::Signature, provider::WebhookRequest};

/// What a request has proved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// Nothing was asked for.
    None,
    /// That its sender has the secret. Nothing in it tells one request from another.
    Token,
    /// That its sender has signed this very body; this is the signature.
    Once([u8; 32]),
}

type Check = Result<Proof, &'static str>;

/// Whether the request is signed with the secret. `now`: since 1970.
pub(super) fn check(signature: &Signature, secret: &str, request: &WebhookRequest, now: Duration) -> Check {
    let key = secret.as_bytes();
    match signature {
        Signature::Github => {
            let given = header(request, "x-hub-signature-256")?.ok_or("it has no X-Hub-Signature-256: is a secret set at GitHub?")?;
            let given = given.strip_prefix("sha256=").ok_or("its X-Hub-Signature-256 is not `sha256=` and hex")?;
            verify(key, &[&request.body], given)
        }
        Signature::Header(name) => {
            let given = header(request, name)?.ok_or("it has no signature in the header that wharf.toml names")?;
            verify(key, &[&request.body], given.strip_prefix("sha256=").unwrap_or(given))
        }
        Signature::Gitlab => {
            let given = header(request, "x-gitlab-token")?.ok_or("it has no X-Gitlab-Token: is a secret token set at GitLab?")?;
            // Hashes of equal length, compared in constant time: neither the secret nor its length shows in how long it takes.
            if blake3::hash(given.as_bytes()) == blake3::hash(key) { Ok(Proof::Token) } else { Err("its X-Gitlab-Token is another") }
        }
        Signature::Stripe => stripe(key, header(request, "stripe-signature")?.ok_or("it has no Stripe-Signature")?, &request.body, now),
    }
}

/// `t=1492774577,v1=5257a8…,v1=…,v0=…`: several while a secret is being replaced (https://docs.stripe.com/webhooks#verify-manually).
fn stripe(key: &[u8], given: &str, body: &[u8], now: Duration) -> Check {
    let fields = || given.split(',').filter_map(|field| field.trim().split_once('='));
    let mut times = fields().filter(|(name, _)| *name == "t");
    let (Some((_, time)), None) = (times.next(), times.next()) else { return Err("its Stripe-Signature has not one time") };
    let seconds: u64 = time.parse().map_err(|_| "the time in its Stripe-Signature is no number")?;
    let proof =
        fields().filter(|(name, _)| *name == "v1").map(|(_, mac)| verify(key, &[time.as_bytes(), b".", body], mac)).find(Result::is_ok);
    let proof = proof.ok_or("its Stripe-Signature is another")??;
    // Only a time that is signed is worth a word.
    if now.abs_diff(Duration::from_secs(seconds)) > TOLERANCE {
        return Err("its signature is more than five minutes old, or the clocks differ: an old request, sent again?");
    }
    Ok(proof)
}

/// The one value of a header.
fn header<'a>(request: &'a WebhookRequest, name: &str) -> Result<Option<&'a str>, &'static str> {
    let mut values = request.headers.iter().filter(|(known, _)| known == name);
    match (values.next(), values.next()) {
        (Some((_, value)), None) => Ok(Some(value.trim())),
        (None, _) => Ok(None),
        _ => Err("it has more than one signature in the header for it"),
    }
}

fn verify(key: &[u8], parts: &[&[u8]], given: &str) -> Check {
    let given = unhex(given).ok_or("its signature is not 64 digits of hex")?;
    // In constant time.
    authenticate(key, parts).verify_slice(&given).map_err(|_| "its signature is another: is the secret the same on both sides?")?;
    Ok(Proof::Once(given))
}

fn authenticate(key: &[u8], parts: &[&[u8]]) -> Hmac<Sha256> {
    // RFC 2104: a key of any length.
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap_or_else(|_| Hmac::new(&Default::default()));
    parts.iter().for_each(|part| mac.update(part));
    mac
}

#[cfg(test)]
pub(super) fn mac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    authenticate(key, parts).finalize().into_bytes().into()
}

#[cfg(test)]
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let digit = |byte: u8| u8::try_from(char::from(byte).to_digit(16)?).ok();
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let bytes: Option<Vec<u8>> = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect();
    bytes?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(body: &str, headers: &[(&str, &str)]) -> WebhookRequest {
        WebhookRequest {
            name: "a".into(),
            method: "POST".into(),
            path_and_query: String::new(),
            headers: headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            body: body.to_owned().into(),
        }
    }

    #[test]
    fn the_mac_is_that_of_rfc_4231() {
        let cases: [(&[u8], &[u8], &str); 3] = [
            (&[0x0b; 20], b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
            (b"Jefe", b"what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ];
        for (key, data, wanted) in cases {
            assert_eq!(hex(&mac(key, &[data])), wanted);
            assert_eq!(unhex(wanted), Some(mac(key, &[data])));
        }
    }

    #[test]
    fn githubs_own_example_is_taken() {
        // https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
        let mac = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        let check = |header: &str, body: &str| {
            let request = request(body, &[("x-hub-signature-256", header)]);
            check(&Signature::Github, "It's a Secret to Everybody", &request, Duration::ZERO)
        };
        assert!(matches!(check(&format!("sha256={mac}"), "Hello, World!"), Ok(Proof::Once(_))));
        assert!(matches!(check(&format!("sha256={}", mac.to_uppercase()), "Hello, World!"), Ok(Proof::Once(_))));
        for (header, body) in [
            (format!("sha256={mac}"), "Hello, World?"),
            (mac.to_owned(), "Hello, World!"),
            (format!("sha1={mac}"), "Hello, World!"),
            (format!("sha256={mac}00"), "Hello, World!"),
            (format!("sha256={}", &mac[..62]), "Hello, World!"),
            (format!("sha256={}é", &mac[..62]), "Hello, World!"),
            ("sha256=".into(), "Hello, World!"),
            (String::new(), "Hello, World!"),
        ] {
            assert!(check(&header, body).is_err(), "{header} {body}");
        }
    }

    #[test]
    fn a_header_of_ones_own_is_hex_with_or_without_sha256_before_it() {
        let mac = hex(&mac(b"key", &[b"body"]));
        let own = Signature::Header("x-sig".into());
        for value in [mac.clone(), format!("sha256={mac}")] {
            assert!(check(&own, "key", &request("body", &[("x-sig", &value)]), Duration::ZERO).is_ok());
        }
        let twice = request("body", &[("x-sig", &mac), ("x-sig", &mac)]);
        assert!(check(&own, "key", &twice, Duration::ZERO).is_err());
        assert!(check(&own, "other", &request("body", &[("x-sig", &mac)]), Duration::ZERO).is_err());
        assert!(check(&own, "key", &request("body", &[("x-other", &mac)]), Duration::ZERO).is_err());
    }

    #[test]
    fn gitlabs_token_is_the_secret() {
        let check = |token: &[(&str, &str)]| check(&Signature::Gitlab, "token", &request("", token), Duration::ZERO);
        assert_eq!(check(&[("x-gitlab-token", "token")]), Ok(Proof::Token));
        for wrong in [&[("x-gitlab-token", "tokem")][..], &[("x-gitlab-token", "")], &[("x-gitlab-token", "token-and-more")], &[]] {
            assert!(check(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn stripes_signature_is_of_its_time_and_of_the_body_and_five_minutes_old_at_most() {
        let now = 1_800_000_000_u64;
        let sign = |time: u64| hex(&mac(b"whsec", &[time.to_string().as_bytes(), b".", b"{}"]));
        let check =
            |header: &str| check(&Signature::Stripe, "whsec", &request("{}", &[("stripe-signature", header)]), Duration::from_secs(now));
        let old = "0".repeat(64);
        for time in [now, now - 300, now + 300] {
            assert!(check(&format!("t={time},v1={}", sign(time))).is_ok());
        }
        assert!(check(&format!("t={now},v0={old},v1={old}, v1={}", sign(now))).is_ok(), "one of several is enough");
        for header in [
            format!("t={},v1={}", now - 301, sign(now - 301)),
            format!("t={},v1={}", now + 301, sign(now + 301)),
            format!("t={now},v1={}", sign(now - 1)),
            format!("t={now},v0={}", sign(now)),
            format!("t={now},t={now},v1={}", sign(now)),
            format!("v1={}", sign(now)),
            format!("t=,v1={}", sign(now)),
            format!("t={now}"),
        ] {
            assert!(check(&header).is_err(), "{header}");
        }
        let too_old = check(&format!("t={},v1={}", now - 301, sign(now - 301))).unwrap_err();
        assert!(too_old.contains("five minutes"), "{too_old}");
    }
}
