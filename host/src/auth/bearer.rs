//! The token of a request (RFC 6750 §2.1).

use axum::http::{HeaderMap, header};

use super::Refusal;

/// Bytes of a token. JSON Web Tokens with many claims have some 4 KiB.
const MAX_BYTES: usize = 16 << 10;
const SCHEME: &str = "Bearer";

/// The token that these headers have.
pub fn token(headers: &HeaderMap) -> Result<&str, Refusal> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next().ok_or(Refusal::Missing)?;
    if values.next().is_some() {
        return Err(Refusal::Malformed("a request has one Authorization header"));
    }
    let not_a_token = Refusal::Malformed("the Authorization header has no bearer token: it is `Authorization: Bearer TOKEN`");
    let Ok(value) = value.to_str() else { return Err(not_a_token) };
    let (scheme, token) = value.trim().split_once(' ').unwrap_or((value.trim(), ""));
    if !scheme.eq_ignore_ascii_case(SCHEME) {
        // Another scheme is not one of ours, and its user is told which is.
        return Err(Refusal::Missing);
    }
    let token = token.trim_start_matches(' ');
    // token68, RFC 9110 §11.2.
    let body = token.trim_end_matches('=');
    if body.is_empty() || !body.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte)) {
        return Err(not_a_token);
    }
    if token.len() > MAX_BYTES {
        return Err(Refusal::Malformed("the token is too long"));
    }
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[&str]) -> Result<String, Refusal> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::AUTHORIZATION, value.parse().unwrap());
        }
        token(&headers).map(str::to_owned)
    }

    #[test]
    fn a_token_is_taken_from_one_header_of_its_scheme_and_from_no_other() {
        for value in ["Bearer a.b-c_d~e+f/g==", "bearer a.b-c_d~e+f/g==", "BEARER   a.b-c_d~e+f/g== "] {
            assert_eq!(of(&[value]).unwrap(), "a.b-c_d~e+f/g==", "{value}");
        }
        for missing in [&[][..], &["Basic YTpi"], &["a.b"], &[""]] {
            assert_eq!(of(missing), Err(Refusal::Missing), "{missing:?}");
        }
        for malformed in [&["Bearer"][..], &["Bearer "], &["Bearer a b"], &["Bearer ="], &["Bearer a\"b"], &["Bearer a", "Bearer a"]] {
            assert!(matches!(of(malformed), Err(Refusal::Malformed(_))), "{malformed:?}");
        }
    }

    #[test]
    fn a_token_of_more_bytes_than_any_has_is_refused() {
        assert!(of(&[&format!("Bearer {}", "a".repeat(MAX_BYTES))]).is_ok());
        assert!(matches!(of(&[&format!("Bearer {}", "a".repeat(MAX_BYTES + 1))]), Err(Refusal::Malformed(_))));
    }
}
