//! What a running host says to `wharf grants`.

use std::sync::Weak;

use serde_json::{Value, json};

use crate::provider::{
    grants::{Denied, Rights},
    wasm::Runtime,
};

/// JSON: of each provider its name, the lines that would allow what it was denied and how often that was, and how often it was denied other
/// things than are remembered.
pub(super) fn page(runtime: &Weak<Runtime>) -> Vec<u8> {
    let rights = runtime.upgrade().map(|runtime| runtime.all_rights()).unwrap_or_default();
    json!({ "providers": rights.iter().map(of_one).collect::<Vec<_>>() }).to_string().into_bytes()
}

fn of_one(rights: &Rights) -> Value {
    let (denied, others) = rights.denied();
    let denied: Vec<_> = denied.iter().map(|Denied { need, times }| json!({ "line": need.to_string(), "times": times })).collect();
    json!({ "name": &**rights.provider(), "denied": denied, "others": others })
}
