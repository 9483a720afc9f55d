//! What the host asks for.

/// Names and values of a template's variables, decoded, in the order of the URI. An exploded one (`{/seg*}`) is there once for each value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Variables(pub(crate) Vec<(String, String)>);

impl Variables {
    /// The first value of this name. `None`: the URI leaves it out.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// All values of this name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// All there are.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl<N: Into<String>, V: Into<String>, const L: usize> From<[(N, V); L]> for Variables {
    fn from(variables: [(N, V); L]) -> Self {
        Self(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

/// A request for one resource.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    pub(crate) uri: String,
    pub(crate) variables: Variables,
    pub(crate) if_none_match: Option<String>,
}

impl Request {
    /// One without variables; for tests.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), ..Self::default() }
    }

    /// The URI as the client sent it. There is no need to parse it: that is done.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The value of a template's variable, decoded; empty if the URI leaves it out. See [`given`](Self::given) for one that may be left out.
    pub fn variable(&self, name: &str) -> &str {
        self.variables.get(name).unwrap_or_default()
    }

    /// The value of a template's variable, if the URI has it: `{?from,to}`.
    pub fn given(&self, name: &str) -> Option<&str> {
        self.variables.get(name)
    }

    /// All variables; of an exploded one (`{/seg*}`) each value.
    pub fn variables(&self) -> &Variables {
        &self.variables
    }

    /// The version of this resource that the host still holds. If the reading has this version the host is told that it is unchanged:
    /// look at it where that spares work.
    pub fn if_none_match(&self) -> Option<&str> {
        self.if_none_match.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_is_left_out_is_empty_and_not_given() {
        let request = Request { variables: [("seg", "a"), ("seg", "b"), ("to", "")].into(), ..Request::new("x://a/b?to=") };
        assert_eq!((request.variable("seg"), request.variable("from"), request.variable("to")), ("a", "", ""));
        assert_eq!((request.given("from"), request.given("to")), (None, Some("")));
        assert_eq!(request.variables().all("seg").collect::<Vec<_>>(), ["a", "b"]);
    }
}
