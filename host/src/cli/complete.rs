//! `wharf complete`.

use anyhow::{Result, anyhow};
use serde_json::{Map, Value, json};
use wharf::{
    catalog::{Caller, CompleteError},
    host::Host,
};

use super::{once, output, read::reason, sources::SourceArgs};

/// Arguments of `wharf complete`.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The template, as `wharf templates` gives it
    template: String,
    /// The variable that is being filled in
    variable: String,
    /// What is typed of it
    #[arg(default_value = "", allow_hyphen_values = true)]
    value: String,
    /// Another variable that is filled in already
    #[arg(long = "with", value_name = "NAME=VALUE", value_parser = parse_pair)]
    known: Vec<(String, String)>,
    #[command(flatten)]
    sources: SourceArgs,
    /// MCP's JSON
    #[arg(long)]
    json: bool,
}

fn parse_pair(text: &str) -> Result<(String, String), &'static str> {
    let (name, value) = text.split_once('=').ok_or("there is no `=` between a name and a value")?;
    if name.is_empty() { Err("there is no name before the `=`") } else { Ok((name.to_owned(), value.to_owned())) }
}

pub(super) fn run(args: Args) -> Result<()> {
    let Args { template, variable, value, known, sources, json } = args;
    let completion = once::ask(sources, async |host: &Host| {
        host.catalog().complete(&Caller::anyone(), &template, &variable, &value, &known).await.map_err(|error| failure(&template, error))
    })?;
    if json {
        let mut fields = Map::new();
        fields.insert("values".into(), completion.values.into());
        fields.extend(completion.total.map(|total| ("total".into(), Value::from(total))));
        fields.extend(completion.has_more.map(|more| ("hasMore".into(), Value::from(more))));
        return output::json(&json!({ "completion": fields }));
    }
    output::lines(&completion.values)?;
    if completion.has_more == Some(true) {
        output::say("there are more: type more of it");
    }
    Ok(())
}

fn failure(template: &str, error: CompleteError) -> anyhow::Error {
    match error {
        CompleteError::UnknownTemplate => anyhow!("nobody has the template {template}; `wharf templates` lists those there are"),
        CompleteError::Provider { provider, error } => anyhow!("{provider} suggests nothing: {}", reason(&error)),
        unknown @ CompleteError::UnknownVariable(_) => unknown.into(),
    }
}
