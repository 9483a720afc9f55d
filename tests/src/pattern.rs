//! Patterns of JSON: what a client needs to find in a message.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// Whether a value is like a pattern:
/// - `"$any"` is anything that is there, `"$absent"` nothing; `"$string"`, `"$number"`, `"$array"`, `"$object"` are any such; `"$contains x"` is a
///   string with `x` in it;
/// - an object has at least the pattern's keys, as clients pass over those they do not know;
/// - `["$each", p]` is an array of at least one, each like `p`; `["$has", p, q]` one with something like `p` and something like `q`; any other
///   array is of that length, each like the pattern at its place;
/// - all else is the same value.
///
/// # Errors
/// It is not; says where.
pub fn matches(pattern: &Value, value: &Value) -> Result<()> {
    let alike = match (pattern, value) {
        (Value::String(pattern), value) if pattern.starts_with('$') => match &**pattern {
            "$any" => true,
            "$string" => value.is_string(),
            "$number" => value.is_number(),
            "$array" => value.is_array(),
            "$object" => value.is_object(),
            _ => match pattern.strip_prefix("$contains ") {
                Some(part) => value.as_str().is_some_and(|text| text.contains(part)),
                None => bail!("{pattern} is no pattern"),
            },
        },
        (Value::Object(pattern), Value::Object(object)) => {
            for (key, pattern) in pattern {
                match object.get(key) {
                    None if pattern == "$absent" => {}
                    Some(_) if pattern == "$absent" => bail!("`{key}` is there"),
                    None => bail!("`{key}` is missing"),
                    Some(value) => matches(pattern, value).with_context(|| format!("in `{key}`"))?,
                }
            }
            true
        }
        (Value::Array(patterns), Value::Array(values)) => match &patterns[..] {
            [first, each] if first == "$each" => {
                ensure!(!values.is_empty(), "there is none");
                for value in values {
                    matches(each, value)?;
                }
                true
            }
            [first, wanted @ ..] if first == "$has" => {
                for pattern in wanted {
                    ensure!(values.iter().any(|value| matches(pattern, value).is_ok()), "nothing is like {pattern}");
                }
                true
            }
            patterns => {
                ensure!(patterns.len() == values.len(), "there are {} instead of {}", values.len(), patterns.len());
                for (pattern, value) in patterns.iter().zip(values) {
                    matches(pattern, value)?;
                }
                true
            }
        },
        (pattern, value) => pattern == value,
    };
    ensure!(alike, "{value} is not like {pattern}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pattern_is_as_strict_as_it_says() {
        for (pattern, value, alike) in [
            (json!(1), json!(1), true),
            (json!(1), json!("1"), false),
            (json!("$any"), json!(null), true),
            (json!("$string"), json!(1), false),
            (json!("$contains b"), json!("abc"), true),
            (json!("$contains b"), json!("ac"), false),
            (json!("$nonsense"), json!("$nonsense"), false),
            (json!({ "a": 1 }), json!({ "a": 1, "b": 2 }), true),
            (json!({ "a": { "b": 1 } }), json!({ "a": { "b": 2 } }), false),
            (json!({ "a": "$any" }), json!({}), false),
            (json!({ "a": "$absent" }), json!({}), true),
            (json!({ "a": "$absent" }), json!({ "a": null }), false),
            (json!([]), json!([1]), false),
            (json!(["$number"]), json!([1]), true),
            (json!(["$each", "$number"]), json!([1, 2]), true),
            (json!(["$each", "$number"]), json!([]), false),
            (json!(["$each", "$number"]), json!([1, "a"]), false),
            (json!(["$has", 2]), json!([1, 2]), true),
            (json!(["$has", 3]), json!([1, 2]), false),
        ] {
            assert_eq!(matches(&pattern, &value).is_ok(), alike, "{pattern} {value}");
        }
    }
}
