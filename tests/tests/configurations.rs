//! README.md, "Connect an agent": each configuration is read as the agent reads it, has the keys that the agent needs, and works.
//!
//! Those that are JSON are read as JSON, which is stricter than what some of these agents take (comments, trailing commas).

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use wharf_tests::{ARGUMENTS, PLUGINS, Pipe, Setup, URL, agents, read_configuration, root};

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

#[test]
fn each_configuration_is_what_its_agent_reads() -> Result<()> {
    let section = section()?;
    let (blocks, agents) = (blocks(&section)?, agents());
    ensure!(blocks.iter().map(|(name, _)| name).eq(agents.iter().map(|agent| agent.name)), "other agents than expected");
    for ((name, blocks), agent) in blocks.iter().zip(&agents) {
        ensure!(blocks.len() == 2, "{name}: one block for HTTP and one for stdio");
        for ((language, text), server) in blocks.iter().zip([&agent.http, &agent.stdio]) {
            ensure!(language == agent.language, "{name} reads {}, not {language}", agent.language);
            let mut file = read_configuration(language, text).with_context(|| format!("{name}:\n{text}"))?;
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
