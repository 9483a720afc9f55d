//! `wharf connect`: what it prints and writes is what each agent reads, the rest of the agent's file stays as it is, and what it wrote works.

use std::{ffi::OsString, fs, path::PathBuf, process::Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;
use wharf_tests::{Agent, Output, PLUGINS, Setup, URL, agents, binary, plain_json, read_configuration, within};

/// No output of the command may have it.
const SECRET: &str = "sk-0123456789";

/// A user with a home folder, a project, and `wharf` on the `PATH`.
struct User {
    folder: TempDir,
}

impl User {
    fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        for name in ["home", "project", "bin"] {
            fs::create_dir(folder.path().join(name))?;
        }
        let user = Self { folder };
        std::os::unix::fs::symlink(binary()?.canonicalize()?, user.path("bin/wharf"))?;
        Ok(user)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs `wharf connect` in the project.
    async fn connect(&self, args: &[&str]) -> Result<Output> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(self.path("bin")).chain(std::env::split_paths(&path));
        let path: OsString = std::env::join_paths(folders)?;
        let mut command = Command::new(binary()?);
        command.arg("connect").args(args).current_dir(self.path("project")).stdin(Stdio::null()).kill_on_drop(true);
        command.env("HOME", self.path("home")).env("PATH", path).env("XDG_DATA_HOME", self.path("data"));
        for variable in ["XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "GEMINI_CLI_HOME", "CRUSH_GLOBAL_CONFIG"] {
            command.env_remove(variable);
        }
        let ended = within("wharf connect", async { Ok(command.output().await?) }).await?;
        let code = ended.status.code().context("ended by a signal")?;
        Ok(Output { code, stdout: ended.stdout, stderr: String::from_utf8_lossy(&ended.stderr).into_owned() })
    }

    /// The file it says it would write, or wrote.
    async fn file(&self, args: &[&str]) -> Result<PathBuf> {
        let said = self.connect(&[args, &["--json"]].concat()).await?.json()?;
        Ok(said["file"].as_str().context(said.to_string())?.into())
    }
}

/// The arguments for HTTP and for stdio, with the server that the agent has to read.
fn kinds(agent: &Agent) -> [(Vec<&'static str>, &Value); 2] {
    [(vec![agent.id], &agent.http), (vec![agent.id, "--stdio", "--plugins", PLUGINS], &agent.stdio)]
}

/// As the agent reads it.
fn read(agent: &Agent, text: &str) -> Result<Value> {
    let text = if agent.language == "json" { plain_json(text) } else { text.to_owned() };
    read_configuration(agent.language, &text).with_context(|| format!("{}:\n{text}", agent.name))
}

/// A file of this agent as a user has it: another server with a secret, settings, and where the agent reads them comments and trailing
/// commas.
fn fixture(agent: &Agent) -> String {
    let servers = agent.servers;
    match (agent.language, agent.id) {
        ("toml", _) => format!(
            "# mine\nmodel = \"o\" # the best\n\n[{servers}.other]\ncommand = 'x'\nenv = {{ KEY = \"{SECRET}\" }}\n# end of other\n\n[tui]\nlast = 1\n"
        ),
        ("yaml", _) => format!(
            "# mine\nGOOSE_MODEL: o # the best\n{servers}:\n  other:\n    enabled: true\n    envs:\n      KEY: {SECRET}\n    args:\n    - a\n  # end of others\n\n# of last\nlast: [1, 2]\n"
        ),
        (_, "claude-code" | "crush") => format!(
            "{{\n    \"first\": [1,2],\n    \"{servers}\": {{\n        \"other\": {{\"command\": \"x\", \"env\": {{\"KEY\": \"{SECRET}\"}}}}\n    }},\n    \"last\": 1\n}}"
        ),
        _ => format!(
            "// mine\n{{\n\t\"first\": [1,2], // the best\n\t\"{servers}\": {{\n\t\t/* one */\n\t\t\"other\": {{\n\t\t\t\"command\": \"x\",\n\t\t\t\"env\": {{ \"KEY\": \"{SECRET}\" }}, // {SECRET}\n\t\t}}, // end of other\n\t\t// more to come\n\t}},\n\t\"last\": 1,\n}}\n"
        ),
    }
}

#[tokio::test]
async fn what_it_prints_is_what_each_agent_reads() -> Result<()> {
    let user = User::new()?;
    for agent in agents() {
        for (args, server) in kinds(&agent) {
            let printed = user.connect(&args).await?;
            let said = printed.stderr.clone();
            let text = printed.text()?;
            ensure!(read_configuration(agent.language, &text)? == json!({ agent.servers: { "wharf": server } }), "{}: {text}", agent.name);
            let file = user.file(&args).await?;
            ensure!(said.contains(&file.display().to_string()) && !file.exists(), "{said}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_file_that_was_not_there_comes_and_goes() -> Result<()> {
    for agent in agents() {
        for (args, server) in kinds(&agent) {
            let user = User::new()?;
            let file = user.file(&args).await?;
            let written = user.connect(&[&args[..], &["--write"]].concat()).await?.text()?;
            ensure!(written.contains(&file.display().to_string()), "{written}");
            let text = fs::read_to_string(&file)?;
            ensure!(read_configuration(agent.language, &text)? == json!({ agent.servers: { "wharf": server } }), "{}: {text}", agent.name);
            user.connect(&[agent.id, "--remove"]).await?.text()?;
            ensure!(fs::read_dir(file.parent().context("a folder")?)?.next().is_none(), "{}: something is left", agent.name);
        }
    }
    Ok(())
}

#[tokio::test]
async fn the_rest_of_a_file_stays_and_comes_back_to_the_byte() -> Result<()> {
    for agent in agents() {
        let before = fixture(&agent);
        for (args, server) in kinds(&agent) {
            let user = User::new()?;
            let file = user.file(&args).await?;
            fs::create_dir_all(file.parent().context("a folder")?)?;
            fs::write(&file, &before)?;

            let done = user.connect(&[&args[..], &["--write", "--json"]].concat()).await?;
            let said = done.json()?;
            ensure!(said["done"] == "written", "{said}");
            let backup = PathBuf::from(said["backup"].as_str().context("a backup")?);
            ensure!(fs::read_to_string(&backup)? == before);
            let with = fs::read_to_string(&file)?;
            let mut says = read(&agent, &with)?;
            ensure!(says[agent.servers]["wharf"] == *server, "{}: {with}", agent.name);
            // Each line is there as it was, but for a comma.
            let mut lines = with.lines();
            for line in before.lines() {
                ensure!(lines.any(|new| new == line || new.strip_suffix(',') == Some(line)), "{}: {line:?} is not in\n{with}", agent.name);
            }
            says[agent.servers].as_object_mut().context("servers")?.remove("wharf");
            ensure!(says == read(&agent, &before)?, "{}: {with}", agent.name);

            let again = user.connect(&[&args[..], &["--write"]].concat()).await?.text()?;
            ensure!(again.contains("has it already") && fs::read_to_string(&file)? == with, "{again}");
            let removed = user.connect(&[agent.id, "--remove"]).await?;
            let all = format!("{said}{}{again}{removed:?}{}", done.stderr, String::from_utf8_lossy(&removed.stdout));
            ensure!(removed.code == 0 && !all.contains(SECRET), "{all}");
            ensure!(fs::read_to_string(&file)? == before, "{}", agent.name);
            ensure!(!backup.exists(), "a backup of what is there");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_users_own_file_is_below_home() -> Result<()> {
    let user = User::new()?;
    for agent in agents() {
        let file = user.file(&[agent.id, "--scope", "user"]).await?;
        ensure!(file.starts_with(user.path("home")), "{}", file.display());
        user.connect(&[agent.id, "--scope", "user", "--write"]).await?.text()?;
        ensure!(file.is_file());
    }
    let refused = user.connect(&["goose", "--scope", "project"]).await?;
    ensure!(refused.code == 1 && refused.stderr.contains("--scope user"), "{refused:?}");
    Ok(())
}

#[tokio::test]
async fn what_cannot_be_changed_is_said_and_left_alone() -> Result<()> {
    let user = User::new()?;
    let file = user.path("project/.mcp.json");
    let refuses = async |text: &str, args: &[&str], says: &str| -> Result<()> {
        fs::write(&file, text)?;
        let refused = user.connect(&[&["claude-code"], args].concat()).await?;
        ensure!(refused.code == 1 && refused.stderr.contains(says), "not {says:?}: {refused:?}");
        ensure!(!refused.stderr.contains(SECRET) && refused.stdout.is_empty(), "{refused:?}");
        ensure!(fs::read_to_string(&file)? == text && fs::read_dir(user.path("project"))?.count() == 1);
        Ok(())
    };
    let other = format!("{{ \"mcpServers\": {{ \"wharf\": {{ \"command\": \"x\", \"args\": [\"{SECRET}\"] }} }} }}");
    refuses(&other, &["--write"], "choose another name with --name").await?;
    refuses(&other, &["--remove"], "it stays").await?;
    let broken = format!("{{\n  \"mcpServers\": {{ \"a\": \"{SECRET}\" \"b\" }}\n}}");
    refuses(&broken, &["--write"], "line 2, column").await?;
    refuses("{ \"mcpServers\": [] }", &["--write"], "mcpServers is no object").await?;
    refuses("{}", &["--write", "--name", "a b"], "no name").await?;
    refuses("{}", &["--write", "--url", "http://me:pw@127.0.0.1/mcp"], "password").await?;

    let mut permissions = fs::metadata(&file)?.permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&file, permissions)?;
    let refused = user.connect(&["claude-code", "--write"]).await?;
    ensure!(refused.code == 1 && refused.stderr.contains("is read-only") && fs::read_to_string(&file)? == "{}", "{refused:?}");

    // Under another name it goes in beside the other.
    fs::remove_file(&file)?;
    fs::write(&file, &other)?;
    user.connect(&["claude-code", "--write", "--name", "wharf-2"]).await?.text()?;
    let says: Value = serde_json::from_slice(&fs::read(&file)?)?;
    ensure!(says["mcpServers"].as_object().is_some_and(|servers| servers.len() == 2), "{says}");
    Ok(())
}

#[tokio::test]
async fn a_link_stays_a_link() -> Result<()> {
    let user = User::new()?;
    fs::write(user.path("home/dotfiles.json"), "{}\n")?;
    let link = user.path("project/.mcp.json");
    std::os::unix::fs::symlink("../home/dotfiles.json", &link)?;
    user.connect(&["claude-code", "--write"]).await?.text()?;
    ensure!(link.symlink_metadata()?.is_symlink() && fs::read_to_string(user.path("home/dotfiles.json"))?.contains(URL));
    user.connect(&["claude-code", "--remove"]).await?.text()?;
    ensure!(link.symlink_metadata()?.is_symlink() && fs::read_to_string(&link)? == "{}\n");
    Ok(())
}

/// The findings, by client.
async fn check(user: &User, args: &[&str], code: i32) -> Result<Vec<Value>> {
    let checked = user.connect(&[&["--check", "--json"], args].concat()).await?;
    ensure!(checked.code == code, "{checked:?}");
    let found = checked.json()?;
    Ok(found["found"].as_array().context("found")?.clone())
}

#[tokio::test]
async fn check_finds_what_is_there_and_asks_it() -> Result<()> {
    let user = User::new()?;
    ensure!(check(&user, &[], 1).await?.is_empty());
    let mut host = Setup::new().start().await?;
    // What the host prints is what connects an agent to it.
    let log = host.wait_for_log("Ctrl-C ends it.").await?;
    let line = log.lines().find_map(|line| line.trim().strip_prefix("wharf connect ")).context(log.clone())?;
    user.connect(&line.split(' ').collect::<Vec<_>>()).await?.text()?;
    fs::create_dir(user.path("project/plugins"))?;
    user.connect(&["codex", "--stdio", "--write"]).await?.text()?;
    user.connect(&["zed", "--stdio", "--write", "--url", &host.url()]).await?.text()?;
    // Another's, and one that is named like ours and is not.
    fs::create_dir(user.path("project/.cursor"))?;
    let marker = user.path("ran");
    fs::write(user.path("project/wharf"), format!("#!/bin/sh\ntouch {}\n", marker.display()))?;
    fs::set_permissions(user.path("project/wharf"), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let servers =
        json!({ "mcpServers": { "other": { "url": "http://127.0.0.1:1/sse" }, "mine": { "command": "./wharf", "args": ["serve"] } } });
    fs::write(user.path("project/.cursor/mcp.json"), servers.to_string())?;

    let found = check(&user, &[], 1).await?;
    let answers =
        |id: &str, name: &str| found.iter().find(|found| found["client"] == id && found["name"] == name).map(|found| &found["answers"]);
    ensure!(found.len() == 4, "{found:?}");
    for id in ["claude-code", "codex", "zed"] {
        ensure!(answers(id, "wharf") == Some(&true.into()), "{id}: {found:?}");
    }
    ensure!(answers("cursor", "mine") == Some(&false.into()) && !marker.exists(), "{found:?}");
    ensure!(check(&user, &["claude-code"], 0).await?.len() == 1);

    host.end("TERM").await?;
    let found = check(&user, &["claude-code"], 1).await?;
    ensure!(found[0]["fault"].as_str().is_some_and(|fault| fault.contains("does not answer")), "{found:?}");
    fs::write(user.path("project/.mcp.json"), "{")?;
    let found = check(&user, &["claude-code"], 1).await?;
    ensure!(found[0]["name"].is_null() && found[0]["fault"].as_str().is_some_and(|fault| fault.contains("line 1")), "{found:?}");
    Ok(())
}

#[tokio::test]
async fn a_found_wharf_toml_is_not_trusted_by_the_way() -> Result<()> {
    let user = User::new()?;
    fs::write(user.path("project/wharf.toml"), "")?;
    let printed = user.connect(&["claude-code", "--stdio"]).await?;
    ensure!(printed.stderr.contains("--config wharf.toml"), "{printed:?}");
    ensure!(!printed.text()?.contains("--config"));
    let named = user.connect(&["claude-code", "--stdio", "--config", "wharf.toml"]).await?.text()?;
    let says: Value = serde_json::from_str(&named)?;
    let config = user.path("project").canonicalize()?.join("wharf.toml");
    ensure!(says["mcpServers"]["wharf"]["args"] == json!(["serve", "--stdio", "--config", config]), "{says}");
    Ok(())
}

#[tokio::test]
async fn another_address_takes_the_place_of_the_old_one() -> Result<()> {
    let user = User::new()?;
    let file = user.file(&["codex"]).await?;
    let set = async |args: &[&str]| -> Result<String> {
        user.connect(&[&["codex", "--write"], args].concat()).await?.text()?;
        Ok(fs::read_to_string(&file)?)
    };
    ensure!(set(&[]).await? == format!("[mcp_servers.wharf]\nurl = \"{URL}\"\n"));
    let moved = set(&["--url", "http://127.0.0.1:9000/mcp"]).await?;
    ensure!(moved == "[mcp_servers.wharf]\nurl = \"http://127.0.0.1:9000/mcp\"\n", "{moved}");
    let stdio = set(&["--stdio", "--plugins", PLUGINS]).await?;
    ensure!(stdio.contains("command = \"wharf\"") && !stdio.contains("url"), "{stdio}");
    // After all of that the file is what it was at first.
    let file = user.path("project/.mcp.json");
    let before = "{ \"mcpServers\": {  } }";
    fs::write(&file, before)?;
    for args in [&[][..], &["--url", "http://127.0.0.1:9000/mcp"], &["--stdio"]] {
        let said = user.connect(&[&["claude-code", "--write", "--json"], args].concat()).await?.json()?;
        let backup = said["backup"].as_str().context(said.to_string())?;
        ensure!(fs::read_to_string(backup)? == before, "{said}");
    }
    user.connect(&["claude-code", "--remove"]).await?.text()?;
    ensure!(fs::read_to_string(&file)? == before);
    Ok(())
}
