//! `wharf config check` and `wharf config schema`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::json;
use wharf::{
    config::{self, Config},
    host::Host,
};

use super::{
    access,
    output::{self, count},
    serve::{run_to_end, tls},
    sources::{DEFAULT_CONFIG, read_config},
};

/// Arguments of `wharf config`.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Says whether a wharf.toml is fine, or what is wrong and where
    Check(CheckArgs),
    /// Writes the JSON Schema of wharf.toml to stdout, for editors
    Schema(SchemaArgs),
}

#[derive(clap::Args)]
struct CheckArgs {
    #[arg(default_value = DEFAULT_CONFIG)]
    file: PathBuf,
    /// For programs
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct SchemaArgs {
    /// It is JSON anyway
    #[arg(long, hide = true)]
    json: bool,
}

pub(super) fn run(args: Args) -> Result<()> {
    match args.what {
        What::Check(CheckArgs { file, json }) => {
            let config = read_config(&file)?;
            tls(&config)?;
            access::authority(&config)?;
            let (resources, providers) = (config.resources.len(), config.providers.len());
            // Their URIs and names are checked where they are registered. Components are not loaded.
            run_to_end(async {
                let alone = Config { resources: config.resources, ..Config::default() };
                let host = Host::builder().config(alone).start().await.with_context(|| file.display().to_string())?;
                host.close().await;
                Ok(())
            })?;
            if json {
                return output::json(&json!({ "resources": resources, "providers": providers }));
            }
            output::lines([format!("fine: {}, {}", count(resources, "resource"), count(providers, "provider"))])
        }
        What::Schema(SchemaArgs { json: _ }) => output::json(&config::schema()),
    }
}
