//! Sizes and durations as people write them.

use std::time::Duration;

use serde::{Deserialize, Deserializer, de::Error};

/// The longest duration: the contract with providers has milliseconds in 32 bits.
const LONGEST: Duration = Duration::from_millis(u32::MAX as u64);

const UNITS: [(&str, u64); 7] =
    [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("kB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("B", 1)];

/// Bytes, or text such as `128MiB`.
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub(super) enum Size {
    Bytes(u64),
    Text(String),
}

/// A number of bytes, or text such as `128MiB`.
pub(super) fn bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let bytes = match Size::deserialize(deserializer).map_err(|_| D::Error::custom("a size is bytes, or text such as \"128MiB\""))? {
        Size::Bytes(bytes) => bytes,
        Size::Text(text) => parse(&text).ok_or_else(|| D::Error::custom(format!("{text:?} is no size: write \"128MiB\"")))?,
    };
    if bytes == 0 {
        return Err(D::Error::custom("a size must be more than nothing"));
    }
    Ok(Some(bytes))
}

fn parse(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit.trim_start())?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

/// Text such as `2s` or `500ms`.
pub(super) fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let duration =
        humantime::parse_duration(&text).map_err(|_| D::Error::custom(format!("{text:?} is no duration: write \"2s\" or \"500ms\"")))?;
    if duration.is_zero() || duration > LONGEST {
        return Err(D::Error::custom("a duration must be more than nothing, and at most 49 days"));
    }
    Ok(Some(duration))
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Time {
    Toml(toml::value::Datetime),
    Text(String),
}

/// A point in time (RFC 3339), as TOML has it or as text, in milliseconds since 1970-01-01T00:00:00Z.
pub(super) fn timestamp<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let text = match Time::deserialize(deserializer)? {
        Time::Toml(time) => time.to_string(),
        Time::Text(text) => text,
    };
    let wrong = || D::Error::custom(format!("{text:?} is no point in time: write 2026-11-30T12:00:00Z"));
    let time = humantime::parse_rfc3339(&text).map_err(|_| wrong())?;
    let since = time.duration_since(std::time::UNIX_EPOCH).map_err(|_| wrong())?;
    Ok(Some(u64::try_from(since.as_millis()).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_a_unit() {
        assert_eq!(parse("128MiB"), Some(128 << 20));
        assert_eq!(parse("2 kB"), Some(2_000));
        for text in ["128", "MiB", "1.5GiB", "-1B", "99999999999GiB", "1 mib"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
