//! `wharf connect`: the configuration of the agents that are to use this host.
//!
//! Invariants: without `--write` or `--remove` nothing is changed; with them one entry is, of this host. What another server's entry holds
//! is never printed.

mod check;
mod clients;
mod file;
mod format;
mod job;
mod server;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail};
use clap::builder::PossibleValuesParser;
use hyper::Uri;
use serde_json::json;

use self::{
    clients::{CLIENTS, Client, Places, Scope},
    job::Job,
    server::{NAME, Server, is_name},
};
use super::{
    authorities::CaArgs,
    output,
    serve::run_to_end,
    sources::{DEFAULT_CONFIG, DEFAULT_PLUGINS},
};

/// Where `wharf serve` listens if nothing else is said.
const DEFAULT_URL: &str = "http://127.0.0.1:8089/mcp";
/// Words of a command on a terminal that need no quotes.
const PLAIN: &str = "-_./:@%+=,";

/// Arguments of `wharf connect`.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The agent
    #[arg(value_name = "CLIENT", required_unless_present = "check", value_parser = PossibleValuesParser::new(CLIENTS.iter().map(|client| client.id)))]
    client: Option<String>,
    /// Let the agent start a host of its own, over stdin and stdout; with --url, one that serves what the host there serves
    #[arg(long)]
    stdio: bool,
    /// Which of its files: the project's in the current folder, or yours for all projects [default: project, where it has that]
    #[arg(long, value_enum)]
    scope: Option<Scope>,
    /// What the agent calls it
    #[arg(long, default_value = NAME)]
    name: String,
    /// Where the host serves [default: http://127.0.0.1:8089/mcp]
    #[arg(long)]
    url: Option<String>,
    /// With --stdio: the folder with the .wasm files [default: ./plugins]
    #[arg(long, value_name = "DIR", requires = "stdio", conflicts_with = "url")]
    plugins: Option<PathBuf>,
    /// With --stdio: the configuration; what it grants is then granted
    #[arg(long, value_name = "FILE", requires = "stdio", conflicts_with = "url")]
    config: Option<PathBuf>,
    /// With --stdio and --url: the file with the token by which that host lets in; the agent's file has its path alone
    #[arg(long, value_name = "FILE", requires_all = ["stdio", "url"])]
    token_file: Option<PathBuf>,
    /// Put it into the agent's file, instead of printing it
    #[arg(long)]
    write: bool,
    /// Take it out of the agent's file
    #[arg(long, conflicts_with_all = ["write", "stdio"])]
    remove: bool,
    /// Say what the agents' files have of this, and whether it answers
    #[arg(long, conflicts_with_all = ["write", "remove", "stdio", "scope"])]
    check: bool,
    #[command(flatten)]
    ca: CaArgs,
    /// For programs
    #[arg(long)]
    json: bool,
}

/// Success, but for `--check`: then only if there is something, and all of it answers.
pub(super) fn run(args: Args) -> Result<ExitCode> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let current = std::env::current_dir().context("there is no current folder")?;
    let places = Places { system: std::env::consts::OS, home: std::env::home_dir(), current, variable: &variable };
    let url = args.url.as_deref().unwrap_or(DEFAULT_URL);
    let client = args.client.as_deref().and_then(Client::named);
    args.ca.trust()?;
    if args.check {
        return check(client, &places, url, args.json);
    }
    let client = client.context("which agent?")?;
    if !is_name(&args.name) {
        bail!("{:?} is no name that every agent takes: a letter, then letters, digits, - and _, at most 64", args.name);
    }
    is_url(url)?;
    let scope = args.scope.unwrap_or_else(|| client.scope());
    let Some(path) = client.file(scope, &places) else {
        match scope {
            Scope::Project => bail!("{} has no file of a project; leave out --scope, or say --scope user", client.name),
            Scope::User => bail!("set HOME: {}'s file is there", client.name),
        }
    };
    let job = Job { client, scope, name: &args.name, url };
    let outcome = if args.remove {
        job.remove(path)?
    } else {
        let (server, notes) = wanted(&args, url, &places.current)?;
        let mut outcome = if args.write { job.write(path, &server)? } else { job.print(path, &server)? };
        outcome.notes.extend(notes);
        outcome
    };
    outcome.say(args.json)?;
    Ok(ExitCode::SUCCESS)
}

/// The line that connects an agent to the host at this address.
pub(super) fn hint(address: SocketAddr, url: &str) -> String {
    let command = format!("wharf connect {} --write", CLIENTS[0].id);
    if url == DEFAULT_URL {
        return command;
    }
    // From this machine, where it listens everywhere.
    let url = if address.ip().is_unspecified() { url.replacen(&address.ip().to_string(), loopback(address), 1) } else { url.to_owned() };
    format!("{command} --url {}", word(&url))
}

fn loopback(address: SocketAddr) -> &'static str {
    if address.is_ipv4() { "127.0.0.1" } else { "::1" }
}

/// The line that connects an agent to a host that lets in by tokens: each keeps headers in a way of its own, and this one needs none.
pub(super) fn hint_with_token(address: SocketAddr, url: &str) -> String {
    let with_url = hint(address, url);
    let url = if with_url.contains(" --url ") { String::new() } else { format!(" --url {DEFAULT_URL}") };
    format!("{with_url}{url} --stdio --token-file FILE")
}

/// The agents that can stand in that line instead.
pub(super) fn others() -> String {
    CLIENTS[1..].iter().map(|client| client.id).collect::<Vec<_>>().join(", ")
}

fn is_url(url: &str) -> Result<()> {
    let example = "give one such as http://127.0.0.1:8089/mcp";
    let uri: Uri = url.parse().with_context(|| format!("{url:?} is no URL; {example}"))?;
    let Some(authority) = uri.authority().filter(|_| matches!(uri.scheme_str(), Some("http" | "https"))) else {
        bail!("{url:?} is no URL of a host; {example}");
    };
    if authority.as_str().contains('@') {
        bail!("a password in a URL would stand in the agent's file for all to read; leave it out");
    }
    Ok(())
}

/// The server the arguments ask for, and what is to be said of it.
fn wanted(args: &Args, url: &str, current: &Path) -> Result<(Server, Vec<String>)> {
    if !args.stdio {
        return Ok((Server::Http { url: url.to_owned() }, Vec::new()));
    }
    let mut arguments: Vec<String> = ["serve", "--stdio"].map(String::from).to_vec();
    let mut notes = Vec::new();
    let absolute = |path: &Path| {
        let path = current.join(path);
        path.to_str().map(String::from).with_context(|| format!("{} is no text in UTF-8, as the agent's file is", path.display()))
    };
    if args.url.is_some() {
        arguments.extend(["--attach".into(), url.to_owned()]);
        if let Some(path) = &args.ca.ca_file {
            arguments.extend(["--ca-file".into(), absolute(path)?]);
        }
        if let Some(path) = &args.token_file {
            if !current.join(path).is_file() {
                notes.push(format!("there is no {}: put the token into it before the agent starts", path.display()));
            }
            arguments.extend(["--token-file".into(), absolute(path)?]);
        }
        return Ok((Server::Stdio { program: program()?, arguments }, notes));
    }
    if let Some(config) = &args.config {
        if !current.join(config).is_file() {
            notes.push(format!("there is no {}: make it before the agent starts", config.display()));
        }
        arguments.extend(["--config".into(), absolute(config)?]);
    } else if current.join(DEFAULT_CONFIG).is_file() {
        // Named, it would be trusted: that is for the user to say.
        notes.push(format!(
            "{DEFAULT_CONFIG} here is not named in it; say --config {DEFAULT_CONFIG} if you have read it and want what it grants"
        ));
    }
    if args.plugins.is_some() || args.config.is_none() {
        let plugins = args.plugins.as_deref().unwrap_or(Path::new(DEFAULT_PLUGINS));
        if !current.join(plugins).is_dir() {
            notes.push(format!("there is no folder {}: make it, or name another with --plugins", plugins.display()));
        }
        arguments.extend(["--plugins".into(), absolute(plugins)?]);
    }
    Ok((Server::Stdio { program: program()?, arguments }, notes))
}

/// How a client starts this program: by its name, if that is found on the `PATH`, else by its path.
fn program() -> Result<String> {
    let own = std::env::current_exe().context("cannot tell where this program is")?;
    let own = own.canonicalize().unwrap_or(own);
    let file = format!("{NAME}{}", std::env::consts::EXE_SUFFIX);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let first = std::env::split_paths(&path).map(|folder| folder.join(&file)).find(|candidate| candidate.is_file());
    if first.is_some_and(|first| first.canonicalize().is_ok_and(|first| first == own)) {
        return Ok(NAME.to_owned());
    }
    own.to_str().map(String::from).with_context(|| format!("{} is no text in UTF-8, as the agent's file is", own.display()))
}

fn check(client: Option<&'static Client>, places: &Places<'_>, url: &str, json: bool) -> Result<ExitCode> {
    is_url(url)?;
    let clients = CLIENTS.iter().filter(|known| client.is_none_or(|client| client.id == known.id));
    let findings = run_to_end(async { Ok(check::run(clients, places, url).await) })?;
    let fine = !findings.is_empty() && findings.iter().all(|finding| finding.fault.is_none());
    let code = if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if json {
        let found = findings.iter().map(|finding| {
            json!({
                "client": finding.client.id, "scope": finding.scope.as_str(), "file": finding.file, "name": finding.name,
                "server": finding.name.as_ref().map(|_| &finding.reach), "answers": finding.fault.is_none(), "fault": finding.fault,
            })
        });
        output::json(&json!({ "found": found.collect::<Vec<_>>() }))?;
        return Ok(code);
    }
    if findings.is_empty() {
        output::say("no agent's file has this host; `wharf connect CLIENT --write` puts it there");
    }
    let rows: Vec<_> = findings
        .into_iter()
        .map(|finding| {
            let says = finding.fault.unwrap_or_else(|| "answers".into());
            [
                finding.client.name.into(),
                finding.scope.as_str().into(),
                finding.name.unwrap_or_default(),
                says,
                finding.reach,
                finding.file.display().to_string(),
            ]
        })
        .collect();
    if !rows.is_empty() {
        output::table(["CLIENT", "SCOPE", "NAME", "STATE", "SERVER", "FILE"], &rows)?;
    }
    Ok(code)
}

/// A word of a command for a shell.
fn word(text: &str) -> String {
    if !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || PLAIN.contains(c)) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_is_a_command_that_reaches_the_host() {
        let hint = |address: &str| {
            let address: SocketAddr = address.parse().unwrap();
            hint(address, &format!("http://{address}/mcp"))
        };
        assert_eq!(hint("127.0.0.1:8089"), "wharf connect claude-code --write");
        assert_eq!(hint("127.0.0.1:1"), "wharf connect claude-code --write --url http://127.0.0.1:1/mcp");
        assert_eq!(hint("0.0.0.0:1"), "wharf connect claude-code --write --url http://127.0.0.1:1/mcp");
        let with_token = hint_with_token("127.0.0.1:8089".parse().unwrap(), DEFAULT_URL);
        assert_eq!(with_token, format!("wharf connect claude-code --write --url {DEFAULT_URL} --stdio --token-file FILE"));
        let with_token = hint_with_token("127.0.0.1:1".parse().unwrap(), "http://127.0.0.1:1/mcp");
        assert_eq!(with_token, "wharf connect claude-code --write --url http://127.0.0.1:1/mcp --stdio --token-file FILE");
        assert_eq!(hint("[::]:1"), "wharf connect claude-code --write --url 'http://[::1]:1/mcp'");
    }

    #[test]
    fn a_url_is_a_hosts_and_holds_no_password() {
        assert!(is_url("http://127.0.0.1:8089/mcp").is_ok() && is_url("https://example.com/mcp").is_ok());
        for url in ["", "/mcp", "127.0.0.1:8089", "file:///mcp", "http://a b/", "http://user:word@example.com/mcp"] {
            assert!(is_url(url).is_err(), "{url}");
        }
    }
}
