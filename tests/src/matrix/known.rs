//! `tests/clients/known.toml`: which steps do not hold, and why.

use std::fs;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::{CLIENTS, Client, STEPS, Way};
use crate::root;

/// One reason, and the steps it explains.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    pub client: String,
    /// Absent: all ways of the client.
    ways: Option<Vec<Way>>,
    pub steps: Vec<String>,
    /// What is the matter, for the reader of COMPATIBILITY.md.
    pub reason: String,
    /// Where it can be seen, if it is the client's: its source, its issue.
    pub evidence: Option<String>,
}

/// All that is known.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    #[serde(default)]
    known: Vec<Entry>,
}

impl Known {
    /// Reads the file.
    ///
    /// # Errors
    /// It is no TOML of this form, or an entry names a client, a way or a step that there is not.
    pub fn load() -> Result<Self> {
        let path = root().join("tests/clients/known.toml");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    fn parse(text: &str) -> Result<Self> {
        let known: Self = toml::from_str(text)?;
        for entry in &known.known {
            let Some(client) = CLIENTS.iter().find(|client| client.id == entry.client) else {
                bail!("there is no client {:?}", entry.client);
            };
            if let Some(way) = entry.ways.iter().flatten().find(|way| !client.ways.contains(way)) {
                bail!("{} is not tried by {way:?}", client.id);
            }
            if let Some(step) = entry.steps.iter().find(|step| !STEPS.contains(&step.as_str())) {
                bail!("there is no step {step:?}");
            }
        }
        Ok(known)
    }

    /// What explains this step.
    pub(super) fn explains(&self, client: &Client, way: Way, step: &str) -> Option<&Entry> {
        self.of(client, way).find(|entry| entry.steps.iter().any(|explained| explained == step))
    }

    /// All that is known of a client by this way.
    pub(super) fn of(&self, client: &Client, way: Way) -> impl Iterator<Item = &Entry> {
        let id = client.id;
        self.known.iter().filter(move |entry| entry.client == id && entry.ways.as_ref().is_none_or(|ways| ways.contains(&way)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_without_ways_is_of_all_ways() {
        let known = Known::parse("[[known]]\nclient = 'ts-sdk'\nsteps = ['list']\nreason = 'r'").unwrap();
        assert!(known.explains(&CLIENTS[0], Way::Attached, "list").is_some());
        assert!(known.explains(&CLIENTS[0], Way::Attached, "text").is_none());
        assert!(known.explains(&CLIENTS[1], Way::Attached, "list").is_none());
        let known = Known::parse("[[known]]\nclient = 'ts-sdk'\nways = ['http']\nsteps = ['list']\nreason = 'r'").unwrap();
        assert!(known.explains(&CLIENTS[0], Way::Attached, "list").is_none());
    }

    #[test]
    fn what_there_is_not_cannot_be_known() {
        for (entry, said) in [
            ("client = 'x'\nsteps = []\nreason = 'r'", "no client \"x\""),
            ("client = 'ts-sdk'\nsteps = ['lits']\nreason = 'r'", "no step \"lits\""),
            ("client = 'ts-sdk'\nways = ['smoke']\nsteps = []\nreason = 'r'", "smoke"),
        ] {
            let error = format!("{:#}", Known::parse(&format!("[[known]]\n{entry}")).unwrap_err());
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn the_file_is_as_it_should_be() {
        Known::load().unwrap();
    }
}
