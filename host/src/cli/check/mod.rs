//! `wharf check`.

mod dry_run;
mod warnings;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, anyhow};
use serde_json::{Value, json};
use wharf::{
    catalog::Rules,
    config::Grants,
    plugins::{Plan, Planned},
    provider::{
        grants::http::{Client, Settings},
        wasm::{Compiled, Runtime, Spec},
    },
};

use self::dry_run::Findings;
pub(super) use self::warnings::{Warnings, is_about_a_provider};
use super::{
    compile,
    output::{self, count},
    serve::run_to_end,
    sources::{SourceArgs, Sources},
};

/// The contract's package: its interfaces are named without it.
const PACKAGE: &str = "wharf:provider/";

/// Arguments of `wharf check`.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The component
    #[arg(value_name = "FILE.wasm")]
    file: PathBuf,
    #[command(flatten)]
    sources: SourceArgs,
    /// For programs
    #[arg(long)]
    json: bool,
}

/// What is known of a component that could be loaded.
struct Loaded {
    compiled: Compiled,
    findings: Findings,
    /// What it could do with more grants.
    hints: Vec<String>,
}

/// Success if it breaks no rule.
pub(super) fn run(args: Args, warnings: &Warnings) -> Result<ExitCode> {
    let Args { file, sources, json } = args;
    let bytes = std::fs::metadata(&file).with_context(|| format!("cannot read {}", file.display()))?.len();
    let sources = sources.read()?;
    let client = Client::new(Settings::of(&sources.config.fetch).map_err(|error| anyhow!("[fetch] ca-file: {error}"))?);
    let planned = planned(&file, sources);
    let loaded = run_to_end(async {
        let runtime = Runtime::with(compile::compilation())?;
        // As a host would ask: nobody has asked yet.
        runtime.fetch_by(client);
        Ok(load(&runtime, planned).await)
    })?;
    let (loaded, mut broken) = match loaded {
        Ok(loaded) => (Some(loaded), Vec::new()),
        Err(refusal) => (None, vec![refusal]),
    };
    broken.extend(warnings.take());
    broken.extend(loaded.iter().flat_map(|loaded| loaded.findings.broken.iter().cloned()));
    if json {
        output::json(&in_json(&file, bytes, loaded.as_ref(), &broken))?;
    } else {
        output::lines(in_words(&file, bytes, loaded.as_ref(), &broken))?;
    }
    Ok(if broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn load(runtime: &std::sync::Arc<Runtime>, planned: Planned) -> Result<Loaded, String> {
    let compiled = runtime.load(&planned.spec.name, &planned.path).await.map_err(|refusal| refusal.to_string())?;
    let hints = hints(&compiled, &planned.spec.grants);
    let findings = dry_run::run(&compiled, planned).await.map_err(|refusal| refusal.to_string())?;
    Ok(Loaded { compiled, findings, hints })
}

/// Folders are found missing without asking the host, and nearly every component imports their interface: this can only be a hint.
fn hints(compiled: &Compiled, grants: &Grants) -> Vec<String> {
    let mut hints = compiled.ungranted(grants);
    let imports = |name: &str| compiled.imports().iter().any(|import| import.starts_with(name));
    if hints.is_empty() && grants.folders.is_empty() && imports("wasi:filesystem/") {
        hints.push("if it reads files, it finds none without: [provider.grants] folders = [{ host = \"…\", guest = \"/…\" }]".into());
    }
    hints
}

/// The provider that wharf.toml makes of this file, or one of the file's name without settings.
fn planned(file: &Path, Sources { config, plugins, .. }: Sources) -> Planned {
    let same = |path: &Path| path.canonicalize().is_ok_and(|path| file.canonicalize().is_ok_and(|file| file == path));
    let known = Plan::new(&plugins, &config).providers.into_iter().find(|planned| same(&planned.path));
    known.unwrap_or_else(|| {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        Planned { spec: Spec::new(&*name), rules: Rules::default(), path: file.to_owned(), required: false }
    })
}

/// Names of interfaces: those of the contract, without its package and version, and all others.
fn split(names: &[String]) -> (Vec<&str>, Vec<&str>) {
    let of_contract = |name: &&str| name.starts_with(PACKAGE);
    let (contract, others): (Vec<&str>, Vec<&str>) = names.iter().map(String::as_str).partition(of_contract);
    (contract.into_iter().map(|name| name[PACKAGE.len()..].split('@').next().unwrap_or(name)).collect(), others)
}

fn in_words(file: &Path, bytes: u64, loaded: Option<&Loaded>, broken: &[String]) -> Vec<String> {
    let mut lines = vec![format!("{}: {bytes} bytes", file.display())];
    let listed = |names: Vec<&str>| if names.is_empty() { "nothing".into() } else { names.join(", ") };
    if let Some(Loaded { compiled, findings, hints }) = loaded {
        lines.push(match compiled.compile_time() {
            Some(time) => format!("compiled in {} ms", time.as_millis()),
            None => "compiled before: its machine code is in the cache".into(),
        });
        let (imports, wasi) = split(compiled.imports());
        let (exports, others) = split(compiled.exports());
        lines.push(format!("exports {}", listed(exports)));
        if !others.is_empty() {
            lines.push(format!("exports besides, of no use here: {}", listed(others)));
        }
        lines.push(format!("imports of the contract: {}", listed(imports)));
        lines.push(format!("imports besides: {}", listed(wasi)));
        lines.push(format!("lists {}, {}", count(findings.resources, "resource"), count(findings.templates.len(), "template")));
        for (template, sample) in &findings.templates {
            lines.extend(sample.as_ref().map(|sample| format!("matched {template} with {sample}")));
        }
        for (uri, bytes) in &findings.reads {
            lines.extend(bytes.map(|bytes| format!("read {uri}: {bytes} bytes")));
        }
        lines.extend(findings.needs.iter().map(|need| format!("needs {need}")));
        lines.extend(hints.iter().map(|hint| format!("hint: {hint}")));
    }
    lines.extend(broken.iter().map(|rule| format!("broken: {rule}")));
    lines.push(if broken.is_empty() { "fine".into() } else { format!("{} broken", count(broken.len(), "rule")) });
    lines
}

fn in_json(file: &Path, bytes: u64, loaded: Option<&Loaded>, broken: &[String]) -> Value {
    let mut value = json!({ "file": file, "bytes": bytes, "loads": loaded.is_some(), "needs": [], "hints": [], "broken": broken });
    if let Some(Loaded { compiled, findings, hints }) = loaded {
        let offers = compiled.offers();
        value["compileMs"] = compiled.compile_time().map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)).into();
        value["exports"] = json!(compiled.exports());
        value["imports"] = json!(compiled.imports());
        value["offers"] = json!({ "subscriptions": offers.subscriptions, "completions": offers.completions, "live": offers.live });
        value["resources"] = findings.resources.into();
        value["templates"] =
            findings.templates.iter().map(|(template, sample)| json!({ "uriTemplate": &**template, "sample": sample })).collect();
        value["reads"] = findings.reads.iter().map(|(uri, bytes)| json!({ "uri": &**uri, "bytes": bytes })).collect();
        value["needs"] = json!(findings.needs);
        value["hints"] = json!(hints);
    }
    value
}
