//! What the machine does to a host.

use std::io::ErrorKind;

use anyhow::{Context, Result, ensure};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use wharf_tests::{Host, Setup, listen, within};

/// Few, and more than a host has open by itself.
const FILES: u32 = 64;
/// More than it may have, and fewer than the system lets wait to be accepted (128).
const CONNECTIONS: usize = 100;

/// A client that keeps its connection.
struct Kept(TcpStream);

impl Kept {
    async fn open(host: &Host) -> Result<Self> {
        Ok(Self(TcpStream::connect(host.address()).await?))
    }

    /// Whether it is answered; not, if the host closes the connection or has no room.
    async fn is_answered(&mut self) -> Result<bool> {
        let request = b"OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n";
        let asked = async {
            self.0.write_all(request).await?;
            let mut answer = [0; 512];
            let read = self.0.read(&mut answer).await?;
            Ok::<_, std::io::Error>(answer[..read].starts_with(b"HTTP/1.1 204"))
        };
        match within("an answer", async { Ok(asked.await) }).await? {
            Ok(answered) => Ok(answered),
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

#[tokio::test]
async fn without_files_left_those_who_are_connected_are_served_and_others_once_there_is_room() -> Result<()> {
    let mut host = Setup::new().guest("live").open_files(FILES).start().await?;
    host.wait_for_load("live").await?;
    let mut first = Kept::open(&host).await?;
    ensure!(first.is_answered().await?, "the first client is not answered");
    let mut listener = listen(&host, &["live://ticks".into()]).await?;

    let mut crowd = Vec::new();
    for _ in 0..CONNECTIONS {
        crowd.push(Kept::open(&host).await?);
    }
    let in_use = || anyhow::Ok(std::fs::read_dir(format!("/proc/{}/fd", host.id()?))?.count());
    within("all files in use", async {
        while in_use()? < usize::try_from(FILES)? - 2 {
            tokio::task::yield_now().await;
        }
        Ok(())
    })
    .await?;
    for _ in 0..10 {
        ensure!(first.is_answered().await?, "who was connected is not answered");
        let told = listener.update().await?;
        ensure!(told == "live://ticks", "told of {told}");
    }
    drop(crowd);
    within("room", async {
        loop {
            if Kept::open(&host).await?.is_answered().await? {
                return Ok(());
            }
        }
    })
    .await
    .with_context(|| host.log())?;
    host.wait_for_log("connections are accepted again").await?;
    let said = host.log().matches("no connection can be accepted").count();
    ensure!(said > 0 && !host.log().contains("panicked"), "{}", host.log());
    Ok(())
}
