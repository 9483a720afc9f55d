//! What README.md's "Connect an agent" and `wharf connect` have to say to each agent, and reading it as the agent does.

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};
use yaml_rust2::{Yaml, YamlLoader};

/// Where the host serves.
pub const URL: &str = "http://127.0.0.1:8089/mcp";
/// What a client runs over stdio, without the program.
pub const ARGUMENTS: [&str; 4] = ["serve", "--stdio", "--plugins", PLUGINS];
/// The folder in it.
pub const PLUGINS: &str = "/path/to/plugins";

/// An agent.
pub struct Agent {
    /// As README.md names it.
    pub name: &'static str,
    /// As `wharf connect` names it.
    pub id: &'static str,
    /// The language of its file.
    pub language: &'static str,
    /// Where in it the servers are.
    pub servers: &'static str,
    /// The server Wharf is over HTTP.
    pub http: Value,
    /// The server Wharf is over stdio.
    pub stdio: Value,
}

/// All agents, in the order of README.md.
pub fn agents() -> Vec<Agent> {
    let command = || json!({ "command": "wharf", "args": ARGUMENTS });
    let typed = |kind: &str| json!({ "type": kind, "url": URL });
    let agent = |name, id, language, servers, http, stdio| Agent { name, id, language, servers, http, stdio };
    vec![
        // Without a type a URL is an error for it.
        agent("Claude Code", "claude-code", "json", "mcpServers", typed("http"), command()),
        agent("Codex", "codex", "toml", "mcp_servers", json!({ "url": URL }), command()),
        // Without a type it tries SSE.
        agent("Gemini CLI", "gemini", "json", "mcpServers", typed("http"), command()),
        agent("OpenCode", "opencode", "json", "mcp", typed("remote"), {
            json!({ "type": "local", "command": ["wharf", ARGUMENTS[0], ARGUMENTS[1], ARGUMENTS[2], ARGUMENTS[3]] })
        }),
        agent("VS Code", "vscode", "json", "servers", typed("http"), json!({ "type": "stdio", "command": "wharf", "args": ARGUMENTS })),
        agent("Cursor", "cursor", "json", "mcpServers", json!({ "url": URL }), command()),
        agent(
            "Goose",
            "goose",
            "yaml",
            "extensions",
            json!({ "enabled": true, "type": "streamable_http", "name": "wharf", "uri": URL, "timeout": 300 }),
            json!({ "enabled": true, "type": "stdio", "name": "wharf", "cmd": "wharf", "args": ARGUMENTS, "timeout": 300 }),
        ),
        agent("Crush", "crush", "json", "mcp", typed("http"), json!({ "type": "stdio", "command": "wharf", "args": ARGUMENTS })),
        agent("Zed", "zed", "json", "context_servers", json!({ "url": URL }), command()),
    ]
}

/// Reads a configuration in its language, JSON as strictly as the strictest agent.
///
/// # Errors
/// It is not in that language.
pub fn read_configuration(language: &str, text: &str) -> Result<Value> {
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

/// JSON with comments and trailing commas, as most editors read it, made plain JSON.
pub fn plain_json(text: &str) -> String {
    let (mut plain, mut rest) = (String::new(), text);
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else if let Some(inside) = rest.strip_prefix("/*") {
            rest = inside.split_once("*/").map_or("", |(_, after)| after);
        } else if c == '"' {
            let mut escaped = false;
            let end = rest[1..].char_indices().find(|(_, c)| {
                let ends = *c == '"' && !escaped;
                escaped = *c == '\\' && !escaped;
                ends
            });
            let end = end.map_or(rest.len(), |(at, _)| at + 2);
            plain += &rest[..end];
            rest = &rest[end..];
        } else {
            if matches!(c, '}' | ']') && plain.trim_end().ends_with(',') {
                plain.truncate(plain.trim_end().len() - 1);
            }
            plain.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_go_and_strings_stay() {
        let text = "// a\n{ \"a\": \"// \\\" ,]\", /* , */ \"b\": [1, 2,], // end\n}";
        let read: Value = serde_json::from_str(&plain_json(text)).unwrap();
        assert_eq!(read, json!({ "a": "// \" ,]", "b": [1, 2] }));
    }
}
