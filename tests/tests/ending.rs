//! How a host ends: at a signal, whatever it is at.

use std::{fs, path::PathBuf, time::SystemTime};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    sync::watch,
    task::yield_now,
};
use wharf_tests::{Host, Session, Setup, listen, root, with_section, within};

/// What the kernel keeps for a client that does not read: as little as can be had.
const RECEIVE_BUFFER: u32 = 4096;

/// More than sockets take from one who does not read.
const LARGE: usize = 12 << 20;

fn read_message(uri: &str) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": { "uri": uri, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} } } })
    .to_string()
}

/// The head of such a request, to which more lines may be added.
fn head(address: &str, uri: &str, body: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nMcp-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: resources/read\r\nMcp-Name: {uri}\r\nContent-Length: {}\r\n",
        body.len()
    )
}

/// A read that the host has begun to take: it said that it wants the body.
struct Begun {
    stream: TcpStream,
    body: String,
}

impl Begun {
    async fn read(address: &str, uri: &str) -> Result<Self> {
        let body = read_message(uri);
        let head = format!("{}Expect: 100-continue\r\n\r\n", head(address, uri, &body));
        let socket = TcpSocket::new_v4()?;
        socket.set_recv_buffer_size(RECEIVE_BUFFER)?;
        let stream = within("100 Continue", async {
            let mut stream = socket.connect(address.parse()?).await?;
            stream.write_all(head.as_bytes()).await?;
            let mut answer = [0; 25];
            stream.read_exact(&mut answer).await?;
            ensure!(&answer == b"HTTP/1.1 100 Continue\r\n\r\n", "{}", String::from_utf8_lossy(&answer));
            Ok(stream)
        });
        Ok(Self { stream: stream.await?, body })
    }

    /// Sends the body.
    async fn ask(&mut self) -> Result<()> {
        within("sending", async { Ok(self.stream.write_all(self.body.as_bytes()).await?) }).await
    }

    /// What comes until the end of the connection; the head and the message, if it is whole.
    async fn answer(mut self) -> Result<(String, Value)> {
        let mut all = Vec::new();
        within("the answer", async { Ok(self.stream.read_to_end(&mut all).await?) }).await?;
        let all = String::from_utf8(all)?;
        let (head, body) = all.split_once("\r\n\r\n").context("no answer")?;
        Ok((head.to_ascii_lowercase(), serde_json::from_str(body).with_context(|| body.to_owned())?))
    }
}

async fn loaded(setup: Setup, name: &str) -> Result<Host> {
    let mut host = setup.start().await?;
    host.wait_for_log(&format!("loaded   {name}")).await?;
    Ok(host)
}

/// Takes longer than any test may.
const ENDLESS: &str = "grants://slow/600000";

/// A guest that may compute for so long.
fn patient(server: &str) -> Setup {
    Setup::new().guest("grants").config(&format!("{server}\n[limits]\ndeadline = \"10m\"\n"))
}

/// A host that a guest keeps from ending, and which was told to end.
async fn stuck() -> Result<(Host, Begun)> {
    let mut host = loaded(patient("[server]\nshutdown-time = \"10m\""), "grants").await?;
    let mut stuck = Begun::read(host.address(), ENDLESS).await?;
    stuck.ask().await?;
    host.signal("TERM").await?;
    host.wait_for_log("once more ends it at once").await?;
    Ok((host, stuck))
}

#[tokio::test]
async fn sigterm_ends_streams_lets_what_was_asked_be_answered_and_takes_nothing_new() -> Result<()> {
    let mut host = loaded(Setup::new().guest("live").guest("grants"), "live").await?;
    let session = Session::open(&host).await?;
    session.subscribe(&["live://ticks".into()]).await?;
    let legacy = session.listen().await?;
    let modern = listen(&host, &["live://ticks".into()]).await?;
    let address = host.address().to_owned();
    let mut asked = Begun::read(&address, "grants://slow/300").await?;
    host.signal("TERM").await?;
    host.wait_for_log("once more ends it at once").await?;
    legacy.end().await?;
    modern.end().await?;
    within("a connection that is refused", async {
        while TcpStream::connect(&address).await.is_ok() {
            yield_now().await;
        }
        Ok(())
    })
    .await?;
    // Only now is it known what was asked.
    asked.ask().await?;
    let (head, answer) = asked.answer().await?;
    ensure!(answer["result"]["contents"][0]["text"] == "slow" && head.contains("connection: close"), "{head}\n{answer}");
    let (status, log) = host.ended().await?;
    ensure!(status.code() == Some(0) && !log.contains("cut off"), "{status}; the host said:\n{log}");
    Ok(())
}

#[tokio::test]
async fn a_guest_that_does_not_come_back_is_cut_off_when_the_time_is_up() -> Result<()> {
    let host = loaded(patient("[server]\nshutdown-time = \"500ms\""), "grants").await?;
    let mut asked = Begun::read(host.address(), ENDLESS).await?;
    asked.ask().await?;
    let (status, log) = host.end("TERM").await?;
    ensure!(status.code() == Some(0), "{status}; the host said:\n{log}");
    ensure!(log.contains("cut off at the shutdown") && log.contains("[server] shutdown-time"), "{log}");
    ensure!(asked.answer().await.is_err(), "it was answered");
    Ok(())
}

#[tokio::test]
async fn a_client_that_does_not_read_is_cut_off_when_the_time_is_up() -> Result<()> {
    let config = "[server]\nshutdown-time = \"500ms\"\n[[resource]]\nname = \"large\"\nuri = \"x://large\"\nfile = \"plugins/large.txt\"\n";
    let setup = Setup::new().guest("handbook").config(config).file("large.txt", &vec![b'x'; LARGE]);
    let host = loaded(setup, "handbook").await?;
    let mut asked = Begun::read(host.address(), "x://large").await?;
    asked.ask().await?;
    within("the beginning of an answer", async { Ok(asked.stream.read_u8().await?) }).await?;
    let (status, log) = host.end("TERM").await?;
    ensure!(status.code() == Some(0) && log.contains("cut off at the shutdown"), "{status}; the host said:\n{log}");
    Ok(())
}

#[tokio::test]
async fn a_second_signal_ends_it_at_once_with_the_exit_code_of_that_signal() -> Result<()> {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let (host, _stuck) = stuck().await?;
        let (status, log) = host.end(signal).await?;
        ensure!(status.code() == Some(code) && log.contains("ended before everything was done"), "{status}; the host said:\n{log}");
    }
    Ok(())
}

/// The process that compiles for this host, as soon as there is one. It is stopped, so that it does not end by itself.
async fn compiler(host: u32) -> Result<u32> {
    let compiler = within("a compiler", async {
        loop {
            for entry in fs::read_dir("/proc")? {
                let Some(id) = entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
                let read = |file: &str| fs::read_to_string(PathBuf::from("/proc").join(id.to_string()).join(file)).unwrap_or_default();
                if parent(&read("stat")) == Some(host) && read("cmdline").contains("compile-component") {
                    return Ok(id);
                }
            }
            yield_now().await;
        }
    });
    let compiler = compiler.await?;
    signal(compiler, "STOP").await?;
    Ok(compiler)
}

/// The fields after the name, which is in parentheses (proc_pid_stat(5)): the state, and the parent.
fn parent(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

async fn signal(process: u32, signal: &str) -> Result<()> {
    let sent = tokio::process::Command::new("kill").args(["-s", signal, &process.to_string()]).status().await?;
    if !sent.success() {
        bail!("cannot send {signal}");
    }
    Ok(())
}

/// Waits until a process is gone, or is one that nobody has asked about yet.
async fn gone(process: u32) -> Result<()> {
    within("the end of the compiler", async {
        while let Ok(stat) = fs::read_to_string(format!("/proc/{process}/stat")) {
            if stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z')) {
                break;
            }
            yield_now().await;
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_load_or_a_reload_that_is_under_way_holds_nothing_up_and_its_compiler_is_gone() -> Result<()> {
    // One that takes a while, and like no other, so that it is in no cache.
    let unlike = || -> Result<Vec<u8>> {
        let clock = fs::read(root().join("plugins/clock.wasm")).context("clock.wasm is not built: run `cargo xtask guests`")?;
        Ok(with_section(clock, &format!("{:?}", SystemTime::now())))
    };
    for reload in [false, true] {
        let mut host = if reload {
            let host = loaded(Setup::new().guest("clock"), "clock").await?;
            let plugin = host.folder().join("plugins/clock.wasm");
            fs::write(plugin.with_extension("new"), unlike()?)?;
            fs::rename(plugin.with_extension("new"), plugin)?;
            host
        } else {
            Setup::new().file("clock.wasm", &unlike()?).start().await?
        };
        let compiler = compiler(host.id()?).await?;
        host.signal("TERM").await?;
        host.wait_for_log("once more ends it at once").await?;
        let (status, log) = host.ended().await?;
        ensure!(status.code() == Some(0), "reload: {reload}, {status}; the host said:\n{log}");
        // It may be gone already.
        let _ = signal(compiler, "CONT").await;
        gone(compiler).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_provider_that_does_not_get_done_with_its_list_holds_nothing_up() -> Result<()> {
    let config = "[[provider]]\nname = \"hostile\"\nsettings = { list = \"loop\" }\n";
    let mut host = patient("[server]\nshutdown-time = \"10m\"").guest("hostile").config(config).start().await?;
    host.wait_for_log("still loading: hostile").await?;
    let (status, log) = host.end("TERM").await?;
    ensure!(status.code() == Some(0) && !log.contains("cut off"), "{status}; the host said:\n{log}");
    Ok(())
}

#[tokio::test]
async fn under_load_each_answer_that_was_begun_is_whole() -> Result<()> {
    const CLIENTS: usize = 16;
    let host = loaded(Setup::new().guest("handbook"), "handbook").await?;
    let (answered, mut answers) = watch::channel(0_usize);
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let (address, answered) = (host.address().to_owned(), answered.clone());
            tokio::spawn(async move {
                // Until nobody takes a connection any more.
                while let Ok(mut stream) = TcpStream::connect(&address).await {
                    let body = read_message("handbook://wharf/facts");
                    let request = format!("{}Connection: close\r\n\r\n{body}", head(&address, "handbook://wharf/facts", &body));
                    let mut answer = Vec::new();
                    // It may be closed before it is asked.
                    if stream.write_all(request.as_bytes()).await.is_err()
                        || stream.read_to_end(&mut answer).await.is_err() && answer.is_empty()
                    {
                        continue;
                    }
                    if answer.is_empty() {
                        continue;
                    }
                    let (_, body) = std::str::from_utf8(&answer)?.split_once("\r\n\r\n").context("half a head")?;
                    let message: Value = serde_json::from_str(body).with_context(|| format!("half an answer: {body}"))?;
                    ensure!(message["result"]["contents"][0]["uri"] == "handbook://wharf/facts", "{message}");
                    answered.send_modify(|answered| *answered += 1);
                }
                Ok(())
            })
        })
        .collect();
    within("answers", async { Ok(answers.wait_for(|answered| *answered > 10 * CLIENTS).await.map(drop)?) }).await?;
    let (status, log) = host.end("TERM").await?;
    ensure!(status.code() == Some(0) && !log.contains("cut off"), "{status}; the host said:\n{log}");
    for client in clients {
        within("a client", async { client.await? }).await?;
    }
    Ok(())
}
