//! What a caller gives a tool, checked.
//!
//! Invariant: whatever is wrong is said in a sentence that a model can act on: which argument, what it must be, and what there is instead.

use std::time::Duration;

use serde_json::{Map, Value, value::RawValue};

/// What is wrong with the arguments, for the model.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrong(pub String);

/// The arguments of one call. One that is null counts as not given.
pub(super) struct Arguments(Map<String, Value>);

impl Arguments {
    /// Reads them; `known` are those that the tool has.
    pub fn read(raw: Option<&RawValue>, known: &[&str]) -> Result<Self, Wrong> {
        let given = match raw.map(RawValue::get) {
            None | Some("null") => Map::new(),
            Some(json) => match serde_json::from_str(json) {
                Ok(Value::Object(given)) => given,
                Ok(_) => return Err(Wrong(format!("`arguments` must be an object; it may have {}.", listed(known)))),
                Err(error) => return Err(Wrong(format!("`arguments` cannot be read: {error}."))),
            },
        };
        match given.keys().find(|name| !known.contains(&name.as_str())) {
            Some(name) => {
                Err(Wrong(format!("There is no argument `{}`; there is {}.", name.chars().take(100).collect::<String>(), listed(known))))
            }
            None => Ok(Self(given)),
        }
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// A text that has to be there.
    pub fn text(&self, name: &str) -> Result<&str, Wrong> {
        self.optional_text(name)?.ok_or_else(|| Wrong(format!("`{name}` is missing: give a text that is not empty.")))
    }

    /// A text that need not be there. An empty one is what models write for nothing.
    pub fn optional_text(&self, name: &str) -> Result<Option<&str>, Wrong> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.trim().is_empty())),
            Some(_) => Err(Wrong(format!("`{name}` must be a text."))),
        }
    }

    /// A whole number, lowered to `most`.
    pub fn whole(&self, name: &str, default: usize, most: usize) -> Result<usize, Wrong> {
        let wrong = || Wrong(format!("`{name}` must be a whole number, 0 or more."));
        match self.get(name) {
            None => Ok(default),
            Some(value) => {
                let number = value.as_f64().filter(|number| *number >= 0.0 && number.fract() == 0.0).ok_or_else(wrong)?;
                // A double that is past the range becomes the largest number, which `min` lowers.
                Ok((number as usize).min(most))
            }
        }
    }

    /// A number of seconds, lowered to `most`.
    pub fn seconds(&self, name: &str, default: Duration, most: Duration) -> Result<Duration, Wrong> {
        match self.get(name) {
            None => Ok(default),
            Some(value) => match value.as_f64() {
                Some(seconds) if seconds >= 0.0 => Ok(Duration::from_secs_f64(seconds.min(most.as_secs_f64()))),
                _ => Err(Wrong(format!("`{name}` must be a number of seconds, 0 or more."))),
            },
        }
    }

    /// A yes or no; no if it is not given.
    pub fn flag(&self, name: &str) -> Result<bool, Wrong> {
        match self.get(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(Wrong(format!("`{name}` must be true or false."))),
        }
    }

    /// Texts, at least one and at most so many.
    pub fn texts(&self, name: &str, most: usize) -> Result<Vec<&str>, Wrong> {
        let wrong = || Wrong(format!("`{name}` must be an array of 1 to {most} texts."));
        let given = self.get(name).and_then(Value::as_array).ok_or_else(wrong)?;
        if given.is_empty() || given.len() > most {
            return Err(wrong());
        }
        given.iter().map(|value| value.as_str().ok_or_else(wrong)).collect()
    }
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Arguments, Wrong> {
        Arguments::read(Some(&RawValue::from_string(json.into()).unwrap()), &["a", "b"])
    }

    #[test]
    fn what_is_wrong_names_the_argument_and_what_it_must_be() {
        for (json, said) in [("[]", "must be an object"), ("{\"lenght\":1}", "no argument `lenght`; there is `a`, `b`")] {
            assert!(read(json).err().unwrap().0.contains(said), "{json}");
        }
        let given = |json| read(json).unwrap();
        for (json, said) in [("{}", "`a` is missing"), ("{\"a\":\" \"}", "`a` is missing"), ("{\"a\":5}", "`a` must be a text")] {
            assert!(given(json).text("a").unwrap_err().0.contains(said), "{json}");
        }
        for json in ["{\"a\":-1}", "{\"a\":1.5}", "{\"a\":\"5\"}", "{\"a\":[]}"] {
            assert!(given(json).whole("a", 0, 9).unwrap_err().0.contains("`a` must be a whole number"), "{json}");
        }
        for json in ["{\"a\":-0.1}", "{\"a\":\"60\"}"] {
            assert!(given(json).seconds("a", Duration::ZERO, Duration::MAX).unwrap_err().0.contains("`a` must be a number of seconds"));
        }
        for json in ["{}", "{\"a\":\"x\"}", "{\"a\":[]}", "{\"a\":[1]}", "{\"a\":[\"1\",\"2\",\"3\"]}"] {
            assert!(given(json).texts("a", 2).unwrap_err().0.contains("`a` must be an array of 1 to 2 texts"), "{json}");
        }
        assert!(given("{\"a\":1}").flag("a").unwrap_err().0.contains("true or false"));
    }

    #[test]
    fn null_is_nothing_and_numbers_are_lowered() {
        let arguments = read("{\"a\":null,\"b\":1e300}").unwrap();
        assert_eq!(arguments.optional_text("a").unwrap(), None);
        assert_eq!(arguments.whole("a", 7, 9).unwrap(), 7);
        assert_eq!(arguments.whole("b", 7, 9).unwrap(), 9);
        assert_eq!(arguments.seconds("b", Duration::ZERO, Duration::from_secs(3600)).unwrap(), Duration::from_secs(3600));
        assert!(!arguments.flag("a").unwrap());
        assert!(Arguments::read(None, &[]).is_ok());
    }
}
