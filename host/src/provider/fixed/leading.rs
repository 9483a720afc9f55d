//! Registrations that lead all others and change together: those of wharf.toml.
//!
//! Invariants: nobody sees a state between the one before and the one after; what stays is not touched, so that nobody is told of it; an
//! error changes nothing.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use indexmap::IndexMap;

use super::{Entries, Entry, Fixed, RegisterError, Registration, What};

/// One of them, in their new order.
pub(crate) enum Leading {
    /// One that is there already, by its number.
    Stays(u64),
    /// A new one, or one in place of another of its name.
    New(Registration),
}

impl Entries {
    pub(super) fn entry(&mut self, Registration { name, what, read, watching }: Registration) -> (String, Arc<Entry>) {
        self.ids += 1;
        (name, Arc::new(Entry { id: self.ids, what, read, watching }))
    }
}

impl Fixed {
    /// Puts these before all others, in place of those that led `before`; returns their numbers, in their order.
    ///
    /// # Errors
    /// [`RegisterError::DuplicateName`], for the name of one that is none of them.
    pub(crate) fn lead(&self, before: &[u64], leading: Vec<Leading>) -> Result<Vec<u64>, RegisterError> {
        let mut entries = self.entries.write();
        let led: HashSet<u64> = before.iter().copied().collect();
        let taken = |name: &String| entries.by_name.get(name).is_some_and(|entry| !led.contains(&entry.id));
        if let Some(Leading::New(other)) = leading.iter().find(|one| matches!(one, Leading::New(one) if taken(&one.name))) {
            return Err(RegisterError::DuplicateName(other.name.clone()));
        }
        let all = std::mem::take(&mut entries.by_name);
        let (old, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, entry)| led.contains(&entry.id));
        let mut old: HashMap<u64, (String, Arc<Entry>)> = old.into_iter().map(|(name, entry)| (entry.id, (name, entry))).collect();
        let (mut by_name, mut changed, mut ids) = (IndexMap::new(), Vec::new(), Vec::with_capacity(leading.len()));
        for one in leading {
            let (name, entry) = match one {
                Leading::New(registration) => {
                    let (name, entry) = entries.entry(registration);
                    changed.push(entry.clone());
                    (name, entry)
                }
                Leading::Stays(id) => {
                    let Some(found) = old.remove(&id) else { continue };
                    found
                }
            };
            ids.push(entry.id);
            by_name.insert(name, entry);
        }
        changed.extend(old.into_values().map(|(_, entry)| entry));
        let moved = ids != before;
        if moved {
            // A URI that two of them have may be the other's now.
            changed.extend(by_name.values().cloned());
        }
        by_name.extend(others);
        entries.by_uri.clear();
        for entry in by_name.values() {
            if let What::Resource(info) = &entry.what {
                entries.by_uri.entry(info.uri.clone()).or_default().push(entry.clone());
            }
        }
        entries.by_name = by_name;
        drop(entries);
        if moved {
            changed.iter().for_each(|entry| self.changes_hands(&entry.what));
            self.tell_change();
        }
        Ok(ids)
    }
}
