//! `wharf grants`: what each provider may do, and what a running host has denied it.

use std::{collections::HashMap, net::SocketAddr, process::ExitCode, time::Duration};

use anyhow::{Context, Result};
use reqwest::{StatusCode, Url, header::HeaderMap};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use wharf::{
    admin::GRANTS_PATH,
    config::{
        Config, Grants,
        grants::{Folder, Signature, Webhook},
    },
    plugins::{Plan, Planned},
    transport::http::HOOKS_PREFIX,
};

use super::{
    authorities::CaArgs,
    headers::HeaderArgs,
    output::{self, count},
    serve::{DEFAULT_HTTP, run_to_end, tls, url},
    sources::{SourceArgs, Sources},
    watch::http_client,
};

/// How long the host may take to answer, which is on this machine.
const PATIENCE: Duration = Duration::from_secs(2);

/// Arguments of `wharf grants`.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    sources: SourceArgs,
    #[command(flatten)]
    headers: HeaderArgs,
    #[command(flatten)]
    ca: CaArgs,
    /// Where the host runs that is asked what it denied [default: 127.0.0.1:8089, or what wharf.toml says]
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
    /// For programs
    #[arg(long)]
    json: bool,
}

/// What a running host says.
#[derive(Deserialize)]
struct Said {
    providers: Vec<SaidOfOne>,
}

#[derive(Deserialize)]
struct SaidOfOne {
    name: String,
    denied: Vec<Denied>,
    others: u64,
}

/// Something denied: the line that would allow it, and how often it was.
#[derive(Deserialize, Serialize)]
struct Denied {
    line: String,
    times: u64,
}

type ByName = HashMap<String, SaidOfOne>;

pub(super) fn run(Args { sources, headers, ca, http, json }: Args) -> Result<ExitCode> {
    ca.trust()?;
    let headers = headers.read(true)?;
    let Sources { config, plugins, .. } = sources.read()?;
    let plan = Plan::new(&plugins, &config);
    let address = match http.or(config.server.http) {
        Some(address) => address,
        None => DEFAULT_HTTP.parse().context("the default address")?,
    };
    // None is no failure: what is granted is known without it.
    let said: Result<ByName> = page(address, &config).and_then(|url| run_to_end(ask(url, &headers)));
    if json {
        let providers: Vec<Value> = plan.providers.iter().map(|planned| in_json(planned, said.as_ref().ok())).collect();
        output::json(&json!({ "host": said.is_ok().then(|| address.to_string()), "providers": providers }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut lines: Vec<String> = plan.providers.iter().flat_map(|planned| in_words(planned, said.as_ref().ok())).collect();
    if let Err(error) = said {
        lines.push(format!("No host at {address} says what it denied ({error:#}); --http names another address."));
    }
    output::lines(lines)?;
    Ok(ExitCode::SUCCESS)
}

/// Where the host says it.
fn page(address: SocketAddr, config: &Config) -> Result<Url> {
    let mut page: Url = url(address, config, tls(config)?.as_deref()).0.parse()?;
    page.set_path(GRANTS_PATH);
    Ok(page)
}

async fn ask(url: Url, headers: &HeaderMap) -> Result<ByName> {
    let client = http_client(&url, headers)?;
    let asked = async {
        let response = client.get(url).send().await?;
        if matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Ok(None);
        }
        response.error_for_status()?.bytes().await.map(Some)
    };
    let body = tokio::time::timeout(PATIENCE, asked).await.context("it does not answer")?.map_err(reqwest::Error::without_url)?;
    let body = body.context("it wants a token that sees all providers, from a file named by --token-file")?;
    let Said { providers } = serde_json::from_slice(&body).context("what answers there is no Wharf")?;
    Ok(providers.into_iter().map(|one| (one.name.clone(), one)).collect())
}

fn in_words(planned: &Planned, said: Option<&ByName>) -> Vec<String> {
    let name = &planned.spec.name;
    let mut lines = vec![format!("{name}  ({})", planned.path.display())];
    let granted = described(name, &planned.spec.grants);
    if granted.is_empty() {
        lines.push("  is granted nothing".into());
    }
    lines.extend(granted.into_iter().map(|(kind, what)| format!("  {kind:<9} {what}")));
    if let Some(SaidOfOne { denied, others, .. }) = said.and_then(|said| said.get(&**name)) {
        let times = |times: u64| if times == 1 { "once".to_owned() } else { format!("{times} times") };
        lines.extend(denied.iter().map(|denied| format!("  denied    {}  ({})", denied.line, times(denied.times))));
        if *others > 0 {
            lines.push(format!("  denied    {} more", count(usize::try_from(*others).unwrap_or(usize::MAX), "time")));
        }
    }
    lines
}

/// Each grant: which key, and what it comes to.
fn described(name: &str, grants: &Grants) -> Vec<(&'static str, String)> {
    let Grants { folders, hosts, env, webhooks, state } = grants;
    let folder = |Folder { host, guest, write }: &Folder| {
        let how = if *write { "to read and write" } else { "to read" };
        ("folders", format!("{} as {guest}, {how}", host.display()))
    };
    let webhook = |Webhook { name: hook, signed, queue }: &Webhook| {
        let signed = match signed {
            Some(signed) => format!("signed as {} with {}", manner(&signed.signature), signed.secret),
            None => "not signed: from anyone who reaches the host".into(),
        };
        ("webhooks", format!("{HOOKS_PREFIX}{name}/{hook}, {signed}{}", if *queue { ", queued" } else { "" }))
    };
    let mut all: Vec<_> = folders.iter().map(folder).collect();
    if !hosts.is_empty() {
        all.push(("hosts", hosts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")));
    }
    all.extend(env.iter().map(|variable| ("env", format!("{}, from {}", variable.name, variable.value))));
    all.extend(webhooks.iter().map(webhook));
    all.extend(state.map(|bytes| ("state", format!("{bytes} bytes"))));
    all
}

fn manner(signature: &Signature) -> String {
    match signature {
        Signature::Github => "GitHub does".into(),
        Signature::Stripe => "Stripe does".into(),
        Signature::Gitlab => "GitLab does".into(),
        Signature::Header(name) => format!("HMAC-SHA-256 in {name}"),
    }
}

fn in_json(planned: &Planned, said: Option<&ByName>) -> Value {
    let Grants { folders, hosts, env, webhooks, state } = &*planned.spec.grants;
    let said = said.and_then(|said| said.get(&*planned.spec.name));
    json!({
        "name": &*planned.spec.name,
        "path": planned.path,
        "grants": {
            "folders": folders.iter().map(|Folder { host, guest, write }| json!({ "host": host, "guest": guest, "write": write })).collect::<Vec<_>>(),
            "hosts": hosts.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "env": env.iter().map(|variable| &variable.name).collect::<Vec<_>>(),
            "webhooks": webhooks.iter().map(|hook| json!({ "name": hook.name, "signed": hook.signed.is_some(), "queue": hook.queue })).collect::<Vec<_>>(),
            "state": state,
        },
        "denied": said.map(|said| &said.denied),
        "deniedOtherwise": said.map(|said| said.others),
    })
}
