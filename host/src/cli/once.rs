//! A host for one question: it loads everything, answers, and ends.

use std::path::Path;

use anyhow::Result;
use wharf::{
    config::Watch,
    host::Host,
    plugins::{Fate, Loaded, Plan, Report},
};

use super::{
    compile,
    output::say,
    serve::run_to_end,
    sources::{SourceArgs, Sources},
};

/// Starts a host on these sources, waits until each of its providers is loaded or refused, and asks it. What was refused, or did not list,
/// is said on stderr: that is no failure of the question.
pub(super) fn ask<T>(sources: SourceArgs, question: impl AsyncFnOnce(&Host) -> Result<T>) -> Result<T> {
    let Sources { config, plugins, file } = sources.read()?;
    run_to_end(async {
        let builder =
            Host::builder().config(config).config_file(file).plugins(&plugins).watch(Watch::Off).compilation(compile::compilation());
        let host = builder.on_report(report).start().await?;
        complain(&plugins, host.plan());
        host.loaded().await;
        let answer = question(&host).await;
        host.close().await;
        answer
    })
}

fn report(Report { name, path, fate }: Report) {
    match fate {
        Fate::Refused { reason, .. } => say(&format!("refused {name}: {reason} ({})", path.display())),
        Fate::Loaded(loaded) => {
            if let Loaded { lists: Err(error), .. } = *loaded {
                say(&format!("warning: {name} did not list: {error}"));
            }
        }
        Fate::Restored | Fate::Removed => {}
    }
}

fn complain(folder: &Path, plan: &Plan) {
    if let Some(error) = &plan.unreadable {
        say(&format!("warning: the plugins folder {} cannot be read: {error}; name another with --plugins", folder.display()));
    }
    for (path, reason) in plan.misnamed.iter().chain(&plan.passed_over) {
        say(&format!("refused {}: {reason}", path.display()));
    }
}
