//! What the shipped agents say on the wire, played against the real binary and the example providers: tests/dialogues/ has one file an
//! agent, taken down from the agents' own traffic, or from their source where an agent could not be run.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use wharf_tests::{Dialogue, Pipe, Session, Setup, Transport, call, dialogues};

const PROVIDERS: [&str; 3] = ["handbook", "review-status", "clock"];

fn examples() -> Setup {
    PROVIDERS.iter().fold(Setup::new(), |setup, name| setup.guest(name))
}

/// Plays the dialogue over all that the agent speaks. HTTP first: the compiled components are then at hand for the process over stdio.
async fn play(name: &str, over: &[Transport]) -> Result<()> {
    let dialogue = Dialogue::read(name)?;
    ensure!(dialogue.over() == over, "{name} is played over {:?}", dialogue.over());
    let mut host = examples().start().await?;
    for provider in PROVIDERS {
        host.wait_for_log(&format!("loaded   {provider}: ")).await?;
    }
    dialogue.play_http(&host).await.with_context(|| host.log())?;
    if over.contains(&Transport::Stdio) {
        let folder = examples().prepare().await?;
        dialogue.play_stdio(Pipe::run(folder.path(), &[])?).await?;
        dialogue.play_stdio(Pipe::run(host.folder(), &["--attach", &host.url()])?).await.context("attached")?;
    }
    Ok(())
}

macro_rules! agents {
    ($($test:ident plays $name:literal over $($transport:ident)+;)+) => {
        $(#[tokio::test]
        async fn $test() -> Result<()> {
            play($name, &[$(Transport::$transport),+]).await
        })+

        #[test]
        fn no_dialogue_is_left_out() -> Result<()> {
            let played = BTreeSet::from([$($name.to_owned()),+]);
            ensure!(dialogues()?.into_iter().collect::<BTreeSet<_>>() == played, "tests/dialogues/ has others than are played");
            Ok(())
        }
    };
}

agents! {
    claude_code_discovers_listens_and_reads plays "claude-code" over Http Stdio;
    claude_code_goes_on_with_a_session_where_discover_is_refused plays "claude-code-fallback" over Http Stdio;
    codex_looks_for_a_login_wants_its_tools_and_reads plays "codex" over Http Stdio;
    gemini_cli_never_says_its_version plays "gemini-cli" over Http Stdio;
    opencode_lists_and_reads plays "opencode" over Http Stdio;
    vscode_subscribes_to_what_it_shows plays "vscode" over Http Stdio;
    goose_has_progress_tokens_and_meta_of_its_own plays "goose" over Http Stdio;
    rmcp_discovers_and_listens_to_one_resource plays "rmcp-auto" over Http Stdio;
    mcp_remote_tries_a_session_before_it_opens_one plays "mcp-remote" over Http;
    a_careless_client_is_served_all_the_same plays "careless" over Http Stdio;
}

/// What VS Code makes of a URI: it parses it as a URL and takes a slash off the end, and then looks for its contents, and for the one that
/// was updated, by the path alone, without regard to case. None if it would ask for another URI than this.
fn vscode_path(uri: &str) -> Option<String> {
    let (_, rest) = uri.split_once("://")?;
    let (_, path) = rest.split_once('/')?;
    let path = path.split(['?', '#']).next()?;
    let parsed_as_it_is =
        path.split('/').all(|segment| !matches!(segment.to_ascii_lowercase().as_str(), "." | ".." | "%2e" | "%2e%2e" | ""));
    (parsed_as_it_is && uri.bytes().all(|byte| byte.is_ascii_graphic())).then(|| path.to_lowercase())
}

#[tokio::test]
async fn vscode_can_tell_the_resources_of_the_examples_apart_and_finds_each_in_its_contents() -> Result<()> {
    let host = examples().start().await?;
    let session = Session::open(&host).await?;
    let list = call(&host, "resources/list", json!({})).await?;
    let uris: Vec<&str> = list["resources"].as_array().into_iter().flatten().filter_map(|resource| resource["uri"].as_str()).collect();
    ensure!(uris.len() > PROVIDERS.len(), "{list}");
    let mut paths = BTreeSet::new();
    for uri in uris.iter().copied().chain(["handbook://wharf/chapters/concepts", "clock://zone/Pacific/Apia"]) {
        let path = vscode_path(uri).with_context(|| format!("VS Code would ask for another URI than {uri}"))?;
        ensure!(paths.insert(path), "VS Code cannot tell {uri} from another");
        let read = session.call("resources/read", json!({ "uri": uri })).await?;
        ensure!(read["contents"].as_array().is_some_and(|contents| contents.len() == 1 && contents[0]["uri"] == uri), "{uri}: {read}");
    }
    Ok(())
}

#[test]
fn vscode_takes_some_uris_for_each_other() {
    assert_eq!(vscode_path("clock://zone/UTC"), vscode_path("clock://other/utc?x"));
    for unfit in ["x://name", "x:name", "x://a/../b", "x://a/b/", "x://a/%2E%2e/b", "x://a/ü"] {
        assert_eq!(vscode_path(unfit), None, "{unfit}");
    }
}
