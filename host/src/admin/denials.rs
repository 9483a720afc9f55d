//! What providers were denied, with the lines that would allow it: the one source of it for `/grants`, `/status` and `wharf grants`.

use serde_json::{Value, json};

use super::{Admin, DeniedStatus};
use crate::provider::grants::{Denied, Rights};

/// What one provider was denied, and how often it was denied other things than are remembered.
pub(super) fn of(rights: &Rights) -> (Vec<DeniedStatus>, u64) {
    let (denied, others) = rights.denied();
    (denied.into_iter().map(|Denied { need, times }| DeniedStatus { line: need.to_string(), times }).collect(), others)
}

/// How often it was denied anything.
pub(super) fn times(rights: &Rights) -> u64 {
    let (denied, others) = rights.denied();
    denied.iter().map(|denied| denied.times).sum::<u64>() + others
}

impl Admin {
    /// What a running host says to `wharf grants`.
    pub(super) fn grants(&self) -> Value {
        let rights = self.runtime.upgrade().map(|runtime| runtime.all_rights()).unwrap_or_default();
        let of_one = |rights: &Rights| {
            let (denied, others) = of(rights);
            json!({ "name": &**rights.provider(), "denied": denied, "others": others })
        };
        json!({ "providers": rights.iter().map(of_one).collect::<Vec<_>>() })
    }
}
