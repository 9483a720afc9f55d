//! Who asks, and what it may see.

use std::{collections::BTreeSet, sync::Arc};

/// Who asks: everything that lists, reads, completes or subscribes is told.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Caller {
    name: Option<Arc<str>>,
    view: View,
}

/// What a caller may see. Callers of equal views get equal answers, and share what is kept of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum View {
    /// All providers.
    #[default]
    Everything,
    /// The providers of these names, whether there are any at the moment or not. The others do not exist for the caller.
    Only(Arc<BTreeSet<Arc<str>>>),
}

impl Caller {
    /// Nobody in particular, who sees everything: the programs of this machine where nothing has to be proven, and the embedder itself.
    pub const fn anyone() -> Self {
        Self { name: None, view: View::Everything }
    }

    /// One that has proven who it is.
    pub fn named(name: impl Into<Arc<str>>, view: View) -> Self {
        Self { name: Some(name.into()), view }
    }

    /// Its name, for logs, traces and whom a session belongs to.
    pub fn name(&self) -> Option<&Arc<str>> {
        self.name.as_ref()
    }

    /// What it may see.
    pub fn view(&self) -> &View {
        &self.view
    }
}

impl Default for &Caller {
    /// Anyone.
    fn default() -> Self {
        static ANYONE: Caller = Caller::anyone();
        &ANYONE
    }
}

impl View {
    /// Whether it takes in the provider of this name.
    pub fn shows(&self, provider: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Only(names) => names.contains(provider),
        }
    }
}
