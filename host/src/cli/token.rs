//! `wharf token`: the tokens of `[server] auth = "tokens"`.
//!
//! Invariant: a token is printed once, on stdout, when it is made; nothing else here knows it.

use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::json;
use wharf::{
    auth::tokens::{self, Entry, TokenFile},
    config::{Auth, Config, check_name},
};

use super::{
    output,
    sources::{SourceArgs, Sources},
};

/// 9999-12-31T23:59:59Z.
const LAST_SECOND: Duration = Duration::from_secs(253_402_300_799);

/// Arguments of `wharf token`.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Makes a token, and prints it: it is kept as a hash, and cannot be shown again
    New(NewArgs),
    /// Lists the tokens by their names
    List(ListArgs),
    /// Takes a token back: a host that serves ends what is open by it
    Revoke(RevokeArgs),
}

#[derive(clap::Args)]
struct NewArgs {
    /// Whose it is, such as `laptop`
    name: String,
    /// The providers that it lets see; the others do not exist for it [default: all, also those to come]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    providers: Option<Vec<String>>,
    /// For how long it is good, such as 90d or 12h [default: until it is revoked]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    expires: Option<Duration>,
    #[command(flatten)]
    file: FileArgs,
}

#[derive(clap::Args)]
struct ListArgs {
    #[command(flatten)]
    file: FileArgs,
}

#[derive(clap::Args)]
struct RevokeArgs {
    /// Whose it is
    name: String,
    #[command(flatten)]
    file: FileArgs,
}

#[derive(clap::Args)]
struct FileArgs {
    /// The file of tokens [default: what wharf.toml says, else tokens.toml beside it]
    #[arg(long, value_name = "FILE", conflicts_with = "config")]
    file: Option<PathBuf>,
    /// The configuration that says where the file is [default: ./wharf.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// For programs
    #[arg(long)]
    json: bool,
}

/// A file of tokens, and what the host that uses it is told, if that is known.
struct Place {
    file: TokenFile,
    sources: Option<Sources>,
}

impl FileArgs {
    fn place(self) -> Result<Place> {
        if let Some(file) = self.file {
            return Ok(Place { file: TokenFile::at(file), sources: None });
        }
        let sources = SourceArgs::of(self.config).read()?;
        let folder = sources.config.file.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        Ok(Place { file: TokenFile::at(sources.config.server.tokens_file(folder)), sources: Some(sources) })
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(duration) if duration >= Duration::from_secs(1) => Ok(duration),
        _ => Err("write it as 90d, 12h or 30m".into()),
    }
}

pub(super) fn run(args: Args) -> Result<()> {
    match args.what {
        What::New(args) => new(args),
        What::List(ListArgs { file }) => list(file),
        What::Revoke(RevokeArgs { name, file }) => revoke(&name, file),
    }
}

/// So long after now, if RFC 3339 has a way to write it.
fn end_of(now: SystemTime, time: Duration) -> Option<SystemTime> {
    now.checked_add(time).filter(|end| *end <= UNIX_EPOCH + LAST_SECOND)
}

fn new(NewArgs { name, providers, expires, file }: NewArgs) -> Result<()> {
    let json = file.json;
    for provider in providers.iter().flatten() {
        check_name(provider).map_err(|reason| anyhow!("--providers: {reason}"))?;
    }
    let Place { file, sources } = file.place()?;
    let token = tokens::generate().map_err(|error| anyhow!("no random numbers: {error}"))?;
    let now = SystemTime::now();
    let expires =
        expires.map(|time| end_of(now, time).context("--expires: that is too long; it has to end before the year 10000")).transpose()?;
    let entry = Entry { name: name.clone(), sha256: tokens::hash(&token), providers: providers.clone(), created: now, expires };
    file.add(entry)?;
    if json {
        let expires = expires.map(|end| humantime::format_rfc3339_seconds(end).to_string());
        return output::json(&json!({ "name": name, "token": token, "providers": providers, "expires": expires, "file": file.path() }));
    }
    output::write(format!("{token}\n").as_bytes())?;
    let sees = providers.as_ref().map_or_else(|| "all providers".to_owned(), |names| names.join(", "));
    let until = expires.map_or_else(|| "until it is revoked".to_owned(), |end| format!("until {}", humantime::format_rfc3339_seconds(end)));
    output::say(&format!("token {name:?} sees {sees}, {until}. It is not shown again: keep it where its client finds it."));
    output::say("It is sent as a header: Authorization: Bearer wharf_…");
    for provider in sources.iter().flat_map(|sources| unknown(sources, providers.as_deref().unwrap_or_default())) {
        output::say(&format!("note: there is no provider {provider:?} yet"));
    }
    if let Some(sources) = sources.filter(|sources| sources.config.server.auth != Some(Auth::Tokens)) {
        output::say(&unused(&sources.config));
    }
    Ok(())
}

/// Those of these names that no provider has at the moment.
fn unknown<'a>(sources: &Sources, names: &'a [String]) -> Vec<&'a String> {
    let plan = wharf::plugins::Plan::new(&sources.plugins, &sources.config);
    names.iter().filter(|name| !plan.providers.iter().any(|planned| *planned.spec.name == ***name)).collect()
}

fn unused(config: &Config) -> String {
    let file = config.file.as_deref().unwrap_or(Path::new("wharf.toml")).display();
    format!("note: no token is asked for yet: add to {file}, and start the host again:\n[server]\nauth = \"tokens\"")
}

fn list(file: FileArgs) -> Result<()> {
    let json = file.json;
    let file = file.place()?.file;
    let entries = file.read()?.unwrap_or_default();
    let now = SystemTime::now();
    let time = |time: SystemTime| humantime::format_rfc3339_seconds(time).to_string();
    let has_expired = |entry: &Entry| entry.expires.is_some_and(|expires| expires <= now);
    if json {
        let tokens = entries.iter().map(|entry| {
            json!({
                "name": entry.name, "providers": entry.providers, "created": time(entry.created), "expires": entry.expires.map(time),
                "expired": has_expired(entry),
            })
        });
        return output::json(&json!({ "file": file.path(), "tokens": tokens.collect::<Vec<_>>() }));
    }
    let rows: Vec<_> = entries
        .iter()
        .map(|entry| {
            let ends = entry.expires.map_or_else(|| "never".into(), time);
            [
                entry.name.clone(),
                entry.providers.as_ref().map_or_else(|| "all".into(), |names| names.join(",")),
                time(entry.created),
                if has_expired(entry) { format!("{ends} (expired)") } else { ends },
            ]
        })
        .collect();
    output::table(["NAME", "PROVIDERS", "CREATED", "EXPIRES"], &rows)
}

fn revoke(name: &str, file: FileArgs) -> Result<()> {
    let json = file.json;
    let file = file.place()?.file;
    if !file.remove(name)? {
        bail!("{} has no token {name:?}; `wharf token list` says which there are", file.path().display());
    }
    if json {
        return output::json(&json!({ "name": name, "revoked": true, "file": file.path() }));
    }
    output::lines([format!("revoked {name:?}: a host that serves ends what is open by it")])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_that_cannot_be_written_is_none() {
        let year = Duration::from_secs(365 * 24 * 3600);
        let end = end_of(SystemTime::now(), year * 7000).unwrap();
        assert!(humantime::format_rfc3339_seconds(end).to_string().starts_with('9'), "it can be written");
        assert_eq!(end_of(SystemTime::now(), year * 9000), None);
        assert_eq!(end_of(SystemTime::now(), Duration::MAX), None);
    }
}
