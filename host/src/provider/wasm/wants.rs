//! What a component wants and is not granted, and what it is granted beyond reason: said once, when it is loaded.

use super::{Spec, engine::Runtime};
use crate::{
    config::Grants,
    provider::grants::broad::{broad, home},
};

/// An interface that does nothing without a grant.
struct Want {
    interface: &'static str,
    /// What a component that imports it does, and what it lacks then.
    lacks: &'static str,
    is_granted: fn(&Grants) -> bool,
    /// The lines that would give it.
    lines: &'static str,
}

const WANTS: [Want; 3] = [
    Want {
        interface: "file-watch",
        lacks: "watches files, and is granted no folder",
        is_granted: |grants| !grants.folders.is_empty(),
        lines: "folders = [{ host = \"…\", guest = \"/…\" }]",
    },
    Want {
        interface: "fetch",
        lacks: "asks others over HTTP, and is granted no host",
        is_granted: |grants| !grants.hosts.is_empty(),
        lines: "hosts = [\"…\"]",
    },
    Want {
        interface: "store",
        lacks: "keeps state, and is granted none",
        is_granted: |grants| grants.state.is_some(),
        lines: "state = \"1MiB\"",
    },
];

/// What the component that imports these does not get from these grants.
pub(super) fn ungranted(imports: &[String], grants: &Grants) -> Vec<String> {
    let is_imported = |want: &&Want| imports.iter().any(|import| is(import, want.interface));
    let wanted = WANTS.iter().filter(is_imported).filter(|want| !(want.is_granted)(grants));
    wanted.map(|Want { lacks, lines, .. }| format!("it {lacks}: [provider.grants] {lines}")).collect()
}

fn is(import: &str, interface: &str) -> bool {
    let rest = import.strip_prefix("wharf:provider/").and_then(|import| import.strip_prefix(interface));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('@'))
}

/// Says it in the log. Looks at the granted folders, off the async threads.
pub(super) async fn say(runtime: &Runtime, imports: &[String], spec: &Spec) {
    let name = &spec.name;
    for want in ungranted(imports, &spec.grants) {
        if let Some(want) = runtime.first_time(name, want) {
            tracing::info!(provider = &**name, "{want}, in the [[provider]] named {name:?} of wharf.toml");
        }
    }
    if spec.grants.is_empty() {
        return;
    }
    let grants = spec.grants.clone();
    let looked = tokio::task::spawn_blocking(move || broad(&grants, home().as_deref()));
    // A mount that does not answer keeps nobody waiting for a warning.
    if let Ok(Ok(found)) = tokio::time::timeout(spec.limits.deadline, looked).await {
        for warning in found {
            runtime.warn_once(name, warning);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_imported_and_not_granted_is_named_with_its_lines() {
        let imports = |names: &[&str]| names.iter().map(|name| format!("wharf:provider/{name}@0.1.0")).collect::<Vec<_>>();
        let none = Grants::default();
        assert_eq!(ungranted(&imports(&["settings", "timers"]), &none), [""; 0]);
        let wanted = ungranted(&imports(&["file-watch", "fetch", "store"]), &none);
        assert!(wanted.len() == 3 && wanted[0].ends_with("[provider.grants] folders = [{ host = \"…\", guest = \"/…\" }]"), "{wanted:?}");
        let granted = Grants { state: Some(1), ..Grants::default() };
        assert_eq!(ungranted(&imports(&["store", "stores"]), &granted), [""; 0]);
    }
}
