//! Why there is no answer.

use std::fmt;

use crate::bindings::types;

/// Why a call gives no answer. The text is shown to the client's user and model: say what to do about it, and no secrets.
///
/// `?` makes [`Failed`](Error::Failed) of every error of the standard library or another crate, with its text and those of its sources.
/// (For that it is no `std::error::Error` itself.)
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// There is no such resource here. The host asks the next provider that may own the URI; any other error is final.
    NotFound,
    /// The request cannot be right: a variable that makes no sense.
    Invalid(String),
    /// It exists, and may not be had. From the host: no line of wharf.toml grants this; the text says which would.
    Denied(String),
    /// Not now; the same request may succeed later.
    Unavailable(String),
    /// Anything else.
    Failed(String),
}

/// What a handler gives.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// [`Invalid`](Error::Invalid), with what can be shown.
    pub fn invalid(text: impl Into<String>) -> Self {
        Self::Invalid(text.into())
    }

    /// [`Denied`](Error::Denied), with what can be shown.
    pub fn denied(text: impl Into<String>) -> Self {
        Self::Denied(text.into())
    }

    /// [`Unavailable`](Error::Unavailable), with what can be shown.
    pub fn unavailable(text: impl Into<String>) -> Self {
        Self::Unavailable(text.into())
    }

    /// [`Failed`](Error::Failed), with what can be shown.
    pub fn failed(text: impl Into<String>) -> Self {
        Self::Failed(text.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotFound => "not found",
            Self::Invalid(text) | Self::Denied(text) | Self::Unavailable(text) | Self::Failed(text) => text,
        })
    }
}

impl<E: std::error::Error> From<E> for Error {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(error) = source {
            text = text + ": " + &error.to_string();
            source = error.source();
        }
        Self::Failed(text)
    }
}

/// As the contract has it.
pub(crate) fn to_host(error: Error) -> types::Error {
    match error {
        Error::NotFound => types::Error::NotFound,
        Error::Invalid(text) => types::Error::Invalid(text),
        Error::Denied(text) => types::Error::Denied(text),
        Error::Unavailable(text) => types::Error::Unavailable(text),
        Error::Failed(text) => types::Error::Failed(text),
    }
}

/// As an import gave it.
#[cfg_attr(not(target_family = "wasm"), allow(dead_code))]
pub(crate) fn from_host(error: types::Error) -> Error {
    match error {
        types::Error::NotFound => Error::NotFound,
        types::Error::Invalid(text) => Error::Invalid(text),
        types::Error::Denied(text) => Error::Denied(text),
        types::Error::Unavailable(text) => Error::Unavailable(text),
        types::Error::Failed(text) => Error::Failed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_mark_makes_a_failure_of_any_error() {
        let parse = || -> Result<u32> { Ok("many".parse::<u32>()?) };
        assert_eq!(parse(), Err(Error::failed("invalid digit found in string")));
    }
}
