//! HTTPS through the binary: what is said at the start, and what the commands that talk to a host do with it.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use wharf_tests::{Running, Setup, wharf};

/// Puts a certificate for this name, its key and its authority's certificate there.
fn put(folder: &Path, name: &str) -> Result<()> {
    let (authority_key, key) = (KeyPair::generate()?, KeyPair::generate()?);
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    fs::write(folder.join("ca.pem"), params.self_signed(&authority_key)?.pem())?;
    let certificate = CertificateParams::new(vec![name.to_owned()])?.signed_by(&key, &Issuer::new(params, authority_key))?;
    fs::write(folder.join("cert.pem"), certificate.pem())?;
    fs::write(folder.join("key.pem"), key.serialize_pem())?;
    Ok(())
}

fn set_mode(path: &Path, mode: u32) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(mode))?)
}

const CONFIG: &str = "[server]\ntls = { certificate = \"cert.pem\", key = \"key.pem\" }\n";
const SERVE: [&str; 5] = ["serve", "--http", "127.0.0.1:0", "--config", "wharf.toml"];

#[tokio::test]
async fn a_host_says_its_https_url_and_every_command_reaches_it_by_that() -> Result<()> {
    let folder = Setup::new().guest("handbook").config(CONFIG).prepare().await?;
    put(folder.path(), "localhost")?;
    set_mode(&folder.path().join("key.pem"), 0o644)?;
    let mut host = Running::start(folder.path(), &SERVE)?;
    host.says("loaded   handbook", 1).await?;
    let log = host.says("may read the private key", 1).await?;
    ensure!(log.contains("chmod o-rwx") && log.contains("wharf connect claude-code --write --url https://localhost:"), "{log}");
    let url = log.split_whitespace().find(|word| word.starts_with("https://localhost:") && word.ends_with("/mcp"));
    let url = url.context("no URL")?;
    let at = |url: &str| url.replacen("https://localhost", "127.0.0.1", 1).replacen("/mcp", "", 1);
    let address = at(url);

    let run = async |arguments: &[&str]| wharf(folder.path(), arguments).await;
    ensure!(run(&["health", url, "--ca-file", "ca.pem"]).await?.text()?.contains("serves at https://localhost"));
    for arguments in [&["health", url][..], &["health", &url.replacen("https", "http", 1)], &["health", url, "--ca-file", "key.pem"]] {
        let refused = run(arguments).await?;
        ensure!(refused.code == 1, "{arguments:?}: {refused:?}");
    }
    ensure!(run(&["probe", "--wait", "0", "--ca-file", "ca.pem", url]).await?.code == 0);
    let grants = run(&["grants", "--config", "wharf.toml", "--http", &address, "--ca-file", "ca.pem", "--json"]).await?;
    ensure!(grants.json()?["host"] == address, "{grants:?}");

    let status = run(&["status", "--url", url, "--ca-file", "ca.pem", "--json"]).await?;
    ensure!(status.json()?["ready"] == true, "{status:?}");
    ensure!(run(&["status", "--url", url]).await?.code == 1, "whose certificate is that?");

    let watched = ["watch", "handbook://wharf/welcome", "--url", url, "--ca-file", "ca.pem"];
    let mut watch = Running::start(folder.path(), &watched)?;
    watch.says("watching 1 resource at https://localhost", 1).await?;
    ensure!(watch.end("INT").await?.0.code() == Some(0));

    let attached = run(&["serve", "--stdio", "--attach", url, "--ca-file", "ca.pem"]).await?;
    // Its stdin is at its end.
    ensure!(attached.code == 0, "{attached:?}");
    let misplaced = run(&["serve", "--ca-file", "ca.pem"]).await?;
    ensure!(misplaced.code == 1 && misplaced.stderr.contains("--attach"), "{misplaced:?}");

    let connect = run(&["connect", "claude-code", "--stdio", "--url", url, "--ca-file", "ca.pem"]).await?.text()?;
    ensure!(connect.contains("--ca-file") && connect.contains("ca.pem"), "{connect}");
    let (status, log) = host.end("TERM").await?;
    ensure!(status.code() == Some(0), "{status}: {log}");
    Ok(())
}

#[tokio::test]
async fn a_certificate_that_cannot_be_used_is_refused_before_anything_is_served() -> Result<()> {
    let folder = Setup::new().config(CONFIG).prepare().await?;
    let refused = async |word: &str| {
        for arguments in [&SERVE[..], &["config", "check", "wharf.toml"]] {
            let ended = wharf(folder.path(), arguments).await?;
            ensure!(ended.code == 1 && ended.stderr.contains(word) && !ended.stderr.contains("serves MCP"), "{word}: {ended:?}");
        }
        Ok(())
    };
    refused("cert.pem").await?;
    put(folder.path(), "localhost")?;
    let key = fs::read(folder.path().join("key.pem"))?;
    put(folder.path(), "localhost")?;
    fs::write(folder.path().join("key.pem"), key)?;
    refused("not the key of the certificate").await?;
    // Whoever serves over stdio has no use for it.
    ensure!(wharf(folder.path(), &["serve", "--stdio", "--config", "wharf.toml"]).await?.code == 0);
    Ok(())
}

#[tokio::test]
async fn a_certificate_for_other_names_is_said_with_what_to_do_and_one_that_changes_is_followed() -> Result<()> {
    let folder = Setup::new().guest("handbook").config(CONFIG).prepare().await?;
    put(folder.path(), "wharf.example.com")?;
    let mut host = Running::start(folder.path(), &SERVE)?;
    let log = host.says("allowed-hosts", 1).await?;
    ensure!(log.contains("for none of 127.0.0.1, localhost"), "{log}");
    host.says("loaded   handbook", 1).await?;
    fs::write(folder.path().join("cert.pem"), "broken")?;
    host.says("the certificate stays as it was", 1).await?;
    put(folder.path(), "localhost")?;
    host.says("it holds for connections from now on", 1).await?;
    let log = host.log();
    let port = log.split("https://127.0.0.1:").nth(1).and_then(|rest| rest.split('/').next()).context("no port")?;
    let url = format!("https://localhost:{port}/mcp");
    ensure!(wharf(folder.path(), &["health", &url, "--ca-file", "ca.pem"]).await?.code == 0);
    Ok(())
}
