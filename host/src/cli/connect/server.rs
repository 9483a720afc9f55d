//! What a client is told to connect to, and the entry in its file that says so.
//!
//! Invariant: nothing but the URL, the command and its arguments is ever taken out of an entry, so that no secret of another server is
//! printed or copied anywhere.

use std::path::Path;

use serde_json::{Map, Value, json};

/// The host's path in every URL (`wharf serve`).
const PATH: &str = "/mcp";
/// The name of the program, as clients run it.
const PROGRAM: &str = "wharf";
/// The name a server is given if the user gives none.
pub(super) const NAME: &str = "wharf";
/// Where the clients of this page keep a URL.
const URL_KEYS: [&str; 4] = ["url", "uri", "httpUrl", "serverUrl"];
/// What says how a server is reached. The rest of an entry is the user's: time limits, whether it is enabled.
const TRANSPORT_KEYS: [&str; 8] = ["type", "url", "uri", "httpUrl", "serverUrl", "command", "cmd", "args"];

/// A server, however a client writes it down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Server {
    /// One that runs already.
    Http { url: String },
    /// One that the client starts.
    Stdio { program: String, arguments: Vec<String> },
}

/// A field of an entry, as the table of clients has it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    /// The same in every entry.
    Text(&'static str),
    /// The same in every entry.
    Flag(bool),
    /// The same in every entry.
    Number(u32),
    /// The name of the server.
    Name,
    /// The URL.
    Url,
    /// The program alone.
    Program,
    /// What it is given.
    Arguments,
    /// The program and what it is given, in one list.
    CommandLine,
}

/// The fields of an entry, in their order.
pub(super) type Shape = &'static [(&'static str, Part)];
/// An entry to be written: its fields in their order.
pub(super) type Entry = Vec<(&'static str, Value)>;

impl Server {
    /// The entry as this shape has it.
    pub(super) fn entry(&self, name: &str, shape: Shape) -> Entry {
        let (url, program, arguments) = match self {
            Self::Http { url } => (url.as_str(), "", &[][..]),
            Self::Stdio { program, arguments } => ("", program.as_str(), &arguments[..]),
        };
        let value = |part: Part| match part {
            Part::Text(text) => text.into(),
            Part::Flag(is) => is.into(),
            Part::Number(number) => number.into(),
            Part::Name => name.into(),
            Part::Url => url.into(),
            Part::Program => program.into(),
            Part::Arguments => json!(arguments),
            Part::CommandLine => std::iter::once(program).chain(arguments.iter().map(String::as_str)).collect(),
        };
        shape.iter().map(|(key, part)| (*key, value(*part))).collect()
    }

    /// The server of an entry, in whichever client's words; none if it is neither a URL nor a command.
    pub(super) fn read(entry: &Value) -> Option<Self> {
        if let Some(url) = URL_KEYS.iter().find_map(|key| entry.get(key)?.as_str()) {
            return Some(Self::Http { url: url.to_owned() });
        }
        let words = |value: &Value| -> Option<Vec<String>> { value.as_array()?.iter().map(|word| word.as_str().map(Into::into)).collect() };
        let command = entry.get("command").or_else(|| entry.get("cmd"))?;
        let mut words = match command {
            Value::String(program) => {
                let arguments = entry.get("args").map_or(Some(Vec::new()), words)?;
                return Some(Self::Stdio { program: program.clone(), arguments });
            }
            list => words(list)?,
        };
        if words.is_empty() {
            return None;
        }
        let program = words.remove(0);
        Some(Self::Stdio { program, arguments: words })
    }

    /// Whether `wharf connect` may have written it under this name: a command that is `wharf serve`, or a URL that is this one, or, under
    /// the name `wharf`, any on this machine that ends as a host's does.
    pub(super) fn is_ours(&self, name: &str, wanted: &str) -> bool {
        match self {
            Self::Stdio { program, arguments } => {
                Path::new(program).file_stem().is_some_and(|stem| stem == PROGRAM) && arguments.first().is_some_and(|word| word == "serve")
            }
            Self::Http { url } => url == wanted || name == NAME && is_local(url),
        }
    }
}

/// Whether the URL is a host's on this machine.
fn is_local(url: &str) -> bool {
    let Some((authority, path)) = url.strip_prefix("http://").and_then(|rest| rest.split_at_checked(rest.find('/')?)) else { return false };
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() => host,
        _ => authority,
    };
    let ip = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    path == PATH && (host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback()))
}

/// What an entry holds once this is written over it: how the server is reached is replaced, all else that is there stays.
pub(super) fn merged(old: Option<&Value>, entry: &Entry) -> Value {
    let kept = |key: &str| old.and_then(|old| old.get(key)).filter(|_| !is_transport(key));
    let mut fields: Map<String, Value> = entry.iter().map(|(key, value)| ((*key).into(), kept(key).unwrap_or(value).clone())).collect();
    for (key, value) in old.and_then(Value::as_object).into_iter().flatten() {
        if !is_transport(key) {
            fields.insert(key.clone(), value.clone());
        }
    }
    Value::Object(fields)
}

/// Whether the field says how the server is reached.
pub(super) fn is_transport(key: &str) -> bool {
    TRANSPORT_KEYS.contains(&key)
}

/// Whether every client takes it as a server's name, and none needs quotes around it: a letter, then letters, digits, `-` and `_`; at most
/// 64 characters, since clients put it before the names of tools, which have 64 at the models' makers.
pub(super) fn is_name(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        // YAML 1.1 takes these for something else.
        && !["y", "n", "yes", "no", "on", "off", "true", "false", "null"].contains(&name.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "http://127.0.0.1:8089/mcp";

    #[test]
    fn a_server_is_read_in_every_clients_words() {
        let stdio = Some(Server::Stdio { program: "wharf".into(), arguments: vec!["serve".into()] });
        for entry in [
            json!({ "command": "wharf", "args": ["serve"] }),
            json!({ "command": ["wharf", "serve"] }),
            json!({ "cmd": "wharf", "args": ["serve"], "timeout": 1 }),
        ] {
            assert_eq!(Server::read(&entry), stdio, "{entry}");
        }
        for key in URL_KEYS {
            assert_eq!(Server::read(&json!({ key: URL })), Some(Server::Http { url: URL.into() }));
        }
        for entry in [json!({}), json!([]), json!({ "command": [] }), json!({ "command": 1 }), json!({ "command": "a", "args": [1] })] {
            assert_eq!(Server::read(&entry), None, "{entry}");
        }
    }

    #[test]
    fn ours_is_what_starts_wharf_or_has_the_url_or_is_named_wharf_on_this_machine() {
        let http = |url: &str| Server::Http { url: url.into() };
        for url in ["http://127.0.0.1:1/mcp", "http://localhost:9000/mcp", "http://[::1]:8089/mcp", "http://127.0.0.1/mcp"] {
            assert!(http(url).is_ours("wharf", URL), "{url}");
            assert!(!http(url).is_ours("docs", URL), "{url}");
        }
        assert!(http("https://example.com/x").is_ours("docs", "https://example.com/x"));
        for url in ["http://127.0.0.1:1/sse", "http://127.0.0.1.example.com/mcp", "http://example.com:80/mcp", "https://localhost/mcp", "x"]
        {
            assert!(!http(url).is_ours("wharf", URL), "{url}");
        }
        let stdio = |program: &str, word: &str| Server::Stdio { program: program.into(), arguments: vec![word.into()] };
        assert!(stdio("/usr/local/bin/wharf", "serve").is_ours("docs", URL));
        assert!(!stdio("npx", "serve").is_ours("wharf", URL));
        assert!(!stdio("wharf", "list").is_ours("wharf", URL));
    }

    #[test]
    fn the_users_own_fields_stay() {
        let old = json!({ "type": "stdio", "command": "wharf", "args": ["serve"], "env": { "A": "1" }, "timeout": 9 });
        let entry: Entry = vec![("type", "http".into()), ("url", URL.into()), ("timeout", 300.into())];
        assert_eq!(merged(Some(&old), &entry), json!({ "type": "http", "url": URL, "env": { "A": "1" }, "timeout": 9 }));
    }

    #[test]
    fn a_name_is_what_every_client_takes() {
        assert!(is_name("wharf") && is_name("My_docs-2") && is_name(&"a".repeat(64)));
        for name in ["", "2a", "-a", "a b", "a.b", "é", "null", "Yes", &"a".repeat(65)] {
            assert!(!is_name(name), "{name}");
        }
    }
}
