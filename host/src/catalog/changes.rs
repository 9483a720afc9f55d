//! What differs between two states of one provider's lists.

use std::{collections::HashMap, sync::Arc};

use super::Lists;

/// What a reload changed in a provider's lists, in the order of the newer lists; what was removed, in that of the older.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// URIs that were not listed before.
    pub added: Vec<Arc<str>>,
    /// URIs that are not listed any more.
    pub removed: Vec<Arc<str>>,
    /// URIs that are listed with something else said of them.
    pub changed: Vec<Arc<str>>,
    /// Templates that were not there before.
    pub added_templates: Vec<Arc<str>>,
    /// Templates that are not there any more.
    pub removed_templates: Vec<Arc<str>>,
    /// Templates of which something else is said.
    pub changed_templates: Vec<Arc<str>>,
    /// What is in both stands in another order.
    pub reordered: bool,
}

impl Change {
    /// Whether the lists say the same.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Lists {
    pub(super) fn change_since(&self, before: &Self) -> Change {
        let resources =
            compare(before.resources.iter().map(|info| (&info.uri, &**info)), self.resources.iter().map(|info| (&info.uri, &**info)));
        let templates = compare(
            before.templates.iter().map(|(info, _)| (&info.uri_template, &**info)),
            self.templates.iter().map(|(info, _)| (&info.uri_template, &**info)),
        );
        Change {
            added: resources.added,
            removed: resources.removed,
            changed: resources.changed,
            added_templates: templates.added,
            removed_templates: templates.removed,
            changed_templates: templates.changed,
            reordered: resources.reordered || templates.reordered,
        }
    }
}

#[derive(Default)]
struct Difference {
    added: Vec<Arc<str>>,
    removed: Vec<Arc<str>>,
    changed: Vec<Arc<str>>,
    reordered: bool,
}

/// In each of both, a name comes once.
fn compare<'a, T: PartialEq + 'a>(
    before: impl Iterator<Item = (&'a Arc<str>, &'a T)>,
    after: impl Iterator<Item = (&'a Arc<str>, &'a T)>,
) -> Difference {
    let mut difference = Difference::default();
    let mut left: HashMap<&Arc<str>, (usize, &T)> = before.enumerate().map(|(at, (name, info))| (name, (at, info))).collect();
    let mut last = None;
    for (name, info) in after {
        match left.remove(name) {
            None => difference.added.push(name.clone()),
            Some((at, was)) => {
                if was != info {
                    difference.changed.push(name.clone());
                }
                difference.reordered |= last.is_some_and(|last| at < last);
                last = Some(at);
            }
        }
    }
    let mut removed: Vec<_> = left.into_iter().map(|(name, (at, _))| (at, name.clone())).collect();
    removed.sort_unstable();
    difference.removed = removed.into_iter().map(|(_, name)| name).collect();
    difference
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::{ResourceInfo, TemplateInfo};

    fn lists(resources: &[(&str, &str)], templates: &[(&str, &str)]) -> Lists {
        let resources = resources.iter().map(|(uri, name)| ResourceInfo::new(*uri, *name)).collect();
        Lists::check(resources, templates.iter().map(|(template, name)| TemplateInfo::new(*template, *name)).collect(), false)
    }

    #[test]
    fn what_came_what_went_and_what_says_something_else_is_told_apart() {
        let before = lists(&[("x://a", "a"), ("x://b", "b"), ("x://c", "c")], &[("x://{a}", "t")]);
        let after = lists(&[("x://d", "d"), ("x://b", "new"), ("x://c", "c")], &[("x://{a}", "u"), ("x://{b}", "t")]);
        let change = after.change_since(&before);
        let uris = |uris: &[&str]| uris.iter().map(|uri| Arc::from(*uri)).collect::<Vec<Arc<str>>>();
        let expected = Change {
            added: uris(&["x://d"]),
            removed: uris(&["x://a"]),
            changed: uris(&["x://b"]),
            added_templates: uris(&["x://{b}"]),
            removed_templates: Vec::new(),
            changed_templates: uris(&["x://{a}"]),
            reordered: false,
        };
        assert_eq!(change, expected);
        assert!(before.change_since(&before).is_empty());
    }

    #[test]
    fn another_order_is_a_change() {
        let (before, after) = (lists(&[("x://a", ""), ("x://b", "")], &[]), lists(&[("x://b", ""), ("x://a", "")], &[]));
        assert_eq!(after.change_since(&before), Change { reordered: true, ..Change::default() });
    }
}
