use std::sync::{Arc, Weak};

use super::Fixed;
use crate::uri::template::Template;

/// The URI is not of this template, or the template is not registered any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not of this template's family, or it is not registered any more")]
pub struct NotOwned(pub String);

/// A registered resource. Dropping the handle changes nothing.
#[derive(Clone)]
pub struct ResourceHandle {
    pub(super) fixed: Weak<Fixed>,
    pub(super) name: String,
    pub(super) id: u64,
    pub(super) uri: Arc<str>,
}

/// A registered template. Dropping the handle changes nothing.
#[derive(Clone)]
pub struct TemplateHandle {
    pub(super) fixed: Weak<Fixed>,
    pub(super) name: String,
    pub(super) id: u64,
    pub(super) template: Template,
}

impl ResourceHandle {
    /// Its URI.
    pub fn uri(&self) -> &Arc<str> {
        &self.uri
    }

    /// Its content has changed: whoever subscribed is told.
    pub fn notify_updated(&self) {
        if let Some(fixed) = registered(&self.fixed, &self.name, self.id) {
            fixed.announcer.updated(self.uri.clone());
        }
    }

    /// Takes it away. Whoever subscribed is told, and a provider that has the same URI takes over.
    pub fn unregister(&self) {
        if let Some(fixed) = self.fixed.upgrade() {
            fixed.remove(&self.name, self.id);
        }
    }
}

impl TemplateHandle {
    /// The content of one of its family has changed: whoever subscribed to it is told.
    ///
    /// # Errors
    /// [`NotOwned`].
    pub fn notify_updated(&self, uri: impl Into<Arc<str>>) -> Result<(), NotOwned> {
        let uri = uri.into();
        match registered(&self.fixed, &self.name, self.id) {
            Some(fixed) if self.template.matches(&uri).is_some() => {
                fixed.announcer.updated(uri);
                Ok(())
            }
            _ => Err(NotOwned(uri.to_string())),
        }
    }

    /// Its `list` would give something else now.
    pub fn notify_changed(&self) {
        if let Some(fixed) = registered(&self.fixed, &self.name, self.id) {
            fixed.tell_change();
        }
    }

    /// Takes it away, with all its family.
    pub fn unregister(&self) {
        if let Some(fixed) = self.fixed.upgrade() {
            fixed.remove(&self.name, self.id);
        }
    }
}

fn registered(fixed: &Weak<Fixed>, name: &str, id: u64) -> Option<Arc<Fixed>> {
    fixed.upgrade().filter(|fixed| fixed.get(name, id).is_some())
}
