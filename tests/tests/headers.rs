//! `--header`, against a host behind a gate that lets nobody in without it.

use std::{
    env,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

use anyhow::{Context, Result, ensure};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use wharf_tests::{Host, Setup, binary, wharf};

/// As on a command line: the host's program puts the variable in its place. Of all variables this one is there.
const HEADER: &str = "Authorization: Bearer ${PATH}";

fn secret() -> Result<String> {
    env::var("PATH").context("there is no PATH")
}

/// What a gate does with those who have the header.
#[derive(Clone)]
enum Then {
    /// Lets them through to this address.
    Forward(String),
    /// Sends them to this URL.
    Redirect(String),
}

/// Refuses whoever has not the header. Gives its URL, and counts whom it let in.
async fn gate(then: Then) -> Result<(String, Arc<AtomicUsize>)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    let (entered, expected) = (Arc::<AtomicUsize>::default(), format!("authorization: bearer {}", secret()?.to_ascii_lowercase()));
    let counted = entered.clone();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let (then, expected, counted) = (then.clone(), expected.clone(), counted.clone());
            // How it ends shows at the client.
            tokio::spawn(async move { pass(client, then, &expected, &counted).await });
        }
    });
    Ok((url, entered))
}

async fn pass(mut client: TcpStream, then: Then, expected: &str, entered: &AtomicUsize) -> Result<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|window| window == b"\r\n\r\n") {
        ensure!(client.read_buf(&mut request).await? > 0, "half a request");
    }
    if !String::from_utf8_lossy(&request).to_ascii_lowercase().contains(expected) {
        client.write_all(b"HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").await?;
        return Ok(());
    }
    entered.fetch_add(1, SeqCst);
    match then {
        Then::Forward(address) => {
            let mut host = TcpStream::connect(address).await?;
            host.write_all(&request).await?;
            tokio::io::copy_bidirectional(&mut client, &mut host).await?;
        }
        Then::Redirect(url) => {
            let head = format!("HTTP/1.1 307 Temporary Redirect\r\nLocation: {url}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
            client.write_all(head.as_bytes()).await?;
        }
    }
    Ok(())
}

async fn serving() -> Result<Host> {
    let mut host = Setup::new().guest("review-status").start().await?;
    host.wait_for_log("loaded   review-status").await?;
    Ok(host)
}

#[tokio::test]
async fn every_command_that_goes_to_a_url_sends_it_and_none_shows_it() -> Result<()> {
    let (host, folder) = (serving().await?, tempfile::tempdir()?);
    let (url, entered) = gate(Then::Forward(host.address().to_owned())).await?;
    let wharf_itself = binary()?.display().to_string();
    let commands: [&[&str]; 4] = [
        &["probe", "--era", "legacy", "--wait", "0", "--header", HEADER, &url],
        &["probe", "--era", "modern", "--wait", "0", "-H", HEADER, &url],
        &["probe", "--wait", "0", &wharf_itself, "serve", "--stdio", "--attach", &url, "--header", HEADER],
        &["watch", "--header", HEADER, "--url", &url, "test://none"],
    ];
    for command in commands {
        let before = entered.load(SeqCst);
        let output = wharf(folder.path(), command).await?;
        if command[0] == "watch" {
            // It had a look at what is there.
            ensure!(output.code == 1 && output.stderr.contains("the server has no test://none"), "{output:?}");
        } else {
            ensure!(output.code == 0, "{command:?}: {output:?}");
        }
        ensure!(entered.load(SeqCst) > before, "{command:?}");
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &output.stderr;
        ensure!(!said.contains(&secret()?), "{command:?}: {said}");

        let without: Vec<&str> = command.iter().copied().filter(|word| !["--header", "-H", HEADER].contains(word)).collect();
        let output = wharf(folder.path(), &without).await?;
        ensure!(output.code == 1, "{without:?}: {output:?}");
    }
    Ok(())
}

#[tokio::test]
async fn another_server_to_which_the_first_one_sends_does_not_get_it() -> Result<()> {
    let (host, folder) = (serving().await?, tempfile::tempdir()?);
    let (elsewhere, entered) = gate(Then::Forward(host.address().to_owned())).await?;
    let (url, _) = gate(Then::Redirect(elsewhere)).await?;
    let output = wharf(folder.path(), &["probe", "--wait", "0", "--header", HEADER, &url]).await?;
    ensure!(output.code == 1 && entered.load(SeqCst) == 0, "{output:?}");
    Ok(())
}

#[tokio::test]
async fn a_wrong_one_is_named_without_its_value() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let url = "http://127.0.0.1:1/mcp";
    for (header, says) in [("s3cret", "colon"), ("X-A: ${NO_SUCH_VARIABLE_s}", "NO_SUCH_VARIABLE_s"), ("X A: s3cret", "header 1")] {
        let output = wharf(folder.path(), &["watch", "--url", url, "--header", header, "x://a"]).await?;
        ensure!(output.code == 1 && output.stderr.contains(says) && !output.stderr.contains("s3cret"), "{output:?}");
    }
    let output = wharf(folder.path(), &["watch", "--header", HEADER, "x://a"]).await?;
    ensure!(output.code == 1 && output.stderr.contains("URL"), "{output:?}");
    Ok(())
}
