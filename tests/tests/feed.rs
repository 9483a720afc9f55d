//! The example provider `feed`, against a web server of this machine over HTTPS.

#[path = "../../host/tests/common/web.rs"]
mod web;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::json;
use web::{Authority, Reply, Web, answer, bytes, ok};
use wharf_tests::{Host, Setup, call, listen, within};

const RSS: &str = r#"<?xml version="1.0"?><rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel>
<title>Rust &amp; more</title><link>https://blog.example/</link><description>All the <![CDATA[<b>news</b>]]></description>
<item><title>Second [edition]</title><link>https://blog.example/2</link><guid isPermaLink="false">two</guid>
<pubDate>Mon, 30 Nov 2026 12:00:00 GMT</pubDate><author>Ada</author><description>&lt;p&gt;Short &amp;amp; &lt;a href="https://x.example/"&gt;sweet&lt;/a&gt;&lt;/p&gt;</description>
<content:encoded><![CDATA[<h2>Whole</h2><p>It is <b>here</b>.</p><script>alert(1)</script><ul><li>one</li><li>two</li></ul>]]></content:encoded></item>
<item><title>First</title><link>https://blog.example/1</link></item></channel></rss>"#;

const ATOM: &str = r#"<feed xmlns="http://www.w3.org/2005/Atom"><title>Releases</title><link rel="self" href="https://x.example/self"/>
<link href="https://x.example/"/><entry><id>urn:1</id><title type="html">v1 &amp;lt;final&amp;gt;</title><link rel="alternate" href="https://x.example/v1"/>
<updated>2026-11-30T10:00:00+02:00</updated><author><name>Grace</name></author>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>Fixes <a href="https://x.example/bug">a bug</a>, 1 &lt; 2</p></div></content></entry></feed>"#;

const JSON: &str = r#"{"version":"https://jsonfeed.org/version/1.1","title":"Notes","items":[{"id":"n1","title":"A note","url":"https://n.example/1",
"content_html":"<p>Hello</p>","date_published":"2026-11-30T09:00:00Z","authors":[{"name":"Lin"}]}]}"#;

/// A server for `localhost`, and a host whose feeds are these paths of it.
async fn serve(settings: &str, paths: &[&str], handler: impl Fn(&web::Seen) -> Reply + Send + Sync + 'static) -> Result<(Web, Host)> {
    let authority = Authority::new();
    let web = Web::https(authority.server(&["localhost"]), handler).await;
    let port = web.port();
    let feeds: String = paths.iter().map(|path| format!("{path} = \"https://localhost:{port}/{path}\"\n")).collect();
    let config = format!(
        "[fetch]\nca-file = \"plugins/ca.pem\"\n[[provider]]\nname = \"feed\"\ngrants = {{ hosts = [\"localhost:{port}\"] }}\n\
         [provider.settings]\n{settings}\n[provider.settings.feeds]\n{feeds}"
    );
    let host = Setup::new().guest("feed").file("ca.pem", authority.pem.as_bytes()).config(&config).start().await?;
    Ok((web, host))
}

/// What a feed says, once it has been fetched.
async fn read(host: &Host, uri: &str) -> Result<String> {
    within(uri, async {
        loop {
            match call(host, "resources/read", json!({ "uri": uri })).await {
                Ok(answer) => return Ok(answer["contents"][0]["text"].as_str().context("no text")?.to_owned()),
                // The answer comes to nobody's knowledge but the provider's: it is asked again, as it says.
                Err(error) if format!("{error:#}").contains("is being fetched") => tokio::time::sleep(Duration::from_millis(20)).await,
                Err(error) => return Err(error),
            }
        }
    })
    .await
}

/// Why it cannot be read, once that is known.
async fn error(host: &Host, uri: &str) -> Result<String> {
    match read(host, uri).await {
        Ok(text) => bail!("{uri}: {text}"),
        Err(error) => Ok(format!("{error:#}")),
    }
}

fn item_uri(text: &str) -> Result<&str> {
    let at = text.find("whole: ").context("no item")? + "whole: ".len();
    text[at..].lines().next().context("no item")
}

#[tokio::test]
async fn each_kind_of_feed_is_read_as_markdown_and_each_item_whole() -> Result<()> {
    let (_web, host) = serve("", &["rss", "atom", "json"], |seen| match seen.target() {
        "/rss" => ok(RSS),
        "/atom" => ok(ATOM),
        _ => ok(JSON),
    })
    .await?;
    let rss = read(&host, "feed://rss").await?;
    ensure!(rss.starts_with("# Rust & more\n\nAll the **news**\n\nhttps://blog.example/\n"), "{rss}");
    ensure!(rss.contains("## [Second (edition)](https://blog.example/2)\n\n2026-11-30 12:00 UTC · Ada · whole: feed://rss/"), "{rss}");
    ensure!(rss.contains("Short & [sweet](https://x.example/)") && rss.contains("## [First]"), "{rss}");
    let whole = read(&host, item_uri(&rss)?).await?;
    ensure!(whole.contains("### Whole\n\nIt is **here**.\n\n- one\n- two") && !whole.contains("alert"), "{whole}");

    let atom = read(&host, "feed://atom").await?;
    ensure!(atom.contains("[v1 <final>](https://x.example/v1)\n\n2026-11-30 08:00 UTC · Grace"), "{atom}");
    let whole = read(&host, item_uri(&atom)?).await?;
    ensure!(whole.contains("Fixes [a bug](https://x.example/bug), 1 < 2"), "{whole}");

    let json = read(&host, "feed://json").await?;
    ensure!(json.contains("## [A note](https://n.example/1)\n\n2026-11-30 09:00 UTC · Lin") && json.contains("Hello"), "{json}");

    // The host asks for the list anew once it is told that it has changed, and not more often than it likes.
    within("titles in the list", async {
        loop {
            let list = call(&host, "resources/list", json!({})).await?;
            let entries = list["resources"].as_array().context("no list")?;
            if entries.iter().filter_map(|entry| entry["title"].as_str()).eq(["Releases", "Notes", "Rust & more"]) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await?;
    for unknown in ["feed://other", "feed://rss/0000"] {
        ensure!(error(&host, unknown).await?.contains("-32602"), "{unknown}");
    }
    Ok(())
}

#[tokio::test]
async fn who_listens_is_told_of_a_new_item_and_only_what_is_wanted_is_polled() -> Result<()> {
    let news = Arc::new(Mutex::new(String::new()));
    let says = news.clone();
    let (web, host) = serve("every = \"1s\"", &["quiet", "wanted"], move |seen| {
        let body = RSS.replace("<item>", &format!("{}<item>", says.lock().unwrap()));
        let tag = format!("ETag: \"{}\"", body.len());
        match seen.header("if-none-match") {
            Some(known) if tag.ends_with(known) => Reply::Bytes(b"HTTP/1.1 304 Not Modified\r\n\r\n".to_vec()),
            _ => Reply::Bytes(bytes("200 OK", &[&tag], body.as_bytes())),
        }
    })
    .await?;
    let asked = |path: &str| web.seen().iter().filter(|seen| seen.target() == path).count();
    ensure!(read(&host, "feed://wanted").await?.contains("Second"));
    let mut listener = listen(&host, &["feed://wanted".into()]).await?;
    let before = web.count();
    within("polls", async {
        web.asked(before + 2).await;
        Ok(())
    })
    .await?;
    *news.lock().unwrap() = "<item><title>Third</title><guid>three</guid></item>".into();
    ensure!(listener.update().await? == "feed://wanted");
    ensure!(read(&host, "feed://wanted").await?.contains("## Third"));
    ensure!(asked("/quiet") == 1 && asked("/wanted") >= 4, "{} {}", asked("/quiet"), asked("/wanted"));
    let unconditional = web.seen().iter().filter(|seen| seen.target() == "/wanted" && seen.header("if-none-match").is_none()).count();
    ensure!(unconditional <= 2, "the first one, and that of the poll: {unconditional}");
    Ok(())
}

#[tokio::test]
async fn hostile_and_broken_feeds_are_bounded_and_say_what_is_wrong() -> Result<()> {
    let paths = ["laughs", "external", "deep", "many", "tags", "latin1", "page", "text", "cut", "nothing", "gone", "away"];
    let (_web, host) = serve("", &paths, |seen| match seen.target() {
        "/laughs" => {
            let entities: String = (1..30).map(|n| format!("<!ENTITY l{n} \"&l{0};&l{0};&l{0};&l{0};\">", n - 1)).collect();
            let head = format!("<?xml version=\"1.0\"?><!DOCTYPE rss [<!ENTITY l0 \"ha\">{entities}]>");
            ok(&format!("{head}<rss><channel><title>&l29;</title><item><title>fine</title></item></channel></rss>"))
        }
        "/external" => ok("<!DOCTYPE rss [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><rss><channel><title>&x;</title></channel></rss>"),
        "/deep" => ok(&format!("<rss><channel>{}", "<a>".repeat(100_000))),
        "/many" => ok(&format!("<rss><channel>{}</channel></rss>", "<item><title>x</title></item>".repeat(100_000))),
        // No tag of these ends, no entity either.
        "/tags" => ok(&format!(
            "<rss><channel><item><description><![CDATA[{}{}]]></description></item></channel></rss>",
            "<a ".repeat(200_000),
            "&a".repeat(200_000)
        )),
        "/latin1" => Reply::Bytes(bytes(
            "200 OK",
            &[],
            b"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><rss><channel><title>Gr\xfc\xdfe</title></channel></rss>",
        )),
        "/page" => ok("<!DOCTYPE html><html><body><p>Not here</body></html>"),
        "/text" => ok("hello"),
        "/cut" => ok("<rss><channel><title>Cut</title><item><title>whole</title></item><item><title>ha"),
        "/nothing" => ok(""),
        "/gone" => answer("410 Gone", &[], b""),
        _ => answer("302 Found", &["Location: https://169.254.169.254/latest/meta-data/"], b""),
    })
    .await?;
    let laughs = read(&host, "feed://laughs").await?;
    ensure!(laughs.starts_with("# &l29;\n") && laughs.contains("## fine") && laughs.len() < 1000, "{laughs}");
    ensure!(read(&host, "feed://external").await?.starts_with("# &x;\n"));
    let many = read(&host, "feed://many").await?;
    ensure!(many.matches("## x").count() == 20 && many.contains("(180 older items are not shown.)"), "{many}");
    ensure!(read(&host, "feed://tags").await?.contains("<a <a"));
    ensure!(read(&host, "feed://latin1").await?.starts_with("# Grüße\n"));
    ensure!(read(&host, "feed://cut").await?.contains("## whole"));
    for (name, why) in [
        ("deep", "more than 128 deep"),
        ("page", "neither RSS nor Atom"),
        ("text", "neither XML nor JSON"),
        ("nothing", "it is empty"),
        ("gone", "gone for good"),
        ("away", "redirects to https://169.254.169.254, which is not granted"),
    ] {
        let error = error(&host, &format!("feed://{name}")).await?;
        ensure!(error.contains(why), "{name}: {error}");
    }
    Ok(())
}

#[tokio::test]
async fn without_a_grant_nothing_is_asked_and_the_reader_learns_what_would_allow_it() -> Result<()> {
    let web = Web::http(|_| ok(RSS)).await;
    let feeds = format!("[provider.settings.feeds]\na = \"http://localhost:{}/\"\n", web.port());
    let mut host = Setup::new().guest("feed").config(&format!("[[provider]]\nname = \"feed\"\n{feeds}")).start().await?;
    let error = error(&host, "feed://a").await?;
    ensure!(error.contains("denied") && error.contains(&format!("hosts = [\\\"localhost:{}\\\"]", web.port())), "{error}");
    host.wait_for_log("[provider.grants] hosts = ").await?;
    ensure!(web.count() == 0);
    Ok(())
}

#[tokio::test]
async fn a_ca_file_that_cannot_be_used_is_named_at_the_start_and_a_new_one_wants_a_restart() -> Result<()> {
    let mut refusing = Setup::new().config("[fetch]\nca-file = \"none.pem\"\n").start().await?;
    refusing.wait_for_log("error: [fetch] ca-file: none.pem: ").await?;
    let mut host = Setup::new().start().await?;
    std::fs::write(host.folder().join("wharf.toml"), "[fetch]\nca-file = \"none.pem\"\nmin-period = \"5s\"\n")?;
    host.wait_for_log("[fetch] ca-file, [fetch] min-period take effect when the host is started again").await?;
    Ok(())
}

#[tokio::test]
async fn a_check_asks_as_the_host_would_and_so_heeds_the_authority_that_wharf_toml_names() -> Result<()> {
    let config = "[fetch]\nca-file = \"ca.pem\"\n[[provider]]\nname = \"feed\"\n";
    let folder = Setup::new().guest("feed").config(config).prepare().await?;
    let check = async || wharf_tests::wharf(folder.path(), &["check", "--config", "wharf.toml", "plugins/feed.wasm"]).await;
    std::fs::write(folder.path().join("ca.pem"), "none")?;
    let refused = check().await?;
    ensure!(refused.code != 0 && refused.stderr.contains("[fetch] ca-file: ca.pem: there is no certificate in it"), "{}", refused.stderr);
    std::fs::write(folder.path().join("ca.pem"), Authority::new().pem)?;
    let fine = check().await?;
    ensure!(fine.code == 0, "{}", fine.stderr);
    Ok(())
}
