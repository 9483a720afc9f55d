//! What a service manager is told, through a socket that a test holds in its place.

use std::{os::unix::net::UnixDatagram, path::Path};

use anyhow::{Context, Result, ensure};
use tokio::process::Command;
use wharf_tests::{Running, Setup, binary, within};

/// Bytes of a message: a line or two.
const MESSAGE: usize = 4096;

fn serve(folder: &Path, variables: &[(&str, &str)]) -> Result<Running> {
    let mut command = Command::new(binary()?);
    command.args(["serve", "--http", "127.0.0.1:0", "--config", "wharf.toml"]).current_dir(folder).env_remove("NOTIFY_SOCKET");
    command.env("XDG_DATA_HOME", folder.join("data")).env_remove("WATCHDOG_USEC").env_remove("WATCHDOG_PID");
    command.envs(variables.iter().copied());
    Running::of(command)
}

/// What comes until a message has this line.
async fn until(socket: &tokio::net::UnixDatagram, line: &str) -> Result<Vec<String>> {
    let mut all = Vec::new();
    within(&format!("{line:?}"), async {
        loop {
            let mut message = [0; MESSAGE];
            let length = socket.recv(&mut message).await?;
            all.push(String::from_utf8(message[..length].into())?);
            if all.last().is_some_and(|message| message.lines().any(|said| said.starts_with(line))) {
                return Ok(());
            }
        }
    })
    .await?;
    Ok(all)
}

#[tokio::test]
async fn a_service_manager_hears_when_it_serves_reads_its_settings_and_ends() -> Result<()> {
    let folder = Setup::new().guest("handbook").prepare().await?;
    let path = folder.path().join("notify");
    let socket = tokio::net::UnixDatagram::bind(&path)?;
    let path = path.to_str().context("a path that is text")?;
    let host = serve(folder.path(), &[("NOTIFY_SOCKET", path), ("WATCHDOG_USEC", "100000")])?;
    let ready = until(&socket, "READY=1").await?;
    ensure!(ready.last().is_some_and(|message| message.contains("\nSTATUS=serving at http://127.0.0.1:")), "{ready:?}");
    let mut status = ready;
    while !status.iter().any(|message| message.ends_with("1 of 1 provider")) {
        status.extend(until(&socket, "STATUS=").await?);
    }
    until(&socket, "WATCHDOG=1").await?;
    std::fs::write(folder.path().join("wharf.toml"), "[[resource]]\nname = \"a\"\ntext = \"\"\n")?;
    until(&socket, "RELOADING=1").await?;
    until(&socket, "READY=1").await?;
    host.signal("TERM").await?;
    let stopping = until(&socket, "STOPPING=1").await?;
    let stopping = stopping.last().context("a message")?;
    // Ten seconds, and two.
    ensure!(stopping.contains("STATUS=ending") && stopping.contains("EXTEND_TIMEOUT_USEC=12000000"), "{stopping}");
    let (status, log) = host.ended().await?;
    ensure!(status.code() == Some(0), "{status}: {log}");
    Ok(())
}

#[tokio::test]
async fn a_socket_may_have_an_abstract_name_and_the_watchdog_of_another_process_hears_nothing() -> Result<()> {
    use std::os::{linux::net::SocketAddrExt, unix::net::SocketAddr};

    let folder = Setup::new().guest("handbook").prepare().await?;
    let name = format!("wharf-tests-{}", std::process::id());
    let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
    socket.set_nonblocking(true)?;
    let socket = tokio::net::UnixDatagram::from_std(socket)?;
    let variables = [("NOTIFY_SOCKET", &*format!("@{name}")), ("WATCHDOG_USEC", "1000"), ("WATCHDOG_PID", "1")];
    let host = serve(folder.path(), &variables)?;
    let mut all = until(&socket, "READY=1").await?;
    host.signal("TERM").await?;
    all.extend(until(&socket, "STOPPING=1").await?);
    ensure!(!all.iter().any(|message| message.contains("WATCHDOG")), "{all:?}");
    host.ended().await.map(drop)
}

#[tokio::test]
async fn a_socket_that_is_not_there_is_said_and_holds_nothing_up() -> Result<()> {
    let folder = Setup::new().guest("handbook").prepare().await?;
    for socket in ["/nowhere/notify", "notify"] {
        let mut host = serve(folder.path(), &[("NOTIFY_SOCKET", socket)])?;
        let log = host.says("loaded   handbook", 1).await?;
        ensure!(log.contains("NOTIFY_SOCKET") && log.contains(socket), "{log}");
        let (status, log) = host.end("TERM").await?;
        ensure!(status.code() == Some(0), "{status}: {log}");
    }
    Ok(())
}
