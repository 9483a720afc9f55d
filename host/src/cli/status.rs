//! `wharf status`: how a running host and its providers are.
//!
//! In a pipe each line begins with what it is about: `host`, `provider` or `subscription`; cells are parted by tabs.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use reqwest::{StatusCode, Url, header::HeaderMap};
use serde_json::Value;
use wharf::{
    admin::{ProviderStatus, STATUS_PATH, State, Status, SubscriptionStatus},
    config::Config,
};

use super::{
    authorities::CaArgs,
    headers::HeaderArgs,
    output::{self, count},
    serve::{self, DEFAULT_HTTP, run_to_end},
    sources::SourceArgs,
    watch::{http_client, parse_url},
};

/// How long the host may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Arguments of `wharf status`.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Where the host is [default: what wharf.toml says, else http://127.0.0.1:8089]
    #[arg(long, value_name = "URL", value_parser = parse_url)]
    url: Option<Url>,
    /// The configuration that says where it is [default: ./wharf.toml, if there is one]
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    config: Option<PathBuf>,
    #[command(flatten)]
    headers: HeaderArgs,
    #[command(flatten)]
    ca: CaArgs,
    /// For programs
    #[arg(long)]
    json: bool,
}

/// Success if every required provider serves.
pub(super) fn run(Args { url, config, headers, ca, json }: Args) -> Result<ExitCode> {
    ca.trust()?;
    let headers = headers.read(true)?;
    let url = match url {
        Some(url) => url,
        None => of_config(&SourceArgs::of(config).read()?.config)?,
    };
    let url = url.join(STATUS_PATH).context("the status' URL")?;
    let (said, status) = run_to_end(ask(url, &headers))?;
    if json {
        output::json(&said)?;
    } else if output::for_people() {
        show(&status)?;
    } else {
        output::write(lines(&status).as_bytes())?;
    }
    Ok(if status.ready { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Where a host of this configuration says it.
fn of_config(config: &Config) -> Result<Url> {
    if let Some(address) = config.server.admin {
        // It has no TLS there.
        return format!("http://{}", reachable(address)).parse().context("the host's address");
    }
    let address = match config.server.http {
        Some(address) => address,
        None => DEFAULT_HTTP.parse().context("the default address")?,
    };
    serve::url(reachable(address), config, serve::tls(config)?.as_deref()).0.parse().context("the host's address")
}

/// Where to reach what listens on this address.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    address
}

/// As it was said, with what this version does not know; and as it is understood.
async fn ask(url: Url, headers: &HeaderMap) -> Result<(Value, Status)> {
    let client = http_client(&url, headers)?;
    let asked = async {
        let response = client.get(url.clone()).send().await?;
        let status = response.status();
        Ok::<_, reqwest::Error>((status, response.bytes().await?))
    };
    let advice = "start one with `wharf serve`, or name where it runs with --url";
    let answer =
        tokio::time::timeout(PATIENCE, asked).await.with_context(|| format!("no answer from {url} within {PATIENCE:?}: {advice}"))?;
    let (status, body) =
        answer.map_err(reqwest::Error::without_url).with_context(|| format!("no host can be reached at {url}: {advice}"))?;
    match status {
        StatusCode::OK => {}
        StatusCode::NOT_FOUND => bail!(
            "{url} says nothing of its status: if wharf.toml has `[server] admin`, name that address with --url; \
             without it, ask from the machine that the host runs on"
        ),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            bail!("{url} wants a token that sees all providers: name a file that has one by --token-file")
        }
        status => bail!("{url} answers {status}: {}", String::from_utf8_lossy(&body).trim()),
    }
    let said: Value = serde_json::from_slice(&body).with_context(|| format!("what answers at {url} is no Wharf"))?;
    let status = serde_json::from_value(said.clone()).with_context(|| format!("what answers at {url} is no Wharf of this version"))?;
    Ok((said, status))
}

fn show(status: &Status) -> Result<()> {
    let uptime = humantime::format_duration(Duration::from_secs(status.uptime_seconds));
    let (sessions, listeners) = (count(status.sessions, "session"), count(status.listeners, "listener"));
    output::lines([format!("Wharf {}, up {uptime}, {sessions}, {listeners}; {}", status.version, readiness(status)), String::new()])?;
    let head = ["PROVIDER", "STATE", "VERSION", "GEN", "CALLS", "ERRORS", "MEMORY", "SUBSCRIBED"];
    let rows = status.providers.iter().map(provider).map(|[cells @ .., _]: [String; 9]| cells);
    output::table(head, &rows.collect::<Vec<[String; 8]>>())?;
    // Whole, whatever the width of the terminal: they say what to do.
    let words: Vec<_> = status.providers.iter().filter_map(|one| Some(format!("{}: {}", one.name, last_word(one)?))).collect();
    if !words.is_empty() {
        output::lines([String::new(), "LAST WORD".into()])?;
        output::lines(words.iter().map(|word| output::inert(word)))?;
    }
    if !status.subscriptions.is_empty() {
        output::lines([""])?;
        output::table(["SUBSCRIPTION", "LISTENERS", "PROVIDER"], &status.subscriptions.iter().map(subscription).collect::<Vec<_>>())?;
    }
    let denied = status.providers.iter().flat_map(|provider| provider.denied.iter().map(move |denied| (provider, denied)));
    let denied: Vec<_> = denied.map(|(provider, denied)| [provider.name.clone(), denied.times.to_string(), denied.line.clone()]).collect();
    if !denied.is_empty() {
        output::lines([""])?;
        output::table(["DENIED", "TIMES", "WHAT WOULD ALLOW IT, IN [provider.grants]"], &denied)?;
    }
    Ok(())
}

fn readiness(status: &Status) -> String {
    match &*status.not_ready {
        [] if status.ready => match status.providers.iter().filter(|provider| provider.state != State::Serving).count() {
            0 => "all is well".into(),
            1 => "ready; 1 provider does not serve, and is not required".into(),
            idle => format!("ready; {idle} providers do not serve, none of them required"),
        },
        [] => "it is not ready".into(),
        lacking => format!("not ready: {} required, and not serving", lacking.join(", ")),
    }
}

fn lines(status: &Status) -> String {
    let line = |kind: &str, cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| output::inert(cell)).collect();
        format!("{kind}\t{}\n", cells.join("\t"))
    };
    let host = [
        status.version.clone(),
        if status.ready { "ready" } else { "not-ready" }.to_owned(),
        status.uptime_seconds.to_string(),
        status.sessions.to_string(),
        status.listeners.to_string(),
    ];
    let mut all = line("host", &host);
    all.extend(status.providers.iter().map(|one| line("provider", &provider(one))));
    all.extend(status.subscriptions.iter().map(|one| line("subscription", &subscription(one))));
    all
}

fn provider(one: &ProviderStatus) -> [String; 9] {
    let calls: u64 = one.calls.values().sum();
    let required = if one.required && one.state != State::Serving { " (required)" } else { "" };
    [
        one.name.clone(),
        format!("{}{required}", one.state.name()),
        one.hash.clone().unwrap_or_default(),
        if one.direct { String::new() } else { one.generation.to_string() },
        if one.direct { String::new() } else { calls.to_string() },
        if one.direct { String::new() } else { one.errors.to_string() },
        one.memory_bytes.map(mebibytes).unwrap_or_default(),
        one.subscriptions.to_string(),
        last_word(one).unwrap_or_default(),
    ]
}

/// Why it does not serve, or what a call last failed with.
fn last_word(one: &ProviderStatus) -> Option<String> {
    one.reason.clone().or_else(|| one.last_error.as_ref().map(|error| format!("{}: {}", error.kind, error.message)))
}

fn subscription(SubscriptionStatus { uri, listeners, provider }: &SubscriptionStatus) -> [String; 3] {
    [uri.clone(), listeners.to_string(), provider.clone().unwrap_or_else(|| "nobody yet".into())]
}

fn mebibytes(bytes: u64) -> String {
    let tenths = bytes.saturating_mul(10) >> 20;
    format!("{}.{} MiB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_listens_everywhere_is_asked_on_this_machine() {
        for (bound, asked) in [("0.0.0.0:1", "127.0.0.1:1"), ("[::]:1", "[::1]:1"), ("192.168.1.7:1", "192.168.1.7:1")] {
            assert_eq!(reachable(bound.parse().unwrap()), asked.parse().unwrap());
        }
    }

    #[test]
    fn memory_is_told_to_a_tenth() {
        assert_eq!([0, 1 << 20, (3 << 19) + 1].map(mebibytes), ["0.0 MiB", "1.0 MiB", "1.5 MiB"]);
    }
}
