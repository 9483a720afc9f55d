//! README.md, "Connect an agent": each configuration is read as the agent reads it, has the keys that the agent needs, and works.
//!
//! Those that are JSON are read as JSON, which is stricter than what some of these agents take (comments, trailing commas).

use std::fs;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value, json};
use wharf_tests::{Pipe, Setup, root};
use yaml_rust2::{Yaml, YamlLoader};

const URL: &str = "http://127.0.0.1:8089/mcp";
/// What a client runs over stdio, without the program.
const ARGUMENTS: [&str; 4] = ["serve", "--stdio", "--plugins", PLUGINS];
const PLUGINS: &str = "/path/to/plugins";

/// An agent of the section: its name, the language of its file, where in it the servers are, and the server Wharf is over HTTP and stdio.
struct Agent {
    name: &'static str,
    language: &'static str,
    servers: &'static str,
    http: Value,
    stdio: Value,
}

fn agents() -> Vec<Agent> {
    let command = || json!({ "command": "wharf", "args": ARGUMENTS });
    let typed = |kind: &str| json!({ "type": kind, "url": URL });
    let agent = |name, language, servers, http, stdio| Agent { name, language, servers, http, stdio };
    vec![
        // Without a type a URL is an error for it.
        agent("Claude Code", "json", "mcpServers", typed("http"), command()),
        agent("Codex", "toml", "mcp_servers", json!({ "url": URL }), command()),
        // Without a type it tries SSE.
        agent("Gemini CLI", "json", "mcpServers", typed("http"), command()),
        agent("OpenCode", "json", "mcp", typed("remote"), {
            json!({ "type": "local", "command": ["wharf", ARGUMENTS[0], ARGUMENTS[1], ARGUMENTS[2], ARGUMENTS[3]] })
        }),
        agent("VS Code", "json", "servers", typed("http"), json!({ "type": "stdio", "command": "wharf", "args": ARGUMENTS })),
        agent("Cursor", "json", "mcpServers", json!({ "url": URL }), command()),
        agent(
            "Goose",
            "yaml",
            "extensions",
            json!({ "enabled": true, "type": "streamable_http", "name": "wharf", "uri": URL, "timeout": 300 }),
            json!({ "enabled": true, "type": "stdio", "name": "wharf", "cmd": "wharf", "args": ARGUMENTS, "timeout": 300 }),
        ),
        agent("Crush", "json", "mcp", typed("http"), json!({ "type": "stdio", "command": "wharf", "args": ARGUMENTS })),
        agent("Zed", "json", "context_servers", json!({ "url": URL }), command()),
    ]
}

fn section() -> Result<String> {
    let readme = fs::read_to_string(root().join("README.md"))?;
    let (_, rest) = readme.split_once("\n## Connect an agent\n").context("README.md has no section \"Connect an agent\"")?;
    Ok(rest.split("\n## ").next().unwrap_or_default().to_owned())
}

/// A block of code: its language and its text.
type Block = (String, String);

/// The agents' names with their blocks.
fn blocks(section: &str) -> Result<Vec<(String, Vec<Block>)>> {
    let mut all = Vec::new();
    for details in section.split("<details><summary>").skip(1) {
        let (details, _) = details.split_once("</details>").context("a <details> that does not end")?;
        let (name, _) = details.split_once(':').context("a <summary> without the agent's name")?;
        let fences: Vec<&str> = details.split("```").collect();
        ensure!(fences.len() % 2 == 1, "{name}: a block that does not end");
        let block = |fence: &&str| fence.split_once('\n').map(|(language, text)| (language.to_owned(), text.to_owned()));
        all.push((name.to_owned(), fences.iter().skip(1).step_by(2).map(block).collect::<Option<_>>().context("an empty block")?));
    }
    Ok(all)
}

/// Reads a block in its language.
fn read(language: &str, text: &str) -> Result<Value> {
    match language {
        "json" => Ok(serde_json::from_str(text)?),
        "toml" => Ok(toml::from_str(text)?),
        "yaml" => match &YamlLoader::load_from_str(text)?[..] {
            [document] => from_yaml(document),
            documents => bail!("{} documents", documents.len()),
        },
        _ => bail!("{language}: no agent reads that"),
    }
}

fn from_yaml(yaml: &Yaml) -> Result<Value> {
    Ok(match yaml {
        Yaml::String(text) => text.as_str().into(),
        Yaml::Integer(number) => (*number).into(),
        Yaml::Boolean(is) => (*is).into(),
        Yaml::Array(entries) => entries.iter().map(from_yaml).collect::<Result<Vec<_>>>()?.into(),
        Yaml::Hash(fields) => {
            let field = |(name, value): (&Yaml, &Yaml)| Ok((name.as_str().context("a key that is no text")?.to_owned(), from_yaml(value)?));
            fields.iter().map(field).collect::<Result<Map<_, _>>>()?.into()
        }
        other => bail!("{other:?} has no place here"),
    })
}

#[test]
fn each_configuration_is_what_its_agent_reads() -> Result<()> {
    let section = section()?;
    let (blocks, agents) = (blocks(&section)?, agents());
    ensure!(blocks.iter().map(|(name, _)| name).eq(agents.iter().map(|agent| agent.name)), "other agents than expected");
    for ((name, blocks), agent) in blocks.iter().zip(&agents) {
        ensure!(blocks.len() == 2, "{name}: one block for HTTP and one for stdio");
        for ((language, text), server) in blocks.iter().zip([&agent.http, &agent.stdio]) {
            ensure!(language == agent.language, "{name} reads {}, not {language}", agent.language);
            let mut file = read(language, text).with_context(|| format!("{name}:\n{text}"))?;
            if let Some(fields) = file.as_object_mut() {
                // For editors.
                fields.remove("$schema");
            }
            ensure!(file == json!({ agent.servers: { "wharf": server } }), "{name}: {file}");
        }
    }
    Ok(())
}

/// The table's rows: the agent, and its commands for HTTP and stdio.
fn commands(section: &str) -> Vec<[String; 3]> {
    let rows = section.lines().filter(|line| line.starts_with("| ") && line.contains('`'));
    rows.filter_map(|row| {
        let cells: Vec<_> = row.split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect();
        <[String; 3]>::try_from(cells.get(1..4)?.to_vec()).ok()
    })
    .collect()
}

#[test]
fn the_commands_say_the_same_as_the_files() -> Result<()> {
    let commands = commands(&section()?);
    ensure!(commands.len() == 4, "{commands:?}");
    let run = format!("wharf {}", ARGUMENTS.join(" "));
    for [name, http, stdio] in &commands {
        if name == "VS Code" {
            for (command, kind) in [(http, "http"), (stdio, "stdio")] {
                let added = command.strip_prefix("code --add-mcp '").and_then(|rest| rest.strip_suffix('\'')).context("no JSON")?;
                let added: Value = serde_json::from_str(added)?;
                let agents = agents();
                let agent = agents.iter().find(|agent| agent.name == name).context("VS Code")?;
                let mut server = if kind == "http" { agent.http.clone() } else { agent.stdio.clone() };
                server["name"] = "wharf".into();
                ensure!(added == server, "{added}");
            }
            continue;
        }
        ensure!(http.contains(&format!(" {URL}")) && http.contains(" wharf"), "{name}: {http}");
        ensure!(stdio.ends_with(&format!(" {run}")), "{name}: {stdio}");
    }
    Ok(())
}

#[tokio::test]
async fn what_the_host_prints_is_in_the_table() -> Result<()> {
    let mut host = Setup::new().start().await?;
    let log = host.wait_for_log("Ctrl-C ends it.").await?.replace(&host.url(), URL);
    let commands = commands(&section()?);
    for [name, http, _] in &commands {
        ensure!(log.lines().any(|line| line.strip_prefix(name.as_str()).is_some_and(|rest| rest.trim_start() == http)), "{name}:\n{log}");
    }
    Ok(())
}

#[tokio::test]
async fn what_the_clients_run_over_stdio_is_a_host() -> Result<()> {
    let folder = Setup::new().guest("handbook").prepare().await?;
    let plugins = folder.path().join("plugins").display().to_string();
    // The process is run as `wharf serve --stdio` in any case.
    ensure!(ARGUMENTS[..2] == ["serve", "--stdio"]);
    let arguments: Vec<&str> = ARGUMENTS[2..].iter().map(|argument| if *argument == PLUGINS { &*plugins } else { argument }).collect();
    // Not in the folder that has a wharf.toml.
    let elsewhere = tempfile::tempdir()?;
    let mut pipe = Pipe::run(elsewhere.path(), &arguments)?;
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "wharf-tests", "version": "1" } });
    pipe.call("i", "initialize", params).await?;
    let read = pipe.call("r", "resources/read", json!({ "uri": "handbook://wharf/welcome" })).await?;
    ensure!(read["contents"][0]["uri"] == "handbook://wharf/welcome", "{read}");
    Ok(())
}
