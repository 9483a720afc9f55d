use serde_json::json;

use super::{
    super::{clients::CLIENTS, server::Server},
    *,
};

const URL: &str = "http://127.0.0.1:8089/mcp";
const SERVERS: At<'static> = At { path: &["mcpServers"], name: "wharf" };
const CODEX: At<'static> = At { path: &["mcp_servers"], name: "wharf" };
const GOOSE: At<'static> = At { path: &["extensions"], name: "wharf" };

fn entry() -> Entry {
    vec![("type", "http".into()), ("url", URL.into())]
}

fn stdio() -> Entry {
    vec![("command", "wharf".into()), ("args", json!(["serve", "--stdio"]))]
}

/// Texts into which an entry can go, by format: none of them has it.
fn texts() -> Vec<(Format, At<'static>, &'static str)> {
    let json = [
        "{}",
        "{}\n",
        "{ }",
        "{\n}\n",
        "[",
        "{\"a\":1}",
        "{ \"a\": 1, }",
        "{\n  \"a\": 1\n}",
        "{\n  \"a\": 1,\n}\n",
        "// before\n{\n\t\"a\": [1, 2], // of a\n\t/* own line */\n\t\"b\": {\n\t\t\"c\": null\n\t} // of b\n\t// last\n}\n// after\n",
        "{\r\n    \"a\": 1\r\n}\r\n",
        "\u{feff}{\n  \"a\": 1\n}\n",
        "{\"mcpServers\":{}}",
        "{\n  \"mcpServers\": {}\n}\n",
        "{\n  \"mcpServers\": {\n  },\n  \"z\": 1\n}\n",
        "{\n  \"mcpServers\": {\n    // none yet\n  }\n}\n",
        "{\n  \"mcpServers\": { /* none */ }\n}\n",
        "{\n  \"mcpServers\": { \"other\": { \"command\": \"x\", \"env\": { \"KEY\": \"secret, // {\" } } }\n}\n",
        "{\n    \"mcpServers\": {\n        \"other\": {\n            \"url\": \"http://x\", // why\n        }, // of other\n        // before the end\n    },\n    \"a\": 1e400,\n}",
        "",
        "\n",
        "// only a comment\n",
    ];
    let toml = [
        "",
        "a = 1",
        "a = 1\n",
        "a = 1\n\n",
        "# c\n[mcp_servers.other]\ncommand = \"x\"\n# end of other\n",
        "[z]\nb = [\n  [1],\n]\n# end\n",
        "a = 1\r\n[mcp_servers]\r\n",
        "mcp_servers = { other = { url = \"http://x\" } } # c\n[t]\nd = 1979-05-27\n",
        "mcp_servers.other.url = \"x\"\n",
        "text = '''\n[mcp_servers.wharf]\n'''\n",
        "[[list]]\nx = 1\n",
    ];
    let yaml = [
        "",
        "a: 1",
        "a: 1\n",
        "# c\nextensions:\n  other:\n    type: stdio\n    args:\n    - a\n    envs: {KEY: secret}\n\n# of b\nb: 2\n",
        "extensions:\n    other:\n        type: stdio\nb: |\n  extensions:\n    x\n",
        "extensions: {}\n",
        "extensions:\n",
        "extensions: # none\nb: 1\n",
        "a: 1\r\nextensions:\r\n  other:\r\n    type: stdio\r\n",
        "extensions:\n  other: {type: stdio}",
        "---\na: 1\nextensions:\n  # one\n  o:\n    t: |\n      x\n\n      y\n  # end\n",
    ];
    let json = json.iter().filter(|text| **text != "[").map(|text| (Format::Json, SERVERS, *text));
    json.chain(toml.iter().map(|text| (Format::Toml, CODEX, *text))).chain(yaml.iter().map(|text| (Format::Yaml, GOOSE, *text))).collect()
}

#[test]
fn what_was_put_in_is_taken_out_to_the_byte() {
    for (format, at, text) in texts() {
        for entry in [entry(), stdio()] {
            let with = format.insert(text, at, &entry).unwrap_or_else(|error| panic!("{text:?}: {error}"));
            assert_ne!(with, text);
            assert_eq!(get(&format.parse(&with).unwrap(), at), Some(&merged(None, &entry)), "{with}");
            assert_eq!(format.remove(&with, at, &entry, Some(text)).unwrap().as_deref(), Some(text), "{with}");
            let without = format.remove(&with, at, &entry, Some("other: text")).unwrap().unwrap();
            let (left, was) = (format.parse(&without).unwrap(), format.parse(text).unwrap());
            assert_eq!(without_empty(left, at.path), without_empty(was, at.path), "{without}");
            assert_eq!(format.insert(&without, at, &entry).unwrap(), with, "without the text before, too:\n{without}");
        }
    }
}

#[test]
fn putting_it_in_twice_is_once_and_another_server_takes_its_place() {
    for (format, at, text) in texts() {
        let with = format.insert(text, at, &entry()).unwrap();
        assert_eq!(format.insert(&with, at, &entry()).unwrap(), with, "{text:?}");
        let other = format.insert(&with, at, &stdio()).unwrap();
        assert_eq!(get(&format.parse(&other).unwrap(), at), Some(&merged(None, &stdio())), "{other}");
        let back = format.insert(&other, at, &entry()).unwrap();
        assert_eq!(format.parse(&back).unwrap(), format.parse(&with).unwrap());
    }
}

#[test]
fn others_keep_every_byte_of_theirs() {
    for (format, at, text) in texts() {
        let with = format.insert(text, at, &entry()).unwrap();
        let mut rest = with.chars();
        let gone: String = text.trim_start_matches('\u{feff}').trim_end().chars().filter(|c| !rest.any(|other| other == *c)).collect();
        // `{}` of an empty YAML mapping is the one thing that gives way.
        assert!(gone.is_empty() || text.contains("extensions: {}"), "{gone:?} of {text:?} is not in {with:?}");
    }
}

#[test]
fn an_entry_between_others_is_taken_out_alone() {
    for (format, at, text, without) in [
        (
            Format::Json,
            SERVERS,
            "{\n  \"mcpServers\": {\n    // ours\n    \"wharf\": { \"url\": \"x\" },\n    \"b\": {} // of b\n  }\n}\n",
            "{\n  \"mcpServers\": {\n    // ours\n    \"b\": {} // of b\n  }\n}\n",
        ),
        (
            Format::Json,
            SERVERS,
            "{\"mcpServers\":{\"a\":{}, // of a\n\"wharf\":{\"url\":\"x\"},\"b\":{}}}",
            "{\"mcpServers\":{\"a\":{}, // of a\n\"b\":{}}}",
        ),
        (
            Format::Toml,
            CODEX,
            "[mcp_servers.a]\nurl = \"a\"\n# end of a\n\n[mcp_servers.wharf]\nurl = \"x\"\n\n[mcp_servers.wharf.env]\nA = \"1\"\n\n# of b\n[b]\n",
            "[mcp_servers.a]\nurl = \"a\"\n# end of a\n\n# of b\n[b]\n",
        ),
        (
            Format::Yaml,
            GOOSE,
            "extensions:\n  wharf:\n    uri: x\n    list:\n    - 1\n\n  # of b\n  b:\n    uri: y\n",
            "extensions:\n\n  # of b\n  b:\n    uri: y\n",
        ),
    ] {
        assert_eq!(format.remove(text, at, &entry(), None).unwrap().unwrap(), without);
    }
}

#[test]
fn a_changed_entry_keeps_what_the_user_put_in_it() {
    let json = "{\n  \"mcpServers\": {\n    \"wharf\": {\n      \"command\": \"wharf\",\n      \"args\": [],\n      \"env\": { \"A\": \"1\" }\n    }\n  }\n}\n";
    let new = Format::Json.insert(json, SERVERS, &entry()).unwrap();
    let shown = format!("\"wharf\": {{\n      \"type\": \"http\",\n      \"url\": \"{URL}\",\n      \"env\": {{ \"A\": \"1\" }}\n    }}");
    assert!(new.contains(&shown), "{new}");
    let toml = "[mcp_servers.wharf]\ncommand = \"wharf\"\n# slow\nstartup_timeout_sec = 20\n";
    let new = Format::Toml.insert(toml, CODEX, &vec![("url", URL.into())]).unwrap();
    assert_eq!(new, format!("[mcp_servers.wharf]\n# slow\nstartup_timeout_sec = 20\nurl = \"{URL}\"\n"));
    let yaml = "extensions:\n  wharf:\n    enabled: false\n    uri: x\n    envs:\n      A: b\nz: 1\n";
    let new = Format::Yaml.insert(yaml, GOOSE, &vec![("enabled", true.into()), ("uri", URL.into())]).unwrap();
    assert_eq!(new, format!("extensions:\n  wharf:\n    enabled: false\n    uri: {URL}\n    envs:\n      A: b\nz: 1\n"));
}

#[test]
fn what_is_wrong_is_named_with_its_line_and_nothing_that_stands_there() {
    for (format, at, text, says) in [
        (Format::Json, SERVERS, "{\n  \"key\": \"secret\" \"b\"\n}", "line 2, column"),
        (Format::Json, SERVERS, "{\n  secret: 1\n}", "line 2, column"),
        (Format::Json, SERVERS, "{ 'secret': 1 }", "line 1, column"),
        (Format::Json, SERVERS, "{\n\"mcpServers\": [\"secret\"] }", "line 2: mcpServers is no object"),
        (Format::Json, SERVERS, "[\"secret\"]", "line 1: the file is no object"),
        (Format::Json, SERVERS, "{\"mcpServers\": {},\n\"mcpServers\": {}}", "line 2: mcpServers is there a second time"),
        (Format::Toml, CODEX, "a = 1\nkey = \"secret\" x\n", "line 2, column"),
        (Format::Toml, CODEX, "mcp_servers = \"secret\"\n", "mcp_servers is no table"),
        (Format::Yaml, GOOSE, "a: 1\nkey: \"secret\n", "line"),
        (Format::Yaml, GOOSE, "- secret\n", "no mapping"),
        (Format::Yaml, GOOSE, "a: 1\n---\nb: 1\n", "2 documents"),
        (Format::Yaml, GOOSE, "extensions: {a: {key: secret}}\n", "by hand"),
        (Format::Yaml, GOOSE, "\"extensions\":\n  a:\n    key: secret\n", "by hand"),
        (Format::Yaml, GOOSE, "extensions:\n  \"wharf\":\n    key: secret\n", "by hand"),
    ] {
        let error = format.insert(text, at, &entry()).unwrap_err().to_string();
        assert!(error.contains(says) && !error.contains("secret"), "{text:?}: {error}");
    }
    let deep = "[".repeat(100_000);
    assert!(Format::Json.parse(&deep).unwrap_err().to_string().contains("depth"));
}

#[test]
fn every_client_reads_back_the_server_that_was_written() {
    let arguments = ["serve", "--stdio", "--plugins", "C:\\a b\\é #1: \"x\""].map(String::from).to_vec();
    for server in [Server::Http { url: "http://[::1]:8089/mcp".into() }, Server::Stdio { program: "/opt/my wharf/wharf".into(), arguments }]
    {
        for client in &CLIENTS {
            let at = At { path: client.servers, name: "wharf" };
            let text = client.format.document(at, &server.entry("wharf", client.shape(&server))).unwrap();
            let read = client.format.parse(&text).unwrap();
            assert_eq!(Server::read(get(&read, at).unwrap()).as_ref(), Some(&server), "{}: {text}", client.name);
            assert!(client.format != Format::Json || json::is_strict(&text), "{text}");
        }
    }
}

mod any_text {
    use proptest::prelude::*;

    use super::*;

    /// White space and comments, as people put them between things.
    fn gap() -> impl Strategy<Value = String> {
        prop::sample::select(vec!["", " ", "\n  ", "\n", " // c\n  ", " /* c */ ", "\n\n\t", " /* a\n b */\n"]).prop_map(String::from)
    }

    fn object(inside: impl Strategy<Value = String> + Clone + 'static) -> impl Strategy<Value = String> {
        let property = ("[a-z]{1,3}", gap(), gap(), inside, gap());
        (gap(), prop::collection::vec(property, 0..4), any::<bool>()).prop_map(|(open, properties, trailing)| {
            let mut text = format!("{{{open}");
            let count = properties.len();
            for (at, (key, before, colon, value, after)) in properties.into_iter().enumerate() {
                // A key of its own each.
                text += &format!("{before}\"{key}{at}\"{colon}: {value}{after}");
                text += if at + 1 < count || trailing { "," } else { "" };
            }
            text + &open + "}"
        })
    }

    fn file() -> impl Strategy<Value = String> {
        let scalar = prop::sample::select(vec!["1", "\"a // b\"", "null", "[1, 2,]", "\"}\""]).prop_map(String::from).boxed();
        let server = object(scalar.clone()).boxed();
        let holder = object(server.clone()).prop_map(|text| format!("\"mcpServers\": {text}")).boxed();
        (gap(), object(prop_oneof![scalar, server].boxed()), prop::option::of(holder), gap()).prop_map(|(before, root, holder, after)| {
            let root = match holder {
                Some(holder) if root[1..].trim_start().starts_with('"') => format!("{{{holder}, {}", &root[1..]),
                Some(holder) => format!("{{{holder}}}"),
                None => root,
            };
            format!("{before}{root}{after}")
        })
    }

    proptest! {
        #[test]
        fn json_is_as_it_was_once_the_entry_is_out(text in file()) {
            prop_assume!(Format::Json.parse(&text).is_ok());
            let with = Format::Json.insert(&text, SERVERS, &entry()).unwrap();
            let out = Format::Json.remove(&with, SERVERS, &entry(), Some(&text)).unwrap();
            prop_assert_eq!(out.as_deref(), Some(text.as_str()));
            let out = Format::Json.remove(&with, SERVERS, &entry(), Some("")).unwrap().unwrap();
            prop_assert_eq!(Format::Json.insert(&out, SERVERS, &entry()).unwrap(), with);
        }
    }
}
