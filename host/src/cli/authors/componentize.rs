//! `wharf componentize`: makes a component of what a compiler for core WebAssembly has made.
//!
//! The type of the component is that which the module holds, as objects of C bindings do, else that of the world which is asked for. Calls
//! to WASI preview 1 are adapted to what hosts serve today.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result};
use serde_json::json;
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME as PREVIEW_1, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER as ADAPTER,
};
use wit_bindgen_core::wit_parser::{Resolve, WorldId};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata, metadata};

use super::{
    contract::{self, name_of},
    core_module::CoreModule,
    fit, write_whole,
};
use crate::cli::output;

/// Arguments of `wharf componentize`.
#[derive(clap::Args)]
pub(in crate::cli) struct Args {
    /// The core module, as the compiler has made it
    #[arg(value_name = "CORE.wasm")]
    core: PathBuf,
    /// Where the component goes
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The folder with the world's .wit file [default: ./wit if it is there, else the contract in this program]
    #[arg(long, value_name = "DIR")]
    wit: Option<PathBuf>,
    /// The world [default: the only one there; of the contract's, what the module's exports tell]
    #[arg(long, value_name = "NAME")]
    world: Option<String>,
    /// For programs
    #[arg(long)]
    json: bool,
}

pub(in crate::cli) fn run(args: Args) -> Result<()> {
    let Args { core, output, wit, world, json } = args;
    let shown = core.display();
    let bytes = fs::read(&core).with_context(|| format!("cannot read {shown}"))?;
    let module = CoreModule::parse(&bytes).with_context(|| shown.to_string())?;
    let made = match &module.world {
        Some(name) => encode(&module, name.clone(), None),
        None => contract::load(wit.as_deref()).and_then(|contract| {
            let world = contract.world(world.as_deref(), Some(module.lives()))?;
            encode(&module, name_of(&contract.resolve, world), Some((contract.resolve, world)))
        }),
    };
    let Component { bytes, world } = made.with_context(|| shown.to_string())?;
    write_whole(&output, &bytes)?;
    if json {
        return output::json(&json!({ "component": output, "bytes": bytes.len(), "world": world }));
    }
    output::lines([format!("{}: {} KiB, world {world}", output.display(), bytes.len().div_ceil(1024))])
}

struct Component {
    bytes: Vec<u8>,
    world: String,
}

/// Makes a component of it, whose type it holds, or which is to be that of this world.
fn encode(module: &CoreModule, world_name: String, world: Option<(Resolve, WorldId)>) -> Result<Component> {
    let mut core = module.bytes.to_vec();
    if let Some((resolve, world)) = world {
        fit::check(module, &resolve, world)?;
        embed_component_metadata(&mut core, &resolve, world, StringEncoding::UTF8, false).context("the world cannot be a component's")?;
    } else {
        let (_, held) = metadata::decode(&core).context("the type of the component in it is broken")?;
        fit::check(module, &held.resolve, held.world)?;
    }
    let encoded = ComponentEncoder::default()
        .validate(true)
        .module(&core)
        .and_then(|encoder| encoder.adapter(PREVIEW_1, ADAPTER))
        .and_then(ComponentEncoder::encode);
    let bytes = encoded.map_err(|error| fit::explained(&error, &world_name))?;
    Ok(Component { bytes, world: world_name })
}
