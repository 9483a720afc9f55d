//! The clients, as data: where each keeps its servers, and how it writes one down.
//!
//! Checked in November 2026 against each client's documentation, and against the clients themselves where README.md's
//! "Connect an agent" says so.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{
    format::Format,
    server::{Part, Server, Shape},
};

/// A client.
pub(super) struct Client {
    /// As it is named on the command line.
    pub id: &'static str,
    /// As people name it.
    pub name: &'static str,
    /// What its files are written in.
    pub format: Format,
    /// Whether it reads JSON with comments and trailing commas.
    pub comments: bool,
    /// Where in its files the servers are.
    pub servers: &'static [&'static str],
    /// Where they are instead, below that, if the file has it.
    pub nested: Option<&'static str>,
    /// Its files in a project, those it prefers last; none if it has servers of a user only.
    pub project: &'static [&'static str],
    /// Its files of a user, likewise.
    pub user: UserFiles,
    /// An entry for a URL.
    pub http: Shape,
    /// An entry for a command.
    pub stdio: Shape,
    /// What the user has to know of a project's file.
    pub note: Option<&'static str>,
}

/// A user's own files: a folder on each system, and the names in it.
pub(super) struct UserFiles {
    /// A variable that names the folder instead, and the path below it.
    pub variable: Option<(&'static str, &'static str)>,
    pub linux: Folder,
    pub macos: Folder,
    pub windows: Folder,
    pub files: &'static [&'static str],
}

/// A folder, by what it is in.
#[derive(Clone, Copy)]
pub(super) enum Folder {
    /// The home folder.
    Home(&'static str),
    /// `$XDG_CONFIG_HOME`, or `~/.config` (XDG Base Directory Specification).
    Config(&'static str),
    /// `%APPDATA%`.
    AppData(&'static str),
}

/// Which of a client's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Scope {
    /// The project's, in the current folder
    Project,
    /// Yours, for all projects
    User,
}

impl Scope {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
        }
    }
}

const COMMAND: Shape = &[("command", Part::Program), ("args", Part::Arguments)];
const TYPED_COMMAND: Shape = &[("type", Part::Text("stdio")), ("command", Part::Program), ("args", Part::Arguments)];
const TYPED_URL: Shape = &[("type", Part::Text("http")), ("url", Part::Url)];
const BARE_URL: Shape = &[("url", Part::Url)];

/// The same folder on every system.
const fn everywhere(variable: Option<(&'static str, &'static str)>, folder: Folder, files: &'static [&'static str]) -> UserFiles {
    UserFiles { variable, linux: folder, macos: folder, windows: folder, files }
}

/// All of them, in the order of README.md.
pub(super) const CLIENTS: [Client; 9] = [
    Client {
        id: "claude-code",
        name: "Claude Code",
        format: Format::Json,
        comments: false,
        servers: &["mcpServers"],
        nested: None,
        project: &[".mcp.json"],
        user: everywhere(Some(("CLAUDE_CONFIG_DIR", "")), Folder::Home(""), &[".claude.json"]),
        // Without a type a URL is an error for it.
        http: TYPED_URL,
        stdio: COMMAND,
        note: Some("Claude Code asks once whether to use a project's servers"),
    },
    Client {
        id: "codex",
        name: "Codex",
        format: Format::Toml,
        comments: true,
        servers: &["mcp_servers"],
        nested: None,
        project: &[".codex/config.toml"],
        user: everywhere(Some(("CODEX_HOME", "")), Folder::Home(".codex"), &["config.toml"]),
        http: BARE_URL,
        stdio: COMMAND,
        note: Some("Codex reads a project's file only if it trusts the project"),
    },
    Client {
        id: "gemini",
        name: "Gemini CLI",
        format: Format::Json,
        comments: true,
        servers: &["mcpServers"],
        nested: None,
        project: &[".gemini/settings.json"],
        user: everywhere(Some(("GEMINI_CLI_HOME", ".gemini")), Folder::Home(".gemini"), &["settings.json"]),
        // Without a type it tries SSE.
        http: TYPED_URL,
        stdio: COMMAND,
        note: None,
    },
    Client {
        id: "opencode",
        name: "OpenCode",
        format: Format::Json,
        comments: true,
        // Version 2 has them below `servers`, and still reads those of version 1.
        servers: &["mcp"],
        nested: Some("servers"),
        project: &["opencode.json", "opencode.jsonc"],
        user: everywhere(None, Folder::Config("opencode"), &["opencode.json", "opencode.jsonc"]),
        http: &[("type", Part::Text("remote")), ("url", Part::Url)],
        stdio: &[("type", Part::Text("local")), ("command", Part::CommandLine)],
        note: None,
    },
    Client {
        id: "vscode",
        name: "VS Code",
        format: Format::Json,
        comments: true,
        servers: &["servers"],
        nested: None,
        project: &[".vscode/mcp.json"],
        user: UserFiles {
            variable: None,
            linux: Folder::Config("Code/User"),
            macos: Folder::Home("Library/Application Support/Code/User"),
            windows: Folder::AppData("Code/User"),
            files: &["mcp.json"],
        },
        http: TYPED_URL,
        stdio: TYPED_COMMAND,
        note: Some("VS Code asks once whether to start it"),
    },
    Client {
        id: "cursor",
        name: "Cursor",
        format: Format::Json,
        comments: true,
        servers: &["mcpServers"],
        nested: None,
        project: &[".cursor/mcp.json"],
        user: everywhere(None, Folder::Home(".cursor"), &["mcp.json"]),
        http: BARE_URL,
        stdio: COMMAND,
        note: None,
    },
    Client {
        id: "goose",
        name: "Goose",
        format: Format::Yaml,
        comments: true,
        servers: &["extensions"],
        nested: None,
        project: &[],
        user: UserFiles {
            variable: None,
            linux: Folder::Config("goose"),
            macos: Folder::Config("goose"),
            windows: Folder::AppData("Block/goose/config"),
            files: &["config.yaml"],
        },
        http: &[
            ("enabled", Part::Flag(true)),
            ("type", Part::Text("streamable_http")),
            ("name", Part::Name),
            ("uri", Part::Url),
            ("timeout", Part::Number(300)),
        ],
        stdio: &[
            ("enabled", Part::Flag(true)),
            ("type", Part::Text("stdio")),
            ("name", Part::Name),
            ("cmd", Part::Program),
            ("args", Part::Arguments),
            ("timeout", Part::Number(300)),
        ],
        note: None,
    },
    Client {
        id: "crush",
        name: "Crush",
        format: Format::Json,
        comments: false,
        servers: &["mcp"],
        nested: None,
        project: &["crush.json", ".crush.json"],
        user: everywhere(Some(("CRUSH_GLOBAL_CONFIG", "")), Folder::Config("crush"), &["crush.json"]),
        http: TYPED_URL,
        stdio: TYPED_COMMAND,
        note: Some("where there is a crushrc too, Crush takes what both say"),
    },
    Client {
        id: "zed",
        name: "Zed",
        format: Format::Json,
        comments: true,
        servers: &["context_servers"],
        nested: None,
        project: &[".zed/settings.json"],
        user: UserFiles {
            variable: None,
            linux: Folder::Config("zed"),
            macos: Folder::Home(".config/zed"),
            windows: Folder::AppData("Zed"),
            files: &["settings.json"],
        },
        http: BARE_URL,
        stdio: COMMAND,
        note: None,
    },
];

/// Where things are on this machine.
pub(super) struct Places<'a> {
    /// As `std::env::consts::OS` names it.
    pub system: &'static str,
    pub home: Option<PathBuf>,
    pub current: PathBuf,
    /// An environment variable that names a folder.
    pub variable: &'a dyn Fn(&str) -> Option<PathBuf>,
}

impl Client {
    /// The client of this id.
    pub(super) fn named(id: &str) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.id == id)
    }

    /// What is used if the user names no scope: the project, so that nothing outside of the current folder changes.
    pub(super) fn scope(&self) -> Scope {
        if self.project.is_empty() { Scope::User } else { Scope::Project }
    }

    /// The files it reads in this scope that may be there; the last of those that are has the last word. None if it has none, or nobody
    /// knows the home folder.
    pub(super) fn files(&self, scope: Scope, places: &Places<'_>) -> Vec<PathBuf> {
        let (folder, files) = match scope {
            Scope::Project => (Some(places.current.clone()), self.project),
            Scope::User => (self.user.folder(places), self.user.files),
        };
        folder.into_iter().flat_map(|folder| files.iter().map(move |file| folder.join(file))).collect()
    }

    /// The file to write to: the one that is there, or else the first.
    pub(super) fn file(&self, scope: Scope, places: &Places<'_>) -> Option<PathBuf> {
        let files = self.files(scope, places);
        // A link that leads nowhere is there too.
        let there = files.iter().rfind(|file| file.symlink_metadata().is_ok()).cloned();
        there.or_else(|| files.into_iter().next())
    }

    /// Where in this file the servers are.
    pub(super) fn path(&self, file: &Value) -> Vec<&'static str> {
        let mut path = self.servers.to_vec();
        let at = path.iter().try_fold(file, |value, key| value.get(key));
        // A server of that name is none of those.
        let is_list = |value: &Value| value.is_object() && !value.get("type").is_some_and(Value::is_string);
        path.extend(self.nested.filter(|nested| at.and_then(|at| at.get(nested)).is_some_and(is_list)));
        path
    }

    /// The shape of this server's entry.
    pub(super) fn shape(&self, server: &Server) -> Shape {
        match server {
            Server::Http { .. } => self.http,
            Server::Stdio { .. } => self.stdio,
        }
    }
}

impl UserFiles {
    fn folder(&self, places: &Places<'_>) -> Option<PathBuf> {
        if let Some((folder, below)) = self.variable.and_then(|(name, below)| Some(((places.variable)(name)?, below))) {
            return Some(if below.is_empty() { folder } else { folder.join(below) });
        }
        let folder = match places.system {
            "windows" => self.windows,
            "macos" => self.macos,
            _ => self.linux,
        };
        let in_home = |below: &str| Some(join(places.home.as_ref()?, below));
        let (base, below) = match folder {
            Folder::Home(below) => return in_home(below),
            Folder::Config(below) => {
                ((places.variable)("XDG_CONFIG_HOME").filter(|folder| folder.has_root()).or_else(|| in_home(".config"))?, below)
            }
            Folder::AppData(below) => ((places.variable)("APPDATA").or_else(|| in_home("AppData/Roaming"))?, below),
        };
        Some(join(&base, below))
    }
}

/// Without a separator at the end, which `join("")` adds.
fn join(folder: &Path, below: &str) -> PathBuf {
    if below.is_empty() { folder.to_owned() } else { folder.join(below) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn user_file(id: &str, system: &'static str, variables: &[(&str, &str)]) -> String {
        let variable = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
        let places = Places { system, home: Some("/home/a".into()), current: "/nowhere/project".into(), variable: &variable };
        Client::named(id).unwrap().file(Scope::User, &places).unwrap().display().to_string().replace('\\', "/")
    }

    #[test]
    fn each_system_has_its_own_place() {
        for (id, linux, macos, windows) in [
            ("claude-code", "/home/a/.claude.json", "/home/a/.claude.json", "/home/a/.claude.json"),
            ("codex", "/home/a/.codex/config.toml", "/home/a/.codex/config.toml", "/home/a/.codex/config.toml"),
            ("gemini", "/home/a/.gemini/settings.json", "/home/a/.gemini/settings.json", "/home/a/.gemini/settings.json"),
            (
                "opencode",
                "/home/a/.config/opencode/opencode.json",
                "/home/a/.config/opencode/opencode.json",
                "/home/a/.config/opencode/opencode.json",
            ),
            (
                "vscode",
                "/home/a/.config/Code/User/mcp.json",
                "/home/a/Library/Application Support/Code/User/mcp.json",
                "/roaming/Code/User/mcp.json",
            ),
            ("cursor", "/home/a/.cursor/mcp.json", "/home/a/.cursor/mcp.json", "/home/a/.cursor/mcp.json"),
            ("goose", "/home/a/.config/goose/config.yaml", "/home/a/.config/goose/config.yaml", "/roaming/Block/goose/config/config.yaml"),
            ("crush", "/home/a/.config/crush/crush.json", "/home/a/.config/crush/crush.json", "/home/a/.config/crush/crush.json"),
            ("zed", "/home/a/.config/zed/settings.json", "/home/a/.config/zed/settings.json", "/roaming/Zed/settings.json"),
        ] {
            assert_eq!(user_file(id, "linux", &[]), linux);
            assert_eq!(user_file(id, "macos", &[]), macos);
            assert_eq!(user_file(id, "windows", &[("APPDATA", "/roaming")]), windows);
        }
    }

    #[test]
    fn variables_that_a_client_reads_move_its_folder() {
        assert_eq!(user_file("codex", "linux", &[("CODEX_HOME", "/codex")]), "/codex/config.toml");
        assert_eq!(user_file("claude-code", "linux", &[("CLAUDE_CONFIG_DIR", "/c")]), "/c/.claude.json");
        assert_eq!(user_file("gemini", "linux", &[("GEMINI_CLI_HOME", "/g")]), "/g/.gemini/settings.json");
        assert_eq!(user_file("zed", "linux", &[("XDG_CONFIG_HOME", "/x")]), "/x/zed/settings.json");
        assert_eq!(user_file("zed", "linux", &[("XDG_CONFIG_HOME", "x")]), "/home/a/.config/zed/settings.json", "relative: not valid");
    }

    #[test]
    fn opencodes_servers_are_where_the_file_has_them() {
        let client = Client::named("opencode").unwrap();
        assert_eq!(client.path(&json!({ "mcp": { "servers": {} } })), ["mcp", "servers"]);
        for file in [json!({}), json!({ "mcp": {} }), json!({ "mcp": { "servers": { "type": "remote", "url": "x" } } })] {
            assert_eq!(client.path(&file), ["mcp"], "{file}");
        }
    }
}
