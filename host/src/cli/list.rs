//! `wharf list` and `wharf templates`.

use std::{collections::HashMap, sync::Arc};

use anyhow::Result;
use serde_json::json;
use wharf::{
    catalog::Snapshot,
    host::Host,
    mcp::encode::{ResourceJson, TemplateJson},
    provider::{ResourceInfo, TemplateInfo},
};

use super::{once, output, sources::SourceArgs};

/// Arguments of `wharf list` and `wharf templates`.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    sources: SourceArgs,
    /// MCP's JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn resources(args: Args) -> Result<()> {
    once::ask(args.sources, async |host: &Host| {
        let resources = host.resources().await;
        if args.json {
            return output::json(&json!({ "resources": resources.iter().map(|info| ResourceJson(info)).collect::<Vec<_>>() }));
        }
        let snapshot = host.catalog().snapshot();
        let owners = owners(&snapshot, |lists| lists.resources.iter());
        let row = |info: &Arc<ResourceInfo>| {
            let ResourceInfo { uri, name, title, mime_type, size, .. } = &**info;
            let size = size.map_or(String::new(), |size| size.to_string());
            let title = title.as_ref().unwrap_or(name).clone();
            [uri.to_string(), owner(&owners, info), mime_type.clone().unwrap_or_default(), size, title]
        };
        output::table(["URI", "PROVIDER", "TYPE", "BYTES", "TITLE"], &resources.iter().map(row).collect::<Vec<_>>())
    })
}

pub(super) fn templates(args: Args) -> Result<()> {
    once::ask(args.sources, async |host: &Host| {
        let templates = host.templates().await;
        if args.json {
            return output::json(&json!({ "resourceTemplates": templates.iter().map(|info| TemplateJson(info)).collect::<Vec<_>>() }));
        }
        let snapshot = host.catalog().snapshot();
        let owners = owners(&snapshot, |lists| lists.templates.iter().map(|(info, _)| info));
        let row = |info: &Arc<TemplateInfo>| {
            let TemplateInfo { uri_template, name, title, mime_type, .. } = &**info;
            let title = title.as_ref().unwrap_or(name).clone();
            [uri_template.to_string(), owner(&owners, info), mime_type.clone().unwrap_or_default(), title]
        };
        output::table(["TEMPLATE", "PROVIDER", "TYPE", "TITLE"], &templates.iter().map(row).collect::<Vec<_>>())
    })
}

/// Whose entries these are. The merged list holds the very entries of the providers' own lists, so that their place in memory tells.
fn owners<'a, T: 'a, I>(snapshot: &'a Snapshot, entries: impl Fn(&'a wharf::catalog::Lists) -> I) -> HashMap<*const T, &'a str>
where
    I: Iterator<Item = &'a Arc<T>>,
{
    snapshot.serving().flat_map(|(place, serving)| entries(&serving.lists).map(|entry| (Arc::as_ptr(entry), &*place.name))).collect()
}

/// Empty if the lists changed meanwhile.
fn owner<T>(owners: &HashMap<*const T, &str>, entry: &Arc<T>) -> String {
    owners.get(&Arc::as_ptr(entry)).copied().unwrap_or_default().to_owned()
}
