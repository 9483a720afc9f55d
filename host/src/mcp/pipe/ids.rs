//! Ids as they are compared: those of open requests with each other, and with that of a cancellation.
//!
//! Invariant: two ids are one exactly if they are the same JSON value, as far as JSON tells numbers apart.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::mcp::message::ID_CAP;

/// The id of the request that a `notifications/cancelled` is about.
pub fn cancelled(message: &[u8]) -> Option<Box<str>> {
    #[derive(Deserialize)]
    struct Cancelled<'a> {
        #[serde(borrow)]
        params: Params<'a>,
    }
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, rename = "requestId")]
        id: &'a RawValue,
    }
    let cancelled: Cancelled<'_> = serde_json::from_slice(message).ok()?;
    let id = cancelled.params.id.get();
    (id.len() <= ID_CAP).then(|| comparable(id))
}

/// An id as JSON in one form: the same string may be written in several ways, and so may the same number.
pub fn comparable(id: &str) -> Box<str> {
    /// Past it a double does not tell whole numbers apart (RFC 8259 §6), so such a one is compared as it is written.
    const EXACT: f64 = (1u64 << 53) as f64;
    if id.starts_with('"') {
        if !id.contains('\\') {
            return id.into();
        }
        return serde_json::from_str::<String>(id).map_or_else(|_| id.into(), |text| serde_json::Value::from(text).to_string().into());
    }
    let whole = id.contains(['.', 'e', 'E']).then(|| id.parse::<f64>().ok()).flatten().filter(|number| number.fract() == 0.0);
    whole.filter(|number| number.abs() < EXACT).map_or_else(|| id.into(), |number| format!("{number:.0}").into())
}

#[cfg(test)]
mod tests {
    use super::comparable;

    #[test]
    fn an_id_is_the_same_however_it_is_written() {
        for (one, other) in
            [("1", "1.0"), ("10", "1e1"), ("10", "1E+1"), ("-150", "-1.50e2"), ("\"a\"", "\"\\u0061\""), ("\"/\"", "\"\\/\"")]
        {
            assert_eq!(comparable(one), comparable(other), "{one} {other}");
        }
        let different =
            ["1", "\"1\"", "1.5", "15", "9007199254740993", "9007199254740992", "9007199254740993.0", "1e400", "1e401", "\"A\"", "\"a\""];
        for (at, one) in different.iter().enumerate() {
            for other in &different[at + 1..] {
                assert_ne!(comparable(one), comparable(other), "{one} {other}");
            }
        }
    }
}
