//! One provider's grants, and what it was denied since the host started.

use std::{collections::HashMap, fmt, sync::Arc};

use indexmap::IndexMap;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::{
    Secrets,
    http::MAX_LOOKUPS_OF_ONE,
    webhooks::{Gate, Memory},
};
use crate::{
    config::{Grants, check_name},
    provider::tally::Witness,
};

/// Different things of one provider that are remembered as denied. Who asks for more wants no list.
const REMEMBERED: usize = 100;
/// Characters of what was wanted that are shown: a guest chooses them.
const SHOWN: usize = 200;

/// What a provider wanted, and has no grant for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Need {
    /// To ask this host, as `hosts` would name it.
    Host(String),
    /// To ask an address that is not public: as `hosts` would name it, and the name that led there.
    Address(String, String),
    /// To watch this path.
    Folder(String),
    /// To keep something: so many bytes, if it has a store that is too small.
    State(Option<u64>),
    /// To receive a webhook of this name.
    Webhook(String),
}

/// The line of `[provider.grants]`.
impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(host) | Self::Address(host, _) => write!(f, "hosts = [{host:?}]"),
            Self::Folder(path) => write!(f, "folders = [{{ host = \"…\", guest = {path:?} }}]"),
            Self::State(Some(bytes)) => write!(f, "state = \"{}MiB\"", bytes.div_ceil(1 << 20).max(1)),
            Self::State(None) => f.write_str("state = \"1MiB\""),
            Self::Webhook(name) => write!(f, "webhooks = [{{ name = {name:?} }}]"),
        }
    }
}

impl Need {
    /// What was wanted, in words.
    fn wanted(&self) -> String {
        match self {
            Self::Host(host) => format!("to ask {host} over HTTP"),
            Self::Address(address, name) => format!("to ask {name}, which leads to {address}, an address that is not public"),
            Self::Folder(path) => format!("to watch {path:?}"),
            Self::State(Some(_)) => "to keep more than its store may have".into(),
            Self::State(None) => "to keep something".into(),
            Self::Webhook(name) => format!("to receive the webhook {name:?}"),
        }
    }
}

/// Something that a provider was denied, and how often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    /// What.
    pub need: Need,
    /// How often.
    pub times: u64,
}

/// Denials of one provider, over all of its generations.
#[derive(Debug, Default)]
struct Denials {
    known: IndexMap<Need, u64>,
    /// Those past [`REMEMBERED`].
    others: u64,
}

/// What is kept of each of its webhooks, by name.
type Memories = HashMap<String, Arc<Memory>>;

/// One provider's grants, with its secrets. Cheap to clone; what was denied, and what its webhooks took, is shared with those of its other
/// generations.
#[derive(Debug, Clone)]
pub struct Rights {
    provider: Arc<str>,
    grants: Arc<Grants>,
    secrets: Arc<Secrets>,
    denials: Arc<Mutex<Denials>>,
    memories: Arc<Mutex<Memories>>,
    lookups: Arc<Semaphore>,
    witness: Option<Arc<dyn Witness>>,
}

impl Rights {
    /// Nothing was denied yet.
    pub fn new(provider: Arc<str>, grants: Arc<Grants>) -> Self {
        Self {
            provider,
            grants,
            secrets: Arc::default(),
            denials: Arc::default(),
            memories: Arc::default(),
            lookups: Arc::new(Semaphore::new(MAX_LOOKUPS_OF_ONE)),
            witness: None,
        }
    }

    /// The same, with each denial told to this one.
    #[must_use]
    pub fn watched_by(self, witness: Arc<dyn Witness>) -> Self {
        Self { witness: Some(witness), ..self }
    }

    /// The same provider with these grants, and what is secret of them.
    #[must_use]
    pub fn with(&self, grants: Arc<Grants>, secrets: Arc<Secrets>) -> Self {
        // What is granted no more is remembered no more.
        self.memories.lock().retain(|name, _| grants.webhooks.iter().any(|webhook| webhook.name == *name));
        Self { grants, secrets, ..self.clone() }
    }

    /// Whose they are.
    pub fn provider(&self) -> &Arc<str> {
        &self.provider
    }

    /// What it may do.
    pub fn grants(&self) -> &Arc<Grants> {
        &self.grants
    }

    /// Turns for looking up names.
    pub(crate) fn lookups(&self) -> &Arc<Semaphore> {
        &self.lookups
    }

    /// What of them is secret.
    pub fn secrets(&self) -> &Arc<Secrets> {
        &self.secrets
    }

    /// What stands before the webhook of this name. None if it is not granted, which counts as a denial if somebody would be there to take it.
    pub fn gate(&self, name: &str, would_take: bool) -> Option<Gate> {
        let memory = || self.memories.lock().entry(name.to_owned()).or_default().clone();
        let gate = Gate::new(self.provider.clone(), &self.grants, &self.secrets, name, memory);
        // Whoever sends requests chooses the name: one that cannot be granted is not worth a word.
        if gate.is_none() && would_take && check_name(name).is_ok() {
            self.deny(Need::Webhook(name.to_owned()));
        }
        gate
    }

    /// Counts a denial, tells it in the log if it is the first of its kind, and gives what to tell the provider: which lines would allow it.
    pub fn deny(&self, need: Need) -> String {
        let need = need.without(&self.secrets).cut();
        let message = format!(
            "not granted {}: wharf.toml would allow it, in the [[provider]] named {:?}, by: [provider.grants] {need}",
            need.wanted(),
            self.provider
        );
        let mut denials = self.denials.lock();
        let Denials { known, others } = &mut *denials;
        let line = self.witness.as_ref().filter(|witness| witness.is_watching()).map(|witness| (witness, need.to_string()));
        let (first, times) = if let Some(times) = known.get_mut(&need) {
            *times += 1;
            (false, *times)
        } else if known.len() < REMEMBERED {
            (known.insert(need, 1).is_none(), 1)
        } else {
            *others += 1;
            (*others == 1, 1)
        };
        drop(denials);
        if let Some((witness, line)) = line {
            witness.denied(&self.provider, &line, times);
        }
        if first {
            tracing::warn!(provider = &*self.provider, "{message}");
        }
        message
    }

    /// What it was denied, in the order in which it first was, and how many other things.
    pub fn denied(&self) -> (Vec<Denied>, u64) {
        let denials = self.denials.lock();
        (denials.known.iter().map(|(need, times)| Denied { need: need.clone(), times: *times }).collect(), denials.others)
    }
}

impl Need {
    fn texts(&mut self) -> Vec<&mut String> {
        match self {
            Self::Host(text) | Self::Folder(text) | Self::Webhook(text) => vec![text],
            Self::Address(address, name) => vec![address, name],
            Self::State(_) => Vec::new(),
        }
    }

    fn without(mut self, secrets: &Secrets) -> Self {
        self.texts().into_iter().for_each(|text| secrets.hide_in(text));
        self
    }

    fn cut(mut self) -> Self {
        self.texts().into_iter().for_each(cut);
        self
    }
}

fn cut(text: &mut String) {
    if let Some((at, _)) = text.char_indices().nth(SHOWN) {
        text.truncate(at);
        text.push('…');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::grants::{Secret, Variable};

    fn rights() -> Rights {
        Rights::new("repo".into(), Arc::default())
    }

    #[test]
    fn a_denial_says_which_line_would_allow_it_and_is_counted() {
        let rights = rights();
        let message = rights.deny(Need::Host("api.example.com".into()));
        assert!(message.contains("\"repo\"") && message.ends_with("[provider.grants] hosts = [\"api.example.com\"]"), "{message}");
        rights.with(Arc::default(), Arc::default()).deny(Need::Host("api.example.com".into()));
        let (denied, others) = rights.denied();
        assert_eq!((denied, others), (vec![Denied { need: Need::Host("api.example.com".into()), times: 2 }], 0), "over generations");
    }

    #[test]
    fn a_secret_is_in_no_denial() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "hunter22").unwrap();
        let env = vec![Variable { name: "A".into(), value: Secret::File(file.path().into()) }];
        let grants = Arc::new(Grants { env, ..Grants::default() });
        let rights = rights().with(grants.clone(), Arc::new(Secrets::read(&grants)));
        // Also where the cut goes through it.
        for need in
            [Need::Host(format!("https://a/?{}hunter22", "b".repeat(SHOWN - 14))), Need::Address("hunter22".into(), "hunter22".into())]
        {
            let message = rights.deny(need);
            assert!(!message.contains("hunt"), "{message}");
        }
        assert!(!format!("{rights:?} {:?}", rights.denied()).contains("hunt"));
    }

    #[test]
    fn a_webhook_that_is_not_granted_is_a_denial_only_if_the_provider_would_take_it() {
        let rights = rights();
        for (name, would_take, denials) in [("push", false, 0), ("push", true, 1), ("../etc", true, 1), ("push", true, 1)] {
            assert!(rights.gate(name, would_take).is_none());
            assert_eq!(rights.denied().0.len(), denials, "{name}");
        }
    }

    #[test]
    fn what_is_remembered_is_bounded_in_number_and_length() {
        let rights = rights();
        for n in 0..REMEMBERED + 7 {
            rights.deny(Need::Folder(format!("/{n}/{}", "ü".repeat(10_000))));
        }
        let (denied, others) = rights.denied();
        assert_eq!((denied.len(), others), (REMEMBERED, 7));
        assert!(matches!(&denied[0].need, Need::Folder(path) if path.chars().count() == SHOWN + 1));
    }
}
