//! A server that the probe starts, over its stdin and stdout.

use std::{process::Stdio as Io, time::Duration};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
};

/// How long a server may take to end once its stdin is closed.
const END: Duration = Duration::from_secs(5);
/// Bytes of one message.
const LINE_CAP: u64 = 64 << 20;
/// Of a line that is no message, so many characters are shown.
const SHOWN: usize = 200;

pub(super) struct Stdio {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    /// What has been read of a line: waiting for one may be given up in its middle.
    line: Vec<u8>,
}

impl Stdio {
    pub(super) fn start(words: &[String]) -> Result<Self> {
        let [program, arguments @ ..] = words else { bail!("there is no command") };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Io::piped()).stdout(Io::piped()).stderr(Io::inherit()).kill_on_drop(true);
        let mut child = command.spawn().with_context(|| format!("cannot run {program}"))?;
        let stdin = child.stdin.take().context("no stdin")?;
        let stdout = BufReader::new(child.stdout.take().context("no stdout")?);
        Ok(Self { child, stdin, stdout, line: Vec::new() })
    }

    pub(super) async fn send(&mut self, message: &Value) -> Result<()> {
        let sent = async {
            self.stdin.write_all(format!("{message}\n").as_bytes()).await?;
            self.stdin.flush().await
        };
        sent.await.context("the server reads no more")
    }

    /// The next message.
    pub(super) async fn next(&mut self) -> Result<Value> {
        loop {
            let room = LINE_CAP - self.line.len() as u64;
            let read = (&mut self.stdout).take(room).read_until(b'\n', &mut self.line).await.context("cannot read what the server says")?;
            if self.line.last() != Some(&b'\n') {
                match read {
                    0 => bail!("the server has ended, or closed its stdout"),
                    _ if self.line.len() as u64 >= LINE_CAP => bail!("the server sent a line of more than {LINE_CAP} bytes"),
                    _ => continue,
                }
            }
            let line = std::mem::take(&mut self.line);
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let shown = || String::from_utf8_lossy(&line).trim().chars().take(SHOWN).collect::<String>();
            let message: Option<Value> = serde_json::from_slice(&line).ok();
            return message.filter(Value::is_object).ok_or_else(|| anyhow!("on stdout, where only messages may be: {}", shown()));
        }
    }

    pub(super) async fn close(self) -> Result<String> {
        let Self { mut child, stdin, .. } = self;
        drop(stdin);
        match tokio::time::timeout(END, child.wait()).await {
            Ok(status) => Ok(format!("it ended with {}", status.context("cannot wait for it")?)),
            Err(_) => bail!("the server has not ended {} s after its stdin was closed", END.as_secs()),
        }
    }
}
