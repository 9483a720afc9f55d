//! `--header 'Name: value'` and `--token-file FILE`: what a server wants to see before it answers.
//!
//! Invariant: a value is never printed, not even where it is wrong: it is a secret more often than not.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow, bail};
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

/// What a wrong one is told.
const EXAMPLE: &str = "write --header 'Name: value', such as --header 'Authorization: Bearer ${TOKEN}'";

/// Bytes of a file with a token: as many as a host takes of one, and then some.
const TOKEN_FILE_BYTES: u64 = 32 << 10;

/// Headers for a server.
#[derive(Default, clap::Args)]
pub(super) struct HeaderArgs {
    // Not parsed by clap, whose errors quote what they are about.
    /// Send this header to the server with each request, as curl does; ${NAME} in the value is that variable of the environment
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,
    /// Send the token that is in this file, as `Authorization: Bearer …`: in no argument, which every user of this machine sees
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

impl HeaderArgs {
    /// The headers. `is_url` is whether what is talked to is a server over HTTP.
    ///
    /// # Errors
    /// One is no header; a variable is not there; there is no server to send them to.
    pub(super) fn read(&self, is_url: bool) -> Result<HeaderMap> {
        if !is_url && (!self.headers.is_empty() || self.token_file.is_some()) {
            bail!("--header and --token-file are for a server that is reached by its URL");
        }
        self.read_from(|name| std::env::var(name).ok())
    }

    fn read_from(&self, variable: impl Fn(&str) -> Option<String>) -> Result<HeaderMap> {
        let mut headers = HeaderMap::new();
        for (number, text) in (1..).zip(&self.headers) {
            let (name, value) = text.split_once(':').with_context(|| format!("header {number} has no colon: {EXAMPLE}"))?;
            // Neither is what is before the colon shown: it may be a part of a value.
            let name: HeaderName = name.trim().parse().map_err(|_| anyhow!("the name of header {number} is none: {EXAMPLE}"))?;
            let value = filled(value, &variable).with_context(|| format!("--header {name}"))?;
            let unfit = || format!("the value of --header {name} has a character that no header may hold, such as an end of line");
            let mut value = HeaderValue::from_str(value.trim()).ok().with_context(unfit)?;
            value.set_sensitive(true);
            headers.append(name, value);
        }
        if let Some(path) = &self.token_file {
            if headers.contains_key(AUTHORIZATION) {
                bail!("--header Authorization and --token-file: one of them is enough");
            }
            headers.insert(AUTHORIZATION, token(path).with_context(|| format!("--token-file {}", path.display()))?);
        }
        Ok(headers)
    }
}

/// The header of the token in a file, which has nothing else in it.
fn token(path: &Path) -> Result<HeaderValue> {
    let mut text = String::new();
    File::open(path).and_then(|file| file.take(TOKEN_FILE_BYTES).read_to_string(&mut text)).context("it cannot be read")?;
    let token = text.trim();
    if token.is_empty() || token.contains(char::is_whitespace) {
        bail!("it has to have one token in it, and nothing else");
    }
    let mut value = HeaderValue::try_from(format!("Bearer {token}")).ok().context("it has something in it that no token has")?;
    value.set_sensitive(true);
    Ok(value)
}

/// A value with its variables in place. What is no variable's name stays as it is.
fn filled(value: &str, variable: &impl Fn(&str) -> Option<String>) -> Result<String> {
    let (mut filled, mut rest) = (String::new(), value);
    while let Some((before, after)) = rest.split_once("${") {
        filled += before;
        match after.split_once('}').filter(|(name, _)| is_variable(name)) {
            Some((name, after)) => {
                filled += &variable(name).with_context(|| format!("the environment has no variable {name}: set it, or export it"))?;
                rest = after;
            }
            None => {
                filled += "${";
                rest = after;
            }
        }
    }
    Ok(filled + rest)
}

/// As a shell has it (POSIX, Base Definitions, 3.216 Name).
fn is_variable(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(headers: &[&str]) -> Result<HeaderMap> {
        let args = HeaderArgs { headers: headers.iter().map(|&header| header.to_owned()).collect(), token_file: None };
        args.read_from(|name| match name {
            "TOKEN" => Some("s3cret".into()),
            "LINES" => Some("s3cret\nmore".into()),
            _ => None,
        })
    }

    #[test]
    fn a_header_is_name_and_value_and_may_come_twice() {
        let headers = read(&["X-One: a: b", "x-one:c", "Authorization: Bearer ${TOKEN}", "X-Odd: $TOKEN ${} ${a b} ${"]).unwrap();
        assert_eq!(headers.get_all("x-one").iter().collect::<Vec<_>>(), ["a: b", "c"]);
        assert_eq!(headers["authorization"], "Bearer s3cret");
        assert_eq!(headers["x-odd"], "$TOKEN ${} ${a b} ${", "only what is a variable is one");
    }

    #[test]
    fn no_error_and_no_log_has_the_value() {
        let wrong = ["s3cret", "s3 cret: s3cret", "X-A: s3cret\nX-B: b", "X-A: ${LINES}", "X-A: s3cret ${NONE}", ": s3cret"];
        for header in wrong {
            let error = format!("{:#}", read(&[header]).unwrap_err());
            assert!(!error.contains("s3"), "{header}: {error}");
        }
        assert!(format!("{:#}", read(&["X-A: ${NONE}"]).unwrap_err()).contains("NONE"), "the variable's name is no secret");
        assert!(!format!("{:?}", read(&["X-A: s3cret"]).unwrap()).contains("s3cret"));
    }

    #[test]
    fn without_a_url_there_is_nobody_to_send_them_to() {
        assert!(HeaderArgs { headers: vec!["a: b".into()], token_file: None }.read(false).unwrap_err().to_string().contains("URL"));
        assert!(HeaderArgs::default().read(false).unwrap().is_empty());
    }

    #[test]
    fn a_token_comes_from_a_file_that_has_nothing_else_in_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let with = |content: &str, headers: &[&str]| {
            std::fs::write(file.path(), content).unwrap();
            let headers = headers.iter().map(|&header| header.to_owned()).collect();
            HeaderArgs { headers, token_file: Some(file.path().to_owned()) }.read(true)
        };
        let headers = with("wharf_s3cret\n", &[]).unwrap();
        assert!(headers[AUTHORIZATION] == "Bearer wharf_s3cret" && headers[AUTHORIZATION].is_sensitive());
        for content in ["", "\n", "s3cret s3cret", "s3cret\ns3cret", "s3\u{1}cret"] {
            let error = format!("{:#}", with(content, &[]).unwrap_err());
            assert!(!error.contains("s3"), "{error}");
        }
        assert!(with("s3cret", &["Authorization: Bearer s3cret"]).is_err());
        assert!(HeaderArgs { token_file: Some("/nowhere".into()), ..HeaderArgs::default() }.read(true).is_err());
    }
}
