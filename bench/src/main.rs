//! Measures Wharf side by side with other servers, on this machine's loopback. `cargo xtask bench` builds all that it needs and runs it.

mod beside;
mod fanout;
mod http;
mod listeners;
mod load;
mod machine;
mod mcp;
mod memory;
mod reload;
mod report;
mod rivals;
mod servers;
mod speed;
mod start;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

use crate::{machine::Machine, report::Table};

const USAGE: &str =
    "usage: wharf-bench read|list|work|memory|fanout|start|all|reload --wharf PROGRAM --component FILE [--peers] [--quick] [--only CASE] [--json FILE]
fanout and all take too: --fanout FILE
start and all take too: --javascript FILE
reload takes too: --versioned FILE --javascript FILE --javascript FILE --target DIR";

/// What is measured, and how.
pub struct Options {
    /// The host's program.
    wharf: PathBuf,
    /// The fixture `texts`.
    component: PathBuf,
    /// The servers in other languages as well, which are run from the repository's root.
    peers: bool,
    /// The fixture `fanout`; only for `fanout`.
    fanout: Option<PathBuf>,
    /// The fixture `versioned`, and two components of an interpreted language; only for `reload`.
    versioned: Option<PathBuf>,
    javascript: Vec<PathBuf>,
    /// Where what `wharf new` makes is built.
    target: Option<PathBuf>,
    /// A look at whether all works, in seconds: no measurement.
    quick: bool,
    /// Only cases whose name, era and connections have this in them, as in `read 256 B modern 1`.
    only: Option<String>,
    json: Option<PathBuf>,
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["rival", name, folder] => rivals::serve(name, Path::new(folder)),
        ["busy"] => beside::be_busy(),
        [what, ..] => measure(what, &options(&arguments[1..])?),
        [] => bail!(USAGE),
    }
}

fn options(arguments: &[String]) -> Result<Options> {
    let mut arguments = arguments.iter();
    let (mut peers, mut wharf, mut component, mut quick, mut only, mut json) = (false, None, None, false, None, None);
    let (mut fanout, mut versioned, mut javascript, mut target) = (None, None, Vec::new(), None);
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().with_context(|| format!("{flag} wants a value; {USAGE}"));
        match flag.as_str() {
            "--wharf" => wharf = Some(PathBuf::from(value()?)),
            "--component" => component = Some(PathBuf::from(value()?)),
            "--fanout" => fanout = Some(PathBuf::from(value()?)),
            "--versioned" => versioned = Some(PathBuf::from(value()?)),
            "--javascript" => javascript.push(PathBuf::from(value()?)),
            "--target" => target = Some(PathBuf::from(value()?)),
            "--only" => only = Some(value()?.clone()),
            "--json" => json = Some(PathBuf::from(value()?)),
            "--peers" => peers = true,
            "--quick" => quick = true,
            _ => bail!("there is no {flag}; {USAGE}"),
        }
    }
    let (wharf, component) = (wharf.context(USAGE)?, component.context(USAGE)?);
    Ok(Options { wharf, component, peers, fanout, versioned, javascript, target, quick, only, json })
}

fn measure(what: &str, options: &Options) -> Result<()> {
    // One thread, so that the servers have the others.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let table = runtime.block_on(async {
        let mut table = Table::on(Machine::here());
        match what {
            "read" => table.join(speed::read(options).await?),
            "list" => table.join(speed::list(options).await?),
            "work" => table.join(speed::work(options).await?),
            "memory" => table.join(memory::memory(options).await?),
            "fanout" => {
                table.join(fanout::fanout(options).await?);
                table.join(fanout::storm(options).await?);
            }
            "start" => table.join(start::start(options).await?),
            "reload" => {
                table.join(reload::reload(options).await?);
                table.join(beside::beside(options).await?);
            }
            "all" => {
                table.join(speed::read(options).await?);
                table.join(speed::list(options).await?);
                table.join(speed::work(options).await?);
                table.join(memory::memory(options).await?);
                table.join(fanout::fanout(options).await?);
                table.join(fanout::storm(options).await?);
                table.join(start::start(options).await?);
            }
            _ => bail!(USAGE),
        }
        Ok(table)
    })?;
    println!("{table}");
    if let Some(file) = &options.json {
        let json = serde_json::to_vec_pretty(&table)?;
        fs::write(file, json).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}
