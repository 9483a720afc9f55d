//! The status page in a browser: the programs of `tests/browser/`, each against a host of its own.

use std::{process::Stdio, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use tokio::{
    fs,
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::{Semaphore, SemaphorePermit},
    task::JoinHandle,
    time::timeout,
};
use wharf_tests::{Hooks, Host, Setup, root, within};

/// Browsers at a time: each has several processes, and a small machine two cores.
static TURNS: Semaphore = Semaphore::const_new(2);

/// One step of a program: some dozen waits, each of which takes a moment, or a while where much else is going on.
const STEP_LIMIT: Duration = Duration::from_secs(240);

const ADMIN: &str = "[server]\nadmin = \"127.0.0.1:0\"\n";
/// No timers: it changes when it is told to.
const STILL: &str = "[[provider]]\nname = \"live\"\n[provider.settings]\ntimers = false\n";

/// The address of the page.
async fn admin(host: &mut Host) -> Result<String> {
    let log = host.wait_for_log("Status page at http://").await?;
    let (_, rest) = log.split_once("Status page at http://").context("no address")?;
    Ok(rest.split_once('/').context("no path")?.0.to_owned())
}

/// A program of `tests/browser/`. It is killed when this is dropped, and its browser ends with it.
struct Program {
    name: &'static str,
    child: Child,
    asks: Lines<BufReader<ChildStdout>>,
    answers: ChildStdin,
    complaint: JoinHandle<String>,
    _turn: SemaphorePermit<'static>,
}

impl Program {
    async fn start(name: &'static str, admin: &str, host: &Host) -> Result<Self> {
        let turn = TURNS.acquire().await?;
        let folder = root().join("tests/browser");
        ensure!(folder.join("node_modules").is_dir(), "the browser's driver is not there: run `cargo xtask clients`");
        let mut command = Command::new("node");
        command.arg(format!("{name}.mjs")).args([admin, host.address()]).current_dir(&folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().context("cannot run node: run `cargo xtask clients`")?;
        let asks = BufReader::new(child.stdout.take().context("no stdout")?).lines();
        let answers = child.stdin.take().context("no stdin")?;
        let mut stderr = child.stderr.take().context("no stderr")?;
        let complaint = tokio::spawn(async move {
            let mut text = String::new();
            let _ = stderr.read_to_string(&mut text).await;
            text
        });
        Ok(Self { name, child, asks, answers, complaint, _turn: turn })
    }

    /// What it asks for next. It is told that this is done by [`Program::answer`].
    async fn asks(&mut self) -> Result<String> {
        let asked = timeout(STEP_LIMIT, self.asks.next_line()).await.with_context(|| format!("{}.mjs hangs", self.name))?;
        match asked? {
            Some(asked) => Ok(asked),
            None => bail!("{}.mjs failed: {}", self.name, within("its end", async { Ok((&mut self.complaint).await?) }).await?),
        }
    }

    async fn answer(&mut self) -> Result<()> {
        Ok(self.answers.write_all(b"done\n").await?)
    }

    /// It asks for nothing more, and ends well.
    async fn ends(mut self) -> Result<()> {
        let asked = self.asks().await?;
        ensure!(asked == "done", "{}.mjs asks for {asked}", self.name);
        self.answer().await?;
        let status = within("its end", async { Ok(self.child.wait().await?) }).await?;
        ensure!(status.success(), "{}.mjs: {status}", self.name);
        Ok(())
    }
}

/// A text as a string of TOML.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn resource(uri: &str, title: &str, mime_type: &str, text: &str) -> String {
    let [uri, title, mime_type, text] = [uri, title, mime_type, text].map(quoted);
    format!("[[resource]]\nname = {title}\nuri = {uri}\ntitle = {title}\ndescription = {title}\nmime-type = {mime_type}\ntext = {text}\n")
}

#[tokio::test]
async fn the_page_shows_what_there_is_and_what_changes_as_it_changes() -> Result<()> {
    let long = "line\n".repeat(20_000);
    let docs = tempfile::tempdir()?;
    fs::write(docs.path().join("note.txt"), "one\n").await?;
    let path = docs.path().canonicalize()?;
    let config = [
        ADMIN,
        &resource("x://json", "Some JSON", "application/json", r#"{"deep":{"number":12345678901234567890.10},"empty":[]}"#),
        &resource("x://markdown", "Markdown", "text/markdown", "# No heading\n\n**not bold**\n"),
        &resource("x://long", "Long", "text/plain", &long),
        STILL,
        &format!("[[provider]]\nname = \"files\"\n[provider.grants]\nfolders = [{{ host = {path:?}, guest = \"/docs\" }}]\n"),
    ]
    .concat();
    let mut host = Setup::new().guest("live").guest("handbook").guest("grants").guest("files").config(&config).start().await?;
    for name in ["live", "handbook", "grants", "files"] {
        host.wait_for_load(name).await?;
    }
    let admin = admin(&mut host).await?;
    let mut program = Program::start("page", &admin, &host).await?;
    ensure!(program.asks().await? == "drop basic");
    let next = host.folder().join("next");
    fs::copy(root().join("tests/guests/basic.wasm"), &next).await?;
    fs::rename(&next, host.folder().join("plugins/basic.wasm")).await?;
    program.answer().await?;
    ensure!(program.asks().await? == "change the note");
    fs::write(docs.path().join("note.txt"), "one\ntwo\n").await?;
    program.answer().await?;
    program.ends().await
}

#[tokio::test]
async fn hostile_names_and_contents_stay_text_and_no_other_origin_gets_anything() -> Result<()> {
    const SCRIPT: &str = "<script>window.hacked=1</script><img src=x onerror=\"window.hacked=1\">";
    let config = [
        ADMIN,
        &resource("evil://html", "<img src=x onerror=\"window.hacked=1\">", "text/html", SCRIPT),
        &resource(
            "evil://json",
            "</title><script>window.hacked=1</script>",
            "application/json",
            r#"{"__proto__":"</pre><script>window.hacked=1</script>"}"#,
        ),
        &resource(
            "evil://svg",
            "two\nlines",
            "image/svg+xml",
            "<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"window.hacked=1\"></svg>",
        ),
        &resource("javascript:window.hacked=1", "javascript:window.hacked=1", "text/javascript", "a scheme"),
        &resource("evil://reversed", "invoice\u{202e}fdp.exe", "text/plain", "if (admin\u{202e} \u{2066}) {"),
    ]
    .concat();
    let mut host = Setup::new().guest("basic").file("broken.wasm", b"<script>").config(&config).start().await?;
    host.wait_for_load("basic").await?;
    let admin = admin(&mut host).await?;
    let mut sender = Hooks::at(&admin).await?;
    for path in ["/", "/page/page.js", "/events", "/resources"] {
        for headers in [[("host", "evil.example.com")], [("origin", "http://evil.example.com")], [("origin", "null")]] {
            let answer = sender.send("GET", path, &headers, "").await?;
            ensure!(answer.status == 403 && !answer.body.contains("evil://"), "{path} {headers:?} {answer:?}");
        }
    }
    for path in ["/", "/page/index.html", "/page/page.js"] {
        let page = sender.send("GET", path, &[], "").await?;
        let policy = page.headers["content-security-policy"].to_str()?;
        ensure!(page.status == 200 && policy.starts_with("default-src 'none'; script-src 'self';"), "{path} {page:?}");
        ensure!(Hooks::connect(&host).await?.send("GET", path, &[], "").await?.status == 404, "{path} at the main address");
    }
    Program::start("hostile", &admin, &host).await?.ends().await
}

#[tokio::test]
async fn ten_thousand_resources_are_scrolled_and_found() -> Result<()> {
    let config = [ADMIN, "[[provider]]\nname = \"texts\"\n[provider.settings]\nentries = 10000\n"].concat();
    let mut host = Setup::new().guest("texts").config(&config).start().await?;
    host.wait_for_load("texts").await?;
    let admin = admin(&mut host).await?;
    Program::start("many", &admin, &host).await?.ends().await
}

#[tokio::test]
async fn the_page_goes_on_after_a_restart_and_shows_what_is_new() -> Result<()> {
    let note = |text: &str| resource("x://note", "A note", "text/plain", text);
    let mut host = Setup::new().guest("live").config(&[ADMIN, &note("before"), STILL].concat()).start().await?;
    host.wait_for_load("live").await?;
    let admin = admin(&mut host).await?;
    let mut program = Program::start("restart", &admin, &host).await?;
    ensure!(program.asks().await? == "stop");
    let dead = host.kill().await?;
    let later = resource("x://later", "Added later", "text/plain", "later");
    let config =
        format!("[server]\nadmin = \"{admin}\"\n{}{later}{STILL}[[provider]]\nname = \"absent\"\nrequired = true\n", note("after"));
    fs::write(dead.folder().join("wharf.toml"), config).await?;
    program.answer().await?;
    ensure!(program.asks().await? == "start");
    let mut host = dead.start().await?;
    host.wait_for_load("live").await?;
    program.answer().await?;
    program.ends().await
}

#[tokio::test]
async fn the_page_is_used_without_a_mouse() -> Result<()> {
    let mut host = Setup::new().guest("live").config(&[ADMIN, STILL].concat()).start().await?;
    host.wait_for_load("live").await?;
    let admin = admin(&mut host).await?;
    Program::start("keyboard", &admin, &host).await?.ends().await
}

#[tokio::test]
async fn the_page_names_what_hides_or_reorders_and_finds_what_is_new() -> Result<()> {
    let mut host = Setup::new().config(ADMIN).start().await?;
    let admin = admin(&mut host).await?;
    Program::start("units", &admin, &host).await?.ends().await
}
